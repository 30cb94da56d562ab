"""The user's actions on the conversation that a window shows; views call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
from PySide6.QtCore import QObject, Signal

from app.answers.sessions import GUIDE, ModelInUse
from app.catalog.entry import Asked
from app.conversation.beginnings import Beginnings
from app.conversation.preparation import Preparation
from app.conversation.project_in_use import ProjectInUse
from app.conversation.shown_conversation import ShownConversation
from app.conversation.token_forks import TokenForks
from app.costs.costs import Costs
from app.costs.file_sizes import FileSizes
from app.costs.prompt_size import fewest_tokens, question
from app.model.attachment import Attachment, file_message, unsent_files
from app.model.generation_settings import GenerationSettings
from app.model.message import Message, MessageId, Record, numbered
from app.model.open_conversation import OpenConversation
from app.model.project import beginning_of
from app.model.text import clean
from app.model.titles import name_from, title_of
from app.notices import AllowLargeAnswers, AskWithProject, Notice, Undo
from app.program import Program
from worker.sentence import Sentence


@dataclass(frozen=True)
class _WhenEnded:
    """An action that waits until some answers have ended. It is dropped if another conversation is shown by then."""

    opened: OpenConversation
    answers: set[MessageId]
    act: Callable[[], None]


class Controller(QObject):
    """Requests answers, changes the tree and undoes changes.

    No method raises `StoreError`: problems are reported as notices.
    """

    several_asked = Signal(object)
    """The ids of several answers that were requested together."""
    unsent = Signal(str)
    """The text of a message that could not be stored, to be put back into the composer. A notice says why."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self.model = ModelInUse(program.sessions)
        """The model of the open conversation."""
        self.project = ProjectInUse(program.projects)
        """The project of the open conversation, or of the empty page."""
        self.preparation = Preparation(program, self.model, self.project)
        """The drafts and generation settings of the open conversation."""
        self.costs = Costs(self.model, self.preparation.template_options)
        """The costs of going to a message of the open conversation."""
        self.file_sizes = FileSizes(self.model)
        """The sizes of attached files in tokens."""
        self.shown = ShownConversation(program, self.preparation, self.model, self.project, self)
        """The open conversation and its visible branch."""
        self.beginnings = Beginnings(self.preparation, self.shown, self.project)
        """Begins branches with the text of the project."""
        self.forks = TokenForks(program, self.preparation, self.shown, self.model, self._is_continuation_refused)
        """Adds answers that continue from a position inside another answer."""
        self._store = program.store
        self._answers = program.answers
        self._notices = program.notices
        self._when_ended: _WhenEnded | None = None
        self.may_send_to: Callable[[str], bool] = lambda _: False
        """Asks the user whether a conversation that has stayed on this machine may be sent to this host."""
        self._continued: dict[MessageId, int] = {}
        """The length in characters that each continued answer had before."""
        self.preparation.generation_changed.connect(self.costs.check_options)
        self.project.revised.connect(self._offer_project)
        # The shown conversation handles the end of an answer first.
        self._answers.ended.connect(self._act_if_ended)
        self._answers.ended.connect(self._report_if_nothing_added)

    # --- messages --------------------------------------------------------------------------------------

    def send(self, text: str, attached: Sequence[Attachment] = ()) -> None:
        """Add a question with its files at the end of the visible branch, and request an answer.

        The text may be empty if there are files.
        """
        text = clean(text)
        if not text.strip() and not attached:
            return
        opened = self.shown.opened
        attached = [file.cleaned for file in attached]
        above = self.beginnings.of_page if opened is None else opened.path
        if self._is_refused([*above, *unsent_files(attached)], text):
            self.unsent.emit(text)
            return
        files = [file_message(file) for file in attached]
        with self._notices.report_store_errors(lambda: self.unsent.emit(text)):
            if opened is None:
                topic = text if text.strip() else ", ".join(file.name for file in attached)
                name = title_of(topic) if self.program.settings.names_conversations else name_from(topic)
                project = self.project.project
                conversation, question = self._store.create_conversation(
                    name,
                    self.preparation.system_prompt,
                    text,
                    self.model.name,
                    files,
                    folder=self.project.folder,
                    project_files=None if project is None else project.file_texts,
                )
                opened = self.shown.begin(conversation.id)
                with self.shown.step("Send"):
                    opened.count_as_added(question)
                    self._ask(question.id)
            else:
                with self.shown.step("Send"):
                    if opened.leaf.role in {"system", "file"} and self.beginnings.is_behind():
                        question = self.beginnings.begin(text, files)
                    else:
                        question = opened.add_question(opened.leaf.id, text, files)
                    self._ask(question.id)

    def edit(self, message_id: MessageId, text: str) -> None:
        """Add a sibling with another text. The old message and everything below it are kept.

        Of a message with several parts, the others are copied. An edited question is sent again. After an edit of the
        system prompt, the first question is sent again.
        """
        text = clean(text)
        message = self.shown.message(message_id)
        if text == message.text or message.parent_id is None or (not text.strip() and message.role != "system"):
            return
        opened = self.shown.require_open()
        parts = opened.parts(message_id)
        if message.role != "assistant" and self._is_refused(opened.lineage(message.parent_id), text):
            self.unsent.emit(text)
            return
        path = opened.path
        first = next((number for number, lower in enumerate(path) if lower.role == "user"), None)
        with self._notices.report_store_errors(lambda: self.unsent.emit(text)), self.shown.step("Edit"):
            if message.role == "user" and self.beginnings.is_behind(message):
                added = self.beginnings.begin(text, self.beginnings.own_files())
            else:
                parent_id = opened.begin_version(message_id)
                added = opened.add(parent_id, message.role, text, record=_as_sent(message))
                for part in parts[1 + [part.id for part in parts].index(message_id) :]:
                    added = opened.add(added.id, part.role, part.text, state=part.state, record=part.record)
            if message.role == "system" and first is not None:
                files = [upper.text for upper in path[:first] if upper.role == "file"]
                added = opened.add_question(added.id, path[first].text, files)
            if added.role == "user" or any(part.role == "user" for part in parts):
                self._ask(added.id)
            else:
                self.shown.announce_growth()

    def begin_in(self, folder: str) -> None:
        """Show an empty page whose conversation will be in this folder, with its project's model."""
        self.shown.new_conversation(folder=folder)

    def renew_beginning(self) -> None:
        """Send the first question of the visible branch again, with the present text and files of its project."""
        opened, found = self.shown.opened, beginning_of(self.shown.path)
        if opened is None or found is None or found.question is None or not self.beginnings.can_renew:
            return
        text = found.question.text
        if self._is_refused([*self.beginnings.of_page, *(question(each) for each in found.own_files)], text):
            return
        with self._notices.report_store_errors(), self.shown.step("Ask again"):
            self._ask(self.beginnings.begin(text, found.own_files).id)

    def edit_and_continue(self, message_id: MessageId, text: str) -> None:
        """Add a sibling of an answer with another text, and let the model continue it.

        An answer whose text is unchanged is continued itself, without a sibling.
        """
        text = clean(text)
        if text == self.shown.message(message_id).text:
            self.continue_answer(message_id)
        else:
            self.forks.continue_with(message_id, text)

    def replace(self, message_id: MessageId, text: str) -> None:
        """Replace the text of a message. Everything below it is kept, although it followed the old text."""
        text = clean(text)
        message = self.shown.message(message_id)
        is_streaming = self.shown.is_streaming(message_id)
        if text == message.text or is_streaming or (not text.strip() and message.role != "system"):
            return
        with self._notices.report_store_errors(lambda: self.unsent.emit(text)), self.shown.step("Replace"):
            self.shown.require_open().set_text(message_id, text)
            self.shown.announce_growth()

    def regenerate(
        self, message_id: MessageId, num_answers: int | None = None, generation: GenerationSettings | None = None
    ) -> None:
        """Request more answers: siblings of an answer, or children of a question.

        `num_answers` and `generation` override the generation settings of the conversation; None keeps them.
        """
        question_id = self._question_of(message_id)
        if question_id is not None:
            prompt = self.shown.require_open().lineage(question_id)
            if self._is_refused(prompt, num_answers=num_answers, generation=generation):
                return
            with self.shown.step("Regenerate"):
                self._ask(question_id, num_answers, generation)

    def regenerate_by(self, message_id: MessageId, model: str) -> None:
        """Request a sibling of an answer from another model. The conversation keeps its model."""
        question_id = self._question_of(message_id)
        if question_id is not None and not self._stays_here([clean(model)]):
            with self.shown.step("Regenerate"):
                self._ask(question_id, num_answers=1, model=clean(model))

    def choose_model(self, name: str) -> None:
        """Let this conversation, or the new one, use another model, which is loaded after the running answers.

        The guide is loaded when it is first asked.
        """
        name = clean(name)
        # The user has chosen another model, so the notice about the one that failed ends. It ends also if this one was
        # ready before.
        self._notices.end("model")
        self.shown.choose_model(name)
        if name != GUIDE and (self.model.state not in {"ready", "loading"}):
            self.program.load_model(name)

    def chat_with(self, model: str) -> None:
        """Open a new page where a model answers, and load the model."""
        self.shown.new_conversation()
        self.choose_model(model)

    def ask_guide(self) -> None:
        """Open a new page where the guide answers."""
        self.shown.new_conversation(GUIDE)

    def send_to_guide(self, text: str) -> None:
        """Ask the guide a question in a new conversation."""
        self.ask_guide()
        self.send(text)

    def continue_answer(self, message_id: MessageId) -> None:
        """Continue an answer from its end.

        If the answer has messages below it, a sibling with the same text is created and continued instead.
        """
        message = self.shown.message(message_id)
        if not self.shown.can_continue(message):
            return
        record = self.forks.record_at_end(message)
        opened = self.shown.require_open()
        if self._is_continuation_refused(opened.lineage(message.id)[:-1], message.text):
            return
        with self._notices.report_store_errors(), self.shown.step("Continue"):
            if opened.is_leaf(message.id):
                message = msgspec.structs.replace(message, state="streaming", record=record)
                opened.change(message)
            else:
                # The messages below it followed its old text, so the old text stays.
                parent_id = opened.begin_version(message.id)
                message = opened.add(parent_id, "assistant", message.text, state="streaming", record=record)
            self._continued[message.id] = len(message.text)
            self._answers.ask([message], opened.lineage(message.id)[:-1], opened.conversation.id)
            self.shown.announce_growth()

    def fork(self, message_id: MessageId) -> None:
        """Open a new conversation that shares all messages up to this one."""
        with self._notices.report_store_errors():
            name = self.tr("{name} (fork)").format(name=self.shown.require_open().conversation.name)
            folder = self.shown.require_open().conversation.folder
            end_id = self.shown.parts(message_id)[-1].id
            conversation = self._store.fork_conversation(name, end_id, self.model.name, folder)
            self.preparation.share_settings_with(conversation.id)
            self.program.conversations.changed.emit()
            self.shown.open_conversation(conversation.id)

    def stop(self) -> None:
        """Stop all answers that stream or wait in the visible branch, and their siblings."""
        # The last one first, so that one that waits for another is not sent when that one ends.
        for message in reversed(self.shown.path):
            if self.shown.is_streaming(message.id):
                for sibling in self.shown.siblings(message.id):
                    self._answers.stop(sibling)

    # --- branches --------------------------------------------------------------------------------------

    def star(self, message_id: MessageId) -> None:
        """Star a message, or remove its star."""
        is_starred = self.shown.message(message_id).starred_ms is None
        with self._notices.report_store_errors(), self.shown.step("Star" if is_starred else "Unstar"):
            self.shown.require_open().star(message_id, is_starred=is_starred)
            self.shown.branch_changed.emit()

    def pin_branch(self, message_id: MessageId) -> None:
        """Pin the branch at a message, or remove the pin."""
        is_pinned = self.shown.message(message_id).pinned_ms is None
        with self._notices.report_store_errors(), self.shown.step("Pin branch" if is_pinned else "Unpin branch"):
            self.shown.require_open().pin_branch(message_id, is_pinned=is_pinned)
            self.shown.branch_changed.emit()

    def name_branch(self, message_id: MessageId, name: str) -> None:
        """Name the branch that begins at a message; an empty name removes the name."""
        with self._notices.report_store_errors(), self.shown.step("Name branch"):
            self.shown.require_open().name_branch(message_id, " ".join(clean(name).split()))
            self.shown.branch_changed.emit()

    def can_prune(self, message_id: MessageId) -> bool:
        """Return whether a message can be pruned: no other conversation has it, and a system prompt would remain."""
        opened = self.shown.require_open()
        is_own = message_id not in {upper.id for upper in opened.lineage(opened.conversation.root_id)}
        message = opened.message(message_id)
        return is_own and (message.role != "system" or len(opened.siblings(message_id)) > 1)

    def prune(self, *message_ids: MessageId) -> None:
        """Move siblings and everything below them to the trash. Emptying the trash deletes them permanently."""
        message_ids = tuple(found for found in message_ids if self.can_prune(found))
        if not message_ids:
            return
        opened = self.shown.require_open()
        below = {lower for message_id in message_ids for lower in opened.below(message_id)}
        num_messages = opened.num_messages(below)
        for message_id in below:
            self._answers.stop(message_id)
        is_done = False
        with self._notices.report_store_errors(), self.shown.step("Prune"):
            opened.prune(message_ids)
            self.shown.branch_changed.emit()
            is_done = True
        if is_done:
            if num_messages == 1:
                text = Sentence("1 message was pruned.")
            else:
                text = Sentence("{num_messages} messages were pruned.", num_messages=num_messages)
            self._notices.post(Notice(text, action=Undo(opened.conversation.id)))

    def keep_only(self, message_id: MessageId) -> None:
        """Prune the other versions of a message."""
        self.prune(*(sibling for sibling in self.shown.siblings(message_id) if sibling != message_id))

    def undo_delete(self, conversation_id: int) -> None:
        """Restore a conversation from the trash, and show it."""
        self.program.conversations.restore(conversation_id)
        self.shown.open_conversation(conversation_id)

    # --- undo and redo ---------------------------------------------------------------------------------

    @property
    def to_undo(self) -> str:
        """The English name of the action that `undo` would undo; empty if there is none."""
        step = None if self.shown.opened is None else self.shown.opened.history.to_undo
        return "" if step is None else step.name

    @property
    def to_redo(self) -> str:
        """The English name of the action that `redo` would redo; empty if there is none."""
        step = None if self.shown.opened is None else self.shown.opened.history.to_redo
        return "" if step is None else step.name

    def undo(self) -> None:
        """Undo the last change to the tree of the open conversation, and bring the changed message into sight."""
        opened = self.shown.opened
        if opened is not None and opened.history.to_undo is not None:
            self._after_answers(opened.history.to_undo.message_ids, opened.undo)

    def redo(self) -> None:
        """Redo the change that was undone last, and bring the changed message into sight."""
        opened = self.shown.opened
        if opened is not None and opened.history.to_redo is not None:
            self._after_answers(opened.history.to_redo.message_ids, opened.redo)

    # --- inside ----------------------------------------------------------------------------------------

    def _question_of(self, message_id: MessageId) -> MessageId | None:
        """Return the message below which an answer is regenerated, or a question answered; None for other messages."""
        parts = self.shown.require_open().parts(message_id)
        roles = {part.role for part in parts}
        if "user" in roles:
            return parts[-1].id
        return parts[0].parent_id if "assistant" in roles else None

    def _is_refused(
        self,
        prompt: Sequence[Message],
        text: str = "",
        *,
        num_answers: int | None = None,
        generation: GenerationSettings | None = None,
    ) -> bool:
        """Return whether answers can't fit into this machine's memory. If so, post a notice.

        `text` is the question after the prompt. `num_answers` and `generation` override the conversation's settings.
        """
        settings = generation or self.preparation.generation
        number = settings.n if num_answers is None else num_answers
        names = settings.models_or(self.model.name) if num_answers is None else (self.model.name,)
        if self._stays_here(names):
            return True
        for name in names:
            num_tokens = fewest_tokens(prompt, name) + fewest_tokens([question(text)], "")
            asked = Asked(num_tokens=num_tokens + settings.sampling.max_tokens, num_answers=number)
            found = self.program.supply.shortage(name, asked)
            if found is not None and found.is_too_large:
                why = Sentence("{why} Nothing was sent to the model, and your text is kept.", why=found.sentence)
                self._notices.post(Notice(why, "danger", action=AllowLargeAnswers(name)))
                return True
        return False

    def _stays_here(self, models: Sequence[str]) -> bool:
        """Return whether the user does not want to send a conversation from this machine to a server.

        The user is asked once: afterwards the conversation has an answer of that server.
        """
        opened, program = self.shown.opened, self.program
        hosts = set(program.hosts_of(models))
        if opened is None or not hosts:
            return False
        used = {message.record.model for message in opened.tree.messages if message.record is not None}
        new = sorted(hosts - set(program.hosts_of(used)))
        return not all(self.may_send_to(host) for host in new)

    def _is_continuation_refused(self, prompt: Sequence[Message], text: str) -> bool:
        """Return whether one answer that begins with `text` can't fit into memory. If so, post a notice."""
        return self._is_refused(prompt, text, num_answers=1)

    def _ask(
        self,
        question_id: MessageId,
        num_answers: int | None = None,
        generation: GenerationSettings | None = None,
        model: str | None = None,
    ) -> None:
        """Add answers below a question, show the first one, and let the model generate them.

        If neither `model` nor `num_answers` is given, the models of the generation settings answer, one after another.
        Otherwise only `model` answers, by default the conversation's.
        """
        opened, settings = self.shown.require_open(), generation or self.preparation.generation
        models = settings.models_or(self.model.name) if num_answers is None else (self.model.name,)
        num_answers = self.preparation.generation.n if num_answers is None else num_answers
        record = self.preparation.record(generation)
        by_model: dict[str, list[Message]] = {}
        with self._notices.report_store_errors():
            for name in models if model is None else (model,):
                of_model = self._for_model(record, name)
                by_model[name] = [
                    opened.add(question_id, "assistant", "", state="streaming", record=numbered(of_model, number))
                    for number in range(num_answers)
                ]
            answers = [answer.id for several in by_model.values() for answer in several]
            if len(answers) > 1:
                opened.choose(answers[0])
            self.program.conversations.set_model(opened.conversation.id, self.model.name)
            # The models that are loaded answer first, so that they need not be loaded again.
            sessions = self.program.sessions
            for name in sorted(by_model, key=lambda name: (name != sessions.chosen.name, name != sessions.ahead.name)):
                prompt = opened.lineage(question_id)
                self._answers.ask(by_model[name], prompt, opened.conversation.id, settings.options)
            if len(answers) > 1:
                self.several_asked.emit(answers)
        self.shown.announce_growth()

    def _for_model(self, record: Record, name: str) -> Record:
        """Return `record` for an answer of the model `name`, which may not be the conversation's model."""
        if name == record.model:
            return record
        marks = self.program.of_models.marks_of(name)
        return msgspec.structs.replace(record, model=name, model_identity="", versions={}, thought_marks=marks)

    def _offer_project(self) -> None:
        """Offer to send the first question again with the present text of the conversation's project."""
        conversation = self.shown.conversation
        if conversation is not None and self.beginnings.can_renew:
            what = Sentence(
                "The instructions or files of “{name}” have changed since this branch began. The branch keeps the "
                "old ones.",
                name=conversation.folder,
            )
            self._notices.post(Notice(what, action=AskWithProject(conversation.id)))

    def _after_answers(self, message_ids: set[MessageId], act: Callable[[], MessageId | None]) -> None:
        """Stop the answers among these messages. Once they have ended, call `act` and show the message it returns."""

        def act_and_announce() -> None:
            with self._notices.report_store_errors():
                place = act()
                self.shown.announce_growth()
                self.shown.history_changed.emit()
                if place is not None:
                    self.shown.revealed.emit(place)

        answers = {message_id for message_id in message_ids if self._answers.is_pending(message_id)}
        self._when_ended = _WhenEnded(self.shown.require_open(), answers, act_and_announce)
        for message_id in answers:
            self._answers.stop(message_id)
        self._act_if_ended()

    def _report_if_nothing_added(self, answer: Message) -> None:
        num_before = self._continued.pop(answer.id, -1)
        if answer.state == "complete" and len(answer.text) == num_before:
            why = Sentence(
                "The model has nothing to add: it ended the answer at the place where you continued it. Nothing was "
                "changed. Edit the end of the answer, or continue from an earlier place in it."
            )
            self._notices.post(Notice(why))

    def _act_if_ended(self) -> None:
        waiting = self._when_ended
        if waiting is not None and not any(self._answers.is_pending(message_id) for message_id in waiting.answers):
            self._when_ended = None
            if waiting.opened is self.shown.opened:
                waiting.act()


def _as_sent(message: Message) -> Record | None:
    """Return the record for a new version of a message: its place in the message, its tools and its role when sent."""
    record = message.record
    if record is None or not (record.tools or record.is_part or (record.sent is not None and record.sent.role)):
        return None
    return Record(tools=record.tools, sent=record.sent, is_part=record.is_part)
