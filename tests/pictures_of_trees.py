"""States of the tree and of what compares its branches, for `tests.pictures`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from app.application import Application
from app.model.message import Message, Record
from app.model.store import Store

Wait = Callable[[Callable[[], bool]], None]
Prepare = Callable[[Path], Callable[[Application], None]]

_TEXT = "how a branch parts where one asks again and what is kept of it when the model has read it once"


def tree(num_messages: int, wait: Wait) -> Prepare:
    """A tree of so many messages, its costs known; 0: what is shown before there is any."""

    def prepare(folder: Path) -> Callable[[Application], None]:
        conversation_id = _planted(folder, num_messages) if num_messages else None

        def show(application: Application) -> None:
            if conversation_id is not None:
                application.controller.open_conversation(conversation_id)
            application.window.action("walk_tree").trigger()
            if conversation_id is not None:
                leaf = application.controller.path[-1].id
                wait(lambda: application.controller.costs.get(leaf) is not None)

        return show

    return prepare


def comparing(application: Application, _wait: Wait) -> None:
    """The versions of an answer, a difference chosen."""
    application.window.action("compare").trigger()


def _planted(folder: Path, num_messages: int) -> int:
    draw = Random(3)
    store = Store(folder / "conversations.sqlite3")
    conversation, question = store.create_conversation("How branches work", "Be brief.", _text(draw))
    messages: list[Message] = [question]
    while len(messages) < num_messages - 1:
        is_on = len(messages) < 4 or draw.random() < 0.85
        parent = messages[-1] if is_on else draw.choice(messages[-60:])
        role = "assistant" if parent.role == "user" else "user"
        record = Record(model="guide") if role == "assistant" else None
        messages.append(store.add(conversation.id, parent.id, role, _text(draw), record=record))
    if num_messages > 10:
        store.star(messages[-3].id, is_starred=True)
        store.name_branch(messages[-5].id, "the short way")
    store.close()
    return conversation.id


def _text(draw: Random) -> str:
    return " ".join(draw.choices(_TEXT.split(), k=draw.randint(3, 24))).capitalize()
