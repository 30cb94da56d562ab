"""The endpoint for completions of OpenAI's API: text that continues a prompt, without a chat template."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast

from msgspec import UNSET
from starlette.requests import Request
from typing_extensions import override

from app.serving.answering import Answering, side_by_side
from app.serving.commands import sampling_of, stops_of
from app.serving.endpoints import client_of, decoded
from app.serving.growing import AllEnded, Delta, Ended, ShownToken, Step
from app.serving.openai_bodies import CompletionBody
from app.serving.openai_shape import finish_reason, head_of, number_of, usage_of
from app.serving.problems import ProblemError
from app.serving.replies import Reply
from app.serving.service import LoadedModel, Service
from app.serving.writer import Writer
from worker.protocol import Generate, Usage
from worker.tools.turn_parts import Content

_MAX_TOKENS = 16
"""OpenAI's limit for requests that set none."""
_MAX_PROMPTS = 128


class Completions:
    """The endpoint."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def create(self, request: Request, data: bytes, reply: Reply) -> None:
        """Answer a request. Raises `ProblemError`."""
        body = decoded(data, CompletionBody)
        prompts = _prompts(body)
        model = await self._service.model(body.model)
        commands = [_command(body, model, prompt) for prompt in prompts]
        client = client_of(request, "openai")
        writer = _Writer(body, model, len(prompts))
        if body.echo:
            writer.echo([await self._text(prompt) for prompt in prompts])
        answers = [self._service.answer(client, model, command) for command in commands]
        async with aclosing(_steps(answers, body.n or 1)) as steps:
            await writer.write(steps, reply)
        if body.stream:
            writer.end_stream()
        await writer.finish(reply)

    async def _text(self, prompt: str | list[int]) -> str:
        return prompt if isinstance(prompt, str) else await self._service.text_of(prompt)


async def _steps(answers: Sequence[Answering], num_choices: int) -> AsyncGenerator[Sequence[Step]]:
    """Yield the steps of the answers to several prompts. Their choices are numbered in the order of the prompts."""
    async with side_by_side(answers) as found:
        async for prompt, steps in found:
            yield [
                step._replace(choice=prompt * num_choices + step.choice) if isinstance(step, Delta | Ended) else step
                for step in steps
            ]


def _prompts(body: CompletionBody) -> list[str | list[int]]:
    given = body.prompt
    if isinstance(given, str):
        return [given]
    if given and all(isinstance(each, int) for each in given):
        return [cast("list[int]", given)]
    if not given or any(isinstance(each, int) for each in given) or len(given) > _MAX_PROMPTS:
        raise ProblemError(
            "invalid",
            f"`prompt` is a text, a list of token ids, or a list of at most {_MAX_PROMPTS} of these.",
            param="prompt",
        )
    return cast("list[str | list[int]]", given)


def _command(body: CompletionBody, model: LoadedModel, prompt: str | list[int]) -> Generate:
    return Generate(
        request_id="",
        text=prompt if isinstance(prompt, str) else UNSET,
        token_ids=UNSET if isinstance(prompt, str) else prompt,
        sampling=sampling_of(model, body),
        stop=stops_of(body.stop),
        max_tokens=body.max_tokens or _MAX_TOKENS,
        n=body.n or 1,
        top_logprobs=0 if body.logprobs is None else max(body.logprobs, 1),
    )


class _Choice:
    """One of the answers, as a whole."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.tokens: list[ShownToken] = []
        self.reason = "stop"
        self.num_chars = 0
        """How many characters the tokens spell that were written so far."""


class _Writer(Writer):
    def __init__(self, body: CompletionBody, model: LoadedModel, num_prompts: int) -> None:
        super().__init__(is_stream=bool(body.stream))
        self._body = body
        self._head = head_of("text_completion", "cmpl", model)
        self._choices = [_Choice() for _ in range(num_prompts * (body.n or 1))]
        self._usages: list[Usage] = []

    def echo(self, prompts: Sequence[str]) -> None:
        """Begin each answer with its prompt."""
        for number, choice in enumerate(self._choices):
            choice.num_chars = len(prompts[number // (self._body.n or 1)])
            self._grow(number, prompts[number // (self._body.n or 1)], [])

    @override
    def take(self, delta: Delta) -> None:
        text = "".join(part.text for part in delta.parts if isinstance(part, Content))
        self._grow(delta.choice, text, delta.tokens)

    def _grow(self, number: int, text: str, tokens: Sequence[ShownToken]) -> None:
        choice = self._choices[number]
        choice.texts.append(text)
        if self._body.stream:
            self._chunk(number, text, self._logprobs(choice, tokens), None)
        else:
            choice.tokens += tokens

    @override
    def end(self, ended: Ended) -> None:
        reason = finish_reason(ended.reason)
        self._choices[ended.choice].reason = reason
        self._chunk(ended.choice, "", None, reason)

    @override
    def end_all(self, end: AllEnded) -> None:
        self._usages.append(end.usage)

    def end_stream(self) -> None:
        """End the stream of events."""
        if self._body.includes_usage:
            self.events.add({**self._head, "choices": [], "usage": usage_of(self._usages)})
        self.events.end()

    @override
    def whole(self) -> dict[str, Any]:
        choices = [
            {
                "index": number,
                "text": "".join(choice.texts),
                "logprobs": self._logprobs(choice, choice.tokens),
                "finish_reason": choice.reason,
            }
            for number, choice in enumerate(self._choices)
        ]
        return {**self._head, "choices": choices, "usage": usage_of(self._usages)}

    def _chunk(self, number: int, text: str, logprobs: dict[str, Any] | None, reason: str | None) -> None:
        choice = {"index": number, "text": text, "logprobs": logprobs, "finish_reason": reason}
        usage = {"usage": None} if self._body.includes_usage else {}
        self.events.add({**self._head, "choices": [choice], **usage})

    def _logprobs(self, choice: _Choice, tokens: Sequence[ShownToken]) -> dict[str, Any] | None:
        if self._body.logprobs is None:
            return None
        offsets: list[int] = []
        for token in tokens:
            offsets.append(choice.num_chars)
            choice.num_chars += len(token.text)
        return {
            "tokens": [token.text for token in tokens],
            "token_logprobs": [number_of(token.logprob) for token in tokens],
            "top_logprobs": [_likeliest(token, self._body.logprobs) for token in tokens],
            "text_offset": offsets,
        }


def _likeliest(token: ShownToken, num_top: int) -> dict[str, float]:
    """Return the most likely tokens at a token's position, and the token itself if it is not among them."""
    return {text: number_of(logprob) for text, logprob in [*token.top[:num_top], (token.text, token.logprob)]}
