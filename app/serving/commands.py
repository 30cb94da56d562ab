"""Converts the fields of requests to parts of the worker's commands. Used by all APIs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import UNSET

from app.serving.problems import ProblemError
from app.serving.service import LoadedModel
from app.serving.shared_bodies import SamplingFields
from worker.protocol import Constraint, Message, NamedTool, Sampling, Tool, ToolCall

_T = TypeVar("_T")
_MIN_TOP_P = 1e-6
"""Replaces a `top_p` of 0, which means only the most likely token."""
_ALL_TOKENS = 4096
"""The worker's longest context for penalties."""


def sampling_of(model: LoadedModel, asked: SamplingFields) -> Sampling:
    """Return the sampling that a client requests, with the model makers' suggestions for missing fields.

    As in OpenAI's API, penalties cover only the answer, and seeds may be negative.
    """
    suggested = model.suggested
    return Sampling(
        temperature=_chosen(asked.temperature, suggested.temperature, 1.0),
        top_p=max(_chosen(asked.top_p, suggested.top_p, 1.0), _MIN_TOP_P),
        top_k=_chosen(asked.top_k, suggested.top_k, 0),
        min_p=_chosen(asked.min_p, suggested.min_p, 0.0),
        repetition_penalty=_chosen(asked.repetition_penalty, suggested.repetition_penalty, 1.0),
        presence_penalty=asked.presence_penalty or 0.0,
        frequency_penalty=asked.frequency_penalty or 0.0,
        penalty_context=_ALL_TOKENS,
        penalty_covers="new",
        logit_bias=dict(asked.logit_bias or {}),
        seed=None if asked.seed is None else asked.seed & (2**63 - 1),
    )


def json_constraint(schema: Any) -> Constraint:
    """Return the answer format of a JSON schema; UNSET and None mean any JSON value."""
    return Constraint(kind="json_schema", value=True if schema is UNSET or schema is None else schema)


def thinking_options(model: LoadedModel, *, thinks: bool | None) -> dict[str, Any]:
    """Return the option of the model's template that switches thinking on or off; empty if it has none."""
    option = model.info.thinking_option
    return {} if thinks is None or option is None else {option: thinks}


def tools_of(
    model: LoadedModel,
    tools: Sequence[Tool],
    choice: Literal["none", "auto", "required"] | NamedTool | None,
    *,
    is_parallel: bool | None,
) -> dict[str, Any]:
    """Return the fields of `Generate` for tools. Raises `ProblemError` if the worker does not support tools."""
    if not tools:
        return {}
    if model.info.tool_form is None:
        raise ProblemError("invalid", f"“{model.id}” can call no tools.", param="tools", code="unsupported_parameter")
    names = [tool.name for tool in tools]
    if isinstance(choice, NamedTool) and choice.name not in names:
        raise ProblemError("invalid", f"`tool_choice` names “{choice.name}”, which is no tool.", param="tool_choice")
    if len(set(names)) < len(names):
        raise ProblemError("invalid", "`tools` names a tool twice.", param="tools")
    return {
        "tools": list(tools),
        "tool_choice": "auto" if choice is None else choice,
        "parallel_tool_calls": is_parallel is not False,
    }


def call_of(name: str, arguments: str, call_id: str, path: str) -> ToolCall:
    """Return a tool call of an earlier answer. `arguments` is a JSON object as text. Raises `ProblemError`."""
    try:
        found = msgspec.json.decode(arguments or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise ProblemError("invalid", "The arguments of a call are not a JSON object.", param=path) from None
    return ToolCall(name=name, arguments=found, id=call_id)


def result_of(call_id: str, text: str, before: Sequence[Message], path: str) -> Message:
    """Return the result of a tool call that is in one of the messages `before`. Raises `ProblemError`."""
    for message in reversed(before):
        for call in message.tool_calls:
            if call.id == call_id:
                return Message(role="tool", content=text, tool_call_id=call_id, name=call.name)
    raise ProblemError("invalid", f"There is no call “{call_id}” before its result.", param=path)


def stops_of(stop: str | list[str] | None) -> list[str]:
    """Return the stop strings of a request, without empty ones."""
    return [text for text in ([stop] if isinstance(stop, str) else stop or []) if text]


def _chosen(given: _T | None, suggested: _T | None, usual: _T) -> _T:
    return given if given is not None else suggested if suggested is not None else usual
