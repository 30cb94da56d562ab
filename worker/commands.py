"""The commands that a worker accepts. Each ends with exactly one event, which its docstring names."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType
from typing_extensions import override

from worker.values import (
    Nonempty,
    NumBytes,
    Overflow,
    RequestId,
    Role,
    Seed,
    ServerFacts,
    TokenId,
    ToolName,
    Value,
    exactly_one,
)

# --- parts of commands -------------------------------------------------------------------------------------


class Tool(Value, frozen=True):
    """A tool that the model may call. `parameters` is the JSON schema of its arguments, an object."""

    name: ToolName
    description: str = ""
    parameters: dict[str, Any] = {}


class ToolCall(Value, frozen=True):
    """A tool call in an assistant's turn."""

    name: ToolName
    arguments: dict[str, Any] = {}
    id: str = ""


class NamedTool(Value, frozen=True):
    """The tool that an answer must call."""

    name: ToolName


class Message(Value, frozen=True):
    """One turn. `token_ids` are the ids that the model produced for an assistant's turn.

    An assistant's turn may have `reasoning` and `tool_calls` besides its content. If the model generated the turn,
    `written` is its whole text, which `token_ids` spell. The prompt contains these ids where the template renders the
    same turn.

    A message with the role "tool" is the result of the call `tool_call_id` of the tool `name`.
    """

    role: Role
    content: str
    token_ids: list[TokenId] | UnsetType = UNSET
    reasoning: str = ""
    tool_calls: list[ToolCall] = []
    tool_call_id: str = ""
    name: str = ""
    written: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.role != "assistant" and (self.tool_calls or self.reasoning or self.written is not UNSET):
            raise ValueError("`tool_calls`, `reasoning` and `written` belong to the role `assistant`")
        if self.role != "tool" and self.tool_call_id:
            raise ValueError("`tool_call_id` belongs to the role `tool`")
        if self.written is not UNSET and self.token_ids is UNSET:
            raise ValueError("`written` goes with `token_ids` only")


class Prompt(Value, frozen=True):
    """Exactly one of `messages`, `text` and `token_ids`; `template_options` and `tools` go with `messages`."""

    messages: list[Message] | UnsetType = UNSET
    template_options: dict[str, Any] | UnsetType = UNSET
    tools: list[Tool] = []
    text: str | UnsetType = UNSET
    token_ids: list[TokenId] | UnsetType = UNSET

    def __post_init__(self) -> None:
        exactly_one(self, "messages", "text", "token_ids")
        if self.template_options is not UNSET and self.messages is UNSET:
            raise ValueError("`template_options` goes with `messages` only")
        if self.tools and self.messages is UNSET:
            raise ValueError("`tools` goes with `messages` only")
        names = [tool.name for tool in self.tools]
        if len(set(names)) < len(names):
            raise ValueError("`tools` names a tool twice")


class Continuation(Value, frozen=True):
    """The beginning of the answer. `text` may end inside a word (token healing). `token_ids` are used unchanged.

    `known_ids` may be given with `text`. They are used as far as they spell `text`; the rest is tokenized, with token
    healing at its end. So an interrupted answer can be continued even if its last tokens are unknown or spell more than
    its text.
    """

    text: str | UnsetType = UNSET
    token_ids: list[TokenId] | UnsetType = UNSET
    known_ids: list[TokenId] = []

    def __post_init__(self) -> None:
        exactly_one(self, "text", "token_ids")
        if self.known_ids and self.text is UNSET:
            raise ValueError("`known_ids` goes with `text` only")


class Sampling(Value, frozen=True):
    """How tokens are sampled. Temperature 0 is greedy. The filters work as mlx-lm's functions of the same names."""

    temperature: Annotated[float, Meta(ge=0, le=100)] = 0.0
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    min_p: Annotated[float, Meta(ge=0, le=1)] = 0.0
    repetition_penalty: Annotated[float, Meta(gt=0, le=100)] = 1.0
    presence_penalty: Annotated[float, Meta(ge=-100, le=100)] = 0.0
    frequency_penalty: Annotated[float, Meta(ge=-100, le=100)] = 0.0
    # The three penalties apply to tokens among the last `penalty_context` ones.
    penalty_context: Annotated[int, Meta(ge=1, le=4096)] = 20
    # "new": the penalties apply to new tokens alone, not to those of the prompt and the continuation.
    penalty_covers: Literal["all", "new"] = "all"
    # Numbers that are added to the logits of tokens, before the filters.
    logit_bias: dict[TokenId, Annotated[float, Meta(ge=-100, le=100)]] = {}
    seed: Seed | None = None


