"""The branch in use: the path of the token tree whose state is in the working layers.

New tokens are added only to the layers; `settle` enters them into the tree. A run is a sequence of tokens in the tree
without a fork. When another branch is used, the positions that the two don't share are moved from the layers to the
tree's runs, and moved back when the branch is used again. Layers with a state (see `layers.py`) can go back only to
positions at which their state was kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence

import mlx.core as mx

from worker.cache.disk_tier import DiskTier, KeptRun
from worker.cache.kept import Kept, Ledger, States
from worker.cache.token_tree import TokenTree, as_ids, num_common
from worker.layers import Arrays, Layers, Stack, arrays_in, copy_of, num_bytes_in, stacks_of

MAX_MARKS = 8
"""An answer may be cut back by this many tokens; few stop strings have more."""


class BranchInUse:
    """The working layers, and the path in the tree that they hold."""

    def __init__(self, layers: Layers, tree: TokenTree[Kept], ledger: Ledger, tier: DiskTier | None) -> None:
        self._tree = tree
        self._ledger = ledger
        self._tier = tier
        self.begin(layers)

    def begin(self, layers: Layers) -> None:
        """Begin an empty branch in `layers`, which must be new."""
        self.layers = layers
        self.stacks = stacks_of(layers)
        self.token_ids: array[int] = as_ids([])
        """The tokens that the working layers hold."""
        self.path: list[KeptRun] = []
        """The runs of these tokens, up to the last `settle`."""
        self._marks: list[int] = []
        """The last positions at which `mark` was called."""

    @property
    def num_bytes(self) -> int:
        """Bytes of the working layers, including the room reserved for further positions."""
        return num_bytes_in([stack.arrays for stack in self.stacks])

    def needs_keeping(self, length: int) -> bool:
        """Return whether the layers can go back to the position `length` only if a state was kept there."""
        return any(length > stack.max_positions for stack in self.stacks)

    def note_use(self, runs: Sequence[KeptRun]) -> None:
        """Note that these runs, a path from the root, are in use now."""
        for run in runs:
            run.kept.used = self._ledger.clock
        if self._tier is not None:
            self._tier.note_use(runs)

    # --- reading -------------------------------------------------------------------------------------------

    def make_room(self, num_tokens: int) -> None:
        """Prepare for `num_tokens` new tokens, with which sliding windows may lose their first positions."""
        length = len(self.token_ids)
        for index, stack in enumerate(self.stacks):
            if length + num_tokens > stack.max_positions and stack.num_positions:
                self.settle()
                self._take_out(index, self.path)

    def extend(self, token_ids: Sequence[int]) -> None:
        """Note that these tokens were added to the working layers."""
        self.token_ids.extend(token_ids)

    def settle(self) -> None:
        """Enter the tokens that were added since the last call into the tree."""
        last = self.path[-1] if self.path else self._tree.root
        settled = last.end
        if settled == len(self.token_ids):
            return
        new_ids = self.token_ids[settled:]
        if last is not self._tree.root and not last.children and _is_in_layers_alone(last.kept):
            # The whole run is in the layers, so it can grow, and stays one run however often this is called.
            self._tree.grow(last, new_ids)
            return
        runs = self._tree.insert_below(last, new_ids, self._ledger.nothing())
        self.path += runs
        self.note_use(self.path)
        for index, stack in enumerate(self.stacks):
            self._adopt(index, [run for run in runs if stack.num_positions >= run.end])

    def _adopt(self, index: int, runs: list[KeptRun]) -> None:
        """Replace a stack's positions of `runs`, which were just computed, by those that were kept before.

        They were computed again because no state was kept after them. The new results may differ in the last bits, but
        the branches that continue these runs were computed with the kept positions.
        """
        stack = self.stacks[index]
        kept = [run for run in runs if run.kept.parts[index] is not None or run.kept.is_stored(index)]
        if not kept:
            return
        from_disk = [(run, index) for run in kept if run.kept.parts[index] is None]
        is_whole = self._tier is None or self._tier.load(from_disk)
        if is_whole and runs[-1].end == stack.num_positions:
            first = runs.index(kept[0])
            parts = [
                stack.positions(run.start, run.end) if (part := run.kept.parts[index]) is None else part
                for run in runs[first:]
            ]
            stack.set_positions(runs[first].start, parts)
            mx.eval(arrays_in(stack.arrays))
        for run in kept:
            run.kept.set_part(index, None)

    def can_drop(self, num_tokens: int) -> bool:
        """Return whether `num_tokens` more tokens can be added and dropped again, because no layer has a state."""
        length = len(self.token_ids)
        return all(
            stack.num_positions == length and length + num_tokens <= stack.max_positions for stack in self.stacks
        )

    def drop_beyond(self) -> None:
        """Drop the positions after `token_ids`."""
        length = len(self.token_ids)
        for stack in self.stacks:
            if stack.num_positions > length:
                stack.set_positions(length, [])

    def take_back(self, num_tokens: int) -> bool:
        """Drop the last tokens in place. Return whether this was possible.

        It is possible if these tokens are only in the layers, and layers with a state were marked before them.
        """
        length = len(self.token_ids) - num_tokens
        last = self.path[-1] if self.path else self._tree.root
        if last.end > length and (last.start >= length or last.children or not _is_in_layers_alone(last.kept)):
            return False
        found = self._run_with_states(length)
        states = [None] * len(self.stacks) if found is None else found[0].kept.states[found[1]]
        if not all(
            state is not None or stack.num_positions == len(self.token_ids)
            for stack, state in zip(self.stacks, states, strict=True)
        ):
            return False
        # Don't drop positions at which states were kept permanently.
        if last.end > length and any(
            at > length - last.start and last.start + at not in self._marks for at in last.kept.states
        ):
            return False
        for mark in [mark for mark in self._marks if mark > length]:
            self._drop_mark(mark)
            self._marks.remove(mark)
        if last.end > length:
            self._tree.shrink(last, length - last.start)
        for stack, state in zip(self.stacks, states, strict=True):
            if state is not None:
                stack.set_state(state)
            else:
                stack.set_positions(length, [])
        del self.token_ids[length:]
        return True

    # --- its runs ------------------------------------------------------------------------------------------

    def insert(self, ids: Sequence[int]) -> list[KeptRun]:
        """Add the runs (nodes) that the tree lacks for `ids`. Return the runs that together hold exactly `ids`."""
        runs = self._tree.insert(ids, self._ledger.nothing())
        self.path, _ = self._tree.path(self.token_ids)  # One of its runs may have been cut.
        return runs

    def cut(self, run: KeptRun, position: int) -> KeptRun:
        """Cut any run of the tree, whether or not it is in use. Return its first part."""
        index = self._index_of(run)
        upper = self._tree.cut(run, position)
        if index is not None:
            self.path.insert(index, upper)
        return upper

    def has_positions(self, run: KeptRun, index: int) -> bool:
        """Return whether a run's positions for a stack are in memory, in the tree or in the working layers."""
        if run.kept.parts[index] is not None:
            return True
        return self.stacks[index].num_positions >= run.end and self._index_of(run) is not None

    def positions(self, run: KeptRun, index: int) -> Arrays:
        """Return a run's positions for a stack, which must be in memory."""
        part = run.kept.parts[index]
        return self.stacks[index].positions(run.start, run.end) if part is None else part

    def _index_of(self, run: KeptRun) -> int | None:
        """Return the index of a run in `path`; None if it is not in use."""
        index = bisect_left(self.path, run.start, key=lambda each: each.start)
        return index if index < len(self.path) and self.path[index] is run else None

    # --- leaving and coming back ---------------------------------------------------------------------------

    def leave(self, num_tokens: int) -> None:
        """Move the positions after the first `num_tokens` from the working layers to the tree's runs."""
        for run in self.path:
            if run.start < num_tokens < run.end:
                self.cut(run, num_tokens)
                break
        left = [run for run in self.path if run.start >= num_tokens]
        for index in range(len(self.stacks)):
            self._take_out(index, left)

    def _take_out(self, index: int, runs: Sequence[KeptRun]) -> None:
        """Copy a stack's positions to the runs to which they belong."""
        stack = self.stacks[index]
        taken = [
            (run, stack.positions(run.start, run.end))
            for run in runs
            if run.kept.parts[index] is None and stack.num_positions >= run.end
        ]
        mx.eval([arrays_in(part) for _, part in taken])
        for run, part in taken:
            run.kept.set_part(index, part)

    def go_to(self, ids: array[int]) -> None:
        """Make the layers hold exactly `ids`, whose state must be in memory. First call `leave`."""
        num_shared = num_common(self.token_ids, ids)
        runs = self._tree.insert(ids, self._ledger.nothing())
        length, last = len(ids), runs[-1]
        states = last.kept.states.get(length - last.start, [None] * len(self.stacks))
        for index, stack in enumerate(self.stacks):
            state = states[index]
            if state is not None:
                self._take_out(index, self.path)  # Also the positions before the fork, because the state replaces them.
                stack.set_state(state)
            else:
                num_own = min(num_shared, stack.num_positions)
                missing = [run for run in runs if run.start >= num_own]
                stack.set_positions(num_own, [run.kept.parts[index] for run in missing])
                for run in missing:
                    run.kept.set_part(index, None)
        mx.eval([arrays_in(stack.arrays) for stack in self.stacks])
        self.token_ids, self.path = ids[:], runs

    def take_over(self, ids: array[int], layers: Layers, marks: Iterable[tuple[int, States]]) -> None:
        """Use other layers, which hold exactly `ids`. `marks` are states by position, as if `mark` had been called."""
        self.leave(num_common(self.token_ids, ids))
        stacks = stacks_of(layers)
        for index, stack in enumerate(stacks):
            if not stack.num_positions:
                self._take_out(index, self.path)  # The state replaces the positions from which it was computed.
        self.layers, self.stacks = layers, stacks
        self.token_ids, self.path = ids[:], self._tree.insert(ids, self._ledger.nothing())
        for run in self.path:
            run.kept.used = self._ledger.clock
            for index, stack in enumerate(stacks):
                if stack.num_positions >= run.end:
                    run.kept.set_part(index, None)
        self._marks = []
        for mark, states in marks:
            run = next(run for run in self.path if run.start < mark <= run.end)
            if mark - run.start not in run.kept.states:
                run.kept.set_states(mark - run.start, states)
                self._marks.append(mark)

    # --- keeping states ------------------------------------------------------------------------------------

    def keep_states(self) -> None:
        """Copy the current states if the layers need them to go back to this position."""
        length = len(self.token_ids)
        if self.needs_keeping(length):
            self.settle()
            run = self.path[-1]
            run.kept.set_states(length - run.start, computed(states_of(self.stacks, length, copied=True)))

    def mark(self) -> None:
        """Keep the current states for the next few tokens, without copying them; see `unmark`."""
        length = len(self.token_ids)
        if not self.needs_keeping(length):
            return
        self.settle()
        run = self.path[-1]
        if length - run.start not in run.kept.states:
            run.kept.set_states(length - run.start, states_of(self.stacks, length, copied=False))
            self._marks.append(length)
        if len(self._marks) > MAX_MARKS:
            self._drop_mark(self._marks.pop(0))

    def unmark(self, length: int) -> None:
        """Keep the last marked position up to `length`, and clear the other marks."""
        self.settle()
        marks, self._marks = self._marks, []
        kept = max((mark for mark in marks if mark <= length), default=None)
        for mark in marks:
            if mark != kept:
                self._drop_mark(mark)
        if kept is not None and (found := self._run_with_states(kept)) is not None:
            run, at = found
            run.kept.set_states(at, computed(copy_of(run.kept.states[at])))

    def drop_marks(self) -> None:
        """Clear all marked positions."""
        for mark in self._marks:
            self._drop_mark(mark)
        self._marks = []

    def keep_marks(self) -> None:
        """Keep all marked positions permanently."""
        self._marks = []

    def _drop_mark(self, mark: int) -> None:
        found = self._run_with_states(mark)
        if found is not None:
            found[0].kept.drop_states(found[1])

    def _run_with_states(self, length: int) -> tuple[KeptRun, int] | None:
        for run in reversed(self.path):
            if run.start < length <= run.end:
                return (run, length - run.start) if length - run.start in run.kept.states else None
        return None


def states_of(stacks: Sequence[Stack], length: int, *, copied: bool) -> States:
    """Return the states of stacks that hold `length` tokens, lazily."""
    return [stack.state(copied=copied) if length > stack.max_positions else None for stack in stacks]


def computed(states: States) -> States:
    """Evaluate states and return them. Lazy states would keep all their inputs alive."""
    mx.eval(arrays_in(states))
    return states


def _is_in_layers_alone(kept: Kept) -> bool:
    """Return whether a run's positions are only in the layers, with no copy in memory or in a file.

    Only then may the run grow or lose tokens: copies are never changed.
    """
    return kept.home is None and not any(part is not None for part in (*kept.parts, *kept.stored))
