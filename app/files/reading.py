"""Reads files to attach: text files at once, documents in a separate process."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.files.documents import DOCUMENTS, LockedError, NoTextError, decoded, read_parts
from app.model.attachment import MAX_CHARS, Attachment, FilePart
from worker.regular_file import read_regular
from worker.sentence import Sentence, SentenceError

if TYPE_CHECKING:
    from worker.trial import RaisedError, TrialError, TrialProcess

_MAX_TEXT_BYTES = 8 * MAX_CHARS
_MAX_DOCUMENT_BYTES = 1 << 30
_LONG_CHARS = 20_000
"""From this length on, a text is split into parts that the user can choose."""
_PART_CHARS = 8_000
_SECONDS = 120
_MEMORY_BYTES = 2 << 30
_RESULT_BYTES = 256 << 20


class NotAttachedError(SentenceError):
    """A file can't be attached; the sentence says why and what to do."""


@dataclass(eq=False)
class Job:
    """A document to read for a conversation."""

    path: Path
    conversation_id: int | None
    """The id of the conversation; None means the empty page, whose conversation does not exist yet."""
    is_wanted: bool = True


class FileReader(QObject):
    """Reads documents one after another in the background."""

    read = Signal(object, object)
    """The `Job`, and the file as an `Attachment`, or a `Sentence` that says why it can't be attached."""
    _ended = Signal(object, object)

    def __init__(self, parent: QObject | None) -> None:
        super().__init__(parent)
        self._jobs: list[Job] = []
        """The documents that are still to be read. The first one is being read."""
        self._ended.connect(self._on_ended)

    def jobs_of(self, conversation_id: int | None) -> list[Job]:
        """Return the documents that are still to be read for a conversation."""
        return [job for job in self._jobs if job.is_wanted and job.conversation_id == conversation_id]

    def start(self, path: Path, conversation_id: int | None) -> None:
        """Read a document for a conversation. `read` follows, unless `stop` comes first."""
        if not any(job.path == path for job in self.jobs_of(conversation_id)):
            self._jobs.append(Job(path, conversation_id))
            if len(self._jobs) == 1:
                self._begin()

    def stop(self, job: Job) -> None:
        """Remove a document from the queue, or stop reading it."""
        job.is_wanted = False

    def _begin(self) -> None:
        # The thread that starts the process must live as long as the process.
        threading.Thread(target=self._read, args=(self._jobs[0],), daemon=True, name="document").start()

    def _read(self, job: Job) -> None:
        from worker.trial import TrialProcess

        process = TrialProcess(meanwhile=lambda: job.is_wanted)
        try:
            found: Attachment | Sentence = read_document(job.path, process)
        except NotAttachedError as error:
            found = error.sentence
        finally:
            process.close()
        # At the end of the program the reader may have gone.
        with contextlib.suppress(RuntimeError):
            self._ended.emit(job, found)

    def _on_ended(self, job: Job, found: Attachment | Sentence) -> None:
        self._jobs.remove(job)
        if job.is_wanted:
            self.read.emit(job, found)
        self._jobs = [job for job in self._jobs if job.is_wanted]
        if self._jobs:
            self._begin()


def is_document(path: Path) -> bool:
    """Return whether a file is read in a separate process."""
    return path.suffix.lower() in DOCUMENTS


def left_out(found: Attachment) -> Sentence | None:
    """Return a sentence if a document has more parts than can be attached; None if all are attached."""
    if found.num_parts <= len(found.parts):
        return None
    return Sentence(
        "“{name}” is too long: only the first {num_kept} of its {num_parts} parts are attached.",
        name=found.name,
        num_kept=len(found.parts),
        num_parts=found.num_parts,
    )


def read_text_file(path: Path) -> Attachment:
    """Read a text file. Raises `NotAttachedError`."""
    try:
        _check(path, _MAX_TEXT_BYTES)
        text = decoded(read_regular(path, _MAX_TEXT_BYTES))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    if text is None:
        raise NotAttachedError(
            Sentence("“{name}” is not a text file. Save it as text, then attach the text.", name=path.name)
        )
    if len(text) < _LONG_CHARS:
        return Attachment(name=path.name, text=text)
    parts = tuple(_cut(text))
    return Attachment(name=path.name, parts=parts, num_parts=len(parts), is_cut=True)


