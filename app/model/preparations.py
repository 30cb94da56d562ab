"""What lies ready in each conversation and was not sent, and how it asks, in the store's tables; it knows no window."""

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
    """Of one conversation. `asking` None: as the settings have it for all that say nothing else."""

    unsent: Unsent = NOTHING
    generation: GenerationSettings | None = None


class Preparations:
    """Those of one store; the conversation None is the one that is yet to begin. Methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, conversation_id: int | None) -> Prepared:
        """Return what is there; what can't be read of it is as if it were not."""
        rows = self._database.rows(
            "SELECT unsent, asking FROM preparation WHERE conversation_id = ?", (conversation_id or _EMPTY_PAGE,)
        )
        for unsent, generation in rows:
            return Prepared(unsent=_read(unsent, Unsent) or NOTHING, generation=_read(generation, GenerationSettings))
        return Prepared()

    def put(self, conversation_id: int | None, prepared: Prepared) -> None:
        """Keep it instead of what was there; it survives the death of this program."""
        place = conversation_id or _EMPTY_PAGE
        with self._database.transaction():
            if prepared == Prepared():
                self._database.write("DELETE FROM preparation WHERE conversation_id = ?", (place,))
            else:
                unsent = None if prepared.unsent == NOTHING else _written(prepared.unsent)
                generation = None if prepared.generation is None else _written(prepared.generation)
                self._database.write(_PUT, (place, unsent, generation))


def _written(value: Struct) -> str:
    return msgspec.json.encode(value).decode()


def _read(text: Any, kind: type[_V]) -> _V | None:
    try:
        return None if text is None else msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError):
        return None
