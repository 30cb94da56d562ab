"""The prompt cache: keeps the state of processed tokens, so that none is processed twice. Independent of messages.

All tokens ever processed form a `TokenTree` of runs (sequences without a fork). The state of the branch in use is in
the working layers; that of all other branches is in the tree's runs. So the state of each distinct token is stored
once, however many branches share it. With a `DiskCache`, state is written before it leaves memory, or when `save_some`
is called. Every cache that uses the same folder finds this state, and reads it when its branch is used.

The parts are `BranchInUse` (public as `PromptCache.branch`), `LookUp`, `Saving` and `Eviction`.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import mlx.core as mx

from worker.cache.branch_in_use import MAX_MARKS, BranchInUse, computed, states_of
from worker.cache.disk_cache import DiskCache
from worker.cache.disk_tier import DiskTier
from worker.cache.eviction import Eviction, Saving
from worker.cache.kept import Kept, Ledger, States
from worker.cache.look_up import LookUp
from worker.cache.token_tree import Provenance, TokenTree, Written, as_ids, num_common
from worker.layers import Layers, arrays_in, copy_of, stacks_of

__all__ = ["MAX_MARKS", "PromptCache", "States", "default_limit_bytes"]


class PromptCache:
    """The cached state of one model."""

    def __init__(
        self, new_layers: Callable[[], Layers], limit_bytes: int | None = None, disk: DiskCache | None = None
    ) -> None:
        self._new_layers = new_layers
        self._disk = disk
        self.limit_bytes = default_limit_bytes() if limit_bytes is None else limit_bytes
        self.reserved_bytes = 0
        """Bytes held elsewhere that count towards the limit."""
        layers = new_layers()
        self._ledger = Ledger(len(stacks_of(layers)))
        self._tree: TokenTree[Kept] = TokenTree(self._ledger.nothing())
        self._tier = None if self._disk is None else DiskTier(self._disk, self._tree, self._ledger)
        self.branch = BranchInUse(layers, self._tree, self._ledger, self._tier)
        self._look_up = LookUp(self._tree, self.branch)
        self._saving = Saving(self._tree, self.branch, self._tier)
        self._eviction = Eviction(self._tree, self.branch, self._ledger, self._saving)

    # --- looking up ----------------------------------------------------------------------------------------

    def num_kept(self, prompt_ids: Sequence[int]) -> int:
        """Return how many of the first `prompt_ids` are cached; at most all but the last one."""
        self.branch.settle()
        return self._look_up.longest(as_ids(prompt_ids))

    def lies_in_memory(self, prompt_ids: Sequence[int], num_kept: int) -> bool:
        """Return whether the tokens that `num_kept` has just counted for a prompt are all in memory."""
        if self._tier is None:
            return True
        self.branch.settle()
        return self._look_up.longest(as_ids(prompt_ids), with_disk=False) == num_kept

    def fork(self, prompt_ids: Sequence[int]) -> int:
        """Return the position at which `prompt_ids` forks from all known sequences. Later prompts may, too."""
        self.branch.settle()
        return self._tree.path(as_ids(prompt_ids)[:-1])[1]

    def beside(self, ids: Sequence[int], max_tokens: int) -> list[array[int]]:
        """Return the branches that fork from `ids`; see `TokenTree.beside`."""
        self.branch.settle()
        return self._tree.beside(ids, max_tokens)

    def note(
        self, ids: Sequence[int], start: int, logprobs: Sequence[float | None], origins: Sequence[Provenance]
    ) -> None:
        """Note log-probabilities and origins of tokens; see `TokenTree.note`. Notes are not written to disk."""
        self.branch.settle()
        self._tree.note(ids, start, logprobs, origins)

    def tokens(self, ids: Sequence[int], table: Sequence[bytes], start: int = 0) -> list[Written]:
        """Return the tokens of `ids` from `start` on with their notes; see `TokenTree.tokens`."""
        self.branch.settle()
        return self._tree.tokens(ids, table, start)

    # --- the branch in use ---------------------------------------------------------------------------------

    def rewind_to(self, prompt_ids: Sequence[int]) -> int:
        """Make the working layers hold the longest cached prefix of `prompt_ids`. Return its length in tokens."""
        branch = self.branch
        branch.settle()
        if self._tier is not None:
            self._tier.drop_lost(branch.path)
        wanted = as_ids(prompt_ids)
        self._ledger.clock += 1
        while (ids := wanted[: self._look_up.longest(wanted)]) != branch.token_ids:
            branch.leave(num_common(branch.token_ids, ids))
            if not ids:
                branch.begin(self._new_layers())
            elif self._load(ids):
                branch.go_to(ids)
        branch.keep_marks()
        branch.note_use(branch.path)
        self._evict()
        mx.clear_cache()
        return len(ids)

    def _load(self, ids: array[int]) -> bool:
        """Load the files that the working layers need for `ids`. Return whether everything could be read."""
        if self._tier is None:
            return True
        runs = self.branch.insert(ids)
        # Note the use first, so that files written meanwhile don't replace the files of these runs.
        self.branch.note_use(runs)
        num_coming = sum(file.num_bytes for file in self._look_up.restore_plan(ids).files)
        self._eviction.keep_to(self._max_bytes - num_coming, runs)
        if self._look_up.longest(ids + as_ids([0])) < len(ids):
            # State evicted from memory has taken its room on disk.
            return False
        plan = self._look_up.restore_plan(ids)
        if plan.needs_states_from_disk and not self._tier.load_states(plan.last, plan.at):
            return False
        return self._tier.load(plan.missing)

    def keep(self) -> None:
        """Keep the state at this position, so that a later prompt can fork here. Then enforce the memory limit.

        Only states are copied; positions are kept anyway.
        """
        self.branch.keep_states()
        self._evict()

    def give_up_path(self) -> None:
        """Use new layers after a failed step, because the content of the old ones is unknown.

        Positions before the failed step are kept if they can still be evaluated.
        """
        with suppress(Exception):
            self.branch.settle()
            self.branch.leave(0)
        self.branch.begin(self._new_layers())
        self._eviction.prune()

    def drop_path(self) -> None:
        """Replace the working layers, and drop the state that only the old ones hold: it must not be used again."""
        self.branch.drop_marks()
        self.branch.begin(self._new_layers())
        self._eviction.prune()

    # --- branches computed in other layers -----------------------------------------------------------------

    def states_of(self, layers: Layers, length: int) -> States | None:
        """Return the states of layers that hold `length` tokens, for `enter`; None if positions are enough."""
        return states_of(stacks_of(layers), length, copied=False) if self.branch.needs_keeping(length) else None

    def enter(self, token_ids: Sequence[int], layers: Layers, earlier: tuple[int, States] | None = None) -> None:
        """Keep a branch from other layers, which hold exactly `token_ids`. Only new positions are copied.

        `earlier` are its states after a smaller number of tokens, at which a later prompt may fork, too.
        """
        self.branch.settle()
        self._ledger.clock += 1
        runs = self.branch.insert(token_ids)
        stacks = stacks_of(layers)
        length = len(token_ids)
        for run in runs:
            run.kept.used = self._ledger.clock
            for index, stack in enumerate(stacks):
                is_kept = self.branch.has_positions(run, index) or run.kept.is_stored(index)
                if not is_kept and stack.num_positions >= run.end:
                    run.kept.set_part(index, stack.positions(run.start, run.end))
            mx.eval(arrays_in(run.kept.parts))
        if self.branch.needs_keeping(length):
            runs[-1].kept.set_states(length - runs[-1].start, computed(states_of(stacks, length, copied=True)))
        if earlier is not None and earlier[0] < length:
            run = next(run for run in runs if run.start < earlier[0] <= run.end)
            run.kept.set_states(earlier[0] - run.start, computed(copy_of(earlier[1])))
        self._evict()

    def num_known(self, token_ids: Sequence[int]) -> int:
        """Return how many of the first `token_ids` were ever processed, whether or not their state is still cached."""
        self.branch.settle()
        return self._tree.path(as_ids(token_ids))[1]

    def drop(self, token_ids: Sequence[int], start: int) -> None:
        """Remove the tokens of a branch from `start` on from memory, except those that other branches share."""
        self.branch.settle()
        runs, num_known = self._tree.path(as_ids(token_ids))
        in_use = set(self.branch.path)
        for run in reversed(runs):
            if run.children or run in in_use or not start < run.end <= num_known:
                break
            if run.start < start:
                self.branch.cut(run, start)
            run.kept.drop_arrays()
            if run.kept.is_on_disk:
                break
            self._tree.remove(run)

    def take(self, token_ids: Sequence[int], layers: Layers, marks: Iterable[tuple[int, States]] = ()) -> None:
        """Make `layers`, which hold exactly `token_ids`, the working layers. The cache owns them from now on.

        `marks` are pairs of a position and the states there, which are kept as if `mark` had been called at that
        position.
        """
        self.branch.settle()
        self._ledger.clock += 1
        self.branch.take_over(as_ids(token_ids), layers, marks)
        self._evict()

    # --- memory and disk -----------------------------------------------------------------------------------

    def reserve(self, num_bytes: int) -> None:
        """Count `num_bytes` held elsewhere towards the limit, and evict idle branches to make room for them."""
        self.reserved_bytes = num_bytes
        self._evict()

    def save_some(self) -> bool:
        """Write one file of state that is not on disk, least recently used first. Return whether there was any."""
        self.branch.settle()
        return self._saving.save_some()

    def _evict(self) -> None:
        self._eviction.keep_to(self._max_bytes)

    @property
    def _max_bytes(self) -> int:
        return self.limit_bytes - self.reserved_bytes

    @property
    def num_tokens(self) -> int:
        """Number of distinct tokens with state in memory."""
        self.branch.settle()
        in_use = set(self.branch.path)
        return sum(len(run.ids) for run in self._tree.runs() if run in in_use or run.kept.num_bytes)

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays in memory."""
        return self.branch.num_bytes + self._ledger.num_bytes

    @property
    def num_disk_tokens(self) -> int:
        """Number of distinct tokens with state on disk, whether or not it is also in memory."""
        self.branch.settle()
        return 0 if self._tier is None else self._tier.num_tokens

    @property
    def num_disk_bytes(self) -> int:
        """Bytes of this model's cache files on disk."""
        return 0 if self._disk is None else self._disk.num_bytes


def default_limit_bytes(weights_bytes: int = 0) -> int:
    """Return a quarter of the device's memory, or half of what the weights leave, whichever is less."""
    device = mx.device_info()
    memory = int(
        device.get("max_recommended_working_set_size")
        or device.get("total_memory")
        or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    )
    return max(min(memory // 4, (memory - weights_bytes) // 2), memory // 32)
