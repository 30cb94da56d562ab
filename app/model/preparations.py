"""The table of unsent texts and generation settings, by conversation."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from app.model.database import Database
from app.model.generation_settings import GenerationSettings
from app.model.unsent import NOTHING, Unsent

_V = TypeVar("_V", bound=Struct)

_EMPTY_PAGE = 0
"""No conversation has this id."""

_PUT = """
INSERT INTO preparation (conversation_id, unsent, asking) VALUES (?, ?, ?)
ON CONFLICT (conversation_id) DO UPDATE SET unsent = excluded.unsent, asking = excluded.asking
"""


class Prepared(Struct, frozen=True, kw_only=True):
    """The unsent texts and the settings of one conversation. `generation` None means the default settings."""

    unsent: Unsent = NOTHING
    generation: GenerationSettings | None = None


class Preparations:
    """The preparations in one store; conversation None is the empty page. Methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, conversation_id: int | None) -> Prepared:
        """Return the preparation of a conversation, without unreadable parts."""
        rows = self._database.rows(
            "SELECT unsent, asking FROM preparation WHERE conversation_id = ?", (conversation_id or _EMPTY_PAGE,)
        )
        for unsent, generation in rows:
            return Prepared(
                unsent=_decoded(unsent, Unsent) or NOTHING, generation=_decoded(generation, GenerationSettings)
            )
        return Prepared()

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


def _decoded(text: Any, kind: type[_V]) -> _V | None:
    try:
        return None if text is None else msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError):
        return None
