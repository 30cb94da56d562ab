"""The process that downloads or converts one model.

It can be killed at any time: finished parts are kept, and the next process resumes from them.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import multiprocessing
import multiprocessing.connection
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.catalog.download_events import (
    Alive,
    Began,
    DownloadEvent,
    DownloadFailed,
    DownloadOrder,
    Landed,
    Phase,
    Planned,
    Progressed,
    Waiting,
)
from app.catalog.entry import LocalGguf, RemoteModel
from app.catalog.hub import Hub, best_of, only
from app.catalog.hub_error import HubError
from app.catalog.hub_folder import HubFolder, Place, places
from app.catalog.tokens import Tokens
from app.catalog.transfer import Connection, Transfer
from worker.printable import print_printable_text
from worker.sentence import Sentence, SentenceError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection as Pipe

_log = logging.getLogger(__name__)
_BEAT_S = 1.0
_REPORT_S = 0.1
_FILES_AT_ONCE = 4
_SPARE_BYTES = 64 << 20
"""The space in bytes that is left free on the disk."""
_MAX_NAME_BYTES = 200
"""The maximum length of a folder's name.

Most file systems allow 255, but the name of an unfinished folder is longer.
"""


class _GivenToken(Tokens):
    """A token that the parent process has read."""

    def __init__(self, endpoint: str, token: str | None) -> None:
        super().__init__(endpoint)
        self._given = token

    @property
    def token(self) -> str | None:
        return self._given


def main(order: DownloadOrder, token: str | None, pipe: Pipe) -> None:
    """Download or convert a model, and send reports through the pipe.

    A `token` of None means that huggingface_hub looks for one itself.
    """
    print_printable_text()
    logging.basicConfig(format="download: %(levelname)s %(name)s: %(message)s")
    # Ctrl+C in a terminal reaches the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="parent watch", daemon=True).start()
    downloader = _Downloader(order, token, pipe)
    threading.Thread(target=downloader.beat, name="heartbeat", daemon=True).start()
    try:
        name, path = downloader.run()
        downloader.emit(Landed(name, str(path)))
    except SentenceError as error:
        kind = error.kind if isinstance(error, HubError) else "failed"
        downloader.emit(DownloadFailed(kind, error.sentence.parts))
    except OSError as error:
        downloader.emit(DownloadFailed("disk", _disk_failure(error).parts))
    except Exception as error:  # noqa: BLE001 (the user waits for an end, whatever the error)
        _log.error("A model could not be downloaded or converted", exc_info=error)
        sentence = Sentence(
            "An error in Bough stopped this ({kind}). The finished part is kept. Try again.",
            kind=type(error).__name__,
        )
        downloader.emit(DownloadFailed("internal", sentence.parts))
    logging.shutdown()
    # Threads of other files may still wait for the network.
    os._exit(0)


class _Downloader:
    """Downloads or converts one model."""

    def __init__(self, order: DownloadOrder, token: str | None, pipe: Pipe) -> None:
        self._order = order
        self._token = token
        self._pipe = pipe
        self._writing = threading.Lock()
        self._transfers: list[Transfer] = []

    def emit(self, event: DownloadEvent) -> None:
        """Send an event to the parent process. If the parent is gone, this process ends."""
        try:
            with self._writing:
                self._pipe.send_bytes(msgspec.msgpack.encode(event, enc_hook=str))
        except OSError:
            os._exit(0)

    def beat(self) -> None:
        """Send `Alive` every second until the process ends."""
        while True:
            self.emit(Alive())
            time.sleep(_BEAT_S)

    def run(self) -> tuple[str, Path]:
        """Download or convert the model; return its name for `load_model`, and its folder."""
        if isinstance(self._order.model, LocalGguf):
            with _locked(self._order.folder / "lock", self._order.model.title):
                folder_of_model = self._converted(self._order.model.path, self._order.model.title)
                return str(folder_of_model), folder_of_model
        model = self._planned(self._order.model)
        folder = HubFolder(model.repo, self._order.cache, model.revision)
        with _locked(folder.lock if model.format == "mlx" else self._order.folder / "lock", model.title):
            found = places(model, self._order.cache, self._order.folder)
            self._check_space(model, found)
            self._download(model, found)
            if model.format == "gguf":
                source = gguf_file(found)
                folder_of_model = self._converted(source, source.name)
                _copy_texts(found, folder_of_model)
                return str(folder_of_model), folder_of_model
            return model.repo, folder.publish(model.files)

    def _planned(self, wanted: RemoteModel) -> RemoteModel:
        """Return the model with the list of its files. Raises `HubError`."""
        if wanted.files and wanted.revision:
            return wanted
        hub = Hub(self._order.endpoint, _GivenToken(self._order.endpoint, self._token))
        found = hub.details(wanted.repo, wanted.revision)
        model = only(found, wanted.gguf) if wanted.gguf else best_of(found)
        if model is None:
            raise HubError(Sentence("{repo} has no {file}.", repo=wanted.repo, file=wanted.gguf), "gone")
        self.emit(Planned(model))
        return model

    @staticmethod
    def _check_space(model: RemoteModel, found: Sequence[Place]) -> None:
        """Raise `HubError` if there is not enough free space on the disk."""
        needed = sum(place.file.num_bytes - place.num_bytes for place in found)
        if model.format == "gguf":
            # The model folder that it becomes is about as large.
            needed += sum(place.file.num_bytes for place in found)
        folder = found[0].part.parent
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if needed + _SPARE_BYTES > free:
            raise HubError(
                Sentence(
                    "{title} needs {needed_bytes} on the disk of {folder}, where {free_bytes} are free. "
                    "The part that has arrived is kept. Free some space, then resume.",
                    title=model.title,
                    needed_bytes=needed,
                    free_bytes=free,
                    folder=folder,
                ),
                "invalid",
            )

    def _download(self, model: RemoteModel, found: Sequence[Place]) -> None:
        # Small files first: a failure that concerns all is seen at once.
        found = sorted(found, key=lambda place: place.file.num_bytes)
        order = self._order
        connection = Connection(
            order.endpoint,
            self._token,
            order.stall_s,
            order.first_wait_s,
            self._wait,
            use_xet=order.may_use_xet and _has_xet(),
        )
        self._transfers = [Transfer(connection, model.repo, model.revision, place) for place in found]
        total = sum(place.file.num_bytes for place in found)
        with _Reporter(self, total), contextlib.ExitStack() as stack:
            threads = ThreadPoolExecutor(_FILES_AT_ONCE, "file")
            # A failure of one file ends the process; the others are not waited for.
            stack.callback(threads.shutdown, wait=False, cancel_futures=True)
            for done in [threads.submit(transfer.run) for transfer in self._transfers]:
                done.result()

    def _converted(self, source: Path, name: str) -> Path:
        """Convert a GGUF file to a model folder, unless an earlier process has done so; return the folder."""
        # Imported here because most models need no conversion.
        from worker.gguf.conversion import convert

        begun = self._order.target
        folder = begun if begun is not None and not begun.exists() else folder_of(source, self._order.models, name)
        if folder.exists():
            return folder
        sent_s = 0.0
        self.emit(Began(str(folder)))
        for progress in convert(source, folder):
            now_s = time.monotonic()
            if now_s - sent_s >= _REPORT_S:
                sent_s = now_s
                self.emit(Progressed("converting", progress.done_bytes, progress.total_bytes))
        return folder

    def report(self, phase: Phase, total_bytes: int) -> None:
        """Send how many bytes of the files are there."""
        self.emit(Progressed(phase, sum(transfer.num_bytes for transfer in self._transfers), total_bytes))

    def _wait(self, why: Sentence, seconds: float) -> None:
        self.emit(Waiting(why.parts, seconds))
        time.sleep(seconds)


class _Reporter:
    """A context manager that reports the progress ten times a second, and at the end."""

    def __init__(self, downloader: _Downloader, total_bytes: int) -> None:
        self._downloader = downloader
        self._total_bytes = total_bytes
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._downloader.report("downloading", self._total_bytes)

    def _run(self) -> None:
        while not self._ended.wait(_REPORT_S):
            self._downloader.report("downloading", self._total_bytes)


@contextlib.contextmanager
def _locked(path: Path, title: str) -> Generator[None]:
    """Keep other processes from downloading the same files. The system frees the lock when the process ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise HubError(
                Sentence(
                    "Another Bough is downloading or converting {title} now. Wait until it has finished.", title=title
                ),
                "busy",
            ) from None
        yield


