"""The token tree on disk: which files hold what of its runs, written once and found again; it evicts nothing.

Positions of a run are one file, states after a token another. A run is written after those before it, and each file
names the one before: what is found again is exactly what was computed together. Where a file is lost, all that was
computed from it is forgotten, too: read again, its tokens' positions would not be the same to the last bit.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

import mlx.core as mx

from worker.cache.array_file import NotStorableError
from worker.cache.disk_cache import DiskCache
from worker.cache.kept import Kept, Ledger, Place, StoredStates
from worker.cache.stored_file import StoredFile, Stretch
from worker.cache.token_tree import Run, TokenTree, as_ids
from worker.layers import Arrays, arrays_in, num_positions_in, stretch_of

_log = logging.getLogger(__name__)

KeptRun: TypeAlias = "Run[Kept]"

_FILE_BYTES = 16 << 20
"""A file of positions is no longer than this, so that writing one is short..."""
_FEWEST, _MOST = 64, 2048
"""...but not shorter or longer than so many tokens, if there are as many."""


class DiskTier:
    """What lies on disk of one tree."""

    def __init__(self, disk: DiskCache, tree: TokenTree[Kept], ledger: Ledger) -> None:
        """Find what was stored before."""
        self._disk = disk
        self._tree = tree
        self._ledger = ledger
        self._can_store_states = True
        self._num_looked_after = 0
        """So many files were gone when what was lost with them was forgotten."""
        self._find()

    @property
    def num_bytes(self) -> int:
        """Bytes of the model's files."""
        return self._disk.num_bytes

    @property
    def num_tokens(self) -> int:
        """Distinct tokens of which something is on disk."""
        return sum(len(run.ids) for run in self._tree.runs() if run.kept.is_on_disk)

    @property
    def can_write(self) -> bool:
        return self._disk.can_write

    # --- finding -------------------------------------------------------------------------------------------

    def _find(self) -> None:
        placed: dict[str, KeptRun] = {}
        for file, stretch in self._disk.find():
            above = self._run_that_ends(placed, stretch)
            if above is not None:
                run = self._attach(file, stretch, above)
                if run is not None:
                    placed[file.name] = run

    def _run_that_ends(self, placed: dict[str, KeptRun], stretch: Stretch) -> KeptRun | None:
        """The run that ends where a stretch begins; None if that is not in the tree."""
        if stretch.after is None or stretch.start == 0:
            return self._tree.root if stretch.after is None and stretch.start == 0 else None
        run = placed.get(stretch.after)
        while run is not None and run.start >= stretch.start > 0:
            run = run.parent
        if run is None or run.end < stretch.start:
            return None
        return self._tree.cut(run, stretch.start) if stretch.start < run.end else run

    def _attach(self, file: StoredFile, stretch: Stretch, above: KeptRun) -> KeptRun | None:
        """Lay a file to the runs that it is about; None where another one has the same tokens' positions.

        Two programs may have read the same, with results that differ in their last bits: they are not mixed.
        """
        num_own = cast("int", stretch.about["num_own"])
        stacks = cast("list[bool]", stretch.about["stacks"])
        end = stretch.start + len(stretch.ids)
        if len(stacks) != self._ledger.num_stacks or not 0 <= num_own <= end:
            return None
        own = [*_upwards(above, end - num_own), *self._tree.path_below(above, stretch.ids)[0]] if num_own else []
        for run in own:
            if any(is_there and place is not None for is_there, place in zip(stacks, run.kept.stored, strict=True)):
                return None
        runs = self._tree.insert_below(above, stretch.ids, Kept(self._ledger))
        for run in runs:
            if run.kept.home is None:
                run.kept.home = Place(file, run.start - stretch.start)
        last = runs[-1] if runs else above
        if num_own:
            self._lay(file, last, end - num_own, stacks)
        else:
            last.kept.stored_states.setdefault(len(last.ids), StoredStates(file, tuple(stacks)))
        return last

    def _lay(self, file: StoredFile, last: KeptRun, start: int, stacks: Sequence[bool]) -> None:
        """Say of the runs from `start` on, up to the last one, that their positions are in a file."""
        for run in _upwards(last, start):
            if run.start < start:
                self._tree.cut(run, start)
            for index, is_there in enumerate(stacks):
                if is_there:
                    run.kept.stored[index] = Place(file, run.start - start)

    # --- writing -------------------------------------------------------------------------------------------

    def most_tokens(self, positions: Sequence[Arrays | None], num_tokens: int) -> int:
        """How many tokens of such positions, which are those of `num_tokens`, a file should have at most."""
        bytes_a_token = sum(each.nbytes for each in arrays_in(list(positions))) // num_tokens
        return min(max(_FILE_BYTES // max(bytes_a_token, 1), _FEWEST), _MOST)

    def save_positions(self, run: KeptRun, positions: Sequence[Arrays | None]) -> bool:
        """Write a run's positions, those that are given; return whether they are on disk now."""
        after, num_after, start, ids = self._way_to(run)
        about: dict[str, Any] = {"num_own": len(run.ids), "stacks": [each is not None for each in positions]}
        file = self._disk.write(Stretch(after, num_after, start, ids, about), list(positions))
        if file is None:
            return False
        for index, each in enumerate(positions):
            if each is not None:
                run.kept.stored[index] = Place(file, 0)
        self._settle_down(run, file, start)
        return True

    def save_states(self, run: KeptRun, at: int) -> bool:
        """Write the states after so many of a run's tokens, which has a home or ends there."""
        states = run.kept.states[at]
        if run.kept.home is not None:
            way = (run.kept.home.file.name, run.kept.home.first + at, run.start + at, as_ids(()))
        else:
            assert at == len(run.ids)
            way = self._way_to(run)
        after, num_after, start, ids = way
        stacks = [state is not None for state in states]
        try:
            stretch = Stretch(after, num_after, start, ids, {"num_own": 0, "stacks": stacks})
            file = self._disk.write(stretch, states)
        except NotStorableError as error:
            _log.warning("States of this model can't be kept on disk: they hold %s.", error)
            self._can_store_states = False
            return False
        if file is None:
            return False
        run.kept.stored_states[at] = StoredStates(file, tuple(stacks))
        if ids:
            self._settle_down(run, file, start)
        return True

    def unsaved_states(self, run: KeptRun) -> list[int]:
        """After how many of a run's tokens there are states in memory that were not written."""
        if not self._can_store_states:
            return []
        return sorted(at for at in run.kept.states if at not in run.kept.stored_states)

    def _way_to(self, run: KeptRun | None) -> tuple[str | None, int, int, array[int]]:
        """The file to go on from to a run's end, how many of its tokens, after how many tokens, and what is between."""
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

    def _settle_down(self, run: KeptRun | None, file: StoredFile, start: int) -> None:
        """The runs from `start` on have their ids in `file` now."""
        while run is not None and run.parent is not None and run.start >= start:
            if run.kept.home is None:
                run.kept.home = Place(file, run.start - start)
            run = run.parent

    # --- reading -------------------------------------------------------------------------------------------

    def load(self, wanted: Iterable[tuple[KeptRun, int]]) -> bool:
        """Bring runs' positions of some stacks into memory; return whether all could be read."""
        by_file: dict[StoredFile, list[tuple[KeptRun, int, int]]] = {}
        for run, index in wanted:
            place = run.kept.stored[index]
            assert place is not None
            by_file.setdefault(place.file, []).append((run, index, place.first))
        for places, positions in zip(by_file.values(), self._disk.read(list(by_file)), strict=True):
            if positions is None:
                return False
            for run, index, first in places:
                part = positions[index]
                if len(run.ids) != num_positions_in(part):
                    part = stretch_of(part, first, first + len(run.ids))
                mx.eval(arrays_in(part))
                run.kept.set_part(index, part)
        return True

    def load_states(self, run: KeptRun, at: int) -> bool:
        """Bring the states after so many of a run's tokens into memory; return whether they could be read."""
        (states,) = self._disk.read([run.kept.stored_states[at].file])
        if states is None:
            return False
        run.kept.set_states(at, states)
        return True

    def note_use(self, runs: Sequence[KeptRun]) -> None:
        """These runs, a way from the beginning, are in use."""
        for run in runs:
            run.kept.forget_gone()
        self._disk.touch([file for run in runs for file in run.kept.files()])

    def forget_lost(self, in_use: Iterable[KeptRun]) -> None:
        """Forget the runs whose positions are neither in memory nor on disk any more, and all behind them."""
        num_gone = self._disk.num_gone
        if num_gone == self._num_looked_after:
            return
        staying = set(in_use)
        touched = [run for run in self._tree.runs() if _has_lost_positions(run.kept)]
        lost = [run for run in touched if not run.kept.num_bytes and run not in staying]
        # What is in use, or in memory, is looked after when it is not.
        self._num_looked_after = num_gone if len(lost) == len(touched) else -1
        removed: set[StoredFile] = set()
        waiting = lost
        while waiting:
            run = waiting.pop()
            removed.update(run.kept.files())
            run.kept.drop_arrays()
            run.kept.forget_stored()
            waiting.extend(run.children.values())
        for run in self._tree.runs():
            removed.difference_update(run.kept.files())
        for file in removed:
            self._disk.remove(file)


def _upwards(run: KeptRun | None, start: int) -> list[KeptRun]:
    """The runs from one upwards that have tokens behind `start`."""
    runs: list[KeptRun] = []
    while run is not None and run.parent is not None and run.end > start:
        runs.append(run)
        run = run.parent
    return runs


def _has_lost_positions(kept: Kept) -> bool:
    return any(place is not None and place.file.is_gone for place in kept.stored)
