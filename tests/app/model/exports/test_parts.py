"""Exports of an answer of several parts: one message, with its tool calls folded between its texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from app.model.exports.excerpt import Excerpt, Options, whole_tree
from app.model.exports.files import Piece
from app.model.exports.html import html
from app.model.exports.markdown import markdown, to_markdown
from app.model.exports.plain_text import plain_text
from app.model.message import is_part
from app.model.store import Store
from tests.app.model.exports.excerpts import excerpts, import_all
from tests.app.model.imports.drawn import drawn


@pytest.fixture
def excerpt(store: Store, tmp_path: Path) -> Excerpt:
    parts = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "name": "search", "input": {"q": "<b>"}},
        {"type": "text", "text": "Because."},
    ]
    messages = [
        {"uuid": "q", "sender": "human", "content": [{"type": "text", "text": "Why?"}]},
        {"uuid": "a", "sender": "assistant", "parent_message_uuid": "q", "content": parts},
        {"uuid": "b", "sender": "assistant", "parent_message_uuid": "q", "content": [{"type": "text", "text": "No."}]},
    ]
    chat = {"uuid": "c", "name": "Leaves", "chat_messages": messages, "current_leaf_message_uuid": "a"}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chat]))
    (conversation_id,) = import_all(store, path).conversation_ids
    return whole_tree(store, conversation_id)


def _written(write: Callable[[Excerpt, Options], Iterator[Piece]], excerpt: Excerpt) -> str:
    return "".join(piece.text for piece in write(excerpt, Options()))


def test_markdown_has_one_heading_and_is_read_back_as_the_same_parts(
    excerpt: Excerpt, store: Store, tmp_path: Path
) -> None:
    document = _written(markdown, excerpt)
    assert re.findall("^## (.*)$", document, re.MULTILINE) == ["You", "Answer", "Answer"]
    assert "<details>\n<summary>Tool call: search</summary>\n\n" in document
    path = tmp_path / "leaves.md"
    path.write_text(document)
    (conversation_id,) = import_all(store, path).conversation_ids
    again = whole_tree(store, conversation_id)
    assert drawn(again) == drawn(excerpt)
    assert [is_part(message) for message in again.messages] == [is_part(message) for message in excerpt.messages]


def test_a_page_has_one_article_and_one_dot_for_the_answer(excerpt: Excerpt) -> None:
    page = _written(html, excerpt)
    assert page.count("<article ") == 3
    assert page.count("<circle ") == 3
    answer = re.search(r"<article[^>]*>(?:(?!</article>).)*I look\..*?</article>", page, re.DOTALL)
    assert answer is not None
    assert re.findall("<summary>(.*?)</summary>|(Because)", answer[0]) == [("Tool call: search", ""), ("", "Because")]
    assert answer[0].count("<h2>") == 1


@given(excerpt=excerpts())
@settings(max_examples=30, deadline=None)
def test_every_link_of_a_page_leads_to_a_message_wherever_its_parts_are(excerpt: Excerpt) -> None:
    page = _written(html, excerpt)
    names = set(re.findall(r'<article id="(m[0-9]+)"', page))
    parents = set(re.findall(r'<article id="m[0-9]+" data-parent="(m[0-9]+)"', page))
    assert parents <= names
    assert len(re.findall(r"<article id=", page)) == len(names)


def test_plain_text_and_the_clipboard_have_one_heading(excerpt: Excerpt) -> None:
    assert _written(plain_text, excerpt).count("\nAnswer") == 2
    assert "[Tool call: search]\n" in _written(plain_text, excerpt)
    assert to_markdown("Leaves", excerpt.path).count("## ") == 2
