"""Reads sessions of Codex CLI: a line per message, thought, tool call, result or event."""

from __future__ import annotations

import re
from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole, Piece
from app.model.imports.json_stream import Json
from app.model.imports.line_formats import CODEX
from app.model.imports.pieces import Pieces
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Codex"

_LEFT_OUT = Sentence("lines of Codex that are not messages, left out")
_ENCRYPTED = Sentence("encrypted thoughts and summaries of Codex, left out")
_MADE_BY_CODEX = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|permissions instructions|turn_aborted"
    r"|collaboration_mode|multi_agent_mode|apps_instructions|skills_instructions|plugins_instructions|skill"
    r"|subagent_notification|user_shell_command|model_switch)>)"
)
"""The beginnings of texts that Codex itself sends as the user."""
_REPEATED = {"user_message", "agent_message", "item_completed"}
"""Events whose texts are also in lines of their own."""


def is_one(item: dict[str, Json]) -> bool:
    is_first_form = isinstance(item.get("items"), list) and "instructions" in object_of(item.get("session"))
    return CODEX in item or is_first_form


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one session. The files only grow, so a message is known by the number of its line."""
    lines = list_of(item.get(CODEX)) or [item["session"], *list_of(item["items"])]
    session = _Session()
    for number, line in enumerate(lines):
        session.take(number, object_of(line))
    session.end()
    return ForeignConversation(
        name=session.name,
        messages=session.messages,
        id=session.id,
        current=session.last,
        created_ms=session.created_ms,
        default_model=session.model,
        remarks=session.remarks,
    )


class _Session:
    """A session, built line by line."""

    def __init__(self) -> None:
        self.id = self.name = self.model = ""
        self.created_ms: int | None = None
        self.messages: list[ForeignMessage] = []
        self.last: str | None = None
        self.remarks: Counter[Sentence] = Counter()
        self._above_turns: list[str | None] = []
        """The message above each of the user's questions in the current branch."""
        self._thoughts: list[str] = []
        """Thoughts with which the next part of the answer begins."""
        self._thought_at: tuple[int, int | None] = (0, None)
        """The line of the last thought, and its time."""
        self._event_thoughts: list[str] = []
        """Thoughts from events, which the next line may repeat."""
        self._tools: dict[str, str] = {}

    def take(self, number: int, line: dict[str, Json]) -> None:
        """Read one line: an item or an event in an envelope, or in older files a bare item."""
        inner = object_of(line.get("payload"))
        when_ms = ms_of(line.get("timestamp"))
        match text_of(line.get("type")):
            case "session_meta":
                self._begin(inner, when_ms)
            case "turn_context":
                self.model = text_of(inner.get("model")) or self.model
            case "response_item":
                self._take_item(number, when_ms, inner)
            case "event_msg":
                self._take_event(number, when_ms, inner)
            case "compacted":
                self._add(number, when_ms, [Piece("note", note("Summary", text_of(inner.get("message"))))])
            case "" if "instructions" in line:
                self._begin(line, when_ms)
            case kind if kind and "payload" not in line:
                self._take_item(number, when_ms, line)
            case _:
                self.remarks[_LEFT_OUT] += 1

    def end(self) -> None:
        """Add the thoughts that no answer follows."""
        number, when_ms = self._thought_at
        self._add(number, when_ms, self._begun().all)

    def _begin(self, meta: dict[str, Json], when_ms: int | None) -> None:
        if self.id:
            # A fork repeats the lines of the session that it comes from.
            return
        self.id = id_of(meta.get("id")) or ""
        self.created_ms = ms_of(meta.get("timestamp")) or when_ms
        instructions = meta.get("base_instructions") or meta.get("instructions")
        if text := text_of(object_of(instructions).get("text")) or text_of(instructions):
            self.last = "system prompt"
            self.messages.append(ForeignMessage(id=self.last, parent=None, role="system", text=text))

    def _take_item(self, number: int, when_ms: int | None, item: dict[str, Json]) -> None:
        kind = text_of(item.get("type"))
        if kind == "reasoning":
            self._take_thoughts(item)
            self._thought_at = number, when_ms
            return
        if kind == "message":
            self._take_message(number, when_ms, item)
            return
        if kind in {"compaction", "context_compaction", "compaction_summary"}:
            self.remarks[_ENCRYPTED] += 1
            return
        if kind == "ghost_snapshot":
            self.remarks[_LEFT_OUT] += 1
            return
        pieces = self._begun()
        pieces.add_note(self._note(kind, item))
        self._add(number, when_ms, pieces.all)

    def _take_message(self, number: int, when_ms: int | None, item: dict[str, Json]) -> None:
        role = text_of(item.get("role"))
        notes: list[str] = []
        text = blocks.joined_text(item.get("content"), self.remarks, notes)
        match role:
            case "assistant":
                pieces = self._begun()
                pieces.add_text(text)
            case "user" if not _MADE_BY_CODEX.match(text):
                self.end()
                self._above_turns.append(self.last)
                pieces = Pieces("user")
                pieces.add_text(text)
            case _:
                self.remarks[blocks.KEPT_AS_NOTES] += 1
                label = "Codex" if role == "user" else role.capitalize() or "Unknown role"
                pieces = self._begun()
                pieces.add_note(note(label, text))
        for words in notes:
            pieces.add_note(words)
        self._add(number, when_ms, pieces.all)

    def _take_thoughts(self, item: dict[str, Json]) -> None:
        found = [
            text_of(object_of(part).get("text")) for key in ("summary", "content") for part in list_of(item.get(key))
        ]
        thoughts = [text for text in found if text.strip()] or self._event_thoughts
        self._event_thoughts = []
        self._thoughts += thoughts
        if not thoughts and item.get("encrypted_content"):
            self.remarks[_ENCRYPTED] += 1

    def _take_event(self, number: int, when_ms: int | None, event: dict[str, Json]) -> None:
        match text_of(event.get("type")):
            case "agent_reasoning" | "agent_reasoning_raw_content":
                self._event_thoughts.append(text_of(event.get("text")))
                self._thought_at = number, when_ms
            case "turn_aborted":
                answers = (found for found in reversed(self.messages) if found.role in {"user", "assistant"})
                if (answer := next(answers, None)) is not None and answer.role == "assistant":
                    answer.state = "stopped"
            case "thread_rolled_back":
                self._roll_back(event.get("num_turns"))
            case "thread_name_updated":
                self.name = text_of(event.get("thread_name")) or self.name
            case "error":
                self._add(number, when_ms, [Piece("note", note("Error", text_of(event.get("message"))))])
            case kind if kind not in _REPEATED:
                self.remarks[_LEFT_OUT] += 1
            case _:
                pass

    def _roll_back(self, num_turns: Json) -> None:
        """Continue above one of the last questions, so that the next messages form another branch."""
        if isinstance(num_turns, int) and num_turns > 0 and self._above_turns:
            num_kept = max(0, len(self._above_turns) - num_turns)
            self.last = self._above_turns[num_kept]
            del self._above_turns[num_kept:]

    def _begun(self) -> Pieces:
        """Return an answer that begins with the thoughts before it."""
        pieces = Pieces("assistant")
        for thought in [*self._thoughts, *self._event_thoughts]:
            pieces.add_thought(thought)
        self._thoughts, self._event_thoughts = [], []
        return pieces

    def _note(self, kind: str, item: dict[str, Json]) -> str:
        call_id = text_of(item.get("call_id")) or text_of(item.get("id"))
        if kind == "image_generation_call" and item.get("result"):
            name = text_of(item.get("revised_prompt"))[:60]
            return blocks.picture_note(name, f"data:image/png;base64,{text_of(item['result'])}", self.remarks)
        if kind.endswith("_output"):
            output = item["output"] if "output" in item else item.get("tools")
            # Outputs of failed calls are objects with their text as `content`.
            output = object_of(output).get("content", output)
            return blocks.tool_result_note(self._tools.get(call_id, ""), output, self.remarks)
        if kind.endswith("_call"):
            name = self._tools[call_id] = text_of(item.get("name")) or kind.removesuffix("_call")
            arguments = next((item[key] for key in ("arguments", "input", "action") if key in item), None)
            return blocks.tool_call_note(name, arguments, self.remarks)
        return blocks.other_note(kind or "Unknown item", item, self.remarks)

    def _add(self, number: int, when_ms: int | None, pieces: list[Piece]) -> None:
        """Add a message below the last one. A message without pieces is left out, because it has no content."""
        if not pieces:
            return
        roles: list[ForeignRole] = [piece.role for piece in pieces if piece.role != "note"]
        role = roles[0] if roles else "note"
        message = ForeignMessage(
            id=f"#{number}", parent=self.last, role=role, text="", pieces=pieces, created_ms=when_ms
        )
        message.model = self.model if role == "assistant" else ""
        self.messages.append(message)
        self.last = message.id
