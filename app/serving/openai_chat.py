"""The endpoint for chat completions of OpenAI's API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import UNSET
from starlette.requests import Request
from typing_extensions import override

from app.serving.commands import (
    call_of,
    json_constraint,
    result_of,
    sampling_of,
    stops_of,
    thinking_options,
    tools_of,
)
from app.serving.endpoints import client_of, decoded
from app.serving.growing import AllEnded, Delta, Ended
from app.serving.openai_bodies import ChatBody, OfferedTool, ResponseFormat, ToolChoice, Turn
from app.serving.openai_shape import finish_reason, head_of, logprob_of, thinks_at, usage_of
from app.serving.problems import ProblemError, refusal
from app.serving.replies import Reply
from app.serving.service import LoadedModel, Service
from app.serving.shared_bodies import text_of
from app.serving.writer import Writer
from worker.protocol import Constraint, Continuation, Generate, Message, NamedTool, Tool
from worker.tools.turn_parts import CallArguments, CallBroken, CallEnded, CallStarted, Content, LeftOut, Part, Reasoning


class Chat:
    """The endpoint."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def create(self, request: Request, data: bytes, reply: Reply) -> None:
        """Answer a request. Raises `ProblemError`."""
        body = decoded(data, ChatBody)
        if not body.messages:
            raise ProblemError("invalid", "The request has no messages.", param="messages")
        model = await self._service.model(body.model)
        generate = _command(body, model)
        writer = _Writer(body, model, generate.n)
        async with self._service.answer(client_of(request, "openai"), model, generate) as answer:
            reply.headers |= answer.headers
            await writer.write(answer, reply)
        await writer.finish(reply)


# --- from the request to the worker's command --------------------------------------------------------------


def _command(body: ChatBody, model: LoadedModel) -> Generate:
    if body.top_logprobs and not body.logprobs:
        raise ProblemError("invalid", "`top_logprobs` goes with `logprobs` only.", param="top_logprobs")
    thinks = thinks_at(body.reasoning_effort)
    options = {**thinking_options(model, thinks=thinks), **(body.chat_template_kwargs or {})}
    messages = _messages(body.messages)
    continuation = _given(messages) if body.continue_final_message else None
    return Generate(
        request_id="",
        messages=messages,
        continuation=continuation,
        template_options=options or UNSET,
        sampling=sampling_of(model, body),
        stop=stops_of(body.stop),
        max_tokens=body.max_completion_tokens or body.max_tokens,
        n=body.n or 1,
        constraint=_constraint(body.response_format),
        top_logprobs=max(body.top_logprobs or 0, 1) if body.logprobs else 0,
        **tools_of(model, _tools(body.tools or []), _choice(body), is_parallel=body.parallel_tool_calls),
    )


def _given(messages: list[Message]) -> Continuation:
    """Remove the last message, and return it as the beginning of the answer. Raises `ProblemError`."""
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or last.tool_calls or not last.content:
        raise ProblemError(
            "invalid",
            "`continue_final_message` needs a last message of the assistant with text and without tool calls.",
            param="messages",
        )
    messages.pop()
    return Continuation(text=last.content)


def _messages(turns: Sequence[Turn]) -> list[Message]:
    messages: list[Message] = []
    for number, turn in enumerate(turns):
        path = f"messages[{number}]"
        text = text_of(turn.content, f"{path}.content")
        match turn.role:
            case "tool":
                messages.append(result_of(turn.tool_call_id or "", text, messages, f"{path}.tool_call_id"))
            case "assistant":
                calls = [
                    call_of(
                        call.function.name,
                        call.function.arguments,
                        call.id,
                        f"{path}.tool_calls[{place}].function.arguments",
                    )
                    for place, call in enumerate(turn.tool_calls or [])
                ]
                reasoning = turn.reasoning_content or ""
                messages.append(Message(role="assistant", content=text, reasoning=reasoning, tool_calls=calls))
            case role:
                messages.append(Message(role="system" if role == "developer" else role, content=text))
    return messages


def _tools(given: Sequence[OfferedTool]) -> list[Tool]:
    tools: list[Tool] = []
    for number, tool in enumerate(given):
        function = tool.function
        if tool.type != "function" or function is None:
            raise refusal(f"tools[{number}]", f"Bough has no tool `{tool.type}`, only functions of the client's")
        parameters = function.parameters or {"type": "object", "properties": {}}
        tools.append(Tool(name=function.name, description=function.description or "", parameters=parameters))
    return tools


def _choice(body: ChatBody) -> Literal["none", "auto", "required"] | NamedTool | None:
    match body.tool_choice:
        case ToolChoice(type="function", function=function) if function is not None:
            return NamedTool(name=function.name)
        case ToolChoice(type=kind):
            raise refusal("tool_choice", f"Bough can't choose `{kind}`")
        case choice:
            return choice


