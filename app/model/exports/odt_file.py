"""Writes an ODT file: fills its parts and styles into the templates in resources/exports."""

from __future__ import annotations

import importlib.resources
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from string import Template
from typing import BinaryIO, NamedTuple

from app.model.exports.highlighting import theme

# Sizes that odt-styles.xml contains, too.
TEXT_MM = 170
"""The width of the text on a page."""
INDENT_MM = 8
"""The indentation of a list or a quote."""
BELOW_MM = {"Text_20_body": 2.5, "Quotations": 2.5, "Footnote": 2.5, "Formula": 3.5, "Horizontal_20_Line": 4}
"""The bottom margins of paragraph styles."""
QUOTE_BORDER = f"2pt solid {theme('light')['line']}"

_MEDIA_TYPE = "application/vnd.oasis.opendocument.text"
_PICTURE_TYPES = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif"}
_MAX_FOOTER_CHARACTERS = 80
_NOT_IN_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "�")

Properties = dict[str, str | float]
"""Attributes of a style, by their names in XML."""


class About(NamedTuple):
    """The metadata of a document."""

    title: str
    created_ms: int
    changed_ms: int


def write_odt(file: BinaryIO, about: About, body: str, styles: str, pictures: Mapping[str, bytes]) -> None:
    """Write an ODT file. `body` and `styles` are XML; `pictures` are named as in `body`."""
    name = about.title
    if len(name) > _MAX_FOOTER_CHARACTERS:
        name = f"{name[:_MAX_FOOTER_CHARACTERS].rstrip()}…"
    created, changed = _iso_time(about.created_ms), _iso_time(about.changed_ms)
    parts = {
        "content.xml": content_xml(body, styles),
        "styles.xml": styles_xml(name),
        "meta.xml": _filled("odt-meta.xml", title=escaped(about.title), created=created, changed=changed),
    }
    types = dict.fromkeys(parts, "text/xml") | {name: _PICTURE_TYPES[name.rpartition(".")[2]] for name in pictures}
    entries = "\n".join(
        f'  <manifest:file-entry manifest:full-path="{name}" manifest:media-type="{type_}"/>'
        for name, type_ in types.items()
    )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        # Readers recognise the format by this entry, which must be the first and not compressed.
        archive.writestr(zipfile.ZipInfo("mimetype"), _MEDIA_TYPE, zipfile.ZIP_STORED)
        for name, text in (*parts.items(), ("META-INF/manifest.xml", _filled("odt-manifest.xml", entries=entries))):
            archive.writestr(zipfile.ZipInfo(name), text.encode(), zipfile.ZIP_DEFLATED)
        for name, data in pictures.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_STORED)


def content_xml(body: str, styles: str) -> str:
    return _filled("odt-content.xml", body=body, styles=styles)


def styles_xml(title: str) -> str:
    return _filled("odt-styles.xml", title=escaped(title))


def _filled(template: str, **values: str) -> str:
    text = importlib.resources.files("resources").joinpath(f"exports/{template}").read_text(encoding="utf-8")
    return Template(text).substitute(theme("light"), **values)


def _iso_time(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00Z"


def escaped(text: str) -> str:
    """Return a text as XML; characters that XML can't contain become U+FFFD."""
    return escape(text.translate(_NOT_IN_XML), quote=False)


def attribute(text: str) -> str:
    """Return a text as the value of an XML attribute."""
    return escape(text.translate(_NOT_IN_XML)).replace("\n", "&#10;").replace("\t", "&#9;")


def margins(top_mm: float = 0, bottom_mm: float = 0, left_mm: float = 0) -> Properties:
    return {"fo:margin-top": f"{top_mm}mm", "fo:margin-bottom": f"{bottom_mm}mm", "fo:margin-left": f"{left_mm}mm"}


class AutomaticStyles:
    """Styles that differ from a common style at single places of a document. Equal styles are created once."""

    def __init__(self) -> None:
        self._xml: list[str] = []
        self._names: dict[tuple[str, str, str], str] = {}

    @property
    def xml(self) -> str:
        return "".join(self._xml)

    def paragraph(self, parent: str, properties: Properties) -> str:
        """Return the name of a style that differs from `parent` in these properties."""
        return self._name("P", "paragraph", properties, parent) if properties else parent

    def text(self, colour: str, *, is_bold: bool, is_italic: bool) -> str:
        properties: Properties = {"fo:color": colour} if colour else {}
        # Western, Asian and complex scripts each have a weight and a style of their own.
        for space, script in (("fo", ""), ("style", "-asian"), ("style", "-complex")):
            properties |= {f"{space}:font-weight{script}": "bold"} if is_bold else {}
            properties |= {f"{space}:font-style{script}": "italic"} if is_italic else {}
        return self._name("T", "text", properties)

    def table(self, width_mm: float, left_mm: float, *, is_rtl: bool) -> str:
        properties: Properties = {
            "style:width": f"{width_mm:.1f}mm",
            "table:align": "right" if is_rtl else "left",
            **margins(0, 3.5, left_mm),
            "table:border-model": "collapsing",
            "style:writing-mode": "rl-tb" if is_rtl else "lr-tb",
        }
        return self._name("Table", "table", properties)

    def column(self, width_mm: float) -> str:
        return self._name("Column", "table-column", {"style:column-width": f"{width_mm:.1f}mm"})

    def _name(self, prefix: str, family: str, properties: Properties, parent: str = "") -> str:
        attributes = "".join(f' {name}="{attribute(str(value))}"' for name, value in properties.items())
        key = (family, parent, attributes)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"{prefix}{len(self._names) + 1}"
            inherited = f' style:parent-style-name="{parent}"' if parent else ""
            self._xml.append(
                f'<style:style style:name="{name}" style:family="{family}"{inherited}>'
                f"<style:{family}-properties{attributes}/></style:style>"
            )
        return name
