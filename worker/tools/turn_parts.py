"""Splits a turn's text into parts: content, reasoning, and tool calls with their arguments as JSON text.

Text comes in pieces of any size, and each part is returned as soon as it is certain: text that may become a marker is
held back like a stop string, so no part of a marker is ever shown. Once neighbours are joined, the parts of a text are
the same however it is divided into pieces.

A marker without a call after it is text, unless the turn is cut there: then the marker is `LeftOut`, like a part of a
marker, or a call with an incomplete name. If a call breaks after its name was returned, it ends in `CallBroken`, which
has the call's whole text. So no generated text is lost.
"""

from __future__ import annotations

import json
import re
import secrets
import string
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from worker.tools.call_text import CallText
from worker.tools.forms import Channels, Form
from worker.tools.incoming import BrokenError, Incoming
from worker.values import ReasoningMarks


@dataclass(frozen=True)
class Content:
    """Text of the answer."""

    text: str


@dataclass(frozen=True)
class Reasoning:
    """Text of the model's reasoning."""

    text: str


@dataclass(frozen=True)
class CallStarted:
    """A call begins. `index` counts the turn's calls from 0."""

    index: int
    id: str
    name: str


@dataclass(frozen=True)
class CallArguments:
    """The next piece of a call's arguments. All pieces together are a JSON object."""

    index: int
    json_text: str


@dataclass(frozen=True)
class CallEnded:
    """A call is complete: its arguments are a JSON object."""

    index: int


@dataclass(frozen=True)
class CallBroken:
    """A call that began is not complete, because the turn ended in it or the model wrote something else.

    `text` is the whole call as the model wrote it, without the markers around it.
    """

    index: int
    text: str


@dataclass(frozen=True)
class LeftOut:
    """The last part of a turn that was cut in a marker, or in the name of a call. It is not shown.

    `text` is the incomplete text as the model generated it.
    """

    text: str


Part: TypeAlias = Content | Reasoning | CallStarted | CallArguments | CallEnded | CallBroken | LeftOut


_ALPHANUMERIC = string.ascii_letters + string.digits
_MESSAGE_ENDS = ("<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|channel|>")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_RECIPIENT = re.compile(r"\bto=functions\.([\w.:/-]+)")


def _drop(_: str) -> None:
    """Drop text after a call's arguments, which is only white space."""


