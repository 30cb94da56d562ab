"""What is kept of a run's tokens outside the working layers: arrays in memory, places in files; it reads no file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from worker.cache.stored_file import StoredFile
from worker.layers import Arrays, cut, num_bytes_in

States: TypeAlias = "list[Arrays | None]"
"""Of each stack of layers; None where its positions are enough."""


class Ledger:
    """What all runs of a tree have in common, and what is counted over them: there may be thousands."""

    def __init__(self, num_stacks: int) -> None:
        self.num_stacks = num_stacks
        self.num_bytes = 0
        """Held in memory at the runs; counted as arrays come and go."""
        self.clock = 0
        """How often a branch was taken up: the time by which runs are used."""

    def nothing(self) -> Kept:
        """Return what is kept of a run that is used for the first time."""
        return Kept(self, self.clock)


class Place(NamedTuple):
    """Where a run's tokens are in a file."""

    file: StoredFile
    first: int
    """How many others lie before them."""


class StoredStates(NamedTuple):
    """The states after some token, in a file of their own."""

    file: StoredFile
    stacks: tuple[bool, ...]
    """Of which stacks it has one; for the others positions are enough."""


class Kept:
    """A value for each stack of layers."""

    __slots__ = ("_ledger", "home", "is_refused", "num_bytes", "parts", "states", "stored", "stored_states", "used")

    def __init__(self, ledger: Ledger, used: int = 0) -> None:
        self._ledger = ledger
        self.parts: list[Arrays | None] = [None] * ledger.num_stacks
        """The run's positions; None where they are not in memory."""
        self.states: dict[int, States] = {}
        """After so many of the run's tokens."""
        self.stored: list[Place | None] = [None] * ledger.num_stacks
        """The run's positions on disk."""
        self.stored_states: dict[int, StoredStates] = {}
        self.home: Place | None = None
        """A file that has the run's token ids: what lies behind them can name it."""
        self.is_refused = False
        """There was no room on disk; it is not tried again before it is used again."""
        self.used = used
        """When it was last used, by the ledger's clock."""
        self.num_bytes = 0

    def cut(self, num_tokens: int) -> tuple[Kept, Kept]:
        first, rest = (Kept(self._ledger, self.used) for _ in range(2))
        for index, part in enumerate(self.parts):
            if part is not None:
                first.parts[index], rest.parts[index] = cut(part, num_tokens)
        for at, states in self.states.items():
            half, place = (first, at) if at <= num_tokens else (rest, at - num_tokens)
            half.states[place] = states
        for at, stored in self.stored_states.items():
            half, place = (first, at) if at <= num_tokens else (rest, at - num_tokens)
            half.stored_states[place] = stored
        first.stored = list(self.stored)
        rest.stored = [_further(place, num_tokens) for place in self.stored]
        first.home, rest.home = self.home, _further(self.home, num_tokens)
        for half in (first, rest):
            half.is_refused = self.is_refused
            half.num_bytes = num_bytes_in(half.parts) + num_bytes_in(half.states)
        return first, rest

    # --- in memory -----------------------------------------------------------------------------------------

    def set_part(self, index: int, part: Arrays | None) -> None:
        self._count(num_bytes_in(part) - num_bytes_in(self.parts[index]))
        self.parts[index] = part

    def set_states(self, at: int, states: States) -> None:
        self._count(num_bytes_in(states) - num_bytes_in(self.states.get(at)))
        self.states[at] = states

    def drop_states(self, at: int) -> int:
        """Forget the states after so many tokens; return their bytes."""
        num_bytes = num_bytes_in(self.states.pop(at))
        self._count(-num_bytes)
        return num_bytes

    def drop_arrays(self) -> int:
        """Let go of all that is in memory; return its bytes."""
        num_bytes = self.num_bytes
        self.parts = [None] * len(self.parts)
        self.states = {}
        self._count(-num_bytes)
        return num_bytes

    def _count(self, num_bytes: int) -> None:
        self.num_bytes += num_bytes
        self._ledger.num_bytes += num_bytes

    # --- on disk -------------------------------------------------------------------------------------------

    def is_stored(self, index: int) -> bool:
        """Whether a stack's positions are on disk, as far as one knows."""
        place = self.stored[index]
        return place is not None and not place.file.is_gone

    @property
    def is_on_disk(self) -> bool:
        """Whether anything is."""
        return any(not place.file.is_gone for place in self.stored if place is not None) or any(
            not states.file.is_gone for states in self.stored_states.values()
        )

    @property
    def has_lost(self) -> bool:
        """Whether anything was on disk and is there no more."""
        return any(file.is_gone for file in self.files())

    def places(self, *, with_disk: bool) -> Iterator[tuple[int, Sequence[bool]]]:
        """Yield after how many tokens there are states, and of which stacks."""
        for at, states in self.states.items():
            yield at, [state is not None for state in states]
        for at, stored in self.stored_states.items() if with_disk else ():
            if at not in self.states and not stored.file.is_gone:
                yield at, stored.stacks

    def files(self) -> list[StoredFile]:
        """All files that it names."""
        places = [place.file for place in (self.home, *self.stored) if place is not None]
        return [*places, *(states.file for states in self.stored_states.values())]

    def forget_gone(self) -> None:
        """Forget what is on disk no more: it may be written again."""
        self.is_refused = False
        self.home = _still(self.home)
        self.stored = [_still(place) for place in self.stored]
        self.stored_states = {at: states for at, states in self.stored_states.items() if not states.file.is_gone}

    def forget_stored(self) -> None:
        """Forget all that is on disk."""
        self.home = None
        self.stored = [None] * len(self.stored)
        self.stored_states = {}


def _further(place: Place | None, num_tokens: int) -> Place | None:
    return None if place is None else Place(place.file, place.first + num_tokens)


def _still(place: Place | None) -> Place | None:
    return None if place is None or place.file.is_gone else place
