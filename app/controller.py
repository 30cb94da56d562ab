"""What a person can do with conversations; views call it and listen to it, and never touch store or worker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.model.exports.markdown import to_markdown
from app.model.message import CAN_CONTINUE, Conversation, Message, MessageId, Record, without_tokens
from app.model.open_conversation import OpenConversation
from app.model.settings import write_atomically
from app.model.typed_text import clean, name_from
from app.notices import Notice
from app.program import Program


class Controller(QObject):
    """The conversation that a window shows, its visible branch, and what a person does there.

    Nothing here raises `StoreError`: a notice tells.
    """

    branch_changed = Signal()
    """Another conversation, or another branch of it, is visible."""
    message_changed = Signal(int)
    """A visible message's state or record is another; its text grows by `text_appended`."""
    text_appended = Signal(int, str)
    reading = Signal(int, int, int, int)
    unsent = Signal(str)
    """Text that could not be stored, to be given back to the person who wrote it; a notice says why."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self._store = program.store
        self._answers = program.answers
        self._notices = program.notices
        self.system_prompt = ""
        """Of the conversation that the next message begins, while none is open."""
        self._open: OpenConversation | None = None
        self._answers.text_appended.connect(self.text_appended)
        self._answers.reading.connect(self.reading)
        self._answers.ended.connect(self._on_answer_ended)
        program.conversations.changed.connect(self._on_conversations_changed)
        program.conversations.gone.connect(self._on_conversation_gone)

    # --- what is visible -----------------------------------------------------------------------------------

    @property
    def conversation(self) -> Conversation | None:
        """The open conversation; None while an empty page waits for its first message."""
        return None if self._open is None else self._open.conversation

    @property
    def path(self) -> list[Message]:
        """The visible branch from the system prompt down, texts as far as they have streamed."""
        path = [] if self._open is None else self._open.path
        return [self._answers.current(message) for message in path if message.role != "root"]

    def message(self, message_id: MessageId) -> Message:
        return self._answers.current(self._opened.message(message_id))

    def siblings(self, message_id: MessageId) -> Sequence[MessageId]:
        """The versions of a message, itself among them, oldest first."""
        return self._opened.siblings(message_id)

    def is_streaming(self, message_id: MessageId) -> bool:
        return self._answers.is_streaming(message_id)

    @property
    def streaming_message(self) -> Message | None:
        """The topmost visible message that an answer streams into."""
        path = [] if self._open is None else self._open.path
        return next((self._answers.current(message) for message in path if self.is_streaming(message.id)), None)

    def can_continue(self, message: Message) -> bool:
        is_answer = message.role == "assistant" and message.state in CAN_CONTINUE and bool(message.text)
        return is_answer and not self.is_streaming(message.id)

    # --- conversations -------------------------------------------------------------------------------------

    def new_conversation(self) -> None:
        """Show an empty page; the conversation comes into being with its first message."""
        self.system_prompt = ""
        self._show(None)

    def open_conversation(self, conversation_id: int) -> None:
        """Show a conversation on the branch where it was left."""
        with self._notices.telling():
            try:
                conversation = self._store.conversation(conversation_id)
            except KeyError:
                self.new_conversation()
            else:
                self._show(OpenConversation(self._store, conversation))
                self._tell_of_troubles()

    def undo_delete(self) -> None:
        """Take back the conversation that went last, and show it."""
        conversation_id = self.program.conversations.undo_delete()
        if conversation_id is not None:
            self.open_conversation(conversation_id)

    def fork(self, message_id: MessageId) -> None:
        """Open a new conversation that shares everything up to this message."""
        with self._notices.telling():
            conversation = self._store.fork_conversation(f"{self._opened.conversation.name} (fork)", message_id)
            self.program.conversations.changed.emit()
            self.open_conversation(conversation.id)

    # --- messages ------------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Add a question at the end of the visible branch and ask the model."""
        text = clean(text)
        if not text.strip():
            return
        with self._notices.telling(lambda: self.unsent.emit(text)):
            if self._open is None:
                conversation, question = self._store.create_conversation(
                    name_from(text), clean(self.system_prompt), text
                )
                self._open = OpenConversation(self._store, conversation)
                self.program.preferences.change(last_conversation=conversation.id)
            else:
                question = self._open.add(self._open.leaf.id, "user", text)
            self._ask(question.id)

    def edit(self, message_id: MessageId, text: str) -> None:
        """Add a sibling with another text; the old message stays, with all below it.

        A question is asked anew; below another system prompt the first question is.
        """
        text = clean(text)
        message = self.message(message_id)
        if text == message.text or message.parent_id is None or (not text.strip() and message.role != "system"):
            return
        opened = self._opened
        below = [lower for lower in opened.path if lower.role == "user"]
        with self._notices.telling(lambda: self.unsent.emit(text)):
            added = opened.add(message.parent_id, message.role, text)
            if message.role == "system" and below:
                added = opened.add(added.id, "user", below[0].text)
            if added.role == "user":
                self._ask(added.id)
            else:
                self._announce_growth()

    def regenerate(self, message_id: MessageId) -> None:
        """Ask for another answer beside this one; to a question, for one more answer to it."""
        message = self._opened.message(message_id)
        if message.role == "user":
            self._ask(message.id)
        elif message.role == "assistant" and message.parent_id is not None:
            self._ask(message.parent_id)

    def continue_answer(self, message_id: MessageId) -> None:
        """Let a stopped or cut answer go on where it ended; beside itself, where the conversation went on from it."""
        message = self.message(message_id)
        if not self.can_continue(message):
            return
        before = message.record or Record()
        # Another model has other ids.
        known = before if before.model == self.program.session.name else without_tokens(before)
        record = self.program.session.signed(
            msgspec.structs.replace(
                known,
                error=None,
                ended_ms=0,
                sampling=self.program.settings.sampling,
                overflow=self.program.settings.overflow,
            )
        )
        opened = self._opened
        with self._notices.telling():
            if opened.is_leaf(message.id):
                message = msgspec.structs.replace(message, state="streaming", record=record)
                self._store.update(message)
                opened.put(message)
            else:
                # What stands below it was said after its old text: that one stays, too.
                assert message.parent_id is not None
                message = opened.add(message.parent_id, "assistant", message.text, state="streaming", record=record)
            self._answers.ask(message, opened.lineage(message.id)[:-1], opened.conversation.id)
            self._announce_growth()

    def choose_sibling(self, message_id: MessageId, step: int) -> MessageId:
        """Show the version that is `step` further on; return the id of the one shown (the same one at either end)."""
        siblings = self.siblings(message_id)
        index = min(max(siblings.index(message_id) + step, 0), len(siblings) - 1)
        chosen = siblings[index]
        if chosen != message_id:
            with self._notices.telling():
                self._opened.choose(chosen)
                self.branch_changed.emit()
                return chosen
        return message_id

    def stop(self) -> None:
        """End the answer that streams into the visible branch."""
        message = self.streaming_message
        if message is not None:
            self._answers.stop(message.id)

    def markdown(self) -> str:
        """The visible branch as a Markdown document."""
        return to_markdown(self.conversation.name if self.conversation else "", self.path)

    def export_markdown(self, file: Path) -> bool:
        """Write the visible branch as a Markdown file; return whether it was written, and say so where not."""
        try:
            write_atomically(file, self.markdown().encode())
        except OSError as error:
            self._notices.tell(
                Notice(
                    f"{file} could not be written ({error.strerror}). Nothing was changed; choose another folder.",
                    "danger",
                )
            )
            return False
        return True

    # --- inside --------------------------------------------------------------------------------------------

    @property
    def _opened(self) -> OpenConversation:
        if self._open is None:
            raise LookupError("No conversation is open")
        return self._open

    def _show(self, conversation: OpenConversation | None) -> None:
        self._open = conversation
        self.program.preferences.change(
            last_conversation=None if conversation is None else conversation.conversation.id
        )
        self.branch_changed.emit()

    def _ask(self, question_id: MessageId) -> None:
        """Add an answer below a question and let the model write it."""
        opened = self._opened
        settings = self.program.settings
        record = self.program.session.signed(Record(sampling=settings.sampling, overflow=settings.overflow))
        with self._notices.telling():
            answer = opened.add(question_id, "assistant", "", state="streaming", record=record)
            self._answers.ask(answer, opened.lineage(question_id), opened.conversation.id)
        self._announce_growth()

    def _announce_growth(self) -> None:
        self.branch_changed.emit()
        # The conversation was used now, so it is the first in the list.
        self.program.conversations.changed.emit()

    def _tell_of_troubles(self) -> None:
        troubles = self._store.take_troubles()
        if troubles:
            more = f" So it is with {len(troubles) - 1} more." if len(troubles) > 1 else ""
            self._notices.tell(Notice(f"{troubles[0]}{more}", "warning"))

    def _on_answer_ended(self, message: Message) -> None:
        if self._open is not None and message.id in self._open:
            self._open.put(message)
            self.message_changed.emit(message.id)

    def _on_conversations_changed(self) -> None:
        if self._open is not None:
            with self._notices.telling():
                self._open.read_name()

    def _on_conversation_gone(self, conversation_id: int) -> None:
        if self._open is not None and self._open.conversation.id == conversation_id:
            self.new_conversation()
