"""Sentences of model, store and worker: translated where they are shown, wherever they come from."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication
from sentences import templates

from app.files.reading import NotAttachedError
from app.model.database import StoreError
from app.model.imports.foreign import UnreadableError
from app.model.message import Record, with_error
from app.numbers import counted, sized
from app.sentences import translated
from app.ui.languages import LANGUAGES, Language
from tests.driver import ROOT
from worker.errors import BadRequestError, HookFailedError, ModelInvalidError, failed
from worker.events import Failed
from worker.protocol import Command
from worker.sentence import (
    Sentence,
    SentenceError,
    SentenceParts,
    field_names,
    joined,
    received,
    size_text,
    verbatim,
)


@pytest.fixture(scope="module")
def all_templates() -> list[str]:
    return templates(ROOT)


@pytest.fixture
def german(qapp: QApplication) -> Iterator[None]:
    language = Language()
    language.switch_to("de")
    yield
    language.switch_to("en")


def _folder(path: str) -> Sentence:
    return Sentence("{path} is empty.", path=path)


# --- the value ---------------------------------------------------------------------------------------------------


def test_a_sentence_is_its_english_text() -> None:
    sentence = Sentence("“{name}” was deleted.", name="u{name}")
    assert sentence == "“u{name}” was deleted."
    assert f"{sentence} And {sentence}" == "“u{name}” was deleted. And “u{name}” was deleted."
    assert (type(str(sentence)), sentence.template) == (str, "“{name}” was deleted.")
    assert copy.deepcopy(sentence).fields == sentence.fields


def test_values_are_written_as_english_writes_them() -> None:
    assert Sentence("{n} {id} {path} {room_bytes}", n=12345, id="12345", path=Path("/a"), room_bytes=3 << 29) == (
        "12,345 12345 /a 1.5 GiB"
    )
    assert Sentence("{n}", n=10**30) == str(10**30)
    assert size_text(1) == "1 bytes"


def test_a_sentence_keeps_the_sentence_of_an_error_within_it() -> None:
    inner = _folder("/a")
    outer = Sentence("{error} Nothing was changed.", error=ModelInvalidError(inner))
    assert outer.fields["error"] is inner
    assert outer == "/a is empty. Nothing was changed."


def test_a_sentence_survives_being_sent() -> None:
    sentence = joined([Sentence("{n} bits", n=4), Sentence("{error} {x}", error=_folder("/a"), x=-1), verbatim("Ünd.")])
    sent = msgspec.json.decode(msgspec.json.encode(sentence.parts), type=SentenceParts)
    again = received("", sent)
    assert (again, again.parts) == (sentence, sentence.parts)


def test_a_failure_is_sent_with_template_and_fields() -> None:
    event = failed(1, BadRequestError(_folder("/a\udcff")))
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=Failed)
    assert (again.message, again.template, again.fields) == (
        "/a\\udcff is empty.",
        "{path} is empty.",
        {"path": "/a\\udcff"},
    )
    assert again.sentence.template == "{path} is empty."
    # Another worker may send the message alone.
    assert Failed(request_id=1, kind="internal", message="Oh {no}.").sentence == "Oh {no}."


def test_a_stored_error_keeps_template_and_fields() -> None:
    record = with_error(None, _folder("/a"))
    again = msgspec.json.decode(msgspec.json.encode(record), type=Record)
    assert again == record
    assert again.error_sentence == "/a is empty."
    assert Record(error="Oh.").error_sentence == "Oh."
    assert with_error(record, None) == Record()


# --- the translation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_each_template_has_a_translation_with_its_fields(
    qapp: QApplication, all_templates: list[str], code: str
) -> None:
    language = Language()
    language.switch_to(code)
    texts = {template: QCoreApplication.translate("Sentences", template) for template in all_templates}
    language.switch_to("en")
    untranslated = [template for template, text in texts.items() if text == template]
    assert untranslated == [], f"write them into resources/translations/bough_{code}.ts"
    assert [template for template, text in texts.items() if field_names(text) != field_names(template)] == []


_GERMAN = [
    (
        Sentence(
            "Nothing can be changed now. {why}",
            why=Sentence(
                "Another program is writing to {path}. Nothing was changed. Close it, or try again in a moment.",
                path="/a. {path}",
            ),
        ),
        (
            "Zurzeit kann nichts geändert werden. Ein anderes Programm schreibt gerade in /a. {path}. Es wurde nichts "
            "geändert. Schließen Sie es, oder versuchen Sie es gleich noch einmal."
        ),
    ),
    (
        HookFailedError("x", Sentence("It returned {kind} instead of a Decision.", kind="int")).sentence,
        (
            "Der Hook „x“ ist fehlgeschlagen, deshalb endete die Antwort. Der bisherige Text bleibt erhalten. "
            "Korrigieren Sie den Hook, oder schalten Sie ihn aus, und versuchen Sie es noch einmal.\n"
            "Er gab int statt einer Decision zurück."
        ),
    ),
    (Sentence("{num_messages} messages were pruned.", num_messages=1234), "1.234 Nachrichten wurden entfernt."),
    (
        joined([_folder("a"), verbatim("Nobody knows this."), _folder("b")]),
        "a ist leer. Nobody knows this. b ist leer.",
    ),
    (
        Sentence(
            "“{name}” has {file_bytes}, but a file can have only {max_bytes}. Attach a part of it.",
            name="a",
            file_bytes=3 << 29,
            max_bytes=12,
        ),
        "„a“ ist 1,5 GiB groß, aber eine Datei darf höchstens 12 Byte groß sein. Hängen Sie einen Teil davon an.",
    ),
    (verbatim("The trash is empty."), "The trash is empty."),
    (received("A sentence of another version.", None), "A sentence of another version."),
    (received("", SentenceParts("{a} of another version.", {"a": "One"})), "One of another version."),
    ("The trash is empty.", "Der Papierkorb ist leer."),
    ("", ""),
]


@pytest.mark.parametrize(("english", "said"), _GERMAN)
def test_sentences_are_shown_in_the_language_of_the_window(german: None, english: str, said: str) -> None:
    assert translated(english) == said


@pytest.mark.parametrize("english", [english for english, _ in _GERMAN])
def test_an_english_window_shows_the_english_sentence(qapp: QApplication, english: str) -> None:
    assert translated(english) == english


def test_numbers_are_written_as_in_the_language_of_the_window(german: None) -> None:
    assert (counted(1234567), counted(0.25, 2), counted(0.4)) == ("1.234.567", "0,25", "0")
    assert (sized(12), sized(3 << 29)) == ("12 Byte", "1,5 GiB")


def test_in_english_numbers_are_as_they_are(qapp: QApplication) -> None:
    assert (counted(1234567), counted(0.25, 2), sized(12), sized(3 << 29)) == (
        "1,234,567",
        "0.25",
        "12 bytes",
        "1.5 GiB",
    )


# --- the sources -------------------------------------------------------------------------------------------------


def test_no_sentence_asks_the_user_to_send_a_command(all_templates: list[str]) -> None:
    commands = [kind.__struct_config__.tag for kind in get_args(Command)]
    assert "load_model" in commands
    # Sentences that begin with the name of a field are for other drivers.
    told = [sentence for sentence in all_templates if not sentence.startswith("`")]
    assert [sentence for sentence in told if any(f"`{command}`" in sentence for command in commands)] == []


def _names_of_errors(kind: type[SentenceError]) -> set[str]:
    return {kind.__name__}.union(*(_names_of_errors(below) for below in kind.__subclasses__()))


def _is_bare(given: ast.expr) -> bool:
    return isinstance(given, ast.JoinedStr) or (isinstance(given, ast.Constant) and isinstance(given.value, str))


def test_errors_and_notices_are_made_of_sentences() -> None:
    """The type checker says the same; this also finds what `Any` hides from it."""
    names = _names_of_errors(SentenceError) | {"Notice"}
    assert {kind.__name__ for kind in (StoreError, UnreadableError, NotAttachedError, HookFailedError)} <= names
    bare: list[str] = []
    for file in [*(ROOT / "app").rglob("*.py"), *(ROOT / "worker").rglob("*.py")]:
        source = file.read_text(encoding="utf-8")
        for call in ast.walk(ast.parse(source)) if any(f"{name}(" in source for name in names) else ():
            if not isinstance(call, ast.Call) or ast.unparse(call.func).split(".")[-1] not in names:
                continue
            # The first argument is the sentence; only hooks have their name there.
            sentences = call.args[1:] if ast.unparse(call.func).endswith("HookFailedError") else call.args[:1]
            if any(_is_bare(given) for given in sentences):
                bare.append(f"{file}:{call.lineno}")
    assert bare == []
