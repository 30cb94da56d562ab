"""Reads documents as text, in parts: pages, sheets, chapters or sections.

Runs in a trial process, because a broken or hostile file may crash the libraries, never end, or take all memory.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

from app.model.page_text import markdown_of

Part: TypeAlias = tuple[str, str]
"""The title and the text of a part."""

_MAX_ENTRY_BYTES = 50_000_000
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_NOT_OF_PAGES = {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"}
"""Python's encodings that no browser supports. Some are very slow, or can produce any character."""
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_HEADING = re.compile(r"^#{1,2} +(?P<title>.+?) *#*$", re.MULTILINE)
_MAX_TITLE_CHARS = 80


class NoTextError(Exception):
    """The file has no text that can be read."""


class LockedError(Exception):
    """The file is protected by a password."""


def read_parts(name: str, max_chars: int) -> tuple[list[Part], int]:
    """Read the document at the path `name`. Return its first parts, up to `max_chars`, and its number of parts.

    If the first part has more characters, it is returned alone and whole. A document without parts is one part with an
    empty title. Raises `NoTextError`, `LockedError`, `OSError`, and the errors of the library for its format.
    """
    path = Path(name)
    parts = [(title, text) for title, text in _READERS[path.suffix.lower()](path) if text.strip()]
    if not parts:
        raise NoTextError
    return _limited(parts, max_chars), len(parts)


def decoded(data: bytes) -> str | None:
    """Decode the bytes of a text file, with plain line ends; None if they are not text."""
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        # The most common encoding in the West before UTF-8.
        text = data.decode("cp1252", "replace")
        if "\ufffd" in text:
            return None
    return None if _NO_TEXT.search(text) else text.replace("\r\n", "\n").replace("\r", "\n")


def _text(data: bytes) -> str:
    text = decoded(data)
    if text is None:
        raise NoTextError
    return text


def _pdf(path: Path) -> list[Part]:
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError

    reader = PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        raise LockedError
    try:
        texts = [page.extract_text() for page in reader.pages]
    except FileNotDecryptedError as error:
        raise LockedError from error
    return [(f"page {number}", text) for number, text in enumerate(texts, 1)]


def _word(path: Path) -> list[Part]:
    import mammoth

    with path.open("rb") as stream:
        found = mammoth.convert_to_html(stream, convert_image=mammoth.images.img_element(_no_picture))
    return _sections(markdown_of(found.value))


def _open_document(path: Path) -> list[Part]:
    import odfdo

    return _sections(str(odfdo.Document(path).to_markdown()))


def _web_page(path: Path) -> list[Part]:
    return _sections(markdown_of(_html_text(path.read_bytes())))


def _sheets(path: Path) -> list[Part]:
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_path(path)
    except python_calamine.PasswordError as error:
        raise LockedError from error
    with book:
        return [(name, _csv(book.get_sheet_by_name(name).to_python())) for name in book.sheet_names]


def _book(path: Path) -> list[Part]:
    """Read the chapters of an EPUB in the order of its spine."""
    from xml.etree import ElementTree as ET

    with zipfile.ZipFile(path) as archive:
        # This process is limited, and expat limits what entities expand to.
        container = ET.fromstring(_entry(archive, "META-INF/container.xml"))  # noqa: S314
        rootfile = container.find(".//{*}rootfile")
        package_name = "" if rootfile is None else rootfile.get("full-path", "")
        package = ET.fromstring(_entry(archive, package_name))  # noqa: S314
        files = {item.get("id", ""): item.get("href") for item in package.iterfind(".//{*}manifest/{*}item")}
        parts: list[Part] = []
        for item in package.iterfind(".//{*}spine/{*}itemref"):
            href = files.get(item.get("idref", ""))
            if href is not None:
                name = posixpath.normpath(posixpath.join(posixpath.dirname(package_name), unquote(href)))
                text = markdown_of(_html_text(_entry(archive, name)))
                if text.strip():
                    parts.append((_title(text) or f"chapter {len(parts) + 1}", text))
    return parts


_READERS: dict[str, Callable[[Path], list[Part]]] = {
    ".pdf": _pdf,
    ".docx": _word,
    ".odt": _open_document,
    ".epub": _book,
    **dict.fromkeys((".html", ".htm", ".xhtml"), _web_page),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), _sheets),
}
DOCUMENTS = frozenset(_READERS)
"""The suffixes of documents. All other files are read as text."""


# --- parts of the formats ------------------------------------------------------------------------------------


def _html_text(data: bytes) -> str:
    """Decode a page by its byte order mark, or the encoding that it declares."""
    declared = re.search(rb"""(?:charset|encoding)=["']?([\w-]+)""", data[:2048])
    if declared is not None and not any(data.startswith(bom) for bom, _ in _BOMS):
        with contextlib.suppress(LookupError, UnicodeError):
            name = codecs.lookup(declared[1].decode("ascii")).name
            if name not in _NOT_OF_PAGES:
                return data.decode(name)
    return _text(data)


def _sections(text: str) -> list[Part]:
    """Split a Markdown text at its headings of the first two levels."""
    found = list(_HEADING.finditer(text))
    if len(found) < 2:
        return [("", text)]
    parts = [("beginning", text[: found[0].start()].strip())] if text[: found[0].start()].strip() else []
    ends = [*(heading.start() for heading in found[1:]), len(text)]
    for heading, end in zip(found, ends, strict=True):
        parts.append((_shortened(heading["title"]), text[heading.end() : end].strip()))
    return parts


def _no_picture(_picture: object) -> dict[str, str]:
    return {"src": ""}


def _title(text: str) -> str:
    found = _HEADING.search(text[:2000])
    return "" if found is None else _shortened(found["title"])


def _shortened(title: str) -> str:
    title = " ".join(re.sub(r"[*_`\[\]]", "", title).split())
    return title if len(title) <= _MAX_TITLE_CHARS else f"{title[: _MAX_TITLE_CHARS - 1]}…"


def _csv(rows: Iterable[Sequence[object]]) -> str:
    """Return the rows of a sheet as CSV, without empty cells at the ends of rows; consecutive empty rows become one."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    num_empty = 1
    for row in rows:
        cells = [_cell(value) for value in row]
        while cells and cells[-1] == "":
            cells.pop()
        num_empty = 0 if cells else num_empty + 1
        if num_empty < 2:
            writer.writerow(cells)
    return out.getvalue().rstrip("\n")


def _cell(value: object) -> object:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, datetime) and not (value.hour or value.minute or value.second):
        return value.date()
    return value


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as stream:
        data = stream.read(_MAX_ENTRY_BYTES + 1)
    if len(data) > _MAX_ENTRY_BYTES:
        raise MemoryError
    return data


def _limited(parts: Sequence[Part], max_chars: int) -> list[Part]:
    """Return as many of the first parts as fit. If even the first part is too long, return it whole."""
    kept: list[Part] = []
    room = max_chars
    for title, text in parts:
        if len(text) > room:
            break
        kept.append((title, text))
        room -= len(text)
    return kept or [parts[0]]
