"""Reads fine-tuning records: OpenAI's chat format, ShareGPT's, and preferences. Each record is one conversation."""

from __future__ import annotations

from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from worker.sentence import Sentence

NAME = Sentence("chat records (OpenAI, ShareGPT)")

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


def is_one(item: dict[str, Json]) -> bool:
    return (
        any(isinstance(item.get(key), list) for key in ("messages", "conversations", "conversation"))
        or ("chosen" in item and "rejected" in item)
    )  # fmt: skip


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one record."""
    remarks: Counter[Sentence] = Counter()
    if "chosen" in item and "rejected" in item:
        return _preference(item, remarks)
    keys = ("messages", "conversations", "conversation")
    found = next((list_of(item[key]) for key in keys if list_of(item.get(key))), [])
    messages = blocks.chained(_messages(found, remarks))
    system = text_of(item.get("system"))
    if system and not any(message.role == "system" for message in messages):
        messages = blocks.chained([ForeignMessage(id="", parent=None, role="system", text=system), *messages])
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
    name = text_of(theirs.get("role")) or text_of(theirs.get("from"))
    role = _ROLES.get(name.lower(), "note")
    text = blocks.joined_text(theirs.get("content") if "content" in theirs else theirs.get("value"), remarks, notes)
    text = blocks.with_reasoning(text_of(theirs.get("reasoning_content")), text)
    for called in list_of(theirs.get("tool_calls")):
        function = object_of(object_of(called).get("function"))
        notes.append(blocks.tool_call_note(text_of(function.get("name")), function.get("arguments"), remarks))
    if role == "note":
        label = "Tool result" if name in {"tool", "function", "observation"} else name.capitalize() or "Unknown role"
        text = blocks.other_note(f"{label}: {text_of(theirs.get('name'))}".rstrip(": "), text, remarks)
    return ForeignMessage(
        id="",
        parent=None,
        role=role,
        text=text,
        model=text_of(theirs.get("model")),
        created_ms=ms_of(theirs.get("timestamp")),
        notes=notes,
    )


def _preference(item: dict[str, Json], remarks: Counter[Sentence]) -> ForeignConversation:
    """Read a question with two answers. The chosen answer is shown."""
    prompt = blocks.chained(_messages(_turns(item.get("prompt"), "user"), remarks))
    last = prompt[-1].id if prompt else None
    messages = list(prompt)
    current = last
    for side in ("rejected", "chosen"):
        parent = last
        answers = _messages(_turns(item[side], "assistant"), remarks)
        # Some datasets repeat the whole conversation on both sides.
        for answer in answers[len(prompt) :] if prompt and len(answers) > len(prompt) else answers:
            answer.id, answer.parent = f"{side} {len(messages)}", parent
            messages.append(answer)
            parent = answer.id
        current = parent
    return ForeignConversation(name="", messages=messages, current=current, remarks=remarks)


def _turns(value: Json, role: str) -> list[Json]:
    return [{"role": role, "content": value}] if isinstance(value, str) else list_of(value)
