"""What may say which tokens can come next, and several of those as one; it knows none of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt


class Mask(Protocol):
    """What may say which tokens can come next. It must have taken a token before it is asked about the next one."""

    @property
    def is_active(self) -> bool:
        """Whether the next token is masked at all."""
        ...

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Which tokens may come now, shape [vocabulary]; None if all may."""
        ...


class Masks:
    """What may come next where several have a say."""

    def __init__(self, masks: Sequence[Mask]) -> None:
        self._masks = masks

    @property
    def is_active(self) -> bool:
        """Whether the next token is masked at all."""
        return any(mask.is_active for mask in self._masks)

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Which tokens may come now, shape [vocabulary]; None if all may."""
        allowed = [found for mask in self._masks if mask.is_active and (found := mask.mask()) is not None]
        if len(allowed) < 2:
            return allowed[0] if allowed else None
        return np.logical_and.reduce(allowed)


def both(one: npt.NDArray[np.bool_] | None, other: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_] | None:
    """Return what two masks leave, shape [vocabulary]; None is a mask that leaves all."""
    if one is None or other is None:
        return other if one is None else one
    return np.logical_and(one, other)
