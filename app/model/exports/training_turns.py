"""Makes turns of messages in the order that chat templates demand: the system text first, then questions and answers.

An answer may call tools; their results follow it, then the next answer. Nothing is changed in silence: `Losses` counts
the messages that are joined or left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from app.model.attachment import text_read
from app.model.exports.captions import split_reasoning
from app.model.exports.excerpt import Options
from app.model.message import Message, MessageId, Sent, ToolCall
from app.model.notes import fenced_text
from app.model.project import is_of_project
from worker.sentence import Sentence

Loss: TypeAlias = Literal[
    "incomplete", "joined", "unasked", "late_system", "notes", "calls", "long", "system", "reasoning", "with_tools"
]


class Losses:
    """The messages that were joined or left out, each counted once for a reason."""

    def __init__(self) -> None:
        self._found: dict[Loss, set[MessageId]] = {}

    def add(self, loss: Loss, message_id: MessageId) -> None:
        self._found.setdefault(loss, set()).add(message_id)

    def sentences(self) -> Iterator[Sentence]:
        for loss, found in sorted(self._found.items()):
            yield _sentence(loss, len(found))


def _sentence(loss: Loss, num: int) -> Sentence:
    match loss:
        case "incomplete":
            return Sentence("Answers left out, because they are stopped, cut off, failed or empty: {num}.", num=num)
        case "joined":
            return Sentence(
                "Messages joined with the one before, because chat templates demand that questions and answers "
                "alternate: {num}.",
                num=num,
            )
        case "unasked":
            return Sentence("Answers left out, because there is no question before them: {num}.", num=num)
        case "late_system":
            return Sentence(
                "System texts left out, because chat templates allow them only at the beginning: {num}.", num=num
            )
        case "notes":
            return Sentence("Notes left out, because records for training have no place for them: {num}.", num=num)
        case "calls":
            return Sentence("Tool calls without a result, and results without a call, left out: {num}.", num=num)
        case "long":
            return Sentence(
                "Branches left out, because a line of this kind holds one question and one answer in words: {num}.",
                num=num,
            )
        case "system":
            return Sentence(
                "System prompts left out, because lines of this kind have no field for them: {num}.", num=num
            )
        case "reasoning":
            return Sentence(
                "Answers without their reasoning, because lines of this kind have no field for it: {num}.", num=num
            )
        case "with_tools":
            return Sentence(
                "Answers left out, because lines of this kind have no field for tool calls: {num}.", num=num
            )


class Turn(Struct, kw_only=True):
    """A turn of a conversation; consecutive messages of one role are one turn."""

    message_id: MessageId
    """The last message of the turn."""
    role: Literal["system", "user", "assistant", "tool"]
    content: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    """The call to which a tool's result belongs."""
    name: str = ""
    """The tool that returned the result."""
    has_question: bool = False
    """Whether a user's turn has a message beside its files."""


def is_complete(message: Message) -> bool:
    """Return whether a message is an answer that ended by itself and is not empty."""
    sent = _sent(message)
    has_content = bool(message.text.strip()) or sent.num_calls > 0
    return message.role == "assistant" and message.state == "complete" and has_content


def turns(path: Sequence[Message], options: Options, losses: Losses, *, is_prompt: bool = False) -> list[Turn]:
    """Return the turns of a branch, in the order that chat templates demand.

    `is_prompt`: also include answers that were stopped, because what follows refers to them.
    """
    made = _Turns(losses)
    for index, message in enumerate(path):
        if message.role == "assistant":
            if is_complete(message) or (is_prompt and message.text.strip()):
                made.add_answer(answer_turn(message, path[index + 1 : index + 1 + _sent(message).num_calls], options))
            else:
                losses.add("incomplete", message.id)
        elif message.role == "note":
            made.add_note(message)
        elif message.role == "system":
            if options.system_prompts and message.text.strip():
                made.add_system(message)
        elif message.role != "root" and (text := text_read(message)).strip():
            made.add_question(message, text)
    return made.turns


