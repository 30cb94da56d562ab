"""Beginnings of branches: the system prompt and the files that a conversation takes from its project."""

from __future__ import annotations

from collections.abc import Sequence

from app.conversation.preparation import Preparation
from app.conversation.project_in_use import ProjectInUse
from app.conversation.shown_conversation import ShownConversation
from app.model.message import Message, MessageId, Record
from app.model.project import Beginning, beginning_of, is_of_project, unsent_beginning


class Beginnings:
    """Begins branches with the present text of the project, by the rule in `app.model.project`."""

    def __init__(self, preparation: Preparation, shown: ShownConversation, project: ProjectInUse) -> None:
        self._preparation = preparation
        self._shown = shown
        self._project = project

    @property
    def of_page(self) -> list[Message]:
        """The messages with which a conversation from the empty page would begin. They are not stored yet."""
        return unsent_beginning(self._preparation.system_prompt, self.files)

    @property
    def files(self) -> list[str]:
        """The texts of the project's files."""
        return [] if self._project.project is None else self._project.project.file_texts

    @property
    def can_renew(self) -> bool:
        """Whether the visible branch began with another text than its project has now, so that it can begin again."""
        found = beginning_of(self._shown.path)
        return found is not None and self._is_other(found)

    def is_behind(self, first: Message | None = None) -> bool:
        """Return whether the visible branch began with earlier text of its project.

        If `first` is given, the result is False unless `first` is the first question of the branch.
        """
        found = beginning_of(self._shown.path)
        if found is None or (first is not None and (found.question is None or found.question.id != first.id)):
            return False
        return is_of_project(found.system) and self._is_other(found)

    def own_files(self) -> list[str]:
        """Return the texts of the files that were attached to the first question of the visible branch."""
        found = beginning_of(self._shown.path)
        return [] if found is None else found.own_files

    def begin(self, text: str, files: Sequence[str]) -> Message:
        """Add a first question, with its files, below the project's present text; return it.

        If a version of the system prompt already has this text, it is used. Raises `StoreError`.
        """
        found = beginning_of(self._shown.path)
        assert found is not None
        assert found.system.parent_id is not None
        end = self._present_end(found.system.parent_id)
        opened = self._shown.require_open()
        if end is not None:
            return opened.add_question(end, text, files)
        record = Record(is_of_project=True, tools=() if found.system.record is None else found.system.record.tools)
        system = opened.add(found.system.parent_id, "system", self._preparation.system_prompt, record=record)
        return opened.add_question(system.id, text, files, self.files)

    def _is_other(self, found: Beginning) -> bool:
        if self._project.project is None or found.system.parent_id is None:
            return False
        return (found.system.text, found.project_files) != (self._preparation.system_prompt, self.files)

    def _present_end(self, root_id: MessageId) -> MessageId | None:
        """Return the last message of an existing beginning with the project's present text; None if there is none."""
        tree = self._shown.require_open().tree
        ends = [root_id]
        for role, text in [("system", self._preparation.system_prompt), *(("file", text) for text in self.files)]:
            below = [tree[child] for end in ends for child in tree.children(end)]
            ends = [one.id for one in below if (one.role, one.text) == (role, text) and is_of_project(one)]
        return ends[0] if ends else None
