"""The unsent texts and the generation settings of the conversation that a window shows. Saved as they change."""

from __future__ import annotations

from typing import Any

from msgspec import structs
from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.sessions import ModelInUse
from app.model.database import StoreError
from app.model.generation_settings import GenerationSettings
from app.model.message import Record
from app.model.preparations import Prepared
from app.model.unsent import Unsent
from app.program import Program

NUM_ALTERNATIVES = 5
"""The number of alternatives to request for each token while tokens are visible."""
_SAVE_AFTER_MS = 300
"""At most this much typing is lost if the program is killed."""
_LARGE_CHARS = 200_000
_SAVE_LARGE_AFTER_MS = 3000
"""The same with large files, which are written again at each save."""


class Preparation(QObject):
    """Prepares one conversation at a time; id None is the empty page. The owner must call `save` at the end."""

    shown = Signal()
    """Another conversation is prepared, or the unsent texts were replaced."""
    generation_changed = Signal()

    def __init__(self, program: Program, model: ModelInUse) -> None:
        super().__init__()
        self._program = program
        self._model = model
        self._store = program.store
        self._conversation_id: int | None = None
        self._unsaved: dict[int | None, Prepared] = {}
        """Changes that are not stored yet, by conversation."""
        self._can_save = True
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.save)
        self._prepared = self._read(None)
        self._model_name = model.name
        model.changed.connect(self._on_model)
        program.settings_changed.connect(self.generation_changed)

    @property
    def unsent(self) -> Unsent:
        """The unsent text, files and system prompt."""
        return self._prepared.unsent

    @property
    def generation(self) -> GenerationSettings:
        """The settings for the next answer."""
        return self._prepared.generation or self._program.generation_for(self._model.name)

    def _on_model(self) -> None:
        if self._model.name != self._model_name:
            self._model_name = self._model.name
            # Each model may suggest another sampling.
            self.generation_changed.emit()

    def template_options(self) -> dict[str, Any]:
        """Return the options of the chat template for the next answer."""
        return self.generation.options(self._model.thinking_option)

    def show(self, conversation_id: int | None) -> None:
        """Switch to another conversation."""
        self.save()
        self._conversation_id = conversation_id
        self._prepared = self._read(conversation_id)
        self.shown.emit()
        self.generation_changed.emit()

    def begin(self, conversation_id: int) -> None:
        """Turn the empty page into a new conversation. Keep its settings, and clear its texts, which were sent."""
        generation = self._prepared.generation
        self._change(Prepared())
        self._conversation_id, self._prepared = conversation_id, Prepared()
        self._change(Prepared(generation=generation))
        self.save()

    def share_settings_with(self, conversation_id: int) -> None:
        """Give the settings of this conversation to a new one."""
        if self._prepared.generation is not None:
            self._unsaved[conversation_id] = Prepared(generation=self._prepared.generation)
            self.save()

    def set_unsent(self, unsent: Unsent) -> None:
        """Remember what the user has typed. It is stored soon."""
        self._change(structs.replace(self._prepared, unsent=unsent.cleaned))

    def replace_unsent(self, unsent: Unsent) -> None:
        """Show other unsent texts than the user has typed."""
        self.set_unsent(unsent)
        self.shown.emit()

    def set_generation(self, generation: GenerationSettings) -> None:
        """Use these settings in this conversation."""
        self._change(structs.replace(self._prepared, generation=generation.cleaned))
        self.generation_changed.emit()

    def reset_generation(self) -> None:
        """Use the default settings in this conversation."""
        self._change(structs.replace(self._prepared, generation=None))
        self.generation_changed.emit()

    def record(self, generation: GenerationSettings | None = None) -> Record:
        """Return the record of a new answer. `generation` overrides the settings of the conversation."""
        overflow = self._program.settings.overflow
        record = (generation or self.generation).record(overflow, self._model.thinking_option)
        return self._model.with_model(self._with_alternatives(record))

    def record_to_continue(self, record: Record) -> Record:
        """Return the record of an answer that is continued now."""
        return self._model.with_model(
            self._with_alternatives(self.generation.record_to_continue(record, self._program.settings.overflow))
        )

    def _with_alternatives(self, record: Record) -> Record:
        """Request alternatives of each token if tokens are visible."""
        if not self._program.settings.tokens_visible:
            return record
        return structs.replace(record, top_logprobs=max(record.top_logprobs, NUM_ALTERNATIVES))

    def save(self) -> None:
        """Store all changes. Those that can't be stored stay in memory until the next attempt."""
        self._timer.stop()
        if self._store.why_read_only or self._program.preferences.is_safe or not self._unsaved:
            return
        try:
            for conversation_id, prepared in list(self._unsaved.items()):
                self._store.preparations.put(conversation_id, prepared)
                del self._unsaved[conversation_id]
        except StoreError as error:
            self._timer.start(self._program.retry_ms)
            if self._can_save:
                self._can_save = False
                self._program.report_unsaved(error.sentence)
        else:
            if not self._can_save:
                self._can_save = True
                self._program.report_saved()

    # --- inside --------------------------------------------------------------------------------------------

    def _read(self, conversation_id: int | None) -> Prepared:
        if conversation_id in self._unsaved:
            return self._unsaved[conversation_id]
        if self._program.preferences.is_safe:
            return Prepared()
        try:
            return self._store.preparations.get(conversation_id)
        except StoreError:
            return Prepared()

    def _change(self, prepared: Prepared) -> None:
        if prepared == self._prepared:
            return
        self._prepared = self._unsaved[self._conversation_id] = prepared
        if not self._timer.isActive():
            is_large = prepared.unsent.num_chars > _LARGE_CHARS
            self._timer.start(_SAVE_LARGE_AFTER_MS if is_large else _SAVE_AFTER_MS)