def gguf_file(found: Sequence[Place]) -> Path:
    """Return the (first) GGUF file of a model."""
    return min(place.final for place in found if place.final.name.lower().endswith(".gguf"))


def _copy_texts(found: Sequence[Place], folder: Path) -> None:
    """Copy the other files of a downloaded model into its folder, because its licence should stay with it."""
    for place in found:
        if not place.file.path.lower().endswith(".gguf") and not (folder / place.final.name).exists():
            shutil.copyfile(place.final, folder / place.final.name)


def folder_of(source: Path, models: Path, name: str) -> Path:
    """Return the folder for the model of a GGUF file: an existing conversion of this file, or a new path.

    `name` is the file's name for the user, because Ollama's files are named by hashes.
    """
    from worker.gguf.conversion import inspect, record_of

    identity = inspect(source).identity
    stem = folder_name(name)
    folder, number = models / stem, 2
    while folder.exists():
        record = record_of(folder)
        if record is not None and record.source_identity == identity:
            break
        folder, number = models / f"{stem}-{number}", number + 1
    return folder


def folder_name(name: str) -> str:
    """Return the name of the folder for a GGUF model with this name. The search for models finds all such folders."""
    stem = re.sub(r"(-\d{5}-of-\d{5})?\.gguf$", "", name, flags=re.IGNORECASE)
    stem = re.sub(r"[^\w .,+=()@&'!~^#-]+", "-", stem).encode()[:_MAX_NAME_BYTES].decode(errors="ignore")
    stem = re.sub(r"\.(partial|incomplete)$", r"-\1", stem.strip(" .-"), flags=re.IGNORECASE)
    return stem or "model"


def _has_xet() -> bool:
    from huggingface_hub import constants

    if constants.HF_HUB_DISABLE_XET:
        return False
    try:
        from hf_xet import XetSession  # pyright: ignore[reportAttributeAccessIssue]

        return hasattr(XetSession, "new_download_stream_group")
    except ImportError:
        return False


def _disk_failure(error: OSError) -> Sentence:
    return Sentence(
        "{file} could not be written ({error}). The part that has arrived is kept. Check the disk, then resume.",
        file=error.filename or "A file",
        error=error.strerror or type(error).__name__,
    )


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(0)
