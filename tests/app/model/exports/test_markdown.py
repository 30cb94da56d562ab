"""The Markdown export: any text is preserved under its role's heading."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from app.model.exports.excerpt import Excerpt, Options, whole_tree
from app.model.exports.markdown import markdown, to_markdown
from app.model.imports.foreign import grafted
from app.model.imports.transcript import conversation as transcript_of
from app.model.message import Conversation, Message, Record, Role, State
from app.model.store import Store
from app.model.text import as_title
from app.model.tree import Tree
from tests.app.model.exports.excerpts import BIDI_CONTROLS, TEXTS, excerpts, import_all, roles_and_texts

_PIECES = (
    "```", "````", "~~~", "```python", "``` a`b", "   ```", "    ```", "> ```", "- ```", "1. ```", "\t~~~", "`", "word",
    "# heading", "---", "===", "| a | b |", "|---|---|", "<div>", "</div>", "<!--", "-->", "<pre>", "</pre>",
    "<script>", "<?php", "?>", "<![CDATA[", "]]>", "<!DOCTYPE html", "<textarea", "[a]: <b", "[a]: /x 'title", "\\",
    "$$", "&amp;", "", " ", "  ", "\r", "\f", "\0", "\u2028", "😀", "שלום", "* * *", "- a", "  - b", "<style>x</style>",
)  # fmt: skip


def _message(role: Role, text: str, record: Record | None = None) -> Message:
    return Message(id=1, parent_id=None, role=role, text=text, record=record, created_ms=1_700_000_000_000)


def _headings(document: str) -> list[str]:
    """Return the document's top-level headings as a Markdown parser sees them."""
    tokens = MarkdownIt("commonmark").parse(document)
    return [
        f"{tokens[index].markup} {tokens[index + 1].content}"
        for index in range(len(tokens))
        if tokens[index].type == "heading_open" and tokens[index].level == 0
    ]


def test_each_message_follows_a_heading_with_its_role_model_and_time() -> None:
    path = [
        _message("root", ""),
        _message("system", "Be brief."),
        _message("user", "Why?"),
        _message("assistant", "Because.", Record(model="guide")),
        _message("assistant", "Or so."),
    ]
    assert to_markdown("A  name\nin lines", path) == (
        "# A name in lines\n\n## System\n\nBe brief.\n\n## You\n\nWhy?\n\n"
        "## Answer · guide · 2023-11-14 22:13 UTC\n\nBecause.\n\n## Answer\n\nOr so.\n"
    )


def test_an_empty_system_prompt_is_left_out() -> None:
    assert (
        to_markdown("", [_message("system", " \n"), _message("user", "Why?")]) == "# Conversation\n\n## You\n\nWhy?\n"
    )


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("```", "\n```"),
        ("```py\nx = 1", "\n```"),
        ("````\n```\ninner\n```", "\n````"),
        ("~~~\n```", "\n~~~"),
        ("```\n```python", "\n```"),  # a fence with a language closes nothing
        ("````\n```", "\n````"),
        ("  ```\nx", "\n```"),
        ("```\nx\n```", ""),
        ("````\n```\nx\n```\n````", ""),
        ("    ```", ""),
        ("``` a`b", ""),
        ("- ```\n  in a list", ""),
        ("> ```\n> in a quotation", ""),
        ("<!-- a comment", "\n-->"),
        ("<pre>\nraw", "\n</pre>"),
        ("<SCRIPT>\nraw", "\n</script>"),
        ("<div>\nends at the empty line", ""),
        ("", ""),
    ],
)
def test_unclosed_blocks_of_a_message_are_closed_and_nothing_else_is_added(text: str, end: str) -> None:
    document = to_markdown("name", [_message("assistant", text), _message("user", "Next")])
    assert document == f"# name\n\n## Answer\n\n{text}{end}\n\n## You\n\nNext\n"
    assert _headings(document)[-1] == "## You"


