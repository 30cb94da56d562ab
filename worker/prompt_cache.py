"""What the model has read and keeps, so that it never reads it again; it knows tokens, not messages.

The tokens ever read form a `TokenTree`. Of one path in it, the one in use, everything lies in the working layers. When
another is used, what the two do not share is taken out of the layers and laid to the tree's runs; when the path comes
back, it is put back. So the bytes held are those of the distinct tokens, however many ways there are through them.
Layers that have a state (`layers.py`) can be taken up where one was kept: at the places that `keep` was called at.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from typing import TypeAlias

import mlx.core as mx

from worker.layers import Arrays, Layers, arrays_in, cut, num_bytes_in, stacks_of
from worker.token_tree import Run, TokenTree, as_ids, num_common

_Run: TypeAlias = "Run[_Kept]"

_NUM_LATEST = 8
"""Places at the end of the branch in use whose states stay as long as can be."""


class _Kept:
    """What is kept of a run's tokens outside the working layers, a value for each stack of layers."""

    __slots__ = ("num_bytes", "parts", "states", "used")

    def __init__(self, parts: list[Arrays | None], states: dict[int, list[Arrays | None]], used: int) -> None:
        self.parts = parts
        """The run's positions; None where they are not here."""
        self.states = states
        """After so many of the run's tokens: the stacks' states; None where positions are enough."""
        self.used = used
        """When it was last used: higher is later."""
        self.num_bytes = num_bytes_in(parts) + num_bytes_in(states)
        """Counted as arrays come and go: there may be thousands of runs."""

    def cut(self, num_tokens: int) -> tuple[_Kept, _Kept]:
        halves = [(None, None) if part is None else cut(part, num_tokens) for part in self.parts]
        first = {at: states for at, states in self.states.items() if at <= num_tokens}
        rest = {at - num_tokens: states for at, states in self.states.items() if at > num_tokens}
        return (
            _Kept([part for part, _ in halves], first, self.used),
            _Kept([part for _, part in halves], rest, self.used),
        )

    def set_part(self, index: int, part: Arrays | None) -> None:
        self.num_bytes += num_bytes_in(part) - num_bytes_in(self.parts[index])
        self.parts[index] = part

    def set_states(self, at: int, states: list[Arrays | None]) -> None:
        self.num_bytes += num_bytes_in(states) - num_bytes_in(self.states.get(at))
        self.states[at] = states

    def drop_states(self, at: int) -> int:
        """Forget the states after so many tokens; return their bytes."""
        num_bytes = num_bytes_in(self.states.pop(at))
        self.num_bytes -= num_bytes
        return num_bytes


