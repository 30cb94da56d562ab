"""The fields of requests that all APIs share. None means that a field is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from app.serving.problems import ProblemError
from worker.protocol import TokenId

Bias: TypeAlias = dict[TokenId, Annotated[float, Meta(ge=-100, le=100)]]
_TEXT = {"text", "input_text", "output_text"}


class SamplingFields(Struct, frozen=True, kw_only=True):
    """How tokens are sampled. Each API defines some of these fields; the others are extensions of other servers."""

    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Meta(gt=0, le=100)] | None = None
    presence_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Meta(ge=-2, le=2)] | None = None
    logit_bias: Bias | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None


class Part(Struct, frozen=True):
    """A part of a message."""

    type: str
    text: str | None = None
    refusal: str | None = None


def text_of(content: str | Sequence[Part] | None, path: str) -> str:
    """Return the text of parts, each on lines of its own. Raises `ProblemError` for images, sounds and files.

    `path`: the place of `content` in the request.
    """
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_text(part, f"{path}[{number}]") for number, part in enumerate(content))


def unusable(part: Part, path: str) -> ProblemError:
    """Return the problem to report for a part of this kind."""
    why = f"Bough's models read text only: a part `{part.type}` like this can't be used. Send the message without it."
    return ProblemError("invalid", why, param=path)


def _text(part: Part, path: str) -> str:
    text = part.text if part.type in _TEXT else part.refusal
    if text is None:
        raise unusable(part, path)
    return text
