"""Every message that crosses between a worker and whoever drives it; the contract, and nothing that acts on it.

It knows no encoding. Commands are imperative, events are facts. Every command ends in exactly one terminal event.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

# Both transports carry every integer of 64 bits, and MessagePack no larger one.
RequestId: TypeAlias = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

# What is not a whole token id is refused here, what is beyond the vocabulary where the model is known.
TokenId: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
# `choice` i samples with seed + i, so the top of the 64 bits that a key takes is left free.
Seed: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
# Larger than any disk; a number that no float holds could not be worked with.
NumBytes: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Nonempty: TypeAlias = Annotated[str, Meta(min_length=1)]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Origin: TypeAlias = Literal["sampled", "forced", "healed", "draft"]
FinishReason: TypeAlias = Literal["stop", "eos", "length", "constraint", "hook", "cancelled"]
Overflow: TypeAlias = Literal["fail", "drop_oldest"]
CacheKind: TypeAlias = Literal["trimmable", "snapshot"]
Tier: TypeAlias = Literal["warm", "disk", "cold"]
FailureKind: TypeAlias = Literal[
    "bad_request",
    "model_not_found",
    "model_invalid",
    "model_untrusted",
    "model_not_loaded",
    "context_overflow",
    "constraint_invalid",
    "hook_failed",
    "out_of_memory",
    "cancelled",
    "superseded",
    "internal",
]


class _Value(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    pass


# --- what commands are made of -----------------------------------------------------------------------------


class Message(_Value, frozen=True):
    """One turn. `token_ids` are the ids the model itself produced for an assistant's turn."""

    role: Role
    content: str
    token_ids: list[TokenId] | UnsetType = UNSET


class Prompt(_Value, frozen=True):
    """Exactly one of `messages`, `text` and `token_ids`; `template_options` goes with `messages`."""

    messages: list[Message] | UnsetType = UNSET
    template_options: dict[str, Any] | UnsetType = UNSET
    text: str | UnsetType = UNSET
    token_ids: list[TokenId] | UnsetType = UNSET

    def __post_init__(self) -> None:
        exactly_one(self, "messages", "text", "token_ids")
        if self.template_options is not UNSET and self.messages is UNSET:
            raise ValueError("`template_options` goes with `messages` only")


class Continuation(_Value, frozen=True):
    """The answer's beginning. `text` may end anywhere: its seam is healed. `token_ids` are exact.

    `known_ids` go with `text`: as far as they say it they are exact, and what of it they do not say is tokenized and
    its seam healed. So an answer that broke off goes on, whose last tokens are not known or say more.
    """

    text: str | UnsetType = UNSET
    token_ids: list[TokenId] | UnsetType = UNSET
    known_ids: list[TokenId] = []

    def __post_init__(self) -> None:
        exactly_one(self, "text", "token_ids")
        if self.known_ids and self.text is UNSET:
            raise ValueError("`known_ids` goes with `text` only")


class Sampling(_Value, frozen=True):
    """How a token is drawn. Temperature 0 is greedy. The filters work as mlx-lm's functions of these names do."""

    temperature: Annotated[float, Meta(ge=0, le=100)] = 0.0
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Meta(ge=0)] = 0
    min_p: Annotated[float, Meta(ge=0, le=1)] = 0.0
    repetition_penalty: Annotated[float, Meta(gt=0, le=100)] = 1.0
    presence_penalty: Annotated[float, Meta(ge=-100, le=100)] = 0.0
    frequency_penalty: Annotated[float, Meta(ge=-100, le=100)] = 0.0
    # How many of the last tokens the three penalties look at.
    penalty_context: Annotated[int, Meta(ge=1, le=4096)] = 20
    seed: Seed | None = None


class Constraint(_Value, frozen=True):
    """A form that the text must have. `covers`: whether a continuation is the constrained text's beginning."""

    kind: Literal["json_schema", "regex", "choice", "lark"]
    value: Any
    covers: Literal["turn", "new"] = "turn"


class CacheOptions(_Value, frozen=True):
    """How much of what a model has read is kept. What is not said is chosen by what the machine has."""

    limit_bytes: NumBytes | None = None
    # Of all models together; 0: nothing is kept on disk.
    disk_limit_bytes: NumBytes | None = None
    kv_bits: Literal[4, 8] | None = None


