"""What a person can do with conversations; views call it and listen to it, and never touch store or worker."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from PySide6.QtCore import QObject, Signal

from app.answers import Answers
from app.model.database import StoreError
from app.model.exports.markdown import to_markdown
from app.model.kept_files import KeptFiles
from app.model.message import (
    CAN_CONTINUE,
    Conversation,
    Message,
    MessageId,
    Overflow,
    Record,
    Sampling,
    without_tokens,
)
from app.model.open_conversation import OpenConversation
from app.model.settings import MAX_RECENT_MODELS, Keeping, Settings, Theme, write_atomically
from app.model.sizes import size_in_words
from app.model.store import Store
from app.model.typed_text import clean, name_from
from app.model_session import ModelSession
from app.preferences import Preferences


@dataclass(frozen=True)
class Notice:
    """Something that concerns the whole program: what happened, what was kept, what to do."""

    text: str
    kind: Literal["information", "warning", "danger"] = "information"
    action: Literal["", "undo_delete", "load_guide", "open_settings"] = ""


class Controller(QObject):
    """The open conversation, its visible branch, and everything that changes them. Nothing here raises `StoreError`."""

    conversations_changed = Signal()
    branch_changed = Signal()
    """Another conversation, or another branch of it, is visible."""
    message_changed = Signal(int)
    """A visible message's state or record is another; its text grows by `text_appended`."""
    text_appended = Signal(int, str)
    reading = Signal(int, int, int, int)
    unsent = Signal(str)
    """Text that could not be stored, to be given back to the person who wrote it; a notice says why."""
    settings_changed = Signal()
    noticed = Signal(object)
    """A `Notice`."""
    erasing_asked = Signal()
    """What was made of deleted messages is to go, too: their words in the search index, the backups, the log."""

    def __init__(
        self,
        store: Store,
        answers: Answers,
        session: ModelSession,
        preferences: Preferences,
        kept_files: KeptFiles,
    ) -> None:
        super().__init__()
        self._store = store
        self._answers = answers
        self.session = session
        self._preferences = preferences
        self.kept_files = kept_files
        self.system_prompt = ""
        """Of the conversation that the next message begins, while none is open."""
        self._open: OpenConversation | None = None
        self._trashed_id: int | None = None
        answers.text_appended.connect(self.text_appended)
        answers.reading.connect(self.reading)
        answers.ended.connect(self._on_answer_ended)
        answers.saving_failed.connect(self._on_saving_failed)
        answers.saved_again.connect(self._on_saved_again)
        session.changed.connect(self._on_session_changed)
        session.worker_died.connect(self._on_worker_died)
        session.load_failed.connect(self._on_load_failed)
        session.precision_refused.connect(self._on_precision_refused)
        preferences.changed.connect(self.settings_changed)
        preferences.not_saved.connect(self._on_settings_not_saved)

    # --- what is visible -----------------------------------------------------------------------------------

    @property
    def conversation(self) -> Conversation | None:
        """The open conversation; None while an empty page waits for its first message."""
        return None if self._open is None else self._open.conversation

    @property
    def conversations(self) -> list[Conversation]:
        """All conversations, the last used first."""
        with self._telling():
            return self._store.conversations()
        return []

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
        with self._telling():
            try:
                conversation = self._store.conversation(conversation_id)
            except KeyError:
                self.new_conversation()
            else:
                self._show(OpenConversation(self._store, conversation))
                self._tell_of_troubles()

    def rename(self, conversation_id: int, name: str) -> None:
        name = " ".join(clean(name).split())
        if not name:
            return
        with self._telling():
            if self._open is not None and self._open.conversation.id == conversation_id:
                self._open.rename(name)
            else:
                self._store.rename(conversation_id, name)
        self.conversations_changed.emit()

    def delete_conversation(self, conversation_id: int) -> None:
        """Throw a conversation away; `undo_delete` takes it back until the next one goes or the program ends.

        It lies in the trash for thirty days, or until that is emptied.
        """
        with self._telling(), contextlib.suppress(KeyError):
            name = self._store.conversation(conversation_id).name
            self._store.trash(conversation_id)
            self._trashed_id = conversation_id
            self._answers.stop_all(conversation_id)
            if self._open is not None and self._open.conversation.id == conversation_id:
                self.new_conversation()
            self.conversations_changed.emit()
            self.noticed.emit(Notice(f"“{name}” was deleted.", action="undo_delete"))

    def undo_delete(self) -> None:
        if self._trashed_id is None:
            return
        with self._telling():
            self._store.restore(self._trashed_id)
            self.conversations_changed.emit()
            self.open_conversation(self._trashed_id)
            self._trashed_id = None

    def empty_trash(self) -> None:
        """Delete for good what was thrown away, wherever anything of it is kept; a notice tells of it."""
        with self._telling():
            num_messages = self._store.empty_trash()
            self._trashed_id = None
            if num_messages:
                # In memory, too, and before anything of it could be written again.
                self.session.forget(self._erase)
            what = "1 message was" if num_messages == 1 else f"{num_messages:,} messages were"
            text = f"{what} deleted for good." if num_messages else "There was nothing in the trash."
            self.noticed.emit(Notice(text))

    def _erase(self) -> None:
        self.kept_files.empty()
        self.erasing_asked.emit()

    def fork(self, message_id: MessageId) -> None:
        """Open a new conversation that shares everything up to this message."""
        with self._telling():
            conversation = self._store.fork_conversation(f"{self._opened.conversation.name} (fork)", message_id)
            self.conversations_changed.emit()
            self.open_conversation(conversation.id)

    # --- messages ------------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Add a question at the end of the visible branch and ask the model."""
        text = clean(text)
        if not text.strip():
            return
        with self._telling(unsent=text):
            if self._open is None:
                conversation, question = self._store.create_conversation(
                    name_from(text), clean(self.system_prompt), text
                )
                self._open = OpenConversation(self._store, conversation)
                self._preferences.change(last_conversation=conversation.id)
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
        with self._telling(unsent=text):
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
        known = before if before.model == self.session.name else without_tokens(before)
        record = self.session.signed(
            msgspec.structs.replace(
                known, error=None, ended_ms=0, sampling=self.settings.sampling, overflow=self.settings.overflow
            )
        )
        opened = self._opened
        with self._telling():
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
            with self._telling():
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
            self.noticed.emit(
                Notice(
                    f"{file} could not be written ({error.strerror}). Nothing was changed; choose another folder.",
                    "danger",
                )
            )
            return False
        return True

    # --- model and settings --------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        return self._preferences.settings

    def load_model(self, name: str) -> None:
        """Load another model; answers that stream are stopped, what is there of them stays."""
        self._answers.stop_all()
        self.session.load(clean(name))

    def set_sampling(self, sampling: Sampling) -> None:
        stop = tuple(clean(text) for text in sampling.stop)
        self._preferences.change(sampling=msgspec.structs.replace(sampling, stop=stop))

    def set_keeping(self, keeping: Keeping) -> None:
        """Keep what models read in another way; the model is loaded anew for that, once no answer streams."""
        self._preferences.change(keeping=keeping)
        self.session.keep(keeping)

    def set_overflow(self, overflow: Overflow) -> None:
        """Say what the next answers do where their conversation is longer than the model's context."""
        self._preferences.change(overflow=overflow)

    def empty_kept_files(self) -> None:
        """Remove from disk what models have read; a notice tells what came of it."""
        self.session.forget(self._empty_kept_files)

    def _empty_kept_files(self) -> None:
        emptied = self.kept_files.empty()
        freed = size_in_words(emptied.num_bytes)
        if emptied.num_left:
            files = "1 file" if emptied.num_left == 1 else f"{emptied.num_left:,} files"
            text = (
                f"{freed} of what models have read was removed, but {files} in {self.kept_files.folder} could not be "
                f"({emptied.why}). See that you may write there, then try again."
            )
            self.noticed.emit(Notice(text, "warning"))
        else:
            self.noticed.emit(
                Notice(
                    f"{freed} of what models have read was removed from disk. Your conversations are kept; "
                    "a model reads again what it needs of them."
                )
            )

    def set_theme(self, theme: Theme) -> None:
        self._preferences.change(theme=theme)

    def set_sidebar_visible(self, visible: bool) -> None:
        self._preferences.change(sidebar_visible=visible)

    def keep_draft(self, text: str) -> None:
        """Keep what is written and not sent for the next time Bough is opened."""
        self._preferences.change(draft=clean(text))

    # --- inside --------------------------------------------------------------------------------------------

    @property
    def _opened(self) -> OpenConversation:
        if self._open is None:
            raise LookupError("No conversation is open")
        return self._open

    def _show(self, conversation: OpenConversation | None) -> None:
        self._open = conversation
        self._preferences.change(last_conversation=None if conversation is None else conversation.conversation.id)
        self.branch_changed.emit()

    def _ask(self, question_id: MessageId) -> None:
        """Add an answer below a question and let the model write it."""
        opened = self._opened
        settings = self.settings
        record = self.session.signed(Record(sampling=settings.sampling, overflow=settings.overflow))
        with self._telling():
            answer = opened.add(question_id, "assistant", "", state="streaming", record=record)
            self._answers.ask(answer, opened.lineage(question_id), opened.conversation.id)
        self._announce_growth()

    def _announce_growth(self) -> None:
        self.branch_changed.emit()
        # The conversation was used now, so it is the first in the list.
        self.conversations_changed.emit()

    @contextlib.contextmanager
    def _telling(self, *, unsent: str = "") -> Generator[None]:
        """Tell the person where the store can't be used; `unsent` is the text that would be lost by that."""
        try:
            yield
        except StoreError as error:
            self.noticed.emit(Notice(str(error), "danger"))
            if unsent:
                self.unsent.emit(unsent)

    def _tell_of_troubles(self) -> None:
        troubles = self._store.take_troubles()
        if troubles:
            more = f" So it is with {len(troubles) - 1} more." if len(troubles) > 1 else ""
            self.noticed.emit(Notice(f"{troubles[0]}{more}", "warning"))

    def _on_answer_ended(self, message: Message) -> None:
        if self._open is not None and message.id in self._open:
            self._open.put(message)
            self.message_changed.emit(message.id)

    def _on_session_changed(self) -> None:
        if self.session.state != "ready":
            return
        # Only what has loaded is loaded again at the next start.
        name, recent = self.session.name, self.settings.recent_models
        if name != "guide":
            recent = (name, *(other for other in recent if other != name))[:MAX_RECENT_MODELS]
        self._preferences.change(model=name, recent_models=recent)

    def _on_worker_died(self, how: str) -> None:
        error = f"The worker that runs the model ended {how}. What was written is kept."
        self._answers.interrupt_all(error)
        if self.session.state == "loading":
            self.noticed.emit(Notice(f"{error} A fresh worker is starting; your next message will work.", "warning"))

    def _on_saving_failed(self, why: str) -> None:
        self.noticed.emit(
            Notice(f"{why} What streams in is on screen and will be stored as soon as that works.", "danger")
        )

    def _on_saved_again(self) -> None:
        self.noticed.emit(Notice("Everything is stored again."))

    def _on_load_failed(self, message: str) -> None:
        self.noticed.emit(Notice(message, "danger", action="load_guide"))

    def _on_precision_refused(self, num_bits: int) -> None:
        self.noticed.emit(
            Notice(
                f"This model can't keep what it has read in {num_bits} bits, so it keeps it as it computes. Answers "
                'are as good; more memory is used. To see this no more, choose "As the model computes" in Settings.',
                "warning",
                action="open_settings",
            )
        )

    def _on_settings_not_saved(self, why: str) -> None:
        self.noticed.emit(Notice(why, "warning"))
