"""The bodies of requests to OpenAI's Responses API, with the fields that Bough uses.

None means that a field is missing.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from app.serving.problems import refusal, refused
from app.serving.shared_bodies import Part, SamplingFields


class Item(Struct, frozen=True):
    """An item of the input: a message, a tool call, the result of a call, or earlier reasoning."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[Part] | None = None
    name: str | None = None
    arguments: str | None = None
    call_id: str | None = None
    output: str | list[Part] | None = None
    summary: list[Part] | None = None


class TextFormat(Struct, frozen=True):
    type: str = "text"
    schema: dict[str, Any] | bool | UnsetType | None = UNSET


class TextOptions(Struct, frozen=True):
    format: TextFormat | None = None


class ReasoningOptions(Struct, frozen=True):
    effort: str | None = None


class ResponseTool(Struct, frozen=True):
    """A function that the model may call."""

    type: str
    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None


class ResponseToolChoice(Struct, frozen=True):
    type: str
    name: str | None = None


class ResponseBody(SamplingFields, frozen=True, kw_only=True):
    """The body of a request."""

    model: str | None = None
    input: str | list[Item] = ""
    instructions: str | None = None
    previous_response_id: str | None = None
    stream: bool | None = None
    store: bool | None = None
    max_output_tokens: Annotated[int, Meta(ge=1)] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    include: list[str] | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None
    truncation: Literal["auto", "disabled"] | None = None
    tools: list[ResponseTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ResponseToolChoice | None = None
    parallel_tool_calls: bool | None = None
    metadata: dict[str, Any] | None = None
    background: bool | None = None
    conversation: Any = None
    prompt: Any = None

    def __post_init__(self) -> None:
        refused(self, "background", "conversation", "prompt")
        for value in self.include or []:
            if value not in {"message.output_text.logprobs", "reasoning.encrypted_content"}:
                raise refusal("include", f"Bough has no `{value}`")
