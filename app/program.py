"""What all windows share: conversations, answers on their way, the model, the settings; it knows no window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject, Signal

from app.answers.answers import Answers
from app.answers.model_session import ModelSession
from app.conversations import Conversations
from app.lazy import Lazy
from app.model.generation_settings import GenerationSettings, Preset
from app.model.kept_files import KeptFiles
from app.model.message import Overflow
from app.model.settings import Keeping, Settings, Theme
from app.model.store import Store
from app.model.text import clean
from app.notices import LoadGuide, Notice, Notices, OpenMemorySettings
from app.preferences import Preferences
from worker.sentence import Sentence

if TYPE_CHECKING:
    from app.archive.archive import Archive
    from app.draft_models import DraftModels


class Program(QObject):
    """Changes what holds for every conversation, and tells what happens to all of them."""

    settings_changed = Signal()
    window_asked = Signal(object)
    """Another window is to be opened, for a conversation's number or (None) an empty page."""
    quit_asked = Signal()
    restore_asked = Signal(object)
    """The file of a backup is to take the place of all conversations."""

    def __init__(
        self, store: Store, answers: Answers, session: ModelSession, preferences: Preferences, kept_files: KeptFiles
    ) -> None:
        super().__init__()
        self.store = store
        self.answers = answers
        self.session = session
        self.preferences = preferences
        self.kept_files = kept_files
        self.notices = Notices()
        self.conversations = Conversations(store, answers, session, kept_files, self.notices)
        self._archive = Lazy(self._make_archive)
        self._drafts = Lazy(self._make_drafts)
        answers.saving_failed.connect(self._on_saving_failed)
        answers.saved_again.connect(self._on_saved_again)
        session.changed.connect(self._on_session_changed)
        session.worker_died.connect(self._on_worker_died)
        session.load_failed.connect(self._on_load_failed)
        session.draft_refused.connect(self._on_draft_refused)
        session.precision_refused.connect(self._on_precision_refused)
        preferences.changed.connect(self.settings_changed)
        preferences.not_saved.connect(self._on_settings_not_saved)

    @property
    def archive(self) -> Archive:
        return self._archive.get()

    def _make_archive(self) -> Archive:
        from app.archive.archive import Archive

        return Archive(self.store.path)

    @property
    def drafts(self) -> DraftModels:
        return self._drafts.get()

    def _make_drafts(self) -> DraftModels:
        from app.draft_models import DraftModels

        return DraftModels(self.session, self.preferences, self.archive.run)

    def close(self) -> None:
        """End what is under way beside the windows."""
        if self._archive.made is not None:
            self._archive.made.close()

    @property
    def settings(self) -> Settings:
        return self.preferences.settings

    # --- the model -----------------------------------------------------------------------------------------

    def load_model(self, name: str) -> None:
        """Load another model; answers that stream are stopped, what is there of them stays."""
        self.answers.stop_all()
        name = clean(name)
        self.session.load(name, draft=self.settings.draft_models.get(name, ""))

    def load_last_model(self) -> None:
        """Load the model that loaded last, with the one that guessed for it."""
        self.session.load(self.settings.model, self.settings.keeping, self._last_draft)

    def expect_last_model(self) -> None:
        """Let windows show that it will be loaded, before anything is."""
        self.session.expect(self.settings.model, self._last_draft)

    @property
    def _last_draft(self) -> str:
        return self.settings.draft_models.get(self.settings.model, "")

    def set_draft_model(self, name: str) -> None:
        """Have another model guess for the present one, or (empty) none, once no answer streams."""
        self.session.guess_with(clean(name))

    def set_keeping(self, keeping: Keeping) -> None:
        """Keep what models read in another way; the model is loaded anew for that, once no answer streams."""
        self.preferences.change(keeping=keeping)
        self.session.keep(keeping)

    def empty_kept_files(self) -> None:
        """Remove from disk what models have read; a notice tells what came of it."""
        self.session.forget(self._empty_kept_files)

    def _empty_kept_files(self) -> None:
        emptied = self.kept_files.empty()
        if emptied.num_left:
            text = Sentence(
                "{freed_bytes} of the cache was removed from the disk, but {num_files} files in {folder} could not be "
                "removed ({error}). Check that you may write to this folder, then try again.",
                freed_bytes=emptied.num_bytes,
                num_files=emptied.num_left,
                folder=self.kept_files.folder,
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

    # --- the settings --------------------------------------------------------------------------------------

    def set_default_generation(self, generation: GenerationSettings) -> None:
        """Say how conversations ask that say nothing else."""
        self.preferences.change(generation=generation.cleaned)

    def set_presets(self, presets: tuple[Preset, ...]) -> None:
        """Keep these as the person's own."""
        cleaned = [msgspec.structs.replace(preset, generation=preset.generation.cleaned) for preset in presets]
        self.preferences.change(presets=tuple(cleaned))

    def set_overflow(self, overflow: Overflow) -> None:
        """Say what the next answers do where their conversation is longer than the model's context."""
        self.preferences.change(overflow=overflow)

    def set_theme(self, theme: Theme) -> None:
        self.preferences.change(theme=theme)

    def set_sidebar_visible(self, visible: bool) -> None:
        self.preferences.change(sidebar_visible=visible)

    def set_tree_visible(self, visible: bool) -> None:
        self.preferences.change(tree_visible=visible)

    # --- what happens --------------------------------------------------------------------------------------

    def _on_session_changed(self) -> None:
        if self.session.state != "ready":
            return
        # Only what has loaded is loaded again at the next start.
        loaded = self.settings.with_loaded(self.session.name, self.session.draft)
        self.preferences.change(**msgspec.structs.asdict(loaded))

    def _on_worker_died(self, how: Sentence) -> None:
        error = Sentence("The model process stopped ({how}). The text so far is kept.", how=how)
        self.answers.interrupt_all(error)
        if self.session.state == "loading":
            text = Sentence("{error} The model is being loaded again; your next message will be answered.", error=error)
            self.notices.post(Notice(text, "warning"))

    def _on_saving_failed(self, why: Sentence) -> None:
        text = Sentence("{why} New text stays on the screen and is saved as soon as possible.", why=why)
        self.notices.post(Notice(text, "danger"))

    def _on_saved_again(self) -> None:
        self.notices.post(Notice(Sentence("Everything is saved again.")))

    def _on_load_failed(self, why: Sentence) -> None:
        self.notices.post(Notice(why, "danger", action=LoadGuide()))

    def _on_draft_refused(self, why: Sentence) -> None:
        self.notices.post(Notice(why, "warning"))

    def _on_precision_refused(self, num_bits: int) -> None:
        self.notices.post(
            Notice(
                Sentence(
                    "This model does not support a {num_bits}-bit cache, so it uses full precision. The answers are as "
                    "good, but they take more memory. To avoid this message, choose “Full precision” in the settings.",
                    num_bits=num_bits,
                ),
                "warning",
                action=OpenMemorySettings(),
            )
        )

    def _on_settings_not_saved(self, why: Sentence) -> None:
        self.notices.post(Notice(why, "warning"))
