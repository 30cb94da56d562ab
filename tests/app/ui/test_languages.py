"""The translations: they are complete, and every placeholder is kept."""

from __future__ import annotations

import ast
import re
import string
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QLocale
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.application import Application, Places
from app.model.settings import Settings, save_settings
from app.ui.languages import LANGUAGES, Language, language_in_use
from app.ui.menus import menu_texts
from app.ui.settings.settings_window import SettingsWindow
from app.windows import Windows
from tests.app.desk import Desk
from tests.driver import ROOT
from tests.waiting import PATIENCE_MS

_CODES = [code for code in LANGUAGES if code != "en"]


def _messages(code: str) -> Iterator[tuple[str, str, list[str]]]:
    """Return each text with its context and its forms in the other language."""
    root = ET.parse(ROOT / "resources" / "translations" / f"bough_{code}.ts").getroot()  # noqa: S314 (our own file)
    for context in root.iter("context"):
        for message in context.iter("message"):
            translation = message.find("translation")
            assert translation is not None
            unfinished = translation.get("type") is not None
            forms = [form.text or "" for form in translation.findall("numerusform")] or [translation.text or ""]
            yield context.findtext("name", ""), message.findtext("source", ""), [] if unfinished else forms


def _texts_of(file: Path) -> Iterator[str]:
    """Return the literal texts that a module passes to the translator."""
    source = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)) if re.search(r"\.(tr|translate)\(", source) else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            place = {"tr": 0, "translate": 1}.get(node.func.attr)
            text = node.args[place] if place is not None and len(node.args) > place else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value


@pytest.mark.parametrize("code", _CODES)
def test_every_text_of_the_program_is_translated(code: str) -> None:
    translated = {text for _, text, forms in _messages(code) if forms and all(forms)}
    asked = {text: file.name for file in (ROOT / "app").rglob("*.py") for text in _texts_of(file)}
    asked |= dict.fromkeys(menu_texts(), "menus.py")
    missing = {text: file for text, file in asked.items() if text and text not in translated}
    assert missing == {}, "`make translations` collects them; then translate them"


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_counted_text_has_its_plural_forms(code: str) -> None:
    """English has its plurals alone."""
    assert [text for _, text, forms in _messages(code) if not forms or not all(forms)] == []


@pytest.mark.parametrize("code", _CODES)
def test_every_translation_has_the_placeholders_of_its_text(code: str) -> None:
    def fields(text: str) -> list[str]:
        return sorted(f"{name}:{form}" for _, name, form, _ in string.Formatter().parse(text) if name is not None)

    wrong = [(text, form) for _, text, forms in _messages(code) for form in forms if fields(text) != fields(form)]
    assert wrong == []


