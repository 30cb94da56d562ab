"""Reads Gemini's chats from Google Takeout: the record of activity, in JSON or HTML, and the history of conversations.

The activity has one record for each prompt and its answer. Few records name their conversation; the others are grouped
by time.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import unquote

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.bundle import NOTHING_NEARBY, Nearby
from app.model.imports.dates import date_in
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole, Piece, UnreadableError
from app.model.imports.json_stream import CountedFile, Json
from app.model.imports.pieces import Pieces
from app.model.notes import note
from app.model.page_text import markdown_of
from worker.sentence import Sentence

NAME = "Gemini"

_P = TypeVar("_P")
_SESSION = "Gemini session"
_TURNS = "conversation_turns"
_OTHERS = Sentence("records of activity other than Gemini's, left out")
_BY_TIME = Sentence("conversations of Gemini that were grouped by time, because the file does not name them")
_UNDATED = Sentence("records of Gemini whose time can't be read")
_GAP_MS = 30 * 60 * 1_000
_CHUNK_BYTES = 1 << 16
_CELL = '<div class="outer-cell'
_APP = re.compile(r"https://(?:gemini|bard)\.google\.com/app/(?:c/)?([\w-]+)")
_PROMPTED = re.compile(
    r"(?:Prompted(?: with:)?|Asked(?: Gemini| Bard)?:?|Said|Branched|Answered|Submitted query|Query submitted|"
    r"Fez uma pergunta:|Perguntou:|Preguntó:|Υποβλήθηκε το ερώτημα)\s+"
)
_DONE = re.compile(
    r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Cleared|Viewed|Visited|Edited|Pinned|Renamed|Exported|Updated)\s"
)
_LIKE_A_DATE = re.compile(r"(?=[^\n]{8,50}$)[^\n]*\d{4}[^\n]*\d{1,2}[:.]\d{2}[:.]\d{2}[^\n]*")
"""A date with a year and a time, in any language."""
_ATTACHED = re.compile(r"(?:Attached )?\d+ (?:files?|attachments?)\.?")


def is_one(item: dict[str, Json]) -> bool:
    return _SESSION in item or isinstance(item.get(_TURNS), list)


def conversation(item: dict[str, Json], nearby: Nearby = NOTHING_NEARBY) -> ForeignConversation:
    """Read one conversation. Raises `UnreadableError`."""
    if _SESSION in item:
        return _of_records([object_of(record) for record in list_of(item[_SESSION])], nearby)
    return _of_turns(item, nearby)


# --- the record of activity ----------------------------------------------------------------------------------


def sessions(items: Iterable[Json | _P], is_problem: type[_P], aside: Counter[Sentence]) -> Iterator[Json | _P]:
    """Yield the values of a file, with records of activity grouped into conversations.

    Records of other products are counted in `aside`.
    """
    records: list[dict[str, Json]] = []
    for item in items:
        record = {} if isinstance(item, is_problem) else object_of(item)
        if not ({"title", "time"} <= record.keys() and ("products" in record or "header" in record)):
            yield item
        elif _is_gemini(record):
            records.append(record)
        else:
            aside[_OTHERS] += 1
    yield from ({_SESSION: session} for session in _grouped(records))


def _is_gemini(record: dict[str, Json]) -> bool:
    labels = (record.get("header"), *list_of(record.get("products")))
    return any(name in text_of(label) for label in labels for name in ("Gemini", "Bard"))


def _grouped(records: list[dict[str, Json]]) -> list[list[dict[str, Json]]]:
    """Return the records of each conversation, the oldest first."""
    named: dict[str, list[dict[str, Json]]] = {}
    others: list[list[dict[str, Json]]] = []
    last_ms: int | None = None
    # The file has the newest record first, so of two at the same time the last one is the older.
    records.reverse()
    for record in sorted(records, key=_record_ms):
        if app_id := _app_id(record):
            named.setdefault(app_id, []).append(record)
            continue
        when_ms = _record_ms(record)
        if last_ms is None or when_ms - last_ms > _GAP_MS:
            others.append([])
        others[-1].append(record)
        last_ms = when_ms
    return sorted([*named.values(), *others], key=lambda session: _record_ms(session[0]))


def _record_ms(record: dict[str, Json]) -> int:
    return ms_of(record.get("time")) or 0


def _app_id(record: dict[str, Json]) -> str:
    found = _APP.match(text_of(record.get("titleUrl")))
    return "" if found is None else found[1]


def _of_records(records: list[dict[str, Json]], nearby: Nearby) -> ForeignConversation:
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    first = text_of(records[0].get("time"))
    app_id = _app_id(records[0])
    if not app_id:
        remarks[_BY_TIME] += 1
    seen: set[tuple[str, str]] = set()
    last: str | None = None
    for number, record in enumerate(records):
        key = (text_of(record.get("time")), text_of(record.get("title")))
        if key in seen:
            # Takeout writes some records twice.
            continue
        seen.add(key)
        if not key[0]:
            remarks[_UNDATED] += 1
        record_id = " ".join(key) if key[0] else f"#{number}"
        for part, message in enumerate(_messages(record, remarks, nearby)):
            message.id, message.parent = f"{record_id} {part}", last
            messages.append(message)
            last = message.id
    return ForeignConversation(
        name="",
        messages=messages,
        id=app_id or first,
        current=last,
        created_ms=ms_of(first),
        remarks=remarks,
    )


def _messages(record: dict[str, Json], remarks: Counter[Sentence], nearby: Nearby) -> Iterator[ForeignMessage]:
    """Yield the prompt and the answer of a record, without ids."""
    answer = "\n\n".join(
        markdown
        for found in list_of(record.get("safeHtmlItem"))
        if (markdown := _as_markdown(text_of(object_of(found).get("html"))))
    )
    title = text_of(record.get("title"))
    prompt = _PROMPTED.sub("", title, count=1) if _PROMPTED.match(title) else title
    details = {text_of(object_of(found).get("name")): object_of(found) for found in list_of(record.get("details"))}
    if "Request" in details:
        prompt = text_of(details.pop("Request").get("value"))
        answer = answer or text_of(details.pop("Response", {}).get("value"))
    pieces = Pieces("user")
    if _DONE.match(prompt):
        remarks[blocks.KEPT_AS_NOTES] += 1
        pieces.add_note(note("Activity", prompt))
    else:
        pieces.add_text(prompt.strip())
    model = ""
    lines = [name for name in (text_of(record.get("description")), *details) if name]
    for found in list_of(record.get("subtitles")):
        subtitle = object_of(found)
        name, url = text_of(subtitle.get("name")).strip("- \u00a0"), text_of(subtitle.get("url"))
        if name.startswith("Model: "):
            model = name.removeprefix("Model: ")
        elif url:
            pieces.add_note(_file(name, url, remarks, nearby))
        elif name and not _ATTACHED.fullmatch(name):
            lines.append(name)
    attached = [*list_of(record.get("attachedFiles")), *list_of(record.get("audioFiles")), record.get("imageFile")]
    for name in (text_of(found) or text_of(object_of(found).get("name")) for found in attached):
        if name:
            pieces.add_note(_file(name, name, remarks, nearby))
    if lines:
        pieces.add_note(note("Details", "\n".join(f"- {line}" for line in lines)))
    if interactions := record.get("userInteractions"):
        pieces.add_note(blocks.other_note("Activity", interactions, remarks))
    yield from _messages_of("user", pieces.all, record.get("time"))
    yield from _messages_of("assistant", [Piece("assistant", answer)] if answer else [], record.get("time"), model)


def _messages_of(role: ForeignRole, pieces: list[Piece], when: Json, model: str = "") -> Iterator[ForeignMessage]:
    if pieces:
        made = ForeignMessage(id="", parent=None, role=role, text="", pieces=pieces, model=model)
        made.created_ms = ms_of(when)
        yield made


def _file(name: str, url: str, remarks: Counter[Sentence], nearby: Nearby) -> str:
    """Return a note with a file that lies beside the record, or with its address."""
    if url.startswith(("http://", "https://")):
        return note(f"Link: {name}", f"[{blocks.link_title(name or url)}]({url})")
    path = PurePosixPath(unquote(url)).name
    found = nearby.beside(path) if path else None
    if found is None:
        return blocks.missing_file_note(name or path, remarks)
    return blocks.file_note(blocks.name_with_suffix(path, found.data), found.data, remarks)


def _as_markdown(html: str) -> str:
    try:
        return markdown_of(html) if html.strip() else ""
    except RecursionError:
        # Elements may be nested without end.
        return re.sub(r"<[^<>]*>", "", html).strip()


# --- the same as a web page ----------------------------------------------------------------------------------


def records_of_page(file: CountedFile) -> Iterator[Json]:
    """Yield the records of a web page as they are in JSON. Raises `UnreadableError` if it has none."""
    is_empty = True
    for cell in itertools.islice(_cells(file), 1, None):
        is_empty = False
        yield _record(cell)
    if is_empty:
        raise UnreadableError(Sentence("it is a web page, but not a record of activity from Google Takeout"))


def _cells(file: CountedFile) -> Iterator[str]:
    """Yield the text before the first record, then each record."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begun: list[str] = []
    tail = ""
    while chunk := file.read(_CHUNK_BYTES):
        text = decoder.decode(chunk)
        file.num_replaced += max(0, text.count("\ufffd") - chunk.count(b"\xef\xbf\xbd"))
        first, *others = (tail + text).split(_CELL)
        for cell in others:
            begun.append(first)
            yield "".join(begun)
            begun, first = [], cell
        # The mark of the next record may be cut.
        end = max(0, len(first) - len(_CELL) + 1)
        begun.append(first[:end])
        tail = first[end:]
    yield "".join([*begun, tail])


