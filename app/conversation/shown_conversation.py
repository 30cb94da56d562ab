"""The conversation that a window shows, its visible branch; views listen to it, and never touch store or worker."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence

from PySide6.QtCore import QObject, Signal

from app.conversation.preparation import Preparation
from app.costs.costs import Costs
from app.model.message import CAN_CONTINUE, Conversation, Message, MessageId
from app.model.open_conversation import OpenConversation
from app.model.titles import says_little, title_of
from app.model.token_pieces import TokenPiece
from app.model.typed_text import name_from
from app.notices import Notice
from app.program import Program


class ShownConversation(QObject):
    """What a window looks at, whoever changes it: the person, an answer that grows, another window.

    Nothing here raises `StoreError`: a notice tells.
    """

    branch_changed = Signal()
    """Another conversation, or another branch of it, is visible."""
    message_changed = Signal(int)
    """A visible message's state or record is another; its text grows by `text_appended`."""
    text_appended = Signal(int, str)
    reading = Signal(int, int, int, int)
    revealed = Signal(int)
    """A message that the person is to see now: something changed there, or they asked for it."""
    history_changed = Signal()
    """There is something else to undo or to redo."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self._store = program.store
        self._answers = program.answers
        self._notices = program.notices
        self.preparation = Preparation(program)
        """What lies ready in the open conversation, and how it asks."""
        self.costs = Costs(program.session.link, program.session, self.preparation.template_options)
        """What it would cost to go to a message of the open conversation."""
        self.preparation.asking_changed.connect(self.costs.look_at_options)
        self._open: OpenConversation | None = None
        self._is_hearing = False
        """Whether what happens now was done in another window, or is only another look at it."""
        self._answers.text_appended.connect(self.text_appended)
        self._answers.reading.connect(self.reading)
        self._answers.text_retracted.connect(self._on_text_retracted)
        self._answers.rested.connect(self.message_changed)
        self._answers.branched.connect(self._on_answer_branched)
        self._answers.ended.connect(self._on_answer_ended)
        program.conversations.changed.connect(self._on_conversations_changed)
        program.conversations.gone.connect(self._on_conversation_gone)
        program.conversations.tree_changed.connect(self._on_tree_changed)
        self.branch_changed.connect(self._tell_others)
        self.history_changed.connect(self._tell_others)

    # --- what is visible -------------------------------------------------------------------------------

    @property
    def conversation(self) -> Conversation | None:
        """The open conversation; None while an empty page waits for its first message."""
        return None if self._open is None else self._open.conversation

    @property
    def opened(self) -> OpenConversation | None:
        """All of the open conversation; to be read, never changed."""
        return self._open

    @property
    def path(self) -> list[Message]:
        """The visible branch from the system prompt down, texts as far as they have streamed."""
        path = [] if self._open is None else self._open.path
        return self._answers.all_current(path[1:] if path and path[0].role == "root" else path)

    def message(self, message_id: MessageId) -> Message:
        return self._answers.current(self._opened.message(message_id))

    def has(self, message_id: MessageId) -> bool:
        """Whether the open conversation has a message."""
        return self._open is not None and message_id in self._open

    def siblings(self, message_id: MessageId) -> Sequence[MessageId]:
        """The versions of a message, itself among them, oldest first."""
        return self._opened.siblings(message_id)

    def num_below(self, *message_ids: MessageId) -> int:
        """How many messages some siblings are, with all that stands below them."""
        return sum(len(self._opened.below(message_id)) for message_id in message_ids)

    def is_streaming(self, message_id: MessageId) -> bool:
        return self._answers.is_streaming(message_id)

    def tokens_so_far(self, message_id: MessageId) -> Sequence[TokenPiece]:
        """Return the tokens of an answer that grows, where they stand in its text; none of any other message."""
        return self._answers.tokens_so_far(message_id)

    @property
    def streaming_message(self) -> Message | None:
        """The topmost visible message that an answer streams into."""
        if self._open is None or not self._answers.are_any_asked:
            return None
        return next(
            (self._answers.current(message) for message in self._open.path if self.is_streaming(message.id)), None
        )

    def can_continue(self, message: Message) -> bool:
        is_answer = message.role == "assistant" and message.state in CAN_CONTINUE and bool(message.text)
        return is_answer and not self.is_streaming(message.id)

    # --- looking elsewhere -----------------------------------------------------------------------------

    def new_conversation(self) -> None:
        """Show an empty page; the conversation comes into being with its first message."""
        self._show(None)

    def open_conversation(self, conversation_id: int) -> None:
        """Show a conversation on the branch where it was left."""
        with self._notices.report_store_errors():
            # Where no other window has it open, it is read anew.
            self._open = None
            try:
                opened = self.program.conversations.open(conversation_id)
            except KeyError:
                self.new_conversation()
            else:
                self._show(opened)
                self._tell_of_troubles()

    def go_to(self, message_id: MessageId) -> None:
        """Show the branch of the open conversation that a message lies on, and the message."""
        with self._notices.report_store_errors():
            if message_id in self._opened:
                self._opened.go_to(message_id)
                self.branch_changed.emit()
                self.revealed.emit(message_id)

    def choose_sibling(self, message_id: MessageId, step: int) -> MessageId:
        """Show the version that is `step` further on; return the id of the one shown (the same one at either end)."""
        siblings = self.siblings(message_id)
        index = min(max(siblings.index(message_id) + step, 0), len(siblings) - 1)
        chosen = siblings[index]
        if chosen != message_id:
            with self._notices.report_store_errors():
                self._opened.choose(chosen)
                self.branch_changed.emit()
                return chosen
        return message_id

    # --- inside ----------------------------------------------------------------------------------------

    @property
    def _opened(self) -> OpenConversation:
        if self._open is None:
            raise LookupError("No conversation is open")
        return self._open

    def _show(self, conversation: OpenConversation | None) -> None:
        self._open = conversation
        conversation_id = None if conversation is None else conversation.conversation.id
        self.preparation.show(conversation_id)
        self.program.preferences.change(last_conversation=conversation_id)
        with self._hearing():
            self.branch_changed.emit()
            self.history_changed.emit()

    @contextlib.contextmanager
    def _hearing(self) -> Generator[None]:
        self._is_hearing = True
        try:
            yield
        finally:
            self._is_hearing = False

    def _tell_others(self) -> None:
        if self._open is not None and not self._is_hearing:
            self.program.conversations.tree_changed.emit(self._open.conversation.id, self)

    def _on_tree_changed(self, conversation_id: int, by: object) -> None:
        """Another window changed a tree; windows that show the same one share it."""
        if by is not self and self._open is not None and self._open.conversation.id == conversation_id:
            with self._hearing():
                self.branch_changed.emit()
                self.history_changed.emit()

    @contextlib.contextmanager
    def _step(self, name: str) -> Generator[None]:
        """What is done meanwhile is undone as one."""
        with self._opened.step(name):
            yield
        self.history_changed.emit()

    def _announce_growth(self) -> None:
        self.branch_changed.emit()
        # The conversation was used now, so it is the first in the list.
        self.program.conversations.changed.emit()

    def _tell_of_troubles(self) -> None:
        troubles = self._store.take_troubles()
        if troubles:
            more = f" So it is with {len(troubles) - 1} more." if len(troubles) > 1 else ""
            self._notices.post(Notice(f"{troubles[0]}{more}", "warning"))

    def _on_answer_ended(self, message: Message) -> None:
        if self._open is not None and message.id in self._open:
            self._open.put(message)
            self._name_after(message)
            self.message_changed.emit(message.id)

    def _first_name(self, question: str) -> str:
        return title_of(question) if self.program.settings.names_conversations else name_from(question)

    def _name_after(self, answer: Message) -> None:
        """Where the first question says little of what this is about, call the conversation by its answer."""
        path = self.path
        if len(path) < 3 or path[2].id != answer.id or not self.program.settings.names_conversations:
            return
        opened, question = self._opened.conversation, path[1].text
        # One that a person has named keeps its name.
        if says_little(question) and opened.name == title_of(question):
            self.program.conversations.rename(opened.id, title_of(question, answer.text))

    def _on_text_retracted(self, message_id: MessageId) -> None:
        if self._open is not None and message_id in self._open:
            self.message_changed.emit(message_id)

    def _on_answer_branched(self, conversation_id: int, beside_id: MessageId, message: Message) -> None:
        self.program.conversations.history(conversation_id).add_beside(beside_id, message.id)
        if self._open is not None and self._open.conversation.id == conversation_id:
            self._open.put(message)
            self.branch_changed.emit()

    def _on_conversations_changed(self) -> None:
        if self._open is not None:
            with self._notices.report_store_errors():
                self._open.read_name()

    def _on_conversation_gone(self, conversation_id: int) -> None:
        if self._open is not None and self._open.conversation.id == conversation_id:
            self.new_conversation()
