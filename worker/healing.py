"""Token healing: an answer that goes on from text which may end anywhere; it knows no model.

The tokenizer cuts the given text as if it ended there, the model would have cut it with what follows. So the last
tokens are taken back, as many as the longest suffix that could be the beginning of a longer token touches, and the
new tokens must first spell those bytes again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from worker.vocabulary import Vocabulary


def num_taken_back(vocabulary: Vocabulary, token_ids: Sequence[int]) -> int:
    """Return how many tokens at the end of `token_ids` are to be taken back and spelled again.

    They cover the longest suffix of the text's bytes that is a proper prefix of some token's bytes.
    """
    # A control token is what it is: nothing before it or of it is spelled anew.
    first = len(token_ids)
    num_bytes = 0
    while first and num_bytes < vocabulary.max_length and token_ids[first - 1] not in vocabulary.control_ids:
        first -= 1
        num_bytes += len(vocabulary.bytes[token_ids[first]])
    data = vocabulary.bytes_of(token_ids[first:])
    lengths = range(min(len(data), vocabulary.max_length - 1), 0, -1)
    longest = next((length for length in lengths if vocabulary.continues(data[-length:])), 0)
    num_tokens = num_bytes = 0
    while num_bytes < longest:
        num_tokens += 1
        num_bytes += len(vocabulary.bytes[token_ids[-num_tokens]])
    return num_tokens


class Healing:
    """A mask for the tokens that must first spell `data` again; it lets anything pass once they have."""

    def __init__(self, vocabulary: Vocabulary, data: bytes) -> None:
        self._vocabulary = vocabulary
        self._left = [data]
        """What is still to be spelled, after each token so far."""

    @property
    def is_active(self) -> bool:
        return bool(self._left[-1])

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Return which tokens may come now, shape [vocabulary]; None if all may."""
        left = self._left[-1]
        if not left:
            return None
        allowed = np.zeros(len(self._vocabulary), dtype=np.bool_)
        allowed[self._vocabulary.extending(left)] = True
        allowed[self._vocabulary.within(left)] = True
        return allowed

    def consume(self, token_id: int) -> None:
        """Take the token that was chosen."""
        left = self._left[-1]
        data = self._vocabulary.bytes[token_id]
        if left and not (data.startswith(left) or left.startswith(data)):
            raise ValueError(f"Token {token_id} does not spell {left!r}")
        self._left.append(left[len(data) :])

    def rewind(self, num_tokens: int) -> None:
        """Forget the last tokens."""
        if num_tokens:
            del self._left[-num_tokens:]

    def num_given(self, token_id: int) -> int:
        """Return how many bytes of the next token, `token_id`, only spell again what was given."""
        return min(len(self._left[-1]), len(self._vocabulary.bytes[token_id]))