class TurnReader:
    """Parses one turn."""

    def __init__(
        self,
        form: Form | None,
        reasoning: ReasoningMarks | None,
        tools: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        starts_in_reasoning: bool = False,
        make_id: Callable[[], str] | None = None,
    ) -> None:
        """`form`: None means that the turn has no calls. `reasoning`: None means that it has no reasoning.

        `tools` are the JSON schemas of the parameters, by the tool's name. `starts_in_reasoning`: the prompt ends
        inside the reasoning. `make_id` makes an id for a call that has none; None means a random one.
        """
        self._form = form
        self._marks = reasoning
        self._tools = tools or {}
        self._starts_in_reasoning = starts_in_reasoning and reasoning is not None
        self._make_id = make_id or self._new_id
        self._in = Incoming()
        self._parts: list[Part] = []
        self._num_calls = 0
        self._is_open = False
        """Whether a call has begun and not ended."""
        self._run = self._turn()
        self._advance()

    @property
    def num_calls(self) -> int:
        """How many calls have begun."""
        return self._num_calls

    def feed(self, text: str) -> list[Part]:
        """Add the next piece of the turn. Return the parts that are certain now."""
        self._in.add(text)
        return self._advance()

    def end(self, *, is_cut: bool = False) -> list[Part]:
        """End the turn. Return its last parts. `is_cut`: the turn is incomplete, as after reaching a token limit."""
        self._in.end(is_cut=is_cut)
        parts = self._advance()
        return [*parts, LeftOut(self._in.left_out)] if self._in.left_out else parts

    def _advance(self) -> list[Part]:
        next(self._run, None)
        parts, self._parts = self._parts, []
        return parts

    # --- the turn ------------------------------------------------------------------------------------------

    def _turn(self) -> Generator[None]:
        """Parse the turn; yield where more text is needed."""
        if self._form is not None and isinstance(self._form.syntax, Channels):
            yield from self._channels()
            return
        form, marks = self._form, self._marks
        begins = [] if form is None else [form.begin]
        silent = () if form is None else form.silent
        watched = [*begins, *([] if marks is None else [marks.begin]), *silent]
        if self._starts_in_reasoning:
            yield from self._reasoning()
        yield from self._bare()
        while True:
            found = yield from self._in.until(watched, self._say)
            if found is None:
                return
            if found in begins:
                yield from self._section(found)
            elif marks is not None and found == marks.begin:
                yield from self._reasoning()
                yield from self._bare()

    def _channels(self) -> Generator[None]:
        """Parse messages of gpt-oss, each after a header that names its channel and, for a call, its recipient."""
        has_header = False
        for beginning in ("<|channel|>", "<|start|>", "to=", " to="):
            has_header = has_header or (yield from self._in.starts_with(beginning))
        has_header = has_header or self._in.is_cut_here
        found: str | None = "" if has_header else "<|end|>"
        if not has_header:
            found = yield from self._in.until(_MESSAGE_ENDS, self._say, trims=False)
        while found is not None:
            header = [found]
            if (yield from self._in.until(["<|message|>"], header.append, trims=False)) is None:
                if self._in.is_cut_here:
                    self._in.left_out = "".join(header) + self._in.left_out
                return
            channel = _CHANNEL.search("".join(header))
            recipient = _RECIPIENT.search("".join(header))
            if recipient is not None:
                yield from self._channel_call(recipient[1])
                found = yield from self._in.until(_MESSAGE_ENDS, _drop, trims=False)
            else:
                sink = self._think if channel is not None and channel[1] == "analysis" else self._say
                found = yield from self._in.until(_MESSAGE_ENDS, sink, trims=False)

    def _channel_call(self, name: str) -> Generator[None]:
        assert self._form is not None
        call = CallText(self._form, self._in, self._tools, self._start, self._add, is_bare=False)
        start = self._in.mark()
        try:
            yield from call.read_arguments(name)
            self._parts.append(CallEnded(self._num_calls - 1))
        except BrokenError:
            rest = [self._in.since(start)]
            if self._in.is_cut_here:
                rest = [self._in.all_since(start)]
            found = yield from self._in.until(_MESSAGE_ENDS, rest.append, trims=False, keeps=True)
            self._in.give_back(found or "")
            self._parts.append(CallBroken(self._num_calls - 1, "".join(rest)))
        self._is_open = False

    def _reasoning(self) -> Generator[None]:
        assert self._marks is not None
        yield from self._in.skip_space()
        yield from self._in.until([self._marks.end], self._think)
        yield from self._in.skip_space()

    def _bare(self) -> Generator[None]:
        """Parse a call that begins a turn without a marker, if there is one."""
        if self._form is None or not self._form.is_bare:
            return
        start = self._in.mark()
        yield from self._in.skip_space()
        if (yield from self._in.starts_with("{")):
            yield from self._section("", start)
        else:
            self._in.go_back(start)

    def _section(self, marker: str, start: int | None = None) -> Generator[None]:
        """Parse the calls after `marker`. If no call follows, the text from `start` on becomes content."""
        assert self._form is not None
        call = CallText(self._form, self._in, self._tools, self._start, self._add, is_bare=not marker)
        back_to = self._in.mark() if start is None else start
        try:
            yield from call.open_section()
            is_another = True
            while is_another:
                yield from call.read()
                self._is_open = False
                self._parts.append(CallEnded(self._num_calls - 1))
                marker = ""
                back_to = self._in.mark()
                is_another = yield from call.finds_another()
            yield from call.close_section()
            yield from self._in.skip_space()
        except BrokenError:
            if not self._is_open:
                if self._in.is_cut_here:
                    self._in.left_out = marker + self._in.all_since(back_to)
                else:
                    self._say(marker)
                    self._in.go_back(back_to)
                return
            self._is_open = False
            text = self._in.all_since(back_to) if self._in.is_cut_here else self._in.since(back_to)
            rest: list[str] = []
            if self._form.end:
                yield from self._in.until([self._form.end], rest.append, trims=False)
            else:
                yield from self._in.until([], rest.append, trims=False)
            self._parts.append(CallBroken(self._num_calls - 1, "".join([text, *rest])))
            yield from self._in.skip_space()

    # --- parts ---------------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, Content):
            self._parts[-1] = Content(last.text + text)
        elif text:
            self._parts.append(Content(text))

    def _think(self, text: str) -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, Reasoning):
            self._parts[-1] = Reasoning(last.text + text)
        elif text:
            self._parts.append(Reasoning(text))

    def _start(self, name: str, call_id: str) -> None:
        self._is_open = True
        self._num_calls += 1
        self._parts.append(CallStarted(self._num_calls - 1, call_id or self._make_id(), name))

    def _add(self, json_text: str) -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, CallArguments):
            self._parts[-1] = CallArguments(last.index, last.json_text + json_text)
        elif json_text:
            self._parts.append(CallArguments(self._num_calls - 1, json_text))

    def _new_id(self) -> str:
        length = 0 if self._form is None else self._form.id_length
        if not length:
            return f"call_{secrets.token_hex(12)}"
        return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(length))


def parts_of(
    text: str,
    form: Form | None,
    reasoning: ReasoningMarks | None,
    tools: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    starts_in_reasoning: bool = False,
) -> list[Part]:
    """Return the parts of a whole turn, with neighbours of the same kind joined. The ids of calls are random."""
    reader = TurnReader(form, reasoning, tools, starts_in_reasoning=starts_in_reasoning)
    return joined([*reader.feed(text), *reader.end()])


def joined(parts: Sequence[Part]) -> list[Part]:
    """Return parts with neighbours of the same kind joined."""
    result: list[Part] = []
    for part in parts:
        match part, result[-1] if result else None:
            case Content(text), Content(before):
                result[-1] = Content(before + text)
            case Reasoning(text), Reasoning(before):
                result[-1] = Reasoning(before + text)
            case CallArguments(index, text), CallArguments(_, before):
                result[-1] = CallArguments(index, before + text)
            case _:
                result.append(part)
    return result


class WrittenCall(NamedTuple):
    """A complete tool call."""

    id: str
    name: str
    arguments: dict[str, Any]


def calls_in(parts: Sequence[Part]) -> list[WrittenCall]:
    """Return the complete tool calls of a turn."""
    starts: dict[int, CallStarted] = {}
    arguments: dict[int, str] = {}
    calls: list[WrittenCall] = []
    for part in parts:
        match part:
            case CallStarted(index):
                starts[index], arguments[index] = part, ""
            case CallArguments(index, text):
                arguments[index] += text
            case CallEnded(index):
                calls.append(WrittenCall(starts[index].id, starts[index].name, json.loads(arguments[index] or "{}")))
            case _:
                pass
    return calls


def same_json(value: Any) -> Any:
    """Return a JSON value in a form that is the same for equal values: 1.0 becomes 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: same_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [same_json(each) for each in value]
    return value
