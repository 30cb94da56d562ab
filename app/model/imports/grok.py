"""Reads the export of a Grok account: `prod-grok-backend.json`, with uploads in folders called by their ids."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.bundle import NOTHING_NEARBY, Nearby
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Grok"
LEFT_OUT = Sentence("projects, tasks and media posts of Grok, left out")

_LOST_CARDS = Sentence("references to sources and pictures that the file does not contain, left out")
_CARD = re.compile(
    r'<grok:render\b[^<>]{0,300}?card_id="(?P<id>[^"<>]{0,200})"[^<>]{0,300}>.*?</grok:render>', re.DOTALL
)
_CALL = re.compile(r"<xai:tool_usage_card>(?P<inner>.*?)</xai:tool_usage_card>", re.DOTALL)
_ASSET = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_RESULTS = ("rag_results", "connector_search_results", "collection_search_results")


def is_one(item: dict[str, Json]) -> bool:
    return isinstance(item.get("conversation"), dict) and isinstance(item.get("responses"), list)


def conversation(item: dict[str, Json], nearby: Nearby = NOTHING_NEARBY) -> ForeignConversation:
    """Read one conversation. If the file does not name the branch that was shown, the last answer's is shown."""
    theirs = object_of(item["conversation"])
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    for number, found in enumerate(list_of(item["responses"])):
        response = object_of(object_of(found).get("response", found))
        if not response:
            remarks[blocks.EMPTY_MESSAGES] += 1
            continue
        messages.append(_message(response, f"#{number}", remarks, nearby))
    if all(message.parent is None for message in messages):
        # In exports from before Grok had branches, messages name no parents.
        for above, message in itertools.pairwise(messages):
            message.parent = above.id
    return ForeignConversation(
        name=text_of(theirs.get("title")),
        messages=messages,
        id=id_of(theirs.get("id")) or "",
        current=id_of(theirs.get("leaf_response_id")) or (messages[-1].id if messages else None),
        created_ms=_ms(theirs.get("create_time")),
        updated_ms=_ms(theirs.get("modify_time")),
        is_pinned=theirs.get("starred") is True,
        remarks=remarks,
    )


def _message(response: dict[str, Json], default_id: str, remarks: Counter[Sentence], nearby: Nearby) -> ForeignMessage:
    sender = text_of(response.get("sender"))
    role: ForeignRole = "user" if sender.lower() == "human" else "assistant"
    request = object_of(object_of(response.get("metadata")).get("request_metadata"))
    model = text_of(response.get("model")) or text_of(request.get("resolved_model"))
    if not model and sender.lower() != "assistant":
        # Old answers are sent by “grok-3”.
        model = sender
    return ForeignMessage(
        id=id_of(response.get("_id")) or default_id,
        parent=id_of(response.get("parent_response_id")),
        role=role,
        text="",
        pieces=_Response(response, role, remarks, nearby).pieces.all,
        created_ms=_ms(response.get("create_time")),
        model=model if role == "assistant" else "",
        state="failed" if response.get("error") else "stopped" if response.get("partial") is True else "complete",
    )


