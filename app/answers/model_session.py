"""Loads the chosen model and keeps it loaded, through failures and deaths of workers."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from PySide6.QtCore import QObject, Signal, SignalInstance

from app.answers.worker_link import WorkerEnd, WorkerLink, death_reason
from app.model.endpoints import Prices
from app.model.message import Record
from app.model.settings import CacheSettings
from worker.protocol import (
    CacheOptions,
    CacheStats,
    CacheStatsReport,
    Cancel,
    Capability,
    Command,
    Confinement,
    Endpoint,
    Event,
    Failed,
    LoadModel,
    ModelLoaded,
    ModelLoading,
    Secret,
    UnloadModel,
    WeightForm,
)
from worker.sentence import Sentence

ModelState: TypeAlias = Literal["loading", "ready", "failed", "unloaded"]
"""`unloaded` means that the model is known, and that `wake` loads it again."""

_log = logging.getLogger(__name__)

_MAX_DEATHS = 3


@dataclass(frozen=True)
class _Good:
    """A model that was loaded successfully, with its draft model and the worker's report."""

    name: str
    draft: str
    info: ModelLoaded


class Crash(NamedTuple):
    """A worker that ended unexpectedly, and its model."""

    how: Sentence
    end: WorkerEnd
    model: str
    draft: str
    versions: Mapping[str, str]
    """The versions of the libraries, by name; empty if no model was loaded."""