class Segment(_Value, frozen=True):
    """One stretch of a turn, with an end and a form of its own."""

    constraint: Constraint | None = None
    stop: list[Nonempty] = []
    max_tokens: Annotated[int, Meta(ge=1)] | None = None


# --- commands ----------------------------------------------------------------------------------------------


class _Command(_Value, tag_field="type", frozen=True):
    request_id: RequestId


class LoadModel(_Command, tag="load_model", frozen=True):
    """Load `model`: "guide", a folder, or a downloaded model's name. Ends in `model_loaded`."""

    model: Nonempty
    draft_model: str | None = None
    cache: CacheOptions = CacheOptions()


class UnloadModel(_Command, tag="unload_model", frozen=True):
    """Drop the model and all that was computed with it. Ends in `done`."""


class Generate(_Command, tag="generate", frozen=True):
    """Answer one prompt, in the three forms of `Prompt`. Ends in `finished`."""

    messages: list[Message] | UnsetType = UNSET
    template_options: dict[str, Any] | UnsetType = UNSET
    text: str | UnsetType = UNSET
    token_ids: list[TokenId] | UnsetType = UNSET
    continuation: Continuation | None = None
    sampling: Sampling = Sampling()
    stop: list[Nonempty] = []
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    n: Annotated[int, Meta(ge=1, le=64)] = 1
    constraint: Constraint | None = None
    segments: list[Segment] | None = None
    hooks: list[Nonempty] = []
    # By the hooks' names, what each is given when it is made for this answer.
    hook_options: dict[str, dict[str, Any]] = {}
    # How often a hook may have a token drawn anew at one place; then the best that was drawn there stands.
    max_resample_count: Annotated[int, Meta(ge=0, le=1000)] = 16
    # What guesses the tokens to come: the draft model, where one is loaded; other answers in the tree; nothing. An
    # answer that is written beside others is not guessed: a step reads a token of each of them anyway.
    draft: Literal["auto", "off", "tree", "model"] = "auto"
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] = 0
    # Where `messages` do not fit: end in `context_overflow`, or drop the oldest but for the system prompt.
    overflow: Overflow = "fail"

    def __post_init__(self) -> None:
        _ = self.prompt
        if self.overflow != "fail" and self.messages is UNSET:
            raise ValueError("`overflow` goes with `messages` only")
        if self.segments is not None:
            if not self.segments:
                raise ValueError("`segments` is empty: name at least one")
            if self.constraint is not None or self.stop:
                raise ValueError("`constraint` and `stop` belong into each of the `segments`")

    @property
    def prompt(self) -> Prompt:
        return _prompt_of(self)


class Cancel(_Command, tag="cancel", frozen=True):
    """End `target`, or one `choice` of it. Nothing happens where it has ended or is not there yet. Ends in `done`."""

    target: RequestId
    choice: Annotated[int, Meta(ge=0)] | None = None


class Plan(_Command, tag="plan", frozen=True):
    """What each prompt would cost, without computing anything. Ends in `planned`.

    The prompts of one conversation's nodes say its messages over and over; so instead of `prompts`, `messages` may
    hold each message once, and each of `paths` a prompt, as places in `messages`; `template_options` goes with them.
    """

    prompts: list[Prompt] | UnsetType = UNSET
    messages: list[Message] | UnsetType = UNSET
    template_options: dict[str, Any] | UnsetType = UNSET
    paths: list[list[Annotated[int, Meta(ge=0)]]] | UnsetType = UNSET

    def __post_init__(self) -> None:
        exactly_one(self, "prompts", "paths")
        if (self.messages is UNSET) is not (self.paths is UNSET):
            raise ValueError("`messages` and `paths` go together")
        if self.template_options is not UNSET and self.messages is UNSET:
            raise ValueError("`template_options` goes with `messages` only")
        if self.messages is not UNSET and self.paths is not UNSET:
            for number, path in enumerate(self.paths):
                if max(path, default=0) >= len(self.messages):
                    raise ValueError(f"`paths[{number}]` names message {max(path)} of {len(self.messages)}")


class Validate(_Command, tag="validate", frozen=True):
    """Whether a constraint can be used. Ends in `validated`."""

    constraint: Constraint


