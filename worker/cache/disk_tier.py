"""The disk tier: maps the token tree's runs to files. Eviction is decided elsewhere.

A run is a sequence of tokens without a fork. Its positions are one file, the states after a token another. Each file
names its parent file, so that files that are used together were computed together. If a file is lost, everything
computed from it is dropped, too: computing its tokens again would give positions that differ in the last bits.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

import mlx.core as mx

from worker.cache.array_file import NotStorableError
from worker.cache.disk_cache import DiskCache
from worker.cache.kept import Kept, Ledger, Location, StoredStates
from worker.cache.stored_file import StoredFile, Stretch
from worker.cache.token_tree import Run, TokenTree, as_ids
from worker.layers import Arrays, arrays_in, num_positions_in, slice_positions

_log = logging.getLogger(__name__)

KeptRun: TypeAlias = "Run[Kept]"

_FILE_BYTES = 16 << 20
"""A file of positions is at most this large, so that writing it is quick."""
_MIN_TOKENS, _MAX_TOKENS = 64, 2048
"""The least and the most tokens of a file of positions, whatever its size."""


class DiskTier:
    """The files of one token tree."""

    def __init__(self, disk: DiskCache, tree: TokenTree[Kept], ledger: Ledger) -> None:
        """Read the list of files, and add their runs of tokens to `tree`."""
        self._disk = disk
        self._tree = tree
        self._ledger = ledger
        self._can_store_states = True
        self._num_gone_seen = 0
        """The number of lost files when `drop_lost` last handled them; -1 if it must look again."""
        self._find()

    @property
    def num_bytes(self) -> int:
        """Bytes of the model's files."""
        return self._disk.num_bytes

    @property
    def num_tokens(self) -> int:
        """Number of distinct tokens with state on disk."""
        return sum(len(run.ids) for run in self._tree.runs() if run.kept.is_on_disk)

    @property
    def can_write(self) -> bool:
        return self._disk.can_write

    # --- finding -------------------------------------------------------------------------------------------

    def _find(self) -> None:
        attached: dict[str, KeptRun] = {}
        for file, stretch in self._disk.find():
            above = self._run_before(attached, stretch)
            if above is not None:
                run = self._attach(file, stretch, above)
                if run is not None:
                    attached[file.name] = run

    def _run_before(self, attached: dict[str, KeptRun], stretch: Stretch) -> KeptRun | None:
        """Return the run that ends where a stretch begins; None if it is not in the tree."""
        if stretch.after is None or stretch.start == 0:
            return self._tree.root if stretch.after is None and stretch.start == 0 else None
        run = attached.get(stretch.after)
        while run is not None and run.start >= stretch.start > 0:
            run = run.parent
        if run is None or run.end < stretch.start:
            return None
        return self._tree.cut(run, stretch.start) if stretch.start < run.end else run

    def _attach(self, file: StoredFile, stretch: Stretch, above: KeptRun) -> KeptRun | None:
        """Attach a file to its runs. Return the last run; None if another file has positions of the same tokens.

        Two programs may have processed the same tokens with results that differ in the last bits. These are never
        mixed.
        """
        num_own = cast("int", stretch.about["num_own"])
        stacks = cast("list[bool]", stretch.about["stacks"])
        end = stretch.start + len(stretch.ids)
        if len(stacks) != self._ledger.num_stacks or not 0 <= num_own <= end:
            return None
        own = [*_upwards(above, end - num_own), *self._tree.path_below(above, stretch.ids)[0]] if num_own else []
        for run in own:
            if any(is_there and stored is not None for is_there, stored in zip(stacks, run.kept.stored, strict=True)):
                return None
        runs = self._tree.insert_below(above, stretch.ids, Kept(self._ledger))
        for run in runs:
            if run.kept.home is None:
                run.kept.home = Location(file, run.start - stretch.start)
        last = runs[-1] if runs else above
        if num_own:
            self._attach_positions(file, last, end - num_own, stacks)
        else:
            last.kept.stored_states.setdefault(len(last.ids), StoredStates(file, tuple(stacks)))
        return last

    def _attach_positions(self, file: StoredFile, last: KeptRun, start: int, stacks: Sequence[bool]) -> None:
        """Note that a file has the positions of the runs from `start` to `last`."""
        for run in _upwards(last, start):
            if run.start < start:
                self._tree.cut(run, start)
            for index, is_there in enumerate(stacks):
                if is_there:
                    run.kept.stored[index] = Location(file, run.start - start)

    # --- writing -------------------------------------------------------------------------------------------

    def max_tokens(self, positions: Sequence[Arrays | None], num_tokens: int) -> int:
        """Return how many tokens a file should have at most, given the positions of `num_tokens` tokens."""
        bytes_per_token = sum(each.nbytes for each in arrays_in(list(positions))) // num_tokens
        return min(max(_FILE_BYTES // max(bytes_per_token, 1), _MIN_TOKENS), _MAX_TOKENS)

    def save_positions(self, run: KeptRun, positions: Sequence[Arrays | None]) -> bool:
        """Write a run's positions, one value for each stack (None to skip it). Return whether they are on disk now."""
        after, num_after, start, ids = self._parent_file(run)
        about: dict[str, Any] = {"num_own": len(run.ids), "stacks": [each is not None for each in positions]}
        file = self._disk.write(Stretch(after, num_after, start, ids, about), list(positions))
        if file is None:
            return False
        for index, each in enumerate(positions):
            if each is not None:
                run.kept.stored[index] = Location(file, 0)
        self._set_home(run, file, start)
        return True

    def save_states(self, run: KeptRun, at: int) -> bool:
        """Write the states after `at` of a run's tokens. Return whether they are on disk now.

        The run must have a home (`Kept.home`), or end at `at`.
        """
        states = run.kept.states[at]
        if run.kept.home is not None:
            parent = (run.kept.home.file.name, run.kept.home.first + at, run.start + at, as_ids(()))
        else:
            assert at == len(run.ids)
            parent = self._parent_file(run)
        after, num_after, start, ids = parent
        stacks = [state is not None for state in states]
        try:
            stretch = Stretch(after, num_after, start, ids, {"num_own": 0, "stacks": stacks})
            file = self._disk.write(stretch, states)
        except NotStorableError as error:
            _log.warning("The states of this model can't be kept on disk, because they contain %s.", error)
            self._can_store_states = False
            return False
        if file is None:
            return False
        run.kept.stored_states[at] = StoredStates(file, tuple(stacks))
        if ids:
            self._set_home(run, file, start)
        return True

    def unsaved_states(self, run: KeptRun) -> list[int]:
        """Return the positions in a run (numbers of tokens) whose states are in memory but not on disk."""
        if not self._can_store_states:
            return []
        return sorted(at for at in run.kept.states if at not in run.kept.stored_states)

    def _parent_file(self, run: KeptRun | None) -> tuple[str | None, int, int, array[int]]:
        """Return the parent of a run's new file:

        its name, its tokens used, their end, and the ids up to the run's end.
        """
        between: list[KeptRun] = []
        while run is not None and run.parent is not None and run.kept.home is None:
            between.append(run)
            run = run.parent
        ids = as_ids(())
        for each in reversed(between):
            ids.extend(each.ids)
        if run is None or run.kept.home is None:
            return None, 0, 0, ids
        return run.kept.home.file.name, run.kept.home.first + len(run.ids), run.end, ids

    def _set_home(self, run: KeptRun | None, file: StoredFile, start: int) -> None:
        """Note that `file` holds the ids of the runs from `start` to `run`."""
        while run is not None and run.parent is not None and run.start >= start:
            if run.kept.home is None:
                run.kept.home = Location(file, run.start - start)
            run = run.parent

    # --- reading -------------------------------------------------------------------------------------------

    def load(self, wanted: Iterable[tuple[KeptRun, int]]) -> bool:
        """Load the positions of `wanted`, pairs of a run and the index of a stack. Return whether all could be read."""
        by_file: dict[StoredFile, list[tuple[KeptRun, int, int]]] = {}
        for run, index in wanted:
            location = run.kept.stored[index]
            assert location is not None
            by_file.setdefault(location.file, []).append((run, index, location.first))
        for parts, positions in zip(by_file.values(), self._disk.read(list(by_file)), strict=True):
            if positions is None:
                return False
            for run, index, first in parts:
                part = positions[index]
                if len(run.ids) != num_positions_in(part):
                    part = slice_positions(part, first, first + len(run.ids))
                mx.eval(arrays_in(part))
                run.kept.set_part(index, part)
        return True

    def load_states(self, run: KeptRun, at: int) -> bool:
        """Load the states after `at` of a run's tokens. Return whether they could be read."""
        (states,) = self._disk.read([run.kept.stored_states[at].file])
        if states is None:
            return False
        run.kept.set_states(at, states)
        return True

    def note_use(self, runs: Sequence[KeptRun]) -> None:
        """Note that these runs, a path from the root, are in use."""
        for run in runs:
            run.kept.drop_gone()
        self._disk.touch([file for run in runs for file in run.kept.files()])

    def drop_lost(self, in_use: Iterable[KeptRun]) -> None:
        """Drop the runs whose positions are neither in memory nor on disk any longer, and all their descendants."""
        num_gone = self._disk.num_gone
        if num_gone == self._num_gone_seen:
            return
        staying = set(in_use)
        touched = [run for run in self._tree.runs() if _has_lost_positions(run.kept)]
        lost = [run for run in touched if not run.kept.num_bytes and run not in staying]
        # Runs that are in use or in memory are handled later, when they no longer are.
        self._num_gone_seen = num_gone if len(lost) == len(touched) else -1
        removed: set[StoredFile] = set()
        waiting = lost
        while waiting:
            run = waiting.pop()
            removed.update(run.kept.files())
            run.kept.drop_arrays()
            run.kept.drop_stored()
            waiting.extend(run.children.values())
        for run in self._tree.runs():
            removed.difference_update(run.kept.files())
        for file in removed:
            self._disk.remove(file)


def _upwards(run: KeptRun | None, start: int) -> list[KeptRun]:
    """Return a run and its ancestors, up to the last one with tokens after the position `start`."""
    runs: list[KeptRun] = []
    while run is not None and run.parent is not None and run.end > start:
        runs.append(run)
        run = run.parent
    return runs


def _has_lost_positions(kept: Kept) -> bool:
    return any(location is not None and location.file.is_gone for location in kept.stored)
