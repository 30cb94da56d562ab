"""The token tree against a plain list of the inserted sequences and a plain table of the notes about tokens."""

from __future__ import annotations

from array import array
from itertools import pairwise
from math import inf
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long import in_long_runs
from worker.cache.token_tree import Provenance, Run, TokenTree, Written, as_ids, num_common


class Names(NamedTuple):
    """The data kept with a run in these tests: the name of each of its tokens."""

    names: tuple[str, ...]

    def cut(self, num_tokens: int) -> tuple[Names, Names]:
        return Names(self.names[:num_tokens]), Names(self.names[num_tokens:])


def name(ids: list[int], position: int) -> str:
    """Return a name that identifies a token together with all tokens before it."""
    return " ".join(map(str, ids[: position + 1]))


def new_tree() -> TokenTree[Names]:
    return TokenTree(Names(()))


def insert(tree: TokenTree[Names], ids: list[int]) -> list[Run[Names]]:
    _, num_known = tree.path(ids)
    return tree.insert(ids, Names(tuple(name(ids, position) for position in range(num_known, len(ids)))))


def spelled(runs: list[Run[Names]]) -> list[int]:
    return [token_id for run in runs for token_id in run.ids]


def longest_known(sequences: list[list[int]], ids: list[int]) -> int:
    known = {tuple(sequence[:length]) for sequence in sequences for length in range(len(sequence) + 1)}
    return max((length for length in range(len(ids) + 1) if tuple(ids[:length]) in known), default=0)


def check(tree: TokenTree[Names], sequences: list[list[int]]) -> None:
    """Check that each run is at its position, under its first token, and holds the data of its tokens."""
    assert sum(len(run.ids) for run in tree.runs()) == len(
        {tuple(s[: n + 1]) for s in sequences for n in range(len(s))}
    )
    for run in tree.runs():
        assert run.parent is not None
        assert len(run.ids) > 0
        assert run.start == run.parent.end
        assert run.parent.children[run.ids[0]] is run
        assert len(run.kept.names) == len(run.ids)
        upwards: list[Run[Names]] = [run]
        while upwards[-1].parent is not tree.root:
            above = upwards[-1].parent
            assert above is not None
            upwards.append(above)
        ids = spelled(upwards[::-1])
        assert run.kept.names == tuple(name(ids, position) for position in range(run.start, run.end))


_sequences = st.lists(st.lists(st.integers(0, 2), max_size=8), max_size=12)


@given(sequences=_sequences, asked=st.lists(st.integers(0, 2), max_size=10))
def test_a_path_follows_the_longest_known_prefix(sequences: list[list[int]], asked: list[int]):
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
def test_a_cut_leaves_every_path_unchanged(sequences: list[list[int]], data: st.DataObject):
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


def test_removed_tokens_are_not_known():
    tree = new_tree()
    insert(tree, [1, 2, 3])
    insert(tree, [1, 2, 4, 5])
    tree.remove(tree.path([1, 2, 4])[0][-1])
    assert tree.path([1, 2, 4, 5])[1] == 2
    assert tree.path([1, 2, 3])[1] == 3


# --- notes about tokens --------------------------------------------------------------------------------------

TABLE = [b"zero", b"", b"\xff"]
"""The bytes of each token id."""

Notes = dict[tuple[int, ...], tuple[float | None, Provenance]]
"""Keyed by a token and all tokens before it."""


class Oracle:
    """A table of all known tokens and the notes about them."""

    def __init__(self) -> None:
        self.noted: Notes = {}

    def insert(self, ids: list[int]) -> None:
        for length in range(1, len(ids) + 1):
            self.noted.setdefault(tuple(ids[:length]), (None, Provenance.PROMPT))

    def note(self, ids: list[int], start: int, logprobs: list[float | None], origins: list[Provenance]) -> None:
        for position in range(start, len(ids)):
            token = tuple(ids[: position + 1])
            if token in self.noted:
                logprob, origin = self.noted[token]
                self.noted[token] = (
                    logprobs[position - start] if logprob is None else logprob,
                    origins[position - start] if origin == Provenance.PROMPT else origin,
                )

    def tokens(self, ids: list[int], start: int) -> list[Written]:
        known = [tuple(ids[:length]) for length in range(start + 1, len(ids) + 1)]
        return [Written(token[-1], TABLE[token[-1]], *self.noted[token]) for token in known if token in self.noted]


