"""Descriptions of repositories that no honest hub would send."""

from __future__ import annotations

import json
from typing import Any

REPO = "owner/hostile"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202e\r\n\x9b31m"
_GOOD: dict[str, Any] = {
    "id": REPO,
    "sha": "a" * 40,
    "downloads": 7,
    "gated": False,
    "lastModified": "2026-05-01T10:00:00.000Z",
    "tags": ["mlx", "text-generation", "license:mit", "4-bit"],
}
_GGUF = {"tags": ["gguf"], "siblings": [{"rfilename": "x-Q4_0.gguf", "size": 9}]}
_FILES = ("config.json", "tokenizer.json", "model.safetensors")
_ODD_NUMBERS: tuple[object, ...] = (-1, 2**63, 10**30, 10**400, "7", 1.5, True, None, [1], {"a": 1}, ESCAPES)
_ODD_TEXTS: tuple[object, ...] = (ESCAPES, "x" * 2**20, "", 7, None, [[]], {"a": "b"})


def description(**changes: object) -> dict[str, Any]:
    """Return a description with some fields changed; those that become `...` are left out."""
    return {name: value for name, value in {**_GOOD, **changes}.items() if value is not ...}


def _siblings(name: object, size: object) -> dict[str, Any]:
    return {"siblings": [*({"rfilename": file, "size": 1} for file in _FILES), {"rfilename": name, "size": size}]}


def _rows() -> list[tuple[str, dict[str, Any]]]:
    """Return a name and a description for each attack; the first of a kind comes first among its kind."""
    numbers: list[tuple[str, dict[str, Any]]] = []
    for value in _ODD_NUMBERS:
        text = repr(value)[:12] + f" ({len(repr(value))})"
        numbers += [
            (f"downloads {text}", description(downloads=value)),
            (f"parameters {text}", description(safetensors={"parameters": {"U32": value, "BF16": 1}})),
            (f"GGUF's parameters {text}", description(**_GGUF, gguf={"total": value})),
            (f"context {text}", description(**_GGUF, gguf={"total": 5, "context_length": value})),
            (f"size {text}", description(**_siblings("model-2.safetensors", value))),
        ]
    texts: list[tuple[str, dict[str, Any]]] = []
    for value in _ODD_TEXTS:
        text = repr(value)[:12] + f" ({len(repr(value))})"
        texts += [
            (f"architecture {text}", description(**_GGUF, gguf={"architecture": value})),
            (f"licence {text}", description(tags=["mlx", f"license:{value}", value])),
            (f"file {text}", description(**_siblings(value, 1))),
            (f"GGUF file {text}", description(tags=["gguf"], siblings=[{"rfilename": f"{value}.gguf", "size": 1}])),
            (f"date {text}", description(lastModified=value)),
            (f"commit {text}", description(sha=value)),
            (f"gated {text}", description(gated=value)),
            (f"tags {text}", description(tags=value)),
            (f"files {text}", description(siblings=value)),
        ]
    dates = ("10000-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "9" * 10**5)
    others = [(f"date {date[:12]}", description(lastModified=date)) for date in dates]
    others += [(f"without {name}", description(**{name: ...})) for name in _GOOD if name != "id"]
    others.append(("only a name", {"id": REPO}))
    return numbers + texts + others


ROWS = _rows()
_KINDS = ("downloads 1000", "parameters 1000", "context 1000", "size 1000", "architecture '\\x1b", "date 10000", "only")
QUICK = [row for row in ROWS if row[0].startswith(_KINDS) and "(401)" not in row[0]]
"""One row of a kind."""


def listing(rows: list[tuple[str, dict[str, Any]]]) -> bytes:
    """Return a page of a search with these descriptions, each of a repository of its own."""
    return json.dumps([{**row, "id": f"owner/row-{number}"} for number, (_, row) in enumerate(rows)]).encode()


WHOLE_PAGES: list[tuple[str, bytes]] = [
    ("not a number", b'[{"id": "owner/a", "tags": ["mlx"], "downloads": NaN}]'),
    (
        "names",
        json.dumps([{"id": name, "tags": ["mlx"]} for name in (ESCAPES, "o/" + "x" * 2**20, "o/\u202ea", 7)]).encode(),
    ),
    ("no list", b'{"error": "\\u001b[2J"}'),
    ("no JSON", ESCAPES.encode()),
    ("depth", b"[" * 10**5),
    ("half a character", b'[{"id": "owner/a", "tags": ["mlx", "license:\\ud800"]}]'),
    ("10,000 results", json.dumps([{"id": f"owner/m{number}", "tags": ["mlx"]} for number in range(10_000)]).encode()),
]
