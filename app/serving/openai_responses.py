"""The endpoints of OpenAI's Responses API, which takes and returns items."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET
from starlette.requests import Request
from typing_extensions import override

from app.serving.commands import call_of, json_constraint, result_of, sampling_of, thinking_options, tools_of
from app.serving.endpoints import client_of, decoded
from app.serving.growing import AllEnded, Delta, Ended, Reading
from app.serving.openai_shape import error_of, logprob_of, thinks_at
from app.serving.problems import ProblemError, refusal
from app.serving.replies import Reply
from app.serving.responses_bodies import Item, ResponseBody, ResponseToolChoice
from app.serving.service import LoadedModel, Service
from app.serving.shared_bodies import text_of
from app.serving.writer import Writer
from worker.protocol import Constraint, Generate, Message, NamedTool, Tool
from worker.tools.turn_parts import CallArguments, CallBroken, CallEnded, CallStarted, Content, LeftOut, Reasoning

_MAX_KEPT = 200
_MAX_KEPT_CHARS = 50_000_000


class _Kept(NamedTuple):
    """A response that later requests may continue."""

    messages: list[Message]
    """The response's input and answer, without instructions."""
    response: dict[str, Any]
    num_chars: int


class Responses:
    """The endpoints."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        """The stored responses by id, the last used one at the end. They are kept until serving stops."""

    async def create(self, request: Request, data: bytes, reply: Reply) -> None:
        """Answer a request. Raises `ProblemError`."""
        body = decoded(data, ResponseBody)
        messages = _messages(body, self._before(body))
        if not messages:
            raise ProblemError("invalid", "The request has no input.", param="input")
        model = await self._service.model(body.model)
        generate = _command(body, model, messages)
        writer = _Writer(body, model)
        async with self._service.answer(client_of(request, "openai"), model, generate) as answer:
            reply.headers |= answer.headers
            try:
                await writer.write(answer, reply)
            except ProblemError as problem:
                if not reply.has_begun:
                    raise
                writer.fail(problem)
                await writer.finish(reply)
                return
        if body.store is not False:
            self._keep(messages, writer)
        await writer.finish(reply)

    async def count(self, _request: Request, data: bytes, reply: Reply) -> None:
        """Count the tokens of a prompt. Raises `ProblemError`."""
        body = decoded(data, ResponseBody)
        generate = _command(body, model := await self._service.model(body.model), _messages(body, self._before(body)))
        num_tokens = await self._service.num_tokens(model, generate.prompt)
        await reply.whole({"object": "response.input_tokens", "input_tokens": num_tokens})

    async def retrieve(self, request: Request, _data: bytes, reply: Reply) -> None:
        """Return a response that is kept. Raises `ProblemError`."""
        await reply.whole(self._named(request.path_params["name"]).response)

    async def delete(self, request: Request, _data: bytes, reply: Reply) -> None:
        """Delete a stored response. Raises `ProblemError`."""
        name = request.path_params["name"]
        self._named(name)
        del self._kept[name]
        await reply.whole({"id": name, "object": "response", "deleted": True})

    def _before(self, body: ResponseBody) -> list[Message]:
        """Return the messages of the response that a request continues."""
        name = body.previous_response_id
        if name is None:
            return []
        if name not in self._kept:
            raise ProblemError(
                "invalid",
                f"There is no response “{name}” here. Send all messages, or the id of a response that Bough has kept.",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        self._kept.move_to_end(name)
        return self._kept[name].messages

    def _named(self, name: str) -> _Kept:
        if name not in self._kept:
            raise ProblemError("no_such_path", f"There is no response “{name}” here.", code="response_not_found")
        return self._kept[name]

    def _keep(self, messages: Sequence[Message], writer: _Writer) -> None:
        whole = [*messages, writer.message()]
        num_chars = sum(len(message.content) for message in whole)
        self._kept[writer.response["id"]] = _Kept(whole, writer.response, num_chars)
        while len(self._kept) > _MAX_KEPT or sum(kept.num_chars for kept in self._kept.values()) > _MAX_KEPT_CHARS:
            self._kept.popitem(last=False)


# --- from the request to the worker's command --------------------------------------------------------------


def _command(body: ResponseBody, model: LoadedModel, messages: list[Message]) -> Generate:
    instructions = [Message(role="system", content=body.instructions)] if body.instructions else []
    has_logprobs = "message.output_text.logprobs" in (body.include or []) or bool(body.top_logprobs)
    effort = None if body.reasoning is None else body.reasoning.effort
    options = thinking_options(model, thinks=thinks_at(effort))
    return Generate(
        request_id="",
        messages=[*instructions, *messages],
        template_options=options or UNSET,
        sampling=sampling_of(model, body),
        max_tokens=body.max_output_tokens,
        constraint=_constraint(body),
        top_logprobs=max(body.top_logprobs or 0, 1) if has_logprobs else 0,
        overflow="drop_oldest" if body.truncation == "auto" else "fail",
        **tools_of(model, _tools(body), _choice(body), is_parallel=body.parallel_tool_calls),
    )


def _tools(body: ResponseBody) -> list[Tool]:
    tools: list[Tool] = []
    for number, tool in enumerate(body.tools or []):
        if tool.type != "function":
            raise refusal(f"tools[{number}]", f"Bough has no tool `{tool.type}`, only functions of the client's")
        tools.append(
            Tool(name=tool.name, description=tool.description or "", parameters=tool.parameters or {"type": "object"})
        )
    return tools


def _choice(body: ResponseBody) -> Any:
    match body.tool_choice:
        case ResponseToolChoice(type="function", name=str() as name):
            return NamedTool(name=name)
        case ResponseToolChoice():
            raise refusal("tool_choice", f"Bough can't choose `{body.tool_choice.type}`")
        case choice:
            return choice


def _constraint(body: ResponseBody) -> Constraint | None:
    wanted = None if body.text is None else body.text.format
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return json_constraint({"type": "object"})
    if wanted.type == "json_schema":
        return json_constraint(wanted.schema)
    raise ProblemError("invalid", f"There is no text format `{wanted.type}`.", param="text.format.type")


def _messages(body: ResponseBody, before: Sequence[Message]) -> list[Message]:
    """Return the messages `before` and those of the input. Consecutive items of one answer become one message."""
    messages = list(before)
    if isinstance(body.input, str):
        return [*messages, *([Message(role="user", content=body.input)] if body.input else [])]
    for number, item in enumerate(body.input):
        message = _message(item, f"input[{number}]", messages)
        last = messages[-1] if messages else None
        # A message ends an answer's turn; reasoning and calls belong to the same turn as the items around them.
        if last is not None and last.role == message.role == "assistant" and _belong_together(last, message):
            messages[-1] = Message(
                role="assistant",
                content=last.content + message.content,
                reasoning=last.reasoning + message.reasoning,
                tool_calls=[*last.tool_calls, *message.tool_calls],
            )
        else:
            messages.append(message)
    return messages


def _belong_together(last: Message, message: Message) -> bool:
    return not (message.content and (last.content or last.tool_calls)) and not (message.reasoning and last.content)


def _message(item: Item, path: str, before: Sequence[Message]) -> Message:
    match item:
        case Item(type="message", role=str() as role):
            return Message(
                role="system" if role == "developer" else role, content=text_of(item.content, f"{path}.content")
            )
        case Item(type="function_call", name=str() as name, call_id=str() as call_id):
            return Message(
                role="assistant", content="", tool_calls=[call_of(name, item.arguments or "{}", call_id, path)]
            )
        case Item(type="function_call_output", call_id=str() as call_id):
            return result_of(call_id, text_of(item.output, f"{path}.output"), before, f"{path}.call_id")
        case Item(type="reasoning"):
            parts = item.content if isinstance(item.content, list) and item.content else item.summary or []
            return Message(role="assistant", content="", reasoning="".join(part.text or "" for part in parts))
        case _:
            raise ProblemError(
                "invalid",
                f"Bough can't use an item `{item.type}` like this. Send the input without it.",
                param=path,
            )


# --- from the answer to the reply --------------------------------------------------------------------------


class _Writer(Writer):
    def __init__(self, body: ResponseBody, model: LoadedModel) -> None:
        super().__init__(is_stream=bool(body.stream))
        self._top_logprobs = body.top_logprobs or 0
        self._sequence_number = 0
        self._open: dict[str, Any] | None = None
        """The item that is being written; None between two items."""
        self._pieces: list[str] = []
        """The text of the open item."""
        self._logprobs: list[dict[str, Any]] = []
        self._has_begun = False
        self._is_cut = False
        self._output: list[dict[str, Any]] = []
        self.response: dict[str, Any] = {
            "id": f"resp_{secrets.token_hex(16)}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "instructions": body.instructions,
            "max_output_tokens": body.max_output_tokens,
            "model": model.id,
            "output": self._output,
            "parallel_tool_calls": body.parallel_tool_calls is not False,
            "previous_response_id": body.previous_response_id,
            "reasoning": {"effort": None if body.reasoning is None else body.reasoning.effort, "summary": None},
            "store": body.store is not False,
            "temperature": body.temperature,
            "text": {"format": {"type": "text"}},
            "tool_choice": _tool_choice_of(body),
            "tools": [_tool_of(tool) for tool in body.tools or []],
            "top_logprobs": body.top_logprobs or 0,
            "top_p": body.top_p,
            "truncation": body.truncation or "disabled",
            "usage": None,
            "metadata": body.metadata or {},
        }

    def begin(self) -> None:
        """Begin the reply, unless it has begun."""
        if not self._has_begun:
            self._has_begun = True
            self._event("response.created", response=self.response)
            self._event("response.in_progress", response=self.response)

    @override
    def read(self, reading: Reading, *, is_latest: bool) -> None:
        self.begin()
        super().read(reading, is_latest=is_latest)

    @override
    def take(self, delta: Delta) -> None:
        self.begin()
        logprobs = [logprob_of(token, self._top_logprobs) for token in delta.tokens]
        for part in delta.parts:
            match part:
                case Content(text):
                    self._grow("message", text, logprobs)
                    logprobs = []
                case Reasoning(text):
                    self._grow("reasoning", text, [])
                case CallStarted(id=call_id, name=name):
                    self._close()
                    self._open_item(
                        {"id": _new_id("fc"), "type": "function_call", "call_id": call_id, "name": name}, arguments=""
                    )
                case CallArguments(json_text=text):
                    self._pieces.append(text)
                    self._item_event("response.function_call_arguments.delta", delta=text)
                case CallEnded():
                    self._close()
                case CallBroken():
                    self._is_cut = True
                    self._close()
                case LeftOut():
                    pass
        self._logprobs += logprobs

    @override
    def end(self, ended: Ended) -> None:
        self.begin()
        self._is_cut = self._is_cut or ended.reason == "length"
        self._close()

    @override
    def end_all(self, end: AllEnded) -> None:
        usage = end.usage
        self.response["usage"] = {
            "input_tokens": usage.prompt_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
            "output_tokens": usage.generated_tokens,
            "output_tokens_details": {"reasoning_tokens": end.num_reasoning},
            "total_tokens": usage.prompt_tokens + usage.generated_tokens,
        }
        self.response["status"] = "incomplete" if self._is_cut else "completed"
        if self._is_cut:
            self.response["incomplete_details"] = {"reason": "max_output_tokens"}
        self._event("response.incomplete" if self._is_cut else "response.completed", response=self.response)

    @override
    def whole(self) -> dict[str, Any]:
        return self.response

    def fail(self, problem: ProblemError) -> None:
        """End the stream with a problem."""
        self.response["status"] = "failed"
        self.response["error"] = {"code": error_of(problem)["code"] or "server_error", "message": problem.message}
        self._event("response.failed", response=self.response)

    def message(self) -> Message:
        """Return the answer as a message for a later request."""
        content = [item["content"][0]["text"] for item in self._output if item["type"] == "message"]
        reasoning = [item["content"][0]["text"] for item in self._output if item["type"] == "reasoning"]
        calls = [item for item in self._output if item["type"] == "function_call" and item["status"] == "completed"]
        return Message(
            role="assistant",
            content="".join(content),
            reasoning="".join(reasoning),
            tool_calls=[call_of(call["name"], call["arguments"], call["call_id"], "") for call in calls],
        )

    # --- items ---------------------------------------------------------------------------------------------

    def _grow(self, kind: str, text: str, logprobs: list[dict[str, Any]]) -> None:
        """Add text to the open item if it is of this kind; otherwise close it and open a new one."""
        if self._open is None or self._open["type"] != kind:
            self._close()
            if kind == "message":
                self._open_item({"id": _new_id("msg"), "type": "message", "role": "assistant"}, content=[])
                self._item_event("response.content_part.added", content_index=0, part=_text_part("", []))
            else:
                self._open_item({"id": _new_id("rs"), "type": "reasoning", "summary": []}, content=[])
                self._item_event("response.content_part.added", content_index=0, part=_reasoning_part(""))
        self._pieces.append(text)
        self._logprobs += logprobs
        if kind == "message":
            self._item_event("response.output_text.delta", content_index=0, delta=text, logprobs=logprobs)
        else:
            self._item_event("response.reasoning_text.delta", content_index=0, delta=text)

    def _open_item(self, item: dict[str, Any], **empty: Any) -> None:
        self._open = {**item, "status": "in_progress", **empty}
        self._pieces, self._logprobs = [], []
        self._event("response.output_item.added", output_index=len(self._output), item=self._open)

    def _close(self) -> None:
        """End the open item, if there is one."""
        item = self._open
        if item is None:
            return
        text = "".join(self._pieces)
        match item["type"]:
            case "message":
                part = _text_part(text, self._logprobs)
                self._item_event("response.output_text.done", content_index=0, text=text, logprobs=part["logprobs"])
                self._item_event("response.content_part.done", content_index=0, part=part)
                done = {"content": [part]}
            case "reasoning":
                part = _reasoning_part(text)
                self._item_event("response.reasoning_text.done", content_index=0, text=text)
                self._item_event("response.content_part.done", content_index=0, part=part)
                done = {"content": [part]}
            case _:
                self._item_event("response.function_call_arguments.done", name=item["name"], arguments=text)
                done = {"arguments": text}
        whole = {**item, **done, "status": "incomplete" if self._is_cut else "completed"}
        self._event("response.output_item.done", output_index=len(self._output), item=whole)
        self._output.append(whole)
        self._open = None

    def _item_event(self, kind: str, **fields: Any) -> None:
        assert self._open is not None
        self._event(kind, item_id=self._open["id"], output_index=len(self._output), **fields)

    def _event(self, kind: str, **fields: Any) -> None:
        self.events.add({"type": kind, "sequence_number": self._sequence_number, **fields}, kind)
        self._sequence_number += 1


def _text_part(text: str, logprobs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


def _reasoning_part(text: str) -> dict[str, Any]:
    return {"type": "reasoning_text", "text": text}


def _tool_choice_of(body: ResponseBody) -> Any:
    choice = body.tool_choice
    return {"type": choice.type, "name": choice.name} if isinstance(choice, ResponseToolChoice) else choice or "auto"


def _tool_of(tool: Any) -> dict[str, Any]:
    return {
        "type": tool.type,
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": True,
    }


def _new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(16)}"
