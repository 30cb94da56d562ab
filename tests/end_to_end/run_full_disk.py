"""Fills the disk of a folder with conversations, and prints the result as JSON (for `test_full_disk.py`)."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
import threading
from pathlib import Path

from PySide6.QtGui import QGuiApplication

from app.export.exporting import ExportRequest, Scope, run_export
from app.model.database import StoreError
from app.model.exports.files import FORMATS, is_trainer
from app.model.imports.importing import import_files
from app.model.store import Store


def main(folder: Path) -> None:
    qt_application = QGuiApplication(["full disk", "-platform", "offscreen"])
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(300_000))
    (folder / "more").write_bytes(bytes(5_000_000))
    document = folder / "out.md"
    document.write_text("as it was", encoding="utf-8")
    path = folder / "conversations.sqlite3"
    store = Store(path)
    conversation, last = store.create_conversation("full", "", "u0")
    written = ["", "", "u0"]
    # Two answers to the first question make a preference that can be exported.
    for text in ("one ", "other "):
        written.append(400 * f"{text} answer")
        last = store.add(conversation.id, 3, "assistant", written[-1])
    told = ""
    while not told:
        text = f"{len(written)} " * 3000
        try:
            last = store.add(conversation.id, last.id, "user", text)
            written.append(text)
        except StoreError as error:
            told = str(error)
    kept = [message.text for message in store.messages.shown_by(conversation.id)] == written
    # Fill the last bytes, too.
    with contextlib.suppress(OSError), (folder / "rest").open("wb", buffering=0) as rest:
        while rest.write(bytes(512)):
            pass
    errors: dict[str, int | None] = {}
    scope = Scope(conversation_ids=(conversation.id,))
    for format_ in FORMATS:
        out = folder / "trained" if is_trainer(format_) else document
        try:
            for _ in run_export(store, ExportRequest(scope=scope, format=format_), out):
                pass
        except OSError as error:
            errors[format_] = error.errno
    del qt_application
    import_error, num_shown = _imported(store, folder)
    store.close()
    try:
        again = Store(path)
    except StoreError as error:
        again = Store(path, read_only_because=error.sentence)
    kept_again = [message.text for message in again.messages.shown_by(conversation.id)] == written
    again.close()
    ballast.unlink()
    roomy = Store(path)
    roomy.add(conversation.id, last.id, "user", "there is room again")
    kept_at_last = [message.text for message in roomy.messages.shown_by(conversation.id)] == [
        *written,
        "there is room again",
    ]
    roomy.close()
    with sqlite3.connect(path) as connection:
        (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
    print(
        json.dumps(
            {
                "told": told,
                "num_written": len(written),
                "kept": [kept, kept_again, kept_at_last],
                "export_errors": errors,
                "import_error": import_error,
                "num_shown": num_shown,
                "document": document.read_text(encoding="utf-8"),
                "files": sorted(file.name for file in folder.iterdir()),
                "sound": sound,
            }
        )
    )


def _imported(store: Store, folder: Path) -> tuple[str, int]:
    """Import more than fits. Return the notices, and how many conversations are shown then."""
    (folder / "rest").unlink()
    (folder / "more").unlink()
    questions = ([{"role": "user", "content": f"{number} is a number to begin with"}] for number in range(3_000))
    lines = (json.dumps({"messages": messages}) for messages in questions)
    pipe = folder / "in.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("\n".join(lines), encoding="utf-8"))
    writer.start()
    try:
        for _ in import_files(store, [pipe]):
            pass
        return "", len(store.conversations.all())
    except StoreError as error:
        return str(error), len(store.conversations.all())
    finally:
        writer.join()
        pipe.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
