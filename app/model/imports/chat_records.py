"""Reads fine-tuning records: OpenAI's chat format, ShareGPT's, and preferences. Each record is one conversation."""

from __future__ import annotations

import itertools
from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole, join_answers
from app.model.imports.json_stream import Json
from worker.sentence import Sentence

NAME = Sentence("chat records (OpenAI, ShareGPT)")

REPEATED = Sentence("questions that both answers of a pair repeat, kept once")

_ROLES: dict[str, ForeignRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
}


_OTHER_ROLES = {"tool", "function", "observation", "ipython", "function_call"}
_REASONING = ("reasoning_content", "reasoning", "thinking")
_TIMES = ("timestamp", "created_at", "create_time", "createdAt")
_KEYS = ("messages", "conversations", "conversation")
_FIELDS = {*_KEYS, "chosen", "rejected", "prompt", "system", "title", "name", "id", "created_at", "create_time"}
_FIELDS_OF_MESSAGE = {
    "role", "from", "content", "value", "name", "model", "id", "type", "refusal", "tool_calls", "tool_call_id",
    "function_call", *_REASONING, *_TIMES,
}  # fmt: skip
_MAX_NAMES_CHARS = 100


def is_one(item: dict[str, Json]) -> bool:
    if "chosen" in item and "rejected" in item:
        return all(isinstance(item[side], str) or _are_turns(item[side]) for side in ("chosen", "rejected"))
    return any(_are_turns(item.get(key)) for key in _KEYS)


def _are_turns(value: Json) -> bool:
    """Return whether a value is a list of messages, each with a role and a content, at least one role known."""
    if not isinstance(value, list):
        return False
    turns = [object_of(found) for found in list_of(value)]
    names = [_role_name(turn) for turn in turns]
    are_messages = all(
        name and ("content" in turn or "value" in turn or "tool_calls" in turn)
        for name, turn in zip(names, turns, strict=True)
    )
    return are_messages and (not names or any(name.lower() in _ROLES or name in _OTHER_ROLES for name in names))


def _role_name(turn: dict[str, Json]) -> str:
    return text_of(turn.get("role")) or text_of(turn.get("from"))


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one record."""
    remarks: Counter[Sentence] = Counter()
    _remark(item, _FIELDS, remarks)
    if "chosen" in item and "rejected" in item:
        return _preference(item, remarks)
    found = next((list_of(item[key]) for key in _KEYS if list_of(item.get(key))), [])
    messages = blocks.chained(_messages(found, remarks))
    system = text_of(item.get("system"))
    if system and not any(message.role == "system" for message in messages):
        messages = blocks.chained([ForeignMessage(id="", parent=None, role="system", text=system), *messages])
    join_answers(messages)
    return ForeignConversation(
        name=text_of(item.get("title")) or text_of(item.get("name")),
        messages=messages,
        current=messages[-1].id if messages else None,
        created_ms=ms_of(item.get("created_at")) or ms_of(item.get("create_time")),
        remarks=remarks,
    )


def _messages(found: list[Json], remarks: Counter[Sentence]) -> list[ForeignMessage]:
    return [_message(object_of(one), remarks) for one in found if object_of(one)]


def _message(theirs: dict[str, Json], remarks: Counter[Sentence]) -> ForeignMessage:
    notes: list[str] = []
    name = _role_name(theirs)
    role = _ROLES.get(name.lower(), "note")
    content = theirs.get("content") if "content" in theirs else theirs.get("value")
    text = blocks.joined_text(content, remarks, notes)
    if content is not None and not isinstance(content, str | list):
        notes.append(blocks.other_note("Content", content, remarks))
    reasoning = next((words for key in _REASONING if (words := text_of(theirs.get(key)))), "")
    text = blocks.with_reasoning(reasoning, text)
    if refusal := text_of(theirs.get("refusal")):
        text = f"{text}\n\n{refusal}".lstrip()
    calls = list_of(theirs.get("tool_calls"))
    if theirs.get("function_call"):
        # The older format for one call.
        calls = [*calls, {"function": theirs["function_call"]}]
    for called in calls:
        function = object_of(object_of(called).get("function"))
        notes.append(blocks.tool_call_note(text_of(function.get("name")), function.get("arguments"), remarks))
    if role == "note":
        label = "Tool result" if name in {"tool", "function", "observation"} else name.capitalize() or "Unknown role"
        text = blocks.other_note(f"{label}: {text_of(theirs.get('name'))}".rstrip(": "), text, remarks)
    _remark(theirs, _FIELDS_OF_MESSAGE, remarks)
    return ForeignMessage(
        id="",
        parent=None,
        role=role,
        text=text,
        model=text_of(theirs.get("model")),
        created_ms=next((ms for key in _TIMES if (ms := ms_of(theirs.get(key))) is not None), None),
        notes=notes,
    )


def _remark(found: dict[str, Json], known: set[str], remarks: Counter[Sentence]) -> None:
    """Count the fields that Bough does not import."""
    others = sorted(str(key) for key, value in found.items() if key not in known and value not in (None, "", [], {}))
    if others:
        names = ", ".join(others)[:_MAX_NAMES_CHARS]
        remarks[Sentence("chat records or messages with other fields, left out ({names})", names=names)] += 1


def _preference(item: dict[str, Json], remarks: Counter[Sentence]) -> ForeignConversation:
    """Read a question with two answers. The chosen answer is shown."""
    sides = [_messages(_turns(item[side], "assistant"), remarks) for side in ("rejected", "chosen")]
    prompt = _messages(_turns(item.get("prompt"), "user"), remarks)
    # Some datasets repeat the whole conversation on both sides.
    for index, answers in enumerate(sides):
        if prompt and len(answers) > len(prompt) and _words(answers[: len(prompt)]) == _words(prompt):
            sides[index] = answers[len(prompt) :]
            remarks[REPEATED] += 1
    if not prompt:
        pairs = zip(*(map(_word, side) for side in sides), strict=False)
        num_shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        num_shared = min(num_shared, len(sides[0]) - 1, len(sides[1]) - 1)
        if num_shared > 0:
            prompt, sides = sides[1][:num_shared], [side[num_shared:] for side in sides]
            remarks[REPEATED] += 1
    messages = blocks.chained(prompt)
    last = messages[-1].id if messages else None
    current = last
    for side, answers in zip(("rejected", "chosen"), sides, strict=True):
        parent = last
        for answer in answers:
            answer.id, answer.parent = f"{side} {len(messages)}", parent
            messages.append(answer)
            parent = answer.id
        current = parent
    return ForeignConversation(name="", messages=messages, current=current, remarks=remarks)


def _words(messages: list[ForeignMessage]) -> list[tuple[str, str]]:
    return [_word(message) for message in messages]


def _word(message: ForeignMessage) -> tuple[str, str]:
    return message.role, message.text


def _turns(value: Json, role: str) -> list[Json]:
    return [{"role": role, "content": value}] if isinstance(value, str) else list_of(value)