def answer_turn(message: Message, below: Sequence[Message], options: Options) -> Turn:
    """Return the turn of an answer; `below` are the messages below it, which may begin with its tool calls."""
    sent, parts = _sent(message), split_reasoning(message)
    reasoning = sent.reasoning.strip() or parts.reasoning.strip()
    calls = [call for note in below if (call := _sent(note).call) is not None]
    return Turn(
        message_id=message.id,
        role="assistant",
        content=parts.answer if sent.content is None else sent.content,
        reasoning=reasoning if options.reasoning else "",
        calls=tuple(
            call if call.id else structs.replace(call, id=f"call{message.id}x{number}")
            for number, call in enumerate(calls)
        ),
    )


class _Turns:
    """The turns so far, always in a valid order. A call whose result has not come stays until the next turn."""

    def __init__(self, losses: Losses) -> None:
        self.turns: list[Turn] = []
        self._losses = losses
        self._waiting: dict[str, ToolCall] = {}
        """The calls of the last answer that have no result yet, by their ids."""

    @property
    def _last(self) -> Turn | None:
        return self.turns[-1] if self.turns else None

    def add_system(self, message: Message) -> None:
        if not self.turns:
            self.turns.append(Turn(message_id=message.id, role="system", content=message.text))
        elif self.turns[-1].role == "system":
            self._join(message.id, message.text)
        else:
            self._losses.add("late_system", message.id)

    def add_question(self, message: Message, text: str) -> None:
        is_question = message.role == "user"
        if self._last is not None and self._last.role == "system" and is_of_project(message):
            self._join(message.id, text)
            return
        self._end_calls()
        self._drop_unused_results()
        last = self._last
        if last is None or last.role != "user":
            self.turns.append(Turn(message_id=message.id, role="user", content=text, has_question=is_question))
            return
        # Files are a part of the question below them.
        if is_question and last.has_question:
            self._losses.add("joined", message.id)
        last.has_question = last.has_question or is_question
        self._join(message.id, text)

    def add_answer(self, turn: Turn) -> None:
        self._end_calls()
        last = self._last
        if last is None or last.role == "system":
            self._losses.add("unasked", turn.message_id)
            return
        if last.role == "assistant":
            self._losses.add("joined", turn.message_id)
            last.reasoning = "\n\n".join(filter(None, (last.reasoning, turn.reasoning)))
            last.calls = turn.calls
            self._join(turn.message_id, turn.content)
        else:
            self.turns.append(turn)
        self._waiting = {call.id: call for call in turn.calls}

    def add_note(self, message: Message) -> None:
        sent = _sent(message)
        if sent.role == "tool":
            call_id = sent.call_id or next(iter(self._waiting), "")
            if call_id in self._waiting:
                call = self._waiting.pop(call_id)
                self.turns.append(
                    Turn(
                        message_id=message.id,
                        role="tool",
                        content=fenced_text(message.text),
                        call_id=call_id,
                        name=sent.name or call.name,
                    )
                )
            else:
                self._losses.add("calls", message.id)
        elif sent.role == "system":
            self._losses.add("late_system", message.id)
        elif sent.call is None:
            self._losses.add("notes", message.id)
        elif self._last is None or not any(
            (call.name, call.arguments) == (sent.call.name, sent.call.arguments) for call in self._last.calls
        ):
            self._losses.add("calls", message.id)

    def _join(self, message_id: MessageId, text: str) -> None:
        last = self.turns[-1]
        last.content = "\n\n".join(filter(None, (last.content, text)))
        last.message_id = message_id

    def _end_calls(self) -> None:
        """Leave out the calls that have no result."""
        if not self._waiting:
            return
        index = next(index for index in range(len(self.turns) - 1, -1, -1) if self.turns[index].role == "assistant")
        caller = self.turns[index]
        self._losses.add("calls", caller.message_id)
        caller.calls = tuple(call for call in caller.calls if call.id not in self._waiting)
        self._waiting = {}
        if not caller.calls and not caller.content.strip():
            del self.turns[index]

    def _drop_unused_results(self) -> None:
        """Leave out results of tools that no answer follows, with their calls, as some templates can't render them."""
        while self._last is not None and self._last.role == "tool":
            while self.turns[-1].role == "tool":
                self._losses.add("calls", self.turns.pop().message_id)
            self.turns[-1].calls = ()
            if not self.turns[-1].content.strip():
                self.turns.pop()


def _sent(message: Message) -> Sent:
    return (message.record.sent if message.record is not None else None) or Sent()
