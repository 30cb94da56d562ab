"""The Markdown export: whatever the messages say, their text stands there as it is, each under its role."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.markdown import markdown, to_markdown
from app.model.imports.transcript import conversation as transcript_of
from app.model.message import Conversation, Message, Record, Role
from tests.app.model.exports.parts import parts, spoken

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


def _documented(part: Excerpt, options: Options | None = None) -> str:
    return "".join(piece.text for piece in markdown(part, options or Options()))


@given(part=parts())
@settings(max_examples=80)
def test_any_tree_is_read_back_with_its_roles_texts_and_branches(part: Excerpt) -> None:
    theirs = transcript_of(_documented(part)) if spoken(part.messages) else None
    told = [message for message in part.messages if spoken([message])]
    if theirs is None:
        return
    back = {message.id: message for message in theirs.messages}
    if len(back) == len(told) and all(str(message.id) in back for message in told):
        for message in told:
            above = message.parent_id
            while above is not None and not spoken([part.tree[above]]):
                above = part.tree[above].parent_id
            assert back[str(message.id)].role == message.role
            assert back[str(message.id)].text == message.text
            assert back[str(message.id)].parent == (None if above is None else str(above))
    else:
        # A single branch that can be read without comments has none.
        assert [(message.role, message.text) for message in theirs.messages] == spoken(told)


@given(part=parts())
@settings(max_examples=40)
def test_statistics_stand_beside_the_texts_and_not_in_them(part: Excerpt) -> None:
    if spoken(part.messages):
        theirs = transcript_of(_documented(part, Options(statistics=True)))
        assert sorted((message.role, message.text) for message in theirs.messages) == sorted(spoken(part.messages))


def test_a_branch_that_can_be_read_as_it_is_has_no_comments() -> None:
    part = _line("Why?", "Because:\n\n```py\nx = 1\n```\n\n# A heading\n\nEnd.")
    assert _documented(part) == (
        "# n\n\n## You\n\nWhy?\n\n## Answer\n\nBecause:\n\n```py\nx = 1\n```\n\n# A heading\n\nEnd.\n"
    )


@pytest.mark.parametrize(
    "text", ["## You", "```\nopen", "\nbegins empty", "ends empty\n", "a\r\nb", "## Answer · m · now"]
)
def test_a_text_that_could_be_misread_stands_between_comments(text: str) -> None:
    document = _documented(_line("Why?", text))
    assert document.startswith('<!-- bough {"format":"bough-markdown","version":1,"name":"n"} -->\n# n\n')
    assert [message.text for message in transcript_of(document).messages] == ["Why?", text]


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<|channel|>analysis<|message|>", "<|end|>")],
)
def test_reasoning_and_system_prompts_are_left_out_where_they_are_not_asked_for(opening: str, closing: str) -> None:
    part = _line("Why?", f"{opening}\nHm.\n{closing}\n\nBecause.", system="Be brief.")
    assert "Hm." in _documented(part)
    assert "Be brief." in _documented(part)
    document = _documented(part, Options(reasoning=False, system_prompts=False))
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
