"""A bounded cache of computed values.

It drops values that were not used recently, half of all at once. So a look-up needs no bookkeeping.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memo(Generic[K, V]):
    """A dictionary whose values weigh at most `limit` together, in the unit of the weights given to `put`."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._young: dict[K, tuple[V, int]] = {}
        self._old: dict[K, tuple[V, int]] = {}
        """Values that were not used since the young half was last full."""
        self._weight = 0

    def get(self, key: K) -> V | None:
        """Return the value of `key`, or None if it was dropped."""
        found = self._young.get(key)
        if found is None:
            found = self._old.pop(key, None)
            if found is None:
                return None
            self._add(key, *found)
        return found[0]

    def put(self, key: K, value: V, weight: int) -> None:
        """Keep a value, unless it is heavier than half of the limit."""
        self._old.pop(key, None)
        known = self._young.pop(key, None)
        if known is not None:
            self._weight -= known[1]
        if weight <= self._half:
            self._add(key, value, weight)

    def _add(self, key: K, value: V, weight: int) -> None:
        if self._weight + weight > self._half:
            self._old, self._young, self._weight = self._young, {}, 0
        self._young[key] = (value, weight)
        self._weight += weight

    def __len__(self) -> int:
        return len(self._young) + len(self._old)
