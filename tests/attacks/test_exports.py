"""Exports of damaged stores: what can be read is exported, and a sentence says that something is missing."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

import psutil
import pytest
from pypdf import PdfReader
from PySide6.QtWidgets import QApplication

from app.__main__ import main
from app.export.exporting import ExportRequest, ExportResult, NothingToExportError, Scope, export, run_export
from app.export.page_maker import PageMaker, PagesError
from app.export.printing import paper_of, print_pages, print_to_file
from app.model.exports.excerpt import Excerpt, Options, whole_tree
from app.model.exports.files import Format
from app.model.exports.losses import Losses
from app.model.message import MAX_MS
from app.model.store import Store
from tests.app.model.stores import sql
from tests.app.trees import Planted, plant
from tests.attacks.texts import TEXTS
from tests.long import in_long_runs

DAMAGE = {
    "a link that leads nowhere": "UPDATE message SET parent_id = 999 WHERE id = {u2}",
    "a link to itself": "UPDATE message SET parent_id = {a1} WHERE id = {a1}",
    "a missing message": "DELETE FROM message WHERE id = {a1}",
    "a missing root": "UPDATE conversation SET root_id = 999 WHERE id = {conversation}",
    "a root that is no number": "UPDATE conversation SET root_id = 'x' WHERE id = {conversation}",
    "a text that is no text": "UPDATE message SET text = x'00ff' WHERE id = {u2}",
    "a role that does not exist": "UPDATE message SET role = 'oracle' WHERE id = {u2}",
}


@pytest.fixture
def damaged(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Planted]:
    """A store with two conversations, of which the first one is damaged."""
    path = tmp_path / "conversations.sqlite3"
    with contextlib.closing(Store(path)) as store:
        planted = plant(store, "u1-a1-u2-a2 | u2-a3")
        plant(store, "u1-a1")
    _damage(path, DAMAGE[request.param].format(**planted.ids, conversation=planted.conversation_id))
    return path, planted


def _damage(path: Path, change: str) -> None:
    """Change the store as a broken disk may do: any column may have any type."""
    with sql(path) as database:
        tables = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE sql LIKE '%STRICT'"))
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = substr(sql, 1, length(sql) - 6) WHERE sql LIKE '%STRICT'")
    with sql(path) as database:
        database.execute(change)
        database.execute("PRAGMA writable_schema = ON")
        database.executemany("UPDATE sqlite_master SET sql = ?2 WHERE name = ?1", tables.items())


def _exported(store: Store, format_: Format, path: Path, scope: Scope) -> list[str]:
    """Export to a file or folder; return the problems."""
    steps = run_export(store, ExportRequest(scope=scope, format=format_), path)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: ExportResult = end.value
            return [str(problem) for problem in result.problems]
        except NothingToExportError as error:
            return [str(error)]


@pytest.mark.parametrize("damaged", [*list(DAMAGE)[:1], *in_long_runs(list(DAMAGE)[1:])], indirect=True)
def test_an_export_says_that_messages_are_missing(
    damaged: tuple[Path, Planted], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, planted = damaged
    with contextlib.closing(Store(path)) as store:
        one, all_ = (planted.conversation_id,), tuple(each.id for each in store.conversations.all())
        assert len(all_) == 2
        found = [
            _exported(store, "md", tmp_path / "one.md", Scope(conversation_ids=one)),
            _exported(store, "md", tmp_path / "many", Scope(conversation_ids=all_)),
            _exported(store, "bough", tmp_path / "all.bough", Scope(conversation_ids=all_)),
        ]
    for problems in found:
        assert sum("The export of “planted” may have gaps." in problem for problem in problems) == 1
    # Without its root, a conversation has no message: then there is no file, and a sentence says so, too.
    has_some = (tmp_path / "one.md").exists()
    assert [len(problems) for problems in found] == [1, 1 if has_some else 2, 1]
    folder = tmp_path / "shell"
    arguments = ["export", "--all", "--format", "txt", "--out", str(folder), "--data-dir", str(tmp_path)]
    assert main(arguments) == 1
    printed = capsys.readouterr().err
    assert "The export of “planted” may have gaps." in printed
    assert ("“planted” was not exported. There is nothing to export" in printed) == (not has_some)
    assert len(list(folder.iterdir())) == 1 + has_some


def test_a_sound_export_has_no_problems(tmp_path: Path) -> None:
    with contextlib.closing(Store(tmp_path / "conversations.sqlite3")) as store:
        planted = plant(store, "u1-a1-u2-a2 | u2-a3")
        store.messages.prune([planted.ids["a3"]])
        scope = Scope(conversation_ids=(planted.conversation_id,))
        assert _exported(store, "md", tmp_path / "one.md", scope) == []


def test_a_conversation_whose_name_is_damaged_is_listed_and_exported(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    with contextlib.closing(Store(path)) as store:
        planted = plant(store, "u1-a1")
    _damage(path, "UPDATE conversation SET name = x'ff00'")
    with contextlib.closing(Store(path)) as store:
        (conversation,) = store.conversations.all()
        assert conversation.name == f"Conversation {planted.conversation_id}"
        _exported(store, "md", tmp_path / "one.md", Scope(conversation_ids=(conversation.id,)))
    assert "a1" in (tmp_path / "one.md").read_text()


@pytest.mark.parametrize("time_ms", [2**63 - 1, *in_long_runs([-(2**63), -1, MAX_MS + 1])])
def test_a_time_that_no_clock_has_is_unknown_and_its_conversation_is_exported_and_imported(
    tmp_path: Path, time_ms: int
) -> None:
    path = tmp_path / "conversations.sqlite3"
    with contextlib.closing(Store(path)) as store:
        planted = plant(store, "u1-a1")
        store.messages.star(planted.ids["a1"])
    with sql(path) as database:
        for column in ("created_ms", "starred_ms"):
            database.execute(f"UPDATE message SET {column} = ? WHERE {column} IS NOT NULL", (time_ms,))
        database.execute("UPDATE conversation SET created_ms = ?1, updated_ms = ?1, pinned_ms = ?1", (time_ms,))
    scope = Scope(conversation_ids=(planted.conversation_id,))
    with contextlib.closing(Store(path)) as store:
        for format_ in ("md", "html", "bough"):
            assert _exported(store, format_, tmp_path / f"x.{format_}", scope) == []
    assert main(["import", str(tmp_path / "x.bough"), "--data-dir", str(tmp_path / "other")]) == 0
    with contextlib.closing(Store(tmp_path / "other" / "conversations.sqlite3")) as store:
        (conversation,) = store.conversations.all()
        assert (conversation.updated_ms, conversation.pinned_ms) == (0, 0)
        assert store.messages.shown_by(conversation.id)[-1].starred_ms == 0


# --- the process that makes pages ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages(qapp: QApplication) -> PageMaker:
    return PageMaker()


def _excerpt_of(folder: Path, text: str) -> Excerpt:
    with contextlib.closing(Store(folder / "conversations.sqlite3")) as store:
        conversation, last = store.create_conversation("Hostile", "", "Write a table.")
        store.add(conversation.id, last.id, "assistant", text)
        return whole_tree(store, conversation.id)


def _page_processes() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "app.export.page_jobs" in child.cmdline()]


@pytest.mark.parametrize("format_", ["pdf", *in_long_runs(["docx"])])
def test_an_endless_export_is_cancelled_at_once_and_the_next_one_is_whole(
    pages: PageMaker, tmp_path: Path, format_: Literal["pdf", "docx"]
) -> None:
    path = tmp_path / f"out.{format_}"
    path.write_text("before")
    steps = export(_excerpt_of(tmp_path, TEXTS["table of 2,000 × 50"]()), format_, path, Options(), Losses(), pages)
    while next(steps).done < 1:  # the question is laid out; the table takes minutes
        pass
    steps.close()
    assert path.read_text() == "before"
    short = _excerpt_of(tmp_path, "A short answer.")
    assert list(export(short, format_, path, Options(), Losses(), pages))[-1].done > 0
    assert path.stat().st_size > 1000
    assert not list(tmp_path.glob(".bough-*"))


def test_when_the_process_dies_a_sentence_says_so_and_the_next_export_is_whole(
    pages: PageMaker, tmp_path: Path
) -> None:
    path = tmp_path / "out.pdf"
    path.write_text("before")
    steps = export(_excerpt_of(tmp_path, TEXTS["table of 2,000 × 50"]()), "pdf", path, Options(), Losses(), pages)
    while next(steps).done < 1:
        pass
    for process in _page_processes():
        process.kill()
    with pytest.raises(PagesError) as raised:
        list(steps)
    assert str(raised.value).startswith("The process that makes the pages ended unexpectedly")
    assert "Nothing was written." in str(raised.value)
    assert path.read_text() == "before"
    assert list(export(_excerpt_of(tmp_path, "A short answer."), "pdf", path, Options(), Losses(), pages))
    assert path.read_bytes().startswith(b"%PDF")


def test_printed_pages_have_the_outlines_of_the_pdf_and_only_wanted_pages_are_printed(
    pages: PageMaker, tmp_path: Path
) -> None:
    from PySide6.QtPrintSupport import QPrinter

    excerpt = _excerpt_of(tmp_path, "A word $x^2$ and a\n\n|table|\n|-|\n|cell|\n\n" + "more words " * 600)
    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    printer.setOutputFileName(str(tmp_path / "printed.pdf"))
    printer.setPrintRange(QPrinter.PrintRange.PageRange)
    printer.setFromTo(2, 2)
    paper = paper_of(printer)
    assert any(print_pages(excerpt, paper, printer, pages))
    del printer
    for _ in print_to_file(excerpt, paper, tmp_path / "file.pdf", pages):
        pass
    (printed,), (written,) = (PdfReader(tmp_path / name).pages for name in ("printed.pdf", "file.pdf"))
    assert "2 / 2" in written.extract_text()
    assert printed.mediabox == written.mediabox
    assert printed.extract_text().strip() == ""
    contents = printed.get_contents()
    assert contents is not None
    assert contents.get_data().count(b" c\n") > 1000
    # A document without the wanted pages is not printed.
    with pytest.raises(PagesError, match="The document has only 2 pages"):
        list(print_to_file(excerpt, paper._replace(first=7, end=9), tmp_path / "none.pdf", pages))
    assert not (tmp_path / "none.pdf").exists()


@pytest.mark.long
def test_pages_that_need_too_much_memory_end_in_a_sentence(
    pages: PageMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.export.page_maker._MEMORY_BYTES", 100 << 20)
    steps = export(
        _excerpt_of(tmp_path, TEXTS["table of 2,000 × 50"]()), "docx", tmp_path / "x.docx", Options(), Losses(), pages
    )
    with pytest.raises(PagesError, match="Making the pages needs more than 100 MiB"):
        list(steps)
    assert not (tmp_path / "x.docx").exists()
