"""Turns text into token ids. A panic of the tokenizer library, such as in a regular expression, raises an error.

Megabytes of text take seconds. They are tokenized in a thread, while the caller does other work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from tokenizers import Tokenizer

from worker.errors import panics_explained
from worker.sentence import Sentence
from worker.trial import StoppedError

THREAD_NAME = "tokenizing"

_SHORT_TEXT = 1000
LONG_TEXT = 200_000
"""Texts with at least this many characters are tokenized in a thread. They take about 0.1 s."""
_POLL_S = 0.002
_PAUSE_S = 0.02
_TOKENIZER = Sentence("The tokenizer of this model")


class Patience:
    """Waits for long texts that a thread tokenizes, one at a time."""

    def __init__(self, meanwhile: Callable[[], bool]) -> None:
        """`meanwhile` is called again and again during the wait. If it returns False, the wait ends.

        `meanwhile` may tokenize, too.
        """
        self._meanwhile = meanwhile
        self._job: _Job | None = None
        self._num_chars = 0
        self._last_s = time.monotonic()
        """The time of the last call of `meanwhile`."""

    def note(self, num_chars: int) -> None:
        """Note that texts were tokenized while the caller waited. After many of them, call `meanwhile`.

        Raises `StoppedError`.
        """
        self._num_chars += num_chars
        if self._num_chars >= LONG_TEXT:
            self._num_chars = 0
            self._go_on()

    def ids_of_all(self, tokenizer: Tokenizer, texts: tuple[str, ...], *, add_special_tokens: bool) -> list[list[int]]:
        """Return the ids of each text.

        Raises `StoppedError` if the wait ended early. The thread then continues, and its result is used if the same
        texts are tokenized next.
        """
        key = (id(tokenizer), texts, add_special_tokens)
        while (job := self._job) is not None and job.key != key and not job.is_done:
            self._wait(job)
        if job is None or job.key != key:
            job = self._job = _Job(key, lambda: _encoded(tokenizer, texts, add_special_tokens=add_special_tokens))
        while not job.is_done:
            self._wait(job)
        if self._job is job:
            self._job = None
        return job.result()

    def pause(self) -> None:
        """Call `meanwhile` if its last call was some time ago. Raises `StoppedError`.

        For work that is done step by step.
        """
        if time.monotonic() - self._last_s > _PAUSE_S:
            self._go_on()

    def _go_on(self) -> None:
        is_wanted = self._meanwhile()
        self._last_s = time.monotonic()
        if not is_wanted:
            raise StoppedError

    def _wait(self, job: _Job) -> None:
        if not job.wait():
            self._go_on()


class _Job:
    """A call in a daemon thread, which does not keep the program from ending."""

    def __init__(self, key: object, work: Callable[[], list[list[int]]]) -> None:
        self.key = key
        self._work = work
        self._ended = threading.Event()
        self._result: list[list[int]] = []
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name=THREAD_NAME, daemon=True).start()

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001 (a panic of the library is none of `Exception`)
            self._error = error
        self._ended.set()

    @property
    def is_done(self) -> bool:
        return self._ended.is_set()

    def wait(self) -> bool:
        """Wait a moment. Return whether the call has ended."""
        return self._ended.wait(_POLL_S)

    def result(self) -> list[list[int]]:
        if self._error is not None:
            raise self._error
        return self._result


def plain_ids(
    tokenizer: Tokenizer, text: str, *, add_special_tokens: bool = False, patience: Patience | None = None
) -> list[int]:
    """Return the ids of a text. Raises `LibraryPanicError`, and `StoppedError` as `Patience` does."""
    if len(text) < _SHORT_TEXT:
        if patience is not None:
            patience.note(len(text))
        with panics_explained(_TOKENIZER):
            return tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
    return ids_of_all(tokenizer, [text], add_special_tokens=add_special_tokens, patience=patience)[0]


def ids_of_all(
    tokenizer: Tokenizer, texts: Sequence[str], *, add_special_tokens: bool = False, patience: Patience | None = None
) -> list[list[int]]:
    """Return the ids of each text, found in several threads. Raises the errors of `plain_ids`."""
    with panics_explained(_TOKENIZER):
        if patience is not None:
            num_chars = sum(map(len, texts))
            if num_chars >= LONG_TEXT:
                return patience.ids_of_all(tokenizer, tuple(texts), add_special_tokens=add_special_tokens)
            patience.note(num_chars)
        return _encoded(tokenizer, texts, add_special_tokens=add_special_tokens)


def _encoded(tokenizer: Tokenizer, texts: Sequence[str], *, add_special_tokens: bool) -> list[list[int]]:
    # Unlike `encode`, a batch lets other threads run.
    encoded = tokenizer.encode_batch_fast(list(texts), add_special_tokens=add_special_tokens)
    return [each.ids for each in encoded]
