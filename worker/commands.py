"""What a worker can be told; commands are imperative, and each ends in exactly one terminal event."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from worker.values import Nonempty, NumBytes, Overflow, RequestId, Role, Seed, TokenId, Value, exactly_one

# --- what commands are made of -----------------------------------------------------------------------------


class Message(Value, frozen=True):
    """One turn. `token_ids` are the ids the model itself produced for an assistant's turn."""

    role: Role
    content: str
    token_ids: list[TokenId] | UnsetType = UNSET


class Prompt(Value, frozen=True):
    """Exactly one of `messages`, `text` and `token_ids`; `template_options` goes with `messages`."""

    messages: list[Message] | UnsetType = UNSET
    template_options: dict[str, Any] | UnsetType = UNSET
    text: str | UnsetType = UNSET
    token_ids: list[TokenId] | UnsetType = UNSET

    def __post_init__(self) -> None:
        exactly_one(self, "messages", "text", "token_ids")
        if self.template_options is not UNSET and self.messages is UNSET:
            raise ValueError("`template_options` goes with `messages` only")


class Continuation(Value, frozen=True):
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


class Sampling(Value, frozen=True):
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


class Constraint(Value, frozen=True):
    """A form that the text must have. `covers`: whether a continuation is the constrained text's beginning."""

    kind: Literal["json_schema", "regex", "choice", "lark"]
    value: Any
    covers: Literal["turn", "new"] = "turn"


class CacheOptions(Value, frozen=True):
    """How much of what a model has read is kept. What is not said is chosen by what the machine has."""

    limit_bytes: NumBytes | None = None
    # Of all models together; 0: nothing is kept on disk.
    disk_limit_bytes: NumBytes | None = None
    kv_bits: Literal[4, 8] | None = None


class Segment(Value, frozen=True):
    """One stretch of a turn, with an end and a form of its own."""

    constraint: Constraint | None = None
    stop: list[Nonempty] = []
    max_tokens: Annotated[int, Meta(ge=1)] | None = None


# --- commands ----------------------------------------------------------------------------------------------


class _Command(Value, tag_field="type", frozen=True):
    request_id: RequestId


class LoadModel(_Command, tag="load_model", frozen=True):
    """Load `model`: "guide", a folder, or a downloaded model's name. Ends in `model_loaded`."""

    model: Nonempty
    draft_model: Nonempty | None = None
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

    `continuation` goes with `prompts`: the answer to each of them goes on from there, and what of that the model would
    read is counted with the prompt.
    """

    prompts: list[Prompt] | UnsetType = UNSET
    messages: list[Message] | UnsetType = UNSET
    template_options: dict[str, Any] | UnsetType = UNSET
    paths: list[list[Annotated[int, Meta(ge=0)]]] | UnsetType = UNSET
    continuation: Continuation | None = None

    def __post_init__(self) -> None:
        exactly_one(self, "prompts", "paths")
        if self.continuation is not None and self.prompts is UNSET:
            raise ValueError("`continuation` goes with `prompts` only")
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


def _prompt_of(command: Generate | Tokenize) -> Prompt:
    return Prompt(
        messages=command.messages,
        template_options=command.template_options,
        text=command.text,
        token_ids=command.token_ids,
    )
