"""Formats that OpenAI's endpoints share: problems, numbers of tokens, and log-probabilities."""

from __future__ import annotations

import secrets
import time
from typing import Any

from app.serving.growing import ShownToken
from app.serving.problems import ProblemError, ProblemKind
from app.serving.replies import event
from app.serving.service import LoadedModel
from worker.protocol import FinishReason, Usage

_STATUS: dict[ProblemKind, tuple[int, str]] = {
    "invalid": (400, "invalid_request_error"),
    "too_long": (400, "invalid_request_error"),
    "no_key": (401, "invalid_request_error"),
    "wrong_key": (401, "invalid_request_error"),
    "forbidden": (403, "permission_error"),
    "no_such_path": (404, "invalid_request_error"),
    "no_such_model": (404, "invalid_request_error"),
    "too_large": (413, "invalid_request_error"),
    "too_slow": (408, "invalid_request_error"),
    "too_many": (429, "rate_limit_error"),
    "unavailable": (503, "server_error"),
    "failed": (500, "server_error"),
}
_CODES: dict[ProblemKind, str] = {
    "too_long": "context_length_exceeded",
    "wrong_key": "invalid_api_key",
    "no_such_path": "unknown_url",
    "no_such_model": "model_not_found",
    "too_many": "rate_limit_exceeded",
    "unavailable": "service_unavailable",
}


class OpenAIShape:
    """How OpenAI's API reports problems."""

    def status(self, problem: ProblemError) -> int:
        """Return the HTTP status of the reply."""
        return _STATUS[problem.kind][0]

    def body(self, problem: ProblemError) -> object:
        """Return the body of the reply."""
        return {"error": error_of(problem)}

    def event(self, problem: ProblemError) -> bytes:
        """Return the event that reports a problem in the middle of a stream."""
        return event(self.body(problem))


SHAPE = OpenAIShape()


def error_of(problem: ProblemError) -> dict[str, Any]:
    return {
        "message": problem.message,
        "type": _STATUS[problem.kind][1],
        "param": problem.param,
        "code": problem.code or _CODES.get(problem.kind),
    }


def head_of(kind: str, prefix: str, model: LoadedModel) -> dict[str, Any]:
    """Return the fields with which each reply begins."""
    return {
        "id": f"{prefix}-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time.time()),
        "model": model.id,
        "system_fingerprint": f"fp_{model.info.identity[:12]}",
    }


def finish_reason(reason: FinishReason, num_calls: int = 0) -> str:
    """Return why an answer ended, as a `finish_reason`. `num_calls`: how many tool calls it contains."""
    return "length" if reason == "length" else "tool_calls" if num_calls else "stop"


def usage_of(usages: list[Usage], num_reasoning: int | None = None) -> dict[str, Any]:
    """Return the numbers of tokens of one or several answers."""
    num_prompt = sum(usage.prompt_tokens for usage in usages)
    num_new = sum(usage.generated_tokens for usage in usages)
    details = {} if num_reasoning is None else {"completion_tokens_details": {"reasoning_tokens": num_reasoning}}
    return {
        "prompt_tokens": num_prompt,
        "completion_tokens": num_new,
        "total_tokens": num_prompt + num_new,
        "prompt_tokens_details": {"cached_tokens": sum(usage.cached_tokens for usage in usages)},
        **details,
    }


def number_of(logprob: float | None) -> float:
    """Return a log-probability in this API's format, which writes -9999 instead of -inf."""
    return -9999.0 if logprob is None else logprob


def logprob_of(token: ShownToken, num_top: int) -> dict[str, Any]:
    """Return a token's log-probability, with those of the `num_top` most likely tokens at its position."""
    return {
        **_named(token.text, token.logprob),
        "top_logprobs": [_named(text, logprob) for text, logprob in token.top[:num_top]],
    }


def thinks_at(effort: str | None) -> bool | None:
    """Return whether a model thinks at this `reasoning_effort`; None if the request does not say."""
    return None if effort is None else effort not in {"none", "minimal"}


def _named(text: str, logprob: float | None) -> dict[str, Any]:
    return {"token": text, "logprob": number_of(logprob), "bytes": list(text.encode())}