def test_only_tr_is_called_with_a_number() -> None:
    # lupdate recognises plurals in `tr` only. Texts of `translate` get one form, which Qt uses for the singular only.
    counting = [
        f"{file.name}:{node.lineno}"
        for file in (ROOT / "app").rglob("*.py")
        if "translate(" in (source := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and len(node.args) > 3 and _is_translate(node.func)
    ]
    assert counting == []


def _is_translate(function: ast.expr) -> bool:
    """Return whether this is `QCoreApplication.translate`, or the short name that modules give it."""
    if isinstance(function, ast.Name):
        return function.id == "translate"
    return isinstance(function, ast.Attribute) and function.attr == "translate" and isinstance(function.value, ast.Name)


@pytest.mark.parametrize("code", _CODES)
def test_the_compiled_translations_match_their_sources(qapp: QApplication, code: str) -> None:
    language = Language()
    try:
        assert language.switch_to(code)
        for context, text, forms in _messages(code):
            if len(forms) == 1:
                assert QCoreApplication.translate(context, text) == forms[0]
    finally:
        language.switch_to("en")


def test_the_language_is_the_chosen_one_or_the_systems_if_it_is_supported() -> None:
    assert language_in_use("de") == "de"
    assert language_in_use("tlh") == language_in_use("")
    system = QLocale.system().uiLanguages()[0].partition("-")[0]
    assert language_in_use("") == (system if system in LANGUAGES else "en")


def test_times_and_numbers_are_formatted_in_the_language(qapp: QApplication) -> None:
    language, before = Language(), QLocale()
    language.switch_to("de")
    assert QLocale().language() == QLocale.Language.German
    assert QLocale().toString(0.5) == "0,5"
    language.switch_to("en")
    assert QLocale().language() != QLocale.Language.German
    assert QLocale().toString(0.5) == "0.5"
    QLocale.setDefault(before)


_AS_IN_EVERY_LANGUAGE = {"Bough", "English", "Deutsch", "Guide", "What is a branch?", "How do I edit a message?"} | {
    "How do I load a bigger model?"
}


def _visible_texts(root: QWidget) -> set[str]:
    """Return every text that the user can read or hear in this widget."""
    seen: set[str] = set()
    for widget in (root, *root.findChildren(QWidget)):
        if widget.isVisible():
            seen |= {widget.accessibleName(), widget.accessibleDescription()}
            # Tool tips with a user's or a model's text are wrapped in a span.
            seen |= {widget.toolTip()} if "<" not in widget.toolTip() else set()
            if isinstance(widget, QLabel | QAbstractButton):
                seen.add(widget.text())
            if isinstance(widget, QLineEdit | QPlainTextEdit):
                seen.add(widget.placeholderText())
    seen |= {action.text() for action in root.findChildren(QAction)}
    return {text.replace("&", "").split("\t")[0] for text in seen if re.search("[A-Za-z]{3}", text)}


def test_the_german_window_and_settings_contain_no_english(qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    save_settings(tmp_path / "settings.json", Settings(language="de", tree_visible=True))
    application = Application(Places.under(tmp_path))
    try:
        window = application.window
        window.resize(1280, 800)
        window.show()
        qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
        application.controller.send("x")
        qtbot.waitUntil(lambda: application.controller.shown.streaming_message is None, timeout=PATIENCE_MS)
        window.action("settings").trigger()
        settings = window.findChild(SettingsWindow)
        assert isinstance(settings, SettingsWindow)
        seen = _visible_texts(window)
        for row in range(settings.list.count()):
            settings.list.setCurrentRow(row)
            seen |= _visible_texts(settings)
        english = {text.replace("&", "") for _, text, forms in _messages("de") if forms != [text]}
        same = {form.replace("&", "") for _, _, forms in _messages("de") for form in forms}
        assert len(seen) > 100
        assert seen & english - same - _AS_IN_EVERY_LANGUAGE == set()
        # Every visible text must match a translation, including its placeholders.
        patterns = [re.compile(_pattern(form), re.DOTALL) for form in same if re.search("[A-Za-z]{3}", form)]
        strange = {text for text in seen if not any(pattern.search(text) for pattern in patterns)}
        written = {str(tmp_path)[:12], application.controller.shown.path[-1].text}
        assert {text for text in strange - _AS_IN_EVERY_LANGUAGE if not any(part in text for part in written)} == set()
    finally:
        application.preferences.change(language="en")
        application.windows.close_all()
        application.close()
        application.window.deleteLater()


def test_a_window_in_the_former_language_hears_nothing_any_more(qtbot: QtBot, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    windows = Windows(desk.program, tmp_path)
    former, controller = windows.first
    former.show()
    controller.send("u")
    desk.link.finished(desk.link.asked[-1], "a")
    desk.preferences.change(language="de")
    try:
        desk.program.settings_changed.emit()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        assert not isValid(former)
        # pytest-qt fails this test if a signal still reaches the closed window.
        _window, controller = windows.first
        controller.send("v")
        desk.link.finished(desk.link.asked[-1], "b")
        controller.undo()
        desk.program.conversations.changed.emit()
        desk.program.settings_changed.emit()
        desk.program.supply.transfers.changed.emit()
        assert controller.shown.path[-1].text == "a"
    finally:
        desk.preferences.change(language="en")
        desk.program.settings_changed.emit()
        for window in windows.all:
            window.close()
            window.deleteLater()
        desk.close()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def _pattern(text: str) -> str:
    return ".*".join(re.escape(part) for part in re.split(r"\{[^}]*\}|%n", text))
