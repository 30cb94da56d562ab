"""Export files: written completely or not at all, with progress, and named after their conversations."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from app.export.exporting import (
    ExportProgress,
    ExportRequest,
    ExportResult,
    NothingToExportError,
    Scope,
    export,
    run_export,
)
from app.model.exports.excerpt import Options, branch, selection, whole_tree
from app.model.exports.files import (
    FILE_FORMATS,
    FORMATS,
    NEEDS_QT,
    TRAINERS,
    FileFormat,
    Format,
    Piece,
    Progress,
    file_name,
    is_trainer,
    written,
)
from app.model.exports.losses import Losses
from app.model.store import Store
from tests.app.trees import drawn, labels, plant


def test_progress_counts_messages_and_the_file_appears_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out"
    work = written(path, [Piece("head"), Piece("a", 1), Piece("ü", 2)], 3)
    seen = [(progress, path.exists()) for progress in work]
    assert seen == [(Progress(1, 3), False), (Progress(3, 3), False)]
    assert path.read_text(encoding="utf-8") == "headaü"


def _run(
    store: Store, conversation_id: int, format_: Format, path: Path
) -> Generator[ExportProgress, None, ExportResult]:
    return run_export(store, ExportRequest(scope=Scope(conversation_ids=(conversation_id,)), format=format_), path)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_cancelled_export_keeps_what_was_there(tmp_path: Path, format_: Format, qapp: object) -> None:
    assert qapp is not None
    store = Store(tmp_path / "c.sqlite3")
    planted = plant(store, "u1-a1-u2-a2 | u1-a3")
    path = tmp_path / "out" / "file"
    path.parent.mkdir()
    files = [path / "train.jsonl", path / "valid.jsonl"] if is_trainer(format_) else [path]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text("what was there")
    work = _run(store, planted.conversation_id, format_, path)
    next(work)
    work.close()
    assert [file.read_text() for file in files] == ["what was there"] * len(files)
    assert sorted(file for file in (tmp_path / "out").rglob("*") if file.is_file()) == files
    assert list((tmp_path / "out").rglob(".bough-*")) == []
    store.close()


@pytest.mark.parametrize("format_", FILE_FORMATS)
def test_a_missing_folder_raises_an_os_error(tmp_path: Path, format_: FileFormat, qapp: object) -> None:
    assert qapp is not None
    store = Store(tmp_path / "c.sqlite3")
    planted = plant(store, "u1-a1 | u1-a2")
    excerpt = whole_tree(store, planted.conversation_id)
    with pytest.raises(OSError, match=r"."):
        list(export(excerpt, format_, tmp_path / "no" / "file", Options(), Losses()))
    store.close()


@pytest.mark.parametrize("format_", ["md", "preference-jsonl", *TRAINERS])
def test_a_refused_export_leaves_no_folder(tmp_path: Path, format_: Format) -> None:
    store = Store(tmp_path / "c.sqlite3")
    ids = (98, 99) if format_ == "md" else tuple(store.create_conversation("n", "", "")[0].id for _ in range(2))
    request = ExportRequest(scope=Scope(conversation_ids=ids), format=format_, options=Options(records="preference"))
    parent = tmp_path / "a" / "b"
    if format_ == "preference-jsonl":
        parent.mkdir(parents=True)
    with pytest.raises(NothingToExportError):
        list(run_export(store, request, parent / "c"))
    assert list((tmp_path / "a").rglob("*")) == ([parent] if format_ == "preference-jsonl" else [])
    store.close()


def test_only_the_leftovers_of_a_killed_export_are_removed_by_a_later_one(tmp_path: Path) -> None:
    killed = written(tmp_path / "killed", [Piece("a", 1), Piece("b", 1)], 2)
    next(killed)
    (left,) = tmp_path.iterdir()
    left_folder = tmp_path / f".bough-{'0' * 16}"
    left_folder.mkdir()
    (left_folder / "train.jsonl").write_text("{}")
    running = written(tmp_path / "other", [Piece("c", 1), Piece("d", 1)], 2)
    next(running)
    long_ago = time.time() - 2 * 24 * 60 * 60
    alike = [tmp_path / ".bough-notes", tmp_path / f"{left.name}.txt"]
    for file in alike:
        file.write_text("the user's own")
    for file in (left, left_folder, *alike):
        os.utime(file, (long_ago, long_ago))
    assert list(written(tmp_path / "third", [Piece("e", 1)], 1)) == [Progress(1, 1)]
    assert not left.exists()
    assert not left_folder.exists()
    # The export that is still running is not disturbed.
    list(running)
    assert {file.name for file in tmp_path.iterdir()} == {"other", "third", *(file.name for file in alike)}
    with pytest.raises(OSError, match="No such file"):
        list(killed)


def test_an_error_during_an_export_keeps_the_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("what was there")

    def pieces() -> object:
        yield Piece("a", 1)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        list(written(path, pieces(), 1))  # pyright: ignore[reportArgumentType]
    assert [file.read_text() for file in tmp_path.iterdir()] == ["what was there"]


def test_messages_of_a_branch_or_selection_keep_their_links(tmp_path: Path) -> None:
    store = Store(tmp_path / "c.sqlite3")
    planted = plant(store, "u1-a1-u2-a2 | u1-a3-u4")
    ids = planted.ids
    assert labels(branch(store, planted.conversation_id).path) == "u1-a3-u4"
    assert labels(branch(store, planted.conversation_id, ids["u2"]).path) == "u1-a1-u2"
    chosen = selection(store, planted.conversation_id, [ids["u1"], ids["a2"], ids["u4"]])
    # Each message is below its nearest selected ancestor.
    assert drawn(chosen.messages) == "u1-a2 | u1-u4"
    assert labels(chosen.path) == "u1-u4"
    assert [labels(section.messages) for section in chosen.sections()] == ["u1-u4", "a2"]
    store.close()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Trip plans", "Trip plans.md"),
        ("a/b\\c:d", "a b c d.md"),
        ("..", "Conversation.md"),
        ("", "Conversation.md"),
        ("con", "con (conversation).md"),
        ("漢字" * 99, "漢字" * 20 + ".md"),
        ("a\nb\0c", "a b c.md"),
    ],
)
def test_any_conversation_name_becomes_a_valid_file_name(name: str, file: str) -> None:
    assert file_name(name, ".md", set()) == file


def test_conversations_with_the_same_name_get_different_file_names() -> None:
    taken: set[str] = set()
    names = [file_name(name, ".md", taken) for name in ("Trip", "trip", "Trip", "Trip (2)")]
    assert names == ["Trip.md", "trip (2).md", "Trip (3).md", "Trip (2) (2).md"]


def test_pdf_and_docx_are_the_formats_that_need_qt() -> None:
    assert set(FORMATS) >= NEEDS_QT == {"pdf", "docx"}