def random_ids(rng: Random, max_length: int) -> list[int]:
    return [rng.randrange(len(TABLE)) for _ in range(rng.randrange(max_length + 1))]


@pytest.mark.parametrize("seed", [*range(40), *in_long_runs(range(40, 200))])
def test_each_token_keeps_its_first_note_while_it_is_in_the_tree(seed: int):
    rng = Random(seed)
    tree, oracle = new_tree(), Oracle()
    for _ in range(60):
        ids = random_ids(rng, 9)
        match rng.choice(["insert", "insert_below", "cut", "grow", "note", "note", "note", "remove"]):
            case "insert":
                insert(tree, ids)
                oracle.insert(ids)
            case "insert_below":
                above = rng.choice([tree.root, *tree.runs()])
                tree.insert_below(above, ids, Names(("",) * len(ids)))
                oracle.insert(ids_to(above) + ids)
            case "cut":
                long = [run for run in tree.runs() if len(run.ids) > 1]
                if long:
                    run = rng.choice(long)
                    tree.cut(run, rng.randrange(run.start + 1, run.end))
            case "grow":
                leaves = [run for run in tree.runs() if not run.children]
                if leaves:
                    run = rng.choice(leaves)
                    tree.grow(run, as_ids(ids))
                    oracle.insert(ids_to(run))
            case "remove":
                leaves = [run for run in tree.runs() if not run.children]
                if leaves:
                    run = rng.choice(leaves)
                    for length in range(run.start + 1, run.end + 1):
                        del oracle.noted[tuple(ids_to(run)[:length])]
                    tree.remove(run)
            case _:
                # Mostly along a known path: up to its end, or beyond it.
                ids = ids_to(rng.choice([tree.root, *tree.runs()]))[: rng.randrange(20)] + random_ids(rng, 2)
                start = rng.randrange(len(ids) + 1)
                logprobs = [rng.choice([None, -inf, 0.0, -rng.randrange(100) / 8]) for _ in ids[start:]]
                origins = [rng.choice(list(Provenance)) for _ in ids[start:]]
                tree.note(ids, start, logprobs, origins)
                oracle.note(ids, start, logprobs, origins)
        asked = ids_to(rng.choice([tree.root, *tree.runs()]))[: rng.randrange(20)] + random_ids(rng, 2)
        start = rng.randrange(len(asked) + 1)
        assert tree.tokens(asked, TABLE, start) == oracle.tokens(asked, start)
    for run in tree.runs():
        ids = ids_to(run)
        assert tree.tokens(ids, TABLE) == oracle.tokens(ids, 0)
        assert len(tree.tokens(ids, TABLE)) == len(ids)


def ids_to(run: Run[Names]) -> list[int]:
    """Return the ids from the root to the end of a run."""
    return [*ids_to(run.parent), *run.ids] if run.parent is not None else []


def test_a_log_probability_comes_back_in_32_bits():
    tree = new_tree()
    insert(tree, [0, 1])
    tree.note([0, 1], 1, [-0.1], [Provenance.FORCED])
    assert tree.tokens([0, 1], TABLE, 1) == [Written(1, b"", array("f", [-0.1])[0], Provenance.FORCED)]


def test_tokens_inserted_again_after_removal_have_no_note():
    tree = new_tree()
    (run,) = insert(tree, [0, 1])
    tree.note([0, 1], 0, [-1.0, -2.0], [Provenance.SAMPLED, Provenance.DRAFT])
    tree.remove(run)
    assert tree.tokens([0, 1], TABLE) == []
    insert(tree, [0])
    assert tree.tokens([0, 1], TABLE) == [Written(0, b"zero", None, Provenance.PROMPT)]


@pytest.mark.parametrize("length", [0, 1, 511, 512, 513, 5_000])
@pytest.mark.parametrize("start", [0, 3])
def test_the_length_of_a_common_prefix_is_counted_for_any_length(length: int, start: int):
    rng = Random(length)
    run = as_ids([rng.randrange(2**32) for _ in range(length)])
    before = as_ids([7] * start)
    assert num_common(run, before + run, start) == length
    assert num_common(run, before + run + as_ids([1]), start) == length
    for position in {0, length // 2, length - 1} & set(range(length)):
        other = run[:]
        other[position] ^= 1
        assert num_common(run, before + other, start) == position
        assert num_common(run, before + run[:position], start) == position
