"""What a conversation is made of: messages, and the record of how an answer came about; values alone.

None of them can hold itself, so the garbage collector need not look at them: there are tens of thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, structs

from worker.sentence import Sentence, SentenceParts, received

MessageId: TypeAlias = int

Role: TypeAlias = Literal["root", "system", "user", "assistant", "note"]
"""`root` is no message: it stands above the system prompt, so that this one can have siblings, too.

A `note` is no turn: a tool's call or its result, another role's words, a picture that came with a question. Its first
line is its label. It is shown folded, and no model reads it.
"""

State: TypeAlias = Literal["complete", "streaming", "stopped", "cut", "failed"]
"""`stopped`: by the person, or by a worker that died. `cut`: the maximum of tokens or the context was reached."""

Overflow: TypeAlias = Literal["fail", "drop_oldest"]
"""What is done where a conversation is longer than the model's context: say so, or leave out the oldest messages."""

ORIGINS = {
    "sampled": "s",
    "forced": "f",
    "healed": "h",
    "draft": "d",
    "recut": "r",
    "given": "g",
    "chosen": "c",
}
"""Where a token came from, as a letter. `recut`: the answer ended inside a token, so its end was tokenized again.
`given`: it was there before the model was asked to go on. `chosen`: a person put it in another one's place."""

Draft: TypeAlias = Literal["auto", "tree", "off"]
"""What guesses the tokens to come: the draft model, where one is loaded (else the tree); other answers; nothing."""

CAN_CONTINUE: frozenset[State] = frozenset({"stopped", "cut", "failed"})


class Sampling(Struct, frozen=True, gc=False, kw_only=True):
    """The sampling settings of an answer: those of the worker's protocol, by the same names, and its limits."""

    temperature: Annotated[float, Meta(ge=0, le=100)] = 0.8
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Meta(ge=0)] = 0
    """0 means all tokens."""
    min_p: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """The probability that a token must have, as a share of the highest one."""
    repetition_penalty: Annotated[float, Meta(gt=0, le=100)] = 1.0
    presence_penalty: Annotated[float, Meta(ge=-100, le=100)] = 0.0
    frequency_penalty: Annotated[float, Meta(ge=-100, le=100)] = 0.0
    penalty_context: Annotated[int, Meta(ge=1, le=4096)] = 20
    """The penalties apply to tokens among this many last ones."""
    max_tokens: Annotated[int, Meta(ge=1)] = 1024
    stop: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    """None means a new one for each answer."""


class Constraint(Struct, frozen=True, gc=False, kw_only=True):
    """The form that an answer was to have, as the worker's protocol has it."""

    kind: Literal["json_schema", "regex", "choice", "lark"]
    value: Any
    covers: Literal["turn", "new"] = "turn"


class Alternative(Struct, frozen=True, gc=False, array_like=True):
    """A token that could have stood at a place."""

    id: int
    text: str
    logprob: float | None


class Figures(Struct, frozen=True, gc=False, kw_only=True):
    """What an answer cost: tokens of its prompt, how many of them were kept and read, and times."""

    prompt_tokens: int = 0
    kept_tokens: int = 0
    read_tokens: int = 0
    new_tokens: int = 0
    forced_tokens: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    first_word_ms: float = 0.0
    tokens_per_s: float = 0.0
    memory_bytes: int = 0
    """The most that the model, what it had read and its work took at once; 0: not measured."""
    left_out_messages: int = 0
    """The oldest messages behind the system prompt that the model did not see, for want of room."""


