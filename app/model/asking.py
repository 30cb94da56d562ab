"""How the next answers are to be asked for: drawing, form, hooks, drafts, thinking; values alone."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Meta, Struct, structs

from app.model.message import Constraint, Draft, Earlier, Overflow, Record, Sampling
from app.model.typed_text import clean

FormatKind: TypeAlias = Literal["json_schema", "regex", "choice", "lark"]


class AnswerFormat(Struct, frozen=True, kw_only=True):
    """The form that answers must have, as a person wrote it; of choices, one stands on each line."""

    kind: FormatKind
    text: str

    @property
    def constraint(self) -> Constraint:
        """The same for the worker. What can't be used is for the worker to refuse, with its reason."""
        match self.kind:
            case "choice":
                return Constraint(kind="choice", value=[line for line in self.text.split("\n") if line.strip()])
            case "json_schema":
                return Constraint(kind="json_schema", value=_json(self.text))
            case _:
                return Constraint(kind=self.kind, value=self.text)


class Asking(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that a person sets before asking, but for the words."""

    sampling: Sampling = Sampling()
    format: AnswerFormat | None = None
    """None: free."""
    hooks: tuple[str, ...] = ()
    """What looks at each token, in order."""
    hook_options: dict[str, dict[str, Any]] = {}
    """By the hooks' names, what each is given; those of hooks that are off are kept for when they are on again."""
    draft: Draft = "auto"
    thinking: bool | None = None
    """Whether to think before answering, where a model can be told so; None: as its template has it."""
    template_options: dict[str, Any] = {}
    """What else the chat template is given."""
    n: Annotated[int, Meta(ge=1, le=64)] = 1
    """How many answers are asked for at once."""
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] = 0
    preset: str = ""
    """The name of the preset that it was made from; it may have been changed since."""

    def record(self, overflow: Overflow, thinking_option: str | None) -> Record:
        """Return the record of an answer that is to be asked for so.

        `thinking_option`: by which name a chat template is told to think; None where it can't be told.
        """
        return Record(
            sampling=self.sampling,
            overflow=overflow,
            constraint=None if self.format is None else self.format.constraint,
            hooks=self.hooks,
            hook_options=self._used_options,
            draft=self.draft,
            template_options=self.options(thinking_option),
            top_logprobs=self.top_logprobs,
        )

    def going_on(self, record: Record, overflow: Overflow) -> Record:
        """Return the record of an answer that is to go on: what its turn began as it stays, what draws is as now."""
        drawn = Earlier(end=len(record.token_ids), seed=record.seed, sampling=record.sampling)
        return structs.replace(
            record,
            earlier=(*record.earlier, drawn) if record.token_ids else (),
            sampling=self.sampling,
            overflow=overflow,
            hooks=self.hooks,
            hook_options=self._used_options,
            draft=self.draft,
            top_logprobs=self.top_logprobs,
        )

    def options(self, thinking_option: str | None) -> dict[str, Any]:
        """Return what the chat template is given."""
        if thinking_option is None or self.thinking is None:
            return self.template_options
        return {**self.template_options, thinking_option: self.thinking}

    @property
    def cleaned(self) -> Asking:
        """The same as text that can be stored and sent."""
        stop = tuple(clean(text) for text in self.sampling.stop)
        format_ = None if self.format is None else structs.replace(self.format, text=clean(self.format.text))
        sampling = structs.replace(self.sampling, stop=stop)
        return structs.replace(self, sampling=sampling, format=format_, hook_options=_cleaned(self.hook_options))

    @property
    def _used_options(self) -> dict[str, dict[str, Any]]:
        return {name: options for name, options in self.hook_options.items() if name in self.hooks and options}


def _cleaned(value: Any) -> Any:
    """The same with every text in it fit to be stored."""
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(part) for part in cast("list[Any]", value)]
        case dict():
            return {_cleaned(name): _cleaned(part) for name, part in cast("dict[Any, Any]", value).items()}
        case _:
            return value


def _json(text: str) -> Any:
    """What a JSON text says, or the text itself where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
