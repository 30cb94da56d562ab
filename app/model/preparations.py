"""The table of the unsent texts and generation settings of each conversation."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from app.model.database import Database, StoreError
from app.model.generation_settings import GenerationSettings
from app.model.settings import write_atomically
from app.model.unsent import NOTHING, Unsent
from app.model.valid_parts import decoded
from worker.sentence import Sentence

_EMPTY_PAGE = 0
"""No conversation has this id."""

_PUT = """
INSERT INTO preparation (conversation_id, unsent, asking) VALUES (?, ?, ?)
ON CONFLICT (conversation_id) DO UPDATE SET unsent = excluded.unsent, asking = excluded.asking
"""


class Prepared(Struct, frozen=True, kw_only=True):
    """The unsent texts and the settings of one conversation. `generation`: None means the default settings."""

    unsent: Unsent = NOTHING
    generation: GenerationSettings | None = None


class Preparations:
    """The preparations in one store. A conversation id of None means the empty page. Methods raise `StoreError`."""

    def __init__(self, database: Database, folder: Path) -> None:
        """`folder`: where stored texts with invalid parts are kept."""
        self._database = database
        self._folder = folder

    def get(self, conversation_id: int | None, report: Callable[[Sentence], object] = lambda _: None) -> Prepared:
        """Return the preparation of a conversation, without invalid parts.

        If parts are invalid, the stored text is kept in a file beside the store, and `report` gets a sentence about it.
        """
        row_id = conversation_id or _EMPTY_PAGE
        rows = self._database.rows("SELECT unsent, asking FROM preparation WHERE conversation_id = ?", (row_id,))
        for unsent, generation in rows:
            left_out: list[str] = []
            prepared = Prepared(
                unsent=decoded(unsent, Unsent, "unsent", left_out) or NOTHING,
                generation=decoded(generation, GenerationSettings, "settings", left_out),
            )
            if left_out:
                report(self._set_aside(conversation_id, [unsent, generation], prepared, ", ".join(left_out)))
            return prepared
        return Prepared()

    def _set_aside(self, conversation_id: int | None, stored: object, valid: Prepared, names: str) -> Sentence:
        """Write the stored text to a file, and store the valid part instead. Return a sentence about it."""
        name = f"unsent-{conversation_id or _EMPTY_PAGE}-{time.time_ns()}.damaged"
        file = self._folder / name
        if self._database.why_read_only:
            return Sentence("Unsent text or settings of a conversation are invalid and not used: {names}.", names=names)
        try:
            write_atomically(file, msgspec.json.encode(stored), is_own=True)
            self.put(conversation_id, valid)
        except (OSError, StoreError) as error:
            return Sentence(
                "Unsent text or settings of a conversation are invalid and not used: {names}. They could not be "
                "copied to a file ({error}), so they stay in the database until you type in this conversation.",
                names=names,
                error=error,
            )
        return Sentence(
            "Unsent text or settings of a conversation are invalid and were set aside: {names}. The others are used. "
            "The stored text is kept as {file}.",
            names=names,
            file=file,
        )

    def put(self, conversation_id: int | None, prepared: Prepared) -> None:
        """Store a preparation. It survives the death of this program."""
        row_id = conversation_id or _EMPTY_PAGE
        with self._database.transaction():
            if prepared == Prepared():
                self._database.write("DELETE FROM preparation WHERE conversation_id = ?", (row_id,))
            else:
                unsent = None if prepared.unsent == NOTHING else _encoded(prepared.unsent)
                generation = None if prepared.generation is None else _encoded(prepared.generation)
                self._database.write(_PUT, (row_id, unsent, generation))


def _encoded(value: Struct) -> str:
    return msgspec.json.encode(value).decode()
