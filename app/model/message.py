"""Messages, conversations, and the record of how an answer was made.

There may be tens of thousands of messages. None of these values can be part of a reference cycle, so they are hidden
from the garbage collector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, field, structs

from app.model.endpoints import Prices
from worker.sentence import Sentence, SentenceParts, received

MessageId: TypeAlias = int
MAX_MS = 253_402_300_799_000
"""The end of the year 9999, in milliseconds since 1970. No valid time is later."""

Role: TypeAlias = Literal["root", "system", "user", "assistant", "note", "file"]
"""`root` is the parent of the system prompts, which can have siblings, too; it has no text.

A `note` is, for example, a tool call or its result, or a picture that was imported with a question. Its first line is
its label. It is shown folded, and not sent to models unless its record has `sent`.

A `file` is an attached file above its question, and a part of the same turn. Its first line is the file's name.
"""

State: TypeAlias = Literal["complete", "streaming", "stopped", "cut", "failed"]
"""`stopped`: by the user, or because the worker died. `cut`: at the maximum of tokens or the end of the context."""

Overflow: TypeAlias = Literal["fail", "drop_oldest"]
"""The reaction to a conversation that is longer than the model's context: fail, or leave out the oldest messages."""

ORIGINS = {
    "sampled": "s",
    "forced": "f",
    "healed": "h",
    "draft": "d",
    "recut": "r",
    "given": "g",
    "chosen": "c",
}
"""The origins of tokens, as letters. `recut`: the answer ended inside a token, so its end was tokenized again.

`given`: from text that the model continued. `chosen`: the user chose it instead of another token.
"""

Draft: TypeAlias = Literal["auto", "tree", "off"]
"""The source of draft tokens. `auto`: the draft model if one is loaded, else as `tree`; `tree`: other answers."""

ThoughtMarks: TypeAlias = tuple[Annotated[str, Meta(max_length=200)], Annotated[str, Meta(max_length=200)]]
"""The texts before and after a model's reasoning. If the first is empty, all text before the second is reasoning."""


class Sampling(Struct, frozen=True, gc=False, kw_only=True):
    """The sampling settings of an answer: those of the worker's protocol, by the same names, and its limits."""

    temperature: Annotated[float, Meta(ge=0, le=100)] = 0.8
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    """The number of most likely tokens that may be sampled; 0 means all tokens."""
    min_p: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """The probability that a token must have, as a share of the highest one."""
    repetition_penalty: Annotated[float, Meta(gt=0, le=100)] = 1.0
    presence_penalty: Annotated[float, Meta(ge=-100, le=100)] = 0.0
    frequency_penalty: Annotated[float, Meta(ge=-100, le=100)] = 0.0
    penalty_context: Annotated[int, Meta(ge=1, le=4096)] = 20
    """The penalties apply to tokens among this many last ones."""
    # Only requests of other programs set the next two fields; the window has no controls for them.
    penalty_covers: Literal["all", "new"] = "all"
    logit_bias: dict[Annotated[int, Meta(ge=0, le=2**31 - 1)], Annotated[float, Meta(ge=-100, le=100)]] = {}
    max_tokens: Annotated[int, Meta(ge=1, le=2**63 - 1)] = 1024
    stop: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    """The seed of the sampler; None means a new seed for each answer."""


class Constraint(Struct, frozen=True, gc=False, kw_only=True):
    """The answer format of an answer, as in the worker's protocol."""

    kind: Literal["json_schema", "regex", "choice", "lark"]
    value: Any
    covers: Literal["turn", "new"] = "turn"


class Alternative(Struct, frozen=True, gc=False, array_like=True):
    """Another token that was possible at a position. The ids of a server's tokens are negative, see the protocol."""

    id: int
    text: str
    logprob: float | None


class Figures(Struct, frozen=True, gc=False, kw_only=True):
    """The cost of an answer: numbers of tokens, times and memory.

    Of the prompt's tokens, some were cached ("kept"), and the others processed ("read").
    """

    prompt_tokens: int = 0
    kept_tokens: int = 0
    is_kept_known: bool = True
    """Whether the model's engine reported how much was cached. Some servers don't."""
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
    """The peak memory use of the worker; 0 if it was not measured."""
    left_out_messages: int = 0
    """The number of oldest messages after the system prompt that did not fit into the context."""


