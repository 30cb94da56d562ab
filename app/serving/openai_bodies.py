"""The bodies of requests to OpenAI's API, as far as Bough reads them. None stands for what is left out.

Other fields are ignored, as the original ignores those that it does not know, except those that `refused` lists.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from app.serving.problems import refusal, refused
from worker.protocol import TokenId

Stop: TypeAlias = str | Annotated[list[str], Meta(max_length=4)] | None
Bias: TypeAlias = dict[TokenId, Annotated[float, Meta(ge=-100, le=100)]]


_SAMPLING = (
    *("temperature", "top_p", "top_k", "min_p", "repetition_penalty"),
    *("presence_penalty", "frequency_penalty", "logit_bias", "seed"),
)


class TurnPart(Struct, frozen=True):
    """A part of a message."""

    type: str
    text: str | None = None
    refusal: str | None = None


class CalledFunction(Struct, frozen=True):
    name: str
    arguments: str = "{}"


class ToolCall(Struct, frozen=True):
    """A call that an answer made."""

    function: CalledFunction
    id: str = ""
    type: str = "function"


class Turn(Struct, frozen=True):
    """A message."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TurnPart] | None = None
    reasoning_content: str | None = None
    """Other servers' addition: the reasoning of an earlier answer."""
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
    """A function that an answer may call."""

    type: str
    function: Function | None = None


class NamedFunction(Struct, frozen=True):
    name: str


class ToolChoice(Struct, frozen=True):
    type: str
    function: NamedFunction | None = None


class SamplingBody(Struct, frozen=True, kw_only=True):
    """The fields that chat completions and completions share."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Meta(ge=1, le=64)] | None = None
    stop: Stop = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    logit_bias: Bias | None = None
    # Other servers' additions.
    top_k: Annotated[int, Meta(ge=0)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Meta(gt=0, le=100)] | None = None

    @property
    def sampling(self) -> dict[str, Any]:
        """The fields on sampling, by their names in `sampling_of`."""
        return {name: getattr(self, name) for name in _SAMPLING}

    @property
    def includes_usage(self) -> bool:
        """Whether a stream ends with the numbers of tokens."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)


class ChatBody(SamplingBody, frozen=True, kw_only=True):
    """The body of a request to chat completions."""

    messages: list[Turn] = []
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: str | None = None
    tools: list[OfferedTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    """Other servers' addition: options of the model's chat template."""
    modalities: list[str] | None = None
    audio: Any = None
    functions: Any = None
    function_call: Any = None
    web_search_options: Any = None

    def __post_init__(self) -> None:
        if self.modalities is not None and self.modalities != ["text"]:
            raise refusal("modalities", "Bough's models write text only")
        refused(self, "audio", "functions", "function_call", "web_search_options")


class CompletionBody(SamplingBody, frozen=True, kw_only=True):
    """The body of a request to completions."""

    prompt: str | list[str | TokenId | list[TokenId]] = ""
    logprobs: Annotated[int, Meta(ge=0, le=5)] | None = None
    echo: bool | None = None
    best_of: int | None = None
    suffix: str | None = None

    def __post_init__(self) -> None:
        refused(self, "suffix")
        if self.best_of is not None and self.best_of != (self.n or 1):
            raise refusal("best_of", "Bough returns each answer that it writes")
        if self.echo and self.logprobs is not None:
            raise refusal("logprobs", "Bough has no log-probabilities of the prompt, so `echo` goes without `logprobs`")