class Constraint(Value, frozen=True):
    """An answer format. `covers`: "turn" if a continuation is part of the constrained text, "new" if it precedes it."""

    kind: Literal["json_schema", "regex", "choice", "lark"]
    value: Any
    covers: Literal["turn", "new"] = "turn"


class CacheOptions(Value, frozen=True):
    """Limits of the prompt cache. None means a limit that suits the machine."""

    limit_bytes: NumBytes | None = None
    # For all models together. 0 means that nothing is stored on disk.
    disk_limit_bytes: NumBytes | None = None
    kv_bits: Literal[4, 8] | None = None


class Secret(Value, frozen=True):
    """A key or password. Its `repr` hides it, so that no log and no traceback shows it."""

    text: str

    @override
    def __repr__(self) -> str:
        return "Secret(…)"

    @override
    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("text", "…")]


class Endpoint(Value, frozen=True):
    """A model of an OpenAI-compatible server. `url` usually ends in "/v1"; `name` is how sentences call the server.

    `connect_s`: how long a connection may take. `silence_s`: how long the server may send nothing before an answer,
    while it reads the prompt. `stall_s`: how long it may send nothing in the middle of one.

    `known`: what `model_loaded` reported as `server` at an earlier load. It is found out again if it is null, or if the
    server has changed since then.
    """

    url: Nonempty
    name: str
    key: Secret | None = None
    model: str = ""
    connect_s: Annotated[float, Meta(gt=0)] = 10.0
    silence_s: Annotated[float, Meta(gt=0)] = 300.0
    stall_s: Annotated[float, Meta(gt=0)] = 120.0
    known: ServerFacts | None = None


class Segment(Value, frozen=True):
    """A part of a turn with its own answer format and its own end."""

    constraint: Constraint | None = None
    stop: list[Nonempty] = []
    max_tokens: Annotated[int, Meta(ge=1)] | None = None


# --- commands ----------------------------------------------------------------------------------------------


class _Command(Value, tag_field="type", frozen=True):
    request_id: RequestId


class _PromptCommand(_Command, frozen=True):
    """A command with the fields of a `Prompt`."""

    messages: list[Message] | UnsetType = UNSET
    template_options: dict[str, Any] | UnsetType = UNSET
    tools: list[Tool] = []
    text: str | UnsetType = UNSET
    token_ids: list[TokenId] | UnsetType = UNSET

    def __post_init__(self) -> None:
        _ = self.prompt

    @property
    def prompt(self) -> Prompt:
        return Prompt(
            messages=self.messages,
            template_options=self.template_options,
            tools=self.tools,
            text=self.text,
            token_ids=self.token_ids,
        )


class LoadModel(_Command, tag="load_model", frozen=True):
    """Load `model`: "guide", a folder, or the name of a downloaded model. Ends in `model_loaded`.

    With `endpoint`, `model` is only a name: the model is `endpoint.model` of that server. Only a process for endpoints
    accepts this.
    """

    model: Nonempty
    draft_model: Nonempty | None = None
    cache: CacheOptions = CacheOptions()
    # A Jinja template for a model whose folder has none. Without it, messages become plain text.
    chat_template: Nonempty | None = None
    endpoint: Endpoint | None = None


class UnloadModel(_Command, tag="unload_model", frozen=True):
    """Unload the model, and drop everything computed with it. Ends in `done`."""


