"""The undo history of a tree. Each step holds the state from before it.

Undoing a step restores that state; the state it replaces is the step to redo. Choosing another version to show is not a
step, because no message changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from app.model.message import Message, MessageId

_MAX_STEPS = 1_000


class Unset:
    """The value of a choice that was never made."""


UNSET = Unset()

Choice: TypeAlias = MessageId | Unset | None


@dataclass
class Step:
    """The state to restore in order to undo something."""

    name: str
    """The name of the action that was done."""
    root_id: MessageId
    hide: list[MessageId] = field(default_factory=list[MessageId])
    show: list[MessageId] = field(default_factory=list[MessageId])
    messages: list[Message] = field(default_factory=list[Message])
    """The changed messages, as they were before."""
    choices: dict[MessageId, Choice] = field(default_factory=dict[MessageId, "Choice"])
    """The former chosen child of each message whose choice changed."""

    @property
    def is_empty(self) -> bool:
        return not (self.hide or self.show or self.messages or self.choices)

    @property
    def message_ids(self) -> set[MessageId]:
        """The messages that change when this state is restored."""
        return {*self.hide, *self.show, *(message.id for message in self.messages)}


def chosen(choices: Mapping[MessageId, MessageId | None], parent_id: MessageId) -> Choice:
    """Return the chosen child of a message, or `UNSET` if none was ever chosen."""
    return choices.get(parent_id, UNSET)


class History:
    """The steps to undo and to redo, the latest last."""

    def __init__(self) -> None:
        self._done: list[Step] = []
        self._undone: list[Step] = []

    def add(self, step: Step) -> None:
        """Add a new step. Steps that were undone before can no longer be redone."""
        self._done.append(step)
        del self._done[:-_MAX_STEPS]
        self._undone.clear()

    def add_beside(self, message_id: MessageId, added_id: MessageId) -> None:
        """Make a message part of the step that added `message_id`, so that both are undone together."""
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
        """Move the last step to the steps that can be redone, as `step`, which holds the state to restore."""
        self._done.pop()
        self._undone.append(step)

    def redone(self, step: Step) -> None:
        """Move the last undone step back to the steps that can be undone, as `step`."""
        self._undone.pop()
        self._done.append(step)
