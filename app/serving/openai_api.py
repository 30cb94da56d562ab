"""OpenAI's API: chat completions, completions and models."""

from __future__ import annotations

import secrets
import time
from typing import Any

from msgspec import UNSET
from starlette.requests import Request
from starlette.routing import Route

from app.serving.answering import (
    AllEnded,
    Content,
    Delta,
    Ended,
    LoadedModel,
    Part,
    Reading,
    Reasoning,
    Service,
    ShownToken,
    Waiting,
)
from app.serving.endpoints import Endpoint, client_of, decoded
from app.serving.messages import ServerSettings
from app.serving.openai_bodies import ChatBody, ResponseFormat, Turn, TurnPart
from app.serving.problems import ProblemError, ProblemKind
from app.serving.replies import Reply, comment, event
from worker.protocol import Constraint, Generate, Message, Sampling, Usage

_FINISH = {"length": "length"}
_STATUS: dict[ProblemKind, tuple[int, str]] = {
    "invalid": (400, "invalid_request_error"),
    "too_long": (400, "invalid_request_error"),
    "no_key": (401, "invalid_request_error"),
    "wrong_key": (401, "invalid_request_error"),
    "forbidden": (403, "permission_error"),
    "no_such_path": (404, "invalid_request_error"),
    "no_such_model": (404, "invalid_request_error"),
    "too_large": (413, "invalid_request_error"),
    "too_many": (429, "rate_limit_error"),
    "unavailable": (503, "server_error"),
    "failed": (500, "server_error"),
}
_CODES: dict[ProblemKind, str] = {
    "too_long": "context_length_exceeded",
    "wrong_key": "invalid_api_key",
    "no_such_path": "unknown_url",
    "no_such_model": "model_not_found",
    "too_many": "rate_limit_exceeded",
}


class _Shape:
    """How OpenAI's API reports problems."""

    def status(self, problem: ProblemError) -> int:
        return _STATUS[problem.kind][0]

    def body(self, problem: ProblemError) -> object:
        return {
            "error": {
                "message": problem.message,
                "type": _STATUS[problem.kind][1],
                "param": problem.param,
                "code": problem.code or _CODES.get(problem.kind),
            }
        }

    def event(self, problem: ProblemError) -> bytes:
        return event(self.body(problem))


SHAPE = _Shape()


def routes(service: Service, settings: ServerSettings) -> list[Route]:
    """Return the routes of this API."""
    api = _Api(service, settings)
    return [
        Route("/v1/chat/completions", Endpoint(api.chat, SHAPE, settings), methods=["POST"]),
        Route("/v1/models", Endpoint(api.models, SHAPE, settings), methods=["GET"]),
        Route("/v1/models/{name:path}", Endpoint(api.one_model, SHAPE, settings), methods=["GET"]),
    ]


class _Api:
    """The endpoints."""

    def __init__(self, service: Service, settings: ServerSettings) -> None:
        self._service = service
        self._settings = settings

    async def models(self, _request: Request, _data: bytes, reply: Reply) -> None:
        found = await self._service.models()
        data = [_listed(model.id, model.created_s) for model in found]
        await reply.whole({"object": "list", "data": data})

    async def one_model(self, request: Request, _data: bytes, reply: Reply) -> None:
        name = request.path_params["name"]
        for model in await self._service.models():
            if model.is_named(name):
                await reply.whole(_listed(model.id, model.created_s))
                return
        raise ProblemError("no_such_model", f"There is no model “{name}” here.", param="model")

    async def chat(self, request: Request, data: bytes, reply: Reply) -> None:
        body = decoded(data, ChatBody)
        if body.model is None:
            raise ProblemError("invalid", "The request names no model.", param="model")
        if not body.messages:
            raise ProblemError("invalid", "The request has no messages.", param="messages")
        model = await self._service.model(body.model)
        generate = _chat_command(body, model)
        writer = _ChatWriter(body, model, generate.n)
        async with self._service.answer(client_of(request, "openai"), model, generate) as answer:
            async for step in answer:
                match step:
                    case Delta(choice=choice, parts=parts, tokens=tokens):
                        writer.take(choice, parts, tokens)
                    case Ended(choice=choice, reason=reason):
                        writer.end(choice, _FINISH.get(reason, "stop"))
                    case AllEnded(usage=usage):
                        writer.end_all(usage)
                    case Reading(done=done, total=total):
                        writer.comment(f"reading {done} of {total} tokens")
                    case Waiting():
                        writer.comment("waiting")
                if body.stream and (events := writer.data()):
                    await reply.send(events)
        if body.stream:
            await reply.end()
        else:
            await reply.whole(writer.whole())


