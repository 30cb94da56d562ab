"""Files of any program are read as text, or refused with a reason. A broken file does no harm."""

from __future__ import annotations

import os
import random
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pypdf import PdfReader, PdfWriter
from pytestqt.qtbot import QtBot

from app.files import documents
from app.files.reading import FileReader, Job, NotAttachedError, is_document, read_document, read_text_file
from app.model.attachment import Attachment, FilePart
from tests.waiting import PATIENCE_MS
from worker.sentence import Sentence
from worker.trial import TrialProcess


@pytest.fixture(scope="module")
def process() -> Iterator[TrialProcess]:
    process = TrialProcess()
    yield process
    process.close()


# --- text files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        ("Füße 😀".encode(), "Füße 😀"),
        ("\ufeffmarked".encode(), "marked"),
        ("wide 😀".encode("utf-16"), "wide 😀"),
        ("wide".encode("utf-16-be").join([b"\xfe\xff", b""]), "wide"),
        ("Füße".encode("cp1252"), "Füße"),
        (b"\x1b[31mred\x1b[0m\x0c", "\x1b[31mred\x1b[0m\x0c"),
    ],
)
def test_a_text_file_of_any_program_is_read(tmp_path: Path, data: bytes, text: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(data)
    assert read_text_file(file) == Attachment(name="a.txt", text=text)


def test_lines_of_a_long_text_can_be_chosen(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    text = "".join(f"line {number} " + "x" * (number % 300) + "\n" for number in range(400)) + "y" * 30_000
    file.write_text(text)
    whole = read_text_file(file)
    assert whole.chosen == "".join(part.text for part in whole.parts) == text
    assert whole.parts[0].title.startswith("lines 1–")
    assert whole.parts[-1].title == "line 401"
    last = Attachment(name="a.log", parts=whole.parts, is_cut=True, left_out=tuple(range(len(whole.parts) - 1)))
    assert last.chosen == "[line 401]\n" + "y" * 30_000


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\x00\x00", b"a\x00b", b"\x81\x8d", bytes(range(256))])
def test_a_file_that_is_not_text_is_refused_by_name(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(data)
    with pytest.raises(NotAttachedError, match=r"“picture\.png” is not a text file"):
        read_text_file(file)


def test_a_path_that_is_not_a_file_is_refused_with_a_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge.log").open("wb") as stream:
        stream.truncate(1 << 30)
    for name, why in (
        (".", "is a folder"),
        ("gone.txt", r"can't be read \(No such file"),
        ("pipe", "is not a file"),
        ("huge.log", "has 1 GiB, but a file can have only"),
    ):
        with pytest.raises(NotAttachedError, match=why):
            read_text_file(tmp_path / name)


# --- documents -----------------------------------------------------------------------------------------------

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


def _packed(file: Path, entries: Mapping[str, str]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)


def _word_document(file: Path) -> None:
    def paragraph(text: str, style: str = "") -> str:
        look = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
        return f"<w:p>{look}<w:r><w:t>{text}</w:t></w:r></w:p>"

    row = "<w:tr>{}</w:tr>"
    cells = ["".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in texts) for texts in (("a", "b"), ("1", "2"))]
    body = (
        paragraph("Before all")
        + paragraph("Apples", "Heading1")
        + paragraph("Red &amp; round.")
        + paragraph("Pears", "Heading1")
        + f"<w:tbl>{''.join(row.format(cell) for cell in cells)}</w:tbl>"
    )
    styles = '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    _packed(
        file,
        {
            "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" '
            f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" '
            f'Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
            "word/styles.xml": f'<w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
        },
    )


def _workbook(file: Path) -> None:
    def sheet(*rows: tuple[object, ...]) -> str:
        lines = "".join(
            f'<row r="{number}">'
            + "".join(
                f'<c r="{chr(65 + column)}{number}">{_value(value)}</c>'
                if not isinstance(value, str)
                else f'<c r="{chr(65 + column)}{number}" t="inlineStr"><is><t>{value}</t></is></c>'
                for column, value in enumerate(row)
                if value is not None
            )
            + "</row>"
            for number, row in enumerate(rows, 1)
        )
        return f'<worksheet xmlns="{_SHEET}"><sheetData>{lines}</sheetData></worksheet>'

    names = ("Prices", "Empty", "Places")
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(names, 1))
    links = "".join(
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in (1, 2, 3)
    )
    _packed(
        file,
        {
            "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="xml" '
            'ContentType="application/xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" '
            f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{links}</Relationships>',
            "xl/worksheets/sheet1.xml": sheet(("fruit", "price"), ("apple", 2), (None,), (None,), ("pear, big", 2.5)),
            "xl/worksheets/sheet2.xml": sheet(),
            "xl/worksheets/sheet3.xml": sheet(("Bonn",)),
        },
    )


