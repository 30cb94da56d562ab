"""What a person can do with conversations; views call it and listen to it, and never touch store or worker."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from PySide6.QtCore import QObject, Signal

from app.answers import Answers
from app.model.markdown_export import to_markdown
from app.model.message import CAN_CONTINUE, Conversation, Message, MessageId, Record, Sampling
from app.model.settings import MAX_RECENT_MODELS, Settings, save_settings, write_atomically
from app.model.store import Store
from app.model.tree import Tree
from app.model_session import ModelSession

_NAME_LENGTH = 48


@dataclass(frozen=True)
class Notice:
    """Something that concerns the whole program: what happened, what was kept, what to do."""

    text: str
    kind: Literal["information", "warning", "danger"] = "information"
    action: Literal["", "undo_delete", "load_guide"] = ""


class Controller(QObject):
    """The open conversation, its visible branch, and everything that changes them."""

    conversations_changed = Signal()
    branch_changed = Signal()
    """Another conversation, or another branch of it, is visible."""
    message_changed = Signal(int)
    """A visible message's state or record is another; its text grows by `text_appended`."""
    text_appended = Signal(int, str)
    reading = Signal(int, int, int, int)
    settings_changed = Signal()
    noticed = Signal(object)
    """A `Notice`."""

    def __init__(
        self, store: Store, answers: Answers, session: ModelSession, settings: Settings, settings_path: Path
    ) -> None:
        super().__init__()
        self._store = store
        self._answers = answers
        self.session = session
        self.settings = settings
        self._settings_path = settings_path
        self.conversation: Conversation | None = None
        self.system_prompt = ""
        """Of the conversation that the next message begins, while none is open."""
        self._tree = Tree((), 0)
        self._choices: dict[MessageId, MessageId | None] = {}
        self._trashed_id: int | None = None
        answers.text_appended.connect(self.text_appended)
        answers.reading.connect(self.reading)
        answers.ended.connect(self._on_answer_ended)
        session.worker_died.connect(self._on_worker_died)
        session.load_failed.connect(self._on_load_failed)

    # --- what is visible -----------------------------------------------------------------------------------

    @property
    def conversations(self) -> list[Conversation]:
        """All conversations, the last used first."""
        return self._store.conversations()

    @property
    def path(self) -> list[Message]:
        """The visible branch from the system prompt down, texts as far as they have streamed."""
        if self.conversation is None:
            return []
        path = self._tree.path(self._choices)
        return [self._answers.current(message) for message in path if message.role != "root"]

    def message(self, message_id: MessageId) -> Message:
        return self._answers.current(self._tree[message_id])

    def siblings(self, message_id: MessageId) -> Sequence[MessageId]:
        """The versions of a message, itself among them, oldest first."""
        return self._tree.siblings(message_id)

    def is_streaming(self, message_id: MessageId) -> bool:
        return self._answers.is_streaming(message_id)

    @property
    def streaming_message(self) -> Message | None:
        """The visible message that an answer streams into."""
        return next((message for message in self.path if self.is_streaming(message.id)), None)

    def can_continue(self, message: Message) -> bool:
        is_answer = message.role == "assistant" and message.state in CAN_CONTINUE and bool(message.text)
        return is_answer and not self.is_streaming(message.id)

    # --- conversations -------------------------------------------------------------------------------------

    def new_conversation(self) -> None:
        """Show an empty page; the conversation comes into being with its first message."""
        self.conversation = None
        self.system_prompt = ""
        self._tree, self._choices = Tree((), 0), {}
        self._remember_open(None)
        self.branch_changed.emit()

    def open_conversation(self, conversation_id: int) -> None:
        """Show a conversation on the branch where it was left."""
        try:
            conversation = self._store.conversation(conversation_id)
        except KeyError:
            self.new_conversation()
            return
        self.conversation = conversation
        self._tree = Tree(self._store.messages(conversation.id), conversation.root_id)
        self._choices = self._store.choices(conversation.id)
        self._remember_open(conversation.id)
        self.branch_changed.emit()

    def rename(self, conversation_id: int, name: str) -> None:
        name = _clean(name).strip()
        if name:
            self._store.rename(conversation_id, name)
            if self.conversation is not None and self.conversation.id == conversation_id:
                self.conversation = self._store.conversation(conversation_id)
            self.conversations_changed.emit()

    def delete_conversation(self, conversation_id: int) -> None:
        """Throw a conversation away; `undo_delete` takes it back until the next one goes or the program ends."""
        name = self._store.conversation(conversation_id).name
        self._store.trash(conversation_id)
        self._trashed_id = conversation_id
        if self.conversation is not None and self.conversation.id == conversation_id:
            for message in self.path:
                self._answers.stop(message.id)
            self.new_conversation()
        self.conversations_changed.emit()
        self.noticed.emit(Notice(f"“{name}” was deleted.", action="undo_delete"))

    def undo_delete(self) -> None:
        if self._trashed_id is not None:
            self._store.restore(self._trashed_id)
            self.conversations_changed.emit()
            self.open_conversation(self._trashed_id)
            self._trashed_id = None

    # --- messages ------------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Add a question at the end of the visible branch and ask the model."""
        text = _clean(text)
        if not text.strip():
            return
        if self.conversation is None:
            conversation, question = self._store.create_conversation(_name(text), self.system_prompt, text)
            self.conversation = conversation
            self._tree = Tree(self._store.messages(conversation.id), conversation.root_id)
            self._choices = {}
            self._remember_open(conversation.id)
        else:
            leaf = self._tree.path(self._choices)[-1]
            question = self._add(self._store.add(leaf.id, "user", text))
            self._store.touch(self.conversation.id)
        self._ask(question.id)
        self.conversations_changed.emit()

    def edit(self, message_id: MessageId, text: str) -> None:
        """Add a sibling with another text; the old message stays, with all below it.

        A question is asked anew; below another system prompt the first question is.
        """
        text = _clean(text)
        message = self._tree[message_id]
        if text == message.text or (not text.strip() and message.role != "system"):
            return
        assert message.parent_id is not None
        self._widen_to(message.parent_id)
        below = [lower for lower in self._tree.path(self._choices) if lower.role == "user"]
        sibling = self._add(self._store.add(message.parent_id, message.role, text))
        if message.role == "system" and below:
            sibling = self._add(self._store.add(sibling.id, "user", below[0].text))
        if sibling.role == "user":
            self._ask(sibling.id)
        else:
            self.branch_changed.emit()

    def regenerate(self, message_id: MessageId) -> None:
        """Ask for another answer beside this one; to a question, for one more answer to it."""
        message = self._tree[message_id]
        if message.role == "user":
            self._widen_to(message.id)
            self._ask(message.id)
        elif message.role == "assistant" and message.parent_id is not None:
            self._widen_to(message.parent_id)
            self._ask(message.parent_id)

    def continue_answer(self, message_id: MessageId) -> None:
        """Let a stopped or cut answer go on where it ended."""
        message = self._tree[message_id]
        if not self.can_continue(message):
            return
        record = msgspec.structs.replace(
            message.record or Record(), error=None, sampling=self.settings.sampling, model=self.session.name
        )
        message = msgspec.structs.replace(message, state="streaming", record=record)
        self._store.update(message, durable=True)
        self._tree.put(message)
        prompt = [above for above in self._tree.lineage(message_id) if above.id != message_id]
        self._answers.ask(message, prompt)
        self.message_changed.emit(message_id)

    def fork(self, message_id: MessageId) -> None:
        """Open a new conversation that shares everything up to this message."""
        assert self.conversation is not None
        conversation = self._store.fork_conversation(f"{self.conversation.name} (fork)", message_id)
        self.conversations_changed.emit()
        self.open_conversation(conversation.id)

    def choose_sibling(self, message_id: MessageId, step: int) -> MessageId:
        """Show the version that is `step` further on; return its id (the same one at either end)."""
        siblings = self.siblings(message_id)
        index = min(max(siblings.index(message_id) + step, 0), len(siblings) - 1)
        chosen = siblings[index]
        parent_id = self._tree[message_id].parent_id
        if chosen != message_id and parent_id is not None:
            self._choose(parent_id, chosen)
            self.branch_changed.emit()
        return chosen

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
            self.noticed.emit(
                Notice(
                    f"{file} could not be written ({error.strerror}). Nothing was changed; choose another folder.",
                    "danger",
                )
            )
            return False
        return True

    # --- model and settings --------------------------------------------------------------------------------

    def load_model(self, name: str) -> None:
        """Load another model; an answer that streams is stopped, what is there of it stays."""
        self.stop()
        recent = (name, *(other for other in self.settings.recent_models if other != name))
        if name != "guide":
            self._set(recent_models=recent[:MAX_RECENT_MODELS])
        self._set(model=name)
        self.session.load(name)

    def set_sampling(self, sampling: Sampling) -> None:
        self._set(sampling=sampling)

    def set_theme(self, theme: Literal["system", "light", "dark"]) -> None:
        self._set(theme=theme)

    def set_sidebar_visible(self, visible: bool) -> None:
        self._set(sidebar_visible=visible)

    # --- inside --------------------------------------------------------------------------------------------

    def _add(self, message: Message) -> Message:
        """Take in a message that the store has just got, and choose it."""
        self._tree.put(message)
        if message.parent_id is not None:
            self._choose(message.parent_id, message.id)
        return message

    def _ask(self, question_id: MessageId) -> None:
        """Add an answer below a question and let the model write it."""
        record = Record(model=self.session.name, sampling=self.settings.sampling)
        answer = self._add(self._store.add(question_id, "assistant", "", state="streaming", record=record))
        self._answers.ask(answer, self._tree.lineage(question_id))
        self.branch_changed.emit()

    def _choose(self, parent_id: MessageId, child_id: MessageId) -> None:
        assert self.conversation is not None
        self._choices[parent_id] = child_id
        self._store.choose(self.conversation.id, {parent_id: child_id})

    def _widen_to(self, parent_id: MessageId) -> None:
        """Make sure that children of this message are this conversation's own branches."""
        assert self.conversation is not None
        above = [message.id for message in self._tree.lineage(self._tree.root_id)]
        if parent_id not in above[:-1]:
            return
        line = above[above.index(parent_id) :]
        chosen = dict(itertools.pairwise(line))
        self._store.choose(self.conversation.id, chosen)
        self._store.widen(self.conversation.id, parent_id)
        self.conversation = self._store.conversation(self.conversation.id)
        self._tree = Tree(self._store.messages(self.conversation.id), parent_id)
        self._choices |= chosen

    def _on_answer_ended(self, message: Message) -> None:
        if message.id in self._tree:
            self._tree.put(message)
            self.message_changed.emit(message.id)

    def _on_worker_died(self, how: str) -> None:
        error = f"The worker that runs the model ended {how}. What was written is kept."
        self._answers.interrupt_all(error)
        self.noticed.emit(Notice(f"{error} A fresh worker is starting; your next message will work.", "warning"))

    def _on_load_failed(self, message: str) -> None:
        self.noticed.emit(Notice(message, "danger", action="load_guide"))

    def _remember_open(self, conversation_id: int | None) -> None:
        self._set(last_conversation=conversation_id)

    def _set(self, **changes: object) -> None:
        settings = msgspec.structs.replace(self.settings, **changes)
        if settings == self.settings:
            return
        self.settings = settings
        try:
            save_settings(self._settings_path, settings)
        except OSError as error:
            self.noticed.emit(
                Notice(
                    f"The settings could not be saved ({error.strerror}). They hold until Bough is closed.",
                    "warning",
                )
            )
        self.settings_changed.emit()


def _name(text: str) -> str:
    """A conversation's name, from its first question."""
    line = " ".join(text.split())
    return line if len(line) <= _NAME_LENGTH else f"{line[: _NAME_LENGTH - 1].rstrip()}…"


def _clean(text: str) -> str:
    """Text that can be stored and sent: a lone surrogate (half a character, from a broken paste) is U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