def _record(cell: str) -> Json:
    from bs4 import BeautifulSoup
    from bs4.element import NavigableString, Tag

    page = BeautifulSoup(f"{_CELL}{cell}", "lxml")
    header = page.select_one(".header-cell")
    body = page.select_one(".content-cell.mdl-typography--body-1")
    links = [str(found.get("href") or "") for found in page("a")]
    texts: list[str] = []
    files: list[Json] = []
    answer: list[str] = []
    when = ""
    has_ended = False
    """Whether the date, which is between the prompt and the answer, was parsed."""
    for node in () if body is None else body.children:
        if has_ended:
            answer.append(str(node))
        elif isinstance(node, NavigableString) and _LIKE_A_DATE.fullmatch(node.strip()) is not None:
            has_ended = True
            date = date_in(str(node))
            when = "" if date is None else date.isoformat()
        elif isinstance(node, Tag) and node.name == "br":
            texts.append("\n")
        elif isinstance(node, Tag) and node.name == "a" and not _APP.match(str(node.get("href") or "")):
            files.append({"name": node.get_text(), "url": str(node.get("href") or "")})
        else:
            texts.append(node.get_text() if isinstance(node, Tag) else str(node))
    lines = [
        line for line in "".join(texts).replace("\u00a0", " ").split("\n") if not _ATTACHED.fullmatch(line.strip())
    ]
    return {
        "header": "" if header is None else header.get_text().strip(),
        "title": "\n".join(line for line in lines if line.strip("- ") or not files).strip(),
        "titleUrl": next((link for link in links if _APP.match(link)), ""),
        "time": when,
        "subtitles": files,
        "safeHtmlItem": [{"html": "".join(answer)}],
    }


