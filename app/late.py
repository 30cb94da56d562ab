"""A part that is made when it is first wanted: what nobody sees at first costs no time at the start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

_Part_co = TypeVar("_Part_co", covariant=True)


class Late(Generic[_Part_co]):
    """What makes a part, and the part once it is made."""

    def __init__(self, make: Callable[[], _Part_co]) -> None:
        self._make = make
        self._made: _Part_co | None = None

    @property
    def made(self) -> _Part_co | None:
        """The part; None as long as nobody wanted it."""
        return self._made

    def get(self) -> _Part_co:
        """Return the part, made now if it was not."""
        if self._made is None:
            self._made = self._make()
        return self._made
