"""What the model has read and keeps, so that it never reads it again; it knows tokens, not messages.

The tokens ever read form a `TokenTree`. Of one path in it, the one in use, everything lies in the working layers. When
another is used, what the two do not share is taken out of the layers and laid to the tree's runs; when the path comes
back, it is put back. So the bytes held are those of the distinct tokens, however many ways there are through them.
Layers that have a state (`layers.py`) can be taken up where one was kept: at the places that `keep` was called at.

With a `DiskCache`, what leaves memory is written before it goes, and what is idle when somebody asks for it; it is
found again by whoever has the same disk cache, and read when its branch is used.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias

import mlx.core as mx

from worker.disk_cache import DiskCache, StoredFile
from worker.disk_tier import DiskTier, KeptRun
from worker.kept import Kept, Tally
from worker.layers import Arrays, Layers, Stack, arrays_in, num_bytes_in, own, stacks_of
from worker.token_tree import TokenTree, as_ids, num_common
from worker.written import Origin, Written

MOST_MARKS = 8
"""Tokens at the end of an answer that may yet be cut off with what follows them: few stop strings have more."""

_NUM_LATEST = 8
"""Places at the end of the branch in use whose states stay as long as can be."""


States: TypeAlias = "list[Arrays | None]"
"""Of each stack of layers; None where its positions are enough."""


class PromptCache:
    """The kept state of one model."""

    def __init__(
        self, new_layers: Callable[[], Layers], limit_bytes: int | None = None, disk: DiskCache | None = None
    ) -> None:
        self._new_layers = new_layers
        self._disk = disk
        self.limit_bytes = default_limit_bytes() if limit_bytes is None else limit_bytes
        self.reserved_bytes = 0
        """What others hold that counts against the limit, too."""
        self._clock = 0
        self._begin()

    def clear(self) -> None:
        """Forget everything but what is on disk."""
        self._tree.take_apart()
        self._begin()

    def _begin(self) -> None:
        self._take_new_layers()
        self._tally = Tally()
        self._tree: TokenTree[Kept] = TokenTree(self._nothing())
        self._tier = None if self._disk is None else DiskTier(self._disk, self._tree, len(self._stacks), self._tally)

    def give_up_path(self) -> None:
        """Start with new layers after a step that broke: what it did to these is anyone's guess.

        Positions before it are as they were, if they can still be computed.
        """
        with suppress(Exception):
            self._settle()
            self._leave(0)
        self._take_new_layers()
        self._prune()

    def num_kept(self, prompt_ids: Sequence[int]) -> int:
        """Return how many tokens at the beginning of `prompt_ids` need not be read again; always leaves one."""
        self._settle()
        return self._best(as_ids(prompt_ids))

    def rewind_to(self, prompt_ids: Sequence[int]) -> int:
        """Bring the working layers to the longest kept beginning of `prompt_ids`; return its length."""
        self._settle()
        if self._tier is not None:
            self._tier.forget_lost(self._path)
        wanted = as_ids(prompt_ids)
        self._clock += 1
        while (ids := wanted[: self._best(wanted)]) != self.token_ids:
            self._leave(num_common(self.token_ids, ids))
            if self._load(ids):
                self._go_to(ids)
        self._marks = []  # they are places like others now
        self._note_use(self._path)
        self._evict()
        mx.clear_cache()
        return len(ids)

    def lies_in_memory(self, prompt_ids: Sequence[int]) -> bool:
        """Whether nothing has to be read from disk to have what `num_kept` tells of."""
        self._settle()
        ids = as_ids(prompt_ids)
        return self._best(ids, with_disk=False) == self._best(ids)

    def save_some(self) -> bool:
        """Write a file of what is not on disk yet, what was used longest ago first; return whether there was any."""
        self._settle()
        waiting = [run for run in self._tree.runs() if self._is_unsaved(run)]
        if not waiting:
            return False
        self._save_next(min(waiting, key=lambda run: (run.kept.used, run.start)))
        return True

    def needs_keeping(self, length: int) -> bool:
        """Whether one can come back to a place after so many tokens only if `keep` was called there."""
        return any(length > stack.most_positions for stack in self._stacks)

    def fork(self, prompt_ids: Sequence[int]) -> int:
        """Return where `prompt_ids` leaves everything that is known: a place that was forked once may be so again."""
        self._settle()
        return self._tree.path(as_ids(prompt_ids)[:-1])[1]

    def reserve(self, num_bytes: int) -> None:
        """Let others hold so many bytes that count against the limit, too: what is idle makes room for them."""
        self.reserved_bytes = num_bytes
        self._evict()

    def make_room(self, num_tokens: int) -> None:
        """Say that the working layers are about to read so many tokens: windows may lose their first positions."""
        length = len(self.token_ids)
        for index, stack in enumerate(self._stacks):
            if length + num_tokens > stack.most_positions and stack.num_positions:
                self._settle()
                self._take_out(index, self._path)

    def extend(self, token_ids: Sequence[int]) -> None:
        """Note that the working layers have read these tokens, too."""
        self.token_ids.extend(token_ids)

    def keep(self) -> None:
        """Make this place one to come back to, and keep the limit. States are copied; positions need not be."""
        length = len(self.token_ids)
        if self.needs_keeping(length):
            self._settle()
            states = _states(self._stacks, length, copied=True)
            # A state that is not computed yet would keep alive all that it is computed from.
            mx.eval(arrays_in(states))
            run = self._path[-1]
            run.kept.set_states(length - run.start, states)
        self._evict()

    def mark(self) -> None:
        """Let this be a place to come back to for the next few tokens; see `unmark`."""
        length = len(self.token_ids)
        if not self.needs_keeping(length):
            return
        self._settle()
        run = self._path[-1]
        if length - run.start not in run.kept.states:
            run.kept.set_states(length - run.start, _states(self._stacks, length, copied=False))
            self._marks.append(length)
        if len(self._marks) > MOST_MARKS:
            self._drop_mark(self._marks.pop(0))

    def unmark(self, length: int) -> None:
        """Keep the last place marked that is not behind so many tokens, and forget the other ones."""
        self._settle()
        marks, self._marks = self._marks, []
        kept = max((mark for mark in marks if mark <= length), default=None)
        for mark in marks:
            if mark != kept:
                self._drop_mark(mark)
        if kept is not None and (place := self._run_with_states(kept)) is not None:
            run, at = place
            states = own(run.kept.states[at])
            mx.eval(arrays_in(states))
            run.kept.set_states(at, states)

    def _drop_mark(self, mark: int) -> None:
        place = self._run_with_states(mark)
        if place is not None:
            place[0].kept.drop_states(place[1])

    def _run_with_states(self, length: int) -> tuple[KeptRun, int] | None:
        for run in reversed(self._path):
            if run.start < length <= run.end:
                return (run, length - run.start) if length - run.start in run.kept.states else None
        return None

    def states_of(self, layers: Layers, length: int) -> States | None:
        """Return the states of layers that hold so many tokens, for `enter`; None where positions are enough."""
        return _states(stacks_of(layers), length, copied=False) if self.needs_keeping(length) else None

    def enter(self, token_ids: Sequence[int], layers: Layers, earlier: tuple[int, States] | None = None) -> None:
        """Keep a branch that was computed elsewhere: `layers` hold exactly `token_ids`. Only what is new is copied.

        `earlier`: the states after so many of its tokens, a place to come back to, too.
        """
        self._settle()
        self._clock += 1
        runs = self._tree.insert(token_ids, self._nothing())
        self._path, _ = self._tree.path(self.token_ids)  # one of its runs may have been cut
        in_use = set(self._path)
        stacks = stacks_of(layers)
        length = len(token_ids)
        for run in runs:
            run.kept.used = self._clock
            for index, stack in enumerate(stacks):
                is_kept = (
                    run.kept.parts[index] is not None
                    or run.kept.is_stored(index)
                    or (run in in_use and self._stacks[index].num_positions >= run.end)
                )
                if not is_kept and stack.num_positions >= run.end:
                    run.kept.set_part(index, stack.positions(run.start, run.end))
            mx.eval(arrays_in(run.kept.parts))
        if self.needs_keeping(length):
            states = _states(stacks, length, copied=True)
            mx.eval(arrays_in(states))
            runs[-1].kept.set_states(length - runs[-1].start, states)
        if earlier is not None and earlier[0] < length:
            run = next(run for run in runs if run.start < earlier[0] <= run.end)
            states = own(earlier[1])
            mx.eval(arrays_in(states))
            run.kept.set_states(earlier[0] - run.start, states)
        self._evict()

    def take(self, token_ids: Sequence[int], layers: Layers, marks: Iterable[tuple[int, States]] = ()) -> None:
        """Make `layers`, which hold exactly `token_ids`, the working layers; their caches are the caller's no more.

        `marks`: states after so many of the tokens, as if `mark` had been called there.
        """
        self._settle()
        self._clock += 1
        ids = as_ids(token_ids)
        self._leave(num_common(self.token_ids, ids))
        for index, stack in enumerate(stacks_of(layers)):
            if not stack.num_positions:
                self._take_out(index, self._path)  # a state takes the place of the positions that it came from
        self.layers, self._stacks = layers, stacks_of(layers)
        self.token_ids, self._path = ids[:], self._tree.insert(ids, self._nothing())
        for run in self._path:
            run.kept.used = self._clock
            for index, stack in enumerate(self._stacks):
                if stack.num_positions >= run.end:
                    run.kept.set_part(index, None)
        self._marks = []
        for mark, states in marks:
            run = next(run for run in self._path if run.start < mark <= run.end)
            if mark - run.start not in run.kept.states:
                run.kept.set_states(mark - run.start, states)
                self._marks.append(mark)
        self._evict()

    def note(self, ids: Sequence[int], start: int, logprobs: Sequence[float | None], origins: Sequence[Origin]) -> None:
        """Say of the tokens of `ids` from `start` on how likely each was, where that is known, and where it came from.

        As in `TokenTree`; it is forgotten with all else that is kept of them, and not written to disk.
        """
        self._settle()
        self._tree.note(ids, start, logprobs, origins)

    def tokens(self, ids: Sequence[int], table: Sequence[bytes], start: int = 0) -> list[Written]:
        """Return what is known of the tokens of `ids` from `start` on, as far as anything is; `table`: their bytes."""
        self._settle()
        return self._tree.tokens(ids, table, start)

    @property
    def num_tokens(self) -> int:
        """Distinct tokens of which something is held."""
        self._settle()
        in_use = set(self._path)
        return sum(len(run.ids) for run in self._tree.runs() if run in in_use or run.kept.num_bytes)

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays held."""
        return num_bytes_in([stack.arrays for stack in self._stacks]) + self._tally.num_bytes

    @property
    def num_disk_tokens(self) -> int:
        """Distinct tokens of which something is on disk, whether or not it is in memory, too."""
        self._settle()
        return 0 if self._tier is None else self._tier.num_tokens

    @property
    def num_disk_bytes(self) -> int:
        """Bytes of the files that this model's tokens have."""
        return 0 if self._disk is None else self._disk.num_bytes

    # --- the path in use -----------------------------------------------------------------------------------

    def _take_new_layers(self) -> None:
        self.layers: Layers = self._new_layers()
        self._stacks = stacks_of(self.layers)
        self.token_ids: array[int] = as_ids([])
        """The tokens that the working layers hold."""
        self._path: list[KeptRun] = []
        """The runs that they are, as far as they are settled."""
        self._marks: list[int] = []
        """After how many of them `mark` was called, as far as it counts."""

    def _settle(self) -> None:
        """Enter what was read since into the tree."""
        last = self._path[-1] if self._path else self._tree.root
        settled = last.end
        if settled == len(self.token_ids):
            return
        new_ids = self.token_ids[settled:]
        if last is not self._tree.root and not last.children and _is_in_layers_alone(last.kept):
            # All of it lies in the layers: one run, however often somebody asks meanwhile.
            self._tree.grow(last, new_ids)
            return
        runs = self._tree.insert_below(last, new_ids, self._nothing())
        self._path += runs
        self._note_use(self._path)
        for index, stack in enumerate(self._stacks):
            self._adopt(index, [run for run in runs if stack.num_positions >= run.end])

    def _adopt(self, index: int, runs: list[KeptRun]) -> None:
        """Let the working layers hold a stack's positions of `runs`, which they have just read, as they were kept.

        They were read again as no states were kept behind them. Read in other company, their last bits may differ;
        but branches that go on from there were computed with what is kept.
        """
        stack = self._stacks[index]
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

    def _leave(self, num_tokens: int) -> None:
        """Take all but the path's first tokens out of the working layers."""
        for run in self._path:
            if run.start < num_tokens < run.end:
                self._cut(run, num_tokens)
                break
        left = [run for run in self._path if run.start >= num_tokens]
        for index in range(len(self._stacks)):
            self._take_out(index, left)

    def _take_out(self, index: int, runs: Sequence[KeptRun]) -> None:
        """Lay copies of a stack's positions to the runs that they belong to."""
        stack = self._stacks[index]
        taken = [
            (run, stack.positions(run.start, run.end))
            for run in runs
            if run.kept.parts[index] is None and stack.num_positions >= run.end
        ]
        mx.eval([arrays_in(part) for _, part in taken])
        for run, part in taken:
            run.kept.set_part(index, part)

    def _cut(self, run: KeptRun, position: int) -> KeptRun:
        """Cut a run, which may be of the path in use; return its first part."""
        place = self._place_in_path(run)
        upper = self._tree.cut(run, position)
        if place is not None:
            self._path.insert(place, upper)
        return upper

    def _place_in_path(self, run: KeptRun) -> int | None:
        place = bisect_left(self._path, run.start, key=lambda each: each.start)
        return place if place < len(self._path) and self._path[place] is run else None

    def _load(self, ids: array[int]) -> bool:
        """Bring into memory what the working layers will need of `ids`; return whether all could be read."""
        if self._tier is None or not ids:
            return True
        runs = self._tree.insert(ids, self._nothing())
        self._path, _ = self._tree.path(self.token_ids)  # one of its runs may have been cut
        # First, so that what is written meanwhile takes the place of others.
        self._note_use(runs)
        self._evict(sum(file.num_bytes for file in self._files_for(ids)), runs)
        if self._best(ids + as_ids([0])) < len(ids):
            # What had to leave memory took its place on disk.
            return False
        run, at, has_state, missing = self._way_to(ids)
        return (not any(has_state) or at in run.kept.states or self._tier.load_states(run, at)) and self._tier.load(
            missing
        )

    def _way_to(self, ids: array[int]) -> tuple[KeptRun, int, Sequence[bool], list[tuple[KeptRun, int]]]:
        """Where known ids end, of which stacks there are states there, and what positions of the others are missing."""
        runs, _ = self._tree.path(ids)
        last, at = runs[-1], len(ids) - runs[-1].start
        has_state = dict(last.kept.places(with_disk=True)).get(at, [False] * len(self._stacks))
        num_shared = num_common(self.token_ids, ids)
        missing: list[tuple[KeptRun, int]] = []
        for index, stack in enumerate(self._stacks):
            if not has_state[index]:
                num_own = min(num_shared, stack.num_positions)
                missing += [(run, index) for run in runs if run.start >= num_own and run.kept.parts[index] is None]
        return last, at, has_state, missing

    def _files_for(self, ids: array[int]) -> set[StoredFile]:
        """The files that have to be read for it."""
        last, at, has_state, missing = self._way_to(ids)
        files = {place.file for run, index in missing if (place := run.kept.stored[index]) is not None}
        return files | {last.kept.stored_states[at].file} if any(has_state) and at not in last.kept.states else files

    def _go_to(self, ids: array[int]) -> None:
        """Make the working layers hold exactly `ids`, which `_best` found kept and which `_leave` has left."""
        if not ids:
            self._take_new_layers()
            return
        num_shared = num_common(self.token_ids, ids)
        runs = self._tree.insert(ids, self._nothing())
        length, last = len(ids), runs[-1]
        states = last.kept.states.get(length - last.start, [None] * len(self._stacks))
        for index, stack in enumerate(self._stacks):
            state = states[index]
            if state is not None:
                self._take_out(index, self._path)  # those before the fork, too: the state takes their place
                stack.set_state(state)
            else:
                num_own = min(num_shared, stack.num_positions)
                missing = [run for run in runs if run.start >= num_own]
                stack.set_positions(num_own, [run.kept.parts[index] for run in missing])
                for run in missing:
                    run.kept.set_part(index, None)
        mx.eval([arrays_in(stack.arrays) for stack in self._stacks])
        self.token_ids, self._path = ids[:], runs

    def _best(self, ids: array[int], *, with_disk: bool = True) -> int:
        """How many tokens of a prompt can be had without the model reading them."""
        ids = ids[:-1]
        num_shared = num_common(self.token_ids, ids)
        runs, num_known = self._tree.path(ids)
        reaches = [
            self._reach(index, num_shared, runs, num_known, with_disk=with_disk) for index in range(len(self._stacks))
        ]
        best = min(min(reach, stack.most_positions) for reach, stack in zip(reaches, self._stacks, strict=True))
        if num_shared == len(self.token_ids):
            best = max(best, num_shared)
        for run in reversed(runs):
            for num_tokens, stacks in run.kept.places(with_disk=with_disk):
                length = run.start + num_tokens
                if best < length <= num_known and all(
                    is_there or length <= reach for is_there, reach in zip(stacks, reaches, strict=True)
                ):
                    best = length
        return best

    def _reach(self, index: int, num_shared: int, runs: Sequence[KeptRun], num_known: int, *, with_disk: bool) -> int:
        """Up to where a stack's positions are at hand, without a gap, along `runs`."""
        reach = min(num_shared, self._stacks[index].num_positions)
        for run in runs:
            if run.end > reach:
                if run.kept.parts[index] is None and not (with_disk and run.kept.is_stored(index)):
                    break
                reach = run.end
        return min(reach, num_known)

    # --- what is held --------------------------------------------------------------------------------------

    def _nothing(self) -> Kept:
        return Kept(len(self._stacks), self._tally, self._clock)

    def _note_use(self, runs: Sequence[KeptRun]) -> None:
        for run in runs:
            run.kept.used = self._clock
        if self._tier is not None:
            self._tier.note_use(runs)

    def _held(self) -> set[KeptRun]:
        """The runs of which anything is held, and those before them."""
        held = set(self._path)
        for run in self._tree.runs():
            above: KeptRun | None = run
            if run.kept.num_bytes or run.kept.is_on_disk:
                while above is not None and above is not self._tree.root and above not in held:
                    held.add(above)
                    above = above.parent
        return held

    def _evict(self, num_coming: int = 0, needed: Sequence[KeptRun] = ()) -> None:
        """Keep the limit: what was used longest ago goes first, and its last tokens before its first.

        `num_coming`: bytes for which there shall be room; `needed`: runs that stay, besides those in use.
        """
        most = self.limit_bytes - self.reserved_bytes - num_coming
        if self.num_bytes <= most:
            return
        if not needed:
            self._thin_out_states(most)
        staying = {*self._path, *needed}
        idle = [run for run in self._tree.runs() if run.kept.num_bytes and run not in staying]
        # A run is never used later than those before it.
        for run in sorted(idle, key=lambda run: (run.kept.used, -run.start)):
            if self.num_bytes <= most:
                break
            for piece in self._saved(run):
                if self.num_bytes > most:
                    piece.kept.drop_arrays()
        if self.num_bytes > most and not needed:
            # The branch in use stays; only that one might want to come back to places far up in it.
            self._save_path_states()
            for run, at in self._places_in_use()[:-1]:
                if self.num_bytes <= most:
                    break
                run.kept.drop_states(at)
        self._prune()

    def _thin_out_states(self, most: int) -> None:
        """Drop every second state of the branch in use until no more than `most` bytes are held.

        Otherwise a long conversation, with a state at each of its messages, would drive out all others. The latest
        states stay, and those where the branch was forked.
        """
        if len(self._far_places()) < 2:
            return
        self._save_path_states()
        far = self._far_places()
        while self.num_bytes > most and len(far) > 1:
            for run, at in far[::2]:
                run.kept.drop_states(at)
            far = far[1::2]

    def _far_places(self) -> list[tuple[KeptRun, int]]:
        places = self._places_in_use()[:-_NUM_LATEST]
        return [(run, at) for run, at in places if at < len(run.ids) or len(run.children) < 2]

    def _places_in_use(self) -> list[tuple[KeptRun, int]]:
        """Where the branch in use has states in memory, from its beginning on."""
        return [(run, at) for run in self._path for at in sorted(run.kept.states)]

    # --- on disk -------------------------------------------------------------------------------------------

    def _has_positions(self, run: KeptRun, index: int) -> bool:
        """Whether a run's positions are in memory or in the working layers."""
        if run.kept.parts[index] is not None:
            return True
        return self._stacks[index].num_positions >= run.end and self._place_in_path(run) is not None

    def _positions(self, run: KeptRun, index: int) -> Arrays:
        part = run.kept.parts[index]
        return self._stacks[index].positions(run.start, run.end) if part is None else part

    def _is_unsaved(self, run: KeptRun) -> bool:
        """Whether anything of a run could be written that was not."""
        if self._tier is None or not self._tier.can_write or run.kept.is_refused:
            return False
        return bool(self._tier.unsaved_states(run)) or any(
            place is None and self._has_positions(run, index) for index, place in enumerate(run.kept.stored)
        )

    def _saved(self, run: KeptRun) -> list[KeptRun]:
        """Write what is not on disk of a run and of those before it; return the runs that it is now, the last first."""
        start = run.start
        while self._is_unsaved(run):
            self._save_next(run)
        pieces = [run]
        while pieces[-1].start > start and (above := pieces[-1].parent) is not None:
            pieces.append(above)
        return pieces

    def _save_path_states(self) -> None:
        for run in list(self._path):
            if run.kept.states:
                self._saved(run)

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
            self._positions(run, index) if place is None and self._has_positions(run, index) else None
            for index, place in enumerate(run.kept.stored)
        ]
        if any(part is not None for part in parts):
            most = self._tier.most_tokens(parts, len(run.ids))
            if len(run.ids) > most:
                # In the middle: what is in memory is copied with each cut.
                num_files = -(-len(run.ids) // most)
                self._save_one(self._cut(run, run.start + num_files // 2 * most))
            elif not self._tier.save_positions(run, parts):
                run.kept.is_refused = True
            return
        at = self._tier.unsaved_states(run)[0]
        if run.kept.home is None and at < len(run.ids):
            run = self._cut(run, run.start + at)
        if not self._tier.save_states(run, at):
            run.kept.is_refused = True

    # --- what nobody knows of any more ---------------------------------------------------------------------

    def _prune(self) -> None:
        """Forget runs of which nothing is held."""
        held = self._held()
        for run in sorted(self._tree.runs(), key=lambda run: -run.start):
            if run not in held:
                self._tree.remove(run)


def _states(stacks: Sequence[Stack], length: int, *, copied: bool) -> States:
    """Of stacks that hold so many tokens."""
    return [stack.state(copied=copied) if length > stack.most_positions else None for stack in stacks]


def _is_in_layers_alone(kept: Kept) -> bool:
    """Whether a run's positions are nowhere else: what is written is never changed."""
    return kept.home is None and not any(part is not None for part in (*kept.parts, *kept.stored))


def default_limit_bytes(weights_bytes: int = 0) -> int:
    """A quarter of the memory that the model computes in, or half of what its weights leave where that is less."""
    device = mx.device_info()
    memory = int(
        device.get("max_recommended_working_set_size")
        or device.get("total_memory")
        or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    )
    return max(min(memory // 4, (memory - weights_bytes) // 2), memory // 32)
