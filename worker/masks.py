"""Several masks as one: a token may come where all of them let it; it knows none of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from worker.decode import Mask


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
