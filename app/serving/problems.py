"""The failures that are reported to clients. Each API reports them in its own format."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct, ValidationError

from worker.protocol import Failed

ProblemKind: TypeAlias = Literal[
    "invalid", "no_key", "wrong_key", "forbidden", "no_such_path", "no_such_model",
    "too_long", "too_large", "too_slow", "too_many", "unavailable", "failed",
]  # fmt: skip
"""`too_long`: the prompt does not fit into the model's context. `too_large`: the request has too many bytes.

`too_slow`: the request did not arrive in time. `too_many`: too many requests at once. `unavailable`: try again later.
`failed`: an internal error.
"""

_KINDS: dict[str, ProblemKind] = {
    "bad_request": "invalid",
    "constraint_invalid": "invalid",
    "context_overflow": "too_long",
    "overloaded": "too_many",
    "model_not_loaded": "unavailable",
    "superseded": "unavailable",
    "cancelled": "unavailable",
    "out_of_memory": "unavailable",
}


_MAX_CHARS = 1000


class ProblemError(Exception):
    """A request can't be answered; the text is a sentence for the client's user.

    Of a message of more than 1,000 characters, the middle is left out.
    """

    def __init__(
        self, kind: ProblemKind, message: str, *, param: str | None = None, code: str | None = None, retry_s: int = 0
    ) -> None:
        """`param` is the invalid field of the request.

        `retry_s` is after how many seconds to retry; 0 means not to retry.
        """
        message = _shortened(message)
        super().__init__(message)
        self.kind: ProblemKind = kind
        self.message = message
        self.param = param
        self.code = code
        self.retry_s = retry_s


def _shortened(message: str) -> str:
    """Leave out the middle of a long message, which usually is a value that the client sent."""
    half = _MAX_CHARS // 2
    return message if len(message) <= _MAX_CHARS else f"{message[:half]}…{message[-half:]}"


_CODE = re.compile("`[^`]*`")
_PATH = re.compile(r"`\$\.?(?P<path>[^`]*)`")
_TYPE = re.compile(r"\b(int|float|str|bool)\b")
_TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean"}


def worded(error: ValidationError) -> tuple[str, str | None]:
    """Return why a body can't be decoded, in terms of JSON, and the path of the invalid field, if there is one."""
    why, _, where = str(error).partition(" - at ")
    why = _CODE.sub(lambda code: _TYPE.sub(lambda kind: _TYPES[kind[0]], code[0]), why)
    found = _PATH.search(where)
    if found is None or not found["path"]:
        return f"{why}.", None
    place = "a key of " if where.startswith("`key`") else ""
    return f"{why} in {place}`{found['path']}`.", found["path"]


def problem_of(failed: Failed) -> ProblemError:
    """Return the problem to report to the client for a failure of the worker."""
    kind = _KINDS.get(failed.kind, "failed")
    return ProblemError(kind, failed.message, retry_s=1 if kind in {"too_many", "unavailable"} else 0)


def refused(body: Struct, *names: str) -> None:
    """Raise `ProblemError` if one of these fields is set: it would change the answer, and Bough does not support it."""
    for name in names:
        if getattr(body, name):
            raise refusal(name, f"Bough does not offer `{name}`")


def refusal(param: str, why: str) -> ProblemError:
    return ProblemError("invalid", f"{why}. Send the request without it.", param=param, code="unsupported_parameter")
