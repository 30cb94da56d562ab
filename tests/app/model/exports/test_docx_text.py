"""Conversations as Word documents: nothing is lost, and the parts are valid and fit together."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import mammoth
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.model.exports.docx_file import About, DocxFile, styles_xml
from app.model.exports.docx_inline import Picture, text_run
from app.model.exports.docx_text import DocxText, column_widths
from app.model.exports.excerpt import Excerpt, Options
from app.model.message import Conversation, Message, Role
from tests.app.model.exports.excerpts import TEXTS, excerpts

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_PIXEL = bytes.fromhex("89504e470d0a1a0a")


class _Pictures:
    """Gives every formula a picture of the same size. Other pictures are missing."""

    def __init__(self, file: DocxFile) -> None:
        self._file = file

    def formula(self, latex: str, *, is_inline: bool) -> Picture | None:
        return None if "\\" in latex else Picture(self._file.picture("formula.png", _PIXEL), 10, 5, 1)

    def picture(self, address: str) -> Picture | None:
        return None


class _Document:
    """A written file, read back."""

    def __init__(self, excerpt: Excerpt, options: Options | None = None) -> None:
        file = DocxFile()
        text = DocxText(file, _Pictures(file), options or Options())
        self.steps = list(text.write(excerpt))
        stream = io.BytesIO()
        file.write(stream, About("A & title", "de", 0, 2**62), text.xml)
        self.data = stream.getvalue()
        with zipfile.ZipFile(stream) as archive:
            assert len(set(archive.namelist())) == len(archive.namelist())
            self.parts = {name: archive.read(name) for name in archive.namelist()}
        # The parts are our own.
        self.xml = {
            name: ET.fromstring(data)  # noqa: S314
            for name, data in self.parts.items()
            if not name.startswith("word/media/")
        }
        self.body = next(iter(self.xml["word/document.xml"]))

    def paragraphs(self) -> list[str]:
        return [_read(found) for found in self.body.iter(f"{_W}p")]

    def styled(self) -> list[tuple[str, str]]:
        """Return each paragraph's style and text."""
        return [(_value(found, "pStyle"), _read(found)) for found in self.body.iter(f"{_W}p")]


def _value(paragraph: ET.Element, name: str) -> str:
    """Return the value of a paragraph's property; empty if it has none."""
    found = paragraph.find(f".//{_W}pPr//{_W}{name}")
    return "" if found is None else found.get(f"{_W}val", "on")


def _read(element: ET.Element) -> str:
    pieces: list[str] = []
    for found in element.iter():
        match found.tag.removeprefix(_W):
            case "t":
                pieces.append(found.text or "")
            case "tab":
                pieces.append("\t")
            case "br":
                pieces.append("\n")
            case _:
                # A picture's description.
                pieces.append(found.get("descr", ""))
    return "".join(pieces)


def _excerpt(*turns: tuple[Role, str]) -> Excerpt:
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number, (role, text) in enumerate(turns, 2):
        messages.append(Message(id=number, parent_id=number - 1, role=role, text=text))
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    return Excerpt(conversation, messages, {}, messages)


def _answer(markdown: str) -> _Document:
    return _Document(_excerpt(("assistant", markdown)))


