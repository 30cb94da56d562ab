"""Anthropic's API: its endpoints for messages, and for counting their tokens."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.routing import Route
from typing_extensions import override

from app.serving.anthropic_bodies import Block, CountBody, MessageBody, ToolChoice, Turn
from app.serving.commands import json_constraint, result_of, sampling_of, stops_of, thinking_options, tools_of
from app.serving.endpoints import Bodies, Endpoint, client_of, decoded
from app.serving.growing import AllEnded, Delta, Ended, Reading
from app.serving.messages import ServedModel
from app.serving.problems import ProblemError, ProblemKind, refusal
from app.serving.replies import Reply, event
from app.serving.service import LoadedModel, Service
from app.serving.shared_bodies import text_of, unusable
from app.serving.writer import Writer
from worker.protocol import (
    Constraint,
    Continuation,
    Generate,
    Message,
    NamedTool,
    Prompt,
    Tool,
    ToolCall,
)
from worker.tools.turn_parts import CallArguments, CallBroken, CallEnded, CallStarted, Content, LeftOut, Reasoning

_SIGNATURE = "bough"
"""The signature of thinking blocks. Clients return it unchanged; Bough does not use it."""

_ERRORS: dict[ProblemKind, tuple[int, str]] = {
    "invalid": (400, "invalid_request_error"),
    "too_long": (400, "invalid_request_error"),
    "no_key": (401, "authentication_error"),
    "wrong_key": (401, "authentication_error"),
    "forbidden": (403, "permission_error"),
    "no_such_path": (404, "not_found_error"),
    "no_such_model": (404, "not_found_error"),
    "too_large": (413, "request_too_large"),
    "too_slow": (408, "timeout_error"),
    "too_many": (429, "rate_limit_error"),
    "unavailable": (529, "overloaded_error"),
    "failed": (500, "api_error"),
}


class AnthropicShape:
    """How Anthropic's API reports problems."""

    def status(self, problem: ProblemError) -> int:
        """Return the HTTP status of the reply."""
        return _ERRORS[problem.kind][0]

    def body(self, problem: ProblemError) -> object:
        """Return the body of the reply."""
        # Clients recognise by these words that they must shorten the conversation.
        start = "prompt is too long: " if problem.kind == "too_long" else ""
        where = f"{problem.param}: " if problem.param else ""
        return {
            "type": "error",
            "error": {"type": _ERRORS[problem.kind][1], "message": f"{start}{where}{problem.message}"},
            "request_id": _new_id("req"),
        }

    def event(self, problem: ProblemError) -> bytes:
        """Return the event that reports a problem in the middle of a stream."""
        return event(self.body(problem), "error")


SHAPE = AnthropicShape()


def routes(service: Service, bodies: Bodies) -> list[Route]:
    """Return the routes of this API."""
    messages = _Messages(service)
    return [
        Route("/v1/messages", Endpoint(messages.create, SHAPE, bodies), methods=["POST"]),
        Route("/v1/messages/count_tokens", Endpoint(messages.count, SHAPE, bodies), methods=["POST"]),
    ]


