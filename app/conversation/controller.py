"""What a person can do with the conversation that a window shows; views call it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from PySide6.QtCore import Signal

from app.conversation import token_forks
from app.conversation.shown_conversation import ShownConversation
from app.model.asking import Asking
from app.model.database import StoreError
from app.model.message import Message, MessageId, Record, numbered, without_tokens
from app.model.open_conversation import OpenConversation
from app.model.typed_text import clean
from app.notices import Notice, Undo
from app.program import Program


@dataclass(frozen=True)
class _Later:
    """What is to be done with a conversation once some answers have ended, if it is still the one that is shown."""

    opened: OpenConversation
    behind: set[MessageId]
    act: Callable[[], None]


@dataclass(frozen=True)
class _ByModel:
    """What is to be asked again once a model has loaded."""

    opened: OpenConversation
    message_id: MessageId
    model: str


class Controller(ShownConversation):
    """Asks, changes the tree, and takes back what was done to it.

    Nothing here raises `StoreError`: a notice tells.
    """

    several_asked = Signal(object)
    """The ids of answers that stream side by side."""
    unsent = Signal(str)
    """Text that could not be stored, to be given back to the person who wrote it; a notice says why."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._later: _Later | None = None
        self._by_model: _ByModel | None = None
        program.session.changed.connect(self._on_session_changed)
        # Behind what the conversation itself does with an answer that has ended.
        self._answers.ended.connect(self._do_later)

    # --- messages --------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Add a question at the end of the visible branch and ask the model."""
        text = clean(text)
        if not text.strip():
            return
        with self._notices.report_store_errors(lambda: self.unsent.emit(text)):
            if self._open is None:
                conversation, question = self._store.create_conversation(
                    self._first_name(text), self.preparation.unsent.system_prompt, text
                )
                self._open = self.program.conversations.open(conversation.id)
                self.preparation.begin(conversation.id)
                self.program.preferences.change(last_conversation=conversation.id)
                with self._step("Send"):
                    self._open.count_as_added(question)
                    self._ask(question.id)
            else:
                with self._step("Send"):
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
        with self._notices.report_store_errors(lambda: self.unsent.emit(text)), self._step("Edit"):
            added = opened.add(message.parent_id, message.role, text)
            if message.role == "system" and below:
                added = opened.add(added.id, "user", below[0].text)
            if added.role == "user":
                self._ask(added.id)
            else:
                self._announce_growth()

    def replace(self, message_id: MessageId, text: str) -> None:
        """Put another text in a message's place; what stands below it stays, though it was said after the old one."""
        text = clean(text)
        message = self.message(message_id)
        if text == message.text or self.is_streaming(message_id) or (not text.strip() and message.role != "system"):
            return
        with self._notices.report_store_errors(lambda: self.unsent.emit(text)), self._step("Replace"):
            self._opened.set_text(message_id, text)
            self._announce_growth()

    def regenerate(self, message_id: MessageId, num_answers: int | None = None, asking: Asking | None = None) -> None:
        """Ask for other answers beside this one; to a question, for more answers to it.

        `num_answers` None: as many as are set. `asking`: this once not as is set, but so.
        """
        message = self._opened.message(message_id)
        question_id = message.id if message.role == "user" else message.parent_id
        if question_id is not None and message.role in {"user", "assistant"}:
            with self._step("Regenerate"):
                self._ask(question_id, num_answers, asking)

    def regenerate_by(self, message_id: MessageId, model: str) -> None:
        """Load another model, and ask it for an answer beside this one; where it does not load, nothing is asked."""
        self._by_model = _ByModel(self._opened, message_id, clean(model))
        self.program.load_model(model)

    def continue_answer(self, message_id: MessageId) -> None:
        """Let a stopped or cut answer go on where it ended; beside itself, where the conversation went on from it."""
        message = self.message(message_id)
        if not self.can_continue(message):
            return
        before = message.record or Record()
        # Another model has other ids.
        known = before if before.model == self.program.session.name else without_tokens(before)
        record = self.preparation.going_on(msgspec.structs.replace(known, error=None, ended_ms=0))
        opened = self._opened
        with self._notices.report_store_errors(), self._step("Continue"):
            if opened.is_leaf(message.id):
                message = msgspec.structs.replace(message, state="streaming", record=record)
                opened.change(message)
            else:
                # What stands below it was said after its old text: that one stays, too.
                assert message.parent_id is not None
                message = opened.add(message.parent_id, "assistant", message.text, state="streaming", record=record)
            self._answers.ask([message], opened.lineage(message.id)[:-1], opened.conversation.id)
            self._announce_growth()

    def fork(self, message_id: MessageId) -> None:
        """Open a new conversation that shares everything up to this message."""
        with self._notices.report_store_errors():
            name = self.tr("{name} (fork)").format(name=self._opened.conversation.name)
            conversation = self._store.fork_conversation(name, message_id)
            self.preparation.lend(conversation.id)
            self.program.conversations.changed.emit()
            self.open_conversation(conversation.id)

    def fork_at_token(self, message_id: MessageId, token_index: int, token_id: int) -> None:
        """Go on beside an answer with another token at a place; everything before it is kept."""
        message = self.message(message_id)
        beginning = None if self._is_anothers(message) else token_forks.at_token(message, token_index, token_id)
        if beginning is None:
            self._notices.post(
                Notice(
                    "The answer can't go on from this token: another model wrote it, or it stands inside a character. "
                    "Nothing was changed. Load the model that wrote it, or choose at the token before."
                )
            )
        else:
            self._go_on_beside(message, beginning, "Fork at token")

    def go_on_from_here(self, message_id: MessageId, num_chars: int) -> None:
        """Go on beside an answer after its first characters, in another way."""
        message = self.message(message_id)
        beginning = token_forks.at_place(message, num_chars)
        if beginning is None:
            self._notices.post(Notice("Put the cursor into an answer, behind the words that are to stay."))
        else:
            self._go_on_beside(message, beginning, "Go on from here")

    def begun_here(self, message_id: MessageId, num_chars: int) -> Message | None:
        """Return the answer that `go_on_from_here` would let go on, as it would begin; None where there is none."""
        message = self.message(message_id)
        beginning = token_forks.at_place(message, num_chars)
        if beginning is None or not self._can_go_on_beside(message):
            return None
        record = self.preparation.going_on(self._known(message, beginning))
        return Message(id=0, parent_id=message.parent_id, role="assistant", text=beginning.text, record=record)

    def waits_for(self, message_id: MessageId) -> str | None:
        """Return the name of the conversation whose answer comes before this one; None: it waits for none."""
        conversation_id = self._answers.waits_for(message_id)
        with contextlib.suppress(KeyError, StoreError):
            return None if conversation_id is None else self._store.conversation(conversation_id).name
        return None

    def stop(self) -> None:
        """End the answer that streams into the visible branch, with those beside it."""
        message = self.streaming_message
        if message is not None:
            for sibling in self.siblings(message.id):
                self._answers.stop(sibling)

    # --- branches --------------------------------------------------------------------------------------

    def star(self, message_id: MessageId) -> None:
        """Mark a message, or take its mark away."""
        is_starred = self.message(message_id).starred_ms is None
        with self._notices.report_store_errors(), self._step("Star" if is_starred else "Unstar"):
            self._opened.star(message_id, is_starred=is_starred)
            self.branch_changed.emit()

    def pin_branch(self, message_id: MessageId) -> None:
        """Pin the branch that goes through a message there, to come back to, or take the pin away."""
        is_pinned = self.message(message_id).pinned_ms is None
        with self._notices.report_store_errors(), self._step("Pin branch" if is_pinned else "Unpin branch"):
            self._opened.pin_branch(message_id, is_pinned=is_pinned)
            self.branch_changed.emit()

    def name_branch(self, message_id: MessageId, name: str) -> None:
        """Call the branch that begins at a message something; an empty name is none."""
        with self._notices.report_store_errors(), self._step("Name branch"):
            self._opened.name_branch(message_id, " ".join(clean(name).split()))
            self.branch_changed.emit()

    def can_prune(self, message_id: MessageId) -> bool:
        """Whether a message is the conversation's own, and something is left without it."""
        opened = self._opened
        is_own = message_id not in {upper.id for upper in opened.lineage(opened.conversation.root_id)}
        message = opened.message(message_id)
        return is_own and (message.role != "system" or len(opened.siblings(message_id)) > 1)

    def prune(self, *message_ids: MessageId) -> None:
        """Take siblings and all that stands below them out of sight, until that is undone; they go with the trash."""
        message_ids = tuple(found for found in message_ids if self.can_prune(found))
        if not message_ids:
            return
        below = {lower for message_id in message_ids for lower in self._opened.below(message_id)}
        for message_id in below:
            self._answers.stop(message_id)
        is_done = False
        with self._notices.report_store_errors(), self._step("Prune"):
            self._opened.prune(message_ids)
            self.branch_changed.emit()
            is_done = True
        if is_done:
            text = "1 message was pruned." if len(below) == 1 else f"{len(below):,} messages were pruned."
            self._notices.post(Notice(text, action=Undo(self._opened.conversation.id)))

    def keep_only(self, message_id: MessageId) -> None:
        """Prune the other versions of a message."""
        self.prune(*(sibling for sibling in self.siblings(message_id) if sibling != message_id))

    def undo_delete(self) -> None:
        """Take back the conversation that went last, and show it."""
        conversation_id = self.program.conversations.undo_delete()
        if conversation_id is not None:
            self.open_conversation(conversation_id)

    # --- to and fro ------------------------------------------------------------------------------------

    @property
    def to_undo(self) -> str:
        """What `undo` would take back, as the action that did it is called; empty where there is nothing."""
        step = None if self._open is None else self._open.history.to_undo
        return "" if step is None else step.name

    @property
    def to_redo(self) -> str:
        """What `redo` would do again."""
        step = None if self._open is None else self._open.history.to_redo
        return "" if step is None else step.name

    def undo(self) -> None:
        """Take back what was done last to the open conversation's tree, and show the place."""
        if self._open is not None and self._open.history.to_undo is not None:
            self._when_ended(self._open.history.to_undo.message_ids, self._open.undo)

    def redo(self) -> None:
        """Do again what was undone last, and show the place."""
        if self._open is not None and self._open.history.to_redo is not None:
            self._when_ended(self._open.history.to_redo.message_ids, self._open.redo)

    # --- inside ----------------------------------------------------------------------------------------

    def _is_anothers(self, message: Message) -> bool:
        """Whether another model has written a message, whose tokens are other ones."""
        return message.record is None or message.record.model != self.program.session.name

    def _can_go_on_beside(self, message: Message) -> bool:
        return message.role == "assistant" and message.parent_id is not None and not self.is_streaming(message.id)

    def _known(self, message: Message, beginning: token_forks.Beginning) -> Record:
        """What is known of how an answer begins, to the model that would go on."""
        return without_tokens(beginning.record) if self._is_anothers(message) else beginning.record

    def _go_on_beside(self, message: Message, beginning: token_forks.Beginning, name: str) -> None:
        if not self._can_go_on_beside(message):
            return
        assert message.parent_id is not None
        known = self._known(message, beginning)
        opened = self._opened
        with self._notices.report_store_errors(), self._step(name):
            if beginning.is_whole:
                opened.add(message.parent_id, "assistant", beginning.text, record=known)
            else:
                record = self.preparation.going_on(known)
                added = opened.add(message.parent_id, "assistant", beginning.text, state="streaming", record=record)
                self._answers.ask([added], opened.lineage(added.id)[:-1], opened.conversation.id)
            self._announce_growth()

    def _on_session_changed(self) -> None:
        by, session = self._by_model, self.program.session
        if by is None or (session.state == "loading" and session.name == by.model):
            return
        self._by_model = None
        is_loaded = session.state == "ready" and session.name == by.model
        if is_loaded and by.opened is self._open and by.message_id in by.opened:
            self.regenerate(by.message_id, num_answers=1)

    def _ask(self, question_id: MessageId, num_answers: int | None = None, asking: Asking | None = None) -> None:
        """Add answers below a question and let the model write them; the first is shown."""
        opened = self._opened
        record = self.preparation.record(asking)
        num_answers = self.preparation.asking.n if num_answers is None else num_answers
        with self._notices.report_store_errors():
            answers = [
                opened.add(question_id, "assistant", "", state="streaming", record=numbered(record, number))
                for number in range(num_answers)
            ]
            if num_answers > 1:
                opened.choose(answers[0].id)
            self._answers.ask(answers, opened.lineage(question_id), opened.conversation.id)
            if num_answers > 1:
                self.several_asked.emit([answer.id for answer in answers])
        self._announce_growth()

    def _when_ended(self, message_ids: set[MessageId], act: Callable[[], MessageId | None]) -> None:
        """Stop what streams into messages, and once it has ended put back what they were."""

        def put_back() -> None:
            with self._notices.report_store_errors():
                place = act()
                self._announce_growth()
                self.history_changed.emit()
                if place is not None:
                    self.revealed.emit(place)

        growing = {message_id for message_id in message_ids if self._answers.is_asked(message_id)}
        self._later = _Later(self._opened, growing, put_back)
        for message_id in growing:
            self._answers.stop(message_id)
        self._do_later()

    def _do_later(self) -> None:
        later = self._later
        if later is not None and not any(self._answers.is_asked(message_id) for message_id in later.behind):
            self._later = None
            if later.opened is self._open:
                later.act()
