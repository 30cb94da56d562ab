"""The answer to one request: sends a command to the worker, and turns its events into steps. Used by all APIs."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import Self
from urllib.parse import quote

from msgspec import UNSET

from app.serving.growing import AllEnded, Growing, Reading, Step, Waiting
from app.serving.messages import Answer, Down
from app.serving.owner_link import OwnerLink
from app.serving.problems import ProblemError, problem_of
from worker.protocol import Answered, Cancel, Chunk, Failed, Finished, ModelLoaded, PrefillProgress
from worker.tools.forms import form_named
from worker.tools.turn_parts import TurnReader

_READING_S = 1.0
"""The least time between two progress reports about the prompt; earlier ones are dropped."""
_FIRST_READING_S = 0.1
"""The first progress report about the prompt is delayed by this time, so that a short prompt needs only one."""


class Answering:
    """The answer to one request, or its `n` answers. Enter this context manager, then iterate over the steps."""

    def __init__(
        self,
        link: OwnerLink,
        command: Answer,
        info: ModelLoaded,
        ping_s: float,
        on_finished: Callable[[Finished], None] = lambda _: None,
    ) -> None:
        """`ping_s`: after this many seconds without an event, the next step is `Waiting`."""
        self._link = link
        self.command = command
        self.info = info
        self._ping_s = ping_s
        self._on_finished = on_finished
        self._request_id = str(command.generate.request_id)
        self._opens_reasoning = False
        """Whether the answer begins inside the model's reasoning."""
        self._choices: list[Growing] = []
        self._stack = contextlib.ExitStack()
        self._inbox: asyncio.Queue[Down] = asyncio.Queue()
        self._has_ended = False
        self._problem: ProblemError | None = None
        """The problem that ended the answer; None if there is none."""

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the reply: which part has changed since an earlier request, and which rules removed text."""
        changed, dropped = self.command.compared.changed, self.command.dropped
        return {
            **({"x-bough-changed": changed} if changed else {}),
            **({"x-bough-left-out": quote(", ".join(dropped), safe="")} if dropped else {}),
        }

    async def __aenter__(self) -> Self:
        """Send the command. Raises `ProblemError`."""
        self._inbox = self._stack.enter_context(self._link.asked(self.command, self._request_id))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()
        if not self._has_ended:
            self._link.send(Cancel(request_id=self._link.new_id(), target=self._request_id))

    async def __aiter__(self) -> AsyncIterator[Sequence[Step]]:
        """Yield the steps of the answer; steps that come together are yielded as one list. Raises `ProblemError`."""
        last_s = -math.inf
        while not self._has_ended:
            steps = await self._next_steps(self._ping_s)
            if last_s == -math.inf and steps is not None and steps and isinstance(steps[-1], Reading):
                steps += await self._next_steps(_FIRST_READING_S) or []
            now_s = time.monotonic()
            if steps is None:
                steps = [Waiting()]
            elif now_s - last_s < _READING_S:
                steps = [step for step in steps if not isinstance(step, Reading)]
            if steps:
                last_s = now_s
                yield steps
        if self._problem is not None:
            raise self._problem

    async def _next_steps(self, patience_s: float) -> list[Step] | None:
        """Wait for events and return their steps; None if there is no event for `patience_s` seconds."""
        steps: list[Step] = []
        try:
            if self._inbox.empty():
                async with asyncio.timeout(patience_s):
                    steps += self._steps(await self._inbox.get())
            while not self._inbox.empty() and not self._has_ended:
                steps += self._steps(self._inbox.get_nowait())
        except TimeoutError:
            return None
        except ProblemError as problem:
            self._problem = problem
        return steps

    def _steps(self, event: Down) -> list[Step]:
        match event:
            case PrefillProgress(done=done, total=total, cached=cached, opens_reasoning=opens_reasoning):
                self._opens_reasoning = self._opens_reasoning or opens_reasoning
                return [Reading(done, total, cached)]
            case Chunk(choice=choice, text=text, tokens=tokens):
                return self._growing(choice).grown(text, tokens)
            case Answered(choice=choice, reason=reason, stop=stop):
                return self._growing(choice).ended(reason, stop)
            case Finished():
                return self._finished(event)
            case Failed():
                self._has_ended = True
                raise problem_of(event)
            case _:
                return []

    def _finished(self, event: Finished) -> list[Step]:
        self._has_ended = True
        steps: list[Step] = []
        for number, choice in enumerate(event.choices):
            if choice.reason == "cancelled":
                raise ProblemError("unavailable", "The user of Bough stopped this answer.")
            growing = self._growing(number)
            rest = choice.text[growing.num_chars :]
            if rest:
                steps += growing.grown(rest, [])
            if not growing.has_ended:
                steps += growing.ended(choice.reason, choice.stop)
        self._on_finished(event)
        return [*steps, AllEnded(event.usage, sum(growing.num_reasoning for growing in self._choices))]

    def _growing(self, choice: int) -> Growing:
        """Return the answer number `choice`. Answers are created with the first text, when their beginning is known."""
        if not self._choices:
            generate = self.command.generate
            self._choices = [
                Growing(number, self.reader(), has_logprobs=generate.top_logprobs > 0) for number in range(generate.n)
            ]
        return self._choices[choice]

    def reader(self) -> TurnReader:
        """Return a new reader for one of the answers. Call this only after the first text has come."""
        generate = self.command.generate
        if generate.messages is UNSET:
            # Text that continues a raw prompt is not a turn.
            return TurnReader(None, None)
        has_tools = bool(generate.tools) and generate.tool_choice != "none"
        form = None if self.info.tool_form is None else form_named(self.info.tool_form)
        return TurnReader(
            form if form is not None and (has_tools or form.frames_text) else None,
            self.info.reasoning,
            {tool.name: tool.parameters for tool in generate.tools},
            starts_in_reasoning=self._opens_reasoning,
        )


@contextlib.asynccontextmanager
async def side_by_side(
    answers: Sequence[Answering],
) -> AsyncGenerator[AsyncIterator[tuple[int, Sequence[Step]]], None]:
    """Begin several answers. Return an iterator of their steps, each with the number of its answer.

    The iteration raises `ProblemError` with the first problem of any answer. All answers are cancelled when the context
    is left early.
    """
    found: asyncio.Queue[tuple[int, Sequence[Step] | Exception | None]] = asyncio.Queue()

    async def read(number: int, answer: Answering) -> None:
        try:
            async for some in answer:
                found.put_nowait((number, some))
            found.put_nowait((number, None))
        except Exception as error:  # noqa: BLE001 (it is raised where the steps are read)
            found.put_nowait((number, error))

    async def steps() -> AsyncIterator[tuple[int, Sequence[Step]]]:
        num_left = len(answers)
        while num_left:
            number, some = await found.get()
            if isinstance(some, Exception):
                raise some
            if some is None:
                num_left -= 1
            else:
                yield number, some

    async with contextlib.AsyncExitStack() as stack:
        readers: list[asyncio.Task[None]] = []
        try:
            for number, answer in enumerate(answers):
                await stack.enter_async_context(answer)
                readers.append(asyncio.create_task(read(number, answer)))
            yield steps()
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
