"""A small chat in the terminal, with a tree of messages (`python -m worker chat`)."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from worker.printable import printable
from worker.process import WorkerClient, WorkerExitedError, WorkerSilentError
from worker.protocol import (
    Cancel,
    Chunk,
    Command,
    Event,
    Failed,
    Finished,
    Generate,
    LoadModel,
    Message,
    ModelLoaded,
    Notice,
    Role,
    Sampling,
)

HELP = """\
Write a message and press Enter. Commands:
  /again             another answer to the last question; the old one stays
  /edit TEXT         another version of the last question; the old one stays
  /back              go back to before the last question; what follows starts a new branch
  /next, /previous   show the next or previous version at the last fork; after /back, the branch you left
  /tree              the whole conversation
  /quit              leave (so does Ctrl+D); Ctrl+C stops an answer
"""

_PATIENCE_S = 10.0
"""A worker that has been silent for this long is reported to the user."""


@dataclass(eq=False)
class _Node:
    """One message. `chosen` is its child on the last shown path."""

    role: Role
    text: str
    parent: _Node | None = None
    token_ids: list[int] = field(default_factory=list[int])
    children: list[_Node] = field(default_factory=list["_Node"])
    chosen: _Node | None = None

    def add(self, role: Role, text: str) -> _Node:
        child = _Node(role, text, self)
        self.children.append(child)
        self.chosen = child
        return child

    def path(self) -> list[_Node]:
        """Return the messages from the first one to this one."""
        path: list[_Node] = []
        node: _Node | None = self
        while node is not None and node.parent is not None:
            path.append(node)
            node = node.parent
        return path[::-1]

    def leaf(self) -> _Node:
        node = self
        while node.chosen is not None:
            node = node.chosen
        return node


class Chat:
    """Reads lines, sends them to the worker, and writes its answers."""

    def __init__(self, client: WorkerClient, lines: TextIO, out: TextIO) -> None:
        self._client = client
        self._lines = lines
        self._out = out
        self._request_ids = (f"chat-{number}" for number in itertools.count(1))
        self._root = _Node("system", "")
        self._is_silent = False
        """Whether the worker does not respond."""
        self._here = self._root
        """The last message of the visible branch."""

    def run(self, model: str) -> int:
        """Chat until the input ends; return the exit code."""
        try:
            return self._run(model)
        except WorkerExitedError:
            self._say("The worker has stopped unexpectedly. This chat stores nothing. Start it again.")
            return 1

    def _run(self, model: str) -> int:
        self._say(f"Loading {model}…")
        end = self._wait_for_end(LoadModel(request_id=next(self._request_ids), model=model))
        if isinstance(end, Failed):
            self._say(end.message)
            return 1
        if isinstance(end, ModelLoaded):
            self._say(
                f"{end.model}: {end.architecture}, {end.num_parameters / 1e6:,.1f} M parameters. /help lists commands."
            )
            self._say_notices(end.notices)
        while True:
            self._out.write("\n> ")
            self._out.flush()
            try:
                line = self._lines.readline()
            except KeyboardInterrupt:
                continue
            if not line:
                self._out.write("\n")
            if not line or line.strip() == "/quit":
                return 0
            if line.strip():
                self._handle(line.rstrip("\n"))

    def _handle(self, line: str) -> None:
        command, _, rest = line.partition(" ")
        question = self._last_question()
        match command:
            case "/again" if question is not None:
                self._answer(question)
            case "/edit" if question is not None and rest.strip():
                assert question.parent is not None
                self._answer(question.parent.add("user", rest))
            case "/back" if question is not None:
                assert question.parent is not None
                self._here = question.parent
                self._say(f"Back before: {_short(question.text)}")
            case "/next" | "/previous":
                self._switch(1 if command == "/next" else -1)
            case "/tree":
                self._write_tree()
            case "/again" | "/edit" | "/back":
                self._say("There is no question yet." if question is None else "Write the new text after /edit.")
            case _ if command.startswith("/"):
                self._out.write(HELP)
            case _:
                # A question without an answer can't be continued: the new question becomes its sibling.
                here = self._here
                above = here.parent if here.role == "user" and here.parent is not None else here
                self._answer(above.add("user", line))

    def _answer(self, question: _Node) -> None:
        self._here = question
        messages = [
            Message(role=node.role, content=node.text, token_ids=node.token_ids)
            if node.token_ids
            else Message(role=node.role, content=node.text)
            for node in question.path()
        ]
        request_id = next(self._request_ids)
        command = Generate(
            request_id=request_id, messages=messages, sampling=Sampling(temperature=0.8), overflow="drop_oldest"
        )
        end = self._wait_for_end(command)
        self._out.write("\n")
        if isinstance(end, Finished):
            choice, usage = end.choices[0], end.usage
            answer = question.add("assistant", choice.text)
            answer.token_ids = choice.turn_token_ids
            self._here = answer
            versions = len(question.children)
            dropped = f" · {usage.dropped_messages} oldest left out" if usage.dropped_messages else ""
            version = f" · version {versions} of {versions}" if versions > 1 else ""
            kept = f"{usage.prompt_tokens:,} tokens, {usage.cached_tokens:,} kept"
            self._say(f"[{kept}{dropped} · {choice.reason}{version}]")
            self._say_notices(end.notices)
        elif isinstance(end, Failed):
            self._say(end.message)

    def _wait_for_end(self, command: Command) -> Event:
        """Send a command, write the text that streams, and return the last event.

        Ctrl+C cancels the command, and ends a worker that does not respond.
        """
        self._client.send(command)
        self._is_silent = False
        with _on_interrupt(lambda: self._cancel(command)):
            while True:
                event = self._next_event()
                if event.request_id != command.request_id:
                    continue
                match event:
                    case Chunk():
                        self._out.write(printable(event.text))
                        self._out.flush()
                    case Finished() | Failed() | ModelLoaded():
                        return event
                    case _:
                        pass

    def _next_event(self) -> Event:
        while not self._is_silent:
            try:
                return self._client.receive_unless_silent(_PATIENCE_S)
            except WorkerSilentError:
                self._is_silent = True
                self._say("[The worker does not respond. Wait, or press Ctrl+C to end this chat.]")
        event = self._client.receive()
        self._is_silent = False
        return event

    def _cancel(self, command: Command) -> None:
        if self._is_silent:
            self._client.end()
            return
        self._client.send(Cancel(request_id=next(self._request_ids), target=command.request_id))

    def _switch(self, step: int) -> None:
        if self._here.chosen is not None:  # after /back, both directions lead to the branch that was left
            self._show(self._here.chosen, 0)
            return
        for node in reversed(self._here.path()):
            assert node.parent is not None
            if len(node.parent.children) > 1:
                self._show(node, step)
                return
        self._say("There is no fork on this branch yet. /again and /edit make one.")

    def _show(self, node: _Node, step: int) -> None:
        """Show the version that is `step` versions after `node`, and go to the end of its branch."""
        assert node.parent is not None
        versions = node.parent.children
        index = (versions.index(node) + step) % len(versions)
        node.parent.chosen = versions[index]
        self._here = versions[index].leaf()
        self._say(f"[version {index + 1} of {len(versions)}] {versions[index].text}")

    def _last_question(self) -> _Node | None:
        return next((node for node in reversed(self._here.path()) if node.role == "user"), None)

    def _write_tree(self) -> None:
        path = set(self._here.path())
        waiting = [(child, 0) for child in reversed(self._root.children)]
        while waiting:
            node, depth = waiting.pop()
            mark = "●" if node in path else "○"
            self._say(f"{'  ' * depth}{mark} {node.role}: {_short(node.text)}")
            depth += len(node.children) > 1
            waiting += [(child, depth) for child in reversed(node.children)]

    def _say_notices(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            self._say(f"[{notice.message}]")

    def _say(self, text: str) -> None:
        self._out.write(printable(f"{text}\n"))
        self._out.flush()


@contextlib.contextmanager
def _on_interrupt(callback: Callable[[], None]) -> Generator[None]:
    """Make Ctrl+C call `callback`. An exception could interrupt the reading of an event and break the stream."""

    def handle(_number: int, _frame: object) -> None:
        callback()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def chat(model: str) -> int:
    """Chat on standard input and output; return the exit code."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # messages must be valid Unicode
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(errors="replace")  # the terminal's encoding may lack some characters
    client = WorkerClient()
    try:
        return Chat(client, sys.stdin or io.StringIO(), sys.stdout).run(model)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has closed its end. Redirect the output, or Python would try to write the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        client.stop()


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 72 else f"{line[:71]}…"
