"""Makes turns of messages in the order that chat templates demand: the system text first, then questions and answers.

An answer may call tools; their results follow it, then the next answer. Nothing is changed in silence: `Losses` counts
the messages that are joined or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field, structs

from app.model.attachment import text_read
from app.model.exports.captions import split_note, split_reasoning
from app.model.exports.excerpt import Options
from app.model.exports.losses import Losses
from app.model.message import Message, MessageId, Sent, Tool, ToolCall
from app.model.notes import fenced_text
from app.model.project import is_of_project
from app.model.tree import Tree


class Turn(Struct, kw_only=True):
    """A turn of a conversation; consecutive messages of one role are one turn."""

    role: Literal["system", "user", "assistant", "tool"]
    message_ids: list[MessageId]
    """The messages of the turn, the last one at the end."""
    texts: list[str]
    thoughts: list[str] = field(default_factory=list[str])
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    """The call to which a tool's result belongs."""
    name: str = ""
    """The tool that returned the result."""
    has_question: bool = False
    """Whether a user's turn has a message beside its files."""
    line: str = ""
    """The turn as a writer encoded it; empty if that has not been done, or if the turn has changed since."""

    @property
    def message_id(self) -> MessageId:
        """The last message."""
        return self.message_ids[-1]

    @property
    def end_id(self) -> MessageId:
        """The last message with a part in the turn; for answers."""
        if self.calls:
            return self.message_id
        parts = zip(self.message_ids, self.texts, self.thoughts, strict=True)
        return next((id_ for id_, *contents in reversed([*parts]) if any(contents)), self.message_id)

    @property
    def content(self) -> str:
        return "\n\n".join(filter(None, self.texts))

    @property
    def reasoning(self) -> str:
        return "\n\n".join(filter(None, self.thoughts))

    @property
    def is_empty(self) -> bool:
        """Whether the turn has neither text nor calls."""
        return not self.calls and not any(text.strip() for text in self.texts)


def is_complete(message: Message) -> bool:
    """Return whether a message is an answer that ended by itself and is not empty."""
    has_content = bool(message.text.strip()) or _sent(message).num_calls > 0
    return message.role == "assistant" and message.state == "complete" and has_content


def answer_turn(message: Message, below: Sequence[Message], options: Options) -> Turn:
    """Return the turn of an answer; `below` are the notes below it that are its tool calls."""
    sent, parts = _sent(message), split_reasoning(message)
    reasoning = sent.reasoning.strip() or parts.reasoning.strip()
    return Turn(
        role="assistant",
        message_ids=[message.id],
        texts=[parts.answer if sent.content is None else sent.content],
        thoughts=[reasoning if options.reasoning else ""],
        calls=tuple(
            _with_id(call, message.id, number)
            for number, note in enumerate(below)
            if (call := _sent(note).call) is not None
        ),
    )


def _with_id(call: ToolCall, answer_id: MessageId, number: int) -> ToolCall:
    return call if call.id else structs.replace(call, id=f"call{answer_id}x{number}")


class _Step(NamedTuple):
    """A message on the path, and the state before it."""

    message_id: MessageId
    num_changes: int
    waiting: dict[str, ToolCall]
    num_expected: int
    tools: tuple[Tool, ...]


