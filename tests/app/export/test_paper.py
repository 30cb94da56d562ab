"""PDF and DOCX, read back: the whole text is there and can be selected, and PDFs have an outline."""

from __future__ import annotations

import base64
import re
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pypdf import PdfReader
from PySide6.QtCore import QBuffer, QIODevice, QSizeF, Qt
from PySide6.QtGui import QImage, QTextBlock, QTextCursor
from PySide6.QtWidgets import QApplication

from app.export import pages
from app.export.exporting import export
from app.export.pages import FirstPage, first_page, keep_headings_with_text
from app.export.paper_document import TEXT_PX, PaperDocument, fill
from app.export.pdf_text import BLANK_FIRST, UnmappedCharacters, look_alikes, renamed, replaced_text
from app.model.exports.excerpt import Excerpt, Options, whole_tree
from app.model.exports.formula import formula
from app.model.exports.losses import Losses
from app.model.message import Record, Role
from app.model.store import Store

_CODE = "def f(x):\n    if x < 3 and x > 1:\n        return 'a' * x  # & more\n"
_ANSWER = f"""# A heading

Some *emphasis* and `code`, $5 and $10.

```python
{_CODE}```

Inline $\\frac{{a}}{{b}}$ and

$$\\int_0^1 f(x)\\,dx$$

| a | b |
|---|---|
| one | two |

- first
- second

![pic](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==)
"""


@pytest.fixture
def excerpt(tmp_path: Path, qapp: QApplication) -> Iterator[Excerpt]:
    assert qapp is not None
    store = Store(tmp_path / "c.sqlite3")
    conversation, question = store.create_conversation("Trip & <plans>", "Be brief.", "Why\n  is it so? <b>&amp;")
    answer = store.add(conversation.id, question.id, "assistant", _ANSWER, record=Record(model="guide", seed=7))
    store.add(conversation.id, question.id, "assistant", "Another \x01 answer.")
    store.conversations.choose(conversation.id, {question.id: answer.id})
    long = "\n\n".join(f"Paragraph number {number} of a long text." for number in range(120))
    follow_up = store.add(conversation.id, answer.id, "user", "And then?")
    store.add(conversation.id, follow_up.id, "assistant", long)
    yield whole_tree(store, conversation.id)
    store.close()


def _written(excerpt: Excerpt, format_: Any, path: Path, options: Options | None = None) -> Path:
    progress = list(export(excerpt, format_, path, options or Options(), Losses()))
    assert [step.done for step in progress] == sorted(step.done for step in progress)
    assert progress[-1].done == progress[-1].total
    return path


def _squeezed(text: str) -> str:
    """Remove all white space, because lines on paper break anywhere."""
    return re.sub(r"\s+", "", text)


def test_all_text_of_a_pdf_can_be_selected_including_code_and_formulas(excerpt: Excerpt, tmp_path: Path) -> None:
    pages = PdfReader(_written(excerpt, "pdf", tmp_path / "out.pdf")).pages
    text = "".join(page.extract_text() for page in pages)
    for said in (
        "Trip & <plans>", "Be brief.", "Why is it so? <b>&amp;", "A heading", "Some emphasis and code, $5 and $10.",
        _CODE, "$\\frac{a}{b}$", "$$\\int_0^1 f(x)\\,dx$$", "one", "two", "first", "second", "And then?",
    ):  # fmt: skip
        assert _squeezed(said) in _squeezed(text), said
    assert "\t" not in text
    for number in range(120):
        assert _squeezed(f"Paragraph number {number} of a long text.") in _squeezed(text)


_FORMULAS = ((r"\frac{a}{b}", True), (r"\int_0^1 f(x)\,dx", False))
"""The formulas in `_ANSWER`."""
_WIDE = "Emoji 😀, math 𝒳𝔸, 👩\u200d👩\u200d👧, 🇩🇪, 𐌰𐌱, 𠀀 end."


