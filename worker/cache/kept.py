"""The cached state of one run (tokens of the tree without a fork): arrays in memory, and locations in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from worker.cache.stored_file import StoredFile
from worker.layers import Arrays, cut, num_bytes_in

States: TypeAlias = "list[Arrays | None]"
"""The state of each stack of layers; None for a stack whose positions are enough."""


class Ledger:
    """Totals over all runs of a tree, updated with each change, as adding up thousands of runs would be slow."""

    def __init__(self, num_stacks: int) -> None:
        self.num_stacks = num_stacks
        self.num_bytes = 0
        """Bytes of all arrays that the runs have in memory."""
        self.clock = 0
        """The number of uses of branches so far, which serves as the time in `Kept.used`."""

    def nothing(self) -> Kept:
        """Return the value of a new run, which has no cached data and is in use now."""
        return Kept(self, self.clock)


class Location(NamedTuple):
    """Where a run's tokens are in a file."""

    file: StoredFile
    first: int
    """The number of other tokens before the run's tokens in the file."""


class StoredStates(NamedTuple):
    """The states after one token, in a file of their own."""

    file: StoredFile
    stacks: tuple[bool, ...]
    """Which stacks have a state in the file; for the others positions are enough."""


class Kept:
    """The cached state of one run: the `RunValue` of the token tree."""

    __slots__ = ("_ledger", "home", "is_refused", "num_bytes", "parts", "states", "stored", "stored_states", "used")

    def __init__(self, ledger: Ledger, used: int = 0) -> None:
        self._ledger = ledger
        self.parts: list[Arrays | None] = [None] * ledger.num_stacks
        """The keys and values of the run's positions, for each stack; None if they are not in memory."""
        self.states: dict[int, States] = {}
        """States in memory, by the number of the run's tokens before them."""
        self.stored: list[Location | None] = [None] * ledger.num_stacks
        """Where the run's positions are on disk, for each stack; None if they are not."""
        self.stored_states: dict[int, StoredStates] = {}
        """Where states are on disk, by the number of the run's tokens before them."""
        self.home: Location | None = None
        """A file that holds the run's token ids, so that files of later runs can name it as their parent."""
        self.is_refused = False
        """Whether there was no room for the run on disk. Saving is not tried again until the run is used again."""
        self.used = used
        """The time of the last use, by the ledger's clock."""
        self.num_bytes = 0

    def cut(self, num_tokens: int) -> tuple[Kept, Kept]:
        first, rest = (Kept(self._ledger, self.used) for _ in range(2))
        for index, part in enumerate(self.parts):
            if part is not None:
                first.parts[index], rest.parts[index] = cut(part, num_tokens)
        for at, states in self.states.items():
            half, num_before = (first, at) if at <= num_tokens else (rest, at - num_tokens)
            half.states[num_before] = states
        for at, stored in self.stored_states.items():
            half, num_before = (first, at) if at <= num_tokens else (rest, at - num_tokens)
            half.stored_states[num_before] = stored
        first.stored = list(self.stored)
        rest.stored = [_further(location, num_tokens) for location in self.stored]
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
        """Drop the states after `at` tokens from memory. Return the number of bytes freed."""
        num_bytes = num_bytes_in(self.states.pop(at))
        self._count(-num_bytes)
        return num_bytes

    def drop_arrays(self) -> int:
        """Drop everything that is in memory. Return the number of bytes freed."""
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
        """Return whether a stack's positions are probably on disk; their file may have been removed since."""
        location = self.stored[index]
        return location is not None and not location.file.is_gone

    @property
    def is_on_disk(self) -> bool:
        """Whether any state of these tokens is on disk."""
        return any(not location.file.is_gone for location in self.stored if location is not None) or any(
            not states.file.is_gone for states in self.stored_states.values()
        )

    @property
    def has_lost(self) -> bool:
        """Whether a file of the run is missing from the disk."""
        return any(file.is_gone for file in self.files())

    def state_positions(self, *, with_disk: bool) -> Iterator[tuple[int, Sequence[bool]]]:
        """Yield the number of tokens before each kept state, and which stacks have one there."""
        for at, states in self.states.items():
            yield at, [state is not None for state in states]
        for at, stored in self.stored_states.items() if with_disk else ():
            if at not in self.states and not stored.file.is_gone:
                yield at, stored.stacks

    def files(self) -> list[StoredFile]:
        """Return all files that hold positions or states of the run."""
        files = [location.file for location in (self.home, *self.stored) if location is not None]
        return [*files, *(states.file for states in self.stored_states.values())]

    def drop_gone(self) -> None:
        """Forget where positions and states were saved if those files are gone, so that they can be saved again."""
        self.is_refused = False
        self.home = _if_there(self.home)
        self.stored = [_if_there(location) for location in self.stored]
        self.stored_states = {at: states for at, states in self.stored_states.items() if not states.file.is_gone}

    def drop_stored(self) -> None:
        """Drop all locations on disk. The files stay."""
        self.home = None
        self.stored = [None] * len(self.stored)
        self.stored_states = {}


def _further(location: Location | None, num_tokens: int) -> Location | None:
    return None if location is None else Location(location.file, location.first + num_tokens)


def _if_there(location: Location | None) -> Location | None:
    return None if location is None or location.file.is_gone else location
