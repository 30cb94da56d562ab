"""Token healing: continues text that may end inside a word. Independent of the model.

The tokenizer splits the given text as if nothing followed; with more text after it, it would often split the text
differently. So the last tokens are removed: those that overlap the longest suffix with which a longer token could
begin. The new tokens must first spell these bytes again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from worker.text.vocabulary import Vocabulary


def num_taken_back(vocabulary: Vocabulary, token_ids: Sequence[int]) -> int:
    """Return how many tokens at the end of `token_ids` to remove, so that the model can choose them again.

    Their bytes include the longest end of the text that is also the beginning of a longer token.
    """
    # A control token and the tokens before it are never removed.
    first = len(token_ids)
    data = b""
    while first and len(data) < vocabulary.max_length - 1 and token_ids[first - 1] not in vocabulary.control_ids:
        first -= 1
        data = vocabulary.bytes[token_ids[first]] + data
    longest = min(len(data), vocabulary.max_length - 1)
    while longest > 0 and not vocabulary.continues(data[-longest:]):
        longest -= 1
    num_tokens = num_bytes = 0
    while num_bytes < longest:
        num_tokens += 1
        num_bytes += len(vocabulary.bytes[token_ids[-num_tokens]])
    return num_tokens


class Healing:
    """A mask that makes the next tokens spell `data` again. After `data`, it allows all tokens."""

    def __init__(self, vocabulary: Vocabulary, data: bytes) -> None:
        """`data` are the bytes of plain tokens, so that tokens which spell them always exist.

        A mark of reasoning or tools may begin at the end of `data`. A control token that the user typed never becomes a
        real one.
        """
        self._vocabulary = vocabulary
        self._data = data
        self._num_spelled = [0]
        """How many bytes of `data` are spelled: at the start, and after each token."""
        self._open_positions = {len(data)}
        """The positions in `data` from which the rest can be spelled."""
        for start in reversed(range(len(data))):
            if vocabulary.continues(data[start:]) or self._steps(start):
                self._open_positions.add(start)

    @property
    def is_active(self) -> bool:
        return self._num_spelled[-1] < len(self._data)

    @property
    def left(self) -> bytes:
        """The bytes that are not spelled yet."""
        return self._data[self._num_spelled[-1] :]

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Return which tokens are allowed now, shape [vocabulary]; None means all tokens."""
        if not self.is_active:
            return None
        start = self._num_spelled[-1]
        allowed = np.zeros(len(self._vocabulary), dtype=np.bool_)
        allowed[self._vocabulary.extending(self._data[start:])] = True
        allowed[self._steps(start)] = True
        return allowed

    def consume(self, token_id: int) -> None:
        """Consume the sampled token. Raises `ValueError` if it does not spell the next bytes."""
        start = self._num_spelled[-1]
        left = self._data[start:]
        data = self._vocabulary.bytes[token_id]
        if not (data.startswith(left) or left.startswith(data)):
            raise ValueError(f"Token {token_id} does not spell {left!r}")
        self._num_spelled.append(min(start + len(data), len(self._data)))

    def rewind(self, num_tokens: int) -> None:
        """Take back the last tokens."""
        if num_tokens:
            del self._num_spelled[-num_tokens:]

    def copy(self) -> Healing:
        """Return an independent mask in the same state."""
        other = object.__new__(Healing)
        other.__dict__.update(self.__dict__)
        other._num_spelled = list(self._num_spelled)
        return other

    def num_given(self, token_id: int) -> int:
        """Return how many bytes of `token_id`, as the next token, only repeat the given text."""
        return min(len(self._data) - self._num_spelled[-1], len(self._vocabulary.bytes[token_id]))

    def _steps(self, start: int) -> list[int]:
        """Return the tokens that spell the next bytes from `start` and leave a rest that can be spelled."""
        vocabulary = self._vocabulary
        return [
            token_id
            for token_id in vocabulary.within(self._data[start:])
            if start + len(vocabulary.bytes[token_id]) in self._open_positions
        ]
