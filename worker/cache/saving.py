"""What is written to disk when: before it leaves memory, and while nobody waits; it does not know which file has what.

A run is written after those before it, in files of a bearable length, its states after its positions. What found no
room is not tried again before it is used again.
"""

from __future__ import annotations

from worker.cache.branch_in_use import BranchInUse
from worker.cache.disk_tier import DiskTier, KeptRun
from worker.cache.kept import Kept
from worker.cache.token_tree import TokenTree


class Saving:
    """Writes what is kept, a file at a time."""

    def __init__(self, tree: TokenTree[Kept], branch: BranchInUse, tier: DiskTier | None) -> None:
        """Without a tier nothing is ever written."""
        self._tree = tree
        self._branch = branch
        self._tier = tier

    def save_some(self) -> bool:
        """Write a file of what is not on disk yet, what was used longest ago first; return whether there was any."""
        waiting = [run for run in self._tree.runs() if self._is_unsaved(run)]
        if not waiting:
            return False
        self._save_next(min(waiting, key=lambda run: (run.kept.used, run.start)))
        return True

    def saved(self, run: KeptRun) -> list[KeptRun]:
        """Write what is not on disk of a run and of those before it; return the runs that it is now, the last first."""
        start = run.start
        while self._is_unsaved(run):
            self._save_next(run)
        pieces = [run]
        while pieces[-1].start > start and (above := pieces[-1].parent) is not None:
            pieces.append(above)
        return pieces

    def save_states_in_use(self) -> None:
        """Write the runs of the branch in use that have states, with these."""
        for run in list(self._branch.path):
            if run.kept.states:
                self.saved(run)

    def _is_unsaved(self, run: KeptRun) -> bool:
        """Whether anything of a run could be written that was not."""
        if self._tier is None or not self._tier.can_write or run.kept.is_refused:
            return False
        return bool(self._tier.unsaved_states(run)) or any(
            place is None and self._branch.has_positions(run, index) for index, place in enumerate(run.kept.stored)
        )

    def _save_next(self, run: KeptRun) -> None:
        """Write a file of the first run that has something unsaved, of those before `run` and itself."""
        way = [run]
        while (above := way[-1].parent) is not None and above is not self._tree.root:
            way.append(above)
        for each in reversed(way):
            if self._is_unsaved(each):
                self._save_one(each)
                return
            if each.kept.is_refused or each.kept.has_lost:
                # Without what is before it, it would never be found.
                run.kept.is_refused = True
                return

    def _save_one(self, run: KeptRun) -> None:
        assert self._tier is not None
        parts = [
            self._branch.positions(run, index) if place is None and self._branch.has_positions(run, index) else None
            for index, place in enumerate(run.kept.stored)
        ]
        if any(part is not None for part in parts):
            most = self._tier.most_tokens(parts, len(run.ids))
            if len(run.ids) > most:
                # In the middle: what is in memory is copied with each cut.
                num_files = -(-len(run.ids) // most)
                self._save_one(self._branch.cut(run, run.start + num_files // 2 * most))
            elif not self._tier.save_positions(run, parts):
                run.kept.is_refused = True
            return
        at = self._tier.unsaved_states(run)[0]
        if run.kept.home is None and at < len(run.ids):
            run = self._branch.cut(run, run.start + at)
        if not self._tier.save_states(run, at):
            run.kept.is_refused = True
