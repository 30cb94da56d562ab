"""Imports: messages per second and memory. Exports of one long conversation: seconds for each format.

`make bench LONG=1` also imports a million messages.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measure import Row, alone
from tests.driver import ROOT

_NUM_IMPORTED = 50_000
_NUM_IMPORTED_LONG = 1_000_000
_NUM_EXPORTED = 10_000
_CONVERSATION_SIZE = 40
_ROUNDS = 2
_KIB_A_MIB = 1024


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "conversations.json"
        yield from _imports(folder, file, _NUM_IMPORTED, _ROUNDS)
        if os.environ.get("BOUGH_BENCH_LONG"):
            yield from _imports(folder / "long", file, _NUM_IMPORTED_LONG, 1)
        file.unlink()
        _write_chatgpt(file, _NUM_EXPORTED, conversation_size=_NUM_EXPORTED)
        _run("import", str(file), str(folder / "one"))
        from app.model.exports.files import FORMATS

        for format_ in FORMATS:
            seconds = _run("export", format_, str(folder / "one"))["seconds"]
            yield alone("export", f"a tree of {_NUM_EXPORTED:,} messages as {format_}, s", [seconds])


def _imports(folder: Path, file: Path, num_messages: int, num_rounds: int) -> list[Row]:
    _write_chatgpt(file, num_messages)
    size_mib = file.stat().st_size / 2**20
    found = [_run("import", str(file), str(folder / f"data-{number}")) for number in range(num_rounds)]
    what = f"{num_messages:,} messages of ChatGPT's, {size_mib:,.0f} MiB"
    return [
        alone("export", f"import of {what}: messages/s", [num_messages / one["seconds"] for one in found]),
        alone("export", f"import of {what}: MiB of memory above the start", [one["mib"] for one in found]),
    ]


def _write_chatgpt(path: Path, num_messages: int, conversation_size: int = _CONVERSATION_SIZE) -> None:
    """Write an export like ChatGPT's in which every fifth question has two answers."""
    draw = random.Random(1)
    words = [f"{a}{b}" for a in ("tree", "leaf", "bough", "root", "bark") for b in ("s", "ing", "ed", "y", "", "less")]
    with path.open("w", encoding="utf-8") as file:
        for number in range(num_messages // conversation_size):
            mapping: dict[str, object] = {"root": {"id": "root", "parent": None, "message": None}}
            above = question = "root"
            for position in range(conversation_size):
                role = "assistant" if position % 2 else "user"
                # The second answer is a sibling of the first.
                parent = question if position % 10 == 2 and above != question else above
                role = "assistant" if position % 10 == 2 else role
                text = " ".join(draw.choices(words, k=60)) + (
                    f"\n\n```python\nx = {position}\n```" if position % 4 == 1 else ""
                )
                node = str(position)
                mapping[node] = {
                    "id": node,
                    "parent": parent,
                    "message": {
                        "author": {"role": role},
                        "create_time": 1_700_000_000 + number * 60 + position,
                        "content": {"content_type": "text", "parts": [text]},
                        "metadata": {"model_slug": "gpt-5"},
                    },
                }
                question = node if role == "user" else question
                above = node
            head = "[" if not number else ","
            one = {"title": f"Conversation {number}", "create_time": 1_700_000_000, "mapping": mapping}
            file.write(head + json.dumps(one | {"current_node": above}, ensure_ascii=False))
        file.write("]")


def _run(*arguments: str) -> dict[str, float]:
    """Run in another process, so that its memory can be measured."""
    command = [sys.executable, "-m", "tests.benchmarks.export", *arguments]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    out = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    return json.loads(out)


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KIB_A_MIB


def _import(file: Path, folder: Path) -> dict[str, float]:
    from app.model.imports.importing import import_files
    from app.model.store import Store

    store = Store(folder / "conversations.sqlite3")
    before_mib, started = _peak_mib(), time.perf_counter()
    for _ in import_files(store, [file]):
        pass
    seconds = time.perf_counter() - started
    store.close()
    return {"seconds": seconds, "mib": _peak_mib() - before_mib}


def _export(format_: str, folder: Path) -> dict[str, float]:
    from PySide6.QtGui import QGuiApplication

    from app.export.exporting import ExportRequest, Scope, run_export
    from app.model.store import Store

    application = QGuiApplication([])
    store = Store(folder / "conversations.sqlite3")
    started = time.perf_counter()
    scope = Scope(conversation_ids=(store.conversations.all()[0].id,))
    for _ in run_export(store, ExportRequest(scope=scope, format=format_), folder / f"out-{format_}"):  # pyright: ignore[reportArgumentType]
        pass
    seconds = time.perf_counter() - started
    store.close()
    application.quit()
    return {"seconds": seconds, "mib": _peak_mib()}


if __name__ == "__main__":
    does = {"import": lambda: _import(Path(sys.argv[2]), Path(sys.argv[3]))}
    does["export"] = lambda: _export(sys.argv[2], Path(sys.argv[3]))
    print(json.dumps(does[sys.argv[1]]()))
