"""The models on this machine and on the hub, for all windows: finds, downloads, measures them, and checks memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal

from app.answers.sessions import GUIDE
from app.catalog.measured import Measurements
from app.catalog.starter import ON_HUB as STARTER_ON_HUB
from app.catalog.starter import find_starter
from app.lazy import Lazy
from app.model.endpoints import EndpointModel
from app.notices import Notice
from app.places import Places
from app.supply.measuring import Measuring

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.answers.model_session import ModelSession
    from app.answers.sessions import Sessions
    from app.archive.archive import Archive
    from app.catalog.download_queue import DownloadQueue
    from app.catalog.entry import Asked, Shortage
    from app.catalog.hub import Hub
    from app.notices import Notices
    from app.preferences import Preferences
    from app.settings_of_models import SettingsOfModels
    from app.supply.beside import Beside
    from app.supply.draft_choices import DraftChoices
    from app.supply.endpoints import Endpoints
    from app.supply.first_models import FirstModels
    from app.supply.fits import Fits
    from app.supply.hub_search import HubSearch
    from app.supply.load_check import LoadCheck, Refused
    from app.supply.local_models import LocalModels
    from app.supply.memory_check import MemoryCheck
    from app.supply.transfers import Transfers
    from app.transfer_notices import TransferNotices
    from worker.sentence import Sentence


class ModelSupply(QObject):
    """Creates each part when it is first needed. The owner must call `close`."""

    next_checked = Signal(str, bool)
    """The name of the model that answers next, and whether it fits into memory beside the one that answers now."""
    first_model_landed = Signal(str)
    """The model that the first page offered can be used now: its name for `load_model`."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        preferences: Preferences,
        of_models: SettingsOfModels,
        notices: Notices,
        archive: Lazy[Archive],
        models_folder: Path,
        report: Callable[[Sentence], None],
    ) -> None:
        """`archive` runs background tasks. `models_folder`: Bough's own models.

        `report` is called in any thread, with a sentence about a file that can't be used.
        """
        super().__init__()
        self._sessions = sessions
        self._session = sessions.chosen
        self._preferences = preferences
        self._of_models = of_models
        self._notices = notices
        self._archive = archive
        self._models_folder = models_folder
        self._report = report
        measured = None if preferences.is_safe else models_folder.parent / "measured.json"
        self.measurements = Measurements(measured, report)
        """The memory and the speeds of models on this machine."""
        self._measuring = Measuring(self._session, self.measurements)
        self._memory_check = Lazy(self._make_memory_check)
        self._load_check = Lazy(self._make_load_check)
        self._beside = Lazy(self._make_beside)
        self._draft_choices = Lazy(self._make_draft_choices)
        self._local_models = Lazy(self._make_local_models)
        self._endpoints = Lazy(self._make_endpoints)
        self._hub = Lazy(self._make_hub)
        self._hub_search = Lazy(self._make_hub_search)
        self._transfers = Lazy(self._make_transfers)
        self._transfer_notices: TransferNotices | None = None
        """Made with the transfers."""
        self._first_models = Lazy(self._make_first_models)
        self._fits = Lazy(self._make_fits)

    def close(self) -> None:
        """End background work."""
        self.measurements.close()
        if self._transfers.made is not None:
            self._transfers.made.close()

    # --- memory --------------------------------------------------------------------------------------------

    @property
    def memory_check(self) -> MemoryCheck:
        """Whether the next answer of the loaded model fits into memory."""
        return self._memory_check.get()

    def _make_memory_check(self) -> MemoryCheck:
        from app.supply.memory_check import MemoryCheck

        return MemoryCheck(self._session, self.measurements, self._of_models.kv_bits_of, self._archive.get().run)

    def shortage(self, model: str, asked: Asked) -> Shortage | None:
        """Return why answers of a model would not fit into memory; None if they fit, or if that is not known yet."""
        check = self._memory_check.made
        return None if check is None else check.shortage(model, asked)

    def _make_load_check(self) -> LoadCheck:
        from app.supply.load_check import LoadCheck

        return LoadCheck(self._sessions, self.measurements, self._of_models)

    def refusal(self, name: str) -> Refused | None:
        """Return why a model should not be loaded now; None if it fits, or if too little is known."""
        is_remote = EndpointModel.parse(name) is not None
        return None if name == GUIDE or is_remote else self._load_check.get().refusal(name)

    def check_next(self, name: str, session: ModelSession) -> None:
        """Find in the background whether a model fits beside the one that answers. `next_checked` is then emitted.

        `session` has the model whose place it would take.
        """
        self._beside.get().find(name, session)

    def _make_beside(self) -> Beside:
        from app.supply.beside import Beside

        beside = Beside(self._sessions, self.measurements, self._of_models, self._archive.get().run)
        beside.found.connect(self.next_checked)
        return beside

    def allow(self, name: str) -> None:
        """Load a model even if it seems too large, until Bough ends."""
        self._load_check.get().allow(name)

    @property
    def fits(self) -> Fits:
        """Which models fit into memory."""
        return self._fits.get()

    def _make_fits(self) -> Fits:
        from app.supply.fits import Fits

        return Fits(self._sessions, self.measurements, self._archive.get().run)

    def free_memory(self) -> None:
        """End the guide's idle process. It starts again when the guide is asked."""
        if self._sessions.is_guide_idle:
            self._sessions.guide.end()
        if self._fits.made is not None:
            self._fits.made.measure()

    # --- models on this machine ----------------------------------------------------------------------------

    @property
    def local_models(self) -> LocalModels:
        return self._local_models.get()

    def _make_local_models(self) -> LocalModels:
        from app.supply.local_models import LocalModels

        return LocalModels(self._models_folder, self._preferences, self._archive.get().run)

    @property
    def endpoints(self) -> Endpoints:
        """The servers that the user added."""
        return self._endpoints.get()

    def _make_endpoints(self) -> Endpoints:
        from app.supply.endpoints import Endpoints

        # A keyring may wait for the user, and a server for its model; the program ends without them.
        run = partial(self._archive.get().run, may_be_left=True)
        endpoints = Endpoints(self._preferences, run, self._preferences.folder)
        endpoints.replaced.connect(self._on_endpoint_replaced)
        endpoints.failed.connect(self._on_key_left)
        return endpoints

    def _on_key_left(self, why: Sentence) -> None:
        self._notices.post(Notice(why, "warning"))

    def _on_endpoint_replaced(self, endpoint_id: str) -> None:
        """Connect again to a server whose address or key has changed."""
        for session in (self._session, self._sessions.remote):
            model = EndpointModel.parse(session.name)
            if model is not None and model.endpoint_id == endpoint_id:
                session.reload()

    @property
    def draft_choices(self) -> DraftChoices:
        """The models that can serve as draft models for each model, to show on that model's page."""
        return self._draft_choices.get()

    def _make_draft_choices(self) -> DraftChoices:
        from app.supply.draft_choices import DraftChoices

        return DraftChoices(self._archive.get().run)

    @property
    def starter(self) -> str:
        """The name of the starter, a small real model; empty if it is not on this machine."""
        recent = self._preferences.settings.recent_models
        downloaded = STARTER_ON_HUB.repo if STARTER_ON_HUB.repo in recent else ""
        return str(find_starter(self._models_folder) or downloaded)

    # --- models on the hub, downloads and conversions ------------------------------------------------------

    def _make_hub(self) -> Hub:
        from app.catalog.hub import Hub

        return Hub(data=self._models_folder.parent)

    @property
    def hub_search(self) -> HubSearch:
        return self._hub_search.get()

    def _make_hub_search(self) -> HubSearch:
        from app.supply.hub_search import HubSearch

        return HubSearch(self._hub.get())

    @property
    def transfers(self) -> Transfers:
        """The downloads and conversions. The first use loads those of earlier starts, which are paused."""
        return self._transfers.get()

    def _make_transfers(self) -> Transfers:
        from app.catalog.download_queue import DownloadQueue
        from app.supply.transfers import Transfers
        from app.transfer_notices import TransferNotices

        places = Places.under(self._models_folder.parent)

        def make_queue(on_change: Callable[[], None]) -> DownloadQueue:
            is_new = self._preferences.is_safe
            return DownloadQueue(places, self._hub.get(), on_change, report=self._report, begins_empty=is_new)

        transfers = Transfers(make_queue)
        # Windows first note which model is complete, while its transfer is still in their lists.
        transfers.landed.connect(self.local_models.look, Qt.ConnectionType.QueuedConnection)
        self._transfer_notices = TransferNotices(transfers, self._notices, self._session, self._is_first_model)
        return transfers

    @property
    def running_transfers(self) -> list[str]:
        """The titles of models that are being downloaded or converted, or wait for this."""
        transfers = self._transfers.made
        return [] if transfers is None else [one.title for one in transfers.all if one.state in {"running", "queued"}]

    def report_interrupted_transfers(self) -> None:
        """Post a notice about the downloads and conversions that were interrupted when Bough ended."""
        if not self._preferences.is_safe and any((self._models_folder.parent / "fetching").glob("*/job.json")):
            self._transfers.get()

    def watch_transfers(self, window: QObject) -> None:
        """Post no notices about the end of downloads and conversions while this Models window exists."""
        self._transfers.get()
        if self._transfer_notices is not None:
            self._transfer_notices.watch(window)

    # --- the first page ------------------------------------------------------------------------------------

    @property
    def first_models(self) -> FirstModels:
        """The model that the first page offers to download."""
        return self._first_models.get()

    def _make_first_models(self) -> FirstModels:
        from app.supply.first_models import FirstModels

        first = FirstModels(lambda: self.transfers, lambda steps: self._archive.get().run(steps))
        first.landed.connect(self.first_model_landed)
        if not self.starter:
            first.suggest(STARTER_ON_HUB)
        return first

    def _is_first_model(self, key: str) -> bool:
        first = self._first_models.made
        return first is not None and first.is_downloading(key)

    def suggest_model(self) -> None:
        """Offer the best model that fits if the user has only the starter."""
        first, starter = self._first_models.made, self.starter
        others = set(self._preferences.settings.recent_models) - {starter}
        if first is not None and first.offer is None and starter == self._session.name and not others:
            info = self._session.info
            first.suggest_best(0 if info is None else info.weights_bytes)
