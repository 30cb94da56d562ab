"""What a person did to a tree, as what was there before each step: to be taken back, and done again.

A step is undone by putting back what it remembers, and what that replaces is the step to redo it. Choosing another
version to look at is no step: nothing was changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from app.model.message import Message, MessageId

_MAX_STEPS = 1_000


class Unset:
    """Stands where nothing had been chosen."""


UNSET = Unset()

Choice: TypeAlias = MessageId | Unset | None


@dataclass
class Step:
    """What is to be put back to undo something."""

    name: str
    """What was done, as the action that does it is called."""
    root_id: MessageId
    hide: list[MessageId] = field(default_factory=list[MessageId])
    show: list[MessageId] = field(default_factory=list[MessageId])
    messages: list[Message] = field(default_factory=list[Message])
    """Those that were changed, as they were."""
    choices: dict[MessageId, Choice] = field(default_factory=dict[MessageId, "Choice"])
    """The chosen child of each message that has another one now."""

    @property
    def is_empty(self) -> bool:
        return not (self.hide or self.show or self.messages or self.choices)

    @property
    def message_ids(self) -> set[MessageId]:
        """The messages that change when this is put back."""
        return {*self.hide, *self.show, *(message.id for message in self.messages)}


def chosen(choices: Mapping[MessageId, MessageId | None], parent_id: MessageId) -> Choice:
    """Return what was chosen below a message, or that nothing was."""
    return choices.get(parent_id, UNSET)


class History:
    """Steps to undo and to redo, the last one last."""

    def __init__(self) -> None:
        self._done: list[Step] = []
        self._undone: list[Step] = []

    def add(self, step: Step) -> None:
        """Something new was done; what had been undone before can't come back."""
        self._done.append(step)
        del self._done[:-_MAX_STEPS]
        self._undone.clear()

    def add_beside(self, message_id: MessageId, added_id: MessageId) -> None:
        """Something came into being with a message that a step added: it comes and goes with it."""
        for step in self._done:
            if message_id in step.hide:
                step.hide.append(added_id)
        for step in self._undone:
            if message_id in step.show:
                step.show.append(added_id)

    @property
    def to_undo(self) -> Step | None:
        return self._done[-1] if self._done else None

    @property
    def to_redo(self) -> Step | None:
        return self._undone[-1] if self._undone else None

    def undone(self, step: Step) -> None:
        """The last step was undone; `step` does it again."""
        self._done.pop()
        self._undone.append(step)

    def redone(self, step: Step) -> None:
        """The step that was undone last was done again; `step` undoes it."""
        self._undone.pop()
        self._done.append(step)
