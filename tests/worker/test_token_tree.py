"""The token tree against a plain list of the sequences that were put into it."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.token_tree import Run, TokenTree, as_ids, num_common


class Told(NamedTuple):
    """What lies at a run here: the name of each of its tokens."""

    names: tuple[str, ...]

    def cut(self, num_tokens: int) -> tuple[Told, Told]:
        return Told(self.names[:num_tokens]), Told(self.names[num_tokens:])


def name(ids: list[int], place: int) -> str:
    """Tells a token with all that comes before it."""
    return " ".join(map(str, ids[: place + 1]))


def new_tree() -> TokenTree[Told]:
    return TokenTree(Told(()))


def insert(tree: TokenTree[Told], ids: list[int]) -> list[Run[Told]]:
    _, num_known = tree.path(ids)
    return tree.insert(ids, Told(tuple(name(ids, place) for place in range(num_known, len(ids)))))


def spelled(runs: list[Run[Told]]) -> list[int]:
    return [token_id for run in runs for token_id in run.ids]


def longest_known(sequences: list[list[int]], ids: list[int]) -> int:
    known = {tuple(sequence[:length]) for sequence in sequences for length in range(len(sequence) + 1)}
    return max((length for length in range(len(ids) + 1) if tuple(ids[:length]) in known), default=0)


def check(tree: TokenTree[Told], sequences: list[list[int]]) -> None:
    """Each run stands where it says, under its first token, and holds what belongs to its tokens."""
    assert sum(len(run.ids) for run in tree.runs()) == len(
        {tuple(s[: n + 1]) for s in sequences for n in range(len(s))}
    )
    for run in tree.runs():
        assert run.parent is not None
        assert len(run.ids) > 0
        assert run.start == run.parent.end
        assert run.parent.children[run.ids[0]] is run
        assert len(run.kept.names) == len(run.ids)
        way: list[Run[Told]] = [run]
        while way[-1].parent is not tree.root:
            above = way[-1].parent
            assert above is not None
            way.append(above)
        ids = spelled(way[::-1])
        assert run.kept.names == tuple(name(ids, place) for place in range(run.start, run.end))


_sequences = st.lists(st.lists(st.integers(0, 2), max_size=8), max_size=12)


@given(sequences=_sequences, asked=st.lists(st.integers(0, 2), max_size=10))
def test_a_path_follows_the_longest_known_beginning(sequences: list[list[int]], asked: list[int]):
    tree = new_tree()
    for done, sequence in enumerate(sequences):
        assert spelled(insert(tree, sequence)) == sequence
        check(tree, sequences[: done + 1])
    runs, num_known = tree.path(asked)
    assert num_known == longest_known(sequences, asked)
    assert spelled(runs)[:num_known] == asked[:num_known]
    assert num_known > (runs[-1].start if runs else -1)
    assert [after.parent for _, after in pairwise(runs)] == runs[:-1]
    check(tree, sequences)


@given(sequences=_sequences.filter(lambda sequences: any(len(sequence) > 1 for sequence in sequences)), data=st.data())
def test_a_cut_leaves_every_path_as_it_was(sequences: list[list[int]], data: st.DataObject):
    tree = new_tree()
    for sequence in sequences:
        insert(tree, sequence)
    long = [run for run in tree.runs() if len(run.ids) > 1]
    if not long:
        return
    run = data.draw(st.sampled_from(long))
    end = run.end
    position = data.draw(st.integers(run.start + 1, run.end - 1))
    upper = tree.cut(run, position)
    assert (upper.end, run.start, run.end) == (position, position, end)
    check(tree, sequences)
    for sequence in sequences:
        assert tree.path(sequence)[1] == len(sequence)


def test_what_is_removed_is_not_known():
    tree = new_tree()
    insert(tree, [1, 2, 3])
    insert(tree, [1, 2, 4, 5])
    tree.remove(tree.path([1, 2, 4])[0][-1])
    assert tree.path([1, 2, 4, 5])[1] == 2
    assert tree.path([1, 2, 3])[1] == 3


@pytest.mark.parametrize("length", [0, 1, 511, 512, 513, 5_000])
@pytest.mark.parametrize("start", [0, 3])
def test_common_beginnings_of_any_length_are_counted(length: int, start: int):
    rng = Random(length)
    run = as_ids([rng.randrange(2**32) for _ in range(length)])
    before = as_ids([7] * start)
    assert num_common(run, before + run, start) == length
    assert num_common(run, before + run + as_ids([1]), start) == length
    for place in {0, length // 2, length - 1} & set(range(length)):
        other = run[:]
        other[place] ^= 1
        assert num_common(run, before + other, start) == place
        assert num_common(run, before + run[:place], start) == place
