"""The Markdown export: any text is preserved under its role's heading."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.markdown import markdown, to_markdown
from app.model.imports.transcript import conversation as transcript_of
from app.model.message import Conversation, Message, Record, Role
from tests.app.model.exports.excerpts import excerpts, roles_and_texts

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


@given(excerpt=excerpts())
@settings(max_examples=80)
def test_any_tree_is_read_back_with_its_roles_texts_and_branches(excerpt: Excerpt) -> None:
    theirs = transcript_of(_markdown(excerpt)) if roles_and_texts(excerpt.messages) else None
    included = [message for message in excerpt.messages if roles_and_texts([message])]
    if theirs is None:
        return
    back = {message.id: message for message in theirs.messages}
    if len(back) == len(included) and all(str(message.id) in back for message in included):
        for message in included:
            above = message.parent_id
            while above is not None and not roles_and_texts([excerpt.tree[above]]):
                above = excerpt.tree[above].parent_id
            assert back[str(message.id)].role == message.role
            assert back[str(message.id)].text == message.text
            assert back[str(message.id)].parent == (None if above is None else str(above))
    else:
        # A single branch that is unambiguous without comments has none.
        assert [(message.role, message.text) for message in theirs.messages] == roles_and_texts(included)


@given(excerpt=excerpts())
@settings(max_examples=40)
def test_statistics_are_not_read_back_as_text(excerpt: Excerpt) -> None:
    if roles_and_texts(excerpt.messages):
        theirs = transcript_of(_markdown(excerpt, Options(statistics=True)))
        assert sorted((message.role, message.text) for message in theirs.messages) == sorted(
            roles_and_texts(excerpt.messages)
        )


def test_an_unambiguous_branch_has_no_comments() -> None:
    excerpt = _line("Why?", "Because:\n\n```py\nx = 1\n```\n\n# A heading\n\nEnd.")
    assert _markdown(excerpt) == (
        "# n\n\n## You\n\nWhy?\n\n## Answer\n\nBecause:\n\n```py\nx = 1\n```\n\n# A heading\n\nEnd.\n"
    )


@pytest.mark.parametrize(
    "text", ["## You", "```\nopen", "\nbegins empty", "ends empty\n", "a\r\nb", "## Answer · m · now"]
)
def test_an_ambiguous_text_is_enclosed_in_comments(text: str) -> None:
    document = _markdown(_line("Why?", text))
    assert document.startswith('<!-- bough {"format":"bough-markdown","version":1,"name":"n"} -->\n# n\n')
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
    assert document == "# n\n\n## You\n\nWhy?\n\n## Answer\n\nBecause.\n"


def _line(question: str, answer: str, system: str = "") -> Excerpt:
    messages = [
        Message(id=1, parent_id=None, role="root", text=""),
        Message(id=2, parent_id=1, role="system", text=system),
        Message(id=3, parent_id=2, role="user", text=question),
        Message(id=4, parent_id=3, role="assistant", text=answer),
    ]
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    return Excerpt(conversation, messages, {}, messages)