class ModelSession(QObject):
    """Loads one model in the worker, and starts a fresh worker with it whenever one dies."""

    changed = Signal()
    """The state, the progress or the model changed."""
    chosen = Signal()
    """The user has chosen a model, which the worker should load at once."""
    worker_died = Signal(object)
    """A worker died or was killed: a `Sentence` that says so. The state is `loading` if a new worker replaces it."""
    load_failed = Signal(object)
    """A model could not be loaded, or every worker dies with it: a `Sentence` that says why, and what to do."""
    draft_refused = Signal(object)
    """The requested draft model can't be used: a `Sentence` that says why."""
    noticed = Signal(object)
    """A `Sentence` about a problem of a loaded model that can still be used. Emitted once for each problem."""
    precision_refused = Signal(int)
    """The number of bits of a cache that the model does not support. The model is loaded with its usual cache."""
    kept_changed = Signal()
    """`kept` changed."""
    ended = Signal()
    """`end` has ended the worker."""

    def __init__(self, link: WorkerLink, *, max_deaths: int = _MAX_DEATHS) -> None:
        """When `max_deaths` workers in a row have died without any event of an answer, no further worker is started."""
        super().__init__()
        self._link = link
        self._max_deaths = max_deaths
        self._request_ids = (f"load-{number}" for number in itertools.count(1))
        self._request_id = ""
        self._good: _Good | None = None
        """The last model that was loaded successfully; None if there is none."""
        self._why_not_drafted: Sentence | None = None
        """Why the draft model was dropped after a failed load. Reported once the model is loaded without it."""
        self._num_deaths = 0
        self._why_ended: Sentence | None = None
        """Why this session is ending the worker; None if it is not ending it."""
        self._is_cancelled = False
        """Whether the user has cancelled the load."""
        self.is_load_begun = False
        """Whether the worker has begun to load the model, or has refused to load it."""
        self._noticed: set[tuple[str, str]] = set()
        """The notices that were emitted, each with the identity of its model."""
        self._other_ids = (f"other-{number}" for number in itertools.count(1))
        self._stats_ids = (f"kept-{number}" for number in itertools.count(1))
        self._stats_id = ""
        self._remove: Callable[[], None] | None = None
        """Functions to call once a model is loaded that uses no files on disk."""
        self._refused: dict[str, Sentence] = {}
        """By name, why models could not be loaded at the last attempt."""
        self.draft_of: Callable[[str], str] = lambda _: ""
        """Returns the name of the draft model that the user chose for a model; empty if there is none."""
        self.template_of: Callable[[str], str | None] = lambda _: None
        """Returns the chat template that the user chose for a model without a template."""
        self.endpoint_of: Callable[[str], Endpoint | None] = lambda _: None
        """Returns the server of a model, without its key; None for a model of this machine."""
        self.read_key: Callable[[str, Callable[[Secret | Sentence | None], None]], None] = lambda _, then: then(None)
        """Reads the key of a model's server, which may take as long as the user needs to unlock the keyring.

        Passes it on, or None if there is none, or a sentence that says why it can't be read.
        """
        self.prices_of: Callable[[str], Prices | None] = lambda _: None
        """Returns the prices that the user gave for a model's server; None if there are none."""
        self._awaits_key = False
        self.kv_bits_of: Callable[[str], Literal[4, 8, 16]] = lambda _: self.cache_settings.kv_bits or 16
        """Returns the bits of the cache of a model; 16 means the precision in which the model computes."""
        self.cache_settings = CacheSettings()
        """The cache settings of the model that was requested last."""
        self.is_precision_refused = False
        """Whether that model does not support the requested bits of the cache."""
        self.last_crash: Crash | None = None
        """The last worker that ended unexpectedly; None if none did."""
        self.kept: CacheStatsReport | None = None
        """The worker's last report about its cache; None if there is none."""
        self.name = ""
        self.draft = ""
        """The requested draft model; empty if there is none."""
        self.state: ModelState = "loading"
        self.fraction = 0.0
        self.stage = ""
        self.info: ModelLoaded | None = None
        self.thinking_option: str | None = None
        """The name of the chat template's option for thinking; None if it has none.

        The value is kept while a model is loaded again.
        """
        link.received.connect(self._on_event)
        link.exited.connect(self._on_exit)

    @property
    def link(self) -> WorkerLink:
        """The link, for requests about the loaded model."""
        return self._link

    @property
    def received(self) -> SignalInstance:
        """An event of the worker."""
        return self._link.received

    @property
    def exited(self) -> SignalInstance:
        """The worker has ended by itself."""
        return self._link.exited

    def send(self, command: Command) -> bool:
        """Send a command to the worker. Return False if there is no worker."""
        return self._link.send(command)

    def note_useful(self) -> None:
        """Note that this worker works: it has answered another program's request, which its link did not emit."""
        self._num_deaths = 0

    def expect(self, name: str, draft: str) -> None:
        """Set the model that will be loaded first, so that windows can show it before there is a worker."""
        self.name, self.draft, self.stage = name, draft, "starting"

    def why_not(self, name: str) -> Sentence | None:
        """Return why a model could not be loaded at the last attempt; None if it was loaded, or never tried."""
        return self._refused.get(name)

    def load(self, name: str, cache_settings: CacheSettings | None = None, draft: str = "") -> None:
        """Load a model, with a draft model (empty means none). Starts a worker if there is none."""
        self._refused.pop(name, None)
        self._num_deaths = 0
        self._why_not_drafted = None
        self.is_precision_refused = False
        if cache_settings is not None:
            self.cache_settings = cache_settings
        self._load(name, draft)

    def choose(self, name: str, draft: str) -> None:
        """Load a model at once. The caller has stopped all answers."""
        is_running = self._link.is_started
        self.load(name, draft=draft)
        if is_running:
            self.chosen.emit()

    def restart(self, why: Sentence) -> None:
        """End the worker, which may be stuck, and load the model in a new worker. `why` is emitted by `worker_died`."""
        if self._link.is_started and self._why_ended is None:
            self._why_ended = why
            self._link.end()

    def unload(self) -> None:
        """Free the model's memory. The cache on disk is kept. The caller has stopped all answers."""
        if self.state == "ready":
            self._link.send(UnloadModel(request_id=next(self._other_ids)))
            self._be_unloaded()

    def replace_unloaded(self, name: str, draft: str) -> None:
        """Let the next question load this model and not the one that was unloaded."""
        if self.state == "unloaded":
            self.name, self.draft, self.info = name, draft, None
            self.changed.emit()

    def wake(self) -> None:
        """Load the model if it is unloaded, because a question will follow."""
        if self.state == "unloaded":
            self.load(self.name, draft=self.draft)

    def end(self) -> None:
        """End the worker. No answers may be running. The next load starts a new worker."""
        if self._link.is_started:
            self._link.stop(0.0)
            self._be_unloaded()
            self.ended.emit()

    def cancel_load(self) -> None:
        """Stop loading. A previous model that is still loaded is used again; otherwise no model is loaded."""
        if self.state == "loading" and not self._is_cancelled:
            self._is_cancelled = True
            if self._awaits_key:
                self._on_load_failed(Failed(request_id=self._request_id, kind="cancelled", message=""))
            else:
                self._link.send(Cancel(request_id=next(self._other_ids), target=self._request_id))
                self.changed.emit()

    @property
    def is_cancelling(self) -> bool:
        """Whether the user has cancelled the load, and the worker has not stopped it yet."""
        return self.state == "loading" and self._is_cancelled

    def set_draft(self, draft: str) -> None:
        """Change the draft model (empty means none) after the running answers. The model's cache is kept."""
        if draft == self.draft:
            return
        if self.state == "unloaded":
            self.draft = draft
            self.changed.emit()
        else:
            self._num_deaths, self._why_not_drafted = 0, None
            self._load(self.name, draft)

    def set_cache_settings(self, cache_settings: CacheSettings) -> None:
        """Change the cache settings. This loads the model again, after the running answers."""
        if self.state == "unloaded":
            self.cache_settings, self.is_precision_refused = cache_settings, False
        elif cache_settings != self.cache_settings:
            self.load(self.name, cache_settings, self.draft)

    def reload(self) -> None:
        """Load the model again, after the running answers, because its own settings changed."""
        if self.state == "unloaded":
            self.is_precision_refused = False
        else:
            self.load(self.name, draft=self.draft)

    def forget(self, remove: Callable[[], None]) -> None:
        """Clear the cache: call `remove` once the worker uses no files on disk.

        This loads the model twice: without the files, then with them. In between, requests are answered as usual.
        """
        if self.state in {"failed", "unloaded"} or self.cache_settings.disk_limit_bytes == 0:
            remove()
            return
        self._remove = remove
        self._load(self.name, self.draft)

    def query_cache_stats(self) -> None:
        """Request the worker's report about its cache. `kept_changed` is emitted when `kept` has the report."""
        self._stats_id = next(self._stats_ids)
        if not self._link.send(CacheStats(request_id=self._stats_id)):
            self._set_kept(None)

    def can(self, capability: Capability) -> bool:
        """Return whether the loaded model has an ability. Of a model that is not loaded, none is missing."""
        return self.info is None or self.info.can(capability)

    @property
    def kv_bits(self) -> int | None:
        """The bits of the model's cache; None means the precision in which the model computes."""
        return self._cache_options().kv_bits

    def how_it_runs(self) -> list[Sentence]:
        """Return sentences about how the loaded model runs on this computer; empty if no model is loaded."""
        if self.info is None:
            return []
        found: list[Sentence] = []
        version, _, kernel = self.info.versions.get("openblas", "").partition(" ")
        if kernel:
            found.append(
                Sentence(
                    "The model runs on the CPU, with OpenBLAS {version} and its kernel {kernel}.",
                    version=version,
                    # The text after the name says which functions multiply. Only records need it.
                    kernel=kernel.partition(",")[0],
                )
            )
        if mkl := self.info.versions.get("mkl"):
            found.append(Sentence("The model runs on the CPU, with Intel's MKL {version}.", version=mkl))
        if (weights := how_weights_lie(self.info.weights)) is not None:
            found.append(weights)
        if self.info.capabilities is None:
            found.append(how_confined(self.info.confinement))
        return found

    def with_model(self, record: Record, name: str | None = None) -> Record:
        """Return a record with a model's name, identity and a seed. A `name` of None means the loaded model.

        For a model that is not loaded, only the name is known. The seed is chosen here, so that it is known even if the
        worker dies.
        """
        name = self.name if name is None else name
        info = self.info if name == self.name else None
        identity, versions = ("", {}) if info is None else (info.identity, info.versions)
        asked = record.sampling.seed
        return msgspec.structs.replace(
            record,
            model=name,
            model_identity=identity,
            versions=versions,
            kv_bits=self.kv_bits,
            seed=int.from_bytes(os.urandom(4), "big") if asked is None else asked,
        )

    def identified(self, record: Record) -> Record:
        """Return the record of an answer that is requested now, completed with facts that only a loaded model has."""
        if self.info is None:
            return record
        return msgspec.structs.replace(
            record,
            model_identity=self.info.identity,
            versions=self.info.versions,
            kv_bits=self.kv_bits,
            prices=self.prices_of(self.name),
        )

    def _set_kept(self, kept: CacheStatsReport | None) -> None:
        self.kept = kept
        self.kept_changed.emit()

    def _load(self, name: str, draft: str) -> None:
        if name != self.name:
            self.thinking_option = None
        self.name, self.draft = name, draft
        self.state, self.fraction, self.stage, self.info = "loading", 0.0, "starting", None
        self.is_load_begun = self._is_cancelled = False
        self._request_id = next(self._request_ids)
        self._awaits_key = False
        endpoint = self.endpoint_of(name)
        if self._link.is_started and self._link.is_remote is not (endpoint is not None):
            self._link.stop(0.0)
            self.ended.emit()
        try:
            if not self._link.is_started:
                self._link.start(is_remote=endpoint is not None)
        except OSError as error:
            self._fail(
                Sentence(
                    "The model process could not be started ({error}). Your conversations are safe. "
                    "Close other programs, then choose the model again.",
                    error=error.strerror,
                )
            )
            return
        command = LoadModel(
            request_id=self._request_id,
            model=name,
            draft_model=draft or None,
            cache=self._cache_options(),
            chat_template=self.template_of(name),
            endpoint=endpoint,
        )
        self._awaits_key = endpoint is not None
        if endpoint is None:
            self._link.send(command)
        self.changed.emit()
        self._set_kept(None)
        if endpoint is not None:
            self.read_key(name, partial(self._on_key, command, endpoint))

    def _on_key(self, command: LoadModel, endpoint: Endpoint, key: Secret | Sentence | None) -> None:
        if command.request_id != self._request_id or not self._awaits_key:
            # Another model was chosen meanwhile, or the load was cancelled.
            return
        self._awaits_key = False
        if isinstance(key, Sentence):
            parts = key.parts
            self._on_load_failed(
                Failed(
                    request_id=command.request_id,
                    kind="endpoint_failed",
                    message=str(key),
                    template=parts.template,
                    fields=parts.fields,
                )
            )
        else:
            self._link.send(msgspec.structs.replace(command, endpoint=msgspec.structs.replace(endpoint, key=key)))

    def _cache_options(self) -> CacheOptions:
        bits = self.kv_bits_of(self.name)
        return CacheOptions(
            limit_bytes=self.cache_settings.limit_bytes,
            disk_limit_bytes=0 if self._remove is not None else self.cache_settings.disk_limit_bytes,
            kv_bits=None if self.is_precision_refused or bits == 16 else bits,
        )

    def _on_event(self, event: Event) -> None:
        if event.request_id == self._stats_id:
            self._set_kept(event if isinstance(event, CacheStatsReport) else None)
            return
        if event.request_id != self._request_id:
            # The event belongs to an answer, so this worker works.
            self._num_deaths = 0
            return
        self.is_load_begun = True
        match event:
            case ModelLoading():
                self.fraction, self.stage = event.fraction, event.stage
            case ModelLoaded() if self._remove is not None:
                self._good = _Good(self.name, self.draft, event)
                self._remove_now()
                self._load(self.name, self.draft)
                return
            case ModelLoaded():
                self._on_loaded(event)
                return
            case Failed():
                self._on_load_failed(event)
                return
            case _:
                return
        self.changed.emit()

    def _on_loaded(self, event: ModelLoaded) -> None:
        why, self._why_not_drafted = self._why_not_drafted or event.draft_refusal, None
        if event.draft_refused:
            self.draft = ""
        self._be_ready(_Good(self.name, self.draft, event))
        if why:
            self.draft_refused.emit(why)
        for notice in event.notices:
            key = (event.identity, notice.message)
            if key not in self._noticed:
                self._noticed.add(key)
                self.noticed.emit(notice.sentence)

    def _be_ready(self, good: _Good) -> None:
        _log.info("A model is ready")
        self._good = good
        self.name, self.draft, self.info = good.name, good.draft, good.info
        self.thinking_option = good.info.thinking_option
        self._refused.pop(good.name, None)
        self.state, self.fraction = "ready", 1.0
        self.changed.emit()

    def _on_load_failed(self, event: Failed) -> None:
        bits = self._cache_options().kv_bits
        good = self._good
        self._awaits_key = False
        self._refused[self.name] = event.sentence
        if event.kind == "cancelled":
            self._on_load_cancelled(event)
        elif bits is not None and event.kind == "bad_request" and "`cache.kv_bits`" in event.message:
            self.is_precision_refused = True
            self.precision_refused.emit(bits)
            self._load(self.name, self.draft)
        elif good is not None and good.name == self.name and good.draft != self.draft:
            # Only the draft model was to change.
            self._go_on_with(good.draft, event)
        elif self.draft:
            # Load the model alone to find out which of the two is at fault.
            self._go_on_with("", event)
        elif good is None or good.name == self.name:
            self._fail(event.sentence)
        elif event.still_loaded:
            self._be_ready(good)
            self.load_failed.emit(event.sentence)
        else:
            self._fail(Sentence("{error} The previous model is being loaded again.", error=event.sentence))
            self.load(good.name, draft=good.draft)

    def _on_load_cancelled(self, event: Failed) -> None:
        good, self._why_not_drafted = self._good, None
        if good is not None and event.still_loaded:
            self._be_ready(good)
        elif good is not None:
            self.name, self.draft = good.name, good.draft
            self._be_unloaded()
        else:
            self._be_unloaded()

    def _be_unloaded(self) -> None:
        self.state, self.fraction, self.info = "unloaded", 0.0, None
        self._remove_now()
        self.changed.emit()
        self._set_kept(None)

    def _go_on_with(self, draft: str, event: Failed) -> None:
        """Return to the previous state, or load the model again, with `draft` instead of the refused draft model."""
        good = self._good
        if event.still_loaded and good is not None and (good.name, good.draft) == (self.name, draft):
            self._be_ready(good)
            self.draft_refused.emit(event.sentence)
        else:
            self._why_not_drafted = event.sentence
            self._load(self.name, draft)

    def _on_exit(self, exit_code: int) -> None:
        why_ended, self._why_ended = self._why_ended, None
        if why_ended is not None:
            self.state = "loading"
            self.worker_died.emit(why_ended)
            self._load(self.name, self.draft)
            return
        if self.state == "unloaded":
            # Nothing is lost; `wake` starts a fresh worker.
            return
        how = death_reason(exit_code)
        if self._link.last_end is not None:
            versions = {} if self.info is None else self.info.versions
            self.last_crash = Crash(how, self._link.last_end, self.name, self.draft, versions)
        self._num_deaths += 1
        if self._num_deaths >= self._max_deaths and self.draft:
            # Two models need more memory than one.
            self._why_not_drafted = Sentence(
                "The model process stopped {num_times} times in a row with the draft model “{draft_model}” "
                "({how}). It now runs without a draft model.",
                num_times=self._max_deaths,
                draft_model=self.draft,
                how=how,
            )
            self._num_deaths, self.draft = 0, ""
        gives_up = self._num_deaths >= self._max_deaths
        self.state = "failed" if gives_up else "loading"
        self.worker_died.emit(Sentence("The model process stopped unexpectedly ({how}).", how=how))
        if gives_up:
            self._fail(
                Sentence(
                    "The model process stopped {num_times} times in a row with the model “{model}” ({how}). "
                    "Your conversations are safe. Choose another model, or ask the guide (Help → Ask the guide).",
                    num_times=self._max_deaths,
                    model=self.name,
                    how=how,
                )
            )
        else:
            self._load(self.name, self.draft)

    def _remove_now(self) -> None:
        remove, self._remove = self._remove, None
        if remove is not None:
            remove()

    def _fail(self, why: Sentence) -> None:
        self.state = "failed"
        self._refused.setdefault(self.name, why)
        self._remove_now()
        self.changed.emit()
        self.load_failed.emit(why)