@pytest.mark.parametrize("seed", range(4))
def test_roles_and_texts_are_kept_for_any_content(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        roles: list[Role] = ["user", "assistant", "user", "assistant"]
        texts = ["\n".join(rng.choices(_PIECES, k=rng.randint(1, 7))) for _ in roles]
        document = to_markdown("name", [_message(role, text) for role, text in zip(roles, texts, strict=True)])
        position = 0
        for text in texts:
            position = document.index(text.strip("\n"), position) + len(text.strip("\n"))
        own = [heading for heading in _headings(document) if heading in {"## You", "## Answer"}]
        assert own == ["## You", "## Answer", "## You", "## Answer"], document


def _markdown(excerpt: Excerpt, options: Options | None = None) -> str:
    return "".join(piece.text for piece in markdown(excerpt, options or Options()))


_Node = tuple[object, ...]


def _forest(messages: Sequence[Message]) -> list[_Node]:
    """Return all messages below the root as nested plain values, siblings in their order.

    Empty system prompts are left out, but the messages below them are exported.
    """

    def node(message: Message) -> _Node:
        record = message.record or Record()
        below = [node(other) for other in messages if other.parent_id == message.id]
        if message.role == "system" and not message.text.strip():
            return ("system", "", below)
        marks = (message.state, message.name, message.starred_ms, message.pinned_ms, message.created_ms)
        return (message.role, message.text, *marks, record.model, record.error or None, below)

    (root,) = (message for message in messages if message.role == "root")
    tops = [node(message) for message in messages if message.parent_id == root.id]
    return [top for top in tops if str(top[1]).strip() or top[-1]]


@given(excerpt=excerpts())
@settings(max_examples=80)
def test_any_tree_is_read_back_to_the_node(excerpt: Excerpt) -> None:
    if not _forest(excerpt.messages):
        return
    theirs = transcript_of(_markdown(excerpt))
    back = grafted(theirs, now_ms=3)
    assert not theirs.remarks
    assert _forest(back.messages) == _forest(excerpt.messages)
    path, shown = (roles_and_texts(Tree(one.messages, 1).path(one.choices)) for one in (back, excerpt))
    assert path[: len(shown)] == shown
    conversation = excerpt.conversation
    assert (back.created_ms, back.updated_ms, back.model) == (1, 2, conversation.model)
    assert back.folder == "/".join(" ".join(part.split()) for part in conversation.folder.split("/") if part.strip())
    assert back.name == " ".join(conversation.name.split()) or not conversation.name.split()


def test_a_file_is_read_back_into_a_store(tmp_path: Path) -> None:
    store = Store(tmp_path / "c.sqlite3")
    answer = Message(
        id=4, parent_id=3, role="assistant", text="So\r\n", state="cut", name="B", starred_ms=7, created_ms=9
    )
    (tmp_path / "out.md").write_text(_markdown(_line("Why?", answer)), encoding="utf-8", newline="")
    summary = import_all(store, tmp_path / "out.md")
    back = whole_tree(store, summary.conversation_ids[0])
    assert _forest(back.messages) == _forest(_line("Why?", answer).messages)
    # The same file brings nothing new, and the same tree is written again.
    assert len(import_all(store, tmp_path / "out.md").twins) == 1
    assert _markdown(back).partition("\n")[2] == _markdown(_line("Why?", answer)).partition("\n")[2]
    store.close()


@given(excerpt=excerpts())
@settings(max_examples=40)
def test_statistics_are_not_read_back_as_text(excerpt: Excerpt) -> None:
    if roles_and_texts(excerpt.messages):
        theirs = transcript_of(_markdown(excerpt, Options(statistics=True)))
        # A system prompt without text keeps two branches apart.
        back = [(message.role, message.text) for message in theirs.messages]
        assert sorted(turn for turn in back if turn[0] != "system" or turn[1].strip()) == sorted(
            roles_and_texts(excerpt.messages)
        )


@given(name=TEXTS, model=TEXTS, branch=TEXTS)
@settings(max_examples=60)
def test_names_act_neither_as_markdown_nor_as_html(name: str, model: str, branch: str) -> None:
    message = Message(id=1, parent_id=None, role="assistant", text="So.", record=Record(model=model), name=branch)
    conversation = Conversation(id=1, name=name, root_id=1, created_ms=0, updated_ms=0)
    document = _markdown(Excerpt(conversation, [message], {}, [message]))
    tokens = MarkdownIt("commonmark").parse(document)
    inline = [token for token in tokens if token.type == "inline"]
    assert not [token for token in tokens if token.type == "html_block" and not token.content.startswith("<!-- bough")]
    assert {inner.type for token in inline for inner in token.children or ()} <= {
        "text", "text_special", "em_open", "em_close",
    }  # fmt: skip
    assert inline[0].children is not None
    assert "".join(inner.content for inner in inline[0].children) == (as_title(name) or "Conversation")
    assert not BIDI_CONTROLS.search(document)


def test_a_document_without_comments_is_read_as_one_branch() -> None:
    path = [_message("user", "Why?"), _message("assistant", "Because.", Record(model="my_model*"))]
    theirs = transcript_of(to_markdown("a *name*", path))
    assert (theirs.name, theirs.messages[1].model) == ("a *name*", "my_model*")
    assert [(message.role, message.text) for message in theirs.messages] == [
        ("user", "Why?"),
        ("assistant", "Because."),
    ]


@pytest.mark.parametrize(
    ("state", "error", "line"),
    [
        ("stopped", None, "The answer was stopped before its end."),
        ("cut", None, "The answer was cut off at the maximum number of tokens."),
        ("failed", "No *room*.", "The answer failed: No \\*room\\*."),
    ],
)
def test_marks_and_the_end_of_an_answer_are_shown_but_not_read_back_as_text(
    state: State, error: str | None, line: str
) -> None:
    answer = Message(
        id=4, parent_id=3, role="assistant", text="So", state=state, record=Record(error=error), name="B", starred_ms=1
    )
    document = _markdown(_line("Why?", answer))
    assert document.endswith(f"## Answer\n\n*Branch “B” · Starred*\n\nSo\n\n*{line}*\n")
    assert transcript_of(document).messages[1].text == "So"


@pytest.mark.parametrize(
    "text", ["## You", "```\nopen", "\nbegins empty", "ends empty\n", "a\r\nb", "## Answer · m · now"]
)
def test_an_ambiguous_text_is_unchanged(text: str) -> None:
    document = _markdown(_line("Why?", text))
    head = '{"format":"bough-markdown","version":1,"name":"n","shown":4,"created_ms":0,"updated_ms":0}'
    assert document.startswith(f"<!-- bough {head} -->\n# n\n")
    assert [message.text for message in transcript_of(document).messages] == ["Why?", text]


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<|channel|>analysis<|message|>", "<|end|>")],
)
def test_reasoning_and_system_prompts_can_be_left_out(opening: str, closing: str) -> None:
    excerpt = _line("Why?", f"{opening}\nHm.\n{closing}\n\nBecause.", system="Be brief.")
    assert "Hm." in _markdown(excerpt)
    assert "Be brief." in _markdown(excerpt)
    document = _markdown(excerpt, Options(reasoning=False, system_prompts=False))
    assert re.sub("<!--.*-->\n", "", document) == "# n\n\n## You\n\nWhy?\n\n## Answer\n\nBecause.\n"


def _line(question: str, answer: str | Message, system: str = "") -> Excerpt:
    messages = [
        Message(id=1, parent_id=None, role="root", text=""),
        Message(id=2, parent_id=1, role="system", text=system),
        Message(id=3, parent_id=2, role="user", text=question),
        Message(id=4, parent_id=3, role="assistant", text=answer) if isinstance(answer, str) else answer,
    ]
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    return Excerpt(conversation, messages, {}, messages)
