"""Markdown: streamed text looks like text set as a whole, and nothing is downloaded or executed."""

from __future__ import annotations

import random

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QGuiApplication, QTextBlock, QTextDocument, QTextTable
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from app.ui.text.block_writer import QUOTE_DEPTH
from app.ui.text.markdown_document import MarkdownDocument
from app.ui.text.message_text import MessageText
from app.ui.text.slices import MAX_TURNS, num_turns
from app.ui.theme import code_font, theme
from tests.app.ui.waiting import is_idle, wait_for_text
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS

_PIECES = (
    "# Head\n\n",
    "Text with **bold**, *slant*, `code`, ~~struck~~ and a [link](https://example.org).\n\n",
    "Two\nlines with two spaces  \nand a break.\n\n",
    "- one\n- two\n  - nested\n\n    more of it\n- three\n\n",
    "3. third\n4. fourth\n\n",
    "1. numbered\n1. as all\n1. the same\n\n   ```c\n   int x;\n   ```\n1. last\n",
    "* loose\n\n* list\n  with lines\n* [ ] box\n* -\n*\n",
    "-dash\n- a\n-\n-b\n",
    "> quoted\n> > twice\n\n",
    "```python\ndef f(x):\n    return x\n```\n\n",
    "```\nno language\n\nblank line\n```\n",
    "    indented code\n\n",
    "| a | b |\n|:--|--:|\n| 1 | 2 |\n| **x** | `y` |\n\n",
    "| t | u |\n|---|---|\n| 1 | 2 |\n| a *b* |\nno bars\n| 3 | `4` | 5 |\n\n",
    "| t | u |\n|---|---|\n| 1 | 2 |\n> quoted at once\n\n",
    "---\n\n",
    "<script>alert(1)</script>\n\n",
    "An image ![words](file:///etc/passwd) and [ref][r].\n\n",
    "[r]: https://example.org/ref\n\n",
    "Setext\n------\n\n",
    "東京 עברית 😀\n\n",
    "| a table that | never\n",
    "```unclosed\ncode",
)


def _document(qapp: QApplication) -> MarkdownDocument:
    assert qapp is not None
    return MarkdownDocument(QTextDocument(), theme("light"))


def look_of(document: QTextDocument) -> list[tuple[object, ...]]:
    """Return everything visible in a document: each block's text, indents, list and frame, and its runs' formats."""
    blocks: list[tuple[object, ...]] = []
    block: QTextBlock = document.begin()
    while block.isValid():
        format_ = block.blockFormat()
        runs: list[tuple[object, ...]] = []
        iterator = block.begin()
        while not iterator.atEnd():
            fragment = iterator.fragment()
            look = fragment.charFormat()
            runs.append(
                (
                    fragment.text(),
                    look.fontWeight(),
                    look.fontItalic(),
                    look.fontStrikeOut(),
                    look.anchorHref(),
                    look.foreground().color().name(),
                    look.font().pixelSize(),
                )
            )
            iterator += 1
        list_ = block.textList()
        blocks.append(
            (
                block.text(),
                format_.indent(),
                format_.leftMargin(),
                format_.topMargin(),
                format_.lineHeight(),
                None if list_ is None else (list_.format().style(), list_.format().indent(), list_.itemText(block)),
                tuple(runs),
            )
        )
        block = block.next()
    return blocks


@pytest.mark.parametrize("seed", [*range(20), *in_long_runs(range(20, 150))])
def test_streamed_text_looks_like_text_set_as_a_whole(qapp: QApplication, seed: int) -> None:
    rng = random.Random(seed)
    source = "".join(rng.choice(_PIECES) for _ in range(rng.randint(1, 8)))
    if "[r]" in source:
        # A reference can be used before its definition; finished blocks before the definition are not rendered again.
        source = "[r]: https://example.org/ref\n\n" + source
    grown = _document(qapp)
    position = 0
    while position < len(source):
        step = rng.choice((1, 2, 5, 17))
        grown.append(source[position : position + step])
        position += step
    wait_for_text(grown)
    whole = _document(qapp)
    whole.set_source(source)
    assert look_of(grown.document) == look_of(whole.document)
    assert grown.source == source


def test_growing_text_rewrites_only_its_last_block(qapp: QApplication) -> None:
    document = _document(qapp)
    document.set_source("First paragraph.\n\nSecond paragraph.\n\nThird")
    document.document.documentLayout()  # contentsChange needs a layout
    changed: list[int] = []

    def note(position: int, _removed: int, _added: int) -> None:
        changed.append(position)

    document.document.contentsChange.connect(note)
    document.append(" paragraph goes on.")
    assert min(changed) >= len("First paragraph.") + len("Second paragraph.")


