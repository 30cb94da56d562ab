"""Hostile documents as attachments: each is read without its tricks, or refused in a sentence; none is cut unseen."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from pytestqt.qtbot import QtBot
from typing_extensions import override

from app.files.reading import NotAttachedError, read_document
from app.ui.dialogs.project_window import ProjectWindow
from tests.attacks.conftest import Starter
from tests.waiting import PATIENCE_MS
from worker.sentence import Sentence
from worker.trial import TrialProcess

_SECRET = "a file of the user"
_NS = "urn:oasis:names:tc:opendocument:xmlns"
_OFFICE = "http://schemas.openxmlformats.org"
_RELATIONS = f"{_OFFICE}/package/2006/relationships"
_KINDS = f'<Types xmlns="{_OFFICE}/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/>'
_LAUGHS = (
    f'<!DOCTYPE d [<!ENTITY a "{"x" * 30}">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]>"
)
"""Nine entities, each of ten of the one before: &j; has 30 billion characters."""


def _odt(body: str, doctype: str = "") -> dict[str, str]:
    manifest = f'<m:manifest xmlns:m="{_NS}:manifest:1.0"><m:file-entry m:full-path="/" m:media-type="x"/></m:manifest>'
    return {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "META-INF/manifest.xml": manifest,
        "content.xml": f'<?xml version="1.0"?>{doctype}<o:document-content xmlns:o="{_NS}:office:1.0" '
        f'xmlns:text="{_NS}:text:1.0"><o:body><o:text>{body}</o:text></o:body></o:document-content>',
    }


def _docx(body: str, doctype: str = "", relations: str = "") -> dict[str, str]:
    main = f'<Relationship Id="r" Type="{_OFFICE}/officeDocument/2006/relationships/officeDocument" Target="d.xml"/>'
    return {
        "[Content_Types].xml": f"{_KINDS}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}">{main}</Relationships>',
        "_rels/d.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{relations}</Relationships>',
        "d.xml": f'<?xml version="1.0"?>{doctype}<w:document xmlns:w="{_OFFICE}/wordprocessingml/2006/main" '
        f'xmlns:r="{_OFFICE}/officeDocument/2006/relationships" xmlns:a="{_OFFICE}/drawingml/2006/main">'
        f"<w:body><w:p><w:r><w:t>{body}</w:t></w:r></w:p></w:body></w:document>",
    }


def _xlsx(rows: str, shared: str = "") -> dict[str, str]:
    main, sheet = f"{_OFFICE}/spreadsheetml/2006/main", f"{_OFFICE}/officeDocument/2006/relationships"
    return {
        "[Content_Types].xml": f"{_KINDS}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r" Type="{sheet}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{sheet}"><sheets><sheet name="S" sheetId="1" '
        'r:id="a"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}">'
        f'<Relationship Id="a" Type="{sheet}/worksheet" Target="s.xml"/>'
        f'<Relationship Id="b" Type="{sheet}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/s.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{main}"><si><t>{shared}</t></si></sst>',
    }


def _epub(chapter: str, doctype: str = "", spine: str = '<itemref idref="i"/>', href: str = "c") -> dict[str, str]:
    return {
        "META-INF/container.xml": f'<?xml version="1.0"?>{doctype}<c><rootfile full-path="o.opf"/></c>',
        "o.opf": f'<package><manifest><item id="i" href="{href}"/></manifest><spine>{spine}</spine></package>',
        "c": chapter,
    }


def _packed_zeros(count: int) -> bytes:
    """Return zeros in the format of `zlib.compress`, one block many times, because compressing all takes seconds."""
    packer, block_bytes = zlib.compressobj(wbits=-zlib.MAX_WBITS), 10**7
    block = packer.compress(bytes(block_bytes)) + packer.flush(zlib.Z_FULL_FLUSH)
    assert count % block_bytes == 0
    checksum = (count % 65_521 << 16) + 1  # Adler-32
    return b"\x78\x9c" + block * (count // block_bytes) + packer.flush() + checksum.to_bytes(4, "big")


def _pdf(content: bytes, more: bytes) -> bytes:
    return (
        b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n"
        b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
        b"4 0 obj<</Length %d%b>>stream\n%b\nendstream endobj\ntrailer<</Root 1 0 R/Size 6>>\n%%%%EOF"
    ) % (len(content), more, content)


def _hole(num_bytes: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.touch()
        os.truncate(path, num_bytes)

    return make


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


class Hostile(NamedTuple):
    name: str
    suffix: str
    content: dict[str, str] | bytes | Callable[[Path], None]
    reads: str = ""
    """The text that is attached; empty if the file is refused."""
    refused: str = "damaged"
    is_long: bool = True


_FAR = '<row r="1"><c r="A1"><v>5</v></c></row><row r="1048576"><c r="XFD1048576"><v>6</v></c></row>'
_PICTURE = f"{_OFFICE}/officeDocument/2006/relationships/image"
_LINK = f'<Relationship Id="x" Type="{_PICTURE}" Target="URL" TargetMode="External"/>'
_WIDE = b"/Filter/FlateDecode/DecodeParms<</Predictor 15/Columns 2000000000>>"
_ESCAPES = "\\ud800 \\x1b[2J"
_XXE = '<!DOCTYPE d [<!ENTITY x SYSTEM "file://SECRET"><!ENTITY n SYSTEM "URL">]>'
_MANY = "".join(f'<row r="{row}">' + '<c t="s"><v>0</v></c>' * 200 + "</row>" for row in range(1, 2000))
HOSTILE = [
    Hostile("a file of the user in an ODT", ".odt", _odt("<text:p>A&x;&n;B</text:p>", _XXE), is_long=False),
    Hostile("a file of the user in a DOCX", ".docx", _docx("A&x;&n;B", _XXE), "AB"),
    Hostile("a file of the user in an EPUB", ".epub", _epub("<p>A</p>", _XXE), "A"),
    Hostile("a file of the user in a chapter", ".epub", _epub(f"{_XXE}<p>A&x;&n;B"), "]>\n\nA&x;&n;B"),
    Hostile("a declaration from the network", ".odt", _odt("<text:p>A</text:p>", '<!DOCTYPE d SYSTEM "URL">'), "A\n"),
    Hostile("a picture from the network", ".docx", _docx('A<a:blip r:link="x"/>', relations=_LINK), "A"),
    Hostile("a page with a picture", ".html", b"<p>A<img src='URL' alt='B'><link rel=stylesheet href='URL'>", "AB"),
    Hostile("a chapter outside of the book", ".epub", _epub("", href="../../../../../../../..SECRET")),
    Hostile("laughs in an ODT", ".odt", _odt("<text:p>&j;</text:p>", _LAUGHS)),
    Hostile("laughs in a DOCX", ".docx", _docx("&j;", _LAUGHS)),
    Hostile("laughs in an EPUB", ".epub", _epub("<p>A</p>", _LAUGHS, "<a>&j;</a>")),
    Hostile("a cell in the last corner", ".xlsx", _xlsx(_FAR), refused="more than 2 GiB of memory", is_long=False),
    Hostile("one text in 400,000 cells", ".xlsx", _xlsx(_MANY, "y" * 100_000), refused="more than 2 GiB of memory"),
    Hostile("four billion spaces", ".odt", _odt('<text:p><text:s text:c="4000000000"/></text:p>'), refused="2 GiB"),
    Hostile("deep sections", ".odt", _odt("<text:section>" * 20_000 + "</text:section>" * 20_000)),
    Hostile("deep elements", ".docx", _docx("<w:sdt>" * 20_000 + "</w:sdt>" * 20_000)),
    Hostile("a deep page", ".html", b"<div>" * 100_000 + b"A"),
    Hostile("a page in a codec of Python", ".html", f"<meta charset=unicode_escape><p>{_ESCAPES}".encode(), _ESCAPES),
    Hostile("a page in UTF-7", ".html", b"<meta charset=utf-7><p>+ADw-A", "+ADw-A"),
    Hostile("a page in no codec", ".html", b"<meta charset=undefined><p>A", "A"),
    Hostile("a page that is compressed", ".html", b"<meta charset=zlib_codec><p>A", "A"),
    Hostile("a list from a strange number", ".html", "<ol start='²'><li>A</ol>".encode(), "1. A"),
    Hostile("a gigabyte in a page of a PDF", ".pdf", _pdf(_packed_zeros(10**9), b"/Filter/FlateDecode")),
    Hostile("rows of two billion bytes", ".pdf", _pdf(zlib.compress(b"x"), _WIDE)),
    Hostile("deep brackets", ".pdf", _pdf(b"[" * 50_000, b"")),
    Hostile("a hole", ".pdf", _hole(2 << 30), refused="can have only"),
    Hostile("a pipe", ".docx", os.mkfifo, refused="is not a file"),
    Hostile("a device", ".xlsx", _device, refused="is not a file"),
]  # fmt: skip


@pytest.fixture(scope="module")
def process() -> Iterator[TrialProcess]:
    process = TrialProcess()
    yield process
    process.close()


@pytest.fixture(scope="module")
def asked() -> Iterator[list[str]]:
    """The paths that were requested from a server, after the server's address."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        @override
        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        paths.append(f"http://127.0.0.1:{server.server_port}/x")
        yield paths
        server.shutdown()


