"""Expected failures. Each ends a command with a `failed` event of its kind."""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar

from worker.protocol import Event, Failed, FailureKind, RequestId
from worker.sentence import Sentence, SentenceError, received

log = logging.getLogger(__name__)


class WorkerError(SentenceError):
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
        super().__init__(Sentence("No model is loaded. Load one, then try again."))


class ContextOverflowError(WorkerError):
    kind = "context_overflow"


class ConstraintInvalidError(WorkerError):
    kind = "constraint_invalid"


class HookFailedError(WorkerError):
    kind = "hook_failed"

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            Sentence(
                "The hook “{name}” failed, so the answer ended. The text so far is kept. "
                "Fix the hook, or turn it off and try again.\n{why}",
                name=name,
                why=why,
            )
        )
        self.events: list[Event] = []
        """Events to emit before the failure: text of the answer that was held back."""


class NotFiniteError(ModelInvalidError):
    def __init__(self) -> None:
        super().__init__(
            Sentence(
                "The model computed values that are not finite numbers, so the answer ended. The text so far is kept. "
                "Its weights or its config.json are probably damaged. Download it again, or choose another model."
            )
        )


class WorkerOutOfMemoryError(WorkerError):
    kind = "out_of_memory"


class LoadCancelledError(WorkerError):
    kind = "cancelled"


class SupersededError(WorkerError):
    kind = "superseded"


class OverloadedError(WorkerError):
    kind = "overloaded"

    def __init__(self) -> None:
        super().__init__(
            Sentence(
                "Too many requests are waiting, so this one was not accepted. "
                "Wait until some of them have ended, then send it again."
            )
        )


class UnsupportedError(WorkerError):
    """The model's engine can't do this."""

    kind = "unsupported"


class EndpointError(WorkerError):
    """A server could not be reached, refused the request, or did not keep to the protocol."""

    kind = "endpoint_failed"

    def __init__(self, sentence: Sentence, status: int = 0) -> None:
        """`status`: the HTTP status with which the server refused the request; 0 if it did not."""
        super().__init__(sentence)
        self.status = status


class LibraryPanicError(WorkerError):
    """A library written in Rust panicked on its input. The library can still be used."""

    kind = "model_invalid"

    def __init__(self, what: Sentence, why: BaseException) -> None:
        super().__init__(
            Sentence(
                "{what} can't read this text ({error}). Nothing was lost. Change the text, or choose another model.",
                what=what,
                error=textwrap.shorten(str(why), 200),
            )
        )


def is_panic(error: BaseException) -> bool:
    """Return whether a library written in Rust panicked.

    Each library has its own class for this, which does not derive from `Exception`.
    """
    return type(error).__name__ == "PanicException" and not isinstance(error, Exception)


def is_failure(error: BaseException) -> bool:
    """Return whether an error ends only a request, and not the whole program."""
    return isinstance(error, Exception) or is_panic(error)


@contextmanager
def panics_explained(what: Sentence) -> Generator[None]:
    """Turn a panic into a `LibraryPanicError` that says that `what` failed."""
    try:
        yield
    except BaseException as error:
        # `tokenizers` raises `Exception` itself for a text that its model can't spell.
        if is_panic(error) or type(error) is Exception:
            raise LibraryPanicError(what, error) from error
        raise


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out. MLX raises a plain `RuntimeError` then."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(sign in text for sign in ("malloc", "out of memory", "allocat"))
    )


def failed(request_id: RequestId, error: BaseException) -> Failed:
    """Return the event that ends a command with `error`. Unexpected errors are logged with their traceback."""
    if isinstance(error, WorkerError):
        return failure(request_id, error.kind, error.sentence)
    if is_out_of_memory(error):
        log.warning("Out of memory: %s", error)
        sentence = Sentence(
            "There is not enough memory for this request. Nothing else was lost. "
            "Shorten the conversation, close other programs, or open a smaller model."
        )
        return failure(request_id, "out_of_memory", sentence)
    log.error("A request failed unexpectedly", exc_info=error)
    sentence = Sentence(
        "An error in Bough ended this request ({kind}: {error}). The model is still running. Try again.",
        kind=type(error).__name__,
        error=error,
    )
    return failure(request_id, "internal", sentence)


def failure(request_id: RequestId | None, kind: FailureKind, sentence: Sentence) -> Failed:
    """Return the event that ends a command with a sentence."""
    parts = sentence.parts
    # The English sentence, for drivers that translate nothing.
    message = received("", parts)
    return Failed(request_id=request_id, kind=kind, message=str(message), template=parts.template, fields=parts.fields)
