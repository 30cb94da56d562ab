"""A file that word processors read (ODT): what is in it beside the text, put together; it knows no message."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import BinaryIO, NamedTuple

from app.model.exports.open_inline import said_plainly
from app.model.exports.open_styles import MARGIN_MM, NAMESPACES, PAGE_MM, named_styles

_KIND = "application/vnd.oasis.opendocument.text"
_DECLARED = '<?xml version="1.0" encoding="UTF-8"?>\n'
_KINDS = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif"}
_FOOTER_CHARACTERS = 80
_FONTS = (
    "<office:font-face-decls>"
    '<style:font-face style:name="Text" svg:font-family="\'Liberation Sans\'" style:font-family-generic="swiss" '
    'style:font-pitch="variable"/>'
    '<style:font-face style:name="Mono" svg:font-family="\'Liberation Mono\'" style:font-family-generic="modern" '
    'style:font-pitch="fixed"/>'
    "</office:font-face-decls>"
)


class About(NamedTuple):
    """What is said of a document."""

    title: str
    created_ms: int
    changed_ms: int


def write_document(file: BinaryIO, about: About, body: str, place_styles: str, pictures: Mapping[str, bytes]) -> None:
    """Write the whole file; `pictures`: by the names that they have in `body`."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        # By this it is known, so it comes first and as it is.
        archive.writestr(zipfile.ZipInfo("mimetype"), _KIND, zipfile.ZIP_STORED)
        parts = {
            "content.xml": _part(
                "content",
                f"{_FONTS}<office:automatic-styles>{place_styles}</office:automatic-styles>"
                f"<office:body><office:text>{body}</office:text></office:body>",
            ),
            "styles.xml": _part("styles", _styles(about.title)),
            "meta.xml": _part("meta", _meta(about)),
        }
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name), text.encode(), zipfile.ZIP_DEFLATED)
        for name, data in pictures.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_STORED)
        kinds = dict.fromkeys(parts, "text/xml") | {name: _KINDS[name.rpartition(".")[2]] for name in pictures}
        archive.writestr(zipfile.ZipInfo("META-INF/manifest.xml"), _manifest(kinds).encode(), zipfile.ZIP_DEFLATED)


def _part(kind: str, inner: str) -> str:
    name = f"office:document-{kind}"
    return f'{_DECLARED}<{name} {NAMESPACES} office:version="1.2">{inner}</{name}>'


def _styles(name: str) -> str:
    width_mm, height_mm = PAGE_MM
    shown = name if len(name) <= _FOOTER_CHARACTERS else f"{name[:_FOOTER_CHARACTERS].rstrip()}…"
    page = (
        f'<style:page-layout style:name="Page"><style:page-layout-properties fo:page-width="{width_mm}mm" '
        f'fo:page-height="{height_mm}mm" fo:margin="{MARGIN_MM}mm" style:print-orientation="portrait"/>'
        '<style:footer-style><style:header-footer-properties fo:margin-top="5mm" fo:min-height="8mm"/>'
        "</style:footer-style></style:page-layout>"
    )
    footer = (
        f'<style:footer><text:p text:style-name="Footer">{said_plainly(shown)}<text:tab/><text:page-number '
        'text:select-page="current">1</text:page-number> / <text:page-count>1</text:page-count></text:p></style:footer>'
    )
    return (
        f"{_FONTS}<office:styles>{named_styles()}</office:styles>"
        f"<office:automatic-styles>{page}</office:automatic-styles>"
        '<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="Page">'
        f"{footer}</style:master-page></office:master-styles>"
    )


def _meta(about: About) -> str:
    return (
        f"<office:meta><meta:generator>Bough</meta:generator><dc:title>{said_plainly(about.title)}</dc:title>"
        f"<meta:creation-date>{_when(about.created_ms)}</meta:creation-date>"
        f"<dc:date>{_when(about.changed_ms)}</dc:date></office:meta>"
    )


def _when(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00Z"


def _manifest(kinds: Mapping[str, str]) -> str:
    entries = "".join(
        f'<manifest:file-entry manifest:full-path="{escape(name)}" manifest:media-type="{kind}"/>'
        for name, kind in kinds.items()
    )
    return (
        f'{_DECLARED}<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" '
        f'manifest:version="1.2"><manifest:file-entry manifest:full-path="/" manifest:version="1.2" '
        f'manifest:media-type="{_KIND}"/>{entries}</manifest:manifest>'
    )
