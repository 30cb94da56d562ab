"""Reads the log of simonw's llm, `logs.db`: threads in a tree of messages, or conversations of responses."""

from __future__ import annotations

import mimetypes
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Literal, NamedTuple

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.database_file import DatabaseFile, Row
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.notes import note
from worker.sentence import Sentence

NAME = "llm"

_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant"}
_NAMES_OF_FORKS = Sentence("names of forks of llm, left out")
_WITH_ZONE = re.compile(r"(?:Z|[+-]\d\d:?\d\d)$")


class _Key(NamedTuple):
    """The location of a conversation: rows of the table of responses, or threads."""

    table: Literal["threads", "responses", "logs"]
    id: str
    numbers: tuple[int, ...]


def is_one(database: DatabaseFile) -> bool:
    tables = set(database.tables)
    return {"_llm_migrations", "conversations", "responses"} <= tables or {"threads", "turns", "messages"} <= tables


class Chats:
    """All conversations. A thread has the id of the conversation that it continues, and repeats its responses."""

    def __init__(self, database: DatabaseFile) -> None:
        self._database = database
        self._names = database.by("conversations", "id")
        self._responses = self._grouped("responses", "conversation_id")
        self._attached = {
            table: database.by(table, column)
            for table, column in (
                ("prompt_attachments", "response_id"),
                ("prompt_fragments", "response_id"),
                ("system_fragments", "response_id"),
                ("tool_calls", "response_id"),
                ("tool_results", "response_id"),
                ("tool_results_attachments", "tool_result_id"),
                ("attachments", "id"),
                ("fragments", "id"),
                ("schemas", "id"),
                ("messages", "hash"),
                ("parts", "message_hash"),
                ("turns", "thread_id"),
                ("turn_fragments", "turn_id"),
            )
        }

    def keys(self) -> Sequence[_Key]:
        """Return the locations of the conversations."""
        threads = self._threads()
        with_threads = self._database.by("threads", "id")
        found = {
            key: _Key("responses", key, tuple(numbers))
            for key, numbers in self._responses.items()
            if key not in with_threads
        }
        logs = [_Key("logs", f"log {key}", tuple(numbers)) for key, numbers in self._grouped("logs", "chat_id").items()]
        return [*logs, *found.values(), *(_Key("threads", key, tuple(numbers)) for key, numbers in threads.items())]

    def conversation(self, key: _Key) -> ForeignConversation:
        """Read one conversation. Raises `UnreadableError`."""
        return self._of_threads(key) if key.table == "threads" else self._of_responses(key)

    def _threads(self) -> dict[str, list[int]]:
        """Return the threads, grouped by the thread from which they were originally forked."""
        rows = [
            (number, self._database.row("threads", number))
            for numbers in self._database.by("threads", "id").values()
            for number in numbers
        ]
        above = {id_of(row.get("id")): id_of(row.get("forked_from")) for _, row in rows}
        found: dict[str, list[int]] = {}
        for number, row in rows:
            thread = id_of(row.get("id"))
            seen = {thread}
            while (parent := above.get(thread)) is not None and parent in above and parent not in seen:
                seen.add(parent)
                thread = parent
            found.setdefault(thread or "", []).append(number)
        return found

    def _grouped(self, table: Literal["responses", "logs"], column: str) -> dict[str, array[int]]:
        """Return the rows of each conversation by its id.

        A row without the id of a conversation begins a conversation with its own id.
        """
        rest = self._database.by(table, column)
        inside = {number for numbers in rest.values() for number in numbers}
        heads = {
            key: numbers for key, numbers in self._database.by(table, "id").items() if not inside.issuperset(numbers)
        }
        found = {key: numbers + rest.pop(key, array("q")) for key, numbers in heads.items()}
        return dict(rest) | found

    # --- responses -----------------------------------------------------------------------------------------

    def _of_responses(self, key: _Key) -> ForeignConversation:
        names = self._database.rows("conversations", self._names.get(key.id))
        found = ForeignConversation(name=text_of(names[0].get("name")) if names else "", messages=[], id=key.id)
        self._add_responses(found, self._database.rows(key.table, key.numbers))
        return found

    def _add_responses(self, found: ForeignConversation, rows: Sequence[Row]) -> None:
        system = ""
        for row in rows:
            response_id = id_of(row.get("id")) or ""
            instructions = "\n".join(
                [*self._fragments("system_fragments", response_id), text_of(row.get("system"))]
            ).strip("\n")
            if instructions and instructions != system:
                system = instructions
                self._add(found, f"{response_id} system", "system", [("system", instructions)], row)
            self._add(found, f"{response_id} question", "user", self._question(row, response_id, found.remarks), row)
            self._add(found, response_id, "assistant", self._answer(row, response_id, found.remarks), row)
            found.default_model = text_of(row.get("model")) or found.default_model

    def _add(
        self, found: ForeignConversation, message_id: str, role: ForeignRole, parts: list[tuple[str, str]], row: Row
    ) -> None:
        """Add a message below the last one, unless it has no parts. Each part is a kind and a text."""
        pieces = Pieces(role)
        for kind, text in parts:
            match kind:
                case "thought":
                    pieces.add_thought(text)
                case "note":
                    pieces.add_note(text)
                case _:
                    pieces.add_text(text)
        if not pieces.all:
            return
        asked_ms = _ms(row.get("datetime_utc"))
        lasted_ms = row.get("duration_ms")
        is_answer = role == "assistant"
        message = ForeignMessage(
            id=message_id,
            parent=found.messages[-1].id if found.messages else None,
            role=role if any(piece.role == role for piece in pieces.all) else "note",
            text="",
            pieces=pieces.all,
            created_ms=asked_ms + lasted_ms
            if is_answer and asked_ms is not None and isinstance(lasted_ms, int) and lasted_ms > 0
            else asked_ms,
            model=text_of(row.get("resolved_model")) or text_of(row.get("model")) if is_answer else "",
        )
        found.messages.append(message)
        found.current = message_id

    def _question(self, row: Row, response_id: str, remarks: Counter[Sentence]) -> list[tuple[str, str]]:
        parts: list[tuple[str, str]] = []
        for result in self._of("tool_results", response_id):
            output = text_of(result.get("output")) or text_of(result.get("exception"))
            parts.append(("note", blocks.tool_result_note(text_of(result.get("name")), output, remarks)))
            links = self._of("tool_results_attachments", str(result.get("id")))
            parts += [("note", self._attachment(link, remarks)) for link in links]
        texts = [*self._fragments("prompt_fragments", response_id), text_of(row.get("prompt"))]
        parts.append(("text", "\n".join(text for text in texts if text)))
        parts += [("note", self._attachment(link, remarks)) for link in self._of("prompt_attachments", response_id)]
        schemas = self._of("schemas", text_of(row.get("schema_id")))
        formats = [self._database.json(found.get("content")) for found in schemas]
        return parts + [("note", blocks.other_note("Answer format", found, remarks)) for found in formats]

    def _answer(self, row: Row, response_id: str, remarks: Counter[Sentence]) -> list[tuple[str, str]]:
        parts = [("thought", text_of(row.get("reasoning"))), ("text", text_of(row.get("response")))]
        for call in self._of("tool_calls", response_id):
            arguments = self._database.json(call.get("arguments"))
            parts.append(("note", blocks.tool_call_note(text_of(call.get("name")), arguments, remarks)))
        return parts

    # --- threads -------------------------------------------------------------------------------------------

    def _of_threads(self, key: _Key) -> ForeignConversation:
        threads = self._database.rows("threads", key.numbers)
        first = next((row for row in threads if id_of(row.get("id")) == key.id), threads[0])
        found = ForeignConversation(
            name=text_of(first.get("name")), messages=[], id=key.id, created_ms=_ms(first.get("datetime_utc"))
        )
        turns = [turn for row in threads for turn in self._of("turns", id_of(row.get("id")) or "")]
        turns.sort(key=lambda turn: text_of(turn.get("datetime_utc")))
        tips = [turn.get("tip_message_hash") for turn in turns] + [row.get("tip_message_hash") for row in threads]
        rows: dict[str, Row] = {}
        for tip in tips:
            rows |= self._chain(id_of(tip), rows)
        asked: dict[str, Row] = {}
        for turn in turns:
            above = id_of(turn.get("parent_message_hash"))
            message = id_of(turn.get("tip_message_hash"))
            given = {"datetime_utc": turn.get("datetime_utc")}
            while message is not None and message in rows and message not in asked:
                asked[message] = turn
                if message == above:
                    # The parts from here on were given to the model.
                    asked[message], turn = {"question_of": turn, **given}, given
                message = id_of(rows[message].get("parent_hash"))
        self._add_older(found, threads, turns)
        if not found.messages:
            self._add_settings(asked, rows)
        ids = self._add_new(
            found, [self._message(key, row, asked.get(key, {}), found.remarks) for key, row in rows.items()]
        )
        last = next((id_of(tip) for tip in reversed(tips[: len(turns)])), id_of(first.get("tip_message_hash")))
        found.current = ids.get(last or "", found.current)
        found.default_model = text_of(turns[-1].get("model")) if turns else found.default_model
        forks = sum(bool(row.get("name")) and row.get("name") != first.get("name") for row in threads)
        if forks:
            found.remarks[_NAMES_OF_FORKS] += forks
        return found

    def _add_older(self, found: ForeignConversation, threads: Sequence[Row], turns: Sequence[Row]) -> None:
        """Add the responses that llm wrote before it had threads. It keeps them, and repeats them in the thread."""
        written = {id_of(turn.get("id")) for turn in turns}
        for thread in threads:
            key = id_of(thread.get("id")) or ""
            rows = self._database.rows("responses", self._responses.get(key))
            if key == found.id:
                self._add_responses(found, rows)
            elif rest := [row for row in rows if id_of(row.get("id")) not in written]:
                # A fork's responses begin in the middle of a conversation, but do not say where.
                self._add_responses(found, rest)

    def _add_new(self, found: ForeignConversation, messages: Sequence[ForeignMessage]) -> dict[str, str]:
        """Add a thread's messages, parents first, except those that were added as responses.

        Return the ids of all of them in the conversation.
        """
        ids: dict[str, str] = {}
        older = {message.id: message for message in found.messages}
        below: dict[str | None, list[ForeignMessage]] = {}
        for message in found.messages:
            below.setdefault(message.parent, []).append(message)
        for message in messages:
            parent = message.parent = ids.get(message.parent or "", message.parent)
            # A response has the results of tools and the user's text in one question.
            candidates = [*([older[parent]] if parent in older else []), *below.get(parent, [])]
            same = next((other for other in candidates if _is_in(message, other)), None)
            ids[message.id] = message.id if same is None else same.id
            if same is None:
                found.messages.append(message)
        return ids

    def _chain(self, message: str | None, known: Mapping[str, Row]) -> dict[str, Row]:
        """Return the rows of a message and of its unknown ancestors, parents first."""
        rows: dict[str, Row] = {}
        while message is not None and message not in known and message not in rows:
            own = self._of("messages", message)
            if not own:
                break
            rows[message] = own[0]
            message = id_of(own[0].get("parent_hash"))
        return dict(reversed(rows.items()))

    def _message(self, message_id: str, row: Row, turn: Row, remarks: Counter[Sentence]) -> ForeignMessage:
        role = _ROLES.get(text_of(row.get("role")), "note")
        pieces = Pieces(role)
        parts = sorted(self._of("parts", message_id), key=lambda part: part.get("position") or 0)
        for part in parts:
            payload = object_of(self._database.json(part.get("payload")))
            text = text_of(part.get("text")) or text_of(payload.get("text")) or self._joined(payload.get("text_ref"))
            name = text_of(part.get("tool_name")) or text_of(payload.get("name"))
            links = [{"attachment_id": object_of(link).get("id")} for link in list_of(payload.get("attachments"))]
            match text_of(part.get("type")):
                case "text" if role == "note":
                    pieces.add_note(blocks.other_note(text_of(row.get("role")).capitalize(), text, remarks))
                case "text":
                    pieces.add_text(text)
                case "reasoning":
                    pieces.add_thought(text)
                case "tool_call":
                    pieces.add_note(blocks.tool_call_note(name, payload.get("arguments"), remarks))
                case "tool_result":
                    output = payload.get("output") or payload.get("exception")
                    pieces.add_note(blocks.tool_result_note(name, output, remarks))
                case "attachment":
                    links.append({"attachment_id": object_of(payload.get("attachment")).get("id")})
                case kind:
                    pieces.add_note(blocks.other_note(kind or "Unknown part", payload, remarks))
            for link in links:
                pieces.add_note(self._attachment(link, remarks))
        for words in list_of(turn.get("system_texts")):
            pieces.add_note(note("System", text_of(words)))
        for schema in self._of("schemas", text_of(object_of(turn.get("question_of")).get("schema_id"))):
            found = self._database.json(schema.get("content"))
            pieces.add_note(blocks.other_note("Answer format", found, remarks))
        return ForeignMessage(
            id=message_id,
            parent=id_of(row.get("parent_hash")),
            role=role,
            text="",
            pieces=pieces.all,
            created_ms=_ms(turn.get("datetime_utc")),
            model=(text_of(turn.get("resolved_model")) or text_of(turn.get("model"))) if role == "assistant" else "",
        )

    def _add_settings(self, asked: dict[str, Row], rows: Mapping[str, Row]) -> None:
        """Add to questions the texts that were added to the system prompt for them, and are not in a system message."""
        systems = [part for key, row in rows.items() if row.get("role") == "system" for part in self._of("parts", key)]
        known = "\n".join(text_of(part.get("text")) or text_of(part.get("payload")) for part in systems)
        for turn in asked.values():
            links = self._of("turn_fragments", text_of(object_of(turn.get("question_of")).get("id")))
            fragments = [
                self._of("fragments", str(one.get("fragment_id"))) for one in links if one.get("kind") == "system"
            ]
            texts = [text_of(row.get("content")) for found in fragments for row in found]
            turn["system_texts"] = [text for text in texts if text not in known]

    def _joined(self, pieces: Json) -> str:
        """Return a text that is stored as literal parts and references to fragments."""
        texts: list[str] = []
        for found in list_of(pieces):
            piece = object_of(found)
            rows = self._of("fragments", str(piece.get("fragment")))
            texts.append(text_of(piece.get("literal")) or (text_of(rows[0].get("content")) if rows else ""))
        return "".join(texts)

    # --- what both have --------------------------------------------------------------------------------------

    def _of(self, table: str, key: str) -> list[Row]:
        rows = self._database.rows(table, self._attached[table].get(key))
        return sorted(rows, key=lambda row: row.get("order") or 0)

    def _fragments(self, table: str, response_id: str) -> list[str]:
        links = self._of(table, response_id)
        rows = [row for link in links for row in self._of("fragments", str(link.get("fragment_id")))]
        return [text_of(row.get("content")) for row in rows]

    def _attachment(self, link: Row, remarks: Counter[Sentence]) -> str:
        """Return a note with an attachment.

        If the attachment is a separate file or a web address, the note only names it.
        """
        key = id_of(link.get("attachment_id")) or ""
        row = next(iter(self._of("attachments", key)), {})
        kind = text_of(row.get("type"))
        name = PurePath(text_of(row.get("path"))).name or f"{key[:8]}{mimetypes.guess_extension(kind) or ''}"
        if isinstance(content := row.get("content"), bytes):
            return blocks.file_note(name, content, remarks)
        if url := text_of(row.get("url")):
            remarks[blocks.NOT_IN_THE_FILE] += 1
            return note(f"File: {url.rpartition('/')[2] or name}", url)
        return blocks.missing_file_note(name, remarks)


def _is_in(message: ForeignMessage, other: ForeignMessage) -> bool:
    """Return whether a message has the same role as another one, and no part that the other one lacks."""
    asking = {"user", "note"}
    if message.role != other.role and not {message.role, other.role} <= asking:
        return False
    return _words(message) <= _words(other)


def _words(message: ForeignMessage) -> set[str]:
    return {" ".join(piece.text.split()) for piece in message.pieces}


def _ms(value: Json) -> int | None:
    """Return a time in milliseconds; times without a zone are in UTC."""
    text = text_of(value)
    return ms_of(text if _WITH_ZONE.search(text) else f"{text}+00:00")
