"""The events that a worker emits. Each command ends with exactly one event that is the last one for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from worker.sentence import Sentence, SentenceParts, received
from worker.values import (
    CacheKind,
    Capability,
    Confinement,
    FailureKind,
    FinishReason,
    Origin,
    ReasoningMarks,
    RequestId,
    ServerFacts,
    Tier,
    Value,
    WeightForm,
)

# --- parts of events ---------------------------------------------------------------------------------------


class Alternative(Value, frozen=True):
    """A token that could have been sampled here, with the text that it would have shown.

    Servers do not give the ids of their tokens: then the ids are negative, and only differ from each other.
    """

    id: int
    text: str
    logprob: float | None


class Token(Value, frozen=True):
    """One token of an answer. `logprob` is null if `top_logprobs` was 0, or if it is -inf.

    `id` is -1 for a token of a server. Among its `top`, this token has the same id.

    `num_chars`: how many characters of the answer end with this token, including those held back for now. It is 0 for
    tokens that spell given text again. A character that several tokens spell counts for the last of them.
    """

    id: int
    logprob: float | None = None
    top: list[Alternative] = []
    origin: Origin = "sampled"
    num_chars: int = 0


class WrittenSegment(Value, frozen=True):
    """One segment of a finished answer, and why it ended."""

    text: str
    token_ids: list[int]
    reason: FinishReason
    stop: str | None = None


class DrawnBefore(Value, frozen=True):
    """The first tokens of a forked answer were sampled with the seed of the answer that it forked from."""

    num_tokens: int
    """Tokens after those of the previous `DrawnBefore`."""
    seed: int


class Choice(Value, frozen=True):
    """One finished answer.

    `token_ids` spell exactly `text`; the last `num_recut` of them were tokenized again because the text ends inside a
    token. `turn_token_ids` are the whole turn as the model processed it, including a continuation: send them back as
    `Message.token_ids` in the next request. `turn_token_chars` says how many characters of the turn end with each.

    `num_given_chars`: how many characters hooks took back from the end of the continuation. The turn is the
    continuation without them, followed by `text`.

    `drawn_before`: which of `token_ids` were sampled with a seed other than `seed`; only after a hook has forked.
    """

    text: str
    token_ids: list[int]
    num_recut: int
    seed: int
    reason: FinishReason
    stop: str | None = None
    turn_token_ids: list[int] = []
    turn_token_chars: list[int] = []
    num_given_chars: int = 0
    drawn_before: list[DrawnBefore] = []
    segments: list[WrittenSegment] | UnsetType = UNSET


class Usage(Value, frozen=True):
    """Numbers of tokens. `prefilled_tokens` counts the prompt positions that the model computed for this request.

    `generated_tokens` and `forced_tokens` count the final answers; tokens that forks share count once.

    `peak_memory_bytes`: the most memory that all arrays of the worker took at once while the request was answered,
    including the model, its cache, and other requests. 0 means that it was not measured.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    # False: a server did not report how much of the prompt it had kept, so `cached_tokens` is not known.
    is_cached_known: bool = True
    prefilled_tokens: int = 0
    generated_tokens: int = 0
    forced_tokens: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    # How many of the oldest messages after the system prompt were left out, as `overflow` allows.
    dropped_messages: int = 0
    peak_memory_bytes: int = 0
    # The prompt was processed in chunks of this many tokens, which affects rounding. 0 means that the size is not
    # known.
    chunk_tokens: int = 0


class Timing(Value, frozen=True):
    """Wall-clock times of one request. `ttft_ms` is the time from the end of its wait to its first token."""

    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    ttft_ms: float = 0.0
    decode_tokens_per_s: float = 0.0


class Notice(Value, frozen=True):
    """A sentence for the user that is not about a failure."""

    message: str
    # The message for translation.
    parts: SentenceParts | UnsetType = UNSET

    @property
    def sentence(self) -> Sentence:
        return received(self.message, self.parts)


def notices_of(sentences: Iterable[Sentence]) -> list[Notice]:
    """Return sentences in the form in which events send them."""
    return [Notice(message=str(sentence), parts=sentence.parts) for sentence in sentences]


class HookUse(Value, frozen=True):
    """The time that a hook took. `is_off`: it was too slow too often, so it was switched off for this answer."""

    choice: int
    name: str
    calls: int
    total_ms: float
    longest_ms: float
    is_off: bool = False


