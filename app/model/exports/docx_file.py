"""Writes a DOCX file: its parts, the relationships between them, and what they share: links, pictures and lists.

Lengths in XML are twips, the twentieth part of a point, unless their name says otherwise.
"""

from __future__ import annotations

import importlib.resources
import re
import zipfile
from datetime import UTC, datetime
from html import escape
from string import Template
from typing import BinaryIO, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from app.model.exports.highlighting import theme

TEXT_MM = 170
"""The width of the text on a page."""
INDENT_MM = 8
"""The indentation of a list or a quote."""
MAX_LEVEL = 8
"""The deepest level of Word's lists, from 0."""

ListKind: TypeAlias = Literal["•", ".", ")"]
"""A list of bullets, or with numbers before a full stop or a bracket."""

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_PARTS = {
    "word/document.xml": f"{_MAIN_TYPE}.document.main+xml",
    "word/styles.xml": f"{_MAIN_TYPE}.styles+xml",
    "word/numbering.xml": f"{_MAIN_TYPE}.numbering+xml",
    "word/settings.xml": f"{_MAIN_TYPE}.settings+xml",
    "word/footer.xml": f"{_MAIN_TYPE}.footer+xml",
    "docProps/core.xml": "application/vnd.openxmlformats-package.core-properties+xml",
    "docProps/app.xml": "application/vnd.openxmlformats-officedocument.extended-properties+xml",
}
_PICTURE_TYPES = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif"}
_SIZES = {1: 30, 2: 22, 3: 28, 4: 25, 5: 23, 6: 21, 7: 21, 8: 21}
"""The size of each level of headings, in half points. Branches have level 1, messages 2."""
_BULLETS = "•◦▪"
_MAX_FOOTER_CHARACTERS = 80
_LINKED = re.compile(r"(?:https?://|mailto:)[^\s<>\"{}|\\^`]+", re.IGNORECASE)
_MAX_ADDRESS = 2_000
"""Word takes a file with a longer address for damaged."""
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class About(NamedTuple):
    """The metadata of a document; `language` is a tag (BCP 47)."""

    title: str
    language: str
    created_ms: int
    changed_ms: int


def twips(mm: float) -> int:
    return round(mm * 1440 / 25.4)


def escaped(text: str) -> str:
    """Return a text as XML, also for attributes; characters that XML can't contain become U+FFFD."""
    return escape(_NOT_IN_XML.sub("�", text))


