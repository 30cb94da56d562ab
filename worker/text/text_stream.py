"""The text stream: turns the bytes of tokens into text that can be shown. Independent of model and tokenizer.

Text is returned as soon as it can't become part of a stop string any more. The state after each token is kept, so that
tokens can be taken back.
"""

from __future__ import annotations

from typing import NamedTuple

from worker.text.characters import num_bytes_of, split_characters
from worker.text.stop_strings import StopStrings


class TokenPrefix(NamedTuple):
    """The tokens that spell the shown text: the first `num_tokens`, then the bytes `rest` of the next one."""

    num_tokens: int
    rest: bytes


class TextStream:
    """Turns the bytes of one answer's tokens into text that can be shown.

    `given` is the text, as token bytes, that the answer continues. A stop string may begin in it, and it may end inside
    a character. It is never shown and never cut. `was_shown` says that an unfinished character at its end was already
    shown as U+FFFD, so that no further bytes complete it.
    """

    __slots__ = ("_held", "_nodes", "_num_shown", "_pending", "_root", "_texts", "_tokens", "stop")

    def __init__(self, stops: StopStrings | None = None, given: bytes = b"", *, was_shown: bool = False) -> None:
        text, pending = split_characters(given)
        if was_shown and pending:
            text, pending = text + "\ufffd", b""
        # For each token: its bytes, and the characters that it completed. Before the first token and after each: the
        # automaton's node, and the bytes of an unfinished character. These are lists of plain values rather than one
        # record a token, because Python's garbage collector would visit the records again and again.
        self._tokens: list[bytes] = []
        self._texts: list[str] = []
        stops = stops or StopStrings()
        self._root = stops.after("")
        self._nodes = [stops.after(text)]
        self._pending = [pending]
        self._num_shown = 0
        self._held = ""
        """The end of the new text that is held back: it is, or may become, a stop string."""
        self.stop: str | None = None
        """The stop string that ended the text; None before that. Nothing may be pushed after it."""

    def push(self, data: bytes, *, may_stop: bool = True) -> str:
        """Add the bytes of the next token. Return the text that can be shown now.

        `may_stop`: whether the token's text may be part of a stop string.
        """
        node = self._nodes[-1] if may_stop else self._root
        text, pending = split_characters(self._pending[-1] + data)
        unread = iter(text if may_stop else "")
        for character in unread:
            node = node[character]
            if node.stop is not None:
                # Drop everything after the stop string.
                text, pending = text.removesuffix("".join(unread)), b""
                self.stop = node.stop
                break
        self._tokens.append(data)
        self._texts.append(text)
        self._nodes.append(node)
        self._pending.append(pending)
        if node.depth or self._held:
            text = self._held + text
            # A match may begin in the given text, and so be longer than the new text.
            num_held = node.depth if self.stop is None else len(self.stop)
            num_safe = len(text) - num_held if num_held < len(text) else 0
            self._held = text[num_safe:]
            text = text[:num_safe]
        self._num_shown += len(text)
        return text

    def finish(self) -> str:
        """End the answer and return the text that was held back; empty after a stop string."""
        if self.stop is not None:
            return ""
        held, self._held = self._held, ""
        self._num_shown += len(held)
        return held

    def rewind(self, num_tokens: int) -> int:
        """Take back the last tokens. Return how many characters that were shown are taken back.

        Raises `ValueError` if there are fewer tokens.
        """
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
        other._root = self._root
        other._num_shown = self._num_shown
        other._held = self._held
        other.stop = self.stop
        return other

    def raw_text(self) -> str:
        """Return all new text so far, shown or held back."""
        return "".join(self._texts)

    @property
    def num_shown(self) -> int:
        """Number of characters shown so far."""
        return self._num_shown

    @property
    def num_completed(self) -> int:
        """Number of characters that the last token completed, shown or held back."""
        return len(self._texts[-1])

    @property
    def num_held(self) -> int:
        """Number of characters that are held back and may still be shown; 0 after a stop string."""
        return len(self._held) if self.stop is None else 0

    def kept(self) -> TokenPrefix:
        """Return the tokens that spell the shown text. Takes time linear in their number: call it at the end."""
        if not self._num_shown:
            return TokenPrefix(0, b"")
        # Find the token that completed the last character shown.
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
        """Return the last `num_chars` characters of the new text; the whole text if it is shorter."""
        pieces: list[str] = []
        length = 0
        for text in reversed(self._texts):
            if length >= num_chars:
                break
            pieces.append(text)
            length += len(text)
        pieces.reverse()
        return "".join(pieces)[max(0, length - num_chars) :]
