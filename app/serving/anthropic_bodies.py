"""The bodies of requests to Anthropic's API, with the fields that Bough uses. None means that a field is missing.

Other fields are ignored, as Anthropic's API ignores unknown fields.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from app.serving.problems import refused
from app.serving.shared_bodies import Part, SamplingFields


class Block(Part, frozen=True):
    """A part of a message."""

    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    tool_use_id: str | None = None
    content: str | list[Block] | None = None
    is_error: bool | None = None


class Turn(Struct, frozen=True):
    """A message."""

    role: Literal["user", "assistant", "system"]
    content: str | list[Block]


class Tool(Struct, frozen=True):
    """A tool that the model may call. Anthropic's built-in tools have another `type`."""

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    type: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class ToolChoice(Struct, frozen=True):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class Thinking(Struct, frozen=True):
    type: Literal["enabled", "adaptive", "disabled"]


class OutputFormat(Struct, frozen=True):
    type: str
    schema: dict[str, Any] | bool | UnsetType = UNSET


class OutputConfig(Struct, frozen=True):
    format: OutputFormat | None = None


class CountBody(SamplingFields, frozen=True, kw_only=True):
    """The body of a request to the endpoint `messages/count_tokens`."""

    model: str | None = None
    messages: list[Turn]
    system: str | list[Block] | None = None
    tools: list[Tool] | None = None
    tool_choice: ToolChoice | None = None
    thinking: Thinking | None = None
    mcp_servers: Any = None
    container: Any = None

    def __post_init__(self) -> None:
        refused(self, "mcp_servers", "container")


class MessageBody(CountBody, frozen=True, kw_only=True):
    """The body of a request to the endpoint `messages`."""

    max_tokens: Annotated[int, Meta(ge=1)]
    stream: bool | None = None
    stop_sequences: Annotated[list[str], Meta(max_length=64)] | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormat | None = None
