"""What the model has read and keeps, so that it never reads it again; it knows tokens, not messages.

The tokens ever read form a `TokenTree`. Of one path in it, the one in use, everything lies in the working layers; of
all others it lies at the tree's runs. So the bytes held are those of the distinct tokens, however many ways there are
through them. With a `DiskCache`, what leaves memory is written before it goes, and what is idle when somebody asks for
it; it is found again by whoever has the same disk cache, and read when its branch is used.

This is the face of the parts that do it: `BranchInUse`, `LookUp`, `Saving`, `Eviction`.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import mlx.core as mx

from worker.cache.branch_in_use import MOST_MARKS, BranchInUse, computed, states_of
from worker.cache.disk_cache import DiskCache
from worker.cache.disk_tier import DiskTier
from worker.cache.eviction import Eviction
from worker.cache.kept import Kept, Ledger, States
from worker.cache.look_up import LookUp
from worker.cache.saving import Saving
from worker.cache.token_tree import TokenTree, as_ids, num_common
from worker.cache.written import Provenance, Written
from worker.layers import Layers, arrays_in, own, stacks_of

__all__ = ["MOST_MARKS", "PromptCache", "States", "default_limit_bytes"]


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
        layers = new_layers()
        self._ledger = Ledger(len(stacks_of(layers)))
        self._tree: TokenTree[Kept] = TokenTree(self._ledger.nothing())
        self._tier = None if self._disk is None else DiskTier(self._disk, self._tree, self._ledger)
        self._branch = BranchInUse(layers, self._tree, self._ledger, self._tier)
        self._look_up = LookUp(self._tree, self._branch)
        self._saving = Saving(self._tree, self._branch, self._tier)
        self._eviction = Eviction(self._tree, self._branch, self._ledger, self._saving)

    # --- what is kept --------------------------------------------------------------------------------------

    def num_kept(self, prompt_ids: Sequence[int]) -> int:
        """Return how many tokens at the beginning of `prompt_ids` need not be read again; always leaves one."""
        self._branch.settle()
        return self._look_up.longest(as_ids(prompt_ids))

    def lies_in_memory(self, prompt_ids: Sequence[int]) -> bool:
        """Whether nothing has to be read from disk to have what `num_kept` tells of."""
        self._branch.settle()
        ids = as_ids(prompt_ids)
        return self._look_up.longest(ids, with_disk=False) == self._look_up.longest(ids)

    def fork(self, prompt_ids: Sequence[int]) -> int:
        """Return where `prompt_ids` leaves everything that is known: a place that was forked once may be so again."""
        self._branch.settle()
        return self._tree.path(as_ids(prompt_ids)[:-1])[1]

    def beside(self, ids: Sequence[int], most_tokens: int) -> list[array[int]]:
        """Return other ways that begin like `ids`, from where they leave it: see `TokenTree.beside`."""
        self._branch.settle()
        return self._tree.beside(ids, most_tokens)

    def note(
        self, ids: Sequence[int], start: int, logprobs: Sequence[float | None], origins: Sequence[Provenance]
    ) -> None:
        """Say of the tokens of `ids` from `start` on how likely each was, where that is known, and where it came from.

        As in `TokenTree`; it is forgotten with all else that is kept of them, and not written to disk.
        """
        self._branch.settle()
        self._tree.note(ids, start, logprobs, origins)

    def tokens(self, ids: Sequence[int], table: Sequence[bytes], start: int = 0) -> list[Written]:
        """Return what is known of the tokens of `ids` from `start` on, as far as anything is; `table`: their bytes."""
        self._branch.settle()
        return self._tree.tokens(ids, table, start)

    # --- the branch in use ---------------------------------------------------------------------------------

    @property
    def layers(self) -> Layers:
        """The working layers."""
        return self._branch.layers

    @property
    def token_ids(self) -> array[int]:
        """The tokens that the working layers hold."""
        return self._branch.token_ids

    def can_drop(self, num_tokens: int) -> bool:
        """Whether the working layers could read so many tokens more and drop them again."""
        return self._branch.can_drop(num_tokens)

    def drop_beyond(self) -> None:
        """Drop what the working layers have read beyond the tokens that were noted by `extend`."""
        self._branch.drop_beyond()

    def take_back(self, num_tokens: int) -> bool:
        """Forget the last tokens that the working layers hold; return whether that could be done at once."""
        return self._branch.take_back(num_tokens)

    def rewind_to(self, prompt_ids: Sequence[int]) -> int:
        """Bring the working layers to the longest kept beginning of `prompt_ids`; return its length."""
        branch = self._branch
        branch.settle()
        if self._tier is not None:
            self._tier.forget_lost(branch.path)
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
        """Bring into memory what the working layers will need of `ids`; return whether all could be read."""
        if self._tier is None:
            return True
        runs = self._branch.insert(ids)
        # First, so that what is written meanwhile takes the place of others.
        self._branch.note_use(runs)
        num_coming = sum(file.num_bytes for file in self._look_up.way_to(ids).files)
        self._eviction.keep_to(self._most_bytes - num_coming, runs)
        if self._look_up.longest(ids + as_ids([0])) < len(ids):
            # What had to leave memory took its place on disk.
            return False
        way = self._look_up.way_to(ids)
        if way.needs_states_from_disk and not self._tier.load_states(way.last, way.at):
            return False
        return self._tier.load(way.missing)

    def make_room(self, num_tokens: int) -> None:
        """Say that the working layers are about to read so many tokens: windows may lose their first positions."""
        self._branch.make_room(num_tokens)

    def extend(self, token_ids: Sequence[int]) -> None:
        """Note that the working layers have read these tokens, too."""
        self._branch.token_ids.extend(token_ids)

    def needs_keeping(self, length: int) -> bool:
        """Whether one can come back to a place after so many tokens only if `keep` was called there."""
        return self._branch.needs_keeping(length)

    def keep(self) -> None:
        """Make this place one to come back to, and keep the limit. States are copied; positions need not be."""
        self._branch.keep_states()
        self._evict()

    def mark(self) -> None:
        """Let this be a place to come back to for the next few tokens; see `unmark`."""
        self._branch.mark()

    def unmark(self, length: int) -> None:
        """Keep the last place marked that is not behind so many tokens, and forget the other ones."""
        self._branch.unmark(length)

    def give_up_path(self) -> None:
        """Start with new layers after a step that broke: what it did to these is anyone's guess.

        Positions before it are as they were, if they can still be computed.
        """
        with suppress(Exception):
            self._branch.settle()
            self._branch.leave(0)
        self._branch.begin(self._new_layers())
        self._eviction.prune()

    # --- branches that were computed elsewhere -------------------------------------------------------------

    def states_of(self, layers: Layers, length: int) -> States | None:
        """Return the states of layers that hold so many tokens, for `enter`; None where positions are enough."""
        return states_of(stacks_of(layers), length, copied=False) if self.needs_keeping(length) else None

    def enter(self, token_ids: Sequence[int], layers: Layers, earlier: tuple[int, States] | None = None) -> None:
        """Keep a branch that was computed elsewhere: `layers` hold exactly `token_ids`. Only what is new is copied.

        `earlier`: the states after so many of its tokens, a place to come back to, too.
        """
        self._branch.settle()
        self._ledger.clock += 1
        runs = self._branch.insert(token_ids)
        stacks = stacks_of(layers)
        length = len(token_ids)
        for run in runs:
            run.kept.used = self._ledger.clock
            for index, stack in enumerate(stacks):
                is_kept = self._branch.has_positions(run, index) or run.kept.is_stored(index)
                if not is_kept and stack.num_positions >= run.end:
                    run.kept.set_part(index, stack.positions(run.start, run.end))
            mx.eval(arrays_in(run.kept.parts))
        if self.needs_keeping(length):
            runs[-1].kept.set_states(length - runs[-1].start, computed(states_of(stacks, length, copied=True)))
        if earlier is not None and earlier[0] < length:
            run = next(run for run in runs if run.start < earlier[0] <= run.end)
            run.kept.set_states(earlier[0] - run.start, computed(own(earlier[1])))
        self._evict()

    def num_known(self, token_ids: Sequence[int]) -> int:
        """Return how many tokens at the beginning of these were ever read, whatever is held of them."""
        self._branch.settle()
        return self._tree.path(as_ids(token_ids))[1]

    def forget(self, token_ids: Sequence[int], start: int) -> None:
        """Forget what is held in memory of a branch from `start` on, as far as it is no other branch's, too."""
        self._branch.settle()
        runs, num_known = self._tree.path(as_ids(token_ids))
        in_use = set(self._branch.path)
        for run in reversed(runs):
            if run.children or run in in_use or not start < run.end <= num_known:
                break
            if run.start < start:
                self._branch.cut(run, start)
            run.kept.drop_arrays()
            if run.kept.is_on_disk:
                break
            self._tree.remove(run)

    def take(self, token_ids: Sequence[int], layers: Layers, marks: Iterable[tuple[int, States]] = ()) -> None:
        """Make `layers`, which hold exactly `token_ids`, the working layers; their caches are the caller's no more.

        `marks`: states after so many of the tokens, as if `mark` had been called there.
        """
        self._branch.settle()
        self._ledger.clock += 1
        self._branch.take_over(as_ids(token_ids), layers, marks)
        self._evict()

    # --- memory and disk -----------------------------------------------------------------------------------

    def reserve(self, num_bytes: int) -> None:
        """Let others hold so many bytes that count against the limit, too: what is idle makes room for them."""
        self.reserved_bytes = num_bytes
        self._evict()

    def save_some(self) -> bool:
        """Write a file of what is not on disk yet, what was used longest ago first; return whether there was any."""
        self._branch.settle()
        return self._saving.save_some()

    def _evict(self) -> None:
        self._eviction.keep_to(self._most_bytes)

    @property
    def _most_bytes(self) -> int:
        return self.limit_bytes - self.reserved_bytes

    @property
    def num_tokens(self) -> int:
        """Distinct tokens of which something is held."""
        self._branch.settle()
        in_use = set(self._branch.path)
        return sum(len(run.ids) for run in self._tree.runs() if run in in_use or run.kept.num_bytes)

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays held."""
        return self._branch.num_bytes + self._ledger.num_bytes

    @property
    def num_disk_tokens(self) -> int:
        """Distinct tokens of which something is on disk, whether or not it is in memory, too."""
        self._branch.settle()
        return 0 if self._tier is None else self._tier.num_tokens

    @property
    def num_disk_bytes(self) -> int:
        """Bytes of the files that this model's tokens have."""
        return 0 if self._disk is None else self._disk.num_bytes


def default_limit_bytes(weights_bytes: int = 0) -> int:
    """A quarter of the memory that the model computes in, or half of what its weights leave where that is less."""
    device = mx.device_info()
    memory = int(
        device.get("max_recommended_working_set_size")
        or device.get("total_memory")
        or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    )
    return max(min(memory // 4, (memory - weights_bytes) // 2), memory // 32)
