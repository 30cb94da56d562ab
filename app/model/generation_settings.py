"""Settings for the next answers (sampling, answer format, hooks, drafts, thinking), and presets of these settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Meta, Struct, field, structs

from app.model.message import Constraint, Draft, Earlier, Overflow, Record, Sampling
from app.model.text import clean

OptionKind: TypeAlias = Literal["bool", "int", "float", "str", "list", "any"]


class HookOption(Struct, frozen=True, kw_only=True):
    """An option of a hook. `kind` is "any" if its file does not name a type."""

    name: str
    kind: OptionKind
    default: Any = None
    is_required: bool = False


class Hook(Struct, frozen=True, kw_only=True):
    """A hook. `problem` says why it can't be used; empty if no problem is known."""

    name: str
    summary: str = ""
    description: str = ""
    options: list[HookOption] = []
    is_own: bool = False
    """Whether the hook is in the user's folder, and not one of Bough's."""
    problem: str = ""


FormatKind: TypeAlias = Literal["json_schema", "regex", "choice", "lark"]


class AnswerFormat(Struct, frozen=True, kw_only=True):
    """An answer format as the user wrote it. Each choice is on a line of its own."""

    kind: FormatKind
    text: str

    @property
    def constraint(self) -> Constraint:
        """The format for the worker. Invalid formats are passed on; the worker refuses them with a reason."""
        match self.kind:
            case "choice":
                return Constraint(kind="choice", value=[line for line in self.text.split("\n") if line.strip()])
            case "json_schema":
                return Constraint(kind="json_schema", value=_json(self.text))
            case _:
                return Constraint(kind=self.kind, value=self.text)


class GenerationSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that the user sets for the next answers."""

    sampling: Sampling = Sampling()
    format: AnswerFormat | None = None
    """The answer format; None means free text."""
    hooks: tuple[str, ...] = ()
    """The names of the active hooks, in the order in which they are called."""
    hook_options: dict[str, dict[str, Any]] = {}
    """The options of hooks, by their names. Those of inactive hooks are kept."""
    draft: Draft = "auto"
    thinking: bool | None = None
    """Whether a model that has a switch for thinking thinks before it answers. None means its template's default."""
    template_options: dict[str, Any] = {}
    """More options of the chat template."""
    n: Annotated[int, Meta(ge=1, le=64)] = 1
    """The number of answers to each question."""
    models: tuple[str, ...] = ()
    """The models that answer each question, one after another. With fewer than two, the conversation's answers."""
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] = 0
    preset: str = ""
    """The name of the preset that was chosen last; settings may have been changed since."""

    def record(self, overflow: Overflow, thinking_option: str | None) -> Record:
        """Return the record of a new answer with these settings.

        `thinking_option` is the chat template's option for thinking; None if it has none.
        """
        return Record(
            sampling=self.sampling,
            overflow=overflow,
            constraint=None if self.format is None else self.format.constraint,
            hooks=self.hooks,
            hook_options=self._active_hook_options,
            draft=self.draft,
            template_options=self.options(thinking_option),
            top_logprobs=self.top_logprobs,
        )

    def record_to_continue(self, record: Record, overflow: Overflow) -> Record:
        """Return the record of an answer that continues with these settings. Its prompt and its format are kept."""
        earlier = Earlier(end=record.num_tokens, seed=record.seed, sampling=record.sampling)
        return structs.replace(
            record,
            # Also without tokens, because an answer that began with a given text can't come again as it was.
            earlier=(*record.earlier, earlier) if record.num_tokens or record.seed is not None else (),
            sampling=self.sampling,
            overflow=overflow,
            hooks=self.hooks,
            hook_options=self._active_hook_options,
            draft=self.draft,
            top_logprobs=self.top_logprobs,
            sent=None,
        )

    def options(self, thinking_option: str | None) -> dict[str, Any]:
        """Return the options of the chat template."""
        if thinking_option is None or self.thinking is None:
            return self.template_options
        return {**self.template_options, thinking_option: self.thinking}

    def models_or(self, model: str) -> tuple[str, ...]:
        """Return the models that answer; `model` is that of the conversation."""
        return self.models if len(self.models) > 1 else (model,)

    @property
    def cleaned(self) -> GenerationSettings:
        """The same settings with texts that can be stored and sent."""
        stop = tuple(clean(text) for text in self.sampling.stop)
        format_ = None if self.format is None else structs.replace(self.format, text=clean(self.format.text))
        sampling = structs.replace(self.sampling, stop=stop)
        models = tuple(dict.fromkeys(name for name in map(clean, self.models) if name))
        options = _cleaned(self.hook_options)
        return structs.replace(self, sampling=sampling, format=format_, hook_options=options, models=models)

    @property
    def _active_hook_options(self) -> dict[str, dict[str, Any]]:
        return {name: options for name, options in self.hook_options.items() if name in self.hooks and options}