def how_confined(confinement: Confinement) -> Sentence:
    """Return a sentence that says how the worker's process is confined, or why it is not."""
    match confinement.network, confinement.files, confinement.why_not:
        case True, True, _:
            return Sentence("The model's process can't reach the network, and writes files only in its own folder.")
        case True, False, "hooks":
            return Sentence("The model's process can't reach the network. It can write files, because a hook needs it.")
        case True, False, _:
            return Sentence(
                "The model's process can't reach the network. It can write files, because this system can't prevent it."
            )
        case False, True, "hooks":
            return Sentence(
                "The model's process writes files only in its own folder. "
                "It can use the network, because a hook needs it."
            )
        case False, True, _:
            return Sentence(
                "The model's process writes files only in its own folder. "
                "It can use the network, because this system can't prevent it."
            )
        case _, _, "switched_off":
            return Sentence("The model's process is not confined, because BOUGH_CONFINEMENT is off.")
        case _, _, "gpu":
            return Sentence(
                "The model's process is not confined, because that has not been tried with a GPU. "
                "To confine it, set BOUGH_CONFINEMENT=on."
            )
        case _, _, "hooks":
            return Sentence("The model's process is not confined, because hooks need the network and files.")
        case _:
            return Sentence("The model's process is not confined, because this system can't do that.")


def how_weights_lie(weights: WeightForm) -> Sentence | None:
    """Return a sentence about the form of a model's weights in memory; None if it is the form on disk."""
    match weights.form:
        case "stored":
            return None
        case "unpacked":
            return Sentence(
                "Its quantized weights are unpacked in memory, because a CPU computes several times faster with them."
            )
        case "packed":
            return Sentence(
                "Its weights stay quantized, which is slower on a CPU. Unpacked, they would need {needed_bytes} of "
                "memory, but only {free_bytes} was free.",
                needed_bytes=weights.needed_bytes,
                free_bytes=weights.free_bytes,
            )
