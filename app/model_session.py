"""The model that is to be loaded, kept loaded: through progress, failures and the deaths of workers."""

from __future__ import annotations

import itertools
import signal
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, Signal

from app.worker_link import WorkerLink
from worker.protocol import Event, Failed, LoadModel, ModelLoaded, ModelLoading

ModelState: TypeAlias = Literal["loading", "ready", "failed"]

_MAX_DEATHS = 3
"""In a row, without a word of an answer in between; then a fresh worker would hardly live longer."""


class ModelSession(QObject):
    """Loads one model in the worker and starts a fresh worker with it whenever one dies."""

    changed = Signal()
    """The state, the progress or the model is another."""
    worker_died = Signal(str)
    """A worker died; how, in words. The state is `loading` where a fresh one takes its place."""
    load_failed = Signal(str)
    """A model could not be loaded, or it kills every worker; why, and what to do."""

    def __init__(self, link: WorkerLink) -> None:
        super().__init__()
        self._link = link
        self._request_ids = (f"load-{number}" for number in itertools.count(1))
        self._request_id = ""
        self._good_name: str | None = None
        """The last model that loaded."""
        self._num_deaths = 0
        self.name = ""
        self.state: ModelState = "loading"
        self.fraction = 0.0
        self.stage = ""
        self.info: ModelLoaded | None = None
        link.received.connect(self._on_event)
        link.exited.connect(self._on_exit)

    def load(self, name: str) -> None:
        """Load a model instead of the present one; starts a worker where there is none."""
        self._num_deaths = 0
        self._load(name)

    def _load(self, name: str) -> None:
        self.name = name
        self.state, self.fraction, self.stage, self.info = "loading", 0.0, "starting", None
        self._request_id = next(self._request_ids)
        try:
            if not self._link.is_started:
                self._link.start()
        except OSError as error:
            self._fail(
                f"The worker that runs the model could not be started ({error.strerror}). Your conversations are kept. "
                "Close other programs, then choose the model again."
            )
            return
        self._link.send(LoadModel(request_id=self._request_id, model=name))
        self.changed.emit()

    def _on_event(self, event: Event) -> None:
        if event.request_id != self._request_id:
            # Of an answer: this worker is of use.
            self._num_deaths = 0
            return
        match event:
            case ModelLoading():
                self.fraction, self.stage = event.fraction, event.stage
            case ModelLoaded():
                self.state, self.fraction, self.info = "ready", 1.0, event
                self._good_name = self.name
            case Failed():
                self._on_load_failed(event)
                return
            case _:
                return
        self.changed.emit()

    def _on_load_failed(self, event: Failed) -> None:
        if self._good_name is None or self._good_name == self.name:
            self._fail(event.message)
        else:
            self._fail(f"{event.message} The model before it is loaded again.")
            self.load(self._good_name)

    def _on_exit(self, exit_code: int) -> None:
        how = death_in_words(exit_code)
        self._num_deaths += 1
        gives_up = self._num_deaths >= _MAX_DEATHS
        self.state = "failed" if gives_up else "loading"
        self.worker_died.emit(how)
        if gives_up:
            self._fail(
                f"The worker died {_MAX_DEATHS} times in a row with the model {self.name!r}, the last time {how}. "
                "Your conversations are kept. Choose another model, or Models → Guide."
            )
        else:
            self._load(self.name)

    def _fail(self, why: str) -> None:
        self.state = "failed"
        self.changed.emit()
        self.load_failed.emit(why)


def death_in_words(exit_code: int) -> str:
    """Say how a process ended, from its exit code (negative: a signal)."""
    if exit_code >= 0:
        return f"with exit code {exit_code}"
    if exit_code == -signal.SIGKILL:
        return "by SIGKILL (often because memory ran out)"
    try:
        return f"by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"by signal {-exit_code}"