class PromptCache:
    """The kept state of one model."""

    def __init__(self, new_layers: Callable[[], Layers], limit_bytes: int | None = None) -> None:
        self._new_layers = new_layers
        self.limit_bytes = _default_limit_bytes() if limit_bytes is None else limit_bytes
        self._clock = 0
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._take_new_layers()
        self._tree: TokenTree[_Kept] = TokenTree(self._nothing())

    def give_up_path(self) -> None:
        """Forget what the working layers hold: after a step that broke, that is anyone's guess."""
        self._settle()
        self._take_new_layers()
        self._prune()

    def num_kept(self, prompt_ids: Sequence[int]) -> int:
        """Return how many tokens at the beginning of `prompt_ids` need not be read again; always leaves one."""
        self._settle()
        return self._best(as_ids(prompt_ids))

    def rewind_to(self, prompt_ids: Sequence[int]) -> int:
        """Bring the working layers to the longest kept beginning of `prompt_ids`; return its length."""
        self._settle()
        ids = as_ids(prompt_ids)
        ids = ids[: self._best(ids)]
        self._clock += 1
        if ids != self.token_ids:
            self._leave(num_common(self.token_ids, ids))
            self._go_to(ids)
        for run in self._path:
            run.kept.used = self._clock
        self._evict()
        mx.clear_cache()
        return len(ids)

    def needs_keeping(self, length: int) -> bool:
        """Whether one can come back to a place after so many tokens only if `keep` was called there."""
        return any(length > stack.most_positions for stack in self._stacks)

    def fork(self, prompt_ids: Sequence[int]) -> int:
        """Return where `prompt_ids` leaves everything that is known: a place that was forked once may be so again."""
        self._settle()
        return self._tree.path(as_ids(prompt_ids)[:-1])[1]

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
            states = [stack.state() if length > stack.most_positions else None for stack in self._stacks]
            # A state that is not computed yet would keep alive all that it is computed from.
            mx.eval(arrays_in(states))
            run = self._path[-1]
            run.kept.set_states(length - run.start, states)
        self._evict()

    @property
    def num_tokens(self) -> int:
        """Distinct tokens of which something is held."""
        self._settle()
        in_use = set(self._path)
        return sum(len(run.ids) for run in self._tree.runs() if run in in_use or run.kept.num_bytes)

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays held."""
        return num_bytes_in([stack.arrays for stack in self._stacks]) + sum(
            run.kept.num_bytes for run in self._tree.runs()
        )

    # --- the path in use -----------------------------------------------------------------------------------

    def _take_new_layers(self) -> None:
        self.layers: Layers = self._new_layers()
        self._stacks = stacks_of(self.layers)
        self.token_ids: array[int] = as_ids([])
        """The tokens that the working layers hold."""
        self._path: list[_Run] = []
        """The runs that they are, as far as they are settled."""

    def _settle(self) -> None:
        """Enter what was read since into the tree."""
        last = self._path[-1] if self._path else None
        settled = last.end if last is not None else 0
        if settled == len(self.token_ids):
            return
        if last is not None and not last.children and all(part is None for part in last.kept.parts):
            # All of it lies in the layers: one run, however often somebody asks meanwhile.
            self._tree.grow(last, self.token_ids[settled:])
            return
        self._path = self._tree.insert(self.token_ids, self._nothing())
        for run in self._path:
            run.kept.used = self._clock
            # What was read again, as its states were not kept, lies in the layers now.
            for index, stack in enumerate(self._stacks if run.end > settled else ()):
                if stack.num_positions >= run.end:
                    run.kept.set_part(index, None)

    def _leave(self, num_tokens: int) -> None:
        """Take all but the path's first tokens out of the working layers."""
        for run in self._path:
            if run.start < num_tokens < run.end:
                self._tree.cut(run, num_tokens)
        self._path, _ = self._tree.path(self.token_ids)
        left = [run for run in self._path if run.start >= num_tokens]
        for index in range(len(self._stacks)):
            self._take_out(index, left)

    def _take_out(self, index: int, runs: Sequence[_Run]) -> None:
        """Lay copies of a stack's positions to the runs that they belong to."""
        stack = self._stacks[index]
        for run in runs:
            if run.kept.parts[index] is None and stack.num_positions >= run.end:
                run.kept.set_part(index, stack.positions(run.start, run.end))
        mx.eval([arrays_in(run.kept.parts[index]) for run in runs])

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

    def _best(self, ids: array[int]) -> int:
        """How many tokens of a prompt can be had without reading them."""
        ids = ids[:-1]
        num_shared = num_common(self.token_ids, ids)
        runs, num_known = self._tree.path(ids)
        reaches = [self._reach(index, num_shared, runs, num_known) for index in range(len(self._stacks))]
        best = min(min(reach, stack.most_positions) for reach, stack in zip(reaches, self._stacks, strict=True))
        if num_shared == len(self.token_ids):
            best = max(best, num_shared)
        for run in reversed(runs):
            for num_tokens, states in run.kept.states.items():
                length = run.start + num_tokens
                if best < length <= num_known and all(
                    state is not None or length <= reach for state, reach in zip(states, reaches, strict=True)
                ):
                    best = length
        return best

    def _reach(self, index: int, num_shared: int, runs: Sequence[_Run], num_known: int) -> int:
        """Up to where a stack's positions are at hand, without a gap, along `runs`."""
        reach = min(num_shared, self._stacks[index].num_positions)
        for run in runs:
            if run.end > reach:
                if run.kept.parts[index] is None:
                    break
                reach = run.end
        return min(reach, num_known)

    # --- what is held --------------------------------------------------------------------------------------

    def _nothing(self) -> _Kept:
        return _Kept([None] * len(self._stacks), {}, self._clock)

    def _held(self) -> set[_Run]:
        """The runs of which anything is held, and those before them."""
        held = set(self._path)
        for run in self._tree.runs():
            above: _Run | None = run
            if run.kept.num_bytes:
                while above is not None and above is not self._tree.root and above not in held:
                    held.add(above)
                    above = above.parent
        return held

    def _evict(self) -> None:
        """Keep the limit: what was used longest ago goes first, and its last tokens before its first."""
        total = self.num_bytes
        if total <= self.limit_bytes:
            return
        total -= self._thin_out_states(total - self.limit_bytes)
        in_use = set(self._path)
        # A run is never used later than those before it.
        for run in sorted(self._tree.runs(), key=lambda run: (run.kept.used, -run.start)):
            if total <= self.limit_bytes:
                break
            if run not in in_use:
                total -= run.kept.num_bytes
                run.kept = self._nothing()
        for run, at in self._places_in_use()[:-1]:
            if total <= self.limit_bytes:
                break
            # The branch in use stays; only that one might want to come back to places far up in it.
            total -= run.kept.drop_states(at)
        self._prune()

    def _thin_out_states(self, num_bytes: int) -> int:
        """Drop every second state of the branch in use until so many bytes are free; return how many are.

        Otherwise a long conversation, with a state at each of its messages, would drive out all others. The latest
        states stay, and those where the branch was forked.
        """
        num_freed = 0
        places = self._places_in_use()[:-_NUM_LATEST]
        far = [(run, at) for run, at in places if at < len(run.ids) or len(run.children) < 2]
        while num_freed < num_bytes and len(far) > 1:
            num_freed += sum(run.kept.drop_states(at) for run, at in far[::2])
            far = far[1::2]
        return num_freed

    def _places_in_use(self) -> list[tuple[_Run, int]]:
        """Where the branch in use has states, from its beginning on."""
        return [(run, at) for run in self._path for at in sorted(run.kept.states)]

    def _prune(self) -> None:
        """Forget runs of which nothing is held."""
        held = self._held()
        for run in sorted(self._tree.runs(), key=lambda run: -run.start):
            if run not in held:
                self._tree.remove(run)


def _default_limit_bytes() -> int:
    """A quarter of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
