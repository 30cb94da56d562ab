"""The token tree: all tokens ever processed or generated, as a radix tree. Independent of the model.

A run is an edge of the tree: consecutive tokens without a fork. Sequences with a common prefix share its runs. The
cached arrays of a run's tokens are its value, `kept`, which is cut together with the run.

A run also notes each token's log-probability and origin. The notes are removed with the run, so callers that need them
longer keep a copy. The bytes of a token come from the vocabulary.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from enum import IntEnum
from math import isnan, nan
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

_STRIDE = 512
"""The first comparison of two sequences covers this many tokens."""


class Provenance(IntEnum):
    """The origin of a token."""

    PROMPT = 0
    """The token was part of a prompt, or its origin is unknown."""
    SAMPLED = 1
    FORCED = 2
    HEALED = 3
    DRAFT = 4


class Written(NamedTuple):
    """A token at its position in a sequence."""

    id: int
    bytes: bytes
    logprob: float | None
    """The token's log-probability in 32 bits; None if unknown."""
    origin: Provenance


class Notes:
    """Log-probabilities and origins of consecutive tokens, in 5 bytes each, up to the last token with a note."""

    __slots__ = ("_logprobs", "_origins")

    def __init__(self, logprobs: array[float] | None = None, origins: array[int] | None = None) -> None:
        """One value of each array for each token. NaN stands for an unknown log-probability."""
        self._logprobs = array("f") if logprobs is None else logprobs
        self._origins = array("B") if origins is None else origins

    def add(self, first: int, logprobs: Sequence[float | None], origins: Sequence[Provenance]) -> None:
        """Add notes for the tokens from `first` on. Existing notes are kept, except that any origin replaces PROMPT."""
        num_more = first + len(origins) - len(self._origins)
        if num_more > 0:
            self._logprobs.extend(array("f", [nan]) * num_more)
            self._origins.extend(array("B", [Provenance.PROMPT]) * num_more)
        for index, (logprob, origin) in enumerate(zip(logprobs, origins, strict=True), first):
            if logprob is not None and isnan(self._logprobs[index]):
                self._logprobs[index] = logprob
            if self._origins[index] == Provenance.PROMPT:
                self._origins[index] = origin

    def cut(self, num_tokens: int) -> tuple[Notes, Notes]:
        """Return the notes of the first `num_tokens` tokens, and those of the rest."""
        logprobs, origins = self._logprobs, self._origins
        first = Notes(logprobs[:num_tokens], origins[:num_tokens])
        return first, Notes(logprobs[num_tokens:], origins[num_tokens:])

    def at(self, index: int) -> tuple[float | None, Provenance]:
        """Return one token's log-probability (None if unknown) and origin."""
        if index >= len(self._origins):
            return None, Provenance.PROMPT
        logprob = self._logprobs[index]
        return None if isnan(logprob) else logprob, Provenance(self._origins[index])


class RunValue(Protocol):
    """The value of a run. `TokenTree` only cuts it."""

    def cut(self, num_tokens: int) -> tuple[Self, Self]:
        """Return the value of the first `num_tokens` tokens, and that of the rest."""
        ...


K = TypeVar("K", bound=RunValue)
Ids = TypeVar("Ids", "array[int]", "list[int]")


class Run(Generic[K]):
    """Consecutive tokens without a fork between them. A run may be cut in two; a run without children may grow."""

    __slots__ = ("children", "ids", "kept", "notes", "parent", "start")

    def __init__(self, parent: Run[K] | None, start: int, ids: array[int], kept: K, notes: Notes | None = None) -> None:
        self.parent = parent
        self.start = start
        """The number of tokens before the run."""
        self.ids = ids
        self.notes = notes
        """The notes of the run's tokens; None means that no token has a note."""
        self.kept = kept
        self.children: dict[int, Run[K]] = {}
        """The runs that continue this one, by their first token."""

    @property
    def end(self) -> int:
        """The number of tokens up to the end of the run."""
        return self.start + len(self.ids)

    def __repr__(self) -> str:
        return f"<Run {self.start}…{self.end}, {len(self.children)} children>"


