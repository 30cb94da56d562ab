"""The failures that a driver of the worker is told of; each ends a command as `failed` with its kind and sentence."""

from __future__ import annotations

from typing import ClassVar

from worker.protocol import FailureKind


class WorkerError(Exception):
    """An expected failure. Its text is the sentence that the person reads."""

    kind: ClassVar[FailureKind] = "internal"


class BadRequestError(WorkerError):
    kind = "bad_request"


class NotBuiltYetError(BadRequestError):
    """A field or command of the protocol that this version can't serve."""

    def __init__(self, field: str) -> None:
        super().__init__(
            f"`{field}` is not built yet in this version of Bough. Leave it out and send the request again."
        )


class ModelNotFoundError(WorkerError):
    kind = "model_not_found"


class ModelInvalidError(WorkerError):
    kind = "model_invalid"


class ModelUntrustedError(WorkerError):
    kind = "model_untrusted"


class ModelNotLoadedError(WorkerError):
    kind = "model_not_loaded"

    def __init__(self) -> None:
        super().__init__("No model is loaded. Send `load_model` first.")


class ContextOverflowError(WorkerError):
    kind = "context_overflow"


class WorkerOutOfMemoryError(WorkerError):
    kind = "out_of_memory"


class LoadCancelledError(WorkerError):
    kind = "cancelled"


class SupersededError(WorkerError):
    kind = "superseded"
