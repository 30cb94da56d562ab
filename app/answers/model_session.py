"""The model that is to be loaded, kept loaded, and what is kept of what it reads: through failures and deaths."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
from PySide6.QtCore import QObject, Signal

from app.answers.worker_link import WorkerLink, death_reason
from app.model.message import Record
from app.model.settings import Keeping
from worker.protocol import (
    CacheOptions,
    CacheStats,
    CacheStatsReport,
    Event,
    Failed,
    LoadModel,
    ModelLoaded,
    ModelLoading,
)
from worker.sentence import Sentence

ModelState: TypeAlias = Literal["loading", "ready", "failed"]

_MAX_DEATHS = 3
"""In a row, without a word of an answer in between; then a fresh worker would hardly live longer."""


@dataclass(frozen=True)
class _Good:
    """A model that loaded, its draft model, and what was told of it."""

    name: str
    draft: str
    info: ModelLoaded


class ModelSession(QObject):
    """Loads one model in the worker and starts a fresh worker with it whenever one dies."""

    changed = Signal()
    """The state, the progress or the model is another."""
    worker_died = Signal(object)
    """A worker died; a `Sentence` on how. The state is `loading` where a fresh one takes its place."""
    load_failed = Signal(object)
    """A model could not be loaded, or it kills every worker; why, and what to do."""
    draft_refused = Signal(object)
    """The draft model that was asked for does not guess; why."""
    precision_refused = Signal(int)
    """The model can't keep what it reads in so few bits; it is loaded without."""
    kept_changed = Signal()
    """What is kept is known, or no longer."""

    def __init__(self, link: WorkerLink) -> None:
        super().__init__()
        self._link = link
        self._request_ids = (f"load-{number}" for number in itertools.count(1))
        self._request_id = ""
        self._good: _Good | None = None
        """The last model that loaded."""
        self._why_not_drafted: Sentence | None = None
        """Why the draft model was left out with which a load failed: told once the model is there without."""
        self._num_deaths = 0
        self._stats_ids = (f"kept-{number}" for number in itertools.count(1))
        self._stats_id = ""
        self._remove: Callable[[], None] | None = None
        """To be called once a model is loaded that uses nothing on disk."""
        self.keeping = Keeping()
        """How what is read is kept by the model that was asked for last."""
        self.is_precision_refused = False
        """Whether that one can't do so in the bits that are asked for."""
        self.kept: CacheStatsReport | None = None
        """What was kept when that was last asked for; None where nobody knows."""
        self.name = ""
        self.draft = ""
        """The draft model that is asked for beside it; empty: none."""
        self.state: ModelState = "loading"
        self.fraction = 0.0
        self.stage = ""
        self.info: ModelLoaded | None = None
        self.thinking_option: str | None = None
        """By which name its chat template is told to think; known, too, while a model is loaded again."""
        link.received.connect(self._on_event)
        link.exited.connect(self._on_exit)

    @property
    def link(self) -> WorkerLink:
        """For questions about the model that is loaded."""
        return self._link

    def expect(self, name: str, draft: str) -> None:
        """Say which model will be loaded first: so windows show it, though there is no worker yet."""
        self.name, self.draft, self.stage = name, draft, "starting"

    def load(self, name: str, keeping: Keeping | None = None, draft: str = "") -> None:
        """Load a model instead of the present one, with a draft model; starts a worker where there is none."""
        self._num_deaths = 0
        self._why_not_drafted = None
        self.is_precision_refused = False
        if keeping is not None:
            self.keeping = keeping
        self._load(name, draft)

    def guess_with(self, draft: str) -> None:
        """Have another draft model guess, or none, behind the answers under way. What the model has read is kept."""
        if draft != self.draft:
            self._num_deaths, self._why_not_drafted = 0, None
            self._load(self.name, draft)

    def keep(self, keeping: Keeping) -> None:
        """Keep what is read in another way. The model is loaded anew for that, behind the answers under way."""
        if keeping != self.keeping:
            self.load(self.name, keeping, self.draft)

    def forget(self, remove: Callable[[], None]) -> None:
        """Call `remove` once this worker uses nothing of what is on disk, and forget what is kept in memory, too.

        For that the model is loaded twice: between the two, questions are answered all the same.
        """
        if self.state == "failed" or self.keeping.disk_limit_bytes == 0:
            remove()
            return
        self._remove = remove
        self._load(self.name, self.draft)

    def ask_what_is_kept(self) -> None:
        """Ask the worker; `kept_changed` tells when `kept` is the answer."""
        self._stats_id = next(self._stats_ids)
        if not self._link.send(CacheStats(request_id=self._stats_id)):
            self._set_kept(None)

    @property
    def kv_bits(self) -> int | None:
        """In how many bits the model keeps what it has read; None: as it computes."""
        return self._cache_options().kv_bits

    def signed(self, record: Record) -> Record:
        """Return the record of an answer that this model is to write. One that still loads is known by its name.

        The seed is drawn here: an answer that is cut by a death has one, too.
        """
        identity, versions = ("", {}) if self.info is None else (self.info.identity, self.info.versions)
        asked = record.sampling.seed
        return msgspec.structs.replace(
            record,
            model=self.name,
            model_identity=identity,
            versions=versions,
            kv_bits=self.kv_bits,
            seed=int.from_bytes(os.urandom(4), "big") if asked is None else asked,
        )

    def _set_kept(self, kept: CacheStatsReport | None) -> None:
        self.kept = kept
        self.kept_changed.emit()

    def _load(self, name: str, draft: str) -> None:
        if name != self.name:
            self.thinking_option = None
        self.name, self.draft = name, draft
        self.state, self.fraction, self.stage, self.info = "loading", 0.0, "starting", None
        self._request_id = next(self._request_ids)
        try:
            if not self._link.is_started:
                self._link.start()
        except OSError as error:
            self._fail(
                Sentence(
                    "The model process could not be started ({error}). Your conversations are safe. "
                    "Close other programs, then choose the model again.",
                    error=error.strerror,
                )
            )
            return
        self._link.send(
            LoadModel(request_id=self._request_id, model=name, draft_model=draft or None, cache=self._cache_options())
        )
        self.changed.emit()
        self._set_kept(None)

    def _cache_options(self) -> CacheOptions:
        return CacheOptions(
            limit_bytes=self.keeping.limit_bytes,
            disk_limit_bytes=0 if self._remove is not None else self.keeping.disk_limit_bytes,
            kv_bits=None if self.is_precision_refused else self.keeping.kv_bits,
        )

    def _on_event(self, event: Event) -> None:
        if event.request_id == self._stats_id:
            self._set_kept(event if isinstance(event, CacheStatsReport) else None)
            return
        if event.request_id != self._request_id:
            # Of an answer: this worker is of use.
            self._num_deaths = 0
            return
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

    def _be_ready(self, good: _Good) -> None:
        self._good = good
        self.name, self.draft, self.info = good.name, good.draft, good.info
        self.thinking_option = good.info.thinking_option
        self.state, self.fraction = "ready", 1.0
        self.changed.emit()

    def _on_load_failed(self, event: Failed) -> None:
        bits = self._cache_options().kv_bits
        good = self._good
        if bits is not None and event.kind == "bad_request" and "`cache.kv_bits`" in event.message:
            self.is_precision_refused = True
            self.precision_refused.emit(bits)
            self._load(self.name, self.draft)
        elif good is not None and good.name == self.name and good.draft != self.draft:
            # The draft model alone was to be another.
            self._go_on_with(good.draft, event)
        elif self.draft:
            # Which of the two is at fault shows when the model is loaded alone.
            self._go_on_with("", event)
        elif good is None or good.name == self.name:
            self._fail(event.sentence)
        elif event.still_loaded:
            self._be_ready(good)
            self.load_failed.emit(event.sentence)
        else:
            self._fail(Sentence("{error} The previous model is being loaded again.", error=event.sentence))
            self.load(good.name, draft=good.draft)

    def _go_on_with(self, draft: str, event: Failed) -> None:
        """Be as before, or load the model anew, with another draft model than the one that was refused."""
        good = self._good
        if event.still_loaded and good is not None and (good.name, good.draft) == (self.name, draft):
            self._be_ready(good)
            self.draft_refused.emit(event.sentence)
        else:
            self._why_not_drafted = event.sentence
            self._load(self.name, draft)

    def _on_exit(self, exit_code: int) -> None:
        how = death_reason(exit_code)
        self._num_deaths += 1
        if self._num_deaths >= _MAX_DEATHS and self.draft:
            # Two models need more memory than one.
            self._why_not_drafted = Sentence(
                "The model process stopped {num_times} times in a row with the draft model “{draft_model}” "
                "({how}). It now runs without a draft model.",
                num_times=_MAX_DEATHS,
                draft_model=self.draft,
                how=how,
            )
            self._num_deaths, self.draft = 0, ""
        gives_up = self._num_deaths >= _MAX_DEATHS
        self.state = "failed" if gives_up else "loading"
        self.worker_died.emit(how)
        if gives_up:
            self._fail(
                Sentence(
                    "The model process stopped {num_times} times in a row with the model “{model}” ({how}). "
                    "Your conversations are safe. Choose another model, or Models → Guide.",
                    num_times=_MAX_DEATHS,
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
        self._remove_now()
        self.changed.emit()
        self.load_failed.emit(why)