class PromptPlan(Value, frozen=True):
    """The cost of one prompt now: the model would process `prompt_tokens` - `cached_tokens` tokens."""

    prompt_tokens: int
    cached_tokens: int
    tier: Tier


class HookOption(Value, frozen=True):
    """An option of a hook, for `hook_options`, as its file declares it.

    `kind`: "any" if the file declares no supported type. `default`: null if there is none, or if it is not a literal.
    """

    name: str
    kind: Literal["bool", "int", "float", "str", "list", "any"]
    default: Any = None
    is_required: bool = False


class ListedHook(Value, frozen=True):
    """A hook as its file describes itself.

    `summary` is the first paragraph of its docstring on one line, `description` the whole docstring; both may be empty.
    `is_own`: it is in the user's hooks folder. `problem`: why it can't be used; empty if no reason is known.
    """

    name: str
    summary: str = ""
    description: str = ""
    options: list[HookOption] = []
    is_own: bool = False
    problem: str = ""
    # The problem for translation.
    problem_parts: SentenceParts | UnsetType = UNSET

    @property
    def problem_sentence(self) -> Sentence:
        return received(self.problem, self.problem_parts)


# --- events ------------------------------------------------------------------------------------------------


class _Event(Value, tag_field="type", frozen=True):
    request_id: RequestId | None


class ModelLoading(_Event, tag="model_loading", frozen=True):
    """Progress of a load: `fraction` from 0 to 1, `stage` as a text for the user."""

    fraction: float
    stage: str


class ModelLoaded(_Event, tag="model_loaded", frozen=True):
    """The model is ready. The last event of its command."""

    model: str
    architecture: str
    num_parameters: int
    context_length: int
    vocab_size: int
    weights_bytes: int
    kv_bytes_per_token: int
    cache_kind: CacheKind
    # The draft model in use, and why the requested one is not used.
    draft_model: str | None = None
    draft_refused: str = ""
    # `draft_refused`, for translation.
    draft_refused_parts: SentenceParts | UnsetType = UNSET
    # A hash of weights, configuration, libraries and device; a copy of the model has the same one.
    identity: str = ""
    # Versions of the libraries that compute with the model, by name.
    versions: dict[str, str] = {}
    # Whether the model's chat template has a switch that makes the model think before it answers.
    thinking: bool = False
    # The name of that switch in `template_options` (true: think), and its default.
    thinking_option: str | None = None
    thinking_default: bool = False
    # Faults of the model, which can still be used; usually empty.
    notices: list[Notice] = []
    # Whether the worker's process gave up the network and writing files.
    confinement: Confinement = Confinement()
    # The form of the weights in memory.
    weights: WeightForm = WeightForm()
    # Whether the model's folder has a chat template.
    has_template: bool = True
    # How the model writes tool calls: a name in `worker.tools.forms`. "plain" means that its template does not support
    # tools, so they are described in the system prompt. Null means that the worker is older than this field.
    tool_form: str | None = None
    # The texts around the model's reasoning; null if it has none.
    reasoning: ReasoningMarks | None = None
    # The abilities of the model's engine; null means all of them.
    capabilities: list[Capability] | None = None
    # The known facts about the model's server, for the next load; null for a model on this computer.
    server: ServerFacts | None = None

    def can(self, capability: Capability) -> bool:
        """Return whether the model's engine has an ability."""
        return self.capabilities is None or capability in self.capabilities

    @property
    def draft_refusal(self) -> Sentence | None:
        return received(self.draft_refused, self.draft_refused_parts) if self.draft_refused else None


class PrefillProgress(_Event, tag="prefill_progress", frozen=True):
    """`done` of `total` prompt tokens are in the cache now; `cached` were there before."""

    done: int
    total: int
    cached: int
    # Whether the prompt ends inside the reasoning, so that the answer begins with reasoning.
    opens_reasoning: bool = False
    # The finished part of the next chunk, in tokens.
    partly: int = 0
    # How fast the model has recently processed prompts, in tokens per second; null if it has processed none.
    tokens_per_s: float | None = None


class Chunk(_Event, tag="chunk", frozen=True):
    """Text that can be shown (it can't become part of a stop string), with all tokens since the last chunk.

    `sampled_ns` is this machine's monotonic clock (`time.monotonic_ns`) when the last token was known.
    """

    choice: int
    text: str
    tokens: list[Token]
    sampled_ns: int = 0