@pytest.mark.parametrize(
    "source",
    [
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 60,
        "- item with **words**\n" * 60,
        "1. item\n\n" * 60,
        "word " * 5_000,
        "x" * 30_000,
        "line\n" * 4_500,
    ],
)
def test_growing_long_lists_and_paragraphs_rewrites_only_their_end(qapp: QApplication, source: str) -> None:
    document = _document(qapp)
    step = len(source) // 20
    for start in range(0, len(source), step):
        document.append(source[start : start + step])
    wait_for_text(document)
    document.document.documentLayout()  # contentsChange needs a layout
    changed: list[int] = []

    def note(position: int, _removed: int, _added: int) -> None:
        changed.append(position)

    document.document.contentsChange.connect(note)
    num_chars = document.document.characterCount()
    document.append("y")
    assert min(changed) >= num_chars - 16_000
    assert len(source) > 20_000 or min(changed) >= num_chars - 100
    shown = document.document.toPlainText().replace("\u200b", "")
    assert shown.count("word") == source.count("word")
    assert shown.count("x") == source.count("x")


def test_lines_of_a_script_without_spaces_are_joined_without_a_space(qapp: QApplication) -> None:
    document = _document(qapp)
    document.set_source("東京は\n日本の首都\nTokyo is\na city")
    assert document.document.toPlainText() == "東京は日本の首都 Tokyo is a city"


def test_html_is_shown_as_text_and_images_by_their_alternative_text(qapp: QApplication) -> None:
    document = _document(qapp)
    document.set_source("a <b>bold</b> ![a cat](https://example.org/cat.png)\n\n<img src='file:///etc/passwd'>")
    text = document.document.toPlainText()
    assert "<b>bold</b>" in text
    assert "[image: a cat]" in text
    assert "<img src='file:///etc/passwd'>" in text
    document.set_source("<details>\n  <summary>more</summary>\n</details>")
    assert document.document.toPlainText().split("\n") == ["<details>", "<summary>more</summary>", "</details>"]


def test_code_is_highlighted_in_the_systems_monospaced_font(qapp: QApplication) -> None:
    document = _document(qapp)
    document.set_source("```python\nreturn 'text'  # why\n```")
    looks = {run[5] for block in look_of(document.document) for run in block[6]}  # pyright: ignore[reportGeneralTypeIssues]
    assert len(looks) >= 3
    families: set[str] = set()
    block = document.document.begin()
    while block.isValid():
        if "return" in block.text():
            families |= {found.format.font().family() for found in block.textFormats()}
        block = block.next()
    assert families == {code_font().family()}


def test_a_table_has_its_cells_and_alignment(qapp: QApplication) -> None:
    document = _document(qapp)
    document.set_source("| a | b |\n|---|--:|\n| 1 | 22 |\n")
    tables = [frame for frame in document.document.rootFrame().childFrames() if isinstance(frame, QTextTable)]
    assert len(tables) == 1
    assert (tables[0].rows(), tables[0].columns()) == (2, 2)
    assert tables[0].cellAt(1, 1).firstCursorPosition().block().text() == "22"
    assert tables[0].cellAt(1, 1).firstCursorPosition().blockFormat().alignment().value & 2


def test_quotes_have_their_nesting_depth(qapp: QApplication) -> None:
    document = _document(qapp)
    document.set_source("> one\n> > two\n\nnone")
    depths: list[int] = []
    block = document.document.begin()
    while block.isValid():
        depths.append(block.blockFormat().intProperty(QUOTE_DEPTH))
        block = block.next()
    assert depths == [1, 2, 0]


def test_another_theme_recolours_the_text(qapp: QApplication) -> None:
    document = _document(qapp)
    document.set_source("Some **text**.")
    light = look_of(document.document)
    document.set_theme(theme("dark"))
    document.set_source(document.source)
    dark = look_of(document.document)
    assert [block[0] for block in light] == [block[0] for block in dark]
    assert light != dark


def test_plain_text_is_shown_unchanged_line_by_line(qapp: QApplication) -> None:
    document = _document(qapp)
    document.set_plain("**no** markdown\n\n  spaces  stay\n<b>")
    assert document.document.toPlainText() == "**no** markdown\n\n  spaces  stay\n<b>"


def test_a_long_run_without_spaces_is_laid_out(qtbot: QtBot) -> None:
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.resize(600, 100)
    text.show()
    text.set_text("x" * 100_000)
    qtbot.waitUntil(lambda: text.height() > 5_000, timeout=PATIENCE_MS)


@pytest.mark.parametrize("source", ["aא" * 5_000, "abc שלום " * 5_000, "abc def " * 5_000])
def test_a_long_paragraph_has_several_blocks_and_is_copied_as_one(qtbot: QtBot, source: str) -> None:
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.set_text(source)
    qtbot.waitUntil(lambda: is_idle(text), timeout=PATIENCE_MS)
    document = text.document()
    blocks = [document.findBlockByNumber(number) for number in range(document.blockCount())]
    assert len(blocks) > 1
    # A slice is written before it is examined.
    assert max(num_turns(block.text()) for block in blocks) <= MAX_TURNS + 1_000
    text.selectAll()
    copied = text.createMimeDataFromSelection().text()
    assert copied == source.strip()


