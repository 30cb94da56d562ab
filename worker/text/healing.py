"""Token healing: an answer that goes on from text which may end anywhere; it knows no model.

The tokenizer cuts the given text as if it ended there, the model would have cut it with what follows. So the last
tokens are taken back, as many as the longest suffix that could be the beginning of a longer token touches, and the
new tokens must first spell those bytes again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from worker.text.vocabulary import Vocabulary


def num_taken_back(vocabulary: Vocabulary, token_ids: Sequence[int]) -> int:
    """Return how many tokens at the end of `token_ids` are to be taken back and spelled again.

    They cover the longest suffix of the text's bytes that is a proper prefix of some token's bytes.
    """
    # A control token is what it is: nothing before it or of it is spelled anew.
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
    """A mask for the tokens that must first spell `data` again; it lets anything pass once they have."""

    def __init__(self, vocabulary: Vocabulary, data: bytes) -> None:
        """`data`: the bytes of some plain tokens, so that there is always a way to spell them.

        What it ends with may begin a mark of reasoning or tools; no control token that was typed becomes a real one.
        """
        self._vocabulary = vocabulary
        self._data = data
        self._num_spelled = [0]
        """How many bytes of it are spelled, after each token so far."""
        self._ways = {len(data)}
        """The places in it from which the rest can be spelled."""
        for start in reversed(range(len(data))):
            if vocabulary.continues(data[start:]) or self._steps(start):
                self._ways.add(start)

    @property
    def is_active(self) -> bool:
        return self._num_spelled[-1] < len(self._data)

    @property
    def left(self) -> bytes:
        """What is not spelled yet."""
        return self._data[self._num_spelled[-1] :]

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Return which tokens may come now, shape [vocabulary]; None if all may."""
        if not self.is_active:
            return None
        start = self._num_spelled[-1]
        allowed = np.zeros(len(self._vocabulary), dtype=np.bool_)
        allowed[self._vocabulary.extending(self._data[start:])] = True
        allowed[self._steps(start)] = True
        return allowed

    def consume(self, token_id: int) -> None:
        """Take the token that was chosen."""
        start = self._num_spelled[-1]
        left = self._data[start:]
        data = self._vocabulary.bytes[token_id]
        if not (data.startswith(left) or left.startswith(data)):
            raise ValueError(f"Token {token_id} does not spell {left!r}")
        self._num_spelled.append(min(start + len(data), len(self._data)))

    def rewind(self, num_tokens: int) -> None:
        """Forget the last tokens."""
        if num_tokens:
            del self._num_spelled[-num_tokens:]

    def copy(self) -> Healing:
        """Return an independent one in the same state."""
        other = object.__new__(Healing)
        other.__dict__.update(self.__dict__)
        other._num_spelled = list(self._num_spelled)
        return other

    def num_given(self, token_id: int) -> int:
        """Return how many bytes of the next token, `token_id`, only spell again what was given."""
        return min(len(self._data) - self._num_spelled[-1], len(self._vocabulary.bytes[token_id]))

    def _steps(self, start: int) -> list[int]:
        """The tokens that spell what is left or its beginning, and do not lead where the rest can't be spelled."""
        vocabulary = self._vocabulary
        return [
            token_id
            for token_id in vocabulary.within(self._data[start:])
            if start + len(vocabulary.bytes[token_id]) in self._ways
        ]
