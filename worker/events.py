"""What a worker says; events are facts, and those marked terminal end the command that they answer."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from worker.values import CacheKind, FailureKind, FinishReason, Origin, RequestId, Tier, Value

# --- what events are made of -------------------------------------------------------------------------------


class Alternative(Value, frozen=True):
    """A token that could have stood here, with the text it would have shown."""

    id: int
    text: str
    logprob: float | None


class Token(Value, frozen=True):
    """One token of an answer. `logprob` is null unless `top_logprobs` was asked for, or where it is -inf.

    `num_chars`: how many characters of the answer end with it, those included that are held back for now. One that
    spells given text again has none, and of a character that several tokens spell the last one has it.
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
    """The seed that drew the first tokens of an answer which forked: that of the answer that it forked from."""

    num_tokens: int
    """As far as no part before this one says it."""
    seed: int


class Choice(Value, frozen=True):
    """One finished answer.

    `token_ids` are exactly `text`; the last `num_recut` of them were cut anew because the text ends inside a
    token. `turn_token_ids` are the whole turn as the model read it, given beginning included: what the next
    request hands back as `Message.token_ids`. `turn_token_chars` says how many characters of the turn end with each.

    `num_given_chars`: how many characters at the end of the given beginning hooks have taken back. The turn is the
    beginning without them, and then `text`.

    `drawn_before`: what of `token_ids` another seed than `seed` has drawn; only where a hook has forked.
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
    """Tokens. `prefilled_tokens` counts the prompt positions that the model computed for this request.

    `generated_tokens` and `forced_tokens` are those of the answers as they ended; what forks share is counted once.

    `peak_memory_bytes`: the most that the worker's arrays took at once while the request was answered: the model, what
    it has read, what it computed with, and whatever else was under way then. 0: it was not measured.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    prefilled_tokens: int = 0
    generated_tokens: int = 0
    forced_tokens: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    # Messages that were left out, the oldest behind the system prompt, as `overflow` asked.
    dropped_messages: int = 0
    peak_memory_bytes: int = 0


class Timing(Value, frozen=True):
    """Wall-clock times of one request; `ttft_ms` runs from the start of its turn to its first token."""

    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    ttft_ms: float = 0.0
    decode_tokens_per_s: float = 0.0


class HookUse(Value, frozen=True):
    """What a hook of an answer took. `is_off`: it was too slow too often, and was asked no more."""

    choice: int
    name: str
    calls: int
    total_ms: float
    longest_ms: float
    is_off: bool = False


class PromptPlan(Value, frozen=True):
    """What one prompt would cost now: `prompt_tokens` - `cached_tokens` would be read."""

    prompt_tokens: int
    cached_tokens: int
    tier: Tier


class HookOption(Value, frozen=True):
    """What a hook can be given by `hook_options`, as its file says it.

    `kind`: "any" where the file says nothing that could be told. `default`: null where it has none, or one that has to
    be worked out.
    """

    name: str
    kind: Literal["bool", "int", "float", "str", "list", "any"]
    default: Any = None
    is_required: bool = False


class ListedHook(Value, frozen=True):
    """A hook as its file describes itself.

    `summary` is the first paragraph of its docstring as one line, `description` all of it; both may be empty.
    `is_own`: it lies in the person's folder. `problem`: why it can't be used; empty where nothing is known against it.
    """

    name: str
    summary: str = ""
    description: str = ""
    options: list[HookOption] = []
    is_own: bool = False
    problem: str = ""


# --- events ------------------------------------------------------------------------------------------------


class _Event(Value, tag_field="type", frozen=True):
    request_id: RequestId | None


class ModelLoading(_Event, tag="model_loading", frozen=True):
    """A load goes on: `fraction` 0…1, `stage` in a person's words."""

    fraction: float
    stage: str


class ModelLoaded(_Event, tag="model_loaded", frozen=True):
    """The model is ready. Terminal."""

    model: str
    architecture: str
    num_parameters: int
    context_length: int
    vocab_size: int
    weights_bytes: int
    kv_bytes_per_token: int
    cache_kind: CacheKind
    # The draft model that is used with it, and why the one that was asked for is not.
    draft_model: str | None = None
    draft_refused: str = ""
    # A hash of its weights, its configuration and what computes with them; the same for a copy of the model.
    identity: str = ""
    # Of the libraries that compute with it, by their names.
    versions: dict[str, str] = {}
    # Whether its chat template can be told to have the model think before it answers, or not to.
    thinking: bool = False
    # The one of `template_options` that says so (true: think), and what holds where it is left out.
    thinking_option: str | None = None
    thinking_default: bool = False


class PrefillProgress(_Event, tag="prefill_progress", frozen=True):
    """Of `total` prompt tokens `done` are in the cache now, `cached` were there before."""

    done: int
    total: int
    cached: int


class Chunk(_Event, tag="chunk", frozen=True):
    """Text that is safe to show, with every token drawn since the last chunk.

    `sampled_ns` is the monotonic clock of this machine (`time.monotonic_ns`) when the last token was known.
    """

    choice: int
    text: str
    tokens: list[Token]
    sampled_ns: int = 0


class Retract(_Event, tag="retract", frozen=True):
    """Take back that much of what was streamed.

    Where a hook goes back behind the answer's beginning, all that was streamed is taken back, and `num_given_chars`
    says how many characters at the end of the given beginning are, too: what is streamed next stands in their place.
    """

    choice: int
    num_chars: int
    num_tokens: int
    num_given_chars: int = 0


class Forked(_Event, tag="forked", frozen=True):
    """A new answer that shares that much of its parent's, and what is left of the given beginning there."""

    choice: int
    parent: int
    num_chars: int
    num_tokens: int


class Answered(_Event, tag="answered", frozen=True):
    """One of several answers ended; the others go on."""

    choice: int
    reason: FinishReason
    stop: str | None = None


class Finished(_Event, tag="finished", frozen=True):
    """All answers of a request ended. Terminal."""

    choices: list[Choice]
    usage: Usage
    timing: Timing
    hooks: list[HookUse] = []


class Planned(_Event, tag="planned", frozen=True):
    """The answer to `plan`. Terminal.

    `prefill_tokens_per_s`: how fast this model has lately read prompts; null as long as it has read none.
    """

    plans: list[PromptPlan]
    prefill_tokens_per_s: float | None = None


class Validated(_Event, tag="validated", frozen=True):
    """The answer to `validate`. Terminal."""

    ok: bool
    message: str


class Tokenized(_Event, tag="tokenized", frozen=True):
    """The answer to `tokenize`. Where `counts_only` was asked for, there is nothing but the number. Terminal.

    `text` is what the ids say together; of a character that several of them make, the pieces show none.
    """

    token_ids: list[int]
    pieces: list[str]
    num_tokens: int = 0
    text: str = ""


class CacheStatsReport(_Event, tag="cache_stats", frozen=True):
    """Distinct tokens held and their bytes. Terminal."""

    tokens: int
    bytes: int
    limit_bytes: int
    disk_tokens: int
    disk_bytes: int
    # As in `planned`.
    prefill_tokens_per_s: float | None = None


class HooksListed(_Event, tag="hooks_listed", frozen=True):
    """The answer to `list_hooks`, by name. Terminal."""

    hooks: list[ListedHook]


class Done(_Event, tag="done", frozen=True):
    """Terminal."""


class Failed(_Event, tag="failed", frozen=True):
    """The command ended without its result. `message` is a sentence that says what to do. Terminal."""

    kind: FailureKind
    message: str
    # Of a load: whether the model from before is still there as it was, and no other one is on its way.
    still_loaded: bool = False


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
    | Done
    | Failed
)
