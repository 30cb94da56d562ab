"""The conversation that a window shows: its visible branch, and signals for every change to it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence

from msgspec import structs
from PySide6.QtCore import QObject, Signal

from app.answers.sessions import GUIDE, ModelInUse
from app.conversation.preparation import Preparation
from app.conversation.project_in_use import ProjectInUse
from app.model.database import StoreError
from app.model.message import Conversation, Message, MessageId
from app.model.open_conversation import OpenConversation
from app.model.titles import says_little, title_of
from app.model.token_pieces import TokenPiece
from app.notices import Notice
from app.program import Program
from worker.sentence import Sentence


class ShownConversation(QObject):
    """Reads and navigates the conversation of one window. Owned by the controller.

    The branch follows changes by the user, by streaming answers and by other windows. No method raises `StoreError`:
    problems are reported as notices.
    """

    branch_changed = Signal()
    """Another conversation, or another branch of it, is visible."""
    message_changed = Signal(int)
    """The state or the record of a visible message changed. Growing text is reported by `text_appended`."""
    text_appended = Signal(int, str)
    reading = Signal(int, object)
    """The id of a message whose prompt is being processed, and a `Reading`."""
    revealed = Signal(int)
    """The id of a message that views should scroll to, because it changed or the user went to it."""
    history_changed = Signal()
    """The steps to undo or redo changed."""

    def __init__(
        self, program: Program, preparation: Preparation, model: ModelInUse, project: ProjectInUse, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._program = program
        self._model = model
        self._project = project
        self._preparation = preparation
        self._answers = program.answers
        self._notices = program.notices
        self._open: OpenConversation | None = None
        self._is_echo = False
        """Whether the change being announced came from another window, or only changed which branch is shown here."""
        self._answers.text_appended.connect(self.text_appended)
        self._answers.reading.connect(self.reading)
        self._answers.text_retracted.connect(self._on_text_retracted)
        self._answers.stopped_growing.connect(self.message_changed)
        self._answers.branched.connect(self._on_answer_branched)
        self._answers.ended.connect(self._on_answer_ended)
        self._answers.saving.changed.connect(self._on_saved_changed)
        program.conversations.changed.connect(self._on_conversations_changed)
        program.conversations.gone.connect(self._on_conversation_gone)
        program.conversations.tree_changed.connect(self._on_tree_changed)
        program.conversations.model_changed.connect(self._on_model_changed)
        self.branch_changed.connect(self._notify_other_windows)
        self.history_changed.connect(self._notify_other_windows)

    # --- reading ---------------------------------------------------------------------------------------

    @property
    def conversation(self) -> Conversation | None:
        """The open conversation; None on an empty page."""
        return None if self._open is None else self._open.conversation

    @property
    def opened(self) -> OpenConversation | None:
        """The whole open conversation. Views must not change it."""
        return self._open

    def require_open(self) -> OpenConversation:
        """Return the open conversation. Raises `LookupError` on an empty page."""
        if self._open is None:
            raise LookupError("No conversation is open")
        return self._open

    @property
    def path(self) -> list[Message]:
        """The visible branch from the system prompt down, with the text that has streamed so far."""
        path = [] if self._open is None else self._open.path
        return self._answers.all_current(path[1:] if path and path[0].role == "root" else path)

    def message(self, message_id: MessageId) -> Message:
        return self._answers.current(self.require_open().message(message_id))

    def has(self, message_id: MessageId) -> bool:
        """Whether the open conversation has a message."""
        return self._open is not None and message_id in self._open

    def siblings(self, message_id: MessageId) -> Sequence[MessageId]:
        """Return all versions of a message, including itself, oldest first."""
        return self.require_open().siblings(message_id)

    def parts(self, message_id: MessageId) -> list[Message]:
        """Return all parts of the message to which a part belongs; most messages are their own only part."""
        return [self._answers.current(part) for part in self.require_open().parts(message_id)]

    def first_part(self, message_id: MessageId) -> MessageId:
        """Return the first part of the message to which a part belongs. The message's versions are its siblings."""
        return self.require_open().tree.first_part(message_id)

    def whole(self, message_id: MessageId) -> Message:
        """Return the message to which a part belongs: its first part, with the texts and the role of all of them."""
        parts = self.parts(message_id)
        texts = [part for part in parts if part.role not in {"note", "file"}]
        if len(parts) == 1 or not texts:
            return parts[0]
        text = "\n\n".join(part.text for part in texts)
        return structs.replace(parts[0], role=texts[-1].role, text=text, record=texts[-1].record)

    def subtree_size(self, *message_ids: MessageId) -> int:
        """Return the number of messages in the subtrees of some siblings, including the siblings."""
        opened = self.require_open()
        return sum(opened.num_messages(opened.below(message_id)) for message_id in message_ids)

    def is_streaming(self, message_id: MessageId) -> bool:
        return self._answers.is_streaming(message_id)

    def is_without_new_text(self, message_id: MessageId) -> bool:
        """Return whether an answer was requested and has no new text yet."""
        return self._answers.is_without_new_text(message_id)

    def is_queued(self, message_id: MessageId) -> bool:
        """Return whether an answer has not been sent to the model yet: it waits for another answer or for its model."""
        return self._answers.is_waiting(message_id)

    def is_saved(self, message_id: MessageId) -> bool:
        """Return whether the store has all text of a message."""
        return self._answers.saving.is_saved(message_id)

    def tokens_so_far(self, message_id: MessageId) -> Sequence[TokenPiece]:
        """Return the tokens of a streaming answer with their positions in its text; empty for any other message."""
        return self._answers.tokens_so_far(message_id)

    @property
    def streaming_message(self) -> Message | None:
        """The topmost visible message that is streaming; None if none is."""
        if self._open is None or not self._answers.has_pending:
            return None
        return next(
            (self._answers.current(message) for message in self._open.path if self.is_streaming(message.id)), None
        )

    def can_continue(self, message: Message) -> bool:
        is_answer = message.role == "assistant" and bool(message.text.strip())
        is_answer = is_answer and self.require_open().parts(message.id)[-1].id == message.id
        return is_answer and not self.is_streaming(message.id) and self._model.can("continue")

    def waits_for(self, message_id: MessageId) -> str | None:
        """Return the name of the conversation whose answer comes before this answer; None if there is none."""
        conversation_id = self._answers.waits_for(message_id)
        with contextlib.suppress(KeyError, StoreError):
            return None if conversation_id is None else self._program.store.conversations.get(conversation_id).name
        return None

    # --- navigating ------------------------------------------------------------------------------------

    def new_conversation(self, model: str | None = None, folder: str = "") -> None:
        """Show an empty page. Its conversation is created with the first message, in this folder.

        Its model is `model`; None means the model of the project, else the model for new conversations.
        """
        self._show(None, folder)
        project = self._project.project
        self._model.show(model if model is not None or project is None else project.model or None)

    def choose_model(self, name: str) -> None:
        """Use this model in the conversation, or in the conversation that begins on the empty page."""
        if self._open is None:
            self._model.show(name)
        else:
            self._program.conversations.set_model(self._open.conversation.id, name)

    def begin(self, conversation_id: int) -> OpenConversation:
        """Show the conversation that was just created on the empty page.

        The caller must then call `announce_growth`.
        """
        self._open = self._program.conversations.open(conversation_id)
        self._preparation.begin(conversation_id)
        self._model.show(self._model_name)
        self._program.preferences.change(last_conversation=conversation_id)
        return self._open

    def open_conversation(self, conversation_id: int) -> None:
        """Show a conversation on the branch that was last visible."""
        with self._notices.report_store_errors():
            # Unless another window has it open, it is read from the store again.
            self._open = None
            try:
                opened = self._program.conversations.open(conversation_id)
            except KeyError:
                self.new_conversation()
            else:
                self._show(opened)
                self._report_problems()

    def go_to(self, message_id: MessageId) -> None:
        """Show the branch of the open conversation that contains a message, and bring the message into sight."""
        opened = self.require_open()
        with self._notices.report_store_errors():
            if message_id in opened:
                opened.go_to(message_id)
                self.branch_changed.emit()
                self.revealed.emit(message_id)

    def choose_sibling(self, message_id: MessageId, step: int) -> MessageId:
        """Show the version that is `step` places after this one, but not beyond the first or last; return its id."""
        siblings = self.siblings(message_id)
        index = min(max(siblings.index(message_id) + step, 0), len(siblings) - 1)
        chosen = siblings[index]
        if chosen != message_id:
            with self._notices.report_store_errors():
                self.require_open().choose(chosen)
                self.branch_changed.emit()
                return chosen
        return message_id

    # --- changing --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def step(self, name: str) -> Generator[None]:
        """Record all changes in the `with` block as one step to undo."""
        with self.require_open().step(name):
            yield
        self.history_changed.emit()

    def announce_growth(self) -> None:
        """Announce new or changed messages."""
        self.branch_changed.emit()
        # The conversation is now the last used one and moves to the top of the list.
        self._program.conversations.changed.emit()

    # --- inside ----------------------------------------------------------------------------------------

    def _show(self, conversation: OpenConversation | None, folder: str = "") -> None:
        self._open = conversation
        self._project.show(folder if conversation is None else conversation.conversation.folder)
        conversation_id = None if conversation is None else conversation.conversation.id
        self._model.show(self._model_name)
        self._preparation.show(conversation_id)
        self._program.preferences.change(last_conversation=conversation_id)
        self._announce_here()

    @property
    def _model_name(self) -> str | None:
        """The model of the open conversation: the chosen model, else the model of its last answer if it is known."""
        if self._open is None:
            return None
        program = self._program
        name = program.conversations.model(self._open.conversation.id)
        if name:
            return name
        known = {GUIDE, program.session.name, *program.settings.recent_models}
        written_by = (message.record.model for message in reversed(self._open.path) if message.record is not None)
        return next((name for name in written_by if name in known), None)

    def _on_model_changed(self, conversation_id: int) -> None:
        if self._open is not None and self._open.conversation.id == conversation_id:
            self._model.show(self._model_name)

    def _announce_here(self) -> None:
        self._is_echo = True
        try:
            self.branch_changed.emit()
            self.history_changed.emit()
        finally:
            self._is_echo = False

    def _notify_other_windows(self) -> None:
        if self._open is not None and not self._is_echo:
            self._program.conversations.tree_changed.emit(self._open.conversation.id, self)

    def _on_tree_changed(self, conversation_id: int, by: object) -> None:
        """Show the changes that another window made.

        Windows with the same conversation share its `OpenConversation`.
        """
        if by is not self and self._open is not None and self._open.conversation.id == conversation_id:
            self._announce_here()

    def _report_problems(self) -> None:
        problems = self._program.store.messages.take_problems()
        if problems:
            text, num_more = problems[0], len(problems) - 1
            if num_more:
                text = Sentence(
                    "{problem} Other messages with similar problems: {num_more}.", problem=text, num_more=num_more
                )
            self._notices.post(Notice(text, "warning"))

    def _on_answer_ended(self, message: Message) -> None:
        if self._open is not None and message.id in self._open:
            self._open.put(message)
            self._name_after(message)
            self.message_changed.emit(message.id)

    def _name_after(self, answer: Message) -> None:
        """Name the conversation after its first answer if the first question says little about its subject."""
        path = self.path
        if len(path) < 3 or path[2].id != answer.id or not self._program.settings.names_conversations:
            return
        conversation, question = self.require_open().conversation, path[1].text
        # A name that the user gave stays.
        if says_little(question) and conversation.name == title_of(question):
            self._program.conversations.rename(conversation.id, title_of(question, answer.text))

    def _on_text_retracted(self, message_id: MessageId) -> None:
        if self._open is not None and message_id in self._open:
            self.message_changed.emit(message_id)

    def _on_saved_changed(self, message_id: MessageId) -> None:
        if self._open is not None and message_id in self._open:
            self.message_changed.emit(message_id)

    def _on_answer_branched(self, conversation_id: int, beside_id: MessageId, message: Message) -> None:
        self._program.conversations.history(conversation_id).add_beside(beside_id, message.id)
        if self._open is not None and self._open.conversation.id == conversation_id:
            self._open.put(message)
            self.branch_changed.emit()

    def _on_conversations_changed(self) -> None:
        if self._open is not None:
            with self._notices.report_store_errors():
                self._open.read_name()
            self._project.move(self._open.conversation.folder)

    def _on_conversation_gone(self, conversation_id: int) -> None:
        if self._open is not None and self._open.conversation.id == conversation_id:
            self.new_conversation()