def _value(value: object) -> str:
    return f"<v>{value}</v>"


def _book(file: Path) -> None:
    page = (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title>'
        "<style>p {{}}</style></head><body><h1>{}</h1><p>{}</p></body></html>"
    )
    _packed(
        file,
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>',
            "OEBPS/content.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
            '<item id="b" href="text/second%20one.xhtml"/><item id="a" href="text/first.xhtml"/></manifest>'
            '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
            "OEBPS/text/second one.xhtml": page.format("The end", "Über all."),
            "OEBPS/text/first.xhtml": page.format("The beginning", "Once."),
        },
    )


def _web_page(file: Path) -> None:
    file.write_bytes(
        '<html><head><meta charset="iso-8859-1"><script>evil()</script></head><body><h1>Größe</h1><p>One '
        '<b>two</b> <img src="x" alt="three"></p><ul><li>a</li></ul><script>more()</script></body></html>'.encode(
            "latin-1"
        )
    )


def _pages(file: Path) -> None:
    """Write a PDF with a line of text on each of two pages."""
    from PySide6.QtCore import QMarginsF
    from PySide6.QtGui import QPainter, QPdfWriter

    writer = QPdfWriter(str(file))
    writer.setPageMargins(QMarginsF(0, 0, 0, 0))
    painter = QPainter(writer)
    painter.drawText(400, 400, "Words on paper")
    writer.newPage()
    painter.drawText(400, 400, "More words")
    painter.end()


def _open_document(file: Path) -> None:
    import odfdo

    document = odfdo.Document("text")
    document.body.clear()
    document.body.append(odfdo.Header(1, "Title"))
    document.body.append(odfdo.Paragraph("A paragraph."))
    document.save(file)


def _parts(*parts: tuple[str, str]) -> tuple[FilePart, ...]:
    return tuple(FilePart(title=title, text=text) for title, text in parts)


@pytest.mark.parametrize(
    ("name", "write", "expected"),
    [
        (
            "a.docx",
            _word_document,
            _parts(
                ("beginning", "Before all"),
                ("Apples", "Red & round."),
                ("Pears", "|  |  |\n| --- | --- |\n| a | b |\n| 1 | 2 |"),
            ),
        ),
        ("a.xlsx", _workbook, _parts(("Prices", 'fruit,price\napple,2\n\n"pear, big",2.5'), ("Places", "Bonn"))),
        (
            "a.epub",
            _book,
            _parts(("The beginning", "# The beginning\n\nOnce."), ("The end", "# The end\n\nÜber all.")),
        ),
        ("a.HTML", _web_page, "# Größe\n\nOne **two** three\n\n- a"),
        ("a.pdf", _pages, _parts(("page 1", "Words on paper"), ("page 2", "More words"))),
        ("a.odt", _open_document, "# Title\n\nA paragraph."),
    ],
)
def test_a_document_is_read_in_its_parts(
    tmp_path: Path,
    process: TrialProcess,
    name: str,
    write: Callable[[Path], None],
    expected: str | tuple[FilePart, ...],
    qapp: object,
) -> None:
    assert qapp
    file = tmp_path / name
    write(file)
    assert is_document(file)
    found = read_document(file, process)
    assert found.name == name
    if isinstance(expected, str):
        assert found.text.strip() == expected
    else:
        # Qt writes some spaces as tabs.
        assert [(part.title, part.text.strip().replace("\t", " ")) for part in found.parts] == [
            (part.title, part.text) for part in expected
        ]