def _cut(text: str) -> Iterator[FilePart]:
    """Split a long text at line ends, into parts of about the same length."""
    first, last, begin, end = 1, 1, 0, 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if end > begin and end + len(line) - begin > _PART_CHARS:
            yield FilePart(title=_lines(first, number - 1), text=text[begin:end])
            first, begin = number, end
        end += len(line)
        last = number
    yield FilePart(title=_lines(first, last), text=text[begin:])


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}"


def read_document(path: Path, process: TrialProcess) -> Attachment:
    """Read a document in another process. Raises `NotAttachedError`."""
    from worker.trial import Limits, RaisedError, TrialError

    limits = Limits(seconds=_SECONDS, memory_bytes=_MEMORY_BYTES, result_bytes=_RESULT_BYTES)
    try:
        _check(path, _MAX_DOCUMENT_BYTES)
        parts, num_parts = process.run(limits, read_parts, str(path), MAX_CHARS)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except RaisedError as error:
        raise _refusal(path, error) from error
    except TrialError as error:
        raise NotAttachedError(_ended(path, error)) from error
    if num_parts == 1:
        return Attachment(name=path.name, text=parts[0][1])
    found = tuple(FilePart(title=title, text=text) for title, text in parts)
    return Attachment(name=path.name, parts=found, num_parts=num_parts)


def _ended(path: Path, error: TrialError) -> Sentence:
    """Return the sentence for a process that ended before it had read the document."""
    from worker.trial import CrashedError, TooMuchMemoryError, TooSlowError

    if isinstance(error, TooSlowError):
        return Sentence(
            "“{name}” could not be read within {seconds} seconds. Attach a part of it, or save it as text.",
            name=path.name,
            seconds=_SECONDS,
        )
    # Libraries in Rust abort when memory runs out.
    is_aborted = isinstance(error, CrashedError) and error.exit_code == -signal.SIGABRT
    if is_aborted or isinstance(error, TooMuchMemoryError):
        return Sentence(
            "Reading “{name}” needs more than {limit_bytes} of memory. Attach a part of it, or save it as text.",
            name=path.name,
            limit_bytes=_MEMORY_BYTES,
        )
    return Sentence("“{name}” can't be read, because its reader crashed. The file is probably damaged.", name=path.name)


def _check(path: Path, max_bytes: int) -> None:
    """Raise `NotAttachedError` if the path is no file or the file is too large, and `OSError` if it is missing."""
    if path.is_dir():
        raise NotAttachedError(Sentence("“{name}” is a folder. Attach files from it instead.", name=path.name))
    status = path.stat()
    if not path.is_file():
        raise NotAttachedError(Sentence("“{name}” is not a file.", name=path.name))
    if status.st_size > max_bytes:
        raise NotAttachedError(
            Sentence(
                "“{name}” has {file_bytes}, but a file can have only {max_bytes}. Attach a part of it.",
                name=path.name,
                file_bytes=status.st_size,
                max_bytes=max_bytes,
            )
        )


def _unreadable(path: Path, error: str) -> NotAttachedError:
    return NotAttachedError(Sentence("“{name}” can't be read ({error}).", name=path.name, error=error))


def _refusal(path: Path, error: RaisedError) -> NotAttachedError:
    names: Sequence[str] = error.names
    if LockedError.__name__ in names:
        text = Sentence(
            "“{name}” is protected by a password. Save a copy without one, and attach that.", name=path.name
        )
    elif NoTextError.__name__ in names:
        text = Sentence(
            "“{name}” has no text. If its pages are pictures, a program for text recognition can read them.",
            name=path.name,
        )
    else:
        text = Sentence("“{name}” can't be read. It is damaged, or not what its name says.", name=path.name)
    return NotAttachedError(text)
