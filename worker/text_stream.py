"""The text of an answer as it may be shown; there is no model and no tokenizer inside.

Token bytes go in, from wherever they come; what comes out is text that will never be taken back because a stop
string came late, and all of it as soon as it is certain. Its whole state is one immutable record a token, each
linked to the one before: a copy shares them, a rewind walks back.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from worker.characters import num_bytes_of, split_characters
from worker.stop_strings import NO_STOPS, Node, StopStrings

# A plain tuple, since one is made for every token: the state before, the token's bytes, the automaton's node, bytes
# that may yet become a character, characters that may yet become a stop string, and of the new text the number of
# characters known (held ones included) and shown.
_State: TypeAlias = "tuple[_State | None, bytes, Node, bytes, str, int, int]"


class Kept(NamedTuple):
    """What of the tokens stands in the final text: so many of them whole, then these bytes of the next one."""

    num_tokens: int
    rest: bytes


class TextStream:
    """Turns the bytes of one answer's tokens into text that is safe to show.

    `given` is the text, as token bytes, that the answer goes on from: a stop string may begin in it, and it may
    end inside a character; it is never shown and never cut.
    """

    __slots__ = ("_state", "_stops", "stop")

    def __init__(self, stops: StopStrings = NO_STOPS, given: bytes = b"") -> None:
        text, pending = split_characters(given)
        self._stops = stops
        self._state: _State = (None, b"", stops.after(text), pending, "", 0, 0)
        self.stop: str | None = None
        """The stop string that ended the text, once one has; nothing may be pushed after it."""

    def push(self, data: bytes) -> str:
        """Take the bytes of the next token; return the text that is now safe, often its own."""
        state = self._state
        _, _, node, pending, held, num_chars, _ = state
        move = None if pending else node.moves.get(data)
        text, node, pending, stop = move or self._stops.move(node, pending + data)
        num_chars += len(text)
        if stop is not None:
            # Only new text is ever cut: a stop that began in the given text leaves none.
            self.stop = stop
            num_chars = max(0, num_chars - len(stop))
            self._state = (state, data, node, b"", "", num_chars, num_chars)
            return (held + text)[: -len(stop)]
        depth = node.depth
        if not depth and not held:
            self._state = (state, data, node, pending, "", num_chars, num_chars)
            return text
        text = held + text
        safe = text[:-depth] if depth else text
        held = text[len(safe) :]
        self._state = (state, data, node, pending, held, num_chars, num_chars - len(held))
        return safe

    def finish(self) -> str:
        """End the answer for another reason than a stop string; return what was held back."""
        before, data, node, pending, held, num_chars, _ = self._state
        if held:
            self._state = (before, data, node, pending, "", num_chars, num_chars)
        return held

    def rewind(self, num_tokens: int) -> int:
        """Forget the last tokens, as if they had never come; return how many shown characters that takes back."""
        state = self._state
        num_shown = state[6]
        for _ in range(num_tokens):
            if state[0] is None:
                raise ValueError(f"Cannot rewind {num_tokens} tokens: there are fewer")
            state = state[0]
        self._state = state
        if num_tokens:
            self.stop = None
        return max(0, num_shown - state[6])

    def copy(self) -> TextStream:
        """Return an independent stream in the same state; costs the same however long the text is."""
        other = object.__new__(TextStream)
        other._stops = self._stops
        other._state = self._state
        other.stop = self.stop
        return other

    @property
    def num_shown(self) -> int:
        """Characters shown so far."""
        return self._state[6]

    @property
    def num_held(self) -> int:
        """Characters held back; none once the answer has ended."""
        return len(self._state[4])

    def kept(self) -> Kept:
        """Return what of the tokens the shown text consists of; after the end, the final text.

        Walks back over the tokens: linear in their number, called once an answer.
        """
        num_shown = self._state[6]
        tokens: list[bytes] = []
        state = self._state
        while state[0] is not None:
            tokens.append(state[1])
            state = state[0]
        tokens.reverse()
        # Bytes that the given text left over lie before the first token's.
        end = num_bytes_of(state[3] + b"".join(tokens), num_shown) - len(state[3]) if num_shown else 0
        for index, data in enumerate(tokens):
            if end < len(data) or end == 0:
                return Kept(index, data[: max(end, 0)])
            end -= len(data)
        return Kept(len(tokens), b"")
