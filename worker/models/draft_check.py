"""Checks whether a model can be a draft model for another one, from their files, without loading a tokenizer.

Loading a tokenizer with a hundred thousand tokens takes a second. Instead, this compares the tokens that consist of
letters and digits, which all tokenizer files spell in the same way. If an id has different texts in the two models,
their tokens differ. If not, they may still differ: only loading the draft model shows it.
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
"""Why a model can't be the draft model: its folder is gone, or it has other tokens."""

_VOCABULARY = re.compile(rb'"vocab"\s*:\s*\{')
_PLAIN_PIECE = re.compile(rb'(?<=[\s{,])"([A-Za-z0-9]+)"\s*:\s*([0-9]+)')
_MAX_KNOWN = 64
"""The results for this many pairs of models are kept."""


class _File(NamedTuple):
    """A version of a tokenizer file."""

    path: Path
    num_bytes: int
    modified_ns: int


def misfit(draft: str, model: str) -> Misfit | None:
    """Return why `draft` can't be the draft model of `model`; None if no reason is known."""
    folder, other = _folder(draft), _folder(model)
    if folder is None:
        # Other names are names of downloaded models.
        return "gone" if Path(draft).is_absolute() else None
    tokenizers = (_tokenizer(folder), None if other is None else _tokenizer(other))
    if tokenizers[0] is None or tokenizers[1] is None:
        return None
    return "other_tokens" if _have_other_tokens(tokenizers[0], tokenizers[1]) else None


def _folder(name: str) -> Path | None:
    path = guide_path() if name == GUIDE else Path(name)
    try:
        return path if path.is_dir() else None
    except (OSError, ValueError):  # an invalid path
        return None


def _tokenizer(folder: Path) -> _File | None:
    path = folder / "tokenizer.json"
    try:
        found = path.stat()
    except OSError:
        return None
    return _File(path, found.st_size, found.st_mtime_ns) if found.st_size else None


@lru_cache(_MAX_KNOWN)
def _have_other_tokens(one: _File, other: _File) -> bool:
    if one == other:
        return False
    try:
        with ExitStack() as opened:
            return _differ(*(_pieces(opened, file.path) for file in (one, other)))
    except OSError:
        return False


def _differ(one: Iterator[tuple[int, bytes]], other: Iterator[tuple[int, bytes]]) -> bool:
    """Return whether any id has different pieces in the two iterators, which are sorted by id."""
    end = (-1, b"")
    first, second = next(one, end), next(other, end)
    while first != end and second != end:
        if first[0] < second[0]:
            first = next(one, end)
        elif second[0] < first[0]:
            second = next(other, end)
        elif first[1] != second[1]:
            return True
        else:
            first, second = next(one, end), next(other, end)
    return False


def _pieces(opened: ExitStack, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the ids and pieces of the vocabulary that consist of letters and digits, in the order of the file."""
    data = opened.enter_context(mmap.mmap(opened.enter_context(path.open("rb")).fileno(), 0, access=mmap.ACCESS_READ))
    begin = _VOCABULARY.search(data)
    if begin is not None:
        for found in _PLAIN_PIECE.finditer(data, begin.end()):
            yield int(found[2]), found[1]
