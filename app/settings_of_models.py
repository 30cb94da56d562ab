"""The settings of each model, which the user changes on its page, and their use in new conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs
from PySide6.QtCore import QObject, Signal

from app.answers.model_session import ModelSession
from app.catalog.entry import KvBits
from app.model.generation_settings import GenerationSettings
from app.model.message import Sampling, ThoughtMarks
from app.model.model_settings import ModelSettings
from app.model.settings import MAX_MODELS, Settings
from app.preferences import Preferences
from worker.sentence import Sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.catalog.sampling_defaults import SamplingDefaults

_NONE = ModelSettings()


class SettingsOfModels(QObject):
    """Reads and changes the settings of models by name. A model need not be loaded for this."""

    changed = Signal(str)
    """The name of a model whose settings changed."""
    forgotten = Signal(object)
    """A `Sentence` about other models whose settings were dropped, because there are too many."""
    marks_changed = Signal()
    """The marks around a model's reasoning changed."""

    def __init__(self, preferences: Preferences, session: ModelSession) -> None:
        super().__init__()
        self._preferences = preferences
        self._session = session
        self._suggested: dict[str, tuple[int, SamplingDefaults]] = {}
        """The sampling settings that each model's files suggest, and when the file was written, in nanoseconds."""

    def of(self, name: str) -> ModelSettings:
        """Return the settings of a model; the default settings if it has none."""
        return self._preferences.settings.of_models.get(name, _NONE)

    def replace(self, name: str, settings: ModelSettings) -> None:
        """Change the settings of a model. If the precision of the cache changes, a loaded model is loaded again."""
        before, after = self.of(name), settings.cleaned
        if after == before:
            return
        self._keep(name, self._preferences.settings.with_model_settings(name, after))
        if after.kv_bits != before.kv_bits and self._session.name == name:
            self._session.reload()
        if after.own_marks != before.own_marks:
            self.marks_changed.emit()
        self.changed.emit(name)

    def set_draft(self, name: str, draft: str) -> None:
        """Set the draft model of a model; empty means none. If the model is loaded, this takes effect at once."""
        is_loaded = self._session.name == name
        if is_loaded:
            self._session.set_draft(draft)
        # A loaded model keeps it once both have loaded.
        if not is_loaded or self._session.state == "unloaded":
            self._keep(name, self._preferences.settings.with_draft(name, draft))
        self.changed.emit(name)

    def keep_loaded(self) -> None:
        """Remember the loaded model and its draft model."""
        name = self._session.name
        self._keep(name, self._preferences.settings.with_loaded(name, self._session.draft))

    def _keep(self, changed: str, after: Settings) -> None:
        forgotten = self._preferences.settings.forgotten_in(after, changed)
        self._preferences.change(**structs.asdict(after))
        if forgotten:
            self.forgotten.emit(
                Sentence(
                    "Bough keeps the settings of at most {limit} models. The oldest, those of {names}, were removed.",
                    limit=MAX_MODELS,
                    names=", ".join(f"“{name}”" for name in forgotten),
                )
            )

    def draft_of(self, name: str) -> str:
        """Return the draft model of a model; empty if it has none."""
        if self._session.name == name:
            return self._session.draft
        return self._preferences.settings.draft_models.get(name, "")

    def kv_bits_of(self, name: str) -> KvBits:
        """Return the precision that a model's cache should have."""
        return self.of(name).kv_bits or self._preferences.settings.cache_settings.kv_bits or 16

    def marks_of(self, name: str) -> ThoughtMarks | None:
        """Return the marks around a model's reasoning that the user set; None means the usual marks."""
        return self.of(name).own_marks

    # --- conversations -------------------------------------------------------------------------------------

    def generation_of(self, name: str) -> GenerationSettings:
        """Return the generation settings of conversations with a model that have none of their own.

        If the user has not changed the default sampling, the sampling that the model's files suggest is used.
        """
        generation = self._preferences.settings.generation
        if generation.sampling != Sampling():
            return generation
        return structs.replace(generation, sampling=self.suggested_sampling(name))

    def first_generation_of(self, name: str) -> GenerationSettings:
        """Return the generation settings for a new conversation, including the model's own stop strings."""
        generation, stop = self.generation_of(name), self.of(name).stop
        if not stop:
            return generation
        together = tuple(dict.fromkeys((*generation.sampling.stop, *stop)))
        return structs.replace(generation, sampling=structs.replace(generation.sampling, stop=together))

    def suggested_sampling(self, name: str) -> Sampling:
        """Return the default sampling with the values that a model's files suggest."""
        return self._suggestions_of(name).applied_to(Sampling())

    def unused_suggestions(self, name: str) -> Sequence[str]:
        """Return the names of parameters for which a model's files suggest invalid values."""
        return self._suggestions_of(name).unused

    def _suggestions_of(self, name: str) -> SamplingDefaults:
        from app.catalog.sampling_defaults import sampling_defaults, written_ns

        now = written_ns(name)
        before, found = self._suggested.get(name, (-1, None))
        if found is None or now != before:
            found = sampling_defaults(name)
            self._suggested[name] = now, found
        return found
