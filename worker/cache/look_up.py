"""Looks up how many tokens of a prompt are cached, and where. Changes nothing."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from worker.cache.branch_in_use import BranchInUse
from worker.cache.disk_tier import KeptRun
from worker.cache.kept import Kept
from worker.cache.stored_file import StoredFile
from worker.cache.token_tree import TokenTree, num_common


class RestorePlan(NamedTuple):
    """The parts of the cache that the model's layers need before they can continue after some cached ids."""

    last: KeptRun
    """The run in which the ids end."""
    at: int
    """How many of that run's tokens belong to the ids."""
    has_state: Sequence[bool]
    """For each stack, whether a state is cached at the end of the ids."""
    missing: list[tuple[KeptRun, int]]
    """The runs and stacks whose positions are needed but are not in memory."""

    @property
    def needs_states_from_disk(self) -> bool:
        return any(self.has_state) and self.at not in self.last.kept.states

    @property
    def files(self) -> set[StoredFile]:
        """The files that must be read."""
        files = {location.file for run, index in self.missing if (location := run.kept.stored[index]) is not None}
        return files | {self.last.kept.stored_states[self.at].file} if self.needs_states_from_disk else files


class LookUp:
    """Looks up prompts in the tree and in the branch in use, which must be settled."""

    def __init__(self, tree: TokenTree[Kept], branch: BranchInUse) -> None:
        self._tree = tree
        self._branch = branch

    def longest(self, prompt_ids: array[int], *, with_disk: bool = True) -> int:
        """Return how many tokens at the beginning of a prompt are cached; at most all but the last one."""
        ids, stacks = prompt_ids[:-1], self._branch.stacks
        num_shared = num_common(self._branch.token_ids, ids)
        runs, num_known = self._tree.path(ids)
        reaches = [self._reach(index, num_shared, runs, num_known, with_disk=with_disk) for index in range(len(stacks))]
        best = min(min(reach, stack.max_positions) for reach, stack in zip(reaches, stacks, strict=True))
        if num_shared == len(self._branch.token_ids):
            best = max(best, num_shared)
        for run in reversed(runs):
            for num_tokens, has_state in run.kept.state_positions(with_disk=with_disk):
                length = run.start + num_tokens
                if best < length <= num_known and all(
                    is_there or length <= reach for is_there, reach in zip(has_state, reaches, strict=True)
                ):
                    best = length
        return best

    def _reach(self, index: int, num_shared: int, runs: Sequence[KeptRun], num_known: int, *, with_disk: bool) -> int:
        """Return the number of tokens along `runs` whose positions are cached for a stack, up to the first gap."""
        reach = min(num_shared, self._branch.stacks[index].num_positions)
        for run in runs:
            if run.end > reach:
                if run.kept.parts[index] is None and not (with_disk and run.kept.is_stored(index)):
                    break
                reach = run.end
        return min(reach, num_known)

    def restore_plan(self, ids: array[int]) -> RestorePlan:
        """Return what the model's layers need before they can continue after `ids`, which must be cached."""
        runs, _ = self._tree.path(ids)
        last, at = runs[-1], len(ids) - runs[-1].start
        stacks = self._branch.stacks
        has_state = dict(last.kept.state_positions(with_disk=True)).get(at, [False] * len(stacks))
        num_shared = num_common(self._branch.token_ids, ids)
        missing: list[tuple[KeptRun, int]] = []
        for index, stack in enumerate(stacks):
            if not has_state[index]:
                num_own = min(num_shared, stack.num_positions)
                missing += [(run, index) for run in runs if run.start >= num_own and run.kept.parts[index] is None]
        return RestorePlan(last, at, has_state, missing)
