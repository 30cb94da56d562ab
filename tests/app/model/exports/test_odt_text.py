"""Conversations as OpenDocument text: nothing is lost, and the content is valid."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.odt_file import BELOW_MM, INDENT_MM, TEXT_MM, content_xml, styles_xml
from app.model.exports.odt_inline import Picture, text_xml
from app.model.exports.odt_text import OdtText, column_widths
from app.model.message import Conversation, Message, Role
from tests.app.model.exports.excerpts import TEXTS, excerpts

_URN = "urn:oasis:names:tc:opendocument:xmlns:"
_OFFICE, _TEXT, _TABLE, _STYLE, _FO = (
    f"{{{_URN}{name}:1.0}}" for name in ("office", "text", "table", "style", "xsl-fo-compatible")
)  # fmt: skip
_DRAW = f"{{{_URN}drawing:1.0}}"


class _Pictures:
    """Gives every formula a picture of the same size. Other pictures are missing."""

    def formula(self, latex: str, *, is_inline: bool) -> Picture | None:
        return None if "\\" in latex else Picture("Pictures/formula.png", 10, 5, 1)

    def picture(self, address: str) -> Picture | None:
        return None


def _excerpt(*turns: tuple[Role, str]) -> Excerpt:
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number, (role, text) in enumerate(turns, 2):
        messages.append(Message(id=number, parent_id=number - 1, role=role, text=text))
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    return Excerpt(conversation, messages, {}, messages)


def _written(excerpt: Excerpt, options: Options | None = None) -> tuple[ET.Element, ET.Element]:
    """Return the content and the styles that it may use."""
    text = OdtText(_Pictures(), options or Options())
    assert list(text.write(excerpt)) == list(range(1, len(excerpt.messages)))
    return _content(text), _styles(text)


def _content(text: OdtText) -> ET.Element:
    content = ET.fromstring(content_xml(text.xml, text.styles.xml)).find(f".//{_OFFICE}text")  # noqa: S314 (our own)
    assert content is not None
    return content


def _styles(text: OdtText) -> ET.Element:
    """Return all styles as children of one element."""
    styles = ET.Element("all")
    for xml in (content_xml(text.xml, text.styles.xml), styles_xml("n")):
        document = ET.fromstring(xml)  # noqa: S314 (our own)
        for kind in ("styles", "automatic-styles"):
            styles.extend(document.find(f"{_OFFICE}{kind}") or [])
    return styles


def _answer(markdown: str) -> ET.Element:
    return _written(_excerpt(("user", "q"), ("assistant", markdown)))[0]


def _read(element: ET.Element) -> str:
    """Return a paragraph's text with white space collapsed as the OpenDocument standard requires."""
    pieces: list[str] = []

    def read(found: ET.Element) -> None:
        match found.tag.removeprefix(_TEXT):
            case "s":
                pieces.append("\0" * int(found.get(f"{_TEXT}c", "1")))
            case "tab":
                pieces.append("\1")
            case "line-break":
                pieces.append("\2")
            case _ if found.tag == f"{_DRAW}frame":
                pieces.append("".join(found.itertext()))
            case _:
                pieces.append(found.text or "")
                for child in found:
                    read(child)
                    pieces.append(child.tail or "")

    read(element)
    squeezed = " ".join(word for word in "".join(pieces).replace("\n", " ").replace("\t", " ").split(" ") if word)
    begins, ends = ("".join(pieces)[:1] == " ", "".join(pieces)[-1:] == " ")
    assert not begins
    assert not ends
    return squeezed.translate({0: " ", 1: "\t", 2: "\n"})


def _paragraphs(content: ET.Element) -> Iterator[ET.Element]:
    return (found for found in content.iter() if found.tag in {f"{_TEXT}p", f"{_TEXT}h"})


def _texts(content: ET.Element) -> list[str]:
    return [_read(found) for found in _paragraphs(content)]


@given(st.text(st.sampled_from("ab \t\n<&😀é")) | TEXTS)
@example("  two  at  both  ends  ")
def test_any_text_is_read_back_with_its_spaces(text: str) -> None:
    (found,) = ET.fromstring(content_xml(f"<text:p>{text_xml(text)}</text:p>", "")).iter(f"{_TEXT}p")  # noqa: S314
    expected = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")
    expected = expected.translate(dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF), "�"))
    assert _read(found) == expected