class Line:
    """The turns of the path from the top to a message, always in a valid order.

    Going to another message keeps what both paths share: each change can be undone. A call whose result has not come
    stays until the next turn.
    """

    def __init__(self, tree: Tree, options: Options, losses: Losses, *, is_prompt: bool = False) -> None:
        """`is_prompt`: also include answers that were stopped, because what follows refers to them."""
        self._tree, self._options, self._losses, self._is_prompt = tree, options, losses, is_prompt
        self.turns: list[Turn] = []
        self.tools: tuple[Tool, ...] = ()
        """The tools that the answers could call."""
        self._steps: list[_Step] = []
        self._indices: dict[MessageId, int] = {}
        self._changes: list[Callable[[], Any]] = []
        """Functions that undo all changes of turns, the last one first."""
        self._waiting: dict[str, ToolCall] = {}
        """The calls of the last answer that have no result yet, by their ids. It is replaced, not changed."""
        self._num_expected = 0
        """The number of notes that follow as calls of the last answer."""

    def go_to(self, message_id: MessageId) -> None:
        new: list[Message] = []
        seen: set[MessageId] = set()
        current: MessageId | None = message_id
        while current is not None and current in self._tree and current not in self._indices and current not in seen:
            seen.add(current)
            new.append(self._tree[current])
            current = new[-1].parent_id
        self._go_back_to(0 if current is None or current not in self._indices else self._indices[current] + 1)
        for message in reversed(new):
            self._indices[message.id] = len(self._steps)
            self._steps.append(_Step(message.id, len(self._changes), self._waiting, self._num_expected, self.tools))
            self._add(message)

    def up_to_answer(self) -> list[Turn]:
        """Return the turns up to the last answer; none if there is no answer."""
        num = len(self.turns)
        while num and (self.turns[num - 1].role != "assistant" or self.turns[num - 1].is_empty):
            num -= 1
        return self.turns[:num]

    def _go_back_to(self, num_steps: int) -> None:
        while len(self._steps) > num_steps:
            step = self._steps.pop()
            del self._indices[step.message_id]
            while len(self._changes) > step.num_changes:
                self._changes.pop()()
            self._waiting, self._num_expected, self.tools = step.waiting, step.num_expected, step.tools

    def _add(self, message: Message) -> None:
        if message.record is not None and not self.tools:
            self.tools = message.record.tools
        if message.role == "assistant":
            if is_complete(message) or (self._is_prompt and message.text.strip()):
                self._add_answer(message)
            else:
                self._losses.add("incomplete", message.id)
        elif message.role == "note":
            self._add_note(message)
        elif message.role == "system":
            if self._options.system_prompts and message.text.strip():
                self._add_system(message)
        elif message.role != "root" and (text := text_read(message)).strip():
            self._add_question(message, text)

    def _add_system(self, message: Message) -> None:
        if not self.turns:
            self._push(Turn(role="system", message_ids=[message.id], texts=[message.text]))
        elif self.turns[-1].role == "system":
            self._join(self.turns[-1], message.id, message.text)
        else:
            self._losses.add("late_system", message.id)

    def _add_question(self, message: Message, text: str) -> None:
        is_question = message.role == "user"
        if self.turns and self.turns[-1].role == "system" and is_of_project(message):
            self._join(self.turns[-1], message.id, text)
            return
        self._end_calls()
        self._drop_unused_results()
        last = self.turns[-1] if self.turns else None
        if last is None or last.role != "user":
            self._push(Turn(role="user", message_ids=[message.id], texts=[text], has_question=is_question))
            return
        # Files are a part of the question below them.
        if is_question and last.has_question:
            self._losses.add("joined", message.id)
        self._set(last, "has_question", last.has_question or is_question)
        self._join(last, message.id, text)

    def _add_answer(self, message: Message) -> None:
        self._end_calls()
        last = self.turns[-1] if self.turns else None
        if last is None or last.role == "system":
            self._losses.add("unasked", message.id)
            return
        turn = answer_turn(message, (), self._options)
        if last.role == "assistant":
            self._losses.add("joined", message.id)
            self._join(last, message.id, turn.texts[0], turn.thoughts[0])
        else:
            self._push(turn)
        self._num_expected = _sent(message).num_calls

    def _add_note(self, message: Message) -> None:
        sent = _sent(message)
        if sent.call is not None:
            self._add_call(message, sent.call)
            return
        self._num_expected = 0
        if sent.role == "tool":
            self._add_result(message, sent)
        elif sent.role == "system":
            self._losses.add("late_system", message.id)
        else:
            self._losses.add("files" if split_note(message).file_address else "notes", message.id)

    def _add_call(self, message: Message, call: ToolCall) -> None:
        if not self._num_expected:
            self._losses.add("calls", message.id)
            return
        last = self.turns[-1]
        call = _with_id(call, last.message_id, len(last.calls))
        self._set(last, "calls", (*last.calls, call))
        self._waiting = {**self._waiting, call.id: call}
        self._num_expected -= 1

    def _add_result(self, message: Message, sent: Sent) -> None:
        call_id = sent.call_id or next(iter(self._waiting), "")
        if call_id not in self._waiting:
            self._losses.add("calls", message.id)
            return
        call = self._waiting[call_id]
        self._waiting = {id_: waiting for id_, waiting in self._waiting.items() if id_ != call_id}
        self._push(
            Turn(
                role="tool",
                message_ids=[message.id],
                texts=[fenced_text(message.text)],
                call_id=call_id,
                name=sent.name or call.name,
            )
        )

    def _end_calls(self) -> None:
        """Leave out the calls that have no result, and an answer without words of which no call is left."""
        self._num_expected = 0
        if self._waiting:
            caller = next(turn for turn in reversed(self.turns) if turn.role == "assistant")
            self._losses.add("calls", caller.message_id)
            self._set(caller, "calls", tuple(call for call in caller.calls if call.id not in self._waiting))
            self._waiting = {}
            if caller.is_empty:
                self._pop()
                return
        if self.turns and self.turns[-1].role == "assistant" and self.turns[-1].is_empty:
            self._losses.add("incomplete", self._pop().message_id)

    def _drop_unused_results(self) -> None:
        """Leave out results of tools that no answer follows, with their calls, as some templates can't render them."""
        while self.turns and self.turns[-1].role == "tool":
            while self.turns[-1].role == "tool":
                self._losses.add("calls", self._pop().message_id)
            self._set(self.turns[-1], "calls", ())
            if self.turns[-1].is_empty:
                self._pop()

    # --- changes that can be undone --------------------------------------------------------------------------

    def _push(self, turn: Turn) -> None:
        self.turns.append(turn)
        self._changes.append(self.turns.pop)

    def _pop(self) -> Turn:
        turn = self.turns.pop()
        self._changes.append(lambda: self.turns.append(turn))
        return turn

    def _set(self, turn: Turn, name: Literal["calls", "has_question"], value: object) -> None:
        before = getattr(turn, name)

        def undo() -> None:
            setattr(turn, name, before)
            turn.line = ""

        setattr(turn, name, value)
        turn.line = ""
        self._changes.append(undo)

    def _join(self, turn: Turn, message_id: MessageId, text: str, thought: str = "") -> None:
        def undo() -> None:
            turn.message_ids.pop()
            turn.texts.pop()
            turn.thoughts.pop()
            turn.line = ""

        turn.message_ids.append(message_id)
        turn.texts.append(text)
        turn.thoughts.append(thought)
        turn.line = ""
        self._changes.append(undo)


def _sent(message: Message) -> Sent:
    return (message.record.sent if message.record is not None else None) or Sent()
