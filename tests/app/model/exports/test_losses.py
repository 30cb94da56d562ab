"""Every part of a conversation is in an exported file, or a sentence says that it is not."""

from __future__ import annotations

import contextlib
import html
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from app.export.exporting import ExportRequest, NothingToExportError, Scope, run_export
from app.model.exports.excerpt import Options
from app.model.exports.files import LINES, READABLE, TRAINERS, Format, is_trainer
from app.model.exports.training_records import KINDS
from app.model.grafts import Graft
from app.model.message import Message, Record, Role, Sent, State, Tool, ToolCall
from app.model.notes import fenced, note
from app.model.project import Project
from app.model.store import Store
from tests.app.model.exports.excerpts import result_of

_PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_CALL = ToolCall(name="weathertool", arguments={"city": "callargument"}, id="c1")


class _Growing:
    """Adds messages below each other."""

    def __init__(self) -> None:
        self.messages = [Message(id=1, parent_id=None, role="root", text="")]

    def add(
        self,
        role: Role,
        text: str,
        *,
        above: int | None = None,
        record: Record | None = None,
        state: State = "complete",
        name: str = "",
        starred_ms: int | None = None,
        pinned_ms: int | None = None,
    ) -> int:
        self.messages.append(
            Message(
                id=len(self.messages) + 1,
                parent_id=above or self.messages[-1].id,
                role=role,
                text=text,
                state=state,
                record=record,
                name=name,
                starred_ms=starred_ms,
                pinned_ms=pinned_ms,
            )
        )
        return self.messages[-1].id


def _everything() -> Graft:
    """Return a conversation with everything that a conversation can have."""
    grown = _Growing()
    offered = Tool(name="weathertool", description="offeredtool", parameters={"type": "object"})
    grown.add("system", "systemprompt", record=Record(tools=(offered,)))
    grown.add("file", "attached.txt\nattachedtext")
    question = grown.add("user", "firstquestion")
    sent = Sent(num_calls=1, content="wordsbeside", reasoning="thoughtbefore")
    text = "<think>\nthoughtbefore\n</think>\n\nwordsbeside"
    grown.add("assistant", text, record=Record(model="smol", sent=sent))
    arguments = fenced(json.dumps(_CALL.arguments), "json")
    grown.add("note", note("Tool call: weathertool", arguments), record=Record(sent=Sent(call=_CALL)))
    result = Sent(role="tool", call_id="c1", name="weathertool")
    grown.add("note", note("Tool result: weathertool", fenced("toolresult")), record=Record(sent=result))
    grown.add("assistant", "<think>\nhiddenthought\n</think>\n\nwholeanswer", starred_ms=1)
    grown.add("note", note("Remark", "plainnote"))
    grown.add("note", note("Picture: cat.png", f"![cat.png]({_PNG})"))
    grown.add("note", note("File: data.bin", "![data.bin](data:application/octet-stream;base64,ZmlsZWNvbnRlbnQ=)"))
    shown = grown.add("user", "secondquestion", pinned_ms=1)
    grown.add("assistant", "thirdanswer")
    grown.add("assistant", "otheranswer", above=shown, name="branchname")
    grown.add("assistant", "stoppedanswer", above=shown, state="stopped")
    failure = Record(error="The model ran away.")
    grown.add("assistant", "failedanswer", above=shown, state="failed", record=failure)
    grown.add("assistant", "cutanswer", above=question, state="cut")
    grown.add("user", "lastquestion")
    return Graft(
        name="convname",
        messages=grown.messages,
        root_id=1,
        choices={shown: shown + 1},
        created_ms=0,
        updated_ms=0,
        folder="projectname",
    )


_PARTS: dict[str, tuple[str, ...]] = {
    "tool call": ("callargument",),
    "tool result": ("toolresult",),
    "words beside a call": ("wordsbeside",),
    "thoughts before a call": ("thoughtbefore",),
    "thoughts": ("hiddenthought",),
    "answers": ("wholeanswer", "thirdanswer", "otheranswer"),
    "note": ("plainnote",),
    "attached file": ("attachedtext",),
    "name of a branch": ("branchname",),
    "star": ("starred",),
    "pin": ("pinned",),
    "stopped answer": ("stoppedanswer", "stopped"),
    "cut answer": ("cutanswer", "cut"),
    "failed answer": ("failedanswer", "ran away"),
    "system prompt": ("systemprompt",),
    "picture by name": ("cat.png",),
    "file by name": ("data.bin",),
    "content of files": ("ZmlsZWNvbnRlbnQ",),
    "question without an answer": ("lastquestion",),
}
"""Texts by which each part is found in a file."""

