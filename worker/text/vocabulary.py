"""A model's vocabulary: token ids to bytes and text, and text to token ids. Independent of model and chat template."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property

from tokenizers import Tokenizer

from worker.text.characters import split_characters
from worker.text.control_tokens import is_reasoning, pattern_of
from worker.text.token_bytes import token_bytes
from worker.text.tokenizing import Patience, plain_ids

# Characters that tokenizers seldom join with the text after them. They help to find ids without a prepended space.
_SEPARATORS = ("\n", "|", ")", "=", "\x00")

# Text that the tokenizer changes is halved until it is this short, so that all unchanged parts are tokenized normally.
_SHORT_TEXT = 16


class Vocabulary:
    """Token ids, their bytes, and the encoding of plain text.

    `eos_ids` end an answer. `control_ids` are the added tokens that structure a prompt: special ones, and others that
    look like markup. Plain text is never encoded as one of them.
    """

    def __init__(self, tokenizer: Tokenizer, eos_ids: Iterable[int] = (), size: int = 0) -> None:
        """`size` is the model's number of logits; 0 means unknown. Ids beyond it are left out."""
        self._tokenizer = tokenizer
        self.patience: Patience | None = None
        """Waits for long texts. None means that other work waits while they are tokenized."""
        self.bytes: list[bytes] = token_bytes(tokenizer, size)
        added = {
            token_id: token
            for token_id, token in tokenizer.get_added_tokens_decoder().items()
            if token_id < len(self.bytes)
        }
        self.eos_ids = frozenset(eos_ids)
        self.control_ids = self.eos_ids | {
            token_id for token_id, token in added.items() if token.special or _looks_like_markup(token.content)
        }
        self._mark_ids = {
            token_id
            for token_id in self.control_ids - self.eos_ids
            if token_id in added and (not added[token_id].special or is_reasoning(added[token_id].content))
        }
        self.control_texts: dict[str, int] = {
            added[token_id].content: token_id for token_id in self.control_ids if token_id in added
        }

    def __len__(self) -> int:
        return len(self.bytes)

    def bytes_of(self, token_ids: Iterable[int]) -> bytes:
        """Return the bytes that these ids spell."""
        table = self.bytes
        return b"".join([table[token_id] for token_id in token_ids])

    def text_of(self, token_ids: Iterable[int]) -> str:
        """Return the text that these ids spell. Invalid UTF-8 becomes U+FFFD."""
        return self.bytes_of(token_ids).decode("utf-8", "replace")

    def chars_of(self, token_ids: Iterable[int]) -> list[int]:
        """Return how many characters each id completes. An unfinished character at the end counts as a character."""
        counts: list[int] = []
        rest = b""
        for token_id in token_ids:
            text, rest = split_characters(rest + self.bytes[token_id])
            counts.append(len(text))
        if rest:
            counts[-1] += 1
        return counts

    def common_prefix(self, token_ids: Iterable[int], text: str) -> tuple[int, int]:
        """Return how many of these ids spell a prefix of `text`, and the length of that prefix in characters."""
        num_ids = num_chars = end = 0
        rest = b""
        for number, token_id in enumerate(token_ids, 1):
            more, rest = split_characters(rest + self.bytes[token_id])
            if not text.startswith(more, end):
                break
            end += len(more)
            if not rest:
                num_ids, num_chars = number, end
        return num_ids, num_chars

    # --- text as ids ---------------------------------------------------------------------------------------

    def encode(self, text: str) -> list[int]:
        """Return ids of plain text that spell exactly `text`, without control tokens or a prepended space.

        The result is the tokenizer's own ids if they spell the text. If the tokenizer changes the text (for example by
        normalizing it), the result is the fewest tokens that spell it; if no tokens do, the tokenizer's ids.
        """
        return [token_id for part in self._without_controls(text) for token_id in self._encode_part(part)]

    def encode_turn(self, text: str) -> list[int]:
        """Return the ids of an assistant's turn: like `encode`, but reasoning marks become control tokens.

        Templates also write reasoning marks as control tokens.
        """
        ids: list[int] = []
        for index, part in enumerate(self._reasoning.split(text)):
            ids += [self.control_texts[part]] if index % 2 else self.encode(part)
        return ids

    def spell(self, data: bytes) -> list[int] | None:
        """Return plain tokens whose bytes are exactly `data`, which may be invalid UTF-8; None if there are none.

        The result is the tokenizer's own ids if they spell the data, otherwise the fewest tokens that do.
        """
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return self._fewest(data)
        ids: list[int] = []
        for part in self._without_controls(text):
            own = self._own_ids(part)
            if own is None:
                return self._fewest(data)
            ids += own
        return ids

    def _without_controls(self, text: str) -> list[str]:
        """Split `text` after the first character of every control token that it contains."""
        starts = [0, *(found.start() + 1 for found in self._controls.finditer(text))]
        parts = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
        return [part for part in parts if part]

    def _encode_part(self, text: str) -> list[int]:
        ids = self._own_ids(text)
        if ids is not None:
            return ids
        own = [token_id for token_id in self._tokenized(text) if token_id not in self.control_ids]
        if self.bytes_of(own) == b" " + text.encode():
            return own  # Each word brings its own space, as in WordPiece.
        if len(text) > _SHORT_TEXT:
            half = len(text) // 2
            middle = text.rfind(" ", 1, half)
            middle = half if middle < 0 else middle
            return self._encode_part(text[:middle]) + self._encode_part(text[middle:])
        ids = self._fewest(text.encode())
        if ids is None:
            ids = next(self._after_separators(text), own)
        return [token_id for token_id in ids if token_id not in self.control_ids]

    def _own_ids(self, text: str) -> list[int] | None:
        """Return the tokenizer's own ids if they spell exactly `text`, otherwise None."""
        wanted = text.encode()
        ids: list[int] | None = self._tokenized(text)
        if self.bytes_of(ids) == b" " + wanted:
            ids = next((found for found in self._after_separators(text) if self.bytes_of(found) == wanted), None)
        elif self.bytes_of(ids) != wanted:
            return None
        return ids if ids is not None and self.control_ids.isdisjoint(ids) else None

    def _after_separators(self, text: str) -> Iterator[list[int]]:
        """Yield the tokenizer's ids of `text` as if other text stood before it, so that no space is prepended."""
        for separator in _SEPARATORS:
            ids = self._tokenized(separator + text)
            # The first one or two tokens spell the separator, perhaps after a space; otherwise this separator can't be
            # used.
            for index in range(1, min(len(ids), 2) + 1):
                if self.bytes_of(ids[:index]).lstrip(b" ") == separator.encode():
                    yield ids[index:]

    def _tokenized(self, text: str) -> list[int]:
        size = len(self.bytes)
        return [token_id for token_id in plain_ids(self._tokenizer, text, patience=self.patience) if token_id < size]

    def _fewest(self, data: bytes) -> list[int] | None:
        """Return the fewest plain tokens that spell `data`; None if there are none."""
        # For each position, from the last: the number of tokens to the end, the first of these, and where it ends.
        best: list[tuple[int, int, int] | None] = [None] * len(data) + [(0, 0, 0)]
        for start in reversed(range(len(data))):
            for end in range(start + 1, min(len(data), start + self.max_length) + 1):
                rest = best[end]
                known = best[start]
                if rest is not None and (known is None or rest[0] < known[0] - 1):
                    same = self._ids_of.get(data[start:end])
                    if same is not None:
                        best[start] = (rest[0] + 1, same[0], end)
        ids: list[int] = []
        start = 0
        while start < len(data):
            found = best[start]
            if found is None:
                return None
            _, token_id, start = found
            ids.append(token_id)
        return ids

    # --- tokens by their bytes -----------------------------------------------------------------------------

    def continues(self, data: bytes) -> bool:
        """Return whether `data` is a proper prefix of the bytes of some text token."""
        found = self._sorted
        index = bisect_right(found, data)
        return index < len(found) and found[index].startswith(data)

    def extending(self, data: bytes) -> list[int]:
        """Return the plain tokens whose bytes begin with `data`, and the longer marks that begin with `data`.

        Marks are the control tokens that an answer may hold as text: those of reasoning and of tools.
        """
        found = self._sorted
        ids = list(self._ids_of.get(data, ()))
        for index in range(bisect_right(found, data), len(found)):
            if not found[index].startswith(data):
                break
            ids += self._ids_of.get(found[index], ())
            ids += self._marks_of.get(found[index], ())
        return ids

    def within(self, data: bytes) -> list[int]:
        """Return the plain tokens whose bytes are a prefix of `data`."""
        ends = range(1, min(len(data), self.max_length) + 1)
        return [token_id for end in ends for token_id in self._ids_of.get(data[:end], ())]

    @cached_property
    def max_length(self) -> int:
        """Length in bytes of the longest text token."""
        return max(map(len, self._sorted), default=0)

    @cached_property
    def _controls(self) -> re.Pattern[str]:
        # A lookahead also finds overlapping matches.
        return re.compile(f"(?={pattern_of(self.control_texts)})")

    @cached_property
    def _reasoning(self) -> re.Pattern[str]:
        return re.compile(f"({pattern_of(filter(is_reasoning, self.control_texts))})")

    @cached_property
    def _sorted(self) -> list[bytes]:
        """The distinct bytes of all text tokens, sorted."""
        return sorted(self._ids_of.keys() | self._marks_of.keys())

    @cached_property
    def _ids_of(self) -> dict[bytes, list[int]]:
        """The plain tokens by their bytes."""
        return self._by_bytes(token_id for token_id in range(len(self.bytes)) if token_id not in self.control_ids)

    @cached_property
    def _marks_of(self) -> dict[bytes, list[int]]:
        return self._by_bytes(sorted(self._mark_ids))

    def _by_bytes(self, token_ids: Iterable[int]) -> dict[bytes, list[int]]:
        ids_of: dict[bytes, list[int]] = {}
        for token_id in token_ids:
            data = self.bytes[token_id]
            if data:
                ids_of.setdefault(data, []).append(token_id)
        return ids_of


def _looks_like_markup(content: str) -> bool:
    return len(content) > 2 and content[0] in "<[" and content[-1] in ">]"
