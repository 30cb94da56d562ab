"""What leaves memory when there is too much of it, and what is forgotten then; how it is written it does not know.

What was used longest ago goes first, and its last tokens before its first. The branch in use stays; only that a long
one loses some of the states along it, before it drives out all others.
"""

from __future__ import annotations

from collections.abc import Sequence

from worker.cache.branch_in_use import BranchInUse
from worker.cache.disk_tier import KeptRun
from worker.cache.kept import Kept, Ledger
from worker.cache.saving import Saving
from worker.cache.token_tree import TokenTree

_NUM_LATEST = 8
"""Places at the end of the branch in use whose states stay as long as can be."""


class Eviction:
    """Keeps what is held in memory to a number of bytes."""

    def __init__(self, tree: TokenTree[Kept], branch: BranchInUse, ledger: Ledger, saving: Saving) -> None:
        self._tree = tree
        self._branch = branch
        self._ledger = ledger
        self._saving = saving

    def keep_to(self, most_bytes: int, needed: Sequence[KeptRun] = ()) -> None:
        """Hold no more than so many bytes, working layers included, if that can be.

        `needed`: runs that stay, besides those in use.
        """
        most = most_bytes - self._branch.num_bytes
        if self._ledger.num_bytes <= most:
            return
        if not needed:
            self._thin_out_states(most)
        staying = {*self._branch.path, *needed}
        idle = [run for run in self._tree.runs() if run.kept.num_bytes and run not in staying]
        # A run is never used later than those before it.
        for run in sorted(idle, key=lambda run: (run.kept.used, -run.start)):
            if self._ledger.num_bytes <= most:
                break
            for piece in self._saving.saved(run):
                if self._ledger.num_bytes > most:
                    piece.kept.drop_arrays()
        if self._ledger.num_bytes > most and not needed:
            # The branch in use stays; only that one might want to come back to places far up in it.
            self._saving.save_states_in_use()
            for run, at in self._places_in_use()[:-1]:
                if self._ledger.num_bytes <= most:
                    break
                run.kept.drop_states(at)
        self.prune()

    def prune(self) -> None:
        """Forget runs of which nothing is held."""
        in_use = set(self._branch.path)
        for run in reversed(list(self._tree.runs())):  # each after those that follow it
            if not (run.children or run.kept.num_bytes or run in in_use or run.kept.is_on_disk):
                self._tree.remove(run)

    # --- the states along the branch in use ----------------------------------------------------------------

    def _thin_out_states(self, most: int) -> None:
        """Drop every second state of the branch in use until no more than `most` bytes are held besides the layers.

        Otherwise a long conversation, with a state at each of its messages, would drive out all others. The latest
        states stay, and those where the branch was forked.
        """
        if len(self._far_places()) < 2:
            return
        self._saving.save_states_in_use()
        far = self._far_places()
        while self._ledger.num_bytes > most and len(far) > 1:
            for run, at in far[::2]:
                run.kept.drop_states(at)
            far = far[1::2]

    def _far_places(self) -> list[tuple[KeptRun, int]]:
        places = self._places_in_use()[:-_NUM_LATEST]
        return [(run, at) for run, at in places if at < len(run.ids) or len(run.children) < 2]

    def _places_in_use(self) -> list[tuple[KeptRun, int]]:
        """Where the branch in use has states in memory, from its beginning on."""
        return [(run, at) for run in self._branch.path for at in sorted(run.kept.states)]
