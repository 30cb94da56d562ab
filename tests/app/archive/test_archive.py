"""Exports, imports and searches in background threads, with a real store and cancellation."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import shiboken6
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.archive.archive import Archive, Task
from app.archive.searching import Searcher
from app.export.exporting import (
    ExportProgress,
    ExportRequest,
    NothingToExportError,
    Scope,
    make_preview,
    proposed_name,
    run_export,
)
from app.export.page_maker import PageMaker
from app.model.database import StoreError
from app.model.exports.excerpt import Options
from app.model.exports.files import FORMATS, Format, is_trainer
from app.model.imports.importing import import_files
from app.model.store import Store
from tests.app.trees import plant
from tests.waiting import PATIENCE_MS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "conversations.sqlite3")
    yield store
    store.close()


@pytest.fixture
def archive(store: Store, qapp: QApplication) -> Iterator[Archive]:
    archive = Archive(store.path)
    yield archive
    archive.close()


@pytest.fixture(scope="module")
def pages() -> PageMaker:
    return PageMaker()


def _result_of(work: Task, bot: QtBot) -> Any:
    """Return the result of a task. Any other outcome fails the test."""
    with bot.waitSignal(work.done, timeout=PATIENCE_MS, raising=True) as signal:
        pass
    assert signal.args is not None
    return signal.args[0]


def _request(format_: Format, *conversation_ids: int) -> ExportRequest:
    return ExportRequest(scope=Scope(conversation_ids=conversation_ids), format=format_)


@pytest.mark.parametrize("format_", FORMATS)
def test_one_conversation_is_previewed_and_exported_to_one_file_in_every_format(
    archive: Archive, store: Store, pages: PageMaker, qtbot: QtBot, tmp_path: Path, format_: Format
) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u1-a3")
    request = _request(format_, planted.conversation_id)
    path = tmp_path / proposed_name("planted", request)
    written = _result_of(archive.read(lambda store: run_export(store, request, path, pages)), qtbot)
    if is_trainer(format_):
        assert written.path == path
        (file,) = path.iterdir()
        assert (written.path, written.num_files) == (path, 1)
    else:
        file = path
        left_out = "Messages left out, because they belong to no pair of answers: 2."
        said = (left_out,) if format_ == "preference-jsonl" else ()
        assert (written.path, written.num_files, tuple(map(str, written.problems))) == (path, 1, said)
    assert file.stat().st_size > 0
    shown = _result_of(archive.read(lambda store: make_preview(store, request, 0.5, pages)), qtbot)
    if shown.page is None:
        assert file.read_text(encoding="utf-8") == shown.text
    else:
        assert 390 < shown.page.picture.width() < 400
    assert shown.is_all


@pytest.mark.parametrize("text", ["x\n" * 5_000, "word " * 20_000])
def test_the_preview_of_a_long_message_is_its_beginning(
    archive: Archive, store: Store, qtbot: QtBot, text: str
) -> None:
    conversation, _ = store.create_conversation("Long", "", text)
    request = _request("txt", conversation.id)
    shown = _result_of(archive.read(lambda store: make_preview(store, request, 0.5, PageMaker())), qtbot)
    assert not shown.is_all
    assert text[:300].split("\n")[0] in shown.text
    assert shown.text.count("\n") < 500
    assert len(shown.text) < 21_000


def test_several_conversations_are_exported_to_a_folder_without_replacing_files(
    archive: Archive, store: Store, qtbot: QtBot, tmp_path: Path
) -> None:
    ids = [plant(store, "u1-a1").conversation_id for _ in range(3)]
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "Planted.md").write_text("mine")
    request = _request("md", *ids, 99)
    written = _result_of(archive.read(lambda store: run_export(store, request, folder)), qtbot)
    assert written.num_files == 3
    assert len(written.problems) == 1
    assert (folder / "Planted.md").read_text() == "mine"
    assert sorted(file.name for file in folder.iterdir()) == [
        "Planted.md",
        "planted (2).md",
        "planted (3).md",
        "planted (4).md",
    ]


@pytest.mark.parametrize("format_", FORMATS)
def test_an_empty_export_raises_a_sentence_and_writes_no_file(store: Store, tmp_path: Path, format_: Format) -> None:
    first = store.create_conversation("n", "Be brief.", "Why?")[0].id
    system_id = store.conversations.get(first).root_id + 1
    path = tmp_path / "out"
    path.write_text("before")
    # All conversations of a `.bough` may be gone by now; all other formats leave this system prompt out.
    only = Scope(conversation_ids=(first,), message_ids=frozenset({system_id}))
    gone = Scope(conversation_ids=(98, 99))
    request = ExportRequest(
        scope=gone if format_ == "bough" else only, format=format_, options=Options(system_prompts=False)
    )
    with pytest.raises(NothingToExportError, match="There is nothing to export"):
        list(run_export(store, request, path))
    assert path.read_text() == "before"
    several = ExportRequest(scope=gone, format=format_)
    with pytest.raises(NothingToExportError):
        list(run_export(store, several, tmp_path / "folder"))
    assert not (tmp_path / "folder").exists()
    *_, shown = _steps_of(make_preview(store, request, 1.0, PageMaker()))
    assert "There is nothing to export" in shown.nothing


def test_conversations_with_nothing_for_a_format_are_named(store: Store, tmp_path: Path) -> None:
    planted = plant(store, "u1-a1 | u1-a2")
    other, _ = store.create_conversation("No pairs", "", "Why?")
    ids = (other.id, planted.conversation_id)
    *_, result = _steps_of(run_export(store, _request("preference-jsonl", *ids), tmp_path / "pairs"))
    assert len((tmp_path / "pairs").read_text().splitlines()) == 1
    assert [str(problem) for problem in result.problems] == [
        "Conversations left out, because they have nothing for this format: 1 (“No pairs”).",
    ]
    request = ExportRequest(scope=Scope(conversation_ids=ids), format="md", options=Options(system_prompts=False))
    *_, result = _steps_of(run_export(store, request, tmp_path / "out"))
    assert (result.num_files, result.problems) == (2, ())


def _steps_of(work: Generator[Any, None, Any]) -> list[Any]:
    """Return all that a generator yields, and its result at the end."""
    steps: list[Any] = []
    while True:
        try:
            steps.append(next(work))
        except StopIteration as end:
            return [*steps, end.value]


def test_a_cancelled_export_leaves_no_files_and_changes_none(store: Store, tmp_path: Path) -> None:
    ids = [plant(store, "u1-a1").conversation_id for _ in range(3)]
    for request, target in (
        (_request("md", *ids), tmp_path / "out"),
        (_request("bough", *ids), tmp_path / "all.bough"),
    ):
        if not request.is_folder:
            target.write_text("before")
        steps = run_export(store, request, target)
        while next(steps).done < 2:
            pass
        steps.close()
        assert not target.exists() if request.is_folder else target.read_text() == "before"
    assert {file.name for file in tmp_path.iterdir() if not file.name.startswith("conversations")} == {"all.bough"}


def test_a_branch_and_a_selection_are_exported(store: Store, tmp_path: Path) -> None:
    planted = plant(store, "u1-a1-u2 | u1-a2-u3")
    branch = Scope(conversation_ids=(planted.conversation_id,), leaf_id=planted.ids["u2"])
    chosen = frozenset({planted.ids["u1"], planted.ids["u3"]})
    selected = Scope(conversation_ids=(planted.conversation_id,), message_ids=chosen)
    for scope, expected in ((branch, ["u1", "a1", "u2"]), (selected, ["u1", "u3"])):
        path = tmp_path / "part.txt"
        request = ExportRequest(scope=scope, format="txt", options=Options(system_prompts=False))
        assert list(run_export(store, request, path))
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if line in planted.ids] == expected


def test_a_cancelled_task_is_closed_in_its_thread_and_says_so(archive: Archive, qtbot: QtBot) -> None:
    closed: list[str] = []

    def endless() -> Generator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append("closed")

    work = archive.run(endless)
    with qtbot.waitSignal(work.progressed, timeout=PATIENCE_MS):
        pass
    with qtbot.waitSignals([work.cancelled, work.ended], timeout=PATIENCE_MS):
        work.cancel()
    assert closed == ["closed"]


def test_a_failure_is_reported_as_a_sentence(archive: Archive, store: Store, qtbot: QtBot, tmp_path: Path) -> None:
    planted = plant(store, "u1-a1")
    request = _request("md", planted.conversation_id)
    work = archive.read(lambda store: run_export(store, request, tmp_path / "nowhere" / "file.md"))
    with qtbot.waitSignal(work.failed, timeout=PATIENCE_MS) as signal:
        pass
    assert signal.args is not None
    assert "nowhere" in signal.args[0]
    assert signal.args[0].endswith(".")
    store.conversations.trash(planted.conversation_id)
    with pytest.raises(StoreError, match="moved to the trash"):
        next(run_export(store, request, tmp_path / "file.md"))


def test_an_import_is_visible_in_the_open_store_and_undone_when_the_archive_closes(
    archive: Archive, store: Store, qtbot: QtBot, tmp_path: Path
) -> None:
    plant(store, "u1-a1")
    file = tmp_path / "chats.jsonl"
    lines = [
        {"messages": [{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": "a"}]} for n in range(9000)
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines[:5]))
    summary = _result_of(archive.write(partial(import_files, paths=[file])), qtbot)
    assert summary.num_conversations == 5
    assert len(store.conversations.all()) == 6
    file.write_text("\n".join(json.dumps(line) for line in lines))
    work = archive.write(partial(import_files, paths=[file]))
    with qtbot.waitSignal(work.progressed, timeout=PATIENCE_MS):
        pass
    archive.close()
    assert len(store.conversations.all()) == 6


def test_a_search_reports_the_latest_query_only(store: Store, qtbot: QtBot, qapp: QApplication) -> None:
    conversation, question = store.create_conversation("Heaps", "", "What is a binary heap?")
    store.add(conversation.id, question.id, "assistant", "A heap is a tree.")
    searcher = Searcher(store.path)
    try:
        with qtbot.waitSignal(searcher.found, timeout=PATIENCE_MS) as signal:
            for end in range(1, len("heap") + 1):
                searcher.search("heap"[:end])
        assert signal.args is not None
        assert signal.args[0].query == "heap"
        assert {hit.message.role for hit in signal.args[0].hits} == {"user", "assistant"}
        with qtbot.waitSignal(searcher.found, timeout=PATIENCE_MS) as signal:
            searcher.search("heap from:you")
        assert signal.args is not None
        assert [hit.message.id for hit in signal.args[0].hits] == [question.id]
        # The search thread sees messages written after it was started.
        with qtbot.waitSignal(searcher.found, timeout=PATIENCE_MS) as signal:
            store.add(conversation.id, question.id, "assistant", "Zebra")
            searcher.search("zebra")
        assert signal.args is not None
        assert len(signal.args[0].hits) == 1
    finally:
        searcher.close()


def test_progress_counts_messages_of_one_conversation_or_several_conversations(store: Store, tmp_path: Path) -> None:
    ids = [plant(store, "u1-a1").conversation_id for _ in range(2)]
    assert list(run_export(store, _request("md", ids[0]), tmp_path / "a.md"))[-1] == ExportProgress(
        2, 4, is_of_messages=True
    )
    assert list(run_export(store, _request("bough", *ids), tmp_path / "b"))[-1] == ExportProgress(
        2, 2, is_of_messages=False
    )


def test_the_end_waits_for_no_task_that_may_be_left(store: Store, qapp: QApplication) -> None:
    """A keyring that asks the user for a password can take any time."""
    archive = Archive(store.path)
    has_begun, may_end, has_ended = threading.Event(), threading.Event(), threading.Event()

    def steps() -> Generator[int, None, str]:
        yield 0
        has_begun.set()
        assert may_end.wait(PATIENCE_MS / 1000)
        has_ended.set()
        return "a key"

    archive.run(steps, may_be_left=True)
    assert has_begun.wait(PATIENCE_MS / 1000)
    archive.close()
    assert not has_ended.is_set()
    shiboken6.delete(archive)
    # Its thread reports to objects that are gone, which is no error.
    may_end.set()
    assert has_ended.wait(PATIENCE_MS / 1000)
    for thread in threading.enumerate():
        if thread.name == "task":
            thread.join(PATIENCE_MS / 1000)
