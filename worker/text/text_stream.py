"""The text of an answer as it may be shown; there is no model and no tokenizer inside.

Token bytes go in, from wherever they come; what comes out is text that will never be taken back because a stop
string came late, and all of it as soon as it is certain. What was known after each token is remembered, so that the
last ones can be forgotten again.
"""

from __future__ import annotations

from typing import NamedTuple

from worker.text.characters import num_bytes_of, split_characters
from worker.text.stop_strings import StopStrings


class TokenPrefix(NamedTuple):
    """What of the tokens stands in the shown text: so many of them whole, then these bytes of the next one."""

    num_tokens: int
    rest: bytes


class TextStream:
    """Turns the bytes of one answer's tokens into text that is safe to show.

    `given` is the text, as token bytes, that the answer goes on from: a stop string may begin in it, and it may
    end inside a character; it is never shown and never cut. `is_told`: that end was shown as U+FFFD, so nothing can
    make a character of it any more.
    """

    __slots__ = ("_held", "_nodes", "_num_shown", "_pending", "_texts", "_tokens", "stop")

    def __init__(self, stops: StopStrings | None = None, given: bytes = b"", *, is_told: bool = False) -> None:
        text, pending = split_characters(given)
        if is_told and pending:
            text, pending = text + "\ufffd", b""
        # For each token its bytes and the characters that it completed; before the first one and after each, where
        # the automaton is and the bytes that may yet become a character. Lists of plain values, no record a token:
        # Python's garbage collector would visit those again and again.
        self._tokens: list[bytes] = []
        self._texts: list[str] = []
        self._nodes = [(stops or StopStrings()).after(text)]
        self._pending = [pending]
        self._num_shown = 0
        self._held = ""
        """The end of the new text that is not shown: it may yet become a stop string, or it has."""
        self.stop: str | None = None
        """The stop string that ended the text, once one has; nothing may be pushed after it."""

    def push(self, data: bytes) -> str:
        """Take the bytes of the next token; return the text that is now safe, often its own."""
        node = self._nodes[-1]
        text, pending = split_characters(self._pending[-1] + data)
        unread = iter(text)
        for character in unread:
            node = node[character]
            if node.stop is not None:
                # What follows the stop string is of no interest.
                text, pending = text.removesuffix("".join(unread)), b""
                self.stop = node.stop
                break
        self._tokens.append(data)
        self._texts.append(text)
        self._nodes.append(node)
        self._pending.append(pending)
        if node.depth or self._held:
            text = self._held + text
            # The automaton may be in the given text still: deeper than the new text is long.
            num_held = node.depth if self.stop is None else len(self.stop)
            num_safe = len(text) - num_held if num_held < len(text) else 0
            self._held = text[num_safe:]
            text = text[:num_safe]
        self._num_shown += len(text)
        return text

    def finish(self) -> str:
        """End the answer for another reason than a stop string; return what was held back."""
        if self.stop is not None:
            return ""
        held, self._held = self._held, ""
        self._num_shown += len(held)
        return held

    def rewind(self, num_tokens: int) -> int:
        """Forget the last tokens, as if they had never come; return how many shown characters that takes back."""
        if not num_tokens:
            return 0
        num_left = len(self._tokens) - num_tokens
        if num_left < 0:
            raise ValueError(f"Cannot rewind {num_tokens} tokens: there are {len(self._tokens)}")
        num_chars = self._num_shown + len(self._held) - sum(map(len, self._texts[num_left:]))
        del self._tokens[num_left:], self._texts[num_left:], self._nodes[num_left + 1 :], self._pending[num_left + 1 :]
        self.stop = None
        self._held = self._end_of_text(self._nodes[-1].depth)
        num_shown_before, self._num_shown = self._num_shown, num_chars - len(self._held)
        return num_shown_before - self._num_shown

    def copy(self) -> TextStream:
        """Return an independent stream in the same state."""
        other = object.__new__(TextStream)
        other._tokens = self._tokens.copy()
        other._texts = self._texts.copy()
        other._nodes = self._nodes.copy()
        other._pending = self._pending.copy()
        other._num_shown = self._num_shown
        other._held = self._held
        other.stop = self.stop
        return other

    def raw_text(self) -> str:
        """Return all text so far, shown or held back."""
        return "".join(self._texts)

    @property
    def num_shown(self) -> int:
        """Characters shown so far."""
        return self._num_shown

    @property
    def num_completed(self) -> int:
        """Characters that the last token has completed, be they shown or held back."""
        return len(self._texts[-1])

    @property
    def num_held(self) -> int:
        """Characters held back that may yet be shown; none once the answer has ended."""
        return len(self._held) if self.stop is None else 0

    def kept(self) -> TokenPrefix:
        """Return what of the tokens the shown text consists of. Linear in their number; meant for the end."""
        if not self._num_shown:
            return TokenPrefix(0, b"")
        # The last character shown is among those that the first token to reach their number has completed.
        index = num_chars = 0
        while num_chars + len(self._texts[index]) < self._num_shown:
            num_chars += len(self._texts[index])
            index += 1
        pending = self._pending[index]
        num_bytes = sum(map(len, self._tokens[:index])) - len(pending)
        num_bytes += num_bytes_of(pending + self._tokens[index], self._num_shown - num_chars)
        for num_whole, data in enumerate(self._tokens):
            if num_bytes < len(data):
                return TokenPrefix(num_whole, data[:num_bytes])
            num_bytes -= len(data)
        return TokenPrefix(len(self._tokens), b"")

    def _end_of_text(self, num_chars: int) -> str:
        """The last characters of the new text, all of it where it is shorter."""
        pieces: list[str] = []
        length = 0
        for text in reversed(self._texts):
            if length >= num_chars:
                break
            pieces.append(text)
            length += len(text)
        pieces.reverse()
        return "".join(pieces)[max(0, length - num_chars) :]
