"""Whether one model can guess for another, as far as their files tell; it loads neither a model nor a tokenizer.

A vocabulary of a hundred thousand tokens takes a tokenizer a second to load. What a token of letters and digits spells
is the same in every form of tokenizer, so where one number stands for two different ones, the models have other tokens.
Nothing is said of what only a loaded model tells: "no" is certain, and the rest is tried out.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from worker.models.folder import GUIDE, guide_path

Misfit: TypeAlias = Literal["gone", "other_tokens"]
"""Why a model can't guess: it is not there any more, or has other tokens than the one it would guess for."""

_VOCABULARY = re.compile(rb'"vocab"\s*:\s*\{')
_PLAIN_PIECE = re.compile(rb'(?<=[\s{,])"([A-Za-z0-9]+)"\s*:\s*([0-9]+)')
_MANY = 64
"""Pairs of models of which is remembered how they compare."""


class _File(NamedTuple):
    """A tokenizer as it lies there now."""

    path: Path
    num_bytes: int
    changed_ns: int


def misfit(draft: str, model: str) -> Misfit | None:
    """Return why a model can't guess for another one; None where that is not known."""
    folder, other = _folder(draft), _folder(model)
    if folder is None:
        # What is no path is the name of a downloaded model.
        return "gone" if Path(draft).is_absolute() else None
    tokenizers = (_tokenizer(folder), None if other is None else _tokenizer(other))
    if tokenizers[0] is None or tokenizers[1] is None:
        return None
    return "other_tokens" if _have_other_tokens(tokenizers[0], tokenizers[1]) else None


def _folder(name: str) -> Path | None:
    path = guide_path() if name == GUIDE else Path(name)
    try:
        return path if path.is_dir() else None
    except (OSError, ValueError):  # a name that no folder can have
        return None


def _tokenizer(folder: Path) -> _File | None:
    path = folder / "tokenizer.json"
    try:
        found = path.stat()
    except OSError:
        return None
    return _File(path, found.st_size, found.st_mtime_ns) if found.st_size else None


@lru_cache(_MANY)
def _have_other_tokens(one: _File, other: _File) -> bool:
    if one == other:
        return False
    try:
        with ExitStack() as opened:
            return _differ(*(_pieces(opened, file.path) for file in (one, other)))
    except OSError:
        return False


def _differ(one: Iterator[tuple[int, bytes]], other: Iterator[tuple[int, bytes]]) -> bool:
    """Whether a number stands for two different pieces; both come in the order of their numbers."""
    end = (-1, b"")
    mine, its = next(one, end), next(other, end)
    while mine != end and its != end:
        if mine[0] < its[0]:
            mine = next(one, end)
        elif its[0] < mine[0]:
            its = next(other, end)
        elif mine[1] != its[1]:
            return True
        else:
            mine, its = next(one, end), next(other, end)
    return False


def _pieces(opened: ExitStack, path: Path) -> Iterator[tuple[int, bytes]]:
    """The numbers and pieces of a vocabulary that are letters and digits alone, as they stand in its file."""
    data = opened.enter_context(mmap.mmap(opened.enter_context(path.open("rb")).fileno(), 0, access=mmap.ACCESS_READ))
    begin = _VOCABULARY.search(data)
    if begin is not None:
        for found in _PLAIN_PIECE.finditer(data, begin.end()):
            yield int(found[2]), found[1]