@given(st.text(st.sampled_from("ab \t\n<&😀é\ud800\ufffe\x0b")) | TEXTS)
@example("  two  at  both  ends  ")
def test_any_text_is_read_back_with_its_spaces(text: str) -> None:
    run = ET.fromstring(f'<w:p xmlns:w="{_W[1:-1]}">{text_run(text)}</w:p>')  # noqa: S314 (our own)
    expected = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")
    assert _read(run) == re.sub("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "�", expected)


@given(excerpts(), st.booleans())
@settings(max_examples=40)
def test_any_conversation_is_a_package_whose_parts_fit_together(excerpt: Excerpt, statistics: bool) -> None:
    document = _Document(excerpt, Options(statistics=statistics))
    assert document.steps == list(range(1, len(document.steps) + 1))
    _assert_fits_together(document)
    # Another program's reader takes it, too.
    assert isinstance(mammoth.extract_raw_text(io.BytesIO(document.data)).value, str)


def _assert_fits_together(document: _Document) -> None:
    types = {found.get("PartName") or found.get("Extension") for found in document.xml["[Content_Types].xml"]}
    for name in document.parts.keys() - {"[Content_Types].xml"}:
        assert {f"/{name}", name.rpartition(".")[2]} & types, name
    for name in ("_rels/.rels", "word/_rels/document.xml.rels"):
        folder = posixpath.dirname(posixpath.dirname(name))
        relations = list(document.xml[name])
        assert len({found.get("Id") for found in relations}) == len(relations)
        for found in relations:
            if found.get("TargetMode") != "External":
                assert posixpath.join(folder, found.get("Target", "")) in document.parts
    ids = {found.get("Id") for found in document.xml["word/_rels/document.xml.rels"]}
    used = {value for found in document.body.iter() for key, value in found.items() if key.startswith(_R)}
    assert used <= ids
    styles = {found.get(f"{_W}styleId") for found in document.xml["word/styles.xml"]}
    for kind in ("pStyle", "rStyle", "tblStyle", "basedOn", "next"):
        for part in ("word/document.xml", "word/styles.xml"):
            assert {found.get(f"{_W}val") for found in document.xml[part].iter(f"{_W}{kind}")} <= styles
    lists = {found.get(f"{_W}numId") for found in document.xml["word/numbering.xml"].iter(f"{_W}num")}
    assert {found.get(f"{_W}val") for found in document.body.iter(f"{_W}numId")} <= lists
    for cell in document.body.iter(f"{_W}tc"):
        assert cell[-1].tag == f"{_W}p"


# --- random Markdown -------------------------------------------------------------------------------------------


def _blocks(depth: int) -> st.SearchStrategy[list[str]]:
    """Generate blocks as lines of Markdown in which each @ stands for a word."""
    text = st.sampled_from(
        ["@", "@ **@** *@ ~~@~~* @", "[@ `@`](https://x.org/?a=1&b) @", "[@](rel) @\\\n@", "@ $a_1$ @[^1]"]
    )
    leaf = st.one_of(
        text.map(str.splitlines),
        text.map(lambda line: [f"## {line.splitlines()[0].removesuffix(chr(92))}"]),
        st.just(["```python", "def @(@):", "", "\treturn  @  # @", "```"]),
        st.just(["| @ | @ |", "|:-|-:|", "| **@** | `@` |", "| @ | |"]),
        st.just(["$$", "x @", "$$"]),
        st.just(["[^1]: @", "", "    @"]),
        st.just(["---"]),
    )
    if not depth:
        return leaf
    inner = st.lists(_blocks(depth - 1), min_size=1, max_size=3).map(
        lambda found: [line for block in found for line in [*block, ""]][:-1]
    )
    marks = st.sampled_from(["- ", "3. ", "40000. ", "1) ", "> "])
    return leaf | st.tuples(marks, inner).map(
        lambda pair: [
            f"{pair[0] if number == 0 or pair[0] == '> ' else ' ' * len(pair[0])}{line}"
            for number, line in enumerate(pair[1])
        ]
    )


_MARKDOWN = st.lists(_blocks(3), min_size=1, max_size=5).map(
    lambda found: "\n".join(line for block in found for line in [*block, ""])
)


@given(_MARKDOWN)
@settings(max_examples=50)
def test_all_words_of_any_markdown_arrive_in_order(markdown: str) -> None:
    num_words = markdown.count("@")
    words = iter(range(num_words))
    document = _answer(re.sub("@", lambda _: f"word{next(words)}", markdown))
    assert re.findall(r"word\d+", "\n".join(document.paragraphs())) == [f"word{number}" for number in range(num_words)]
    _assert_fits_together(document)


# --- single features -------------------------------------------------------------------------------------------


def test_user_text_and_code_keep_their_lines_and_spaces() -> None:
    code = "def f():\n\tif x:\n        return  'a'   \n\n\nend"
    document = _Document(_excerpt(("user", f" indented\n\n{code}"), ("assistant", f"```python\n\n{code}\n\n```")))
    lines = [" indented", "", *code.split("\n")]
    assert document.paragraphs() == ["n", "You", *lines, "Answer", "", *code.split("\n"), ""]
    assert {style for style, _ in document.styled()[-7:]} == {"Code"}


def test_marked_text_headings_and_links_are_words_own() -> None:
    document = _answer(
        "**b** *e* ~~s~~ `c  d` [l](https://x.org/?a=1&b) [m](notes.md) $x$ h\\\nk\n\n# Head\n\n"
        "###### Deep\n\n> said\n\n---"
    )
    assert document.styled() == [
        ("Title", "n"), ("Heading2", "Answer"), ("BodyText", "b e s c  d l m (notes.md) $x$ h\nk"),
        ("Heading3", "Head"), ("Heading8", "Deep"), ("Quote", "said"), ("Line", ""),
    ]  # fmt: skip
    looks = {
        _read(run): [child.tag.removeprefix(_W) for child in properties]
        for run in document.body.iter(f"{_W}r")
        if (properties := run.find(f"{_W}rPr")) is not None
    }
    assert [looks[text] for text in ("b", "e", "s", "c  d")] == [["b", "bCs"], ["i", "iCs"], ["strike"], ["rStyle"]]
    (link,) = document.body.iter(f"{_W}hyperlink")
    targets = {found.get("Id"): found.get("Target") for found in document.xml["word/_rels/document.xml.rels"]}
    assert (_read(link), targets[link.get(f"{_R}id")]) == ("l", "https://x.org/?a=1&b")
    levels = {
        found.get(f"{_W}styleId"): outline.get(f"{_W}val")
        for found in document.xml["word/styles.xml"].iter(f"{_W}style")
        if (outline := found.find(f".//{_W}outlineLvl")) is not None
    }
    assert (levels["Heading1"], levels["Heading8"]) == ("0", "7")
    html = mammoth.convert_to_html(io.BytesIO(document.data)).value
    assert '<strong>b</strong> <em>e</em> <s>s</s> c  d <a href="https://x.org/?a=1&amp;b">l</a>' in html
    # The picture is five millimetres high, one of them below the baseline: six halves of a point.
    assert next(document.body.iter(f"{_W}position")).get(f"{_W}val") == "-6"


@pytest.mark.parametrize("address", ["http://[::1", "https://x.org/" + "a" * 2_000, "https://a b", "#top", "C:\\x"])
def test_an_address_that_word_would_refuse_is_text(address: str) -> None:
    assert DocxFile().link(address) is None


def test_nested_lists_have_words_numbers_and_continue_after_a_table() -> None:
    document = _answer(
        "3. a\n   - b\n   - [x] c\n\n     more\n4. d\n\n   | t |\n   |---|\n   | u |\n\n   e\n5. f\n6.\n"
        "7) g\n\n70000. h\n\n---\n\n5. - i\n"
    )
    starts = {
        found.get(f"{_W}numId"): start.get(f"{_W}val")
        for found in document.xml["word/numbering.xml"].iter(f"{_W}num")
        if (start := found.find(f".//{_W}startOverride")) is not None
    }
    labels = [
        (_read(found), _value(found, "ilvl"), starts.get(_value(found, "numId"), "•" * bool(_value(found, "numId"))))
        for found in document.body.iter(f"{_W}p")
        if _value(found, "pStyle") not in {"Title", "Heading2", "Space"}
    ]
    assert labels == [
        ("a", "0", "3"), ("b", "1", "•"), ("☑ c", "1", "•"), ("more", "", ""), ("d", "0", "3"), ("t", "", ""),
        ("u", "", ""), ("e", "", ""), ("f", "0", "3"), ("", "0", "3"), ("g", "0", "7"), ("70000.\th", "", ""),
        ("", "", ""), ("", "0", "5"), ("i", "1", "•"),
    ]  # fmt: skip


def test_each_paragraph_has_the_direction_of_its_first_letter_and_code_is_left_to_right() -> None:
    document = _Document(_excerpt(("user", "שלום\nHello"), ("assistant", "مرحبا x\n\n1. English\n\n```\nمرحبا\n```\n")))
    assert [(_read(found), _value(found, "bidi")) for found in document.body.iter(f"{_W}p")][2:] == [
        ("שלום", "on"), ("Hello", ""), ("Answer", ""), ("مرحبا x", "on"), ("English", ""), ("", ""), ("مرحبا", ""),
    ]  # fmt: skip


def test_a_table_repeats_its_head_on_every_page_and_aligns_its_cells() -> None:
    document = _answer("| l | r |\n|:--|--:|\n| `a \\| b` | **2** |\n| שלום | |\n\n|a|\n|-|\n")
    first, second = document.body.iter(f"{_W}tbl")
    assert [_read(row) for row in first.iter(f"{_W}tr") if row.find(f".//{_W}tblHeader") is not None] == ["lr"]
    cells = list(first.iter(f"{_W}p"))
    assert [_read(found) for found in cells] == ["l", "r", "a | b", "2", "שלום", ""]
    # In a paragraph from right to left, Word takes the right for its end.
    assert [_value(found, "jc") for found in cells] == ["left", "right", "left", "right", "right", "right"]
    # Word joins tables without a paragraph between them.
    between = list(document.body)[list(document.body).index(first) + 1]
    assert (between.tag, _read(between), _read(second)) == (f"{_W}p", "", "a")


def test_tables_that_word_would_refuse_are_lines_or_several_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.model.exports.docx_text._MAX_ROWS", 3)
    rows = "".join(f"| {number} |\n" for number in range(7))
    document = _answer(f"| head |\n|---|\n{rows}")
    tables = [[_read(row) for row in table.iter(f"{_W}tr")] for table in document.body.iter(f"{_W}tbl")]
    assert tables == [["head", "0", "1"], ["2", "3", "4"], ["5", "6"]]
    wide = _answer("|x" * 64 + "|\n" + "|-" * 64 + "|\n" + "|y" * 64 + "|\n")
    assert not list(wide.body.iter(f"{_W}tbl"))
    said, *lines = wide.paragraphs()[2:]
    assert said == "This table has 64 columns. Word shows at most 63, so each row is a line."
    assert lines == ["\t".join("x" * 64), "\t".join("y" * 64)]


def test_reasoning_has_a_heading_or_is_left_out() -> None:
    excerpt = _excerpt(("assistant", "<think>\nHm.\n</think>\n\nSo."))
    assert _Document(excerpt).paragraphs()[2:] == ["Reasoning", "Hm.", "So."]
    assert _Document(excerpt, Options(reasoning=False)).paragraphs()[2:] == ["So."]


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


def test_deeply_nested_text_is_kept_and_stays_on_the_page() -> None:
    text = _read(_answer("*a **b " * 400 + "c" + "** *" * 400).body)
    assert (text.count("a "), text.count("b "), text.count("c")) == (400, 400, 1)
    markdown = "\n".join(f"{'  ' * depth}- level {depth}" for depth in range(40)) + "\n\n" + "> " * 40 + "quote"
    document = _answer(markdown)
    assert {f"level {depth}" for depth in range(40)} | {"quote"} <= set(document.paragraphs())
    # Half of 170 mm.
    assert max(int(found.get(f"{_W}left", "0")) for found in document.body.iter(f"{_W}ind")) <= 85 * 56.7
    assert max(int(found.get(f"{_W}val", "0")) for found in document.body.iter(f"{_W}ilvl")) == 8


def _sizes(*numbers: int) -> Iterator[Excerpt]:
    for number in numbers:
        yield _excerpt(
            ("assistant", "| a | b |\n|---|---|\n" + "| c | d |\n" * number), ("user", "word " * 10 * number)
        )


def test_the_work_is_linear_in_the_text() -> None:
    pieces = [len(_Document(excerpt).parts["word/document.xml"]) for excerpt in _sizes(200, 400, 800)]
    assert pieces[2] - pieces[1] == 2 * (pieces[1] - pieces[0])


def test_the_language_is_that_of_the_spelling_check() -> None:
    languages = {
        tag: next(ET.fromstring(styles_xml(tag)).iter(f"{_W}lang")).attrib.values()  # noqa: S314 (our own)
        for tag in ("de", "ja", "he")
    }
    assert {tag: list(found) for tag, found in languages.items()} == {
        "de": ["de", "en-US", "ar-SA"],
        "ja": ["ja", "ja", "ar-SA"],
        "he": ["he", "en-US", "he"],
    }


def test_python_docx_reads_the_document(tmp_path: Path) -> None:
    docx: Any = pytest.importorskip("docx", reason="python-docx is not installed; `make setup` installs it")
    path = tmp_path / "x.docx"
    path.write_bytes(_answer("# Head\n\n[l](https://x.org)\n\n1. one\n\n| a | b |\n|---|---|\n| 1 | 2 |\n").data)
    found = docx.Document(path)
    about = found.core_properties
    assert (about.title, about.language, about.author, about.last_modified_by) == ("A & title", "de", "", "")
    assert [(each.style.name, each.text) for each in found.paragraphs if each.text] == [
        ("Title", "n"), ("Heading 2", "Answer"), ("Heading 3", "Head"), ("Body Text", "l"), ("Tight Item", "one"),
    ]  # fmt: skip
    assert [link.address for each in found.paragraphs for link in each.hyperlinks] == ["https://x.org"]
    (table,) = found.tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["a", "b"], ["1", "2"]]
