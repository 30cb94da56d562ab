"""What streams into messages since they were written whole, so that a long one is not written again with each word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from app.model.database import Database
from app.model.message import Drawn, Message, MessageId, with_drawn, without_tokens

_NOTHING: Mapping[MessageId, Sequence[Drawn]] = {}
_drawn_of = msgspec.json.Decoder(tuple[Drawn, ...])


class Grown(Struct):
    """What a message has grown by."""

    text: str = ""
    drawn: tuple[Drawn, ...] | None = ()
    """None: the tokens of it are not all known."""

    def onto(self, message: Message) -> Message:
        """Return a message as it was written, with this at its end."""
        record = message.record
        if record is not None:
            is_known = self.drawn is not None and (record.token_ids or not message.text)
            record = with_drawn(record, self.drawn or ()) if is_known else without_tokens(record)
        return msgspec.structs.replace(message, text=message.text + self.text, record=record)


class Pieces:
    """The table of them in one store. Methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, texts: Mapping[MessageId, str], drawn: Mapping[MessageId, Sequence[Drawn]] = _NOTHING) -> None:
        """Write what has streamed into messages since the last time; `drawn`: the tokens of it, where known."""
        with self._database.transaction():
            self._database.write_many(
                "INSERT INTO piece (message_id, text, tokens) SELECT id, ?, ? FROM message WHERE id = ?",
                [
                    (text, msgspec.json.encode(drawn[message_id]) if message_id in drawn else None, message_id)
                    for message_id, text in texts.items()
                ],
            )

    def read(self) -> dict[MessageId, Grown]:
        """Return what messages have grown by since they were written whole."""
        found: dict[MessageId, Grown] = {}
        for message_id, text, tokens in self._database.rows("SELECT message_id, text, tokens FROM piece ORDER BY id"):
            grown = found.setdefault(message_id, Grown())
            more = _read(tokens)
            grown.text += text
            grown.drawn = None if grown.drawn is None or more is None else grown.drawn + more
        return found


def _read(tokens: object) -> tuple[Drawn, ...] | None:
    try:
        return _drawn_of.decode(tokens) if isinstance(tokens, bytes) else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