class DocxFile:
    """The parts of a document beside its text."""

    def __init__(self) -> None:
        self.pictures: dict[str, bytes] = {}
        """The files of pictures, by their names in the document's folder."""
        self._relations = [
            _relation(f"rId{number}", f"{_OFFICE}/relationships/{name}", f"{name}.xml")
            for number, name in enumerate(("styles", "numbering", "settings", "footer"), 1)
        ]
        self._ids: dict[str, str] = {}
        """The relationship of each picture and link, by its name or address."""
        self._lists: list[str] = []

    def picture(self, name: str, data: bytes) -> str:
        """Add a picture and return the id of its relationship; `name` is that of a file, with png, jpg or gif."""
        target = f"media/{name}"
        self.pictures[target] = data
        return self._id(target, "image", is_outside=False)

    def link(self, address: str) -> str | None:
        """Return the id of a relationship to a web or mail address; None if word processors would not accept it."""
        if len(address) > _MAX_ADDRESS or not _LINKED.fullmatch(address):
            return None
        try:
            urlsplit(address)
        except ValueError:
            return None
        return self._id(address, "hyperlink", is_outside=True)

    def new_list(self, kind: ListKind, level: int, start: int) -> int:
        """Return the number of a list whose items are counted from `start`; all lists of bullets are one."""
        if kind == "•":
            return 1
        self._lists.append(
            f'<w:num w:numId="{len(self._lists) + 2}"><w:abstractNumId w:val="{"•.)".index(kind)}"/>'
            f'<w:lvlOverride w:ilvl="{level}"><w:startOverride w:val="{start}"/></w:lvlOverride></w:num>'
        )
        return len(self._lists) + 1

    def write(self, file: BinaryIO, about: About, body: str) -> None:
        """Write the whole file; `body` is XML."""
        name = about.title
        if len(name) > _MAX_FOOTER_CHARACTERS:
            name = f"{name[:_MAX_FOOTER_CHARACTERS].rstrip()}…"
        parts = {
            "[Content_Types].xml": _content_types(),
            "_rels/.rels": _relations(
                [
                    _relation("rId1", f"{_OFFICE}/relationships/officeDocument", "word/document.xml"),
                    _relation("rId2", f"{_PACKAGE}/relationships/metadata/core-properties", "docProps/core.xml"),
                    _relation("rId3", f"{_OFFICE}/relationships/extended-properties", "docProps/app.xml"),
                ]
            ),
            "word/_rels/document.xml.rels": _relations(self._relations),
            "word/document.xml": document_xml(body),
            "word/styles.xml": styles_xml(about.language),
            "word/numbering.xml": self._numbering_xml(),
            "word/settings.xml": _SETTINGS,
            "word/footer.xml": _FOOTER.format(title=escaped(name)),
            "docProps/core.xml": _CORE.format(
                title=escaped(about.title),
                language=escaped(about.language),
                created=_iso_time(about.created_ms),
                changed=_iso_time(about.changed_ms),
            ),
            "docProps/app.xml": _APP,
        }
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, text in parts.items():
                archive.writestr(zipfile.ZipInfo(path), text.encode(), zipfile.ZIP_DEFLATED)
            for path, data in self.pictures.items():
                archive.writestr(zipfile.ZipInfo(f"word/{path}"), data, zipfile.ZIP_STORED)

    def _id(self, target: str, kind: str, *, is_outside: bool) -> str:
        found = self._ids.get(target)
        if found is None:
            found = self._ids[target] = f"rId{len(self._relations) + 1}"
            self._relations.append(_relation(found, f"{_OFFICE}/relationships/{kind}", target, is_outside=is_outside))
        return found

    def _numbering_xml(self) -> str:
        kinds = "".join(
            f'<w:abstractNum w:abstractNumId="{number}"><w:multiLevelType w:val="hybridMultilevel"/>'
            + "".join(_level(level, kind) for level in range(MAX_LEVEL + 1))
            + "</w:abstractNum>"
            for number, kind in enumerate("•.)")
        )
        bullets = '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        return f'{_HEAD}<w:numbering xmlns:w="{_WORD}">{kinds}{bullets}{"".join(self._lists)}</w:numbering>'


def document_xml(body: str) -> str:
    margins = " ".join(f'w:{side}="{twips(20)}"' for side in ("top", "right", "bottom", "left"))
    return (
        f'{_HEAD}<w:document xmlns:w="{_WORD}" xmlns:r="{_OFFICE}/relationships" '
        f'xmlns:wp="{_DRAWING}/wordprocessingDrawing" xmlns:a="{_DRAWING}/main" xmlns:pic="{_DRAWING}/picture">'
        f'<w:body>{body}<w:sectPr><w:footerReference w:type="default" r:id="rId4"/>'
        f'<w:pgSz w:w="{twips(210)}" w:h="{twips(297)}"/>'
        f'<w:pgMar {margins} w:header="709" w:footer="709" w:gutter="0"/>'
        "</w:sectPr></w:body></w:document>"
    )