def is_asked(path: str, headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Return whether a request is for this API, according to its path or a header that only its clients send."""
    return path.startswith("/v1/messages") or any(name == b"anthropic-version" for name, _ in headers)


def listed(models: Sequence[ServedModel]) -> dict[str, Any]:
    """Return the list of models in this API's format."""
    data = [described(model) for model in models]
    return {
        "data": data,
        "has_more": False,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
    }


def described(model: ServedModel) -> dict[str, Any]:
    """Return a model in this API's format."""
    created = datetime.fromtimestamp(model.created_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": "model", "id": model.id, "display_name": model.id, "created_at": created}


class _Messages:
    """The endpoints."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def create(self, request: Request, data: bytes, reply: Reply) -> None:
        """Answer a request. Raises `ProblemError`."""
        reply.headers["request-id"] = _new_id("req")
        body = decoded(data, MessageBody)
        model = await self._service.model(body.model)
        generate = _command(body, model)
        writer = _Writer(body, model)
        async with self._service.answer(client_of(request, "anthropic"), model, generate) as answer:
            reply.headers |= answer.headers
            await writer.write(answer, reply)
        await writer.finish(reply)

    async def count(self, _request: Request, data: bytes, reply: Reply) -> None:
        """Count the tokens of a prompt. Raises `ProblemError`."""
        reply.headers["request-id"] = _new_id("req")
        body = decoded(data, CountBody)
        model = await self._service.model(body.model)
        prompt = Prompt(
            messages=_messages(body),
            template_options=_thinking(body, model) or UNSET,
            **({"tools": tools["tools"]} if (tools := _tools(body, model)) else {}),
        )
        await reply.whole({"input_tokens": await self._service.num_tokens(model, prompt)})


# --- from the request to the worker's command --------------------------------------------------------------


def _command(body: MessageBody, model: LoadedModel) -> Generate:
    messages = _messages(body)
    continuation = None
    if messages[-1].role == "assistant":
        # The answer continues the text that the client wrote.
        if messages[-1].tool_calls:
            raise ProblemError("invalid", "The last message calls a tool. Send the result after it.", param="messages")
        continuation = Continuation(text=messages.pop().content) if messages[-1].content else None
        if not messages:
            raise ProblemError("invalid", "The first message must be the user's.", param="messages")
    wanted = body.output_format if body.output_config is None else body.output_config.format
    return Generate(
        request_id="",
        messages=messages,
        continuation=continuation,
        template_options=_thinking(body, model) or UNSET,
        sampling=sampling_of(model, body),
        stop=stops_of(body.stop_sequences),
        max_tokens=body.max_tokens,
        constraint=None if wanted is None else _constraint(wanted.type, wanted.schema),
        **_tools(body, model),
    )


def _constraint(kind: str, schema: Any) -> Constraint:
    if kind != "json_schema" or schema is UNSET:
        raise ProblemError("invalid", f"There is no output format `{kind}` like this.", param="output_config.format")
    return json_constraint(schema)


def _thinking(body: CountBody, model: LoadedModel) -> dict[str, Any]:
    """Return the template's option for thinking. As in Anthropic's API, models think only if the request says so."""
    return thinking_options(model, thinks=body.thinking is not None and body.thinking.type != "disabled")


def _tools(body: CountBody, model: LoadedModel) -> dict[str, Any]:
    tools: list[Tool] = []
    for number, tool in enumerate(body.tools or []):
        if tool.type not in {None, "custom"}:
            raise refusal(f"tools[{number}]", f"Bough has no tool `{tool.type}`, only tools of the client's")
        tools.append(
            Tool(name=tool.name, description=tool.description or "", parameters=tool.input_schema or {"type": "object"})
        )
    choice = body.tool_choice
    is_parallel = None if choice is None else not choice.disable_parallel_tool_use
    return tools_of(model, tools, _choice(choice), is_parallel=is_parallel)


def _choice(choice: ToolChoice | None) -> Any:
    match choice:
        case None | ToolChoice(type="auto"):
            return "auto"
        case ToolChoice(type="any"):
            return "required"
        case ToolChoice(type="none"):
            return "none"
        case ToolChoice(name=str() as name):
            return NamedTool(name=name)
        case _:
            raise ProblemError("invalid", "`tool_choice` names no tool.", param="tool_choice.name")


def _messages(body: CountBody) -> list[Message]:
    if not body.messages:
        raise ProblemError("invalid", "The request has no messages.", param="messages")
    messages: list[Message] = []
    if body.system:
        messages.append(Message(role="system", content=text_of(body.system, "system")))
    for number, turn in enumerate(body.messages):
        path = f"messages[{number}].content"
        blocks = [Block(type="text", text=turn.content)] if isinstance(turn.content, str) else turn.content
        if turn.role == "assistant":
            messages.append(_answer(blocks, path))
        else:
            messages += _given(turn, blocks, messages, path)
    return messages


def _given(turn: Turn, blocks: Sequence[Block], before: Sequence[Message], path: str) -> list[Message]:
    """Return the messages of a user's turn: the result of each tool call, then the text."""
    results: list[Message] = []
    texts: list[Block] = []
    for number, block in enumerate(blocks):
        if block.type == "tool_result" and block.tool_use_id is not None:
            text = text_of(block.content, f"{path}[{number}].content")
            text = f"Error: {text}" if block.is_error else text
            results.append(result_of(block.tool_use_id, text, before, f"{path}[{number}].tool_use_id"))
        else:
            texts.append(block)
    # Blocks of another kind are refused with the others.
    return [*results, *([Message(role=turn.role, content=text_of(texts, path))] if texts or not results else [])]


def _answer(blocks: Sequence[Block], path: str) -> Message:
    """Return an assistant's turn as a message."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for number, block in enumerate(blocks):
        match block:
            case Block(type="text", text=str() as text):
                texts.append(text)
            case Block(type="thinking", thinking=str() as text):
                thoughts.append(text)
            case Block(type="redacted_thinking"):
                pass
            case Block(type="tool_use", id=str() as call_id, name=str() as name):
                calls.append(ToolCall(name=name, arguments=block.input or {}, id=call_id))
            case _:
                raise unusable(block, f"{path}[{number}]")
    return Message(role="assistant", content="".join(texts), reasoning="".join(thoughts), tool_calls=calls)


# --- from the answer to the reply --------------------------------------------------------------------------


class _Writer(Writer):
    def __init__(self, body: MessageBody, model: LoadedModel) -> None:
        super().__init__(is_stream=bool(body.stream))
        self._max_tokens = body.max_tokens
        self._has_begun = False
        self._blocks: list[dict[str, Any]] = []
        self._pieces: list[str] = []
        """The text of the open block."""
        self._is_open = False
        self._is_broken = False
        self._message: dict[str, Any] = {
            "id": _new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": model.id,
            "content": self._blocks,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(0, 0, 0),
        }

    @override
    def read(self, reading: Reading, *, is_latest: bool) -> None:
        if not self._has_begun:
            self._message["usage"] = _usage(reading.total, reading.cached, 0)
        self._begin()

    @override
    def wait(self) -> None:
        # Nothing may come before the beginning.
        if self._has_begun:
            self._event("ping")

    @override
    def take(self, delta: Delta) -> None:
        self._begin()
        for part in delta.parts:
            match part:
                case Content(text):
                    self._grow({"type": "text", "text": ""}, "text_delta", text)
                case Reasoning(text):
                    self._grow({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", text)
                case CallStarted(id=call_id, name=name):
                    self._close()
                    self._open({"type": "tool_use", "id": call_id, "name": name, "input": {}})
                case CallArguments(json_text=text):
                    self._pieces.append(text)
                    self._delta({"type": "input_json_delta", "partial_json": text})
                case CallEnded():
                    self._close()
                case CallBroken():
                    self._is_broken = True
                    self._close()
                case LeftOut():
                    pass

    @override
    def end(self, ended: Ended) -> None:
        self._begin()
        self._close()
        if ended.reason == "length":
            self._message["stop_reason"] = "max_tokens"
        elif ended.num_calls and not self._is_broken:
            self._message["stop_reason"] = "tool_use"
        elif ended.stop is not None:
            self._message["stop_reason"], self._message["stop_sequence"] = "stop_sequence", ended.stop
        else:
            self._message["stop_reason"] = "end_turn"

    @override
    def end_all(self, end: AllEnded) -> None:
        usage = end.usage
        self._message["usage"] = _usage(usage.prompt_tokens, usage.cached_tokens, usage.generated_tokens)
        if self._message["stop_reason"] == "max_tokens" and usage.generated_tokens < self._max_tokens:
            self._message["stop_reason"] = "model_context_window_exceeded"
        ends = {name: self._message[name] for name in ("stop_reason", "stop_sequence")}
        self._event("message_delta", delta=ends, usage=self._message["usage"])
        self._event("message_stop")

    @override
    def whole(self) -> dict[str, Any]:
        return self._message

    def _begin(self) -> None:
        """Begin the reply, unless it has begun."""
        if not self._has_begun:
            self._has_begun = True
            self._event("message_start", message=self._message)

    # --- blocks --------------------------------------------------------------------------------------------

    def _grow(self, block: dict[str, Any], kind: str, text: str) -> None:
        """Add text to the open block if it is of this kind; otherwise close it and open a new one."""
        if not self._is_open or self._blocks[-1]["type"] != block["type"]:
            self._close()
            self._open(block)
        self._pieces.append(text)
        self._delta({"type": kind, block["type"]: text})

    def _open(self, block: dict[str, Any]) -> None:
        self._is_open = True
        self._blocks.append(block)
        self._event("content_block_start", index=len(self._blocks) - 1, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> None:
        self._event("content_block_delta", index=len(self._blocks) - 1, delta=delta)

    def _close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        block, text = self._blocks[-1], "".join(self._pieces)
        self._pieces.clear()
        match block["type"]:
            case "thinking":
                block["thinking"], block["signature"] = text, _SIGNATURE
                self._delta({"type": "signature_delta", "signature": _SIGNATURE})
            case "tool_use":
                block["input"] = _arguments(text)
            case _:
                block["text"] = text
        self._event("content_block_stop", index=len(self._blocks) - 1)

    def _event(self, kind: str, **fields: Any) -> None:
        self.events.add({"type": kind, **fields}, kind)


def _usage(num_prompt: int, num_cached: int, num_new: int) -> dict[str, int]:
    """Return the numbers of tokens in this API's format. The three input numbers add up to the prompt's."""
    return {
        "input_tokens": num_prompt - num_cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": num_cached,
        "output_tokens": num_new,
    }


def _arguments(text: str) -> dict[str, Any]:
    """Return the arguments of a call; empty if the call is broken."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"