class Generate(_PromptCommand, tag="generate", frozen=True):
    """Answer a prompt, given in one of the three forms of `Prompt`. Ends in `finished`."""

    continuation: Continuation | None = None
    sampling: Sampling = Sampling()
    # Stop strings end an answer's text, but never inside a tool call.
    stop: list[Nonempty] = []
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    n: Annotated[int, Meta(ge=1, le=64)] = 1
    constraint: Constraint | None = None
    segments: list[Segment] | None = None
    hooks: Annotated[list[Nonempty], Meta(max_length=64)] = []
    # Options of each hook, by the hook's name.
    hook_options: dict[str, dict[str, Any]] = {}
    # How often hooks may resample at one position. After that, the best token sampled there is used.
    max_resample_count: Annotated[int, Meta(ge=0, le=1000)] = 16
    # Where draft tokens come from: the draft model, if one is loaded, or other answers in the tree. Answers that are
    # generated side by side have no drafts: each step already processes a token of each.
    draft: Literal["auto", "off", "tree", "model"] = "auto"
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] = 0
    # Whether the model may call `tools`, must call one of them, or must call the named one. A call always fits its
    # schema.
    tool_choice: Literal["auto", "none", "required"] | NamedTool = "auto"
    # Whether an answer may contain several tool calls.
    parallel_tool_calls: bool = True
    # If `messages` do not fit: fail with `context_overflow`, or drop the oldest, except the system prompt.
    overflow: Overflow = "fail"
    # The `identity` of the model that must be loaded. With another one, the request fails with `superseded`.
    identity: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.overflow != "fail" and self.messages is UNSET:
            raise ValueError("`overflow` goes with `messages` only")
        if self.segments is not None:
            if not self.segments:
                raise ValueError("`segments` is empty: name at least one")
            if self.constraint is not None or self.stop:
                raise ValueError("`constraint` and `stop` belong into each of the `segments`")
            if self.tools:
                raise ValueError("`tools` does not go with `segments`")
        match self.tool_choice:
            case NamedTool(name=name) if all(tool.name != name for tool in self.tools):
                raise ValueError(f"`tool_choice` names {name!r}, which is not among `tools`")
            case "required" if not self.tools:
                raise ValueError('`tool_choice` is "required", but there are no `tools`')
            case _:
                pass


class Cancel(_Command, tag="cancel", frozen=True):
    """Cancel the request `target`, or one `choice` of it. Does nothing if the request has ended. Ends in `done`."""

    target: RequestId
    choice: Annotated[int, Meta(ge=0)] | None = None


class Plan(_Command, tag="plan", frozen=True):
    """Report what each prompt would cost, without computing anything. Ends in `planned`.

    The prompts of a conversation's nodes repeat the same messages. So instead of `prompts`, `messages` may list each
    message once; then each of `paths` is a prompt, given as indices of `messages`, rendered with `template_options`.

    `continuation` may be given with `prompts`: its tokens that the model would process count as part of each prompt.
    """

    prompts: list[Prompt] | UnsetType = UNSET
    messages: list[Message] | UnsetType = UNSET
    template_options: dict[str, Any] | UnsetType = UNSET
    tools: list[Tool] = []
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
        if self.tools and self.messages is UNSET:
            raise ValueError("`tools` goes with `messages` only")
        if self.messages is not UNSET and self.paths is not UNSET:
            for number, path in enumerate(self.paths):
                if max(path, default=0) >= len(self.messages):
                    raise ValueError(f"`paths[{number}]` names message {max(path)} of {len(self.messages)}")


class Validate(_Command, tag="validate", frozen=True):
    """Check whether a constraint can be used. Ends in `validated`."""

    constraint: Constraint


class Tokenize(_PromptCommand, tag="tokenize", frozen=True):
    """Report the token ids of a prompt and the text of each. Ends in `tokenized`.

    `counts_only`: report only their number, which is cheap enough for each key press.
    """

    counts_only: bool = False


class CacheStats(_Command, tag="cache_stats", frozen=True):
    """Report what the prompt cache holds. Ends in the event `cache_stats`."""


class CheckEndpoint(_Command, tag="check_endpoint", frozen=True):
    """List the models of `endpoint`, and check that it streams an answer. Ends in `endpoint_checked`."""

    endpoint: Endpoint


class ListHooks(_Command, tag="list_hooks", frozen=True):
    """List the hooks without running their files. Needs no model. Ends in `hooks_listed`."""


class Shutdown(_Command, tag="shutdown", frozen=True):
    """Cancel all running and waiting requests, then exit with code 0. Ends in `done`."""


Command: TypeAlias = (
    LoadModel
    | UnloadModel
    | Generate
    | Cancel
    | Plan
    | Validate
    | Tokenize
    | CacheStats
    | CheckEndpoint
    | ListHooks
    | Shutdown
)
