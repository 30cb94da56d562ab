"""What lies ready in the conversation that a window shows, and how it asks; kept as it changes. It knows no window."""

from __future__ import annotations

import contextlib
from typing import Any

from msgspec import structs
from PySide6.QtCore import QObject, QTimer, Signal

from app.model.database import StoreError
from app.model.generation_settings import GenerationSettings
from app.model.message import Record
from app.model.preparations import Prepared
from app.model.unsent import Unsent
from app.program import Program

NUM_ALTERNATIVES = 5
"""That answers are asked for with while their tokens are looked at."""
_SAVE_AFTER_MS = 300
"""So much of what is typed a kill can cost."""
_LARGE_CHARS = 200_000
_SAVE_LARGE_AFTER_MS = 3000
"""The same beside whole files: they are written again with each word."""


class Preparation(QObject):
    """Of one conversation at a time, None for the one that is yet to begin. `save` must be called in the end."""

    shown = Signal()
    """Another conversation's is here, or something else lies ready than was written."""
    generation_changed = Signal()

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program
        self._store = program.store
        self._conversation_id: int | None = None
        self._unkept: dict[int | None, Prepared] = {}
        """What is not in the store yet, by conversation."""
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.save)
        self._prepared = self._read(None)
        program.settings_changed.connect(self.generation_changed)

    @property
    def unsent(self) -> Unsent:
        """What is written and not sent."""
        return self._prepared.unsent

    @property
    def generation(self) -> GenerationSettings:
        """How the next answer is asked for."""
        return self._prepared.generation or self._program.settings.generation

    def template_options(self) -> dict[str, Any]:
        """Return what the chat template is given for the next answer."""
        return self.generation.options(self._program.session.thinking_option)

    def show(self, conversation_id: int | None) -> None:
        """Be about another conversation."""
        self.save()
        self._conversation_id = conversation_id
        self._prepared = self._read(conversation_id)
        self.shown.emit()
        self.generation_changed.emit()

    def begin(self, conversation_id: int) -> None:
        """The conversation that was yet to begin is this one now: how it asks goes with it, what was sent does not."""
        generation = self._prepared.generation
        self._change(Prepared())
        self._conversation_id, self._prepared = conversation_id, Prepared()
        self._change(Prepared(generation=generation))
        self.save()

    def lend(self, conversation_id: int) -> None:
        """Let another conversation, which has nothing yet, ask as this one does."""
        if self._prepared.generation is not None:
            self._unkept[conversation_id] = Prepared(generation=self._prepared.generation)
            self.save()

    def keep(self, unsent: Unsent) -> None:
        """Keep what is written, soon."""
        self._change(structs.replace(self._prepared, unsent=unsent.cleaned))

    def put_back(self, unsent: Unsent) -> None:
        """Let something else lie ready than was written."""
        self.keep(unsent)
        self.shown.emit()

    def set_generation(self, generation: GenerationSettings) -> None:
        """Ask so in this conversation."""
        self._change(structs.replace(self._prepared, generation=generation.cleaned))
        self.generation_changed.emit()

    def reset_generation(self) -> None:
        """Ask as all conversations do that say nothing else."""
        self._change(structs.replace(self._prepared, generation=None))
        self.generation_changed.emit()

    def record(self, generation: GenerationSettings | None = None) -> Record:
        """Return the record of an answer that is asked for now; `asking`: not as is set, but so."""
        session, settings = self._program.session, self._program.settings
        asked = generation or self.generation
        return session.signed(self._told(asked.record(settings.overflow, session.thinking_option)))

    def going_on(self, record: Record) -> Record:
        """Return the record of an answer that goes on now."""
        return self._program.session.signed(
            self._told(self.generation.record_to_continue(record, self._program.settings.overflow))
        )

    def _told(self, record: Record) -> Record:
        """Who looks at tokens is told what else could have stood there."""
        if not self._program.settings.tokens_visible:
            return record
        return structs.replace(record, top_logprobs=max(record.top_logprobs, NUM_ALTERNATIVES))

    def save(self) -> None:
        """Write what has changed since the last time. What can't be written holds as long as the program runs."""
        self._timer.stop()
        with contextlib.suppress(StoreError):
            for conversation_id, prepared in list(self._unkept.items()):
                self._store.preparations.put(conversation_id, prepared)
                del self._unkept[conversation_id]

    # --- inside --------------------------------------------------------------------------------------------

    def _read(self, conversation_id: int | None) -> Prepared:
        if conversation_id in self._unkept:
            return self._unkept[conversation_id]
        try:
            return self._store.preparations.get(conversation_id)
        except StoreError:
            return Prepared()

    def _change(self, prepared: Prepared) -> None:
        if prepared == self._prepared:
            return
        self._prepared = self._unkept[self._conversation_id] = prepared
        if not self._timer.isActive():
            is_large = prepared.unsent.num_chars > _LARGE_CHARS
            self._timer.start(_SAVE_LARGE_AFTER_MS if is_large else _SAVE_AFTER_MS)
