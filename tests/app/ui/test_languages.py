"""The translations: nothing is left out, and nothing that is put into a text is lost."""

from __future__ import annotations

import ast
import string
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QLocale
from PySide6.QtWidgets import QApplication

from app.ui.languages import LANGUAGES, Language, language_in_use
from app.ui.menus import menu_texts
from tests.driver import ROOT

_CODES = [code for code in LANGUAGES if code != "en"]


def _messages(code: str) -> Iterator[tuple[str, str, list[str]]]:
    """Each text with its context and its forms in the other language."""
    root = ET.parse(ROOT / "resources" / "translations" / f"bough_{code}.ts").getroot()  # noqa: S314 (our own file)
    for context in root.iter("context"):
        for message in context.iter("message"):
            translation = message.find("translation")
            assert translation is not None
            unfinished = translation.get("type") is not None
            forms = [form.text or "" for form in translation.findall("numerusform")] or [translation.text or ""]
            yield context.findtext("name", ""), message.findtext("source", ""), [] if unfinished else forms


def _texts_of(file: Path) -> Iterator[str]:
    """The literal texts that a module asks to be translated."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            place = {"tr": 0, "translate": 1}.get(node.func.attr)
            text = node.args[place] if place is not None and len(node.args) > place else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value


@pytest.mark.parametrize("code", _CODES)
def test_no_text_of_the_program_lacks_a_translation(code: str) -> None:
    translated = {text for _, text, forms in _messages(code) if forms and all(forms)}
    asked = {text: file.name for file in (ROOT / "app").rglob("*.py") for text in _texts_of(file)}
    asked |= dict.fromkeys(menu_texts(), "menus.py")
    missing = {text: file for text, file in asked.items() if text and text not in translated}
    assert missing == {}, "`make translations` collects them; then translate them"


@pytest.mark.parametrize("code", _CODES)
def test_what_is_put_into_a_text_is_put_into_its_translation(code: str) -> None:
    def fields(text: str) -> list[str]:
        return sorted(f"{name}:{form}" for _, name, form, _ in string.Formatter().parse(text) if name is not None)

    wrong = [(text, form) for _, text, forms in _messages(code) for form in forms if fields(text) != fields(form)]
    assert wrong == []


@pytest.mark.parametrize("code", _CODES)
def test_what_qt_reads_is_made_of_what_is_written_there(qapp: QApplication, code: str) -> None:
    language = Language()
    try:
        assert language.speak(code)
        for context, text, forms in _messages(code):
            if len(forms) == 1:
                assert QCoreApplication.translate(context, text) == forms[0]
    finally:
        language.speak("en")


def test_the_language_is_the_one_chosen_or_the_systems_where_it_is_known() -> None:
    assert language_in_use("de") == "de"
    assert language_in_use("tlh") == language_in_use("")
    system = QLocale.system().uiLanguages()[0].partition("-")[0]
    assert language_in_use("") == (system if system in LANGUAGES else "en")