def styles_xml(language: str) -> str:
    """Return the styles, with the language in which word processors check the text."""
    template = importlib.resources.files("resources").joinpath("exports/docx-styles.xml").read_text(encoding="utf-8")
    main = language.partition("-")[0]
    return Template(template).substitute(
        {name: colour.removeprefix("#") for name, colour in theme("light").items()},
        language=escaped(language),
        east_asian=escaped(language if main in {"zh", "ja", "ko"} else "en-US"),
        right_to_left=escaped(language if main in {"ar", "fa", "he", "ur", "yi", "ps"} else "ar-SA"),
        headings="\n".join(_heading_style(level, size) for level, size in _SIZES.items()),
    )


def _heading_style(level: int, size: int) -> str:
    before, after = (twips(6), twips(1.2)) if level <= 2 else (twips(3), twips(1.5))
    colour = f'<w:color w:val="{theme("light")["quiet_text"].removeprefix("#")}"/>' if level == 2 else ""
    return (
        f'  <w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/>'
        f'<w:basedOn w:val="Normal"/><w:next w:val="BodyText"/><w:qFormat/><w:pPr><w:keepNext/><w:keepLines/>'
        f'<w:spacing w:before="{before}" w:after="{after}"/><w:outlineLvl w:val="{level - 1}"/></w:pPr>'
        f'<w:rPr><w:b/><w:bCs/>{colour}<w:sz w:val="{size}"/><w:szCs w:val="{size}"/></w:rPr></w:style>'
    )


def _level(level: int, kind: str) -> str:
    form, text = ("bullet", _BULLETS[min(level, 2)]) if kind == "•" else ("decimal", f"%{level + 1}{kind}")
    return (
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/>'
        f'<w:lvlJc w:val="left"/><w:pPr><w:ind w:left="{twips((level + 1) * INDENT_MM)}" '
        f'w:hanging="{twips(INDENT_MM - 2)}"/></w:pPr></w:lvl>'
    )


def _relation(id_: str, type_: str, target: str, *, is_outside: bool = False) -> str:
    mode = ' TargetMode="External"' if is_outside else ""
    return f'<Relationship Id="{id_}" Type="{type_}" Target="{escaped(target)}"{mode}/>'


def _relations(relations: list[str]) -> str:
    return f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{"".join(relations)}</Relationships>'


def _content_types() -> str:
    defaults = {"rels": "application/vnd.openxmlformats-package.relationships+xml", **_PICTURE_TYPES}
    entries = [f'<Default Extension="{suffix}" ContentType="{type_}"/>' for suffix, type_ in defaults.items()]
    entries += [f'<Override PartName="/{name}" ContentType="{type_}"/>' for name, type_ in _PARTS.items()]
    return f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">{"".join(entries)}</Types>'


def _iso_time(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00Z"


# Without the mode, Word opens the document as one of an earlier version.
_SETTINGS = (
    f'{_HEAD}<w:settings xmlns:w="{_WORD}"><w:compat><w:compatSetting w:name="compatibilityMode" '
    'w:uri="http://schemas.microsoft.com/office/word" w:val="15"/></w:compat></w:settings>'
)
_FOOTER = (
    f'{_HEAD}<w:ftr xmlns:w="{_WORD}"><w:p><w:pPr><w:pStyle w:val="Footer"/></w:pPr>'
    '<w:r><w:t xml:space="preserve">{title}</w:t><w:tab/></w:r>'
    '<w:fldSimple w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple>'
    '<w:r><w:t xml:space="preserve"> / </w:t></w:r>'
    '<w:fldSimple w:instr=" NUMPAGES "><w:r><w:t>1</w:t></w:r></w:fldSimple></w:p></w:ftr>'
)
_CORE = (
    f'{_HEAD}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    "<dc:title>{title}</dc:title><dc:language>{language}</dc:language>"
    '<dcterms:created xsi:type="dcterms:W3CDTF">{created}</dcterms:created>'
    '<dcterms:modified xsi:type="dcterms:W3CDTF">{changed}</dcterms:modified></cp:coreProperties>'
)
_APP = f'{_HEAD}<Properties xmlns="{_OFFICE}/extended-properties"><Application>Bough</Application></Properties>'