def test_characters_beyond_sixteen_bits_can_be_copied_from_a_pdf(tmp_path: Path, qapp: QApplication) -> None:
    assert qapp is not None
    store = Store(tmp_path / "c.sqlite3")
    conversation, question = store.create_conversation(
        "Wide 😀", "", f"# {_WIDE}\n\n나무 नमस्ते क्षत्रिय हिन्दी ⛄️ whether or not a font here draws it \U000f0000"
    )
    store.add(
        conversation.id, question.id, "assistant", f"## {_WIDE}\n\n```python\nx = '{_WIDE}'\n```\n\n- **{_WIDE}**\n"
    )
    path = _written(whole_tree(store, conversation.id), "pdf", tmp_path / "out.pdf")
    text = _squeezed("".join(page.extract_text() for page in PdfReader(path).pages))
    assert text.count(_squeezed(_WIDE)) == 4
    assert _squeezed("Wide 😀") in text
    assert _squeezed("나무 नमस्ते क्षत्रिय हिन्दी ⛄️ whether or not a font here draws it \U000f0000") in text
    # Private-use placeholders do not appear in the text.
    assert "\ue000" not in text
    store.close()


def test_colour_glyphs_are_drawn_as_pictures_of_the_right_size_in_a_pdf(
    tmp_path: Path, qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert qapp is not None
    # Treat every font as a colour font, because the system may not have one.
    monkeypatch.setattr("app.export.pdf_text._PICTURE_TABLES", ("cmap",))
    store = Store(tmp_path / "c.sqlite3")
    conversation, question = store.create_conversation("Pictures", "", "𝒳 and ❤\ufe0f")
    store.add(conversation.id, question.id, "assistant", "# 𝒳")
    path = _written(whole_tree(store, conversation.id), "pdf", tmp_path / "out.pdf")
    store.close()
    (page,) = PdfReader(path).pages
    said = _squeezed(page.extract_text())
    assert "𝒳" in said
    assert "❤\ufe0f" in said
    contents = page.get_contents()
    assert contents is not None
    placed = re.findall(rb" 0 0 ([\d.]+) [\d.]+ [\d.]+ cm\n\d+ 0 0 -(\d+) 0 \d+ cm /Im\d+ +Do", contents.get_data())
    heights_px = [float(scale) * float(height) for scale, height in placed]
    assert len(heights_px) >= 3
    assert all(10 < height < 50 for height in heights_px), heights_px


@pytest.mark.usefixtures("qapp")
@given(st.text(st.characters(min_codepoint=0x10000, max_codepoint=0x2FFFF, exclude_categories=["Cn"]), max_size=6))
@example("\U00011fc0")
@settings(max_examples=40)
def test_wide_characters_are_stored_in_order_under_their_pictures(said: str) -> None:
    document = PaperDocument()
    wide = UnmappedCharacters(document)
    QTextCursor(document).insertText(f"a{said}b")
    wide.replace_in(0)
    assert not any(ord(character) > 0xFFFF for character in document.toRawText())
    found = document.begin().begin()
    whole: list[str] = []
    while not found.atEnd():
        text, look = found.fragment().text(), found.fragment().charFormat()
        whole += [replaced_text(look) if character == "\ufffc" else character for character in text]
        found += 1  # pyright: ignore[reportOperatorIssue]
    assert "".join(whole) == f"a{said}b"
    assert sorted(wide.meanings) == [BLANK_FIRST + number for number in range(len(wide.meanings))]


_TABLE = b"2 beginbfrange\n<0009> <0020> [<2F42> <00B5> <FB01> <0009> <2ED1> <0041>]\n<FB01> <FB01> <FB02>\nendbfrange"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("文 μ 長 A", b"[<6587> <03BC> <00660069> <0020> <9577> <0041>]"),
        # Characters in the text keep their form, and no others appear.
        ("⽂ µ ⻑ Ａ", b"[<2F42> <00B5> <00660069> <0020> <2ED1> <0041>]"),
        ("", b"[<2F42> <00B5> <00660069> <0020> <2ED1> <0041>]"),
    ],
)
def test_lookalike_glyphs_are_mapped_to_the_characters_in_the_text(said: str, expected: bytes) -> None:
    # The glyph numbers before the list stay unchanged, although they may equal a character's code.
    whole = b"2 beginbfrange\n<0009> <0020> " + expected + b"\n<FB01> <FB01> <0066006C>\nendbfrange"
    assert renamed(_TABLE, frozenset(said), look_alikes(said), {}) == whole