# --- the history of conversations ----------------------------------------------------------------------------


def _of_turns(item: dict[str, Json], nearby: Nearby) -> ForeignConversation:
    """Read a conversation of the history. A turn at the position of an earlier turn is another version of that turn."""
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    parents: dict[tuple[str, int], str | None] = {}
    times: Counter[tuple[str, int]] = Counter()
    last: str | None = None
    for number, found in enumerate(list_of(item[_TURNS])):
        for kind, role in (("user_turn", "user"), ("system_turn", "assistant")):
            turn = object_of(object_of(found).get(kind))
            if not turn:
                continue
            index = turn.get("turn_index")
            place = (kind, index if isinstance(index, int) else number)
            times[place] += 1
            parent = parents.setdefault(place, last)
            last = f"{kind} {place[1]} {times[place]}"
            pieces = Pieces("user" if role == "user" else "assistant")
            _add_turn(turn, pieces, remarks, nearby)
            messages.append(
                ForeignMessage(
                    id=last,
                    parent=parent,
                    role="user" if role == "user" else "assistant",
                    text="",
                    pieces=pieces.all,
                    created_ms=ms_of(turn.get("turn_last_modified")),
                )
            )
    created = text_of(item.get("creation_time"))
    stem = PurePosixPath(nearby.path).stem
    return ForeignConversation(
        name=text_of(item.get("title")),
        messages=messages,
        id=id_of(item.get("conversation_id")) or (f"{stem} {created}" if created else ""),
        current=last,
        created_ms=ms_of(created),
        updated_ms=ms_of(item.get("last_modification_time")),
        remarks=remarks,
    )


def _add_turn(turn: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence], nearby: Nearby) -> None:
    for found in list_of(turn.get("model_thoughts")):
        thought = object_of(found)
        parts = (text_of(thought.get("headline")), text_of(thought.get("description")))
        pieces.add_thought("\n\n".join(part for part in parts if part))
    pieces.add_text(text_of(turn.get("prompt")))
    for found in list_of(turn.get("text")):
        block = object_of(found)
        pieces.add_text(text_of(block.get("data")))
        for card in list_of(block.get("cards")):
            pieces.add_text(text_of(object_of(card).get("content")))
    for key in ("images", "attachments", "files"):
        for found in list_of(turn.get(key)):
            name = text_of(found) or text_of(object_of(found).get("name"))
            at = nearby.find(name) if name else None
            if at is None:
                pieces.add_note(blocks.missing_file_note(name, remarks))
            else:
                pieces.add_note(blocks.file_note(blocks.name_with_suffix(at.name, at.data), at.data, remarks))