def _constraint(wanted: ResponseFormat | None) -> Constraint | None:
    match wanted:
        case None | ResponseFormat(type="text"):
            return None
        case ResponseFormat(type="json_object"):
            return json_constraint({"type": "object"})
        case ResponseFormat(type="json_schema", json_schema=named) if named is not None:
            return json_constraint(named.schema)
        case _:
            raise ProblemError(
                "invalid", f"There is no response format `{wanted.type}` like this.", param="response_format"
            )


# --- from the answer to the reply --------------------------------------------------------------------------


class _Choice:
    """One of the answers, as a whole."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[tuple[str, str, list[str]]] = []
        """The id, the name and the pieces of the arguments of each call."""
        self.has_begun = False
        self.logprobs: list[dict[str, Any]] = []
        self.reason = "stop"

    def add(self, part: Part, delta: dict[str, Any]) -> None:
        """Add a part to the whole reply and to an event."""
        match part:
            case Content(text):
                self._content.append(text)
                delta["content"] = delta.get("content", "") + text
            case Reasoning(text):
                self._reasoning.append(text)
                delta["reasoning_content"] = delta.get("reasoning_content", "") + text
            case CallStarted(index=index, id=call_id, name=name):
                self._calls.append((call_id, name, []))
                function = {"name": name, "arguments": ""}
                calls = delta.setdefault("tool_calls", [])
                calls.append({"index": index, "id": call_id, "type": "function", "function": function})
            case CallArguments(index=index, json_text=text):
                self._calls[index][2].append(text)
                calls = delta.setdefault("tool_calls", [])
                calls.append({"index": index, "function": {"arguments": text}})
            case CallEnded() | CallBroken() | LeftOut():
                # A call that the end of the answer cut is kept incomplete, as in OpenAI's API.
                pass

    def message(self) -> dict[str, Any]:
        content = "".join(self._content)
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if self._calls and not content else content,
            "refusal": None,
        }
        if self._calls:
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": "".join(arguments)}}
                for call_id, name, arguments in self._calls
            ]
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        return message


class _Writer(Writer):
    def __init__(self, body: ChatBody, model: LoadedModel, num_choices: int) -> None:
        super().__init__(is_stream=bool(body.stream))
        self._body = body
        self._head = head_of("chat.completion.chunk" if body.stream else "chat.completion", "chatcmpl", model)
        self._choices = [_Choice() for _ in range(num_choices)]
        self._usage: dict[str, Any] | None = None

    @override
    def take(self, delta: Delta) -> None:
        self._begin(delta.choice)
        choice = self._choices[delta.choice]
        grown: dict[str, Any] = {}
        for part in delta.parts:
            choice.add(part, grown)
        logprobs = [logprob_of(token, self._body.top_logprobs or 0) for token in delta.tokens]
        choice.logprobs += logprobs
        if grown or logprobs:
            self._chunk(delta.choice, grown, None, logprobs)

    @override
    def end(self, ended: Ended) -> None:
        self._begin(ended.choice)
        reason = finish_reason(ended.reason, ended.num_calls)
        self._choices[ended.choice].reason = reason
        self._chunk(ended.choice, {}, reason, [])

    @override
    def end_all(self, end: AllEnded) -> None:
        self._usage = usage_of([end.usage], end.num_reasoning)
        if self._body.includes_usage:
            self.events.add({**self._head, "choices": [], "usage": self._usage})
        self.events.end()

    @override
    def whole(self) -> dict[str, Any]:
        choices = [
            {
                "index": number,
                "message": choice.message(),
                "logprobs": {"content": choice.logprobs, "refusal": None} if self._body.logprobs else None,
                "finish_reason": choice.reason,
            }
            for number, choice in enumerate(self._choices)
        ]
        return {**self._head, "choices": choices, "usage": self._usage}

    def _begin(self, number: int) -> None:
        """Write an answer's first event, unless it was written. As in OpenAI's API, it has only the role."""
        if not self._choices[number].has_begun:
            self._choices[number].has_begun = True
            self._chunk(number, {"role": "assistant", "content": ""}, None, [])

    def _chunk(self, number: int, delta: dict[str, Any], reason: str | None, logprobs: list[Any]) -> None:
        found = {"content": logprobs, "refusal": None} if logprobs else None
        choice = {"index": number, "delta": delta, "logprobs": found, "finish_reason": reason}
        usage = {"usage": None} if self._body.includes_usage else {}
        self.events.add({**self._head, "choices": [choice], **usage})