def test_a_locked_an_empty_and_a_broken_document_are_refused_with_a_reason(
    tmp_path: Path, process: TrialProcess, qapp: object
) -> None:
    assert qapp
    _pages(tmp_path / "pages.pdf")
    locked = PdfWriter(clone_from=PdfReader(tmp_path / "pages.pdf"))
    locked.encrypt("secret", algorithm="RC4-128")
    locked.write(tmp_path / "locked.pdf")
    blank = PdfWriter()
    blank.add_blank_page(100, 100)
    blank.write(tmp_path / "blank.pdf")
    (tmp_path / "broken.docx").write_bytes(b"PK\x03\x04 and nothing more")
    (tmp_path / "broken.xlsx").write_bytes((tmp_path / "pages.pdf").read_bytes())
    for name, why in (
        ("locked.pdf", "protected by a password"),
        ("blank.pdf", "has no text. If its pages are pictures"),
        ("broken.docx", "damaged, or not what its name says"),
        ("broken.xlsx", "damaged, or not what its name says"),
        ("gone.pdf", r"can't be read \(No such file"),
    ):
        with pytest.raises(NotAttachedError, match=why):
            read_document(tmp_path / name, process)


def test_a_zip_bomb_ends_in_a_sentence(tmp_path: Path, process: TrialProcess) -> None:
    file = tmp_path / "bomb.epub"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/container.xml", "<a>" + " " * 200_000_000 + "</a>")
    with pytest.raises(NotAttachedError, match="needs more than 2 GiB of memory"):
        read_document(file, process)


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.long) for seed in range(40)] + [40])
def test_a_damaged_document_is_read_or_refused(tmp_path: Path, process: TrialProcess, seed: int, qapp: object) -> None:
    assert qapp
    draw = random.Random(seed)
    name, write = draw.choice([("a.docx", _word_document), ("a.xlsx", _workbook), ("a.epub", _book), ("a.pdf", _pages)])
    file = tmp_path / name
    write(file)
    data = bytearray(file.read_bytes())
    for _ in range(draw.randint(1, 20)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    file.write_bytes(data[: draw.randint(1, len(data))] if draw.random() < 0.3 else data)
    try:
        said = read_document(file, process).name
    except NotAttachedError as error:
        said = str(error)
    assert name in said


def test_a_long_document_is_cut_at_a_part(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text("".join(f"<h1>Part {number}</h1><p>{'x' * 90}</p>" for number in range(10)))
    parts, num_parts = documents.read_parts(str(file), 250)
    assert ([title for title, _ in parts], num_parts) == (["Part 0", "Part 1"], 10)
    parts, num_parts = documents.read_parts(str(file), 40)
    # No part is cut: one that is too long is refused with its length.
    assert ([(title, len(text)) for title, text in parts], num_parts) == ([("Part 0", 90)], 10)


# --- in the background ---------------------------------------------------------------------------------------


def test_documents_are_read_one_after_another_for_the_conversation_they_were_given_in(
    tmp_path: Path, qtbot: QtBot
) -> None:
    reader = FileReader(None)
    read: list[tuple[str, int | None, str]] = []

    def on_read(job: Job, found: Attachment | Sentence) -> None:
        assert threading.current_thread() is threading.main_thread()
        read.append((job.path.name, job.conversation_id, "sentence" if isinstance(found, Sentence) else found.text))

    reader.read.connect(on_read)
    for name in ("a.html", "b.html", "c.html"):
        (tmp_path / name).write_text(f"<p>{name}</p>")
    reader.start(tmp_path / "a.html", 1)
    reader.start(tmp_path / "a.html", 1)
    reader.start(tmp_path / "b.html", 1)
    reader.start(tmp_path / "c.html", None)
    reader.start(tmp_path / "gone.html", 2)
    assert [job.path.name for job in reader.jobs_of(1)] == ["a.html", "b.html"]
    reader.stop(reader.jobs_of(1)[1])
    assert [job.path.name for job in reader.jobs_of(1)] == ["a.html"]
    qtbot.waitUntil(lambda: len(read) == 3, timeout=PATIENCE_MS)
    assert read == [("a.html", 1, "a.html"), ("c.html", None, "c.html"), ("gone.html", 2, "sentence")]
    assert reader.jobs_of(1) == reader.jobs_of(None) == reader.jobs_of(2) == []
