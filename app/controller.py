"""What a person can do with conversations; views call it and listen to it, and never touch store or worker."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence

import msgspec
from PySide6.QtCore import QObject, Signal

from app import token_forks
from app.costs import Costs
from app.model.database import StoreError
from app.model.message import CAN_CONTINUE, Conversation, Message, MessageId, Record, numbered, without_tokens
from app.model.open_conversation import OpenConversation
from app.model.titles import says_little, title_of
from app.model.typed_text import clean, name_from
from app.notices import Notice
from app.preparation import Preparation
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
    revealed = Signal(int)
    """A message that the person is to see now: something changed there, or they asked for it."""
    several_asked = Signal(object)
    """The ids of answers that stream side by side."""
    history_changed = Signal()
    """There is something else to undo or to redo."""
    unsent = Signal(str)
    """Text that could not be stored, to be given back to the person who wrote it; a notice says why."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self._store = program.store
        self._answers = program.answers
        self._notices = program.notices
        self.preparation = Preparation(program)
        """What lies ready in the open conversation, and how it asks."""
        self.costs = Costs(program.session.link, program.session)
        """What it would cost to go to a message of the open conversation."""
        self._open: OpenConversation | None = None
        self._is_hearing = False
        """Whether what happens now was done in another window, or is only another look at it."""
        self._later: tuple[set[MessageId], Callable[[], None]] | None = None
        """What is to be done once these answers have ended."""
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

    # --- what is visible -----------------------------------------------------------------------------------

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

    def is_streaming(self, message_id: MessageId) -> bool:
        return self._answers.is_streaming(message_id)

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

    # --- conversations -------------------------------------------------------------------------------------

    def new_conversation(self) -> None:
        """Show an empty page; the conversation comes into being with its first message."""
        self._show(None)

    def open_conversation(self, conversation_id: int) -> None:
        """Show a conversation on the branch where it was left."""
        with self._notices.telling():
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
        with self._notices.telling():
            if message_id in self._opened:
                self._opened.go_to(message_id)
                self.branch_changed.emit()
                self.revealed.emit(message_id)

    def undo_delete(self) -> None:
        """Take back the conversation that went last, and show it."""
        conversation_id = self.program.conversations.undo_delete()
        if conversation_id is not None:
            self.open_conversation(conversation_id)

    def fork(self, message_id: MessageId) -> None:
        """Open a new conversation that shares everything up to this message."""
        with self._notices.telling():
            conversation = self._store.fork_conversation(f"{self._opened.conversation.name} (fork)", message_id)
            self.preparation.lend(conversation.id)
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
        with self._notices.telling(lambda: self.unsent.emit(text)), self._step("Edit"):
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
        with self._notices.telling(lambda: self.unsent.emit(text)), self._step("Replace"):
            self._opened.set_text(message_id, text)
            self._announce_growth()

    def regenerate(self, message_id: MessageId, num_answers: int | None = None) -> None:
        """Ask for other answers beside this one; to a question, for more answers to it. None: as many as are set."""
        message = self._opened.message(message_id)
        question_id = message.id if message.role == "user" else message.parent_id
        if question_id is not None and message.role in {"user", "assistant"}:
            with self._step("Regenerate"):
                self._ask(question_id, num_answers)

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
        with self._notices.telling(), self._step("Continue"):
            if opened.is_leaf(message.id):
                message = msgspec.structs.replace(message, state="streaming", record=record)
                opened.change(message)
            else:
                # What stands below it was said after its old text: that one stays, too.
                assert message.parent_id is not None
                message = opened.add(message.parent_id, "assistant", message.text, state="streaming", record=record)
            self._answers.ask([message], opened.lineage(message.id)[:-1], opened.conversation.id)
            self._announce_growth()

    def fork_at_token(self, message_id: MessageId, token_index: int, token_id: int) -> None:
        """Go on beside an answer with another token at a place; everything before it is kept."""
        message = self.message(message_id)
        beginning = None if self._is_anothers(message) else token_forks.at_token(message, token_index, token_id)
        if beginning is None:
            self._notices.tell(
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
            self._notices.tell(Notice("Put the cursor into an answer, behind the words that are to stay."))
        else:
            self._go_on_beside(message, beginning, "Go on from here")

    def _is_anothers(self, message: Message) -> bool:
        """Whether another model has written a message, whose tokens are other ones."""
        return message.record is None or message.record.model != self.program.session.name

    def _go_on_beside(self, message: Message, beginning: token_forks.Beginning, name: str) -> None:
        if message.role != "assistant" or message.parent_id is None or self.is_streaming(message.id):
            return
        known = without_tokens(beginning.record) if self._is_anothers(message) else beginning.record
        opened = self._opened
        with self._notices.telling(), self._step(name):
            if beginning.is_whole:
                opened.add(message.parent_id, "assistant", beginning.text, record=known)
            else:
                record = self.preparation.going_on(known)
                added = opened.add(message.parent_id, "assistant", beginning.text, state="streaming", record=record)
                self._answers.ask([added], opened.lineage(added.id)[:-1], opened.conversation.id)
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

    def star(self, message_id: MessageId) -> None:
        """Mark a message, or take its mark away."""
        is_starred = self.message(message_id).starred_ms is None
        with self._notices.telling(), self._step("Star" if is_starred else "Unstar"):
            self._opened.star(message_id, is_starred=is_starred)
            self.branch_changed.emit()

    def name_branch(self, message_id: MessageId, name: str) -> None:
        """Call the branch that begins at a message something; an empty name is none."""
        with self._notices.telling(), self._step("Name branch"):
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
        with self._notices.telling(), self._step("Prune"):
            self._opened.prune(message_ids)
            self.branch_changed.emit()
            is_done = True
        if is_done:
            what = "1 message was" if len(below) == 1 else f"{len(below):,} messages were"
            self._notices.tell(Notice(f"{what} pruned.", action="undo"))

    def keep_only(self, message_id: MessageId) -> None:
        """Prune the other versions of a message."""
        self.prune(*(sibling for sibling in self.siblings(message_id) if sibling != message_id))

    # --- to and fro ----------------------------------------------------------------------------------------

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

    # --- inside --------------------------------------------------------------------------------------------

    @property
    def _opened(self) -> OpenConversation:
        if self._open is None:
            raise LookupError("No conversation is open")
        return self._open

    def _show(self, conversation: OpenConversation | None) -> None:
        self._open, self._later = conversation, None
        conversation_id = None if conversation is None else conversation.conversation.id
        self.preparation.show(conversation_id)
        self.program.preferences.change(last_conversation=conversation_id)
        with self._hearing():
            self.branch_changed.emit()
            self.history_changed.emit()

    def _ask(self, question_id: MessageId, num_answers: int | None = None) -> None:
        """Add answers below a question and let the model write them; the first is shown."""
        opened = self._opened
        record = self.preparation.record()
        num_answers = self.preparation.asking.n if num_answers is None else num_answers
        with self._notices.telling():
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

    def _when_ended(self, message_ids: set[MessageId], act: Callable[[], MessageId | None]) -> None:
        """Stop what streams into messages, and once it has ended put back what they were."""

        def put_back() -> None:
            with self._notices.telling():
                place = act()
                self._announce_growth()
                self.history_changed.emit()
                if place is not None:
                    self.revealed.emit(place)

        growing = {message_id for message_id in message_ids if self._answers.is_asked(message_id)}
        self._later = (growing, put_back)
        for message_id in growing:
            self._answers.stop(message_id)
        self._do_later()

    def _do_later(self) -> None:
        if self._later is not None and not any(self._answers.is_asked(message_id) for message_id in self._later[0]):
            (_, act), self._later = self._later, None
            act()

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
            self._name_after(message)
            self.message_changed.emit(message.id)
        self._do_later()

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
            with self._notices.telling():
                self._open.read_name()

    def _on_conversation_gone(self, conversation_id: int) -> None:
        if self._open is not None and self._open.conversation.id == conversation_id:
            self.new_conversation()
