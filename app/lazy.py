"""Objects that are created when they are first needed, so that the program starts faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

_T_co = TypeVar("_T_co", covariant=True)


class Lazy(Generic[_T_co]):
    """Holds an object that `make` creates on the first call of `get`."""

    def __init__(self, make: Callable[[], _T_co]) -> None:
        self._make = make
        self._made: _T_co | None = None

    @property
    def made(self) -> _T_co | None:
        """The object; None if it has not been created yet."""
        return self._made

    def get(self) -> _T_co:
        """Return the object. The first call creates it."""
        if self._made is None:
            self._made = self._make()
        return self._made
