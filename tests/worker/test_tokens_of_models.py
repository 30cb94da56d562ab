"""Comparing the tokens of two models by their files alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE

from worker.models.draft_check import misfit

_PIECES = st.text(alphabet='ab1", :{}\\Ġ▁é\n', min_size=1, max_size=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def _write(folder: Path, pieces: list[str], *, is_indented: bool = False) -> str:
    folder.mkdir(exist_ok=True)
    tokenizer = Tokenizer(BPE({piece: number for number, piece in enumerate(pieces)}, []))
    (folder / "tokenizer.json").write_text(tokenizer.to_str(pretty=is_indented), encoding="utf-8")
    return str(folder)


def _is_plain(piece: str) -> bool:
    return piece.isascii() and piece.isalnum()


@given(
    one=st.lists(_PIECES, max_size=12, unique=True),
    other=st.lists(_PIECES, max_size=12, unique=True),
    is_shared=st.booleans(),
    is_indented=st.booleans(),
)
def test_tokens_differ_if_an_id_stands_for_different_plain_pieces(
    folder: Path, one: list[str], other: list[str], is_shared: bool, is_indented: bool
):
    if is_shared:
        other = [*one, *(piece for piece in other if piece not in one)]
    names = _write(folder / "one", one, is_indented=is_indented), _write(folder / "other", other)
    pairs = [(mine, its) for mine, its in zip(one, other, strict=False) if _is_plain(mine) and _is_plain(its)]
    expected = "other_tokens" if any(mine != its for mine, its in pairs) else None
    assert misfit(*names) == expected
    assert misfit(*reversed(names)) == expected


def test_models_with_unreadable_tokens_are_assumed_to_fit(folder: Path):
    name = _write(folder / "whole", [f"w{number}" for number in range(300)])
    for text in ("", "{", json.dumps({"model": {"type": "Unigram", "vocab": [["a", 0.0], ["c", 0.0]]}})):
        odd = folder / "odd"
        odd.mkdir(exist_ok=True)
        (odd / "tokenizer.json").write_text(text)
        assert misfit(str(odd), name) is None
    (folder / "odd" / "tokenizer.json").unlink()
    assert misfit(str(folder / "odd"), name) is None
    assert misfit("somebody/a-model", name) is None
    assert misfit(name, "somebody/a-model") is None
    assert misfit("a\0b", name) is None
    assert misfit(str(folder / "not there"), name) == "gone"
    assert misfit(name, "guide") == "other_tokens"
