"""The queue of downloads and conversions. Each runs in a process of its own, one of each kind at a time.

Every entry is kept in a file, so that interrupted entries are there again, paused, when Bough starts. Independent of Qt
and of the network. Changes are reported by a callback, in the thread in which they occur.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import threading
import time
from collections import deque
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import msgspec
from msgspec.structs import replace

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
from app.catalog.download_jobs import Download, DownloadJobs, decoded, id_of
from app.catalog.download_process import main
from app.catalog.entry import LocalGguf, RemoteModel
from app.catalog.hub import Hub
from app.catalog.places_of_models import hub_cache
from app.places import Places
from worker.sentence import Sentence, received
from worker.surroundings import start

_log = logging.getLogger(__name__)

_SILENCE_S = 3.0
"""A process that has sent nothing for this time counts as not responding."""
_STARTING_SILENCE_S = 15.0
_SILENT = Sentence("Its process does not respond. Wait, or pause it and resume it: the finished part is kept.")
_SPEED_S = 5.0
"""The time over which the speed is averaged."""


class DownloadQueue:
    """The queue. Its methods may be called in any thread and never wait for the network. Must be closed."""

    def __init__(
        self,
        places: Places,
        hub: Hub,
        on_change: Callable[[], None] = lambda: None,
        *,
        report: Callable[[Sentence], None] = lambda _: None,
        begins_empty: bool = False,
        stall_s: float = 20.0,
        first_wait_s: float = 1.0,
    ) -> None:
        """`on_change` is called after every change of `downloads`, in any thread.

        `report` is called here with a sentence about each entry of an earlier start that can't be read.
        `begins_empty` means that the entries of earlier starts are ignored.
        """
        self._models = places.models
        self._jobs = DownloadJobs(places, report)
        self._hub = hub
        self._on_change = on_change
        self._stall_s = stall_s
        self._first_wait_s = first_wait_s
        self._changed = threading.Condition(threading.RLock())
        self._processes: dict[str, BaseProcess] = {}
        """The running processes by the ids of their entries."""
        self._running: set[str] = set()
        """The ids of the entries that the threads are working on."""
        self._is_closed = False
        self._threads: dict[bool, threading.Thread] = {}
        """One thread for downloads and one for conversions of local files, which do not wait for each other."""
        self._downloads: list[Download] = [] if begins_empty else self._jobs.load()

    @property
    def downloads(self) -> tuple[Download, ...]:
        """All entries, in their order."""
        with self._changed:
            return tuple(self._downloads)

    def find(self, id_: str) -> Download | None:
        """Return an entry; None if it was removed."""
        return next((download for download in self.downloads if download.id == id_), None)

    def add(self, model: RemoteModel | LocalGguf) -> Download:
        """Add a model at the end of the queue, or resume its entry. The files of a model on the hub may be unknown."""
        with self._changed:
            # The user may have decided later which of a repository's models to download.
            known = next((download for download in self._downloads if download.model.key == model.key), None)
            id_ = id_of(model) if known is None else known.id
            known = known or self.find(id_)
            if known is None or known.state == "landed":
                self._downloads = [download for download in self._downloads if download.id != id_]
                self._downloads.append(self._jobs.measured(Download(id=id_, model=model)))
                self._jobs.save(self._downloads)
        self.resume(id_)
        found = self.find(id_)
        assert found is not None
        return found

    def pause(self, id_: str) -> None:
        """Pause an entry until it is resumed, even across restarts. The finished part is kept."""
        self._stop(id_)
        with self._changed:
            self._jobs.save(self._downloads)

    def resume(self, id_: str) -> None:
        """Let an entry that is paused or has failed continue when its turn comes."""
        with self._changed:
            download = self.find(id_)
            if download is None or download.state in {"running", "landed"}:
                return
            self._replace(replace(download, state="queued", is_held=False, failure=None, failure_kind="", waiting=None))
            self._jobs.save(self._downloads)
            if download.is_local not in self._threads and not self._is_closed:
                name = "conversions" if download.is_local else "downloads"
                thread = threading.Thread(target=self._run, args=(download.is_local,), name=name, daemon=True)
                self._threads[download.is_local] = thread
                thread.start()
            self._changed.notify_all()
        self._on_change()

    def cancel(self, id_: str) -> int:
        """Remove an entry and its files; return the number of bytes freed. A model that is complete stays."""
        self._stop(id_)
        with self._changed:
            download = self.find(id_)
            if download is None:
                return 0
            self._downloads = [other for other in self._downloads if other.id != id_]
        freed = 0 if download.state == "landed" else self._jobs.discard(download)
        self._on_change()
        return freed

    def move(self, id_: str, position: int) -> None:
        """Give an entry another position, from 0. An entry that is running continues to run."""
        with self._changed:
            download = self.find(id_)
            if download is None:
                return
            self._downloads.remove(download)
            self._downloads.insert(position, download)
            self._jobs.save(self._downloads)
        self._on_change()

    def run_next(self, id_: str) -> None:
        """Move a waiting entry before all other waiting entries of its kind."""
        with self._changed:
            download = self.find(id_)
            first = None if download is None else self._first_queued(is_local=download.is_local)
            if first is None or first.id == id_:
                return
            self.move(id_, self._downloads.index(first))

    def wait(self, id_: str, timeout_s: float | None = None) -> Download | None:
        """Wait until an entry is paused, has failed or is complete, and return the entry.

        Return None if the entry was removed or the time is over.
        """
        with self._changed:
            self._changed.wait_for(lambda: (download := self.find(id_)) is None or download.is_over, timeout_s)
            download = self.find(id_)
        return download if download is not None and download.is_over else None

    def close(self) -> None:
        """End the processes and threads. The finished parts are kept."""
        with self._changed:
            self._is_closed = True
            for process in self._processes.values():
                process.kill()
            self._changed.notify_all()
        for thread in self._threads.values():
            thread.join()

    # --- entries -------------------------------------------------------------------------------------------

    def _replace(self, download: Download) -> None:
        with self._changed:
            self._downloads = [download if other.id == download.id else other for other in self._downloads]
            self._changed.notify_all()

    def _stop(self, id_: str) -> None:
        with self._changed:
            download = self.find(id_)
            if download is None or download.is_over:
                return
            self._replace(
                self._jobs.measured(replace(download, state="paused", is_held=True, bytes_per_s=None, waiting=None))
            )
            if id_ in self._processes:
                self._processes[id_].kill()
                self._changed.wait_for(lambda: id_ not in self._running)
        self._on_change()

    # --- in the threads ------------------------------------------------------------------------------------

    def _run(self, is_local: bool) -> None:
        while (download := self._next(is_local=is_local)) is not None:
            try:
                self._follow(download)
            except Exception as error:  # noqa: BLE001 (the user waits for an end, whatever the error)
                _log.error("A process could not be followed", exc_info=error)
                why = Sentence(
                    "An error in Bough stopped this ({kind}). The finished part is kept. Try again.",
                    kind=type(error).__name__,
                )
                self._note_end(download.id, DownloadFailed("internal", why.parts))
            finally:
                with self._changed:
                    self._running.discard(download.id)
                    self._changed.notify_all()

    def _first_queued(self, *, is_local: bool) -> Download | None:
        return next((one for one in self._downloads if one.state == "queued" and one.is_local == is_local), None)

    def _next(self, *, is_local: bool) -> Download | None:
        """Wait for the next entry to run, and return it; None if the queue is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._first_queued(is_local=is_local) is not None)
            download = self._first_queued(is_local=is_local)
            if self._is_closed or download is None:
                return None
            self._running.add(download.id)
            download = replace(download, state="running")
            self._replace(download)
            return download

    def _follow(self, download: Download) -> None:
        """Run the process of an entry until it ends."""
        token = None if download.is_local else self._hub.tokens.token
        order = DownloadOrder(
            model=download.model,
            endpoint=self._hub.endpoint,
            cache=hub_cache(),
            folder=self._jobs.folder(download.id),
            models=self._models,
            target=Path(download.target) if download.target else None,
            stall_s=self._stall_s,
            first_wait_s=self._first_wait_s,
        )
        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=main, args=(order, token, sender), name="bough-download", daemon=True)
        with self._changed:
            current = self.find(download.id)
            if self._is_closed or current is None or current.state != "running":
                return
            self._processes[download.id] = process
            start(process)
        sender.close()
        self._on_change()
        speed = _Speed()
        end: Landed | DownloadFailed | None = None
        # While the process starts, it imports libraries.
        patience_s = _STARTING_SILENCE_S
        with receiver, contextlib.suppress(EOFError, OSError):
            while True:
                if not receiver.poll(patience_s):
                    self._note_silence(download.id, is_silent=True)
                    receiver.poll(None)
                    self._note_silence(download.id, is_silent=False)
                patience_s = _SILENCE_S
                event = msgspec.msgpack.decode(receiver.recv_bytes(), type=DownloadEvent, dec_hook=decoded)
                if isinstance(event, Landed | DownloadFailed):
                    end = event
                elif not isinstance(event, Alive):
                    self._take(download.id, event, speed)
        process.join()
        self._note_end(download.id, end)

    def _note_silence(self, id_: str, *, is_silent: bool) -> None:
        with self._changed:
            download = self.find(id_)
            if download is not None and download.state == "running" and (is_silent or download.waiting == _SILENT):
                self._replace(replace(download, bytes_per_s=None, waiting=_SILENT if is_silent else None))
        self._on_change()

    def _take(self, id_: str, event: Planned | Began | Progressed | Waiting, speed: _Speed) -> None:
        with self._changed:
            download = self.find(id_)
            if download is None or (download.state != "running" and not isinstance(event, Began)):
                return
            before = download
            match event:
                case Planned(model):
                    download = self._jobs.measured(replace(download, model=model))
                case Began(target):
                    download = replace(download, target=target)
                case Progressed(phase, num_bytes, total):
                    if phase == "converting":
                        download = replace(download, target_bytes=total)
                    speed_now = speed.after(phase, num_bytes)
                    waiting = download.waiting
                    if num_bytes != download.num_bytes:
                        waiting = None
                    elif speed.still_s > self._stall_s and waiting is None:
                        waiting = Sentence("No data has arrived for a while. If this continues, pause and resume.")
                    download = replace(
                        download,
                        phase=phase,
                        num_bytes=num_bytes,
                        total_bytes=total,
                        bytes_per_s=speed_now,
                        waiting=waiting,
                    )
                case Waiting(why, _):
                    download = replace(download, waiting=received("", why))
            self._replace(download)
            if (download.model, download.target, download.target_bytes) != (
                before.model,
                before.target,
                before.target_bytes,
            ):
                self._jobs.save(self._downloads)
        self._on_change()

    def _note_end(self, id_: str, end: Landed | DownloadFailed | None) -> None:
        """Update the entry of a process that has ended. An `end` of None means that the process was killed."""
        with self._changed:
            self._processes.pop(id_, None)
            download = self.find(id_)
            if download is None or download.state != "running":
                return
            download = self._jobs.measured(replace(download, bytes_per_s=None, waiting=None))
            match end:
                case Landed(name, path):
                    total = download.total_bytes or 0
                    self._replace(replace(download, state="landed", name=name, path=path, num_bytes=total))
                    self._jobs.forget(id_)
                case DownloadFailed(kind, why):
                    self._replace(replace(download, state="failed", failure=received("", why), failure_kind=kind))
                case None if self._is_closed:
                    self._replace(replace(download, state="paused"))
                case None:
                    why = _ended(download)
                    self._replace(replace(download, state="failed", failure=why, failure_kind="internal"))
            self._jobs.save(self._downloads)
        self._on_change()


def _ended(download: Download) -> Sentence:
    if download.is_local:
        return Sentence(
            "The process that converted this model has ended. The finished weight files are kept. Resume the "
            "conversion."
        )
    return Sentence(
        "The process that downloaded this model has ended. The part that has arrived is kept. Resume the download."
    )


class _Speed:
    """Bytes per second over the last seconds."""

    def __init__(self) -> None:
        self._phase: Phase | None = None
        self._points: deque[tuple[float, int]] = deque()
        self._moved_s = time.monotonic()

    @property
    def still_s(self) -> float:
        """For how many seconds the number of bytes has not changed."""
        return time.monotonic() - self._moved_s

    def after(self, phase: Phase, num_bytes: int) -> float | None:
        """Note the number of bytes so far; return the speed in bytes per second, or None if it is not known yet."""
        now = time.monotonic()
        if phase != self._phase:
            self._phase = phase
            self._points.clear()
        if not self._points or num_bytes != self._points[-1][1]:
            self._moved_s = now
        self._points.append((now, num_bytes))
        while len(self._points) > 2 and now - self._points[0][0] > _SPEED_S:
            self._points.popleft()
        began, before = self._points[0]
        return (num_bytes - before) / (now - began) if now - began > 0.3 else None
