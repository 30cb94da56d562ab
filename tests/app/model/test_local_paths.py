"""Nothing that leaves Bough names a folder of this computer."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader
from PySide6.QtWidgets import QApplication

from app.export.exporting import export, export_for_training
from app.model.attachment import Attachment
from app.model.exports.bough_file import bough_file
from app.model.exports.captions import ending
from app.model.exports.excerpt import Excerpt, Options, whole_tree
from app.model.exports.files import FORMATS, LINES, NEEDS_QT, TRAINERS, Format, is_trainer
from app.model.exports.html import html
from app.model.exports.losses import Losses
from app.model.exports.markdown import markdown, to_markdown
from app.model.exports.plain_text import plain_text
from app.model.exports.training_records import training_records
from app.model.generation_settings import GenerationSettings
from app.model.grafts import Graft
from app.model.local_paths import name_of, without_folders
from app.model.message import Conversation, HookRecord, Message, Record
from app.model.project import Project
from app.model.store import Store
from app.shell.find_commands import list_conversations, search
from worker.sentence import Sentence, SentenceParts

_SECRET = "s3cretplace"
"""A part of every folder; no name contains it."""
_NAMES = ("smol", "my model", "a·b", "模型", "x.py", "notes.txt")
_FOLDERS = st.sampled_from(
    [
        f"/home/{_SECRET}/models",
        f"/home/max {_SECRET} m/models (old)",
        f"~/{_SECRET}/models",
        f"C:\\Users\\{_SECRET}\\models",
        f"\\\\{_SECRET}\\share\\models",
        f"/{_SECRET}",
    ]
)


@st.composite
def _paths(draw: st.DrawFn) -> str:
    folder = draw(_FOLDERS)
    return f"{folder}{'/' if '/' in folder else chr(92)}{draw(st.sampled_from(_NAMES))}"


@st.composite
def _failures(draw: st.DrawFn, model: str) -> tuple[str | None, SentenceParts | None]:
    """Return why an answer failed, as records have it: with parts, as text alone, or with a trace."""
    path = draw(_paths())
    sentences: tuple[Sentence | None, ...] = (
        None,
        Sentence("The model in {path} has no weights.", path=path),
        Sentence("It failed: {why}", why=Sentence("There is no folder {folder}.", folder=path)),
        Sentence(
            "The hook “{name}” failed.\n{trace}", name=path, trace=f'Traceback:\n  File "{path}", line 3, in next'
        ),
        Sentence("{text}", text=f"{model} has no weights, see “{path}” or '{model}'."),
    )
    sentence = draw(st.sampled_from(sentences))
    if sentence is None:
        return None, None
    return str(sentence), sentence.parts if draw(st.booleans()) or sentence.template != "{text}" else None


@st.composite
def _excerpts(draw: st.DrawFn) -> Excerpt:
    messages = [
        Message(id=1, parent_id=None, role="root", text=""),
        Message(id=2, parent_id=1, role="system", text="Be brief.", record=Record(is_of_project=True)),
        Message(id=3, parent_id=2, role="file", text=f"{draw(_paths())}\nfirst line"),
        Message(id=4, parent_id=3, role="user", text="Why?"),
    ]
    for number in range(draw(st.integers(1, 3))):
        model, hook = draw(_paths()), draw(_paths())
        error, parts = draw(_failures(model))
        record = Record(
            model=model,
            hooks=(hook,),
            hook_options={hook: {"words": draw(_paths()), "more": [draw(_paths())], "n": 1}},
            hook_records=(HookRecord(name=hook, calls=1),),
            notices=(SentenceParts("{file} left out a message.", {"file": draw(_paths())}),),
            error=error,
            error_parts=parts,
        )
        state = "complete" if error is None else draw(st.sampled_from(["failed", "stopped"]))
        messages.append(
            Message(id=5 + number, parent_id=4, role="assistant", text="So.", state=state, record=record)  # pyright: ignore[reportArgumentType]
        )
    conversation = Conversation(
        id=1, name="n", root_id=1, created_ms=0, updated_ms=0, folder="f", model=draw(_paths()), uid="00"
    )
    project = Project(
        files=(Attachment(name=draw(_paths()), text="t"),),
        model=draw(_paths()),
        generation=GenerationSettings(
            models=(draw(_paths()), draw(_paths())), hooks=(draw(_paths()),), hook_options={draw(_paths()): {"a": "b"}}
        ),
    )
    return Excerpt(conversation, messages, {}, [*messages[:4], messages[-1]], project)


@given(excerpt=_excerpts())
@settings(max_examples=60)
def test_no_export_contains_a_folder(excerpt: Excerpt) -> None:
    options = Options(statistics=True)
    made = ["".join(piece.text for piece in format_(excerpt, options)) for format_ in (markdown, html, plain_text)]
    made += [
        "".join(piece.text for piece in training_records(excerpt, name, options, Losses()))
        for name in (*LINES, *TRAINERS)
    ]
    made += ["".join(piece.text for piece in bough_file([excerpt])), to_markdown("n", excerpt.path)]
    for text in made:
        assert _SECRET not in text
        assert "Users" not in text
    # All else of the records is in the file for replays.
    (conversation,) = json.loads(made[-2])["conversations"]
    for message in conversation["messages"][4:]:
        record: dict[str, Any] = message["record"]
        assert record["model"] in _NAMES
        assert record["hooks"] == list(record["hook_options"]) == [record["hooks_told"][0]["name"]]
        assert record["hook_options"][record["hooks"][0]]["n"] == 1


@pytest.mark.parametrize("format_", FORMATS)
def test_no_file_contains_a_folder(format_: Format, tmp_path: Path, qapp: QApplication) -> None:
    assert qapp is not None
    path = f"/home/{_SECRET}/my models/smol"
    error = Sentence("The model in {path} has no weights.", path=path)
    record = Record(model=path, error=str(error), error_parts=error.parts)
    messages = [
        Message(id=1, parent_id=None, role="root", text=""),
        Message(id=2, parent_id=1, role="user", text="Why?"),
        Message(id=3, parent_id=2, role="assistant", text="So.", record=record),
        Message(id=4, parent_id=2, role="assistant", text="So, so.", record=record),
        Message(id=5, parent_id=2, role="assistant", text="Or so.", state="cut", record=record),
    ]
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0, model=path)
    file = tmp_path / "out"
    excerpt, options = Excerpt(conversation, messages, {}, messages[:3]), Options(statistics=True)
    if is_trainer(format_):
        list(export_for_training([excerpt], format_, file, options, []))
        text = " ".join(made.read_text(encoding="utf-8") for made in file.iterdir())
    else:
        list(export(excerpt, format_, file, options, Losses()))
        text = _text_of(file, format_)
    assert _SECRET not in text
    assert "my models" not in text
    assert "So" in text


def _text_of(file: Path, format_: Format) -> str:
    if format_ not in NEEDS_QT:
        return file.read_text(encoding="utf-8")
    if format_ == "pdf":
        reader = PdfReader(file)
        return " ".join(page.extract_text() for page in reader.pages) + str(reader.metadata)
    with zipfile.ZipFile(file) as archive:
        return " ".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def test_neither_a_hit_nor_the_list_contains_a_folder(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    model = f"/home/{_SECRET}/smol"
    messages = [
        Message(id=1, parent_id=None, role="root", text=""),
        Message(id=2, parent_id=1, role="assistant", text="Forests", record=Record(model=model)),
    ]
    store = Store(tmp_path / "c.sqlite3")
    graft = Graft(name="n", messages=messages, root_id=1, choices={}, created_ms=0, updated_ms=0, model=model)
    (conversation_id,) = store.grafts.add([graft])
    assert search(store, ["forests"], as_json=True) == list_conversations(store, as_json=True) == 0
    printed = capfdbinary.readouterr().out.decode()
    assert _SECRET not in printed
    assert printed.count('"model": "smol"') == 2
    # The store keeps the whole name, from which the model is loaded.
    assert whole_tree(store, conversation_id).conversation.model == "smol"
    assert store.conversations.get(conversation_id).model == model
    store.close()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/x/models/smol", "smol"),
        ("/home/x/models/smol/", "smol"),
        ("~/models/smol", "smol"),
        ("C:\\Users\\x\\smol", "smol"),
        ("/x/hub/models--mlx-community--smol/snapshots/0123", "mlx-community/smol"),
        ("mlx-community/smol", "mlx-community/smol"),
        ("guide", "guide"),
        ("/no_think", "/no_think"),
        ("", ""),
    ],
)
def test_a_model_is_called_by_its_name(path: str, name: str) -> None:
    assert name_of(path) == name


@pytest.mark.parametrize(
    "text",
    ["either/or, 1/2/3", "see https://example.org/a/b", "/help", "a regex /x/", "C:\\", "s/old words/new words/"],
)
def test_other_texts_are_unchanged(text: str) -> None:
    assert without_folders(text) == text


def test_the_end_of_an_answer_names_its_model_alone() -> None:
    error = Sentence("The model in {path} has no weights.", path="/home/a b/smol")
    message = Message(
        id=1,
        parent_id=None,
        role="assistant",
        text="",
        state="failed",
        record=Record(error=str(error), error_parts=error.parts),
    )
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    assert ending(Excerpt(conversation, [message], {}, [message]).path[0]) == (
        "The answer failed: The model in smol has no weights."
    )
