"""Sentences that are written below the window, in the window's language."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from typing import get_args

import pytest
from PySide6.QtWidgets import QApplication
from sentences import sentences

from app.numbers import counted, sized
from app.sentences import worded
from app.ui.languages import Language
from tests.driver import ROOT
from worker.protocol import Command

_LISTED: list[str] = json.loads((ROOT / "resources/translations/sentences.json").read_text(encoding="utf-8"))


@pytest.fixture
def german(qapp: QApplication) -> Iterator[None]:
    language = Language()
    language.switch_to("de")
    yield
    language.switch_to("en")


def _filled(template: str) -> str:
    names = {name: f"⟨{name}⟩" for _, name, *_ in string.Formatter().parse(template) if name is not None}
    return template.format(**names)


def test_the_list_is_what_the_sources_say() -> None:
    assert sentences(ROOT) == _LISTED, "`make translations` collects them"


def test_each_sentence_is_known_and_keeps_what_is_put_into_it(german: None) -> None:
    for template in _LISTED:
        said = worded(_filled(template))
        assert said != _filled(template), template
        for _, name, *_ in string.Formatter().parse(template):
            assert name is None or f"⟨{name}⟩" in said, (template, said)


def test_who_only_asks_is_told_of_no_command() -> None:
    commands = [kind.__struct_config__.tag for kind in get_args(Command)]
    assert "load_model" in commands
    # Those that begin with a field's name answer who has sent it.
    told = [sentence for sentence in _LISTED if not sentence.startswith("`")]
    assert [sentence for sentence in told if any(f"`{command}`" in sentence for command in commands)] == []


def test_where_the_window_speaks_english_nothing_is_changed(qapp: QApplication) -> None:
    for template in _LISTED:
        assert worded(_filled(template)) == _filled(template)


def test_two_sentences_are_worded_as_each_of_them(german: None) -> None:
    whole = [_filled(template) for template in _LISTED if template.endswith(".")]
    for first, second in zip(whole, [*whole[7:], *whole[:7]], strict=True):
        assert worded(f"{first} {second}") == f"{worded(first)} {worded(second)}"


_SAID = {
    "Nothing can be changed now. Another program is writing to /a. Nothing was changed. Close it, or try again in a "
    "moment. What is there can be read.": (
        "Jetzt kann nichts geändert werden. Ein anderes Programm schreibt gerade in /a. Nichts wurde geändert. "
        "Schließen Sie es, oder versuchen Sie es gleich noch einmal. Was da ist, lässt sich lesen."
    ),
    "The worker that runs the model ended by signal SIGKILL (often because memory ran out). What was written is kept. "
    "A fresh worker is starting; your next message will work.": (
        "Der Prozess, der das Modell rechnet, endete durch das Signal SIGKILL (oft, weil der Speicher nicht reichte). "
        "Was geschrieben war, ist noch da. Ein neuer startet gerade; Ihre nächste Nachricht wird beantwortet."
    ),
    "“Dr. No” is a folder. Attach the files in it that matter. “b” can't be read (Permission denied).": (
        "„Dr. No“ ist ein Ordner. Hängen Sie die Dateien darin an, auf die es ankommt. „b“ lässt sich nicht lesen "
        "(Permission denied)."
    ),
    "The hook 'x' failed, which ended the answer. What was said so far is kept. Mend the hook, or ask without it.\n"
    "It returned int, no Decision.": (
        "Der Hook 'x' ist gescheitert, und damit endete die Antwort. Was bis dahin gesagt war, ist noch da. "
        "Bessern Sie den Hook aus, oder fragen Sie ohne ihn.\nEr gab int zurück, keine Decision."
    ),
    "The JSON schema is no JSON: Expecting value. Line 1.": "Das JSON-Schema ist kein JSON: Expecting value. Line 1.",
    "Nobody knows this. Bough neither.": "Nobody knows this. Bough neither.",
    "“a” has 1.5 MiB. A message takes 1,024 KiB of files. Attach a part of it.": (
        "„a“ hat 1,5 MiB. Eine Nachricht nimmt Dateien bis 1.024 KiB. Hängen Sie einen Teil davon an."
    ),
    "„Zwei“ wurde gelöscht.": "„Zwei“ wurde gelöscht.",
    "": "",
}


@pytest.mark.parametrize("told", _SAID)
def test_sentences_are_worded_with_those_inside_them_and_one_after_another(german: None, told: str) -> None:
    assert worded(told) == _SAID[told]


def test_numbers_are_written_as_in_the_language_of_the_window(german: None) -> None:
    assert (counted(1234567), counted(0.25, 2), counted(0.5)) == ("1.234.567", "0,25", "0")
    assert (sized(12), sized(3 << 29)) == ("12 Byte", "1,5 GiB")


def test_in_english_numbers_are_as_they_are(qapp: QApplication) -> None:
    assert (counted(1234567), counted(0.25, 2), sized(12), sized(3 << 29)) == (
        "1,234,567",
        "0.25",
        "12 bytes",
        "1.5 GiB",
    )
