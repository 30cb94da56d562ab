"""The state that all windows share: conversations, running answers, the model and the settings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject, Signal

from app.answers.answers import Answers
from app.answers.idle_unloading import IdleUnloading
from app.answers.model_session import ModelSession
from app.answers.sessions import GUIDE, Sessions
from app.answers.worker_watch import WorkerWatch
from app.catalog.chat_templates import ChatTemplates
from app.conversations import Conversations
from app.lazy import Lazy
from app.model import endpoints
from app.model.cache_folder import CacheFolder
from app.model.endpoints import EndpointModel
from app.model.generation_settings import GenerationSettings, Preset
from app.model.message import Overflow
from app.model.own_files import RETRY_MS
from app.model.settings import CacheSettings, Settings, Theme
from app.model.store import Store
from app.model.text import clean
from app.model_notices import ModelNotices
from app.model_supply import ModelSupply
from app.notices import (
    ChatWith,
    FreeMemory,
    LoadAnyway,
    Notice,
    Notices,
)
from app.preferences import Preferences
from app.projects import Projects
from app.settings_of_models import SettingsOfModels
from worker.protocol import Failed
from worker.sentence import Sentence, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from app.archive.archive import Archive
    from app.care.crash_reports import CrashReports
    from app.draft_models import DraftModels
    from app.local_api import LocalApi
    from app.release_news import ReleaseNews
    from app.serving.messages import ServedModel
    from app.supply.load_check import Refused
    from worker.protocol import Endpoint, Event, Secret


_MAX_OFFERED = 8
"""Menus list at most this many models of one server. The Models window lists all of them."""


class Program(QObject):
    """Changes the state that all windows share, and reports problems as notices."""

    settings_changed = Signal()
    window_requested = Signal(object)
    """The user wants a new window: the id of its conversation, or None for an empty page."""
    quit_requested = Signal()
    local_api_made = Signal(object)
    """The `LocalApi` was created."""
    empty_start_requested = Signal()
    """The program should start again with an empty store, which replaces the missing one."""
    _set_aside_found = Signal(object)
    """A `Sentence` for `report_set_aside`, emitted in any thread."""
    restore_requested = Signal(object)
    """All conversations should be replaced by this backup file."""

    def __init__(
        self,
        *,
        store: Store,
        answers: Answers,
        sessions: Sessions,
        preferences: Preferences,
        cache_folder: CacheFolder,
        models_folder: Path,
        reports: CrashReports | None = None,
        retry_ms: int = RETRY_MS,
    ) -> None:
        """`models_folder` has Bough's own models. `reports` keeps reports of crashes; None: none are kept.

        `retry_ms` is the interval of saving drafts while that fails.
        """
        super().__init__()
        self.retry_ms = retry_ms
        self.store = store
        self.answers = answers
        self.sessions = sessions
        self.session = session = sessions.chosen
        """The session of the chosen model, which new conversations use."""
        self.preferences = preferences
        self.cache_folder = cache_folder
        self.models_folder = models_folder
        self.notices = Notices(lambda: store.num_changes)
        self.conversations = Conversations(
            store=store, answers=answers, forget=self._forget, cache_folder=cache_folder, notices=self.notices
        )
        self.projects = Projects(store, self.notices, self.report_set_aside)
        self.projects.changed.connect(self.conversations.changed)
        self.worker_watches = [WorkerWatch(watched, answers) for watched in sessions.all]
        self._archive = Lazy(self._make_archive)
        self._local_api = Lazy(self._make_local_api)
        self._drafts = Lazy(self._make_drafts)
        self._release_news = Lazy(self._make_release_news)
        self.templates = ChatTemplates(models_folder.parent / "chat_templates", self._set_aside_found.emit)
        """The chat templates that the user chose for models without a template."""
        self._set_aside: dict[Sentence, None] = {}
        """The sentences about files and unsent texts that can't be used, oldest first."""
        self.of_models = SettingsOfModels(preferences, session)
        """The settings of each model."""
        self.of_models.forgotten.connect(self._on_forgotten)
        self.supply = ModelSupply(
            sessions=sessions,
            preferences=preferences,
            of_models=self.of_models,
            notices=self.notices,
            archive=self._archive,
            models_folder=models_folder,
            report=self._set_aside_found.emit,
        )
        self.supply.first_model_landed.connect(self._on_first_model)
        self.idle_unloading = IdleUnloading(session, answers, preferences.settings.unload_after_minutes)
        answers.refusal_of = self.why_not_load
        answers.next_model_known.connect(self.supply.check_next)
        self.supply.next_checked.connect(self._on_next_checked)
        answers.saving.failed.connect(self.report_unsaved)
        answers.saving.saved_again.connect(self.report_saved)
        self._model_notices = ModelNotices(
            sessions, answers, self.notices, self.worker_watches, self.templates, self.of_models, reports
        )
        session.changed.connect(self._on_session_changed)
        for one in (session, sessions.remote):
            one.endpoint_of = self._endpoint_of
            one.read_key = self._read_key
            one.prices_of = self._prices_of
            one.changed.connect(partial(self._keep_abilities, one))
            one.received.connect(partial(self._forget_if_outdated, one))
        sessions.capabilities_of = self._capabilities_of
        for one in (session, sessions.ahead):
            one.draft_of = self._draft_of
            if not preferences.is_safe:
                one.template_of = self.templates.of
            one.kv_bits_of = self.of_models.kv_bits_of
        self._set_aside_found.connect(self.report_set_aside)
        preferences.changed.connect(self.settings_changed)
        preferences.not_saved.connect(self._on_settings_not_saved)
        preferences.saved_again.connect(partial(self.notices.end, "settings"))

    @property
    def archive(self) -> Archive:
        return self._archive.get()

    def _make_archive(self) -> Archive:
        from app.archive.archive import Archive

        return Archive(self.store.path)

    @property
    def local_api(self) -> LocalApi:
        """The local API, through which other programs use the model if the user switches it on."""
        return self._local_api.get()

    @property
    def made_local_api(self) -> LocalApi | None:
        """The local API; None if it has not been created yet."""
        return self._local_api.made

    def _make_local_api(self) -> LocalApi:
        from app.local_api import LocalApi

        api = LocalApi(
            self.session,
            self.preferences,
            models=self._models_to_serve,
            load=self.answers.load,
            why_not_load=self.why_not_load,
            keep=self.conversations.keep_request,
            note=self.preferences.folder / "api-key-is-kept",
            turns=self.models_folder.parent / "served" / "turns.sqlite3",
            log=self.models_folder.parent / "served-requests.jsonl",
        )
        api.failed.connect(self._on_local_api_failed)
        api.set_aside.connect(self.report_set_aside)
        api.changed.connect(self._on_local_api_changed)
        api.served_changed.connect(self.idle_unloading.begin)
        self.idle_unloading.is_serving = lambda: bool(api.served)
        self.local_api_made.emit(api)
        return api

    def _models_to_serve(self) -> Sequence[ServedModel]:
        """Return the models on this machine. Called in threads."""
        from app.catalog.on_disk import find_models
        from app.catalog.places_of_models import usual_roots
        from app.serving.model_names import served_models

        added = [Path(name) for name in self.settings.model_folders]
        return served_models(find_models(usual_roots(self.models_folder, added)))

    def _on_local_api_failed(self, why: Sentence) -> None:
        self.notices.post(Notice(why, "warning", cause="local_api"))

    def _on_local_api_changed(self) -> None:
        if self.local_api.state in {"on", "off"}:
            self.notices.end("local_api")

    def start_local_api(self) -> None:
        """Switch on the local API if it was on at the end of the last start."""
        if self.settings.local_api.is_on:
            self.local_api.start()

    def stop_local_api(self) -> None:
        """Stop the local API until the next start, because the worker is about to end."""
        if self._local_api.made is not None:
            self._local_api.made.close()

    @property
    def drafts(self) -> DraftModels:
        return self._drafts.get()

    def _make_drafts(self) -> DraftModels:
        from app.draft_models import DraftModels

        return DraftModels(self.session, self.preferences, self.archive.run)

    def _on_first_model(self, name: str) -> None:
        if self.session.name == GUIDE:
            self.load_model(name)
        else:
            self.notices.post(Notice(Sentence("{model} can be used now.", model=name), action=ChatWith(name)))

    @property
    def release_news(self) -> ReleaseNews:
        """The news of releases, for which Bough asks only if the user wants that."""
        return self._release_news.get()

    def begin_release_news(self) -> None:
        """Ask for news of releases if the user wants that and it is time."""
        # Most starts ask for nothing, and need none of its imports.
        if self.settings.asks_for_releases:
            self._release_news.get()

    def _make_release_news(self) -> ReleaseNews:
        from app.care.releases import feed_address
        from app.release_news import ReleaseNews

        return ReleaseNews(self.preferences, self.notices, feed_address())

    def close(self) -> None:
        """End background work."""
        self.conversations.keep_all()
        self.supply.close()
        if self._archive.made is not None:
            self._archive.made.close()

    @property
    def settings(self) -> Settings:
        return self.preferences.settings

    # --- the model -----------------------------------------------------------------------------------------

    def load_model(self, name: str, *, anyway: bool = False) -> None:
        """Load another model once the running answers have ended. New conversations will use it.

        Unless `anyway`, a model that does not fit into the free memory is not loaded, and a notice says so.
        """
        self.notices.end("model")
        name = clean(name)
        if anyway:
            self.supply.allow(name)
        refused = self.supply.refusal(name)
        if refused is None:
            self.answers.load(name)
        else:
            self._report_not_loaded(name, refused)

    def _report_not_loaded(self, name: str, refused: Refused) -> None:
        action = FreeMemory(name) if refused.can_be_freed else LoadAnyway(name)
        self.notices.post(Notice(refused.why, "danger", action=action, cause="model"))

    def why_not_load(self, name: str) -> Sentence | None:
        """Return why a model should not be loaded for an answer; None if it can be loaded."""
        if EndpointModel.parse(name) is not None and not self.host_of(name):
            return Sentence(
                "The server of “{model}” was removed from Bough. Add it again in the Models window, or choose another "
                "model.",
                model=endpoints.shown_name(name),
            )
        refused = self.supply.refusal(name)
        return None if refused is None else refused.why

    def _endpoint_of(self, name: str) -> Endpoint | None:
        """Return the server of a model; None for a model of this machine, or if its server was removed."""
        return None if EndpointModel.parse(name) is None else self.supply.endpoints.of(name)

    def _read_key(self, name: str, then: Callable[[Secret | Sentence | None], None]) -> None:
        self.supply.endpoints.read_key(name, then)

    def _prices_of(self, name: str) -> endpoints.Prices | None:
        found = endpoints.find(self.settings.endpoints, name)
        return None if found is None else found[0].prices

    def host_of(self, name: str) -> str:
        """Return the host that gets the messages for a model; empty for a model of this machine."""
        return "" if EndpointModel.parse(name) is None else self.supply.endpoints.host_of(name)

    def hosts_of(self, names: Iterable[str]) -> list[str]:
        """Return the hosts that get the messages for some models, each once; empty if all are of this machine."""
        return [host for host in dict.fromkeys(map(self.host_of, names)) if host]

    def _capabilities_of(self, name: str) -> Collection[str] | None:
        return endpoints.capabilities_of(self.settings.endpoints, name)

    def _keep_abilities(self, session: ModelSession) -> None:
        """Remember what the loaded model of a server can do, for the time when it is not loaded."""
        if session.info is None or session.info.capabilities is None:
            return
        server = session.info.server
        facts = None if server is None else msgspec.convert(server, endpoints.Facts, from_attributes=True)
        kept = endpoints.with_abilities(self.settings.endpoints, session.name, session.info.capabilities, facts)
        if kept != self.settings.endpoints:
            self.preferences.change(endpoints=kept)

    def _forget_if_outdated(self, session: ModelSession, event: Event) -> None:
        """Find out again what a model of a server can do, after the server refused what it could do before."""
        if isinstance(event, Failed) and event.is_outdated:
            self.preferences.change(endpoints=endpoints.without_facts(self.settings.endpoints, session.name))
            session.reload()

    def remove_endpoint(self, endpoint: endpoints.Endpoint) -> None:
        """Forget a server, its key and its models. Its running answers end with their text so far."""
        for name in endpoint.model_names:
            self.leave_model(name)
            self.forget_model(name)
        self.supply.endpoints.remove(endpoint)

    def _on_next_checked(self, name: str, fits: bool) -> None:
        if fits:
            self.answers.load_next(name)

    def choose_template(self, name: str, *, is_plain: bool) -> None:
        """Use a plain chat template for a model that has none, or stop using it. A loaded model is loaded again.

        The folder of the model is not changed.
        """
        try:
            if is_plain:
                self.templates.use_plain(name)
            else:
                self.templates.use_none(name)
        except OSError as error:
            self.notices.post(
                Notice(
                    Sentence(
                        "{file} could not be written ({error}), so the model still has no template. Check that you "
                        "may write to this folder, then try again.",
                        file=error.filename or self.templates.folder,
                        error=error.strerror or error,
                    ),
                    "warning",
                )
            )
        else:
            self._model_notices.end_offer_of_template(name)
            if self.session.name == name and self.session.state != "unloaded":
                self.load_model(name, anyway=True)

    def unload_model(self) -> None:
        """Free the memory of the model. Its answers are stopped; the next question loads it again."""
        for session in (self.session, self.sessions.ahead):
            self.answers.stop_session(session)
            session.unload()

    def leave_model(self, name: str) -> None:
        """Unload a model that will be deleted. If it is being loaded, stop loading it."""
        if self.session.name == name:
            self.session.cancel_load()
            self.unload_model()
        for session in (self.sessions.ahead, self.sessions.remote):
            if session.name == name:
                self.answers.stop_session(session)
                session.end()

    def forget_model(self, name: str) -> None:
        """Remove a deleted model from the offered models. If it would be loaded next, choose another one."""
        without = self.settings.without_model(name)
        self.preferences.change(
            model=without.model,
            recent_models=without.recent_models,
            draft_models=without.draft_models,
            recent_drafts=without.recent_drafts,
        )
        if self.session.name == name:
            self.session.replace_unloaded(self._first_model, self._draft_of(self._first_model))

    def load_last_model(self) -> None:
        """Load the last model again, with its draft model. If it does not fit into memory now, post a notice."""
        from app.supply.load_check import is_small

        name = self._first_model
        # The check takes a tenth of a second, so it is left out for models that certainly fit.
        refused = None if name == GUIDE or is_small(name) else self.supply.refusal(name)
        if refused is None:
            self.session.load(name, self.settings.cache_settings, self._draft_of(name))
        else:
            self.session.expect(name, self._draft_of(name))
            self._report_not_loaded(name, refused)

    def expect_last_model(self) -> None:
        """Let windows show the name of the last model before it is loaded."""
        name = self._first_model
        self.session.expect(name, self._draft_of(name))
        # The user may choose a model before this one is loaded.
        self.session.cache_settings = self.settings.cache_settings

    @property
    def model_to_chat_with(self) -> str:
        """The name of the loaded model; in place of the guide the name of the starter, if there is one."""
        return self.supply.starter or GUIDE if self.session.name == GUIDE else self.session.name

    @property
    def offered_models(self) -> tuple[str, ...]:
        """The models to choose from: the guide, the starter, and models that were loaded before, the latest first."""
        remote = (name for endpoint in self.settings.endpoints for name in endpoint.model_names[:_MAX_OFFERED])
        found = (GUIDE, self.supply.starter, *self.settings.recent_models, *remote)
        return tuple(dict.fromkeys(name for name in found if name))

    @property
    def _first_model(self) -> str:
        """The model to load at the start: the one that was loaded last, but the starter in place of the guide."""
        last = self.settings.model
        return self.supply.starter or last if last == GUIDE else last

    def _draft_of(self, name: str) -> str:
        return self.settings.draft_models.get(name, "")

    def set_draft_model(self, name: str) -> None:
        """Change the draft model of the chosen model once no answer is running. An empty `name` means none."""
        awaited = self.answers.awaited_model
        if awaited is None:
            self.session.set_draft(clean(name))
        else:
            # The session still has the model before it.
            self.of_models.set_draft(awaited, clean(name))

    def set_cache_settings(self, cache_settings: CacheSettings) -> None:
        """Change the settings of the cache. This loads the model again once no answer is running."""
        self.preferences.change(cache_settings=cache_settings)
        for session in self.sessions.all:
            session.set_cache_settings(cache_settings)

    def empty_cache_folder(self) -> None:
        """Remove the cache of all models from the disk and post a notice."""
        self._forget(self._empty_cache_folder)

    def _forget(self, remove: Callable[[], None]) -> None:
        """Clear the cache in memory, and call `remove` while no worker uses files on disk."""
        for session in self.sessions.all:
            remove = partial(session.forget, remove)
        remove()

    def _empty_cache_folder(self) -> None:
        emptied = self.cache_folder.empty()
        if emptied.num_left:
            text = Sentence(
                "{freed_bytes} of the cache was removed from the disk, but {num_files} files in {folder} could not be "
                "removed ({error}). Check that you may write to this folder, then try again.",
                freed_bytes=emptied.num_bytes,
                num_files=emptied.num_left,
                folder=self.cache_folder.folder,
                error=emptied.why,
            )
            self.notices.post(Notice(text, "warning"))
        else:
            self.notices.post(
                Notice(
                    Sentence(
                        "{freed_bytes} of the cache was removed from the disk. Your conversations are safe. "
                        "Models read them again when needed.",
                        freed_bytes=emptied.num_bytes,
                    )
                )
            )

    def set_unload_after(self, minutes: int) -> None:
        """Change after how many minutes without an answer the model is unloaded; 0 means never."""
        self.preferences.change(unload_after_minutes=minutes)
        self.idle_unloading.set_minutes(minutes)

    def add_model_folder(self, folder: Path) -> None:
        """Add a folder to those that are searched for models."""
        folders = dict.fromkeys((*self.settings.model_folders, clean(str(folder))))
        self._set_model_folders(tuple(folders))

    def remove_model_folder(self, folder: str) -> None:
        """Stop searching a folder for models. The files in it are kept."""
        self._set_model_folders(tuple(name for name in self.settings.model_folders if name != folder))

    def _set_model_folders(self, folders: tuple[str, ...]) -> None:
        self.preferences.change(model_folders=folders)
        self.supply.local_models.look()

    # --- the settings --------------------------------------------------------------------------------------

    def set_default_generation(self, generation: GenerationSettings) -> None:
        """Change the generation settings of conversations that have none of their own."""
        self.preferences.change(generation=generation.cleaned)

    def set_presets(self, presets: tuple[Preset, ...]) -> None:
        """Replace the user's presets."""
        cleaned = [msgspec.structs.replace(preset, generation=preset.generation.cleaned) for preset in presets]
        self.preferences.change(presets=tuple(cleaned))

    def set_overflow(self, overflow: Overflow) -> None:
        """Change what happens if a conversation is longer than the model's context."""
        self.preferences.change(overflow=overflow)

    def set_theme(self, theme: Theme) -> None:
        self.preferences.change(theme=theme)

    def set_sidebar_visible(self, visible: bool) -> None:
        self.preferences.change(sidebar_visible=visible)

    def set_tree_visible(self, visible: bool) -> None:
        self.preferences.change(tree_visible=visible)

    # --- events --------------------------------------------------------------------------------------------

    def _on_session_changed(self) -> None:
        if self.session.state != "ready":
            return

        # The next start loads a model that has loaded before.
        self.of_models.keep_loaded()
        self.supply.suggest_model()

    def restart_worker(self, session: ModelSession | None = None) -> None:
        """End a worker, and load its model in a new one. Its running answers end with their text so far.

        A `session` of None means the worker of the chosen model.
        """
        (session or self.session).restart(Sentence("You restarted the model process."))

    def report_unsaved(self, why: Sentence) -> None:
        """Show a notice that some text is not saved, until `report_saved` is called."""
        text = Sentence("{why} New text stays on the screen and is saved as soon as possible.", why=why)
        self.notices.post(Notice(text, "danger", cause="saving"))

    def report_set_aside(self, what: Sentence) -> None:
        """Post a notice that a file or an unsent text can't be used, and where it is kept."""
        self._set_aside[what] = None
        self.notices.post(Notice(joined(self._set_aside, "\n"), "warning", cause="drafts"))

    def report_saved(self) -> None:
        """End the notices about failed writes, because the store can be written. Say so if all text is saved again."""
        self.notices.end("writing")
        if not self.answers.saving.has_unsaved and self.notices.end("saving"):
            self.notices.post(Notice(Sentence("Everything is saved again.")))

    def _on_forgotten(self, what: Sentence) -> None:
        self.notices.post(Notice(what, "warning"))

    def _on_settings_not_saved(self, why: Sentence) -> None:
        self.notices.post(Notice(why, "warning", cause="settings"))