@given(excerpts(), st.booleans())
@settings(max_examples=60)
def test_any_conversation_is_valid_and_uses_only_defined_styles(excerpt: Excerpt, statistics: bool) -> None:
    text = OdtText(_Pictures(), Options(statistics=statistics))
    assert max(text.write(excerpt), default=0) < len(excerpt.messages)
    content, styles = _content(text), _styles(text)
    there = {found.get(f"{_STYLE}name") for found in styles.iter()}
    for prefix in (_TEXT, _TABLE, _DRAW):
        assert {found.get(f"{prefix}style-name") for found in content.iter()} <= there | {None}
    assert {found.get(f"{_STYLE}parent-style-name") for found in styles.iter()} <= there | {None}
    lists = [found for found in content.iter() if found.tag == f"{_TEXT}list"]
    for found in lists:
        assert {child.tag for child in found} <= {f"{_TEXT}list-item", f"{_TEXT}list-header"}
        assert not list(found.iter(f"{_TABLE}table"))
    before: set[str | None] = {None}
    for found in lists:
        assert found.get(f"{_TEXT}continue-list") in before
        before.add(found.get("{http://www.w3.org/XML/1998/namespace}id"))


def test_user_text_and_code_keep_their_lines_and_spaces() -> None:
    code = "def f():\n\tif x:\n        return  'a'   \n\n\nend"
    content, _ = _written(_excerpt(("user", f" indented\n\n{code}"), ("assistant", f"```python\n\n{code}\n\n```")))
    lines = [" indented", "", *code.split("\n")]
    assert _texts(content) == ["n", "You", *lines, "Answer", "", *code.split("\n"), ""]


def test_marked_text_has_its_style() -> None:
    content = _answer("**b** *e* ~~s~~ `c  d` [l](https://x.org/?a=1&b) $x$ h\\\nk\n\n# Head\n\n> said\n\n---")
    (first,) = (found for found in _paragraphs(content) if _read(found).startswith("b"))
    looks = {(found.get(f"{_TEXT}style-name"), _read(found)) for found in first}
    assert looks >= {
        ("Strong_20_Emphasis", "b"), ("Emphasis", "e"), ("Struck", "s"), ("Source_20_Text", "c  d"),
        ("Internet_20_link", "l"),
    }  # fmt: skip
    assert _read(first) == "b e s c  d l $x$ h\nk"
    (frame,) = first.iter(f"{_DRAW}frame")
    # The picture is five millimetres high, one of them below the baseline.
    assert frame.get(f"{{{_URN}svg-compatible:1.0}}y") == "-4.00mm"
    heads = [(found.get(f"{_TEXT}outline-level"), _read(found)) for found in content.iter(f"{_TEXT}h")]
    assert heads == [("1", "n"), ("2", "You"), ("2", "Answer"), ("3", "Head")]


def _outline(found: ET.Element) -> list[object]:
    """Return nested lists, each item with its start number if it has one."""
    made: list[object] = []
    for child in found:
        match child.tag.rpartition("}")[2]:
            case "p" | "h":
                made.append(_read(child))
            case "list":
                made.append((child.get(f"{_TEXT}style-name"), _outline(child)))
            case "list-item":
                start = child.get(f"{_TEXT}start-value")
                made.append([*([start] if start else []), *_outline(child)])
            case "list-header":
                made.append(("goes on", _outline(child)))
            case kind:
                made.append(kind)
    return made


def test_nested_lists_keep_their_numbers_and_continue_after_a_table() -> None:
    content = _answer(
        "3. a\n   - b\n   - [x] c\n\n     more\n4. d\n\n   | t |\n   |---|\n   | u |\n\n   e\n5. f\n6.\n7) g\n"
    )
    assert _outline(content)[4:] == [
        (
            "Numbers",
            [["3", "a", ("Bullets", [["b"], ["☑ c", "more"]])], ["d"]],
        ),
        "table",
        ("Numbers", [("goes on", ["e"]), ["f"], [""]]),
        ("Numbers_20_paren", [["7", "g"]]),
    ]


