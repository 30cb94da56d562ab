"""How a chat template accepts tools, tool calls and their results. Converts messages to that shape."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from worker.protocol import Tool
from worker.templates.rendering import Render
from worker.tools.forms import FORMS, PLAIN, Form, JsonObject, NamedJson, reasoning_of
from worker.tools.turn_parts import CallArguments, CallStarted, parts_of
from worker.trial import StoppedError
from worker.values import ReasoningMarks

_NAME = "probe_tool"
_ARGUMENTS = {"probe_text": "probe value", "probe_number": 17}
_ID = "probe0001"
_PROBE = Tool(
    name=_NAME,
    description="A probe.",
    parameters={
        "type": "object",
        "properties": {"probe_text": {"type": "string"}, "probe_number": {"type": "integer"}},
        "required": ["probe_text", "probe_number"],
    },
)


@dataclass(frozen=True)
class ToolStyle:
    """How a model's prompts and answers contain tools."""

    form: Form = PLAIN
    """How the model writes tool calls; `PLAIN` if its template does not support tools."""
    reasoning: ReasoningMarks | None = None
    are_arguments_text: bool = False
    """Whether the template expects a call's arguments as JSON text rather than as an object."""
    takes_thinking: bool = False
    """Whether the template reads an answer's reasoning from the field `thinking`."""

    @property
    def is_plain(self) -> bool:
        return self.form is PLAIN

    def messages(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return messages in the shape that the template expects. Arguments of the given `tool_calls` are objects."""
        if self.is_plain:
            return _plain(messages, tools)
        return [self._message(message) for message in messages]

    def _message(self, message: dict[str, Any]) -> dict[str, Any]:
        shaped = dict(message)
        if "tool_calls" in message:
            shaped["tool_calls"] = [self._call(call) for call in message["tool_calls"]]
        if "tool_call_id" in message:
            shaped["tool_call_id"] = self._id(message["tool_call_id"])
        if "reasoning_content" in message:
            shaped["reasoning"] = message["reasoning_content"]
            if self.takes_thinking:
                shaped["thinking"] = message["reasoning_content"]
        return shaped

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        function = dict(call["function"])
        if self.are_arguments_text:
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
        return {**call, "id": self._id(call["id"]), "function": function}

    def _id(self, call_id: str) -> str:
        """Return an id that the template accepts: `call_id` itself, or an id made from it."""
        length = self.form.id_length
        if not length or (len(call_id) == length and call_id.isalnum()):
            return call_id
        return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def described(tool: Tool) -> dict[str, Any]:
    """Return a tool in the shape that templates expect."""
    parameters = tool.parameters or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


# --- the plain way -----------------------------------------------------------------------------------------


def _plain(messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages with only a role and content: tools in the system prompt, results in the user's turns."""
    shaped = [_plain_message(message) for message in messages]
    has_calls = any("tool_calls" in message or message["role"] == "tool" for message in messages)
    if tools:
        text = _PLAIN_SYSTEM.format(tools="\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools))
        if shaped and shaped[0]["role"] == "system":
            shaped[0] = {**shaped[0], "content": f"{shaped[0]['content']}\n\n{text}"}
        else:
            shaped.insert(0, {"role": "system", "content": text})
    if not has_calls:
        return shaped
    joined: list[dict[str, Any]] = []
    for message in shaped:
        if joined and message["role"] == "user" and joined[-1]["role"] == "user":
            joined[-1] = {"role": "user", "content": f"{joined[-1]['content']}\n{message['content']}"}
        else:
            joined.append(message)
    return joined


_PLAIN_SYSTEM = """\
You may call these tools. Each line describes one of them in JSON:
<tools>
{tools}
</tools>
To call a tool, write its name and its arguments as JSON between these tags, and nothing after them:
<tool_call>
{{"name": "the tool's name", "arguments": {{"argument": "value"}}}}
</tool_call>
The result then comes in <tool_response> tags."""


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if message["role"] == "tool":
        return {"role": "user", "content": f"<tool_response>\n{content}\n</tool_response>"}
    calls = [
        PLAIN.begin + "\n" + json.dumps(_written(call["function"]), ensure_ascii=False) + "\n" + PLAIN.end
        for call in message.get("tool_calls", ())
    ]
    return {"role": message["role"], "content": "\n".join([content, *calls] if content else calls)}


def _written(function: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": function["name"], "arguments": function["arguments"]}


# --- recognition -------------------------------------------------------------------------------------------


def style_of(render: Render, sources: Sequence[str], control_texts: Collection[str]) -> ToolStyle:
    """Find out how a model handles tools, by rendering a call with its template and parsing the result.

    `sources`: the templates. `control_texts`: the texts of the model's control tokens. Raises `StoppedError`.
    """
    reasoning = reasoning_of(sources, control_texts)
    takes_thinking = any("message.thinking" in source for source in sources)
    plain = ToolStyle(reasoning=reasoning, takes_thinking=takes_thinking)
    if sources and not any("tool" in source for source in sources):
        return plain
    tools = [described(_PROBE)]
    question = [{"role": "user", "content": "Hello"}]
    with_tools = _try(render, question, {"tools": tools})
    if _NAME not in with_tools:
        return plain
    for are_arguments_text in (False, True):
        arguments = json.dumps(_ARGUMENTS) if are_arguments_text else _ARGUMENTS
        function = {"name": _NAME, "arguments": arguments}
        calls = [{"id": _ID, "type": "function", "function": function}]
        turn = {"role": "assistant", "content": "", "tool_calls": calls}
        result = {"role": "tool", "content": "probe result", "tool_call_id": _ID, "name": _NAME}
        rendered = _try(render, [*question, turn, result], {"tools": tools})
        form = _form_in(rendered, with_tools)
        if form is not None:
            return ToolStyle(form, reasoning or form.reasoning, are_arguments_text, takes_thinking)
    source = "\n".join([*sources, *control_texts])
    named = next((form for form in FORMS if form.begin in source and form is not PLAIN), None)
    return plain if named is None else ToolStyle(named, reasoning or named.reasoning, takes_thinking=takes_thinking)


def _try(render: Render, messages: list[dict[str, Any]], options: Mapping[str, Any]) -> str:
    try:
        return render(messages, options)
    except StoppedError:
        raise
    except Exception:  # noqa: BLE001 (the model's template may raise anything)
        return ""


_BARE_CALL = re.compile(r'\{\s*"(?:type|name)"')


def _form_in(rendered: str, before: str) -> Form | None:
    """Return the form in which a rendered prompt contains the probe's call; None if it has no known form.

    `before`: the prompt up to the turn with the call, as the model would continue it.
    """
    schemas = {_NAME: _PROBE.parameters}
    for form in FORMS:
        begins = _BARE_CALL if form.is_bare else re.compile(re.escape(form.begin))
        for found in begins.finditer(rendered):
            if form.is_bare and rendered[: found.start()].rstrip() != before.rstrip():
                continue
            if isinstance(form.syntax, NamedJson | JsonObject) and not _opens(rendered[found.end() :], form):
                continue
            parts = parts_of(rendered[found.start() :], form, None, schemas)
            texts = [part.json_text for part in parts if isinstance(part, CallArguments) and part.index == 0]
            names = [part.name for part in parts if isinstance(part, CallStarted) and part.index == 0]
            if names == [_NAME] and _is_probe("".join(texts)):
                return form
    return None


def _opens(text: str, form: Form) -> bool:
    """Return whether a section's text begins with a list exactly if sections of this form do."""
    return text.lstrip().startswith("[") == form.opening.startswith("[")


def _is_probe(arguments: str) -> bool:
    try:
        return cast("object", json.loads(arguments)) == _ARGUMENTS
    except ValueError:
        return False
