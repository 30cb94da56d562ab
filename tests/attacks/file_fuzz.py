"""Random changes of stores and of files to import: each is opened or imported, or refused with a sentence."""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from app.model.exports.bough_file import bough_file
from app.model.exports.excerpt import whole_tree
from app.model.exports.markdown import to_markdown
from app.model.imports.importing import import_files, plan_import
from app.model.open_conversation import OpenConversation
from app.model.store import Store
from tests.app.model.exports.excerpts import result_of
from tests.app.model.imports import samples
from tests.app.model.stores import as_the_program_starts, use, write_large_store
from tests.app.trees import plant
from tests.attacks.figures import Figures
from tests.attacks.mutations import changed_bytes, changed_json

_PAGE = 4096
_HEADER_BYTES = 100
_ROUNDS_PER_STORE = 40


def fuzz_stores(num_stores: int, seed: int, *, first: int = 0) -> Figures:
    """Open changed stores as the program does, and use them. `first`: the number of the first, to repeat a part."""
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="bough-fuzz-") as place:
        files = _good_stores(Path(place))
        for number in range(first, first + num_stores):
            draw = random.Random(f"{seed} {number}")
            folder = Path(place, f"{number}")
            folder.mkdir()
            words = _write_changed(draw, files, folder / "store.sqlite3")
            _round(figures, f"seed {seed}, store {number}: {words}", lambda folder=folder: _open(folder))
    return figures


def _round(figures: Figures, attack: str, work: Callable[[], str]) -> None:
    began_at = time.monotonic()
    try:
        end = work()
    except Exception as error:  # noqa: BLE001 (each is a fault)
        end = type(error).__name__
        figures.blame(f"{attack}: {''.join(traceback.format_exception(error)[-4:])}")
    figures.add(end, time.monotonic() - began_at, 0, attack)


def _good_stores(place: Path) -> list[dict[str, bytes]]:
    """Return the files of two stores, by suffix. Each has a log with changes that are not in the main file."""
    found: list[dict[str, bytes]] = []
    for number in range(2):
        path = place / f"good{number}.sqlite3"
        write_large_store(path, seed=number)
        with contextlib.closing(Store(path)) as store:
            plant(store, "u1-a1-u2-a2 | a1-u3")
            found.append({end: Path(f"{path}{end}").read_bytes() for end in ("", "-wal", "-shm")})
    return found


def _write_changed(draw: random.Random, stores: list[dict[str, bytes]], path: Path) -> str:
    files = dict(draw.choice(stores))
    words: list[str] = []
    for _ in range(draw.choice((1, 1, 2, 4, 10))):
        end = draw.choice(("", "", "-wal", "-wal", "-shm"))
        kind = draw.choice(("bytes", "bytes", "header", "page", "cut", "other", "none", "zeros"))
        files[end] = _changed(draw, files[end], draw.choice(stores)[draw.choice((end, end, ""))], kind)
        words.append(f"{kind} of {end or 'the file'}")
    for end, data in files.items():
        if data or draw.random() < 0.5:
            Path(f"{path}{end}").write_bytes(data)
    return ", ".join(words)


def _changed(draw: random.Random, data: bytes, other: bytes, kind: str) -> bytes:
    if not data:
        return other
    at = draw.randrange(len(data))
    page = at // _PAGE * _PAGE
    match kind:
        case "bytes":
            return changed_bytes(draw, data)[0]
        case "header":
            at %= _HEADER_BYTES
            return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        case "page":
            there = draw.randrange(max(1, len(other) // _PAGE)) * _PAGE
            return data[:page] + other[there : there + _PAGE] + data[page + _PAGE :]
        case "cut":
            return data[: draw.choice((at, page))]
        case "other":
            return other
        case "none":
            return b""
        case _:
            return data[:page] + bytes(_PAGE) + data[page + _PAGE :]


def _open(folder: Path) -> str:
    path = folder / "store.sqlite3"
    before = path.read_bytes() if path.exists() else None
    with contextlib.closing(as_the_program_starts(path)) as store:
        use(store)
        if store.why_read_only:
            assert (path.read_bytes() if path.exists() else None) == before
            return f"read-only: {store.why_read_only.template[:60]}"
    return "opened"


# --- imports -------------------------------------------------------------------------------------------------


def fuzz_imports(num_files: int, seed: int, *, first: int = 0) -> Figures:
    """Plan and import changed files of each format. `first`: the number of the first, to repeat a part."""
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="bough-fuzz-") as place:
        goods = _good_files(Path(place))
        for begin in range(first, first + num_files, _ROUNDS_PER_STORE):
            with contextlib.closing(Store(Path(place, f"store{begin}.sqlite3"))) as store:
                for number in range(begin, min(begin + _ROUNDS_PER_STORE, first + num_files)):
                    draw = random.Random(f"{seed} {number}")
                    name = draw.choice(sorted(goods))
                    data, words = _changed_file(draw, goods[name])
                    path = Path(place, name)
                    path.write_bytes(data)
                    attack = f"seed {seed}, file {number}, {name}: {words}"
                    _round(figures, attack, lambda store=store, path=path: _import(store, path))
    return figures


def _good_files(place: Path) -> dict[str, bytes]:
    """Return a file of each format that can be imported, by name."""
    files = {f"{name}.json": json.dumps([sample]).encode() for name, sample in samples.ALL.items()}
    lines = [json.dumps(sample) for sample in (samples.OPENAI, samples.SHAREGPT, samples.PREFERENCE)]
    files["records.jsonl"] = "\n".join(lines).encode()
    with contextlib.closing(Store(place / "exported.sqlite3")) as store:
        excerpt = whole_tree(store, plant(store, "u1-a1-u2-a2 | a1-u3").conversation_id)
    files["own.bough"] = "".join(piece.text for piece in bough_file([excerpt])).encode()
    files["transcript.md"] = to_markdown("A name", excerpt.path).encode()
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("conversations.json", files["ChatGPT.json"] if "ChatGPT.json" in files else lines[0])
        packed.writestr("file-CAT-cat.png", b"cat")
    files["export.zip"] = archive.getvalue()
    return files


def _changed_file(draw: random.Random, data: bytes) -> tuple[bytes, str]:
    words: list[str] = []
    if draw.random() < 0.6:
        with contextlib.suppress(ValueError):
            value: Any = json.loads(data)
            for _ in range(draw.choice((1, 1, 2, 4))):
                value, change = changed_json(draw, value)
                words.append(change)
            data = json.dumps(value).encode("utf-8", "surrogatepass")
    for _ in range(draw.choice((0, 1, 3)) if words else draw.choice((1, 1, 5))):
        data, change = changed_bytes(draw, data)
        words.append(change)
    return data, ", ".join(words)


def _import(store: Store, path: Path) -> str:
    plan = result_of(plan_import(store, [path]))
    summary = result_of(import_files(store, [path]))
    assert (plan.num_conversations, plan.num_messages) == (summary.num_conversations, summary.num_messages)
    assert all(str(problem.why) and str(problem.where) for problem in summary.problems)
    for conversation_id in summary.conversation_ids:
        opened = OpenConversation(store, store.conversations.get(conversation_id))
        assert opened.path
    return "problems" if summary.problems else "imported"