def _listed(name: str, created_s: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created_s, "owned_by": "bough"}


# --- from the request to the worker's command --------------------------------------------------------------


def _chat_command(body: ChatBody, model: LoadedModel) -> Generate:
    top = 0
    if body.logprobs:
        top = max(body.top_logprobs or 0, 1)
    elif body.top_logprobs:
        raise ProblemError("invalid", "`top_logprobs` goes with `logprobs` only.", param="top_logprobs")
    stop = [body.stop] if isinstance(body.stop, str) else body.stop or []
    return Generate(
        request_id="",
        messages=[_message(turn, number) for number, turn in enumerate(body.messages)],
        sampling=_sampling(body, model),
        stop=[text for text in stop if text],
        max_tokens=body.max_completion_tokens or body.max_tokens,
        n=body.n or 1,
        constraint=_constraint(body.response_format),
        top_logprobs=top,
    )


def _message(turn: Turn, number: int) -> Message:
    role = "system" if turn.role == "developer" else turn.role
    return Message(role=role, content=_text(turn.content, f"messages[{number}].content"))


def _text(content: str | list[TurnPart] | None, path: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    texts: list[str] = []
    for number, part in enumerate(content):
        text = part.text if part.type == "text" else part.refusal if part.type == "refusal" else None
        if text is None:
            raise ProblemError(
                "invalid",
                f"Bough's models read text only: `{part.type}` can't be used. Send the message without it.",
                param=f"{path}[{number}]",
            )
        texts.append(text)
    return "\n".join(texts)


def _sampling(body: ChatBody, model: LoadedModel) -> Sampling:
    """Return the sampling that a request asks for. Left out, a value is what the model's makers suggest."""
    suggested = model.suggested

    def chosen(given: Any, suggestion: Any, usual: Any) -> Any:
        return given if given is not None else suggestion if suggestion is not None else usual

    return Sampling(
        temperature=chosen(body.temperature, suggested.temperature, 1.0),
        top_p=chosen(body.top_p, suggested.top_p, 1.0),
        top_k=chosen(body.top_k, suggested.top_k, 0),
        min_p=chosen(body.min_p, suggested.min_p, 0.0),
        repetition_penalty=chosen(body.repetition_penalty, suggested.repetition_penalty, 1.0),
        presence_penalty=body.presence_penalty or 0.0,
        frequency_penalty=body.frequency_penalty or 0.0,
        # The original's seeds may be negative.
        seed=None if body.seed is None else body.seed & (2**63 - 1),
    )


def _constraint(wanted: ResponseFormat | None) -> Constraint | None:
    match wanted:
        case None | ResponseFormat(type="text"):
            return None
        case ResponseFormat(type="json_object"):
            return Constraint(kind="json_schema", value={"type": "object"})
        case ResponseFormat(type="json_schema", json_schema=named) if named is not None:
            return Constraint(kind="json_schema", value=True if named.schema is UNSET else named.schema)
        case _:
            raise ProblemError(
                "invalid", f"Bough knows no response format `{wanted.type}` like this.", param="response_format"
            )


# --- from the answer to the reply --------------------------------------------------------------------------


class _ChatWriter:
    """Writes an answer as a chat completion: as events while it grows, or as a whole."""

    def __init__(self, body: ChatBody, model: LoadedModel, num_choices: int) -> None:
        self._body = body
        self._head = {
            "id": f"chatcmpl-{secrets.token_hex(12)}",
            "created": int(time.time()),
            "model": model.id,
            "system_fingerprint": f"fp_{model.info.identity[:12]}",
        }
        self._choices = [_Choice() for _ in range(num_choices)]
        self._usage: dict[str, Any] | None = None
        self._events: list[bytes] = []
        self._comment = ""

    def take(self, number: int, parts: Any, tokens: Any) -> None:
        choice = self._choices[number]
        delta: dict[str, str] = choice.begin()
        for part in parts:
            key = choice.add(part)
            delta[key] = delta.get(key, "") + part.text
        logprobs = [_logprob(token, self._body.top_logprobs or 0) for token in tokens]
        choice.logprobs += logprobs
        self._chunk(number, delta, None, logprobs)

    def end(self, number: int, reason: str) -> None:
        choice = self._choices[number]
        delta = choice.begin()
        choice.reason = reason
        self._chunk(number, delta, reason, [])

    def end_all(self, usage: Usage) -> None:
        self._usage = usage_of(usage)
        if self._body.stream_options is not None and self._body.stream_options.include_usage:
            self._event([], self._usage)
        self._events.append(b"data: [DONE]\n\n")

    def comment(self, text: str) -> None:
        self._events.append(comment(text))

    def data(self) -> bytes:
        """Return the events since the last call."""
        data = b"".join(self._events)
        self._events.clear()
        return data

    def whole(self) -> object:
        choices = [
            {
                "index": number,
                "message": choice.message(),
                "logprobs": {"content": choice.logprobs, "refusal": None} if self._body.logprobs else None,
                "finish_reason": choice.reason,
            }
            for number, choice in enumerate(self._choices)
        ]
        return {"object": "chat.completion", **self._head, "choices": choices, "usage": self._usage}

    def _chunk(self, number: int, delta: dict[str, str], reason: str | None, logprobs: list[Any]) -> None:
        found = {"content": logprobs, "refusal": None} if logprobs else None
        self._event([{"index": number, "delta": delta, "logprobs": found, "finish_reason": reason}])

    def _event(self, choices: list[Any], usage: dict[str, Any] | None = None) -> None:
        if not self._body.stream:
            return
        value: dict[str, Any] = {"object": "chat.completion.chunk", **self._head, "choices": choices}
        if self._body.stream_options is not None and self._body.stream_options.include_usage:
            value["usage"] = usage
        self._events.append(event(value))


class _Choice:
    """One of the answers, as a whole."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._has_begun = False
        self.logprobs: list[Any] = []
        self.reason = "stop"

    def begin(self) -> dict[str, str]:
        """Return the beginning of its first event."""
        if self._has_begun:
            return {}
        self._has_begun = True
        return {"role": "assistant", "content": ""}

    def add(self, part: Part) -> str:
        """Add a part; return the field that it belongs to."""
        match part:
            case Content(text):
                self._content.append(text)
                return "content"
            case Reasoning(text):
                self._reasoning.append(text)
                return "reasoning_content"

    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._content), "refusal": None}
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        return message


def usage_of(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.generated_tokens,
        "total_tokens": usage.prompt_tokens + usage.generated_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def _logprob(token: ShownToken, num_top: int) -> dict[str, Any]:
    return {
        **_named(token.text, token.logprob),
        "top_logprobs": [_named(text, logprob) for text, logprob in token.top[:num_top]],
    }


def _named(text: str, logprob: float | None) -> dict[str, Any]:
    # The original writes the least likely ones as -9999.
    return {"token": text, "logprob": -9999.0 if logprob is None else logprob, "bytes": list(text.encode())}
