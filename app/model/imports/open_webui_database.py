"""Reads Open WebUI's database, `webui.db`: a table of chats as JSON, and in newer versions a table of messages."""

from __future__ import annotations

from collections.abc import Sequence

from app.model.imports import open_webui
from app.model.imports.blocks import id_of, list_of, object_of, text_of
from app.model.imports.database_file import DatabaseFile, Row
from app.model.imports.foreign import ForeignConversation, UnreadableError
from app.model.imports.json_stream import Json
from worker.sentence import Sentence

NAME = open_webui.NAME

_JSON = ("content", "output", "files", "sources", "meta", "error")
_NAMES = {"parent_id": "parentId", "model_id": "model", "created_at": "timestamp"}
"""The fields of a message in a chat's JSON, by the columns that hold them in the table of messages."""
_TAGS = Sentence("tags of Open WebUI, left out")
_ONLY_IN_TABLE = Sentence("messages that are only in Open WebUI's table of messages, added from there")
_SHARED = "shared-"
"""Shared copies of a chat belong to users whose names begin with this."""


def is_one(database: DatabaseFile) -> bool:
    return {"user_id", "title", "chat"} <= set(database.columns("chat"))


class Chats:
    """The chats of all users."""

    def __init__(self, database: DatabaseFile) -> None:
        self._database = database
        users = database.by("chat", "user_id")
        self._numbers = sorted(
            number for user, numbers in users.items() if not user.startswith(_SHARED) for number in numbers
        )
        self._num_users = sum(not user.startswith(_SHARED) for user in users)
        self._messages = database.by("chat_message", "chat_id")
        self._users, self._folders, self._files = (database.by(table, "id") for table in ("user", "folder", "file"))
        self._tags = database.by("chatidtag", "chat_id")

    def keys(self) -> Sequence[int]:
        """Return the numbers of the chats' rows."""
        return self._numbers

    def conversation(self, key: int) -> ForeignConversation:
        """Read one chat, as if it had been exported. Raises `UnreadableError`."""
        row = self._database.row("chat", key)
        chat = object_of(self._database.json(row.get("chat")))
        if not chat:
            raise UnreadableError(Sentence("it has no messages"))
        chat_id = id_of(row.get("id")) or ""
        history = object_of(chat.get("history")) or _chained(list_of(chat.get("messages")))
        listed = object_of(history.get("messages"))
        messages = self._merged(chat_id, listed)
        for message in messages.values():
            self._fill_files(object_of(message))
        tags = [text_of(tag) for tag in list_of(object_of(self._database.json(row.get("meta"))).get("tags"))]
        tags += [text_of(tag.get("tag_name")) for tag in self._database.rows("chatidtag", self._tags.get(chat_id))]
        found = open_webui.conversation(
            row
            | {
                "id": chat_id,
                "chat": chat | {"history": history | {"messages": messages, "currentId": _current(row, history)}},
                # The first versions had one time, and pinned chats by a tag.
                "created_at": row.get("created_at") or row.get("timestamp"),
                "pinned": bool(row.get("pinned")) or "pinned" in tags,
                "archived": bool(row.get("archived")),
                "folder": {"name": self._folder(row)},
            }
        )
        if num_more := len(messages) - len(listed) if listed else 0:
            found.remarks[_ONLY_IN_TABLE] += num_more
        if others := sum(tag != "pinned" for tag in tags):
            found.remarks[_TAGS] += others
        return found

    def _merged(self, chat_id: str, messages: dict[str, Json]) -> dict[str, Json]:
        """Return a chat's messages by their ids, with those that only the table of messages has."""
        merged = dict(messages)
        for row in self._database.rows("chat_message", self._messages.get(chat_id)):
            message_id = text_of(row.get("id")).removeprefix(f"{chat_id}-")
            message = {
                _NAMES.get(name, name): self._database.json(value) if name in _JSON else value
                for name, value in row.items()
            }
            if "done" in message:
                message["done"] = bool(message["done"])
            present = {
                name: value for name, value in object_of(merged.get(message_id)).items() if value not in (None, "")
            }
            merged[message_id] = message | present
        return merged

    def _fill_files(self, message: dict[str, Json]) -> None:
        """Add the texts of attached files, which are in a table of their own."""
        for found in list_of(message.get("files")):
            file = object_of(found)
            inner = object_of(file.get("file"))
            rows = self._files.get(id_of(file.get("id")) or id_of(inner.get("id")) or "")
            if rows and not object_of(inner.get("data")).get("content") and not file.get("content"):
                row = self._database.row("file", rows[0])
                file["file"] = inner | {"filename": row.get("filename"), "data": self._database.json(row.get("data"))}

    def _folder(self, chat: Row) -> str:
        """Return the path of a chat's folder, below its user's name if there are several users."""
        names: list[str] = []
        seen: set[str] = set()
        folder_id = text_of(chat.get("folder_id"))
        while folder_id not in seen and (rows := self._folders.get(folder_id)):
            seen.add(folder_id)
            folder = self._database.row("folder", rows[0])
            names.insert(0, text_of(folder.get("name")))
            folder_id = text_of(folder.get("parent_id"))
        if self._num_users > 1:
            rows = self._users.get(text_of(chat.get("user_id")))
            user = self._database.row("user", rows[0]) if rows else {}
            names.insert(0, text_of(user.get("name")) or text_of(chat.get("user_id")))
        return "/".join(names)


def _chained(messages: list[Json]) -> dict[str, Json]:
    """Return the history of a chat of the first versions, whose messages are a list."""
    ids = [id_of(object_of(message).get("id")) or f"#{number}" for number, message in enumerate(messages)]
    parents = [None, *ids]
    return {
        "messages": {
            message_id: {"parentId": parent} | object_of(message)
            for message_id, parent, message in zip(ids, parents, messages, strict=False)
        },
        "currentId": ids[-1] if ids else None,
    }


def _current(row: Row, history: dict[str, Json]) -> Json:
    return history.get("currentId") or row.get("current_message_id")
