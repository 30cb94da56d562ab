"""The unsent texts and the generation settings of the conversation that a window shows. Saved as they change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs
from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.sessions import ModelInUse
from app.conversation.project_in_use import ProjectInUse
from app.model.attachment import Attachment
from app.model.database import StoreError
from app.model.generation_settings import GenerationSettings
from app.model.message import MessageId, Record
from app.model.preparations import Prepared
from app.model.unsent import Unsent
from app.program import Program

NUM_ALTERNATIVES = 5
"""The number of alternatives to request for each token while tokens are visible."""
_SAVE_AFTER_MS = 300
"""The interval of saving what the user types. Not more than this is lost if the program is killed."""
_LARGE_CHARS = 200_000
_SAVE_LARGE_AFTER_MS = 3000
"""The interval with large attached files, which are written again at each save."""


class Preparation(QObject):
    """Prepares one conversation at a time. The id None means the empty page. The owner must call `save` at the end."""

    shown = Signal()
    """The unsent texts have changed, because another conversation is prepared or because they were replaced."""
    generation_changed = Signal()

    def __init__(self, program: Program, model: ModelInUse, project: ProjectInUse) -> None:
        super().__init__()
        self._program = program
        self._model = model
        self._project = project
        self._store = program.store
        self._conversation_id: int | None = None
        self._unsaved: dict[int | None, Prepared] = {}
        """Changes that have not been stored yet, by conversation."""
        self._can_save = True
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.save)
        self._prepared = self._read(None)
        self._model_name = model.name
        model.changed.connect(self._on_model)
        project.changed.connect(self._announce)
        program.settings_changed.connect(self.generation_changed)

    @property
    def unsent(self) -> Unsent:
        """The unsent text, files and system prompt of the conversation."""
        return self._prepared.unsent

    @property
    def generation(self) -> GenerationSettings:
        """The settings for the next answer."""
        own = self._prepared.generation
        if own is not None:
            return own
        project = self._project.project
        if project is not None and project.generation is not None:
            return project.generation
        of_models = self._program.of_models
        # Later changes of a model's stop strings leave the conversations that have begun as they are.
        is_new = self._conversation_id is None
        return (of_models.first_generation_of if is_new else of_models.generation_of)(self._model.name)

    @property
    def system_prompt(self) -> str:
        """The system prompt with which a branch would begin.

        In a project this is the project's instructions; elsewhere the prompt that the user set on the empty page, else
        the one in the model's settings.
        """
        project = self._project.project
        own = self._prepared.unsent.system_prompt if project is None else project.instructions or None
        return self._program.of_models.of(self._model.name).system_prompt if own is None else own

    def set_system_prompt(self, text: str) -> None:
        """Change the system prompt of the empty page."""
        of_model = self._program.of_models.of(self._model.name).system_prompt
        self.set_unsent(structs.replace(self.unsent, system_prompt=None if text == of_model else text))

    def _on_model(self) -> None:
        if self._model.name != self._model_name:
            self._model_name = self._model.name
            # Each model may have another sampling and another system prompt.
            self._announce()

    def _announce(self) -> None:
        self.shown.emit()
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
        """Turn the empty page into a new conversation. Keep the settings, and clear the texts, which have been sent."""
        generation = self._own_generation()
        self._change(Prepared())
        self._conversation_id, self._prepared = conversation_id, Prepared()
        self._change(Prepared(generation=generation))
        self.save()

    def share_settings_with(self, conversation_id: int) -> None:
        """Copy the settings of this conversation to a new conversation."""
        if self._prepared.generation is not None:
            self._unsaved[conversation_id] = Prepared(generation=self._prepared.generation)
            self.save()

    def set_unsent(self, unsent: Unsent) -> None:
        """Remember the unsent texts. They are saved after a short pause."""
        self._change(structs.replace(self._prepared, unsent=unsent.cleaned))

    def keep_edit(self, message_id: MessageId, text: str | None) -> None:
        """Remember the changed text in the editor of a message. None means that it is closed or unchanged."""
        if text != self.unsent.edit_of(message_id):
            self.set_unsent(self.unsent.with_edit(message_id, text))

    @property
    def conversation_id(self) -> int | None:
        """The id of the conversation that is prepared; None means the empty page."""
        return self._conversation_id

    def unsent_of(self, conversation_id: int | None) -> Unsent:
        """Return the unsent texts of a conversation."""
        return self.unsent if conversation_id == self._conversation_id else self._read(conversation_id).unsent

    def attach(self, attachments: Sequence[Attachment], conversation_id: int | None) -> None:
        """Replace the files of a conversation's unsent message."""
        unsent = structs.replace(self.unsent_of(conversation_id), attachments=tuple(attachments))
        if conversation_id == self._conversation_id:
            self.set_unsent(unsent)
        else:
            self._unsaved[conversation_id] = structs.replace(self._read(conversation_id), unsent=unsent.cleaned)
            self.save()

    def replace_unsent(self, unsent: Unsent) -> None:
        """Replace the unsent texts, and let the composer show the new ones."""
        self.set_unsent(unsent)
        self.shown.emit()

    def set_generation(self, generation: GenerationSettings) -> None:
        """Use these settings in this conversation."""
        self._change(structs.replace(self._prepared, generation=generation.cleaned))
        self.generation_changed.emit()

    def reset_generation(self) -> None:
        """Use the settings of new conversations in this conversation."""
        self._change(structs.replace(self._prepared, generation=None))
        if self._conversation_id is not None:
            self._change(structs.replace(self._prepared, generation=self._own_generation()))
        self.generation_changed.emit()

    def _own_generation(self) -> GenerationSettings | None:
        """Return the settings that a conversation would store if it began now; None means the default settings."""
        if self._prepared.generation is not None:
            return self._prepared.generation
        if self._project.project is not None and self._project.project.generation is not None:
            return None
        of_models, name = self._program.of_models, self._model.name
        return of_models.first_generation_of(name) if of_models.of(name).stop else None

    def record(self, generation: GenerationSettings | None = None) -> Record:
        """Return the record of a new answer. `generation` overrides the settings of the conversation."""
        overflow = self._program.settings.overflow
        record = (generation or self.generation).record(overflow, self._model.thinking_option)
        return self._with_marks(self._model.with_model(self._with_alternatives(record)))

    def record_to_continue(self, record: Record) -> Record:
        """Return the record with which an answer is continued now."""
        record = self.generation.record_to_continue(record, self._program.settings.overflow)
        return self._with_marks(self._model.with_model(self._with_alternatives(record)))

    def _with_marks(self, record: Record) -> Record:
        """Return a record with the marks around the model's reasoning, so that exports find it, too."""
        return structs.replace(record, thought_marks=self._program.of_models.marks_of(record.model))

    def _with_alternatives(self, record: Record) -> Record:
        """Return a record that requests alternatives for each token if tokens are visible."""
        if not self._program.settings.tokens_visible or not self._model.can("alternatives"):
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
            return self._store.preparations.get(conversation_id, self._program.report_set_aside)
        except StoreError as error:
            self._program.report_set_aside(error.sentence)
            return Prepared()

    def _change(self, prepared: Prepared) -> None:
        if prepared == self._prepared:
            return
        self._prepared = self._unsaved[self._conversation_id] = prepared
        if not self._timer.isActive():
            is_large = prepared.unsent.num_chars > _LARGE_CHARS
            self._timer.start(_SAVE_LARGE_AFTER_MS if is_large else _SAVE_AFTER_MS)