class Earlier(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How an earlier part of an answer was sampled, if the answer continued with other settings."""

    end: int
    """The number of tokens of the turn up to the end of this part."""
    seed: int | None
    sampling: Sampling
    has_forked: bool = False
    """Whether a hook forked the answer after this part. Otherwise the answer had ended there and was continued."""


class HookRecord(Struct, frozen=True, gc=False, kw_only=True):
    """The calls of one hook while an answer was generated."""

    name: str
    calls: int = 0
    total_ms: float = 0.0
    longest_ms: float = 0.0
    is_off: bool = False
    """Whether the hook was switched off because it was too slow too often."""


class Tool(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A tool that the model may call. `parameters` is the JSON schema of its arguments."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class ToolCall(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A tool call."""

    name: str
    arguments: dict[str, Any] = {}
    id: str = ""


class Sent(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The form in which a message is sent to the model, if its role and text do not determine it.

    Used for requests of other programs. Such a message is a separate turn, even if it is empty or follows a message of
    the same role.
    """

    role: Literal["", "tool", "system"] = ""
    """The role of a note that is a turn: a tool's result, or a system text after the beginning."""
    call_id: str = ""
    """The id of the call to which a tool's result belongs."""
    name: str = ""
    """The name of the tool that returned the result."""
    call: ToolCall | None = None
    """The tool call of the answer above, if the message is a note for one; else None."""
    num_calls: int = 0
    """The number of notes below this answer that are its tool calls."""
    content: str | None = None
    """The text of an answer without its reasoning and calls; None means the message's text."""
    reasoning: str = ""
    written: str | None = None
    """The text of an answer with its reasoning and calls, as the model generated it; None means the message's text."""
    token_ids: tuple[int, ...] = ()
    """The tokens of `written`; if empty, they are the tokens of the record."""


class Record(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How an answer was generated. `token_ids` are the tokens of the whole turn, as the model processed them.

    Of the tokens of a server, the ids are not known; then `token_ids` is empty, and the other fields have the tokens.

    Empty fields are not stored; they mean that the value is not known.
    """

    model: str = ""
    model_identity: str = ""
    """A hash of the weights, the configuration and the versions of libraries."""
    versions: dict[str, str] = {}
    """The versions of these libraries, by name."""
    chunk_tokens: int = 0
    """The prompt was processed in chunks of this many tokens; 0 if unknown."""
    token_ids: tuple[int, ...] = ()
    token_chars: tuple[int, ...] = ()
    """The number of characters of the text that end with each token; empty if not known."""
    origins: str = ""
    """A letter of `ORIGINS` for each token; empty if not known."""
    logprobs: tuple[float | None, ...] = ()
    """The log-probability of each token, None if it is not known; empty if none were requested."""
    alternatives: tuple[tuple[Alternative, ...], ...] = ()
    """The alternatives to each token, most likely first; empty if none were requested."""
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] = 0
    """The number of alternatives that were requested; 0 means no log-probabilities either."""
    constraint: Constraint | None = None
    hooks: tuple[str, ...] = ()
    """The names of the hooks, in the order in which they were called."""
    hook_options: dict[str, dict[str, Any]] = {}
    """The options of the hooks, by name."""
    hook_records: tuple[HookRecord, ...] = field(default=(), name="hooks_told")
    draft: Draft = "auto"
    template_options: dict[str, Any] = {}
    """The options of the chat template, such as whether to think."""
    kv_bits: int | None = None
    """The precision of the cache; None means full precision."""
    thought_marks: ThoughtMarks | None = None
    """The marks of reasoning that the user set for the model; None means the usual marks."""
    sampling: Sampling = Sampling()
    overflow: Overflow = "fail"
    seed: int | None = None
    earlier: tuple[Earlier, ...] = ()
    """The parts of the answer before the last one; `sampling` and `seed` are those of the last part."""
    reason: str | None = None
    stop: str | None = None
    error: str | None = None
    """Why it failed or was interrupted, as an English sentence."""
    error_parts: SentenceParts | None = None
    """The sentence of `error` for translation; None in records of older versions of Bough."""
    notices: tuple[SentenceParts, ...] = ()
    """Sentences about text of the prompt that the model's files left out or changed. Each occurs once in a branch."""
    ended_ms: int = 0
    """When the answer ended, in milliseconds since 1970; 0 if it has not ended, or if the time is not known."""
    figures: Figures = Figures()
    prices: Prices | None = None
    """The prices of the server when it was asked; None if the user gave none."""
    client: str = ""
    """The program whose request was answered; empty for the user's own questions."""
    read_again: str = ""
    """Why a part of that request's prompt was processed again; empty if no part was.

    "tools", "system text" or "message 3 (user)" is the first part that had changed since the program's last request.
    "not kept": no part had changed, but the cache did not have it.
    """
    dropped: tuple[str, ...] = ()
    """The user's rules that removed a part of that request."""
    tools: tuple[Tool, ...] = ()
    """The tools that the answers below this system prompt may call."""
    tool_choice: Literal["auto", "none", "required"] = "auto"
    """Whether the model could call tools, or had to."""
    named_tool: str = ""
    """The tool that the model had to call; empty if it had a choice."""
    calls_once: bool = False
    """Whether the answer could contain only one tool call."""
    sent: Sent | None = None
    is_of_project: bool = False
    """Whether this system prompt or file came from the project of its conversation."""
    is_part: bool = False
    """Whether this is a part of the message above it: texts, tool calls and results of one answer of another program.

    All parts of a message are shown, copied, edited, regenerated, forked and deleted together.
    """

    @property
    def num_tokens(self) -> int:
        """The number of known tokens."""
        return len(self.token_ids) or len(self.token_chars)

    @property
    def error_sentence(self) -> Sentence | None:
        return None if self.error is None else received(self.error, self.error_parts)


def is_part(message: Message) -> bool:
    """Return whether a message is a part of the one above it."""
    return message.record is not None and message.record.is_part


def with_error(record: Record | None, error: Sentence | None) -> Record:
    """Return `record` for an answer that failed or was interrupted.

    `error` is the reason; None means that the user stopped it.
    """
    text, parts = (None, None) if error is None else (str(error), error.parts)
    return structs.replace(record or Record(), error=text, error_parts=parts, reason=None, stop=None)


def numbered(record: Record, number: int) -> Record:
    """Return the record of one of several answers to one request; each has the next seed."""
    return record if record.seed is None else structs.replace(record, seed=record.seed + number)


def without_tokens(record: Record) -> Record:
    """Return a record without tokens, for a text whose tokens are not all known."""
    record = without_written(record)
    return structs.replace(record, token_ids=(), token_chars=(), origins="", logprobs=(), alternatives=(), earlier=())


def without_written(record: Record) -> Record:
    """Return the record of an answer that was edited or continued, so that only its text is sent."""
    is_as_sent = record.sent is not None and not (record.sent.role or record.sent.call)
    return structs.replace(record, sent=None) if is_as_sent else record


class SampledToken(Struct, frozen=True, gc=False, array_like=True):
    """A token of a streaming answer."""

    id: int
    origin: str
    logprob: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    num_chars: int = 0
    """The number of characters of the answer that end with this token."""


def with_sampled(record: Record, sampled: Sequence[SampledToken]) -> Record:
    """Return a record with more tokens at the end, which may spell a little more text than has streamed."""
    if not sampled:
        return record
    num = record.num_tokens
    logprobs = (*record.logprobs, *[None] * (num - len(record.logprobs)), *(token.logprob for token in sampled))
    alternatives = (
        *record.alternatives,
        *[()] * (num - len(record.alternatives)),
        *(token.alternatives for token in sampled),
    )
    has_ids = len(record.token_ids) == num and all(token.id >= 0 for token in sampled)
    return structs.replace(
        record,
        token_ids=(*record.token_ids, *(token.id for token in sampled)) if has_ids else (),
        token_chars=(
            (*record.token_chars, *(token.num_chars for token in sampled)) if len(record.token_chars) == num else ()
        ),
        origins=(record.origins or ORIGINS["given"] * num) + "".join(token.origin for token in sampled),
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
    """The name of the branch that begins here."""
    starred_ms: int | None = None
    """When the message was starred, in milliseconds since 1970; None if it is not starred."""
    pinned_ms: int | None = None
    """When the branch through this message was pinned here; None if it is not pinned."""


class Conversation(Struct, frozen=True, kw_only=True):
    """The name, the first message and other facts of a conversation.

    Its messages are in the store, with the visible branch.
    """

    id: int
    name: str
    root_id: MessageId
    created_ms: int
    updated_ms: int
    pinned_ms: int | None = None
    """When the conversation was pinned to the top of the list; None if it is not pinned."""
    folder: str = ""
    """The path of the conversation's folder, with slashes; empty without a folder."""
    archived_ms: int | None = None
    """When the conversation was archived; None if it is not archived."""
    model: str = ""
    """The name of the model that the conversation asks; empty if the user has not chosen one there."""
    uid: str = ""
    """An id that stays the same in exports and imports; empty in files of older versions."""