def test_each_paragraph_has_the_direction_of_its_first_letter_and_code_is_left_to_right() -> None:
    content, styles = _written(
        _excerpt(("user", "שלום\nHello"), ("assistant", "مرحبا x\n\n1. English\n\n```\nمرحبا\n```\n"))
    )
    by_name = {found.get(f"{_STYLE}name"): found for found in styles}

    def direction(found: ET.Element) -> str:
        style = by_name[found.get(f"{_TEXT}style-name")]
        while style.find(f"{_STYLE}paragraph-properties[@{_STYLE}writing-mode]") is None:
            if (above := style.get(f"{_STYLE}parent-style-name")) is None:
                return ""
            style = by_name[above]
        return style.find(f"{_STYLE}paragraph-properties").get(f"{_STYLE}writing-mode", "")  # pyright: ignore[reportOptionalMemberAccess]

    assert [(_read(found), direction(found)) for found in _paragraphs(content)][2:] == [
        ("שלום", "rl-tb"), ("Hello", ""), ("Answer", ""), ("مرحبا x", "rl-tb"), ("English", ""), ("مرحبا", "lr-tb"),
    ]  # fmt: skip


def test_a_table_repeats_its_head_on_every_page_and_aligns_its_cells() -> None:
    content, styles = _written(_excerpt(("assistant", "| l | r |\n|:--|--:|\n| `a \\| b` | **2** |\n| c | |\n")))
    (table,) = content.iter(f"{_TABLE}table")
    (head,) = table.iter(f"{_TABLE}table-header-rows")
    assert [_read(found) for found in _paragraphs(head)] == ["l", "r"]
    assert [_read(found) for found in _paragraphs(table)] == ["l", "r", "a | b", "2", "c", ""]
    by_name = {found.get(f"{_STYLE}name"): found for found in styles}
    aligned = [
        next(iter(by_name[found.get(f"{_TEXT}style-name")])).get(f"{_FO}text-align") for found in _paragraphs(table)
    ]
    assert aligned == ["left", "right"] * 3


def test_reasoning_has_a_heading_or_is_left_out() -> None:
    excerpt = _excerpt(("assistant", "<think>\nHm.\n</think>\n\nSo."))
    assert _texts(_written(excerpt)[0])[2:] == ["Reasoning", "Hm.", "So."]
    assert _texts(_written(excerpt, Options(reasoning=False))[0])[2:] == ["So."]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([["a", "bb"], ["ccc", "d"]], [5, 4]),
        ([["漢字"]], [6]),
        # All words fit. The remaining width goes to the column with longer lines.
        ([["ab", " ".join(["word"] * 20)]], [4, 46]),
        ([["x" * 40, "y" * 40]], [25, 25]),
    ],
)
def test_columns_fit_their_words_but_never_exceed_the_page(cells: list[list[str]], expected: list[float]) -> None:
    assert column_widths(cells, 50, character=1, padding=2) == expected


def test_deeply_nested_emphasis_keeps_its_text() -> None:
    text = "".join(_texts(_answer("*a **b " * 400 + "c" + "** *" * 400)))
    assert (text.count("a "), text.count("b "), text.count("c")) == (400, 400, 1)


def test_deeply_nested_lists_and_quotes_stay_on_the_page() -> None:
    markdown = "\n".join(f"{'  ' * depth}- level {depth}" for depth in range(40)) + "\n\n" + "> " * 40 + "quote"
    content, styles = _written(_excerpt(("assistant", markdown)))
    assert {f"level {depth}" for depth in range(40)} | {"quote"} <= set(_texts(content))
    margins = {value for found in styles.iter() for key, value in found.items() if key == f"{_FO}margin-left"}
    assert max(float(margin.removesuffix("mm")) for margin in margins) <= TEXT_MM / 2


def test_sizes_are_those_of_the_named_styles() -> None:
    styles = ET.fromstring(styles_xml("n"))  # noqa: S314 (our own)
    by_name = {found.get(f"{_STYLE}name"): found for found in styles.iter()}
    for name, below_mm in BELOW_MM.items():
        found = by_name[name]
        while (properties := found.find(f"{_STYLE}paragraph-properties[@{_FO}margin-bottom]")) is None:
            found = by_name[found.get(f"{_STYLE}parent-style-name")]
        assert properties.get(f"{_FO}margin-bottom") == f"{below_mm}mm"
    (page,) = styles.iter(f"{_STYLE}page-layout-properties")
    width, margin = (float(page.get(f"{_FO}{name}", "").removesuffix("mm")) for name in ("page-width", "margin"))
    assert width - 2 * margin == TEXT_MM
    first = next(styles.iter(f"{_STYLE}list-level-label-alignment"))
    assert first.get(f"{_FO}margin-left") == f"{INDENT_MM}mm"