@pytest.mark.parametrize(
    "hostile", [pytest.param(each, id=each.name, marks=[pytest.mark.long] * each.is_long) for each in HOSTILE]
)
def test_a_hostile_document_is_read_without_its_tricks_or_refused(
    process: TrialProcess, tmp_path: Path, asked: list[str], hostile: Hostile
) -> None:
    secret, path = tmp_path / "secret", tmp_path / f"a{hostile.suffix}"
    secret.write_text(_SECRET)
    match hostile.content:
        case dict() as entries:
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, text in entries.items():
                    archive.writestr(name, text.replace("SECRET", str(secret)).replace("URL", asked[0]))
        case bytes() as data:
            path.write_bytes(data.replace(b"URL", asked[0].encode()))
        case make:
            make(path)
    found = _attached(path, process)
    assert found == hostile.reads if hostile.reads else hostile.refused in found
    assert _SECRET not in found
    assert asked[1:] == []


def _attached(path: Path, process: TrialProcess) -> str:
    """Return the text of an attachment, or why there is none."""
    try:
        return read_document(path, process).chosen
    except NotAttachedError as error:
        return str(error)


@pytest.mark.long
def test_no_part_of_a_document_is_left_out_of_a_project_unseen(bough: Starter, qtbot: QtBot, tmp_path: Path) -> None:
    sections = [f"<h1>Part {number}</h1><pre>{'x ' * 100_000}</pre>" for number in range(12)]
    (tmp_path / "long.html").write_text("".join(sections))
    (tmp_path / "longer.html").write_text(f"<pre>{'x ' * 1_100_000}</pre>")
    window = bough.start().window
    window.action("new_project").trigger()
    (page,) = window.findChildren(ProjectWindow)
    said: list[Sentence] = []
    page.files.refused.connect(said.append)
    page.files.add([tmp_path / "long.html", tmp_path / "longer.html"])
    qtbot.waitUntil(lambda: len(said) == 2, timeout=PATIENCE_MS)
    assert str(said[0]) == "“long.html” is too long: only the first 9 of its 12 parts are attached."
    assert "“longer.html” has 2,200,0" in str(said[1])
    assert [file.name for file in page.files.files] == ["long.html"]
