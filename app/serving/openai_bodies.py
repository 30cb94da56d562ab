"""The bodies of requests to OpenAI's API, with the fields that Bough uses. None means that a field is missing.

Other fields are ignored, as OpenAI's API ignores unknown fields, except those that `refused` lists.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from app.serving.problems import ProblemError, refusal, refused
from app.serving.shared_bodies import Part, SamplingFields
from worker.protocol import TokenId

Stop: TypeAlias = str | Annotated[list[str], Meta(max_length=4)] | None


_OTHERS = (
    *("grammar", "json_schema", "guided_json", "guided_regex", "guided_choice", "guided_grammar"),
    *("structured_outputs", "use_beam_search", "ignore_eos", "min_tokens", "stop_token_ids"),
)
"""Fields of other servers that would change the answer."""


class CalledFunction(Struct, frozen=True):
    name: str
    arguments: str = "{}"


class ToolCall(Struct, frozen=True):
    """A tool call of an earlier answer."""

    function: CalledFunction
    id: str = ""
    type: str = "function"


class Turn(Struct, frozen=True):
    """A message."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Part] | None = None
    reasoning_content: str | None = None
    """An extension of other servers: the reasoning of an earlier answer."""
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None


class NamedSchema(Struct, frozen=True):
    name: str = ""
    schema: dict[str, Any] | bool | UnsetType | None = UNSET


class ResponseFormat(Struct, frozen=True):
    type: str
    json_schema: NamedSchema | None = None


class StreamOptions(Struct, frozen=True):
    include_usage: bool | None = None


class Function(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1, max_length=256)]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class OfferedTool(Struct, frozen=True):
    """A function that the model may call."""

    type: str
    function: Function | None = None


class NamedFunction(Struct, frozen=True):
    name: str


class ToolChoice(Struct, frozen=True):
    type: str
    function: NamedFunction | None = None


class SamplingBody(SamplingFields, frozen=True, kw_only=True):
    """The fields that chat completions and completions share."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Meta(ge=1, le=64)] | None = None
    stop: Stop = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    grammar: Any = None
    json_schema: Any = None
    guided_json: Any = None
    guided_regex: Any = None
    guided_choice: Any = None
    guided_grammar: Any = None
    structured_outputs: Any = None
    use_beam_search: Any = None
    ignore_eos: Any = None
    min_tokens: Any = None
    stop_token_ids: Any = None

    def __post_init__(self) -> None:
        refused(self, *_OTHERS)
        if self.stream_options is not None and not self.stream:
            raise ProblemError("invalid", "`stream_options` goes with `stream` only.", param="stream_options")

    @property
    def includes_usage(self) -> bool:
        """Whether a stream ends with the numbers of tokens."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)


class ChatBody(SamplingBody, frozen=True, kw_only=True):
    """The body of a request to the endpoint `chat/completions`."""

    messages: list[Turn] = field(default_factory=list[Turn])
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: str | None = None
    tools: list[OfferedTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    """An extension of other servers: options of the model's chat template."""
    modalities: list[str] | None = None
    audio: Any = None
    functions: Any = None
    function_call: Any = None
    web_search_options: Any = None
    continue_final_message: bool | None = None
    """An extension of other servers: the last message is the beginning of the answer, which is continued."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.modalities is not None and self.modalities != ["text"]:
            raise refusal("modalities", "Bough's models write text only")
        refused(self, "audio", "functions", "function_call", "web_search_options")


class CompletionBody(SamplingBody, frozen=True, kw_only=True):
    """The body of a request to the endpoint `completions`."""

    prompt: str | list[str | TokenId | list[TokenId]] = ""
    logprobs: Annotated[int, Meta(ge=0, le=5)] | None = None
    echo: bool | None = None
    best_of: int | None = None
    suffix: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        refused(self, "suffix")
        if self.best_of is not None and self.best_of != (self.n or 1):
            raise refusal("best_of", "Bough returns each answer that it writes")
        if self.echo and self.logprobs is not None:
            raise refusal("logprobs", "Bough has no log-probabilities of the prompt, so `echo` goes without `logprobs`")
