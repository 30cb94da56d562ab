"""The branch in use: the one path of the tree whose positions lie in the working layers; it knows no limit, no file.

What is read goes into the layers alone; it is entered into the tree when somebody asks (`settle`). When another branch
is used, what the two do not share is taken out of the layers and laid to the tree's runs; when the branch comes back,
it is put back. Layers that have a state (`layers.py`) can be taken up where one was kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence

import mlx.core as mx

from worker.cache.disk_tier import DiskTier, KeptRun
from worker.cache.kept import Kept, Ledger, States
from worker.cache.token_tree import TokenTree, as_ids, num_common
from worker.layers import Arrays, Layers, Stack, arrays_in, num_bytes_in, own, stacks_of

MOST_MARKS = 8
"""Tokens at the end of an answer that may yet be cut off with what follows them: few stop strings have more."""


class BranchInUse:
    """The working layers, and where what they hold is in the tree."""

    def __init__(self, layers: Layers, tree: TokenTree[Kept], ledger: Ledger, tier: DiskTier | None) -> None:
        self._tree = tree
        self._ledger = ledger
        self._tier = tier
        self.begin(layers)

    def begin(self, layers: Layers) -> None:
        """Use layers that hold nothing."""
        self.layers = layers
        self.stacks = stacks_of(layers)
        self.token_ids: array[int] = as_ids([])
        """The tokens that the working layers hold."""
        self.path: list[KeptRun] = []
        """The runs that they are, as far as they are settled."""
        self._marks: list[int] = []
        """After how many of them `mark` was called, as far as it counts."""

    @property
    def num_bytes(self) -> int:
        """Bytes of the working layers, with what room there is behind their positions."""
        return num_bytes_in([stack.arrays for stack in self.stacks])

    def needs_keeping(self, length: int) -> bool:
        """Whether one can come back to a place after so many tokens only with the states that there were."""
        return any(length > stack.most_positions for stack in self.stacks)

    def note_use(self, runs: Sequence[KeptRun]) -> None:
        """These runs, a way from the beginning, are used now."""
        for run in runs:
            run.kept.used = self._ledger.clock
        if self._tier is not None:
            self._tier.note_use(runs)

    # --- what is read --------------------------------------------------------------------------------------

    def make_room(self, num_tokens: int) -> None:
        """Say that so many tokens are about to be read: windows may lose their first positions."""
        length = len(self.token_ids)
        for index, stack in enumerate(self.stacks):
            if length + num_tokens > stack.most_positions and stack.num_positions:
                self.settle()
                self._take_out(index, self.path)

    def settle(self) -> None:
        """Enter what was read since into the tree."""
        last = self.path[-1] if self.path else self._tree.root
        settled = last.end
        if settled == len(self.token_ids):
            return
        new_ids = self.token_ids[settled:]
        if last is not self._tree.root and not last.children and _is_in_layers_alone(last.kept):
            # All of it lies in the layers: one run, however often somebody asks meanwhile.
            self._tree.grow(last, new_ids)
            return
        runs = self._tree.insert_below(last, new_ids, self._ledger.nothing())
        self.path += runs
        self.note_use(self.path)
        for index, stack in enumerate(self.stacks):
            self._adopt(index, [run for run in runs if stack.num_positions >= run.end])

    def _adopt(self, index: int, runs: list[KeptRun]) -> None:
        """Let the working layers hold a stack's positions of `runs`, which they have just read, as they were kept.

        They were read again as no states were kept behind them. Read in other company, their last bits may differ;
        but branches that go on from there were computed with what is kept.
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
        """Whether so many tokens more could be read and dropped again: every layer is nothing but positions."""
        length = len(self.token_ids)
        return all(
            stack.num_positions == length and length + num_tokens <= stack.most_positions for stack in self.stacks
        )

    def drop_beyond(self) -> None:
        """Drop positions that were read behind `token_ids`."""
        length = len(self.token_ids)
        for stack in self.stacks:
            if stack.num_positions > length:
                stack.set_positions(length, [])

    def take_back(self, num_tokens: int) -> bool:
        """Forget the last tokens as if they had not been read; return whether that could be done.

        It can where nothing but the layers knows them, and layers with a state were marked before them.
        """
        length = len(self.token_ids) - num_tokens
        last = self.path[-1] if self.path else self._tree.root
        if last.end > length and (last.start >= length or last.children or not _is_in_layers_alone(last.kept)):
            return False
        place = self._run_with_states(length)
        states = [None] * len(self.stacks) if place is None else place[0].kept.states[place[1]]
        if not all(
            state is not None or stack.num_positions == len(self.token_ids)
            for stack, state in zip(self.stacks, states, strict=True)
        ):
            return False
        # One may want to come back to places that were kept for good.
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
        """Return the runs of the tree that spell exactly `ids`, new ones where there were none."""
        runs = self._tree.insert(ids, self._ledger.nothing())
        self.path, _ = self._tree.path(self.token_ids)  # one of its runs may have been cut
        return runs

    def cut(self, run: KeptRun, position: int) -> KeptRun:
        """Cut a run of the tree, in use or not; return its first part."""
        place = self._place(run)
        upper = self._tree.cut(run, position)
        if place is not None:
            self.path.insert(place, upper)
        return upper

    def has_positions(self, run: KeptRun, index: int) -> bool:
        """Whether a stack's positions of any run of the tree are in memory: at the run, or in the working layers."""
        if run.kept.parts[index] is not None:
            return True
        return self.stacks[index].num_positions >= run.end and self._place(run) is not None

    def positions(self, run: KeptRun, index: int) -> Arrays:
        """Return them."""
        part = run.kept.parts[index]
        return self.stacks[index].positions(run.start, run.end) if part is None else part

    def _place(self, run: KeptRun) -> int | None:
        place = bisect_left(self.path, run.start, key=lambda each: each.start)
        return place if place < len(self.path) and self.path[place] is run else None

    # --- leaving and coming back ---------------------------------------------------------------------------

    def leave(self, num_tokens: int) -> None:
        """Take all but the first tokens out of the working layers."""
        for run in self.path:
            if run.start < num_tokens < run.end:
                self.cut(run, num_tokens)
                break
        left = [run for run in self.path if run.start >= num_tokens]
        for index in range(len(self.stacks)):
            self._take_out(index, left)

    def _take_out(self, index: int, runs: Sequence[KeptRun]) -> None:
        """Lay copies of a stack's positions to the runs that they belong to."""
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
        """Hold exactly `ids`, of which all is in memory, once the layers were left but for what the two share."""
        num_shared = num_common(self.token_ids, ids)
        runs = self._tree.insert(ids, self._ledger.nothing())
        length, last = len(ids), runs[-1]
        states = last.kept.states.get(length - last.start, [None] * len(self.stacks))
        for index, stack in enumerate(self.stacks):
            state = states[index]
            if state is not None:
                self._take_out(index, self.path)  # those before the fork, too: the state takes their place
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
        """Use other layers, which hold exactly `ids`; `marks`: as if `mark` had been called after so many of them."""
        self.leave(num_common(self.token_ids, ids))
        stacks = stacks_of(layers)
        for index, stack in enumerate(stacks):
            if not stack.num_positions:
                self._take_out(index, self.path)  # a state takes the place of the positions that it came from
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

    # --- places to come back to ----------------------------------------------------------------------------

    def keep_states(self) -> None:
        """Copy the states that there are now, where positions are not enough to come back."""
        length = len(self.token_ids)
        if self.needs_keeping(length):
            self.settle()
            run = self.path[-1]
            run.kept.set_states(length - run.start, computed(states_of(self.stacks, length, copied=True)))

    def mark(self) -> None:
        """Hold on to the states that there are now for the next few tokens, without copying them; see `unmark`."""
        length = len(self.token_ids)
        if not self.needs_keeping(length):
            return
        self.settle()
        run = self.path[-1]
        if length - run.start not in run.kept.states:
            run.kept.set_states(length - run.start, states_of(self.stacks, length, copied=False))
            self._marks.append(length)
        if len(self._marks) > MOST_MARKS:
            self._drop_mark(self._marks.pop(0))

    def unmark(self, length: int) -> None:
        """Keep the last place marked that is not behind so many tokens, and forget the other ones."""
        self.settle()
        marks, self._marks = self._marks, []
        kept = max((mark for mark in marks if mark <= length), default=None)
        for mark in marks:
            if mark != kept:
                self._drop_mark(mark)
        if kept is not None and (place := self._run_with_states(kept)) is not None:
            run, at = place
            run.kept.set_states(at, computed(own(run.kept.states[at])))

    def keep_marks(self) -> None:
        """Let the places marked be like others that were kept."""
        self._marks = []

    def _drop_mark(self, mark: int) -> None:
        place = self._run_with_states(mark)
        if place is not None:
            place[0].kept.drop_states(place[1])

    def _run_with_states(self, length: int) -> tuple[KeptRun, int] | None:
        for run in reversed(self.path):
            if run.start < length <= run.end:
                return (run, length - run.start) if length - run.start in run.kept.states else None
        return None


def states_of(stacks: Sequence[Stack], length: int, *, copied: bool) -> States:
    """Return the states of stacks that hold so many tokens, lazily."""
    return [stack.state(copied=copied) if length > stack.most_positions else None for stack in stacks]


def computed(states: States) -> States:
    """Return states that are computed: others would keep alive all that they are computed from."""
    mx.eval(arrays_in(states))
    return states


def _is_in_layers_alone(kept: Kept) -> bool:
    """Whether a run's positions are nowhere else: what is written is never changed."""
    return kept.home is None and not any(part is not None for part in (*kept.parts, *kept.stored))
