"""Token masks: which tokens may come next, and how several masks combine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt


class Mask(Protocol):
    """Something that limits the next token, such as a constraint. It must consume each token before the next mask."""

    @property
    def is_active(self) -> bool:
        """Whether the next token is limited at all."""
        ...

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Return which tokens are allowed now, shape [vocabulary]; None means all tokens."""
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
