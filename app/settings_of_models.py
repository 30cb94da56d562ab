"""The settings of each model, as its page shows them, and what new conversations with it take from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs
from PySide6.QtCore import QObject, Signal

from app.answers.model_session import ModelSession
from app.catalog.entry import KvBits
from app.model.generation_settings import GenerationSettings
from app.model.message import Sampling, ThoughtMarks
from app.model.model_settings import ModelSettings
from app.preferences import Preferences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.catalog.sampling_defaults import SamplingDefaults

_NONE = ModelSettings()


class SettingsOfModels(QObject):
    """Reads and changes them. A change is kept by the model's name, whether it is loaded or not."""

    changed = Signal(str)
    """The settings of the model of this name changed."""
    marks_changed = Signal()
    """The marks of a model's reasoning changed."""

    def __init__(self, preferences: Preferences, session: ModelSession) -> None:
        super().__init__()
        self._preferences = preferences
        self._session = session
        self._suggested: dict[str, tuple[int, SamplingDefaults]] = {}
        """The sampling that the files of each model suggest, and when they were written."""

    def of(self, name: str) -> ModelSettings:
        """Return the settings of a model; the default ones if it has none."""
        return self._preferences.settings.of_models.get(name, _NONE)

    def replace(self, name: str, settings: ModelSettings) -> None:
        """Change the settings of a model. If it is loaded, another precision of the cache loads it again."""
        before, after = self.of(name), settings.cleaned
        if after == before:
            return
        of_models = self._preferences.settings.with_model_settings(name, after).of_models
        self._preferences.change(of_models=of_models)
        if after.kv_bits != before.kv_bits and self._session.name == name:
            self._session.reload()
        if after.own_marks != before.own_marks:
            self.marks_changed.emit()
        self.changed.emit(name)

    def set_draft(self, name: str, draft: str) -> None:
        """Choose the draft model of a model, empty for none. A loaded model uses it at once."""
        is_loaded = self._session.name == name
        if is_loaded:
            self._session.set_draft(draft)
        # A loaded model keeps it once both have loaded.
        if not is_loaded or self._session.state == "unloaded":
            drafts = self._preferences.settings.with_draft(name, draft).draft_models
            self._preferences.change(draft_models=drafts)
        self.changed.emit(name)

    def draft_of(self, name: str) -> str:
        """Return the draft model of a model; empty without one."""
        if self._session.name == name:
            return self._session.draft
        return self._preferences.settings.draft_models.get(name, "")

    def kv_bits_of(self, name: str) -> KvBits:
        """Return the precision that a model's cache should have."""
        return self.of(name).kv_bits or self._preferences.settings.cache_settings.kv_bits or 16

    def marks_of(self, name: str) -> ThoughtMarks | None:
        """Return the marks of a model's reasoning that the user named; None means the usual ones."""
        return self.of(name).own_marks

    # --- conversations -------------------------------------------------------------------------------------

    def generation_of(self, name: str) -> GenerationSettings:
        """Return the settings of conversations with a model that have none of their own.

        As long as the user has not changed the default sampling, the model's own files may suggest another one.
        """
        generation = self._preferences.settings.generation
        if generation.sampling != Sampling():
            return generation
        return structs.replace(generation, sampling=self.suggested_sampling(name))

    def first_generation_of(self, name: str) -> GenerationSettings:
        """Return the settings with which a new conversation begins: with the model's own stop strings."""
        generation, stop = self.generation_of(name), self.of(name).stop
        if not stop:
            return generation
        together = tuple(dict.fromkeys((*generation.sampling.stop, *stop)))
        return structs.replace(generation, sampling=structs.replace(generation.sampling, stop=together))

    def suggested_sampling(self, name: str) -> Sampling:
        """Return the default sampling with the values that a model's files suggest."""
        return self._suggestions_of(name).applied_to(Sampling())

    def unused_suggestions(self, name: str) -> Sequence[str]:
        """Return the parameters for which a model's files suggest values that make no sense."""
        return self._suggestions_of(name).unused

    def _suggestions_of(self, name: str) -> SamplingDefaults:
        from app.catalog.sampling_defaults import sampling_defaults, written_ns

        now = written_ns(name)
        before, found = self._suggested.get(name, (-1, None))
        if found is None or now != before:
            found = sampling_defaults(name)
            self._suggested[name] = now, found
        return found
