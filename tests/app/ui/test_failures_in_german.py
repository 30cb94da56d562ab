"""Failures are reported in German while the window is German, wherever the sentence comes from."""

from __future__ import annotations

import contextlib
import gc
import re
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot
from sentences import templates

from app.model.settings import CacheSettings
from app.ui.composer.display_names import part_title
from app.ui.composer.format_popover import FormatPopover
from app.ui.dialogs.import_window import ImportWindow
from app.ui.languages import Language
from app.ui.window import MainWindow
from tests.app.desk import Desk
from tests.driver import ROOT
from tests.waiting import PATIENCE_MS
from worker.errors import ContextOverflowError, HookFailedError, WorkerError, failed
from worker.models.folder import find_model
from worker.sentence import Sentence, joined


@cache
def _english() -> set[str]:
    """The parts of Bough's English sentences between their fields, each of at least four words."""
    return {part for text in templates(ROOT) for part in re.split(r"\{\w*\}", text) if len(part.split()) > 3}


class German:
    """A German window with a worker controlled by the test."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder)
        self.window = MainWindow(self.desk.controller, folder)
        self.window.show()

    def banner(self) -> str:
        """Return the text of the banner, after checking that it is German."""
        return _german(self.window.banner.label.text())

    def ending(self) -> str:
        """Return the text below the last message, after checking that it is German."""
        view = self.window.transcript.view(self.desk.controller.shown.path[-1].id)
        assert view is not None
        return _german("\n".join(_texts(view)))


def _texts(root: QWidget) -> list[str]:
    return [widget.text() for widget in root.findChildren(QWidget) if isinstance(widget, QLabel | QAbstractButton)]


def _german(text: str) -> str:
    assert text
    assert {part for part in _english() if part in text} == set(), text
    return text


@pytest.fixture
def german(qapp: QApplication, tmp_path: Path) -> Iterator[German]:
    language = Language()
    language.switch_to("de")
    german = German(tmp_path)
    yield german
    german.window.close()
    german.desk.close()
    german.window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    language.switch_to("en")


def test_a_worker_that_dies_again_and_again(german: German) -> None:
    desk = german.desk
    desk.controller.send("u")
    desk.link.chunk(desk.link.asked[-1], "a")
    desk.link.die()
    # Only the answer says it.
    assert german.window.banner.isHidden()
    assert "(Signal SIGKILL, oft wegen zu wenig Arbeitsspeicher)" in german.ending()
    # The stored text is English, so that it can be shown in another language later.
    error = desk.controller.shown.path[-1].record
    assert error is not None
    assert (error.error or "").startswith("The model process stopped")
    desk.link.die(3)
    assert german.banner().endswith("Das Modell wird neu geladen; Ihre nächste Nachricht wird beantwortet.")
    desk.link.die(-11)
    assert "mit dem Modell „guide“ 3-mal nacheinander unerwartet beendet (Signal SIGSEGV)" in german.banner()
    desk.controller.send("again")
    assert "weil kein Modell läuft" in german.ending()


def test_models_that_cannot_be_loaded(german: German, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{", encoding="utf-8")
    for name in (str(tmp_path / "file"), str(tmp_path / "empty"), str(broken), "no/such", "\0"):
        with pytest.raises(WorkerError) as refused:
            find_model(name)
        german.desk.program.load_model(name)
        german.desk.link.load_failed(joined([refused.value.sentence, Sentence("No model is loaded now.")]))
        assert german.banner().endswith("Zurzeit ist kein Modell geladen. Das vorherige Modell wird wieder geladen.")
        german.desk.link.loaded()
    german.desk.program.set_cache_settings(CacheSettings(kv_bits=8))
    german.desk.link.load_failed("`cache.kv_bits`: llama keeps windows or states alone.")
    german.banner()
    german.desk.link.cannot_start = True
    german.desk.link.die()
    assert german.banner().startswith("Der Modellprozess ließ sich nicht starten")


def test_answers_that_fail(german: German) -> None:
    desk = german.desk
    too_long = Sentence(
        "The prompt has {num_tokens} tokens, but the context of the model holds {context_length} tokens, "
        "the answer included. Shorten the message, or continue from an earlier one.",
        num_tokens=Sentence("at least {num_tokens}", num_tokens=3000),
        context_length=2048,
    )
    failures = {
        ContextOverflowError(too_long): "hat mindestens 3.000 Token, aber der Kontext des Modells fasst mit der "
        "Antwort nur 2.048 Token",
        HookFailedError("mine", Sentence("It returned {kind} instead of a Decision.", kind="int")): "statt einer Decis",
        ValueError("x. Y"): "(ValueError: x. Y)",
    }
    for error, expected in failures.items():
        desk.controller.send("u")
        desk.link.say(failed(desk.link.asked[-1].request_id, error))
        assert expected in german.ending()


def _locked(desk: Desk) -> Callable[[], None]:
    other = sqlite3.connect(desk.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    return other.close


def test_a_store_that_cannot_be_used(german: German) -> None:
    desk = german.desk
    desk.ask("u", "a")
    release = _locked(desk)
    desk.controller.send("v")
    assert german.banner().startswith("Ein anderes Programm schreibt gerade in ")
    release()
    # A serious notice is read before a less serious one is shown.
    german.window.banner.close_button.click()
    with contextlib.closing(sqlite3.connect(desk.path)) as database:
        database.execute("UPDATE message SET record = CAST('{' AS BLOB) WHERE role = 'assistant'")
        database.commit()
    assert desk.controller.shown.conversation is not None
    # The conversation in memory is not read again, even if its row has become invalid.
    gc.collect()
    desk.controller.shown.open_conversation(desk.controller.shown.conversation.id)
    assert german.banner().startswith("Die Aufzeichnung, wie Nachricht ")
    (desk.folder / "settings.json").unlink(missing_ok=True)
    (desk.folder / "settings.json").mkdir()
    desk.preferences.change(sidebar_visible=False)
    desk.preferences.save()
    assert german.banner().startswith("Die Einstellungen konnten nicht gespeichert werden (")


def test_completed_actions_are_reported(german: German) -> None:
    desk = german.desk
    answer = desk.ask("u", "a")
    desk.controller.prune(answer.id)
    assert german.banner() == "1 Nachricht wurde entfernt."
    desk.program.empty_cache_folder()
    desk.link.loaded()
    assert "wurden vom Datenträger entfernt" in german.banner()
    assert desk.controller.shown.conversation is not None
    desk.program.conversations.delete(desk.controller.shown.conversation.id)
    assert german.banner() == "„u“ wurde gelöscht."
    desk.program.conversations.empty_trash()
    assert german.banner() == "4 Nachrichten wurden endgültig gelöscht."
    desk.program.conversations.empty_trash()
    assert german.banner() == "Der Papierkorb ist leer."


def test_files_that_cannot_be_attached_or_imported(german: German, tmp_path: Path, qtbot: QtBot) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\x00")
    german.window.composer.files_given.emit([tmp_path, tmp_path / "binary", tmp_path / "none"])
    assert german.banner().count("„") == 3
    (tmp_path / "a.json").write_text('[{"mapping": {}}, {"x": 1}, ', encoding="utf-8")
    sheet = ImportWindow(german.desk.program.archive, [tmp_path / "a.json", tmp_path / "none.json"], german.window)
    sheet.open()
    qtbot.waitUntil(lambda: bool(sheet.problems.lines.text()), timeout=PATIENCE_MS)
    problems = _german(sheet.problems.lines.text())
    assert "a.json, Gespräch 1: " in problems
    assert len(problems.splitlines()) >= 3
    sheet.reject()


def test_answer_formats_that_cannot_be_used(german: German) -> None:
    german.window.action("answer_format").trigger()
    popover = german.window.findChild(FormatPopover)
    assert isinstance(popover, FormatPopover)
    popover.kinds["choice"].click()
    popover.editor.setPlainText("yes")
    popover.show_verdict(Sentence("The JSON schema is not valid JSON: {error}.", error="Expecting value"))
    assert _german(popover.verdict.text()) == "Das JSON-Schema ist kein gültiges JSON: Expecting value."
    popover.close()


def test_parts_of_files_have_german_titles_unless_the_file_gave_them(german: German) -> None:
    assert german.window.isVisible()
    titles = ["page 3", "lines 1–20", "beginning", "Chapter one"]
    assert [part_title(title) for title in titles] == ["Seite 3", "Zeilen 1–20", "Anfang", "Chapter one"]
