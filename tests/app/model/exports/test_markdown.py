"""The Markdown export: whatever the messages say, their text stands there as it is, each under its role."""

from __future__ import annotations

import random

import pytest
from markdown_it import MarkdownIt

from app.model.exports.markdown import to_markdown
from app.model.message import Message, Record, Role

_PIECES = (
    "```", "````", "~~~", "```python", "``` a`b", "   ```", "    ```", "> ```", "- ```", "1. ```", "\t~~~", "`", "word",
    "# heading", "---", "===", "| a | b |", "|---|---|", "<div>", "</div>", "<!--", "-->", "<pre>", "</pre>",
    "<script>", "<?php", "?>", "<![CDATA[", "]]>", "<!DOCTYPE html", "<textarea", "[a]: <b", "[a]: /x 'title", "\\",
    "$$", "&amp;", "", " ", "  ", "\r", "\f", "\0", "\u2028", "😀", "שלום", "* * *", "- a", "  - b", "<style>x</style>",
)  # fmt: skip


def _message(role: Role, text: str, record: Record | None = None) -> Message:
    return Message(id=1, parent_id=None, role=role, text=text, record=record, created_ms=1_700_000_000_000)


def _headings(document: str) -> list[str]:
    """The headings of the document's own level, as a reader of Markdown sees them."""
    tokens = MarkdownIt("commonmark").parse(document)
    return [
        f"{tokens[index].markup} {tokens[index + 1].content}"
        for index in range(len(tokens))
        if tokens[index].type == "heading_open" and tokens[index].level == 0
    ]


def test_each_message_stands_under_its_role_with_its_model_and_time() -> None:
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
        ("```\n```python", "\n```"),  # what has a language closes nothing
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
def test_what_a_message_leaves_open_is_closed_and_nothing_else_is_added(text: str, end: str) -> None:
    document = to_markdown("name", [_message("assistant", text), _message("user", "Next")])
    assert document == f"# name\n\n## Answer\n\n{text}{end}\n\n## You\n\nNext\n"
    assert _headings(document)[-1] == "## You"


@pytest.mark.parametrize("seed", range(4))
def test_roles_and_texts_of_any_content_are_kept(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(150):
        roles: list[Role] = ["user", "assistant", "user", "assistant"]
        texts = ["\n".join(draw.choices(_PIECES, k=draw.randint(1, 7))) for _ in roles]
        document = to_markdown("name", [_message(role, text) for role, text in zip(roles, texts, strict=True)])
        place = 0
        for text in texts:
            place = document.index(text.strip("\n"), place) + len(text.strip("\n"))
        own = [heading for heading in _headings(document) if heading in {"## You", "## Answer"}]
        assert own == ["## You", "## Answer", "## You", "## Answer"], document
