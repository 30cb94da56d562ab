"""Expected failures. Each ends a command with a `failed` event of its kind."""

from __future__ import annotations

import logging
from typing import ClassVar

from worker.protocol import Event, Failed, FailureKind, RequestId

log = logging.getLogger(__name__)


class WorkerError(Exception):
    """An expected failure. Its text is a sentence for the user."""

    kind: ClassVar[FailureKind] = "internal"


class BadRequestError(WorkerError):
    kind = "bad_request"


class ModelNotFoundError(WorkerError):
    kind = "model_not_found"


class ModelInvalidError(WorkerError):
    kind = "model_invalid"


class ModelUntrustedError(WorkerError):
    kind = "model_untrusted"


class ModelNotLoadedError(WorkerError):
    kind = "model_not_loaded"

    def __init__(self) -> None:
        super().__init__("No model is loaded. Load one, then ask again.")


class ContextOverflowError(WorkerError):
    kind = "context_overflow"


class ConstraintInvalidError(WorkerError):
    kind = "constraint_invalid"


class HookFailedError(WorkerError):
    kind = "hook_failed"

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"The hook {name!r} failed, which ended the answer. What was said so far is kept. "
            f"Mend the hook, or ask without it.\n{why}"
        )
        self.events: list[Event] = []
        """Events to emit before the failure: text of the answer that was held back."""


class WorkerOutOfMemoryError(WorkerError):
    kind = "out_of_memory"


class LoadCancelledError(WorkerError):
    kind = "cancelled"


class SupersededError(WorkerError):
    kind = "superseded"


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out. MLX raises a plain `RuntimeError` then."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(sign in text for sign in ("malloc", "out of memory", "allocat"))
    )


def failed(request_id: RequestId, error: Exception) -> Failed:
    """Return the event that ends a command with `error`. Unexpected errors are logged with their traceback."""
    if isinstance(error, WorkerError):
        # A hook's text or a file name may contain lone surrogates, which can't be encoded.
        message = str(error).encode("utf-8", "backslashreplace").decode()
        return Failed(request_id=request_id, kind=error.kind, message=message)
    if is_out_of_memory(error):
        log.warning("Out of memory: %s", error)
        message = (
            "There is not enough memory for this. Nothing but this request was lost; "
            "shorten the conversation, close other programs, or open a smaller model."
        )
        return Failed(request_id=request_id, kind="out_of_memory", message=message)
    log.error("A request failed unexpectedly", exc_info=error)
    message = f"A bug in Bough ended this request ({type(error).__name__}: {error}). The worker goes on; try again."
    return Failed(request_id=request_id, kind="internal", message=message)
