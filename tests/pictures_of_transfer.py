"""States of the windows that bring conversations in and out, find them and take them back, for `tests.pictures`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from app.application import Application

Wait = Callable[[Callable[[], bool]], None]


def searching(application: Application, wait: Wait) -> None:
    """Hits with their words lit."""
    application.window.action("search_all").trigger()
    search = application.window.transfer.search
    search.field.setText("the answer")
    wait(lambda: search.list.chosen is not None)


def exporting(application: Application, wait: Wait) -> None:
    """The whole tree as pages."""
    sheet = application.window.transfer.show_export()
    assert sheet is not None
    sheet.what.choose(2)
    sheet.formats.setCurrentIndex(sheet.formats.findData("pdf"))
    wait(sheet.preview.page.isVisible)


def importing(application: Application, wait: Wait) -> None:
    """Conversations that can be imported, one that is there twice, and what can't be read."""
    folder = Path(tempfile.mkdtemp())
    chats = [
        {"messages": [{"role": "user", "content": f"Question {number % 9}"}, {"role": "tool", "content": "4"}]}
        for number in range(10)
    ]
    (folder / "chats.jsonl").write_text("\n".join([*map(json.dumps, chats), "{broken"]))
    sheet = application.window.transfer.show_import([folder / "chats.jsonl", folder / "missing.bough"])
    wait(lambda: not sheet.is_working)
    sheet.twins.heading.setChecked(True)


def trash(application: Application, wait: Wait) -> None:
    """A conversation that was deleted, a branch that was pruned."""
    opened = application.controller.conversation
    application.program.conversations.delete(
        next(one.id for one in application.program.conversations.all if one != opened)
    )
    application.controller.prune(application.controller.path[-1].id)
    sheet = application.window.transfer.show_trash()
    wait(lambda: sheet.list.count() == 2)


def running_again(application: Application, wait: Wait) -> None:
    """An answer of the guide's that came again."""
    application.controller.new_conversation()
    application.controller.send("What is a branch?")
    wait(lambda: application.controller.streaming_message is None)
    sheet = application.window.transfer.show_replay()
    assert sheet is not None
    wait(lambda: sheet.is_over)