_SAID: dict[str, str] = {
    "words beside a call": "without their text beside a tool call",
    "thoughts before a call": "without their reasoning",
    "note": "Notes left out",
    "name of a branch": "the name of their branch",
    "star": "their star",
    "pin": "their pin",
    "stopped answer": "because they are stopped, cut off, failed or empty: 3.",
    "cut answer": "because they are stopped, cut off, failed or empty: 3.",
    "failed answer": "because they are stopped, cut off, failed or empty: 3.",
    "picture by name": "Pictures and files left out",
    "file by name": "Pictures and files left out",
    "content of files": "Pictures and files",
    "question without an answer": "left out, because",
}
"""A part of the sentence that says a part is not in the file."""


def _text_of(path: Path, format_: Format) -> str:
    """Return all text of a file or of the files of a folder."""
    if is_trainer(format_):
        return " ".join(file.read_text(encoding="utf-8") for file in path.iterdir())
    if format_ == "pdf":
        return " ".join(page.extract_text() for page in PdfReader(path).pages)
    if format_ == "docx":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith((".xml", ".png"))]
            return " ".join([*names, *(archive.read(name).decode("utf-8", "replace") for name in names)])
    return html.unescape(path.read_text(encoding="utf-8"))


def _exported(tmp_path: Path, format_: Format, options: Options) -> tuple[str, str]:
    """Return the text of an export of everything, and its remarks."""
    with contextlib.closing(Store(tmp_path / "c.sqlite3")) as store:
        store.projects.put("projectname", Project(model="smol"))
        (conversation_id,) = store.grafts.add([_everything()])
        request = ExportRequest(scope=Scope(conversation_ids=(conversation_id,)), format=format_, options=options)
        result = result_of(run_export(store, request, tmp_path / "out"))
    return _text_of(result.path, format_), " ".join(map(str, result.problems))


_TEXTS_ONLY = {
    "note",
    "name of a branch",
    "star",
    "pin",
    "stopped answer",
    "cut answer",
    "failed answer",
    "picture by name",
    "file by name",
    "content of files",
    "question without an answer",
}
_NOT_KEPT: dict[Format, set[str]] = {
    "md": set(),
    "html": set(),
    "pdf": {"content of files"},
    "txt": {"content of files"},
    "docx": {"content of files"},
    "openai-jsonl": _TEXTS_ONLY,
    "sharegpt-jsonl": _TEXTS_ONLY | {"words beside a call", "thoughts before a call"},
    "preference-jsonl": _TEXTS_ONLY,
    "mlx-lm": _TEXTS_ONLY,
    "trl": _TEXTS_ONLY,
    "axolotl": _TEXTS_ONLY,
    "bough": set(),
}
"""The parts that are not in a file of each format."""
_REFUSED = {("mlx-lm", "completion"), ("axolotl", "preference")}
"""Kinds of lines that have no field for tool calls, so that there is nothing to export."""


@pytest.mark.parametrize(
    ("format_", "kind"),
    [
        *((format_, "chat") for format_ in (*READABLE, *LINES, "bough")),
        *((trainer, kind) for trainer in TRAINERS for kind in KINDS[trainer]),
    ],
)
def test_each_part_is_in_the_file_or_named_in_the_remarks(
    tmp_path: Path, qapp: object, format_: Format, kind: Any
) -> None:
    assert qapp is not None
    if (format_, kind) in _REFUSED:
        words = "pairs have no field" if format_ == "axolotl" else "no branch here consists of one question"
        with pytest.raises(NothingToExportError, match=words):
            _exported(tmp_path, format_, Options(records=kind))
        return
    text, remarks = _exported(tmp_path, format_, Options(records=kind))
    text = text.lower()
    missing = {part for part, found in _PARTS.items() if any(one.lower() not in text for one in found)}
    assert missing == _NOT_KEPT[format_]
    assert {part for part in missing if _SAID[part] not in remarks} == set()
    assert ("without the settings of their project" in remarks) == (format_ in READABLE)
    # Bough reads these files back.
    assert ("projectname" in text) == (format_ in {"bough", "md"})