class TokenTree(Generic[K]):
    """Runs below an empty root, found by token ids alone."""

    def __init__(self, nothing: K) -> None:
        """`nothing` is the value of the root, which has no tokens."""
        self.root: Run[K] = Run(None, 0, as_ids(()), nothing)

    def path(self, ids: Sequence[int]) -> tuple[list[Run[K]], int]:
        """Return the runs that match a prefix of `ids`, and the length of that prefix.

        The last run may match in part.
        """
        return self.path_below(self.root, ids)

    def path_below(self, above: Run[K], ids: Sequence[int]) -> tuple[list[Run[K]], int]:
        """Like `path`, but for ids that follow the run `above`."""
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

    def beside(self, ids: Sequence[int], max_tokens: int) -> list[array[int]]:
        """Return the branches that fork from `ids`: for each, the tokens from the fork to its end.

        Branches that fork later come first; if they fork at the same position, the newest. Together they have at most
        `max_tokens` tokens.
        """
        runs, num_matched = self.path(ids)
        followed = {self.root, *runs}
        # Runs to visit, each with the position at which its branch leaves `ids`.
        waiting = [
            (child, run.end)
            for run in (self.root, *runs)
            for child in run.children.values()
            if run.end <= num_matched and child not in followed
        ]
        if runs and num_matched < runs[-1].end:
            waiting.append((runs[-1], num_matched))
        found: list[array[int]] = []
        while waiting and max_tokens > 0:
            run, start = waiting.pop()
            waiting += [(child, start) for child in run.children.values()]
            if not run.children:
                found.append(_ids_up_to(run, start)[:max_tokens])
                max_tokens -= len(found[-1])
        return found

    def insert(self, ids: Sequence[int], kept: K) -> list[Run[K]]:
        """Add the runs (nodes) that the tree lacks for `ids`. Return the runs that together hold exactly `ids`.

        `kept` is the value of a new run, if there is one.
        """
        return self.insert_below(self.root, ids, kept)

    def insert_below(self, above: Run[K], ids: Sequence[int], kept: K) -> list[Run[K]]:
        """Like `insert`, but for ids that follow the run `above`."""
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
        """Cut a run at `position`, a number of its tokens. Return its first part; `run` itself becomes the rest."""
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
        """Append tokens to a run without children."""
        assert not run.children
        run.ids.extend(ids)

    def shrink(self, run: Run[K], num_tokens: int) -> None:
        """Shorten a run without children to its first `num_tokens`. Its value must not include the other tokens."""
        assert not run.children
        assert 0 < num_tokens <= len(run.ids)
        del run.ids[num_tokens:]
        if run.notes is not None:
            run.notes, _ = run.notes.cut(num_tokens)

    def remove(self, run: Run[K]) -> None:
        """Remove a run without children, with its notes."""
        assert run.parent is not None
        assert not run.children
        del run.parent.children[run.ids[0]]

    def note(
        self, ids: Sequence[int], start: int, logprobs: Sequence[float | None], origins: Sequence[Provenance]
    ) -> None:
        """Note the log-probability (None if unknown) and origin of each token of `ids` from `start` on.

        Existing notes are kept, except that any origin replaces PROMPT. Tokens that are not in the tree are ignored.
        """
        assert len(logprobs) == len(origins) == len(ids) - start
        for run, first, end in self._stretches(ids, start):
            part = slice(first - start, end - start)
            run.notes = Notes() if run.notes is None else run.notes
            run.notes.add(first - run.start, logprobs[part], origins[part])

    def tokens(self, ids: Sequence[int], table: Sequence[bytes], start: int = 0) -> list[Written]:
        """Return the tokens of `ids` from `start` on with their notes, up to the first that is not in the tree.

        `table` holds the bytes of each id (`Vocabulary.bytes`).
        """
        found: list[Written] = []
        for run, first, end in self._stretches(ids, start):
            notes = Notes() if run.notes is None else run.notes
            indexes = range(first - run.start, end - run.start)
            found += [Written(run.ids[index], table[run.ids[index]], *notes.at(index)) for index in indexes]
        return found

    def _stretches(self, ids: Sequence[int], start: int) -> Iterator[tuple[Run[K], int, int]]:
        """Yield each run that matches `ids` after `start`, with the first and last position of the match."""
        runs, num_known = self.path(ids)
        for run in runs:
            first, end = max(run.start, start), min(run.end, num_known)
            if first < end:
                yield run, first, end

    def runs(self) -> Iterator[Run[K]]:
        """Yield every run, parents before children."""
        waiting = list(self.root.children.values())
        while waiting:
            run = waiting.pop()
            yield run
            waiting.extend(run.children.values())


def _ids_up_to(last: Run[K], start: int) -> array[int]:
    """Return the tokens from the position `start` to the end of the run `last`."""
    parts: list[array[int]] = []
    run: Run[K] | None = last
    while run is not None and run.end > start:
        parts.append(run.ids[max(0, start - run.start) :])
        run = run.parent
    ids = as_ids([])
    for part in reversed(parts):
        ids += part
    return ids


def as_ids(ids: Sequence[int]) -> array[int]:
    """Return ids as an array of 4 bytes each, which is compared and sliced in C."""
    return ids if isinstance(ids, array) else array("I", ids)


def num_common(run: Ids, ids: Ids, start: int = 0) -> int:
    """Return the length of the common prefix of `run` and `ids[start:]`. Both are arrays, or both lists."""
    length = min(len(run), len(ids) - start)
    # Slices are compared in C, in strides that double. The stride that differs is then searched by bisection.
    low, high = 0, min(_STRIDE, length)
    while low < length and run[low:high] == ids[start + low : start + high]:
        low, high = high, min(2 * high, length)
    while high - low > 1:
        middle = (low + high) // 2
        if run[low:middle] == ids[start + low : start + middle]:
            low = middle
        else:
            high = middle
    return low