class Preset(Struct, frozen=True, kw_only=True):
    """Generation settings with a name. A built-in preset sets only the sampling, a saved one all settings."""

    name: Annotated[str, Meta(min_length=1)]
    generation: GenerationSettings = field(name="asking")
    is_built_in: bool = field(default=False, name="is_ours")

    def apply_to(self, generation: GenerationSettings) -> GenerationSettings:
        """Return the settings after this preset is chosen."""
        if not self.is_built_in:
            return structs.replace(self.generation, preset=self.name)
        before = generation.sampling
        sampling = structs.replace(
            self.generation.sampling, max_tokens=before.max_tokens, stop=before.stop, seed=before.seed
        )
        return structs.replace(generation, sampling=sampling, preset=self.name)


def _built_in(name: str, sampling: Sampling) -> Preset:
    return Preset(name=name, generation=GenerationSettings(sampling=sampling), is_built_in=True)


BUILT_IN_PRESETS: tuple[Preset, ...] = (
    _built_in("Precise", Sampling(temperature=0.0)),
    _built_in("Balanced", Sampling()),
    _built_in("Creative", Sampling(temperature=1.0, min_p=0.05)),
    _built_in("Wild", Sampling(temperature=1.5, min_p=0.1, repetition_penalty=1.1)),
)


def find_preset(presets: Iterable[Preset], name: str) -> Preset | None:
    return next((preset for preset in presets if preset.name == name), None)


def current_preset(presets: Iterable[Preset], generation: GenerationSettings) -> tuple[str, bool]:
    """Return the name of the preset in use (empty without one), and whether settings differ from it."""
    preset = find_preset(presets, generation.preset)
    if preset is not None:
        return preset.name, preset.apply_to(generation) != generation
    return next((preset.name for preset in BUILT_IN_PRESETS if _matches(preset, generation)), ""), False


def with_preset(presets: Sequence[Preset], name: str, generation: GenerationSettings) -> tuple[Preset, ...]:
    """Return the presets, with these settings saved under `name`. A preset of this name is replaced."""
    preset = Preset(name=name, generation=structs.replace(generation, preset=""))
    if find_preset(presets, name) is None:
        return (*presets, preset)
    return tuple(preset if other.name == name else other for other in presets)


def without_preset(presets: Sequence[Preset], name: str) -> tuple[Preset, ...]:
    return tuple(preset for preset in presets if preset.name != name)


def _matches(preset: Preset, generation: GenerationSettings) -> bool:
    return structs.replace(preset.apply_to(generation), preset=generation.preset) == generation


def _cleaned(value: Any) -> Any:
    """Return the same value with texts that can be stored."""
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
    """Parse JSON; return the text itself if it is invalid."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


_PERSON = """{
  "type": "object",
  "properties": {
    "name": {"type": "string"},
    "age": {"type": "integer", "minimum": 0},
    "languages": {"type": "array", "items": {"type": "string"}}
  },
  "required": ["name", "age"],
  "additionalProperties": false
}"""
_LIST = """{
  "type": "array",
  "items": {"type": "string", "maxLength": 80},
  "minItems": 3,
  "maxItems": 7
}"""
_VERDICT = """{
  "type": "object",
  "properties": {
    "reasons": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    "verdict": {"enum": ["yes", "no", "unclear"]}
  },
  "required": ["reasons", "verdict"],
  "additionalProperties": false
}"""
_SUM = """start: term (" + " term)* " = " NUMBER
term: NUMBER
NUMBER: /[0-9]{1,6}/"""
_POEM = """start: line line line
line: /[A-Z][a-z ,']{10,60}/ "\\n\""""

EXAMPLES: Mapping[FormatKind, Sequence[AnswerFormat]] = {
    "json_schema": tuple(AnswerFormat(kind="json_schema", text=text) for text in (_PERSON, _LIST, _VERDICT)),
    "regex": tuple(AnswerFormat(kind="regex", text=text) for text in (r"\d{4}-\d{2}-\d{2}", "([1-9]|10)", "[A-Z]{3}")),
    "choice": tuple(AnswerFormat(kind="choice", text=text) for text in ("yes\nno", "positive\nneutral\nnegative")),
    "lark": tuple(AnswerFormat(kind="lark", text=text) for text in (_SUM, _POEM)),
}
