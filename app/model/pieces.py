"""Streamed text that was not yet joined with its message, so that a long message is not rewritten with each word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from app.model.database import Database
from app.model.message import Drawn, Message, MessageId, with_drawn, without_tokens

_NOTHING: Mapping[MessageId, Sequence[Drawn]] = {}
_drawn_of = msgspec.json.Decoder(tuple[Drawn, ...])


class Grown(Struct):
    """The text and tokens that a message has grown by."""

    text: str = ""
    drawn: tuple[Drawn, ...] | None = ()
    """None means that not all tokens of the text are known."""

    def onto(self, message: Message) -> Message:
        """Return the stored message with this appended."""
        record = message.record
        if record is not None:
            is_known = self.drawn is not None and (record.token_ids or not message.text)
            record = with_drawn(record, self.drawn or ()) if is_known else without_tokens(record)
        return msgspec.structs.replace(message, text=message.text + self.text, record=record)


class Pieces:
    """The table of pieces in one store. Methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, texts: Mapping[MessageId, str], drawn: Mapping[MessageId, Sequence[Drawn]] = _NOTHING) -> None:
        """Write the text streamed since the last call, and its tokens as far as they are known."""
        with self._database.transaction():
            self._database.write_many(
                "INSERT INTO piece (message_id, text, tokens) SELECT id, ?, ? FROM message WHERE id = ?",
                [
                    (text, msgspec.json.encode(drawn[message_id]) if message_id in drawn else None, message_id)
                    for message_id, text in texts.items()
                ],
            )

    def read(self) -> dict[MessageId, Grown]:
        """Return what each message has grown by since it was last written as a whole."""
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