class Earlier(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How a part of an answer was drawn that then went on otherwise."""

    end: int
    """How many tokens the turn had at its end."""
    seed: int | None
    sampling: Sampling
    has_forked: bool = False
    """Whether a hook forked it there, in the midst; else it had ended, and what came after read it as given."""


class HookTold(Struct, frozen=True, gc=False, kw_only=True):
    """What a hook of an answer took."""

    name: str
    calls: int = 0
    total_ms: float = 0.0
    longest_ms: float = 0.0
    is_off: bool = False
    """It was too slow too often, and was asked no more."""


class Record(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How an answer came about. `token_ids` are the whole turn as the model wrote and read it.

    What is not known of an answer is not written down; so all that is missing is empty here.
    """

    model: str = ""
    model_identity: str = ""
    """A hash of its weights, its configuration and the libraries that computed with them."""
    versions: dict[str, str] = {}
    """Of those libraries, by their names."""
    token_ids: tuple[int, ...] = ()
    token_chars: tuple[int, ...] = ()
    """How many characters of the text end with each of `token_ids`; empty: not known."""
    origins: str = ""
    """A letter for each of `token_ids` (see `ORIGINS`); empty: not known."""
    logprobs: tuple[float | None, ...] = ()
    """One for each of `token_ids`, None where it is not known; empty where none was asked for."""
    alternatives: tuple[tuple[Alternative, ...], ...] = ()
    """What else could have stood at each of `token_ids`, the likeliest first; empty where that was not asked for."""
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] = 0
    """How many alternatives were asked for; 0: no log-probabilities at all."""
    constraint: Constraint | None = None
    hooks: tuple[str, ...] = ()
    """What looked at each token, in order."""
    hook_options: dict[str, dict[str, Any]] = {}
    """By the hooks' names, what each was given."""
    hooks_told: tuple[HookTold, ...] = ()
    """What became of them."""
    draft: Draft = "auto"
    template_options: dict[str, Any] = {}
    """What the chat template was given: whether to think, and the like."""
    kv_bits: int | None = None
    """In how many bits the model kept what it had read; None: as it computes."""
    sampling: Sampling = Sampling()
    overflow: Overflow = "fail"
    seed: int | None = None
    earlier: tuple[Earlier, ...] = ()
    """Of an answer that was not drawn in one go: its parts before the last one, which `sampling` and `seed` drew."""
    reason: str | None = None
    stop: str | None = None
    error: str | None = None
    """Why it failed or was interrupted, as a sentence."""
    error_parts: SentenceParts | None = None
    """The same sentence for translation; older versions of Bough did not store it."""
    ended_ms: int = 0
    """When it ended, in milliseconds since 1970; 0: it has not, or nobody noted it."""
    figures: Figures = Figures()

    @property
    def error_sentence(self) -> Sentence | None:
        return None if self.error is None else received(self.error, self.error_parts)


def with_error(record: Record | None, error: Sentence | None) -> Record:
    """Return the record of an answer that failed, was interrupted (None: by the user), or could not be read."""
    text, parts = (None, None) if error is None else (str(error), error.parts)
    return structs.replace(record or Record(), error=text, error_parts=parts, reason=None, stop=None)


def numbered(record: Record, number: int) -> Record:
    """Return the record of one of several answers that are asked for at once: each draws with the next seed."""
    return record if record.seed is None else structs.replace(record, seed=record.seed + number)


def without_tokens(record: Record) -> Record:
    """Return a record that says nothing of tokens: those that are known are not all of the text."""
    return structs.replace(record, token_ids=(), token_chars=(), origins="", logprobs=(), alternatives=(), earlier=())


class Drawn(Struct, frozen=True, gc=False, array_like=True):
    """A token of an answer that still grows, and what is known of it."""

    id: int
    origin: str
    logprob: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    num_chars: int = 0
    """How many characters of the answer end with it."""


def with_drawn(record: Record, drawn: Sequence[Drawn]) -> Record:
    """Return a record with more tokens at its turn's end. They may say a little more than the text that was told."""
    if not drawn:
        return record
    num = len(record.token_ids)
    logprobs = (*record.logprobs, *[None] * (num - len(record.logprobs)), *(token.logprob for token in drawn))
    alternatives = (
        *record.alternatives,
        *[()] * (num - len(record.alternatives)),
        *(token.alternatives for token in drawn),
    )
    return structs.replace(
        record,
        token_ids=(*record.token_ids, *(token.id for token in drawn)),
        token_chars=(
            (*record.token_chars, *(token.num_chars for token in drawn)) if len(record.token_chars) == num else ()
        ),
        origins=(record.origins or ORIGINS["given"] * num) + "".join(token.origin for token in drawn),
        logprobs=logprobs if any(logprob is not None for logprob in logprobs) else (),
        alternatives=alternatives if any(alternatives) else (),
    )


class Message(Struct, frozen=True, gc=False, kw_only=True):
    """One node of the forest. A parent link is the only link."""

    id: MessageId
    parent_id: MessageId | None
    role: Role
    text: str
    state: State = "complete"
    created_ms: int = 0
    record: Record | None = None
    name: str = ""
    """What a person calls the branch that begins here."""
    starred_ms: int | None = None
    """When it was starred; None: it is not."""
    pinned_ms: int | None = None
    """When the branch that goes through it was pinned here, to come back to; None: it is not."""


class Conversation(Struct, frozen=True, kw_only=True):
    """A name, a root in the forest, and (in the store) its own choice of child at each fork."""

    id: int
    name: str
    root_id: MessageId
    created_ms: int
    updated_ms: int
    pinned_ms: int | None = None
    """When it was pinned to the top of the list; None: it is not."""
    folder: str = ""
    """The one that it lies in; a slash parts a folder from one within it. Empty: none."""
    archived_ms: int | None = None
    """When it was put out of the way; None: it was not."""
