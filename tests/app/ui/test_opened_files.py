"""Files that the user opens with Bough: from the shell, in the Finder or on the Dock, which sends events of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication, QLabel

from app import __main__ as program
from app.model.unsent import Unsent
from app.ui.dialogs.import_window import ImportWindow
from app.ui.models.models_window import ModelsWindow
from app.ui.parts.sheet import Sheet
from tests.app.ui.conftest import User
from tests.driver import PATIENCE_S, ROOT
from tests.waiting import PATIENCE_MS
from tests.worker.gguf.files import write_llama


@pytest.fixture(autouse=True)
def _nothing_stays_open(user: User) -> Iterator[None]:
    yield
    for sheet in user.window.findChildren(Sheet):
        user.bot.waitUntil(lambda sheet=sheet: not sheet.is_working, timeout=PATIENCE_MS)
        sheet.close()
    for window in user.window.findChildren(ModelsWindow):
        window.close()
    user.controller.preparation.replace_unsent(Unsent())


def _chat(file: Path, question: str) -> Path:
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": "Yes."}]
    file.write_text(json.dumps({"messages": messages}) + "\n")
    return file


def _open_in_finder(*files: Path) -> None:
    """Send the events by which macOS names the files, as Qt sends them."""
    application = QApplication.instance()
    assert application is not None
    for file in files:
        QCoreApplication.sendEvent(application, QFileOpenEvent(QUrl.fromLocalFile(str(file))))


def _import_windows(user: User) -> list[ImportWindow]:
    return [sheet for sheet in user.window.findChildren(ImportWindow) if sheet.isVisible()]


def test_several_files_opened_at_once_are_imported_together(user: User, tmp_path: Path) -> None:
    first, second = _chat(tmp_path / "one.jsonl", "Is one a number?"), _chat(tmp_path / "two.jsonl", "Is two?")
    before = len(user.application.program.conversations.all)
    _open_in_finder(first, second)
    user.bot.waitUntil(lambda: bool(_import_windows(user)), timeout=PATIENCE_MS)
    (sheet,) = _import_windows(user)
    user.bot.waitUntil(lambda: not sheet.is_working, timeout=PATIENCE_MS)
    assert sheet.headline.text().startswith("2 conversation")
    assert len(user.application.program.conversations.all) == before
    sheet.import_button.click()
    user.bot.waitUntil(lambda: len(user.application.program.conversations.all) == before + 2, timeout=PATIENCE_MS)


def test_a_model_a_conversation_and_a_text_each_open_in_their_way(user: User, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("apples")
    _open_in_finder(write_llama(tmp_path / "Opened-tiny.gguf"), _chat(tmp_path / "three.jsonl", "Is three?"), notes)
    user.bot.waitUntil(lambda: bool(_import_windows(user)), timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: bool(user.window.findChildren(ModelsWindow)), timeout=PATIENCE_MS)
    local_models = user.application.program.supply.local_models
    user.bot.waitUntil(lambda: any("Opened" in model.name for model in local_models.all), timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: bool(user.controller.preparation.unsent.attachments), timeout=PATIENCE_MS)
    assert user.controller.preparation.unsent.attachments[0].name == "notes.txt"


@pytest.mark.parametrize("name", ["gone.bough", "gone.gguf", "gone.txt"])
def test_a_file_that_is_gone_is_named(user: User, tmp_path: Path, name: str) -> None:
    _open_in_finder(tmp_path / name)

    def said() -> list[str]:
        return [label.text() for label in user.window.findChildren(QLabel)]

    user.bot.waitUntil(lambda: any(name in text and " " in text for text in said()), timeout=PATIENCE_MS)


_WATCH = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel
import app.application
from app import __main__ as program

make = app.application.make_qt_application

def make_watched(arguments):
    application = make(arguments)
    timer = QTimer(application, interval=20)

    def look():
        texts = [label.text() for window in QApplication.topLevelWidgets() for label in window.findChildren(QLabel)]
        found = [text for text in texts if text.startswith("1 conversation")]
        if found:
            timer.stop()
            print(found[0], flush=True)
            QApplication.closeAllWindows()

    timer.timeout.connect(look)
    timer.start()
    return application

app.application.make_qt_application = make_watched
sys.exit(program.main())
"""


def test_the_program_opens_the_files_of_its_command_line(tmp_path: Path) -> None:
    _chat(tmp_path / "four.jsonl", "Is four?")
    command = [sys.executable, "-c", _WATCH, "--data-dir", "data", "four.jsonl"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stdout[:14]) == (0, "1 conversation"), done.stderr


@pytest.mark.parametrize(
    ("line", "command", "files"),
    [
        (["a.bough"], "open", ["a.bough"]),
        (["a.bough", "model.gguf"], "open", ["a.bough", "model.gguf"]),
        (["--safe-mode", "a.bough"], "open", ["a.bough"]),
        (["--data-dir", "tour", "folder/chat"], "open", ["folder/chat"]),
        (["open", "list"], "open", ["list"]),
        (["list"], "list", None),
        ([], None, None),
    ],
)
def test_files_without_a_command_are_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: list[str], command: str | None, files: list[str] | None
) -> None:
    from app.command_line import parse

    monkeypatch.chdir(tmp_path)
    chosen = parse(line)
    assert chosen.command == command
    assert [str(file) for file in chosen.files] == files if files else not hasattr(chosen, "files")


def test_the_window_gets_the_whole_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[tuple[Path | None, Sequence[Path]]] = []

    def open_window(data_dir: Path | None, files: Sequence[Path] = (), *, is_safe: bool = False) -> int:
        opened.append((data_dir, files))
        return 0

    monkeypatch.setattr(program, "open_window", open_window)
    monkeypatch.chdir(tmp_path)
    assert program.main(["--data-dir", "data", "a.bough"]) == 0
    assert opened == [(Path("data"), [tmp_path / "a.bough"])]