class Retract(_Event, tag="retract", frozen=True):
    """Take back the last characters and tokens of what was streamed.

    If a hook goes back beyond the start of the answer, everything streamed is taken back, and also the last
    `num_given_chars` characters of the continuation. The text that is streamed next replaces them.
    """

    choice: int
    num_chars: int
    num_tokens: int
    num_given_chars: int = 0


class Forked(_Event, tag="forked", frozen=True):
    """A new answer that shares the first characters and tokens of `parent`, and the present continuation."""

    choice: int
    parent: int
    num_chars: int
    num_tokens: int


class Answered(_Event, tag="answered", frozen=True):
    """One of several answers has ended; the others continue."""

    choice: int
    reason: FinishReason
    stop: str | None = None


class Finished(_Event, tag="finished", frozen=True):
    """All answers of a request have ended. The last event of its command."""

    choices: list[Choice]
    usage: Usage
    timing: Timing
    hooks: list[HookUse] = []
    # Text of the prompt that the model's template or tokenizer left out or changed; usually empty.
    notices: list[Notice] = []


class Planned(_Event, tag="planned", frozen=True):
    """The answer to `plan`. The last event of its command.

    `prefill_tokens_per_s`: how fast this model processed recent prompts; null if it has processed none yet.
    """

    plans: list[PromptPlan]
    prefill_tokens_per_s: float | None = None


class Validated(_Event, tag="validated", frozen=True):
    """The answer to `validate`. The last event of its command."""

    ok: bool
    message: str
    # The message for translation.
    parts: SentenceParts | UnsetType = UNSET

    @property
    def sentence(self) -> Sentence:
        return received(self.message, self.parts)


class Tokenized(_Event, tag="tokenized", frozen=True):
    """The answer to `tokenize`. With `counts_only`, only the number of tokens is set. The last event of its command.

    `text` is the text of all ids together. It may differ from the joined `pieces`: a character that several tokens
    spell is in none of them.
    """

    token_ids: list[int]
    pieces: list[str]
    num_tokens: int = 0
    text: str = ""


class CacheStatsReport(_Event, tag="cache_stats", frozen=True):
    """How many distinct tokens the cache holds, and their size in bytes. The last event of its command."""

    tokens: int
    bytes: int
    limit_bytes: int
    disk_tokens: int
    disk_bytes: int
    # As in `planned`.
    prefill_tokens_per_s: float | None = None


class HooksListed(_Event, tag="hooks_listed", frozen=True):
    """The answer to `list_hooks`, sorted by name. The last event of its command."""

    hooks: list[ListedHook]


class EndpointChecked(_Event, tag="endpoint_checked", frozen=True):
    """The answer to `check_endpoint`: the names by which the server knows its models, sorted. The last event."""

    models: list[str]


class Done(_Event, tag="done", frozen=True):
    """The last event of its command, without a value."""


class Failed(_Event, tag="failed", frozen=True):
    """The command failed. `message` is a sentence that says what to do. The last event of its command.

    `template` and `fields` are the same sentence for translation, see `SentenceParts`.
    """

    kind: FailureKind
    message: str
    template: str = ""
    fields: dict[str, str | int | SentenceParts] = {}
    # For a load: whether the previous model is still loaded and no other load is pending.
    still_loaded: bool = False
    # For an answer of a server: it refused what it could do before, so what is known about it no longer holds.
    is_outdated: bool = False

    @property
    def sentence(self) -> Sentence:
        return received(self.message, SentenceParts(self.template, self.fields))


Event: TypeAlias = (
    ModelLoading
    | ModelLoaded
    | PrefillProgress
    | Chunk
    | Retract
    | Forked
    | Answered
    | Finished
    | Planned
    | Validated
    | Tokenized
    | CacheStatsReport
    | HooksListed
    | EndpointChecked
    | Done
    | Failed
)


Activity: TypeAlias = Literal[
    "starting", "idle", "loading", "template", "constraint", "reading", "decoding", "hook", "saving"
]


class Heartbeat(Struct, frozen=True, array_like=True):
    """A report on what the worker is doing. It is sent apart from the events; see `worker.pulse`."""

    activity: Activity
    lasted_s: float
    """The time since the last sign of progress, in seconds."""
    usual_s: float
    """The longest time that this activity took before; 0 if unknown."""
    detail: str
    """The stage of a load or the name of a hook; else empty."""
    done: int
    """Tokens of the prompt that were processed so far."""
    total: int
