"""The token tree: what was ever read or written, as runs of tokens that part where they differ; it knows no model.

A radix tree: sequences that begin alike share the runs they begin with, and each run is as long as nothing parts from
it. Whatever is kept of a run's tokens lies at the run, as `kept`; where a run is cut in two, so is that.

Of each token a run has the id, its log-probability and its origin; what an id spells only the vocabulary knows, and
whoever reads brings it. What was noted of tokens goes with their run when it is removed: it is here for as long as it
costs nothing to ask, and the lasting copy is its caller's.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, Self, TypeVar

from worker.cache.written import Notes, Provenance, Written

_STRIDE = 512  # tokens compared at first


class RunValue(Protocol):
    """What lies at a run; `TokenTree` only ever cuts it."""

    def cut(self, num_tokens: int) -> tuple[Self, Self]:
        """Return what is kept of the first `num_tokens` tokens, and of the rest."""
        ...


K = TypeVar("K", bound=RunValue)
Ids = TypeVar("Ids", "array[int]", "list[int]")


class Run(Generic[K]):
    """Tokens that follow one another with no other way between them. It may be cut in two; the last one may grow."""

    __slots__ = ("children", "ids", "kept", "notes", "parent", "start")

    def __init__(self, parent: Run[K] | None, start: int, ids: array[int], kept: K, notes: Notes | None = None) -> None:
        self.parent = parent
        self.start = start
        """How many tokens come before it."""
        self.ids = ids
        self.notes = notes
        """What is known of its tokens besides; None where nothing is of any."""
        self.kept = kept
        self.children: dict[int, Run[K]] = {}
        """By their first token."""

    @property
    def end(self) -> int:
        """How many tokens there are up to its end."""
        return self.start + len(self.ids)

    def __repr__(self) -> str:
        return f"<Run {self.start}…{self.end}, {len(self.children)} children>"


class TokenTree(Generic[K]):
    """Runs below an empty root. Nothing is ever looked up but by ids."""

    def __init__(self, nothing: K) -> None:
        """`nothing` is what lies at the root, which has no tokens."""
        self.root: Run[K] = Run(None, 0, as_ids(()), nothing)

    def path(self, ids: Sequence[int]) -> tuple[list[Run[K]], int]:
        """Return the runs that `ids` follow, and how many ids do; the last run may be followed only in part."""
        return self.path_below(self.root, ids)

    def path_below(self, above: Run[K], ids: Sequence[int]) -> tuple[list[Run[K]], int]:
        """Return the same of ids that come behind a run."""
        wanted = as_ids(ids)
        runs: list[Run[K]] = []
        run, num_matched = above, 0
        while num_matched < len(wanted) and (child := run.children.get(wanted[num_matched])) is not None:
            runs.append(child)
            num_matched += num_common(child.ids, wanted, num_matched)
            if above.end + num_matched < child.end:
                break
            run = child
        return runs, num_matched

    def beside(self, ids: Sequence[int], most_tokens: int) -> list[array[int]]:
        """Return ways that leave `ids` somewhere, from there to their ends: those that leave it last first.

        They are at most so many tokens together; of several from one place, the newest come first.
        """
        runs, num_matched = self.path(ids)
        followed = {self.root, *runs}
        # Runs, each with where the way that it is on leaves `ids`.
        begun = [
            (child, run.end)
            for run in (self.root, *runs)
            for child in run.children.values()
            if run.end <= num_matched and child not in followed
        ]
        if runs and num_matched < runs[-1].end:
            begun.append((runs[-1], num_matched))
        found: list[array[int]] = []
        while begun and most_tokens > 0:
            run, start = begun.pop()
            begun += [(child, start) for child in run.children.values()]
            if not run.children:
                found.append(_way(run, start)[:most_tokens])
                most_tokens -= len(found[-1])
        return found

    def insert(self, ids: Sequence[int], kept: K) -> list[Run[K]]:
        """Return the runs that spell exactly `ids`; `kept` lies at a run that is new, if one is."""
        return self.insert_below(self.root, ids, kept)

    def insert_below(self, above: Run[K], ids: Sequence[int], kept: K) -> list[Run[K]]:
        """Return the runs behind `above` that spell exactly `ids`."""
        wanted = as_ids(ids)
        runs, num_matched = self.path_below(above, wanted)
        if runs and above.end + num_matched < runs[-1].end:
            runs[-1] = self.cut(runs[-1], above.end + num_matched)
        if num_matched < len(wanted):
            parent = runs[-1] if runs else above
            leaf = Run(parent, parent.end, wanted[num_matched:], kept)
            parent.children[leaf.ids[0]] = leaf
            runs.append(leaf)
        return runs

    def cut(self, run: Run[K], position: int) -> Run[K]:
        """Cut a run so that one ends at `position`, inside it; return that one. `run` itself becomes the rest."""
        length = position - run.start
        parent = run.parent
        assert parent is not None
        assert 0 < length < len(run.ids)
        first, rest = run.kept.cut(length)
        first_notes, rest_notes = (None, None) if run.notes is None else run.notes.cut(length)
        upper = Run(parent, run.start, run.ids[:length], first, first_notes)
        parent.children[upper.ids[0]] = upper
        run.parent, run.start, run.ids, run.kept, run.notes = upper, position, run.ids[length:], rest, rest_notes
        upper.children[run.ids[0]] = run
        return upper

    def grow(self, run: Run[K], ids: array[int]) -> None:
        """Let a run that nothing follows go on."""
        assert not run.children
        run.ids.extend(ids)

    def shrink(self, run: Run[K], num_tokens: int) -> None:
        """Let a run that nothing follows end after its first tokens; of the others nothing may be kept."""
        assert not run.children
        assert 0 < num_tokens <= len(run.ids)
        del run.ids[num_tokens:]
        if run.notes is not None:
            run.notes, _ = run.notes.cut(num_tokens)

    def remove(self, run: Run[K]) -> None:
        """Forget a run that nothing follows, and what was noted of its tokens."""
        assert run.parent is not None
        assert not run.children
        del run.parent.children[run.ids[0]]

    def note(
        self, ids: Sequence[int], start: int, logprobs: Sequence[float | None], origins: Sequence[Provenance]
    ) -> None:
        """Say of the tokens of `ids` from `start` on how likely each was, where that is known, and where it came from.

        What was said first stays; only that a token was read gives way to how the model wrote it. Tokens that are not
        in the tree are passed over.
        """
        assert len(logprobs) == len(origins) == len(ids) - start
        for run, first, end in self._stretches(ids, start):
            part = slice(first - start, end - start)
            run.notes = Notes() if run.notes is None else run.notes
            run.notes.add(first - run.start, logprobs[part], origins[part])

    def tokens(self, ids: Sequence[int], table: Sequence[bytes], start: int = 0) -> list[Written]:
        """Return what is known of the tokens of `ids` from `start` on, as far as they are in the tree.

        `table` has what each id spells: `Vocabulary.bytes`.
        """
        found: list[Written] = []
        for run, first, end in self._stretches(ids, start):
            notes = Notes() if run.notes is None else run.notes
            places = range(first - run.start, end - run.start)
            found += [Written(run.ids[place], table[run.ids[place]], *notes.at(place)) for place in places]
        return found

    def _stretches(self, ids: Sequence[int], start: int) -> Iterator[tuple[Run[K], int, int]]:
        """Yield the runs that `ids` follow behind `start`, and from which token on up to which one."""
        runs, num_known = self.path(ids)
        for run in runs:
            first, end = max(run.start, start), min(run.end, num_known)
            if first < end:
                yield run, first, end

    def runs(self) -> Iterator[Run[K]]:
        """Yield every run, each before those that follow it."""
        waiting = list(self.root.children.values())
        while waiting:
            run = waiting.pop()
            yield run
            waiting.extend(run.children.values())


def _way(last: Run[K], start: int) -> array[int]:
    """Return the tokens from `start` to the end of a run, with those of the runs before it."""
    parts: list[array[int]] = []
    run: Run[K] | None = last
    while run is not None and run.end > start:
        parts.append(run.ids[max(0, start - run.start) :])
        run = run.parent
    way = as_ids([])
    for part in reversed(parts):
        way += part
    return way


def as_ids(ids: Sequence[int]) -> array[int]:
    """Return ids as an array: 4 bytes each, compared and cut in C."""
    return ids if isinstance(ids, array) else array("I", ids)


def num_common(run: Ids, ids: Ids, start: int = 0) -> int:
    """Count with how many tokens of `run` the part of `ids` from `start` begins. Both are arrays, or both lists."""
    most = min(len(run), len(ids) - start)
    # Stretches are compared in C: strides that double, and the one that differs in halves.
    low, high = 0, min(_STRIDE, most)
    while low < most and run[low:high] == ids[start + low : start + high]:
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if run[low:middle] == ids[start + low : start + middle]:
            low = middle
        else:
            high = middle
    return low
