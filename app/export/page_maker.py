"""Makes pages in a process of its own, so that no text can block the window while it is laid out."""

from __future__ import annotations

import contextlib
import pickle
import queue
import signal
import threading
import weakref
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Format, Progress
from worker.sentence import Sentence, SentenceError

if TYPE_CHECKING:
    from app.export.pages import FirstPage
    from app.export.pdf import Paper
    from worker.trial import TrialError, TrialProcess

_SECONDS = 24 * 60 * 60
"""The time limit of one job. A long conversation may take minutes; the user can cancel."""
_MEMORY_BYTES = 4 << 30
_RESULT_BYTES = 1 << 20
_IDLE_S = 20.0
"""The process ends after it has been idle for this time."""
_LOOK_S = 0.1
_PACK_CHARACTERS = 1 << 20
"""The number of characters that are packed at a time. Other threads wait meanwhile."""
_PACK_MESSAGES = 256


class PagesError(SentenceError):
    """The pages could not be made; the sentence says why and what to do."""


class _Job:
    def __init__(self, make: Callable[..., Generator[Any, None, Any]], arguments: tuple[object, ...]) -> None:
        self.make = make
        self.arguments = arguments
        self.steps: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        """Pairs of a kind and a value: "step", then one of "done" and "failed"."""
        self.is_wanted = True


class PageMaker:
    """Makes pages, one job after another. The process starts with the first job, and again after a crash."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        """The waiting jobs; None ends the thread."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        weakref.finalize(self, self._jobs.put, None)

    def make_file(
        self, excerpt: Excerpt, format_: Format, options: Options, paper: Paper | None = None
    ) -> Generator[Progress, None, list[bytes]]:
        """Return a PDF or a DOCX in pieces, and yield the progress.

        `paper` is for a PDF; None means A4. May be called in any thread. Closing the generator ends the work. Raises
        `PagesError`.
        """
        from app.export.page_jobs import make_file

        progress = Progress(0, len(excerpt.messages))
        pieces: list[bytes] = []
        for step in self._make(make_file, excerpt, format_, options, paper):
            if isinstance(step, bytes):
                pieces.append(step)
            elif step is not None:
                progress = Progress(*step)
            yield progress
        return pieces

    def make_pictures(self, excerpt: Excerpt, paper: Paper) -> Generator[tuple[int, bytes] | None]:
        """Yield the pages as pictures, each with the number of its page, and None while no picture is ready.

        Never waits, so the window's thread can call it. Raises `PagesError`.
        """
        from app.export.page_jobs import make_pictures

        for step in self._make(make_pictures, excerpt, paper, patience_s=0.0):
            yield step if step is not None and isinstance(step[1], bytes) else None

    def make_first_page(
        self, excerpt: Excerpt, options: Options, pixels_per_px: float, *, has_footer: bool
    ) -> Generator[None, None, FirstPage]:
        """Return the first page; otherwise like `make_file`."""
        from app.export.page_jobs import make_first_page, read_first_page

        steps = self._make(make_first_page, excerpt, options, pixels_per_px, has_footer)
        pieces: list[bytes] = []
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return read_first_page(b"".join(pieces), *end.value)
            if step is not None:
                pieces.append(step)
            yield

    def _make(
        self,
        make: Callable[..., Generator[Any, None, Any]],
        excerpt: Excerpt,
        *arguments: object,
        patience_s: float = _LOOK_S,
    ) -> Generator[Any, None, Any]:
        """Run a function of `page_jobs`, and return its result.

        Yields the values that the function yields, and None after `patience_s` without a value.
        """
        from app.export.paper_document import system_fonts

        packed = yield from _packed(excerpt)
        job = _Job(make, (packed, system_fonts(), *arguments))
        self._begin(job)
        try:
            while True:
                try:
                    kind, value = job.steps.get(timeout=patience_s)
                except queue.Empty:
                    yield None
                    continue
                match kind:
                    case "step":
                        yield value
                    case "done":
                        return value
                    case _:
                        raise value
        finally:
            job.is_wanted = False

    def _begin(self, job: _Job) -> None:
        self._jobs.put(job)
        with self._lock:
            if self._thread is None:
                # The thread that starts the process must live as long as the process.
                self._thread = threading.Thread(target=_work, args=(self._jobs,), name="pages", daemon=True)
                self._thread.start()


def _packed(excerpt: Excerpt) -> Generator[None, None, list[bytes]]:
    """Return an excerpt as pickles: first all but the messages, then the messages."""
    path = [message.id for message in excerpt.path]
    packed = [pickle.dumps((excerpt.conversation, dict(excerpt.choices), path, excerpt.project))]
    messages = excerpt.messages
    start = 0
    while start < len(messages):
        end, num_characters = start, 0
        while end < min(start + _PACK_MESSAGES, len(messages)) and num_characters < _PACK_CHARACTERS:
            num_characters += len(messages[end].text)
            end += 1
        packed.append(pickle.dumps(messages[start:end]))
        start = end
        yield
    return packed


def _work(jobs: queue.SimpleQueue[_Job | None]) -> None:
    from worker.trial import TrialProcess

    job: _Job | None = None
    process = TrialProcess(["app.export.page_jobs"], lambda: job is not None and job.is_wanted)
    while True:
        try:
            job = jobs.get(timeout=None if process.pid is None else _IDLE_S)
        except queue.Empty:
            process.close()
            continue
        if job is None:
            process.close()
            return
        if job.is_wanted:
            job.steps.put(_end_of(job, process))


def _end_of(job: _Job, process: TrialProcess) -> tuple[str, Any]:
    """Do a job; return its last step."""
    from worker.trial import Limits, TrialError

    limits = Limits(seconds=_SECONDS, memory_bytes=_MEMORY_BYTES, result_bytes=_RESULT_BYTES)
    try:
        with contextlib.suppress(TrialError):
            # It may have ended since the last job.
            process.start()
        return "done", process.run_steps(limits, lambda step: job.steps.put(("step", step)), job.make, *job.arguments)
    except TrialError as error:
        return "failed", PagesError(_why(error))


def _why(error: TrialError) -> Sentence:
    from worker.trial import CrashedError, RaisedError, TooMuchMemoryError

    # Libraries abort when memory runs out.
    is_aborted = isinstance(error, CrashedError) and error.exit_code == -signal.SIGABRT
    if is_aborted or isinstance(error, TooMuchMemoryError):
        return Sentence(
            "Making the pages needs more than {limit_bytes} of memory. Nothing was written. Choose fewer messages, "
            "or export them as Markdown.",
            limit_bytes=_MEMORY_BYTES,
        )
    if isinstance(error, RaisedError) and error.names[0] == "FewPagesError":
        return Sentence(
            "The document has only {num_pages} pages. Nothing was printed. Choose other pages.",
            num_pages=int(str(error)),
        )
    if isinstance(error, RaisedError):
        return Sentence(
            "An error in Bough stopped this ({kind}: {error}). Nothing was changed.",
            kind=error.names[0],
            error=str(error),
        )
    return Sentence(
        "The process that makes the pages ended unexpectedly ({error}). Nothing was written. Try again, choose fewer "
        "messages, or export them as Markdown.",
        error=str(error),
    )
