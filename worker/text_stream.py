"""The text of an answer as it may be shown; there is no model and no tokenizer inside.

Token bytes go in, from wherever they come; what comes out is text that will never be taken back because a stop
string came late, and all of it as soon as it is certain. What is known after a token is one immutable record that
links to the one before: a copy shares them, a rewind walks back.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from worker.characters import num_bytes_of, split_characters
from worker.stop_strings import Node, StopStrings

# After a token: the record before it; its bytes; the characters that it completed; where the automaton is; bytes
# that may yet become a character; the number of new characters so far. A plain tuple, for one is made each token.
_Record: TypeAlias = "tuple[_Record | None, bytes, str, Node, bytes, int]"


class Kept(NamedTuple):
    """What of the tokens stands in the shown text: so many of them whole, then these bytes of the next one."""

    num_tokens: int
    rest: bytes


class TextStream:
    """Turns the bytes of one answer's tokens into text that is safe to show.

    `given` is the text, as token bytes, that the answer goes on from: a stop string may begin in it, and it may
    end inside a character; it is never shown and never cut.
    """

    __slots__ = ("_held", "_record", "stop")

    def __init__(self, stops: StopStrings | None = None, given: bytes = b"") -> None:
        text, pending = split_characters(given)
        node = (stops or StopStrings()).after(text)
        self._record: _Record = (None, b"", "", node, pending, 0)
        self._held = ""
        """The end of the new text that is not shown: it may yet become a stop string, or it has."""
        self.stop: str | None = None
        """The stop string that ended the text, once one has; nothing may be pushed after it."""

    def push(self, data: bytes) -> str:
        """Take the bytes of the next token; return the text that is now safe, often its own."""
        before = self._record
        _, _, _, node, pending, num_chars = before
        text, pending = split_characters(pending + data)
        unread = iter(text)
        for character in unread:
            node = node[character]
            if node.stop is not None:
                # What follows the stop string is of no interest.
                return self._end(node, data, text.removesuffix("".join(unread)))
        self._record = (before, data, text, node, pending, num_chars + len(text))
        depth = node.depth
        if not depth and not self._held:
            return text
        text = self._held + text
        # The automaton may be in the given text still: deeper than the new text is long.
        num_safe = len(text) - depth if depth < len(text) else 0
        self._held = text[num_safe:]
        return text[:num_safe]

    def _end(self, node: Node, data: bytes, text: str) -> str:
        """Take the token whose characters `text` complete a stop string: all of that, as far as it is new, is cut."""
        assert node.stop is not None
        before = self._record
        self._record = (before, data, text, node, b"", before[-1] + len(text))
        text = self._held + text
        self.stop = node.stop
        self._held = text[-len(node.stop) :]
        return text[: -len(node.stop)]

    def finish(self) -> str:
        """End the answer for another reason than a stop string; return what was held back."""
        if self.stop is not None:
            return ""
        held, self._held = self._held, ""
        return held

    def rewind(self, num_tokens: int) -> int:
        """Forget the last tokens, as if they had never come; return how many shown characters that takes back."""
        num_shown = self.num_shown
        record = self._record
        for _ in range(num_tokens):
            if record[0] is None:
                raise ValueError(f"Cannot rewind {num_tokens} tokens: there are fewer")
            record = record[0]
        if num_tokens:
            self._record = record
            self._held = _held_after(record)
            self.stop = None
        return num_shown - self.num_shown

    def copy(self) -> TextStream:
        """Return an independent stream in the same state; costs the same however long the text is."""
        other = object.__new__(TextStream)
        other._record = self._record
        other._held = self._held
        other.stop = self.stop
        return other

    @property
    def num_shown(self) -> int:
        """Characters shown so far."""
        return self._record[-1] - len(self._held)

    @property
    def num_held(self) -> int:
        """Characters held back that may yet be shown; none once the answer has ended."""
        return len(self._held) if self.stop is None else 0

    def kept(self) -> Kept:
        """Return what of the tokens the shown text consists of. Linear in their number; meant for the end."""
        num_shown = self.num_shown
        if not num_shown:
            return Kept(0, b"")
        records = self._records()
        # The last character shown is among those that the first token to reach their number has completed.
        index = next(index for index, record in enumerate(records) if record[-1] >= num_shown)
        _, _, _, _, pending, num_chars = records[index - 1]
        tokens = [record[1] for record in records[1:]]
        num_bytes = sum(map(len, tokens[: index - 1]))
        num_bytes += num_bytes_of(pending + tokens[index - 1], num_shown - num_chars) - len(pending)
        for num_whole, data in enumerate(tokens):
            if num_bytes < len(data):
                return Kept(num_whole, data[:num_bytes])
            num_bytes -= len(data)
        return Kept(len(tokens), b"")

    def _records(self) -> list[_Record]:
        """All records, the one before the first token first."""
        records: list[_Record] = []
        record: _Record | None = self._record
        while record is not None:
            records.append(record)
            record = record[0]
        records.reverse()
        return records


def _held_after(record: _Record) -> str:
    """The end of the new text, as long as the automaton is deep."""
    _, _, _, node, _, num_chars = record
    num_held = min(node.depth, num_chars)
    pieces: list[str] = []
    length = 0
    while length < num_held:
        before, _, text, _, _, _ = record
        pieces.append(text)
        length += len(text)
        assert before is not None
        record = before
    pieces.reverse()
    return "".join(pieces)[length - num_held :]
