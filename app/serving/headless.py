"""The owner of a worker without a window: keeps one model loaded, even after the worker has died."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from app.serving.messages import (
    Listening,
    ListModels,
    ModelRefused,
    ModelsListed,
    ModelStatus,
    ModelUsed,
    NotListening,
    ServedModel,
    ServerSettings,
    UseModel,
)
from app.serving.model_names import find, load_name, served_model, suggested
from app.serving.relay import Exchange, Relay
from worker.process import WorkerClient, WorkerExitedError, WorkerSilentError
from worker.protocol import Command, Event, Failed, LoadModel, ModelLoaded

_MAX_DEATHS = 3
"""After this many deaths in a row without an answer in between, no new worker is started."""
_PATIENCE_S = 60.0
"""A worker that has been silent for this long is ended."""
_PING_S = 5.0
"""The time between two checks whether the server process responds."""

_SILENT = (
    "The server process does not respond, so other programs get no answers. Wait, or press Ctrl+C and start "
    "`bough serve` again."
)


class Loaded(NamedTuple):
    """A model is ready."""

    model: ServedModel


class NotLoaded(NamedTuple):
    """A model could not be loaded. The previous one may still be loaded."""

    why: str


class Restarted(NamedTuple):
    """The worker has ended, and a new one is being started."""

    why: str


class Silent(NamedTuple):
    """The server process does not respond."""

    why: str


class Awake(NamedTuple):
    """The server process responds again."""


class Gone(NamedTuple):
    """The server or the worker has ended for good."""

    why: str


News: TypeAlias = Listening | NotListening | Loaded | NotLoaded | Restarted | Silent | Awake | Gone | Exchange


class HeadlessOwner:
    """Starts a worker and a server process, and connects them. Puts news for the user into `news`."""

    def __init__(
        self,
        settings: ServerSettings,
        model: str,
        models: Callable[[], Sequence[ServedModel]],
        *,
        allows_load: bool = False,
        cache_folder: Path | None = None,
    ) -> None:
        """`model`: a name for `load_model`. `models` finds the models on this machine; it is called in threads.

        `allows_load`: whether requests may load other models. Raises `OSError`.
        """
        self.news: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._models = models
        self._allows_load = allows_load
        self._cache_folder = cache_folder
        self._load_ids = (f"load-{number}" for number in itertools.count(1))
        self._load_id = ""
        self._lock = threading.RLock()
        self._waiting: list[UseModel] = []
        """Requests for models that are answered when the present load ends."""
        self._num_deaths = 0
        self._is_stopping = False
        self._stopped = threading.Event()
        self._name = model
        self._status = ModelStatus(state="loading", model=served_model(model))
        self._before: tuple[str, ModelStatus] | None = None
        """The model that was ready before the present load."""
        self._client = WorkerClient(cache_folder)
        try:
            self.relay = Relay(settings, self, exchanged=self.news.put)
        except OSError:
            self._client.kill()
            raise
        self._load(model, self._status.model)
        self._thread = threading.Thread(target=self._receive, name="worker events", daemon=True)
        self._thread.start()
        self._pinging = threading.Thread(target=self._ping, name="server heartbeats", daemon=True)
        self._pinging.start()

    @property
    def status(self) -> ModelStatus:
        """The model and its state."""
        return self._status

    def stop(self) -> None:
        """End the streams, the server process and the worker."""
        with self._lock:
            # From now on, no worker is started in place of a dead one.
            self._is_stopping = True
        self._stopped.set()
        self._pinging.join()
        self.relay.stop()
        self._client.stop()
        self._thread.join()

    # --- for the relay -------------------------------------------------------------------------------------

    def send(self, command: Command) -> bool:
        # A command must not go to a worker that is being replaced: nobody would answer it.
        with self._lock:
            self._client.send(command)
        return True

    def list_models(self, question: ListModels) -> None:
        def find_all() -> None:
            self.relay.tell(ModelsListed(request_id=question.request_id, models=list(self._models())))

        threading.Thread(target=find_all, name="models", daemon=True).start()

    def use_model(self, question: UseModel) -> None:
        threading.Thread(target=self._use, args=(question,), name="model", daemon=True).start()

    def on_listening(self, report: Listening | NotListening) -> None:
        self.news.put(report)

    def on_server_ended(self, exit_code: int | None) -> None:
        self.news.put(Gone(f"The server process stopped (exit code {exit_code}). Start `bough serve` again."))

    def _ping(self) -> None:
        """Check regularly whether the server process responds."""
        is_silent = False
        while not self._stopped.wait(_PING_S):
            self.relay.ping()
            if self.relay.is_silent != is_silent:
                is_silent = self.relay.is_silent
                self.news.put(Silent(_SILENT) if is_silent else Awake())

    # --- loading -------------------------------------------------------------------------------------------

    def _use(self, question: UseModel) -> None:
        """Answer a request for a model; load the model if necessary."""
        if not self._status.model.is_named(question.model):
            wanted = find(question.model, self._models())
            present = self._status.model.id
            if wanted is None:
                why = f"There is no model “{question.model}” here. “{present}” is loaded; GET /v1/models lists all."
                self.relay.tell(ModelRefused(request_id=question.request_id, kind="not_found", why=why))
                return
            if not self._allows_load:
                why = f"“{present}” is loaded, and requests may load no other model. Start Bough with --allow-load."
                self.relay.tell(ModelRefused(request_id=question.request_id, kind="not_allowed", why=why))
                return
            with self._lock:
                if self._status.model.id != wanted.id:
                    self._load(load_name(wanted), wanted)
        with self._lock:
            if self._status.state == "loading":
                self._waiting.append(question)
            else:
                self._reply(question)

    def _reply(self, question: UseModel) -> None:
        if self._status.state == "ready" and self._status.model.is_named(question.model):
            self.relay.tell(ModelUsed(request_id=question.request_id))
        else:
            why = self._status.why or "Another model was loaded meanwhile."
            self.relay.tell(ModelRefused(request_id=question.request_id, kind="failed", why=why))

    def _load(self, name: str, model: ServedModel) -> None:
        with self._lock:
            if self._status.state == "ready":
                self._before = (self._name, self._status)
            self._name, self._load_id = name, next(self._load_ids)
            self._set(ModelStatus(state="loading", model=model))
            self._client.send(LoadModel(request_id=self._load_id, model=name))

    def _on_load_ended(self, event: ModelLoaded | Failed) -> None:
        with self._lock:
            if isinstance(event, ModelLoaded):
                self._set(
                    ModelStatus(state="ready", model=self._status.model, loaded=event, suggested=suggested(self._name))
                )
                self.news.put(Loaded(self._status.model))
            else:
                failed = ModelStatus(state="failed", model=self._status.model, why=event.message)
                self._set(failed)
                self.news.put(NotLoaded(event.message))
            waiting, self._waiting = self._waiting, []
            for question in waiting:
                self._reply(question)
            if isinstance(event, Failed) and event.still_loaded and self._before is not None:
                self._name, status = self._before
                self._set(status)

    def _set(self, status: ModelStatus) -> None:
        self._status = status
        self.relay.tell(status)

    # --- the worker's events -------------------------------------------------------------------------------

    def _receive(self) -> None:
        why = stopped = "The model process stopped."
        while True:
            try:
                event = self._client.receive_unless_silent(_PATIENCE_S)
            except WorkerSilentError:
                why = f"The model process did not respond for {_PATIENCE_S:.0f} seconds, so it was ended."
                self._client.end()
                continue
            except WorkerExitedError:
                if not self._restarted(why):
                    return
                why = stopped
                continue
            self._take(event)

    def _take(self, event: Event) -> None:
        if self.relay.take(event):
            self._num_deaths = 0
        elif event.request_id == self._load_id and isinstance(event, ModelLoaded | Failed):
            self._on_load_ended(event)

    def _restarted(self, why: str) -> bool:
        """Start a new worker after one has died. Return False if too many have died, or the owner is stopping."""
        self._client.kill()
        with self._lock:
            if self._is_stopping:
                return False
            self._num_deaths += 1
            self.relay.fail_all()
            if self._num_deaths >= _MAX_DEATHS:
                why = f"The model process stopped {_MAX_DEATHS} times in a row. Choose another model."
                self._set(ModelStatus(state="failed", model=self._status.model, why=why))
                self.news.put(Gone(why))
                return False
            self.news.put(Restarted(f"{why} The requests that it answered have failed. It is being started again."))
            self._client = WorkerClient(self._cache_folder)
            self._before = None
            self._set(ModelStatus(state="loading", model=self._status.model))
            self._load(self._name, self._status.model)
        return True
