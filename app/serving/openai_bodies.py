"""The bodies of requests to OpenAI's API, as far as Bough reads them. Other fields are ignored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType


class TurnPart(Struct, frozen=True):
    """A part of a message."""

    type: str
    text: str | None = None
    refusal: str | None = None


class Turn(Struct, frozen=True):
    """A message."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TurnPart] | None = None


class NamedSchema(Struct, frozen=True):
    schema: dict[str, Any] | bool | UnsetType | None = UNSET


class ResponseFormat(Struct, frozen=True):
    type: str
    json_schema: NamedSchema | None = None


class StreamOptions(Struct, frozen=True):
    include_usage: bool | None = None


class ChatBody(Struct, frozen=True, kw_only=True):
    """The body of a request to chat completions. None stands for what is left out."""

    model: str | None = None
    messages: list[Turn] = []
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Meta(ge=1, le=64)] | None = None
    stop: str | Annotated[list[str], Meta(max_length=4)] | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    response_format: ResponseFormat | None = None
    # Other servers' additions.
    top_k: Annotated[int, Meta(ge=0)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Meta(gt=0, le=100)] | None = None