class _Response:
    """The parts of one message, read in their order: steps, thoughts, text, files, sources, error."""

    def __init__(self, theirs: dict[str, Json], role: ForeignRole, remarks: Counter[Sentence], nearby: Nearby) -> None:
        self.pieces = Pieces(role)
        self._remarks = remarks
        self._nearby = nearby
        self._thoughts: dict[str, None] = {}
        """All thoughts without white space, because Grok writes most of them twice."""
        self._cards = dict(_cards(theirs))
        for step in list_of(theirs.get("steps")):
            self._add_step(object_of(step))
        self._thoughts["".join(self._thoughts)] = None
        traces = [theirs, *map(object_of, list_of(theirs.get("agent_thinking_traces")))]
        for trace in traces:
            self._add_thought(text_of(trace.get("thinking_trace")), {})
        self._add_text(text_of(theirs.get("message")) or text_of(theirs.get("query")))
        links = {number: link for number, card in self._cards.items() if (link := _link(card)) is not None}
        for number, card in self._cards.items():
            if number not in links:
                self.pieces.add_note(self._shown(card))
        for uploaded in list_of(theirs.get("file_attachments")):
            self._add_file(text_of(uploaded) or text_of(object_of(uploaded).get("name")))
        for url in map(text_of, list_of(theirs.get("generated_image_urls"))):
            self.pieces.add_note(self._picture("", url))
        cited = dict(links.values()) | _links(list_of(theirs.get("cited_web_search_results")))
        pages = {url: "" for url in map(text_of, list_of(theirs.get("webpage_urls"))) if url}
        found = _posts(theirs.get("xpost_ids")) | pages | _links(list_of(theirs.get("web_search_results")))
        self._add_links("Sources", cited)
        self._add_links("Search results", {url: title for url, title in found.items() if url not in cited})
        if error := theirs.get("error"):
            self.pieces.add_note(note("Error", text_of(error) or blocks.formatted(error)))

    def _add_step(self, step: dict[str, Json]) -> None:
        results: dict[str, list[Json]] = {}
        for found in list_of(step.get("tool_usage_results")):
            results.setdefault(text_of(object_of(found).get("tool_usage_card_id")), []).append(found)
        tagged = object_of(step.get("tagged_text"))
        order = [tag for tag in list_of(step.get("tag_order")) if isinstance(tag, str)]
        for tag in dict.fromkeys([*order, *tagged]):
            text = text_of(tagged.get(tag))
            if tag == "raw_function_result" and text:
                self.pieces.add_note(blocks.tool_result_note("", text, self._remarks))
            else:
                self._add_thought(text, results)
        for rest in results.values():
            self._add_results("", rest)
        for key in _RESULTS:
            if value := step.get(key):
                self.pieces.add_note(blocks.other_note(key.replace("_", " ").capitalize(), value, self._remarks))
        found = _posts(step.get("x_posts_ids")) | _links(list_of(step.get("web_search_results")))
        self._add_links("Search results", found)

    def _add_thought(self, text: str, results: dict[str, list[Json]]) -> None:
        """Add a thought and the tool calls in it, unless it was added before. Take the calls' results."""
        squeezed = "".join(text.split())
        if not squeezed or squeezed in self._thoughts:
            return
        self._thoughts[squeezed] = None
        begin = 0
        for found in _CALL.finditer(text, 0, _end_of(text, "</xai:tool_usage_card>")):
            self.pieces.add_thought(text[begin : found.start()].strip())
            begin = found.end()
            name = _field(found["inner"], "tool_name")
            arguments = _field(found["inner"], "tool_args").removeprefix("<![CDATA[").removesuffix("]]>")
            self.pieces.add_note(blocks.tool_call_note(name, arguments, self._remarks))
            self._add_results(name, results.pop(_field(found["inner"], "tool_usage_card_id"), []))
        self.pieces.add_thought(text[begin:].strip())

    def _add_results(self, name: str, results: Iterable[Json]) -> None:
        for found in results:
            value = {key: inner for key, inner in object_of(found).items() if key != "tool_usage_card_id"} or found
            self.pieces.add_note(blocks.tool_result_note(name, value, self._remarks))

    def _add_text(self, text: str) -> None:
        """Add a text. Sources in it become links, and pictures become notes where they stand."""
        parts: list[str] = []
        begin = 0
        for found in _CARD.finditer(text, 0, _end_of(text, "</grok:render>")):
            parts.append(text[begin : found.start()])
            begin = found.end()
            card = self._cards.pop(found["id"], None)
            if card is None:
                self._remarks[_LOST_CARDS] += 1
            elif link := _link(card):
                parts.append(blocks.with_links("", dict([link])))
            else:
                self.pieces.add_text("".join(parts))
                parts = []
                self.pieces.add_note(self._shown(card))
        self.pieces.add_text("".join([*parts, text[begin:]]))

    def _shown(self, card: dict[str, Json]) -> str:
        """Return a note with the picture of a card, or with the whole card."""
        searched, drawn = object_of(card.get("image")), object_of(card.get("image_chunk"))
        title = text_of(card.get("caption")) or text_of(searched.get("title")) or text_of(drawn.get("imageTitle"))
        if url := text_of(searched.get("original")) or text_of(searched.get("thumbnail")):
            return self._picture(title, url)
        if url := text_of(drawn.get("imageUrl")):
            return self._picture(title, url)
        return blocks.other_note(text_of(card.get("type")) or "Card", card, self._remarks)

    def _picture(self, title: str, url: str) -> str:
        assets = _ASSET.findall(url)
        found = self._nearby.find(assets[-1]) if assets else None
        if found is not None:
            return blocks.file_note(blocks.name_with_suffix(title or "picture", found.data), found.data, self._remarks)
        return blocks.picture_note(title, url, self._remarks)

    def _add_file(self, file_id: str) -> None:
        found = self._nearby.find(file_id) if file_id else None
        if found is None:
            self.pieces.add_note(blocks.missing_file_note(file_id, self._remarks))
        elif (words := blocks.text_in(found.data)) is not None:
            self.pieces.add_text(blocks.file_text(file_id, words, self._remarks))
        else:
            name = blocks.name_with_suffix(file_id, found.data)
            self.pieces.add_note(blocks.file_note(name, found.data, self._remarks))

    def _add_links(self, label: str, links: dict[str, str]) -> None:
        if links:
            self.pieces.add_note(note(label, _listed(links)))


def _cards(theirs: dict[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield the cards of a message by their ids; a card without an id gets its number."""
    for number, found in enumerate(list_of(theirs.get("card_attachments_json"))):
        card = object_of(found)
        if isinstance(found, str):
            try:
                card = object_of(msgspec.json.decode(found))
            except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
                card = {"card": found}
        if card:
            yield id_of(card.get("id")) or f"#{number}", card


def _link(card: dict[str, Json]) -> tuple[str, str] | None:
    """Return the address and title of a source; None if the card is not a source."""
    url = text_of(card.get("url"))
    if not url.startswith(("http://", "https://")):
        return None
    return url, text_of(card.get("title")) or url.split("/")[2]


def _links(results: list[Json]) -> dict[str, str]:
    found = [object_of(result) for result in results]
    return {url: text_of(result.get("title")) for result in found if (url := text_of(result.get("url")))}


def _posts(ids: Json) -> dict[str, str]:
    """Return the addresses of posts on X, each without a title."""
    return {f"https://x.com/i/status/{post}": "" for post in map(text_of, list_of(ids)) if post}


def _listed(links: dict[str, str]) -> str:
    return "\n".join(f"- [{blocks.link_title(title or url)}]({url})" for url, title in links.items())


def _field(call: str, key: str) -> str:
    """Return a field of a tool call, for example the tool's name."""
    return call.partition(f"<xai:{key}>")[2].partition(f"</xai:{key}>")[0].strip()


def _end_of(text: str, mark: str) -> int:
    """Return the end of the last end tag.

    Start tags after it are not searched, because each would cost a search to the end of the text.
    """
    return text.rfind(mark) + len(mark) if mark in text else 0


def _ms(when: Json) -> int | None:
    """Return a time in milliseconds, from an ISO 8601 text or from MongoDB's JSON."""
    if not isinstance(when, dict):
        return ms_of(when)
    date = object_of(when).get("$date")
    number = text_of(object_of(date).get("$numberLong"))
    return int(number) if number.isdecimal() and len(number) < 19 else ms_of(date)