class Tokenize(_Command, tag="tokenize", frozen=True):
    """The ids of a prompt and the text of each. Ends in `tokenized`.

    `counts_only`: how many there are and nothing else, cheaply enough to be asked at each key.
    """

    messages: list[Message] | UnsetType = UNSET
    template_options: dict[str, Any] | UnsetType = UNSET
    text: str | UnsetType = UNSET
    token_ids: list[TokenId] | UnsetType = UNSET
    counts_only: bool = False

    def __post_init__(self) -> None:
        _ = self.prompt

    @property
    def prompt(self) -> Prompt:
        return _prompt_of(self)


class CacheStats(_Command, tag="cache_stats", frozen=True):
    """What the prompt cache holds. Ends in the event `cache_stats`."""


class ListHooks(_Command, tag="list_hooks", frozen=True):
    """Which hooks there are, with a model or without; none of their files is run. Ends in `hooks_listed`."""


class Shutdown(_Command, tag="shutdown", frozen=True):
    """Cancel what runs and waits, then exit 0. Ends in `done`."""


Command: TypeAlias = (
    LoadModel | UnloadModel | Generate | Cancel | Plan | Validate | Tokenize | CacheStats | ListHooks | Shutdown
)


# --- what events are made of -------------------------------------------------------------------------------


class Alternative(_Value, frozen=True):
    """A token that could have stood here, with the text it would have shown."""

    id: int
    text: str
    logprob: float | None


class Token(_Value, frozen=True):
    """One token of an answer. `logprob` is null unless `top_logprobs` was asked for, or where it is -inf."""

    id: int
    logprob: float | None = None
    top: list[Alternative] = []
    origin: Origin = "sampled"


class WrittenSegment(_Value, frozen=True):
    """One segment of a finished answer, and why it ended."""

    text: str
    token_ids: list[int]
    reason: FinishReason
    stop: str | None = None


class Choice(_Value, frozen=True):
    """One finished answer.

    `token_ids` are exactly `text`; the last `num_recut` of them were cut anew because the text ends inside a
    token. `turn_token_ids` are the whole turn as the model read it, given beginning included: what the next
    request hands back as `Message.token_ids`. `turn_token_chars` says how many characters of the turn end with each.

    `num_given_chars`: how many characters at the end of the given beginning hooks have taken back. The turn is the
    beginning without them, and then `text`.
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
    segments: list[WrittenSegment] | UnsetType = UNSET


class Usage(_Value, frozen=True):
    """Tokens. `prefilled_tokens` counts the prompt positions that the model computed for this request.

    `generated_tokens` and `forced_tokens` are those of the answers as they ended; what forks share is counted once.
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


class Timing(_Value, frozen=True):
    """Wall-clock times of one request; `ttft_ms` runs from the start of its turn to its first token."""

    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    ttft_ms: float = 0.0
    decode_tokens_per_s: float = 0.0


class HookUse(_Value, frozen=True):
    """What a hook of an answer took. `is_off`: it was too slow too often, and was asked no more."""

    choice: int
    name: str
    calls: int
    total_ms: float
    longest_ms: float
    is_off: bool = False


class PromptPlan(_Value, frozen=True):
    """What one prompt would cost now: `prompt_tokens` - `cached_tokens` would be read."""

    prompt_tokens: int
    cached_tokens: int
    tier: Tier


class HookOption(_Value, frozen=True):
    """What a hook can be given by `hook_options`, as its file says it.

    `kind`: "any" where the file says nothing that could be told. `default`: null where it has none, or one that has to
    be worked out.
    """

    name: str
    kind: Literal["bool", "int", "float", "str", "list", "any"]
    default: Any = None
    is_required: bool = False


class ListedHook(_Value, frozen=True):
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


class _Event(_Value, tag_field="type", frozen=True):
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


def exactly_one(value: Struct, *names: str) -> None:
    """Raise `ValueError` unless exactly one of these fields is set."""
    present = [name for name in names if getattr(value, name) is not UNSET]
    if len(present) != 1:
        listed = ", ".join(f"`{name}`" for name in names)
        found = ", ".join(f"`{name}`" for name in present) or "none"
        raise ValueError(f"Expected exactly one of {listed}; found {found}")


def _prompt_of(command: Generate | Tokenize) -> Prompt:
    return Prompt(
        messages=command.messages,
        template_options=command.template_options,
        text=command.text,
        token_ids=command.token_ids,
    )
