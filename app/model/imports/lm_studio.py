"""Reads LM Studio's conversation files: a list of messages, each with several versions, one of them selected."""

from __future__ import annotations

from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.message import State
from worker.sentence import Sentence

NAME = "LM Studio"

_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant"}
_STATES: dict[str, State] = {
    "userStopped": "stopped",
    "maxPredictedTokensReached": "cut",
    "contextLengthReached": "cut",
    "failed": "failed",
}
_UNSENT = Sentence("notes and unsent texts of LM Studio, left out")
_SYSTEM_PROMPT = "llm.prediction.systemPrompt"


def is_one(item: dict[str, Json]) -> bool:
    return any("versions" in object_of(message) for message in list_of(item.get("messages"))[:3])


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one conversation. The next message follows the selected version."""
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    fields = list_of(object_of(item.get("perChatPredictionConfig")).get("fields"))
    settings = {text_of(object_of(one).get("key")): object_of(one).get("value") for one in fields}
    system = text_of(item.get("systemPrompt")) or text_of(settings.get(_SYSTEM_PROMPT))
    unsent = [
        text_of(item.get("clientInput")).strip(),
        *list_of(item.get("clientInputFiles")),
        *list_of(item.get("notes")),
    ]
    if num_unsent := sum(map(bool, unsent)):
        remarks[_UNSENT] += num_unsent
    last: str | None = None
    if system:
        last = "system prompt"
        messages.append(ForeignMessage(id=last, parent=None, role="system", text=system))
    model = text_of(object_of(item.get("lastUsedModel")).get("identifier"))
    for position, found in enumerate(list_of(item["messages"])):
        versions = list_of(object_of(found).get("versions"))
        selected = object_of(found).get("currentlySelected")
        chosen = last
        for number, version in enumerate(versions):
            message = _message(object_of(version), f"{position}.{number}", last, model, remarks)
            if message is None:
                continue
            messages.append(message)
            if number == selected or chosen == last:
                chosen = message.id
        last = chosen
    return ForeignConversation(
        name=text_of(item.get("name")),
        messages=messages,
        # It names its files by the time of creation.
        id=id_of(item.get("createdAt")) or "",
        has_message_ids=False,
        current=last,
        created_ms=ms_of(item.get("createdAt")),
        updated_ms=ms_of(item.get("assistantLastMessagedAt")) or ms_of(item.get("userLastMessagedAt")),
        is_pinned=item.get("pinned") is True,
        remarks=remarks,
    )


def _message(
    version: dict[str, Json], message_id: str, parent: str | None, model: str, remarks: Counter[Sentence]
) -> ForeignMessage | None:
    role_name = text_of(version.get("role"))
    role = _ROLES.get(role_name, "note")
    pieces = Pieces(role)
    steps = list_of(version.get("steps")) or [{"type": "contentBlock", "content": version.get("content")}]
    state: State = "complete"
    for found in steps:
        step = object_of(found)
        info = object_of(step.get("genInfo"))
        model = text_of(info.get("identifier")) or model
        reason = text_of(object_of(info.get("stats")).get("stopReason")) or text_of(info.get("stopReason"))
        state = _STATES.get(reason, state)
        if text_of(step.get("type")) != "contentBlock":
            if not info:
                # Status lines of LM Studio's window.
                remarks[Sentence("status lines of LM Studio, left out")] += 1
            continue
        is_thought = text_of(object_of(step.get("style")).get("type")) == "thinking"
        for inner in list_of(step.get("content")):
            block = object_of(inner)
            match text_of(block.get("type")):
                case "text" if is_thought:
                    pieces.add_thought(text_of(block.get("text")))
                case "text":
                    pieces.add_text(text_of(block.get("text")))
                case "file":
                    pieces.add_note(blocks.missing_file_note(_file_name(block), remarks))
                case "toolCallRequest":
                    name = text_of(block.get("name"))
                    pieces.add_note(
                        blocks.tool_call_note(name, block.get("parameters", block.get("arguments")), remarks)
                    )
                case "toolCallResult":
                    name = text_of(block.get("name"))
                    pieces.add_note(blocks.tool_result_note(name, block.get("content"), remarks))
                case kind:
                    pieces.add_note(blocks.other_note(kind or "Unknown block", block, remarks))
    if not pieces.all:
        return None
    if role == "note":
        words = "\n\n".join(piece.text for piece in pieces.all)
        return ForeignMessage(
            id=message_id,
            parent=parent,
            role=role,
            text=blocks.other_note(role_name.capitalize() or "Unknown role", words, remarks),
        )
    return ForeignMessage(
        id=message_id,
        parent=parent,
        role=role,
        text="",
        pieces=pieces.all,
        state=state if role == "assistant" else "complete",
        model=model if role == "assistant" else "",
    )


def _file_name(block: dict[str, Json]) -> str:
    return text_of(block.get("name")) or text_of(block.get("fileIdentifier"))
