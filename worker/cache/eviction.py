"""Evicts cached state from memory, after saving it to disk.

The least recently used branches are evicted first, and their last tokens before their first. The branch in use stays,
but a long one loses some of its kept states before it displaces all other branches. A run (tokens without a fork
between them) is saved after its parents, in files of limited size, its states after its positions.
"""

from __future__ import annotations

from collections.abc import Sequence

from worker.cache.branch_in_use import BranchInUse
from worker.cache.disk_tier import DiskTier, KeptRun
from worker.cache.kept import Kept, Ledger
from worker.cache.token_tree import TokenTree

_NUM_LATEST = 8
"""The last kept states of the branch in use, which stay as long as possible."""


class Saving:
    """Writes kept state to disk, one file at a time."""

    def __init__(self, tree: TokenTree[Kept], branch: BranchInUse, tier: DiskTier | None) -> None:
        """`tier`: None means that nothing is written."""
        self._tree = tree
        self._branch = branch
        self._tier = tier

    def save_some(self) -> bool:
        """Write one file of state that is not on disk, least recently used first. Return whether there was any."""
        waiting = [run for run in self._tree.runs() if self._is_unsaved(run)]
        if not waiting:
            return False
        self._save_next(min(waiting, key=lambda run: (run.kept.used, run.start)))
        return True

    def saved(self, run: KeptRun) -> list[KeptRun]:
        """Write a run and its parents if they are not on disk.

        Return the runs into which it was cut, the last one first.
        """
        start = run.start
        while self._is_unsaved(run):
            self._save_next(run)
        pieces = [run]
        while pieces[-1].start > start and (above := pieces[-1].parent) is not None:
            pieces.append(above)
        return pieces

    def save_states_in_use(self) -> None:
        """Write the runs of the branch in use that have states."""
        for run in list(self._branch.path):
            if run.kept.states:
                self.saved(run)

    def _is_unsaved(self, run: KeptRun) -> bool:
        """Return whether a part of a run is not on disk and can be written."""
        if self._tier is None or not self._tier.can_write or run.kept.is_refused:
            return False
        return bool(self._tier.unsaved_states(run)) or any(
            place is None and self._branch.has_positions(run, index) for index, place in enumerate(run.kept.stored)
        )

    def _save_next(self, run: KeptRun) -> None:
        """Write one file of the first unsaved run on the path to `run`."""
        path = [run]
        while (above := path[-1].parent) is not None and above is not self._tree.root:
            path.append(above)
        for each in reversed(path):
            if self._is_unsaved(each):
                self._save_one(each)
                return
            if each.kept.is_refused or each.kept.has_lost:
                # A file whose parent is missing would never be found again.
                run.kept.is_refused = True
                return

    def _save_one(self, run: KeptRun) -> None:
        assert self._tier is not None
        parts = [
            self._branch.positions(run, index) if place is None and self._branch.has_positions(run, index) else None
            for index, place in enumerate(run.kept.stored)
        ]
        if any(part is not None for part in parts):
            max_tokens = self._tier.max_tokens(parts, len(run.ids))
            if len(run.ids) > max_tokens:
                # Cut near the middle, because each cut copies what is in memory.
                num_files = -(-len(run.ids) // max_tokens)
                self._save_one(self._branch.cut(run, run.start + num_files // 2 * max_tokens))
            elif not self._tier.save_positions(run, parts):
                run.kept.is_refused = True
            return
        at = self._tier.unsaved_states(run)[0]
        if run.kept.home is None and at < len(run.ids):
            run = self._branch.cut(run, run.start + at)
        if not self._tier.save_states(run, at):
            run.kept.is_refused = True


class Eviction:
    """Keeps the cache within a number of bytes of memory."""

    def __init__(self, tree: TokenTree[Kept], branch: BranchInUse, ledger: Ledger, saving: Saving) -> None:
        self._tree = tree
        self._branch = branch
        self._ledger = ledger
        self._saving = saving

    def keep_to(self, max_bytes: int, needed: Sequence[KeptRun] = ()) -> None:
        """Evict until at most `max_bytes` are in memory, working layers included, as far as possible.

        The runs in use and those in `needed` are not evicted.
        """
        limit = max_bytes - self._branch.num_bytes
        if self._ledger.num_bytes <= limit:
            return
        if not needed:
            self._thin_out_states(limit)
        staying = {*self._branch.path, *needed}
        idle = [run for run in self._tree.runs() if run.kept.num_bytes and run not in staying]
        # A run is never used later than its parents.
        for run in sorted(idle, key=lambda run: (run.kept.used, -run.start)):
            if self._ledger.num_bytes <= limit:
                break
            for piece in self._saving.saved(run):
                if self._ledger.num_bytes > limit:
                    piece.kept.drop_arrays()
        if self._ledger.num_bytes > limit and not needed:
            # The branch in use stays, but loses states, at which it could be forked.
            self._saving.save_states_in_use()
            for run, at in self._states_in_use()[:-1]:
                if self._ledger.num_bytes <= limit:
                    break
                run.kept.drop_states(at)
        self.prune()

    def prune(self) -> None:
        """Remove the runs that have no cached data left."""
        in_use = set(self._branch.path)
        for run in reversed(list(self._tree.runs())):  # Children before parents.
            if not (run.children or run.kept.num_bytes or run in in_use or run.kept.is_on_disk):
                self._tree.remove(run)

    # --- the states along the branch in use ----------------------------------------------------------------

    def _thin_out_states(self, limit: int) -> None:
        """Drop every second state of the branch in use until at most `limit` bytes are in memory besides the layers.

        Otherwise a long conversation, with a state at each message, would displace all others. The latest states and
        those at forks are kept.
        """
        if len(self._early_states()) < 2:
            return
        self._saving.save_states_in_use()
        far = self._early_states()
        while self._ledger.num_bytes > limit and len(far) > 1:
            for run, at in far[::2]:
                run.kept.drop_states(at)
            far = far[1::2]

    def _early_states(self) -> list[tuple[KeptRun, int]]:
        """Return the positions of the states in use, without the latest ones and those at forks."""
        states = self._states_in_use()[:-_NUM_LATEST]
        return [(run, at) for run, at in states if at < len(run.ids) or len(run.children) < 2]

    def _states_in_use(self) -> list[tuple[KeptRun, int]]:
        """Return the positions at which the branch in use has states in memory, from the start on."""
        return [(run, at) for run in self._branch.path for at in sorted(run.kept.states)]