def test_a_pdf_has_page_numbers_and_an_outline_of_its_messages(excerpt: Excerpt, tmp_path: Path) -> None:
    reader = PdfReader(_written(excerpt, "pdf", tmp_path / "out.pdf"))
    assert len(reader.pages) > 3
    for number, page in enumerate(reader.pages, 1):
        assert f"{number}/{len(reader.pages)}" in _squeezed(page.extract_text())
    outline: list[Any] = list(reader.outline)
    top, messages, branch, others = outline
    assert (top.title, branch.title) == ("Trip & <plans>", "Branch 2, after “Why is it so? <b>&amp;”")
    titles = [item.title for item in messages]
    assert titles[:2] == ["System: Be brief.", "You: Why is it so? <b>&amp;"]
    assert titles[2].startswith("Answer · guide · ")
    assert others[0].title.startswith("Answer: Another")
    for item in (*messages, *others):
        number = reader.get_destination_page_number(item)
        assert number is not None
        said = item.title.partition(": ")[2].rstrip("…").strip("# ")[:7]
        assert _squeezed(said) in _squeezed(reader.pages[number].extract_text()), item.title
    assert reader.metadata is not None
    assert reader.xmp_metadata is not None
    assert reader.xmp_metadata.dc_language == [reader.root_object["/Lang"]] == ["en"]
    assert reader.xmp_metadata.dc_title == {"x-default": reader.metadata.title}
    assert reader.metadata.title == "Trip & <plans>"
    made = datetime.fromtimestamp(excerpt.conversation.created_ms // 1000, UTC)
    assert reader.metadata.creation_date == made


@pytest.mark.parametrize(
    ("head", "size", "is_mirrored"), [("a", 14, False), ("ب", 14, True), (" | ".join("abcdefg"), 9, False)]
)
def test_tables_follow_their_heads_direction_and_wide_ones_have_smaller_text(
    tmp_path: Path, qapp: QApplication, head: str, size: int, is_mirrored: bool
) -> None:
    assert qapp is not None
    line = "|".join("-" for _ in head.split("|"))
    document = _filled(tmp_path, ("assistant", f"| {head} |\n|{line}|\n| `cell` |\n"))
    (cell,) = (block for block in _blocks(document) if block.text().strip() == "cell")
    table = QTextCursor(cell).currentTable()
    assert cell.begin().fragment().charFormat().font().pixelSize() == size
    assert (table.format().layoutDirection() == Qt.LayoutDirection.RightToLeft) == is_mirrored


def test_deeply_nested_lists_and_quotes_fit_on_the_page(tmp_path: Path, qapp: QApplication) -> None:
    assert qapp is not None
    lists = "\n".join(f"{'  ' * depth}- level{depth}" for depth in range(30))
    quotes = [f"{'> ' * depth}quote{depth}" for depth in range(1, 25)]
    store = Store(tmp_path / "c.sqlite3")
    conversation, question = store.create_conversation("Deep", "", "Go")
    store.add(conversation.id, question.id, "assistant", "\n\n".join([lists, *quotes]))
    path = _written(whole_tree(store, conversation.id), "pdf", tmp_path / "out.pdf")
    store.close()
    lefts_px: dict[str, float] = {}

    def visit(text: str, _cm: Any, matrix: Any, _font: Any, _size: Any) -> None:
        lefts_px.setdefault(text.strip(), matrix[4])

    pages = PdfReader(path).pages
    text = "".join(page.extract_text(visitor_text=visit) for page in pages)
    assert all(f"level{depth}" in text for depth in range(30))
    assert all(f"quote{depth}" in text for depth in range(1, 25))
    # In pixels; the text is 642 pixels wide.
    lefts = [left for said, left in lefts_px.items() if said.startswith(("level", "quote"))]
    assert len(lefts) > 50
    assert max(lefts) < 400


def test_no_heading_is_the_last_line_of_a_page(tmp_path: Path, qapp: QApplication) -> None:
    assert qapp is not None
    # Each turn has one more line than the previous one, so headings appear at every height of a page.
    turns: list[tuple[Role, str]] = [
        ("assistant", "## Head\n\n### Under it\n\n" + "\n".join(f"- line {line}" for line in range(number)))
        for number in range(60)
    ]
    document = _filled(tmp_path, *turns)
    document.setPageSize(QSizeF(600, 800))
    document.pageCount()

    def tops() -> list[tuple[bool, int]]:
        layout = document.documentLayout()
        return [
            (bool(block.blockFormat().headingLevel()), int(layout.blockBoundingRect(block).center().y() // 800))
            for block in _blocks(document)
        ]

    def num_left_alone() -> int:
        found = tops()
        return sum(is_heading and page < below for (is_heading, page), (_, below) in pairwise(found))

    assert num_left_alone() > 3
    keep_headings_with_text(document)
    assert num_left_alone() == 0


def test_formulas_of_a_pdf_are_drawn_as_filled_paths_once(excerpt: Excerpt, tmp_path: Path) -> None:
    page = PdfReader(_written(excerpt, "pdf", tmp_path / "out.pdf")).pages[0]
    contents = page.get_contents()
    assert contents is not None
    formulas = [formula(latex, TEXT_PX + 1, "black", is_inline=is_inline) for latex, is_inline in _FORMULAS]
    num_curves = sum(len(re.findall(r"\bQ\b", found.svg)) for found in formulas if found is not None)
    # Text and frames have no curves and a bullet has four. Stroked outlines would add many more.
    assert len(re.findall(rb" c\n", contents.get_data())) == num_curves + 2 * 4 > 20


def _filled(tmp_path: Path, *turns: tuple[Role, str]) -> PaperDocument:
    store = Store(tmp_path / "c.sqlite3")
    conversation, last = store.create_conversation("Paper", "", "Show me")
    for role, text in turns:
        last = store.add(conversation.id, last.id, role, text)
    document = PaperDocument()
    assert list(fill(document, whole_tree(store, conversation.id), Options()))
    store.close()
    return document


def test_a_formula_that_is_too_wide_is_scaled_to_the_page_width(tmp_path: Path, qapp: QApplication) -> None:
    assert qapp is not None
    latex = "+".join(f"a_{{{number}}}" for number in range(60))
    document = _filled(tmp_path, ("assistant", f"$$x$$\n\n$${latex}$$\n\n- ${latex}$\n"))
    document.show_pictures()
    document.setPageSize(QSizeF(600, 800))
    widths = [line.naturalTextWidth() for block in _blocks(document) if (line := block.layout().lineAt(0)).isValid()]
    assert max(widths) <= 600
    small, *_, large, listed = widths
    assert small < 560
    assert large == pytest.approx(600, abs=1)
    assert listed == pytest.approx(600 - document.indentWidth(), abs=1)
    assert document.idealWidth() <= 600


def _blocks(document: PaperDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


@pytest.mark.parametrize("code", ["\nx\n", "x", "\n\n  x\n\n\ny", "x\n\n"])
def test_code_keeps_its_empty_lines_on_paper(tmp_path: Path, qapp: QApplication, code: str) -> None:
    assert qapp is not None
    document = _filled(tmp_path, ("assistant", f"Before.\n\n```\n{code}\n```\n\nAfter."))
    texts = [block.text().rstrip() for block in _blocks(document)]
    assert texts[texts.index("Before.") + 1 : texts.index("After.")] == code.split("\n")


def test_a_picture_attached_to_a_question_is_on_paper(tmp_path: Path, qapp: QApplication) -> None:
    assert qapp is not None
    address = _ANSWER.partition("](")[2].partition(")")[0]
    document = _filled(tmp_path, ("note", f"Picture: dot\n\n![dot]({address})"), ("assistant", "A dot."))
    (block,) = (block for block in _blocks(document) if "\ufffc" in block.text())
    assert block.previous().text() == "Note: Picture: dot"
    assert block.begin().fragment().charFormat().toImageFormat().name() == address


def test_a_docx_contains_all_text_and_pictures(excerpt: Excerpt, tmp_path: Path) -> None:
    with zipfile.ZipFile(_written(excerpt, "docx", tmp_path / "out.docx", Options(statistics=True))) as archive:
        names = archive.namelist()
        about = archive.read("docProps/core.xml").decode()
        content = ET.fromstring(archive.read("word/document.xml"))  # noqa: S314 (our own)
        relations = archive.read("word/_rels/document.xml.rels").decode()
    assert "<dc:title>Trip &amp; &lt;plans&gt;</dc:title>" in about
    made = datetime.fromtimestamp(excerpt.conversation.created_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert f'<dcterms:created xsi:type="dcterms:W3CDTF">{made}</dcterms:created>' in about
    assert "creator" not in about
    text = "".join(content.itertext())
    for said in ("Trip & <plans>", "Why", "is it so? <b>&amp;", "emphasis", "if x < 3 and x > 1:", "one", "And then?"):
        assert _squeezed(said) in _squeezed(text), said
    assert "Paragraph number 119 of a long text." in text
    assert "seed 7" in text
    # XML does not allow control characters.
    assert "Another \ufffd answer." in text
    # There are two formulas and the picture.
    pictures = {name.removeprefix("word/") for name in names if name.startswith("word/media/")}
    assert pictures == set(re.findall(r'Target="(media/[^"]*)"', relations))
    assert len(pictures) == 3


@pytest.mark.parametrize(("kind", "size", "expected_mm"), [("png", (1, 1), 0.26), ("gif", (4000, 10), 170)])
def test_a_picture_in_a_docx_is_not_wider_than_its_page(
    tmp_path: Path, qapp: QApplication, kind: str, size: tuple[int, int], expected_mm: float
) -> None:
    assert qapp is not None
    picture = QImage(*size, QImage.Format.Format_RGB32)
    picture.fill(0)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    # Qt can't write GIF, so this is a PNG with the wrong media type. The type is detected from its first bytes.
    picture.save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    data = base64.b64encode(buffer.data().data()).decode()
    store = Store(tmp_path / "c.sqlite3")
    conversation, question = store.create_conversation("Picture", "", "Look")
    store.add(conversation.id, question.id, "note", f"Picture: a\n\n![a](data:image/{kind};base64,{data})")
    excerpt = whole_tree(store, conversation.id)
    store.close()
    with zipfile.ZipFile(_written(excerpt, "docx", tmp_path / "out.docx")) as archive:
        (name,) = (name for name in archive.namelist() if name.startswith("word/media/"))
        assert (name.rpartition(".")[2], archive.read(name)) == ("png", buffer.data().data())
        (width,) = re.findall(r'wp:extent cx="(\d+)"', archive.read("word/document.xml").decode())
    # English Metric Units.
    assert int(width) / 36_000 == pytest.approx(expected_mm, abs=0.01)


def test_long_texts_and_runs_without_spaces_are_kept_and_laid_out_quickly(tmp_path: Path, qapp: QApplication) -> None:
    assert qapp is not None
    code = "".join(f"line_{number} = {' + '.join(['value'] * 8)}\n" for number in range(80))
    run = "".join(f"{number:06}" for number in range(900)) + "😀"
    store = Store(tmp_path / "c.sqlite3")
    conversation, question = store.create_conversation("Long", "", code)
    # An inserted break would damage the code, a fence or the run.
    answer = store.add(conversation.id, question.id, "assistant", f"```\n{code}```\n\n{run}")
    store.add(conversation.id, answer.id, "note", f"Tool result\n\n```\n{code}```")
    excerpt = whole_tree(store, conversation.id)
    store.close()
    with zipfile.ZipFile(_written(excerpt, "docx", tmp_path / "out.docx")) as archive:
        docx = "".join(ET.fromstring(archive.read("word/document.xml")).itertext())  # noqa: S314 (our own)
    pages = PdfReader(_written(excerpt, "pdf", tmp_path / "out.pdf")).pages
    pdf = "".join(page.extract_text() for page in pages)
    for number in range(len(pages), 0, -1):
        pdf = pdf.replace(f"\n{number} / {len(pages)}\nLong", "")
    assert "\u200b" not in docx
    for text in (docx, pdf):
        assert (_squeezed(text).count("line_"), "`" in text) == (3 * 80, False)
        assert _squeezed(run) in _squeezed(text)


def test_system_prompts_can_be_left_out(tmp_path: Path, excerpt: Excerpt) -> None:
    options = Options(system_prompts=False)
    text = "".join(page.extract_text() for page in PdfReader(_written(excerpt, "pdf", tmp_path / "o", options)).pages)
    assert "brief" not in text
    assert "And then?" in text


@pytest.mark.parametrize("text", ["```\none\ntwo\n```", "- one\n- two", "> one\n>\n> two"])
def test_a_message_that_starts_with_a_block_has_the_block_style_from_its_first_line(
    tmp_path: Path, qapp: QApplication, text: str
) -> None:
    assert qapp is not None
    store = Store(tmp_path / "c.sqlite3")
    conversation, question = store.create_conversation("Code", "", "Show me")
    store.add(conversation.id, question.id, "assistant", text)
    document = PaperDocument()
    assert list(fill(document, whole_tree(store, conversation.id), Options()))
    store.close()
    looks: dict[str, tuple[str, bool, float]] = {}
    block = document.begin()
    while block.isValid():
        look = block.blockFormat()
        looks[block.text().strip()] = (
            look.background().color().name(),
            block.textList() is not None,
            look.leftMargin(),
        )
        block = block.next()
    assert looks["one"] == looks["two"] != looks["Show me"]


def _first_page(tmp_path: Path, text: str) -> FirstPage:
    with closing(Store(tmp_path / "p.sqlite3")) as store:
        conversation, question = store.create_conversation("Long", "", "Why?")
        store.add(conversation.id, question.id, "assistant", text)
        steps = first_page(whole_tree(store, conversation.id), Options(), 0.5, has_footer=True)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value


@pytest.mark.parametrize("text", ["x" * 1_000_000, "\n".join(["|a" * 50, "|-" * 50, *["|a" * 50] * 2_000])])
def test_the_first_page_of_a_text_of_one_kind_lays_out_little_more(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    assert qapp is not None
    num_characters: list[int] = []

    def spy(document: PaperDocument) -> None:
        set_a4(document)
        num_characters.append(document.characterCount())

    set_a4 = pages._set_a4  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(pages, "_set_a4", spy)
    assert not _first_page(tmp_path, text).is_all
    assert max(num_characters) < 25_000


def test_the_first_page_of_a_long_text_is_made_of_its_beginning(qapp: QApplication, tmp_path: Path) -> None:
    assert qapp is not None
    line = "One line of many.\n\n"
    long, short = (_first_page(tmp_path, line * number) for number in (20_000, 2_000))
    assert not long.is_all
    assert long.picture == short.picture
    one_line, shorter = (_first_page(tmp_path, "x" * number) for number in (1_000_000, 30_000))
    assert not one_line.is_all
    assert one_line.picture == shorter.picture
    # Nothing of the first 100,000 characters is shown.
    definitions = "".join(f"[{number}]: https://example.org/{'x' * 200}\n" for number in range(600))
    long, short = (_first_page(tmp_path, f"{before}\nThe end.") for before in (definitions, ""))
    assert (long.is_all, short.is_all) == (True, True)
    assert long.picture == short.picture