def test_a_message_text_is_as_high_as_its_content(qtbot: QtBot) -> None:
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.resize(400, 100)
    text.show()
    text.set_text("word " * 200)
    qtbot.waitUntil(lambda: abs(text.height() - text.document().size().height()) <= 2, timeout=PATIENCE_MS)
    tall = text.height()
    text.resize(700, text.height())
    qtbot.waitUntil(lambda: text.height() < tall, timeout=PATIENCE_MS)


def test_only_the_beginning_of_a_very_long_text_is_shown_but_all_of_it_is_kept(qtbot: QtBot) -> None:
    for is_markdown in (True, False):
        text = MessageText(theme("light"), is_markdown=is_markdown)
        qtbot.addWidget(text)
        text.resize(600, 100)
        # The text is not shown, so nothing is painted. In a window, only the visible part would be painted.
        whole = "many words and " * 700_000
        text.set_text(whole)
        assert text.content == whole
        assert text.findChild(QPushButton) is None
        qtbot.waitUntil(lambda text=text: is_idle(text), timeout=60_000)
        assert 150_000 < len(text.toPlainText()) < 250_000
        more = text.findChild(QPushButton)
        assert isinstance(more, QPushButton)
        more.click()
        qtbot.waitUntil(lambda text=text: is_idle(text), timeout=60_000)
        assert 250_000 < len(text.toPlainText()) < 350_000
        assert more.geometry().top() > text.document().size().height()
        assert more.geometry().bottom() < text.height()


def test_no_resource_is_loaded_for_a_text(qtbot: QtBot) -> None:
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    for kind in range(1, 5):
        assert text.loadResource(kind, QUrl("file:///etc/passwd")) is None
        assert text.loadResource(kind, QUrl("https://example.org/a.png")) is None


@pytest.mark.parametrize(
    ("link", "opens"),
    [
        ("https://example.org", True),
        ("http://example.org", True),
        ("mailto:a@example.org", True),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)", False),
        ("ssh://example.org", False),
        ("../up", False),
    ],
)
def test_only_harmless_links_open_and_only_after_showing_their_address(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, link: str, opens: bool
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> None:
        opened.append(url.toString())

    monkeypatch.setattr("app.ui.text.link_popover.QDesktopServices.openUrl", open_url)
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.show()
    text.anchorClicked.emit(QUrl(link))
    popover = text.links.popover
    assert popover is not None
    assert opened == []
    assert popover.address == link
    assert popover.open_button.isVisible() is opens
    qtbot.keyClick(QApplication.focusWidget() or popover.open_button, Qt.Key.Key_Space)
    assert opened == ([link] if opens else [])
    assert opens or QGuiApplication.clipboard().text() == link


def test_a_link_shows_its_encoded_address(qtbot: QtBot) -> None:
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.show()
    text.anchorClicked.emit(QUrl("https://еxample.org/ä"))
    assert text.links.popover is not None
    assert text.links.popover.address == "https://xn--xample-2of.org/%C3%A4"
    text.links.popover.close()


def test_links_are_stepped_through_in_order(qtbot: QtBot) -> None:
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.show()
    text.set_text("[one **bold**](https://one.org), [two](https://two.org)")
    seen: list[str] = []
    for _ in range(3):
        text.links.show_next()
        assert text.links.popover is not None
        seen.append(text.links.popover.address)
        text.links.popover.close()
    assert seen == ["https://one.org", "https://two.org", "https://one.org"]


_LONG_LISTS = (
    "- Top\n"
    + "".join(f"  - item {n} with *some* `parts`\n    1. deeper {n}\n    1. and **more**\n" for n in range(150)),
    "1. Top\n\n" + "".join(f"   7. item {n} with `some` parts\n\n      and a *paragraph*\n\n" for n in range(150)),
    "> Quoted\n>\n" + "".join(f"> - item {n} with `some` *parts*\n>   > quoted *again* `here`\n" for n in range(150)),
    "- a\n  - b\n" + "".join(f"    - item *{n}*\n\n      ```python\n      x = {n}\n      ```\n" for n in range(150)),
)


@pytest.mark.parametrize("source", [*_LONG_LISTS[2:], *in_long_runs(_LONG_LISTS[:2])])
def test_a_long_nested_list_keeps_its_levels_and_numbers(qapp: QApplication, source: str) -> None:
    source += "\nText below.\n\n- another\n  - list\n"
    whole = _document(qapp)
    monkey = pytest.MonkeyPatch()
    monkey.setattr("app.ui.text.growing_blocks._MANY_PARTS", 10**9)
    monkey.setattr("app.ui.text.growing_blocks._LONG_BLOCK", 10**9)
    whole.set_source(source)
    wait_for_text(whole)
    monkey.undo()
    divided = _document(qapp)
    divided.set_source(source)
    wait_for_text(divided)
    assert look_of(divided.document) == look_of(whole.document)
