"""Token masks: which tokens may come next, and how several masks combine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from worker.errors import ConstraintInvalidError
from worker.sentence import Sentence


class Mask(Protocol):
    """Limits the next token, as constraints do. A mask must consume each token before the next call of `mask`."""

    @property
    def is_active(self) -> bool:
        """Whether the next token is limited at all."""
        ...

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Return which tokens are allowed now, shape [vocabulary]; None means all tokens."""
        ...


class Rule(Mask, Protocol):
    """A mask that a whole answer must follow. It can be rewound, and may force tokens."""

    @property
    def problem(self) -> Sentence:
        """Why the rule can't be followed any longer; empty if it can."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether no token can follow."""
        ...

    @property
    def may_end(self) -> bool:
        """Whether the answer may end here."""
        ...

    def forced(self) -> list[int]:
        """Return the next tokens if no others are allowed; often empty."""
        ...

    def fits(self, token_ids: Sequence[int]) -> int:
        """Return how many of these tokens, from the first on, are allowed one after another."""
        ...

    def consume(self, token_ids: Sequence[int]) -> bool:
        """Consume tokens if all of them are allowed. Return whether they were consumed."""
        ...

    def rewind(self, num_tokens: int) -> None:
        """Take back the last tokens."""
        ...

    def copy(self) -> Self:
        """Return an independent rule in the same state."""
        ...

    def failure(self) -> ConstraintInvalidError:
        """Return the error that ends an answer that can't follow the rule."""
        ...


class Masks:
    """Several masks as one: a token is allowed if all of them allow it."""

    def __init__(self, masks: Sequence[Mask]) -> None:
        self._masks = masks

    @property
    def is_active(self) -> bool:
        """Whether the next token is limited at all."""
        return any(mask.is_active for mask in self._masks)

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Return which tokens are allowed now, shape [vocabulary]; None means all tokens."""
        allowed = [found for mask in self._masks if mask.is_active and (found := mask.mask()) is not None]
        if len(allowed) < 2:
            return allowed[0] if allowed else None
        return np.logical_and.reduce(allowed)


def both(one: npt.NDArray[np.bool_] | None, other: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_] | None:
    """Return the intersection of two masks, shape [vocabulary]; None means all tokens."""
    if one is None or other is None:
        return other if one is None else one
    return np.logical_and(one, other)
