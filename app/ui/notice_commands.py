"""What is told in the banner: what comes there, when it goes again, and what its button does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.notices import Notice

if TYPE_CHECKING:
    from app.conversation.controller import Controller
    from app.model.message import MessageId
    from app.ui.banner import Banner
    from app.ui.composer.composer import Composer
    from app.ui.message.message_commands import MessageCommands
    from app.ui.program_commands import ProgramCommands
    from app.ui.transcript.transcript import Transcript
    from app.ui.tree.tree_commands import TreeCommands


class NoticeCommands(QObject):
    """Brings what the program and the window's parts have to tell into one banner, one at a time."""

    def __init__(
        self,
        controller: Controller,
        banner: Banner,
        composer: Composer,
        transcript: Transcript,
        commands: tuple[MessageCommands, TreeCommands, ProgramCommands],
    ) -> None:
        super().__init__(banner)
        self._controller = controller
        self._banner = banner
        self._message_commands, tree_commands, self._program_commands = commands
        controller.program.notices.noticed.connect(self._on_notice)
        for part in (composer, transcript, tree_commands):
            part.refused.connect(self._on_refused)
        transcript.edit_given_up.connect(self._on_edit_given_up)
        transcript.edit_begun.connect(self._on_edit_begun)
        controller.branch_changed.connect(self._forget_edits_elsewhere)
        controller.history_changed.connect(partial(banner.withdraw, "undo"))
        controller.program.conversations.changed.connect(self._forget_what_is_back)
        banner.action_asked.connect(self._act)

    def _on_notice(self, notice: Notice) -> None:
        conversation = self._controller.conversation
        if notice.is_for(None if conversation is None else conversation.id):
            self._banner.show_notice(notice)

    def _on_refused(self, why: str) -> None:
        self._banner.show_notice(Notice(why, "warning"))

    def _on_edit_given_up(self, message_id: MessageId) -> None:
        why = self.tr("What you wrote was set aside. Edit the message to go on with it.")
        self._banner.show_notice(Notice(why, action="edit_again", target=str(message_id)))

    def _on_edit_begun(self, _editor: object) -> None:
        self._banner.withdraw("edit_again")

    def _forget_edits_elsewhere(self) -> None:
        given_up = self._banner.target_of("edit_again")
        if given_up and not self._controller.has(int(given_up)):
            self._banner.withdraw("edit_again")

    def _forget_what_is_back(self) -> None:
        archived = self._banner.target_of("undo_archive")
        listed = self._controller.program.conversations.all if archived else []
        if archived and not any(str(one.id) == archived and one.archived_ms is not None for one in listed):
            self._banner.withdraw("undo_archive")

    def _act(self, name: str, target: str) -> None:
        match name:
            case "undo":
                self._controller.undo()
            case "undo_delete":
                self._controller.undo_delete()
            case "undo_archive":
                self._controller.program.conversations.archive(int(target), is_archived=False)
            case "load_guide":
                self._controller.program.load_model("guide")
            case "open_settings":
                self._program_commands.show_memory_settings()
            case "edit_again":
                self._message_commands.edit(int(target))
            case _:  # what has to do with files: the transfer's
                pass
