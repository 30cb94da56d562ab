"""Writes the inline content of a DOCX text's paragraphs as XML: text, links, pictures and formulas."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from markdown_it.token import Token
from msgspec import Struct

from app.model.exports.docx_file import DocxFile, escaped
from app.model.exports.highlighting import code_looks, stretches
from app.model.markdown_parser import DISPLAY, INLINE, NOTE_MARK, as_written
from app.model.text import is_right_to_left

_BREAK = re.compile(r"\r\n?|[\n\t\u2028]")
_EMU_PER_MM = 36_000
_PICTURE_TYPE = "http://schemas.openxmlformats.org/drawingml/2006/picture"


class Picture(NamedTuple):
    """A picture of the document and its size on paper; `below_mm` of its height are below the baseline."""

    id: str
    """The id of its relationship."""
    width_mm: float
    height_mm: float
    below_mm: float = 0.0


class Pictures(Protocol):
    """The source of a document's pictures. None means that there is no picture."""

    def formula(self, latex: str, *, is_inline: bool) -> Picture | None: ...

    def picture(self, address: str) -> Picture | None: ...


class Look(Struct, frozen=True, kw_only=True):
    """The look of a run; `style` is the id of a style of characters, `colour` has no #."""

    style: str = ""
    is_bold: bool = False
    is_italic: bool = False
    is_struck: bool = False
    colour: str = ""
    is_raised: bool = False


class Run(NamedTuple):
    """Inline content of one paragraph, or a formula that is a paragraph of its own."""

    xml: str
    is_formula: bool = False


_CODE = Look(style="CodeText")


def text_run(text: str, look: Look | None = None, *, is_rtl: bool = False) -> str:
    """Return a text as a run that keeps its spaces, tabs and line breaks. `is_rtl`: its paragraph is right to left."""
    if not text:
        return ""
    pieces: list[str] = []
    end = 0
    for found in _BREAK.finditer(text):
        pieces += [_words(text[end : found.start()]), "<w:tab/>" if found[0] == "\t" else "<w:br/>"]
        end = found.end()
    pieces.append(_words(text[end:]))
    has_rtl = is_right_to_left(text) or (is_rtl and not any(map(str.isalpha, text)))
    return f"<w:r>{_properties(look or Look(), is_rtl=has_rtl)}{''.join(pieces)}</w:r>"


def _words(text: str) -> str:
    return f'<w:t xml:space="preserve">{escaped(text)}</w:t>' if text else ""


def _properties(look: Look, *, is_rtl: bool) -> str:
    """Return a run's properties, in the order that the standard requires."""
    inner = "".join(
        (
            f'<w:rStyle w:val="{look.style}"/>' if look.style else "",
            "<w:b/><w:bCs/>" if look.is_bold else "",
            "<w:i/><w:iCs/>" if look.is_italic else "",
            "<w:strike/>" if look.is_struck else "",
            f'<w:color w:val="{look.colour}"/>' if look.colour else "",
            '<w:vertAlign w:val="superscript"/>' if look.is_raised else "",
            "<w:rtl/>" if is_rtl else "",
        )
    )
    return f"<w:rPr>{inner}</w:rPr>" if inner else ""


def note_mark(label: str) -> str:
    return text_run(f"[{label}]", Look(is_raised=True))


def plain(tokens: Sequence[Token]) -> str:
    """Return the text of a paragraph's tokens, to measure it or to find its direction."""
    return "".join("\n" if token.type.endswith("break") else token.content for token in tokens)


def code_lines(code: str, language: str) -> list[str]:
    """Return the lines of highlighted code as runs."""
    looks = code_looks("light")
    lines = [""]
    for text, kind in stretches(code, language):
        found = looks.get(kind) if kind else None
        look = None
        if found is not None:
            colour = (found.colour or "").removeprefix("#")
            look = Look(colour=colour, is_bold=found.is_bold, is_italic=found.is_italic)
        first, *more = re.split(r"\r\n?|\n", text)
        lines[-1] += text_run(first, look)
        lines += [text_run(line, look) for line in more]
    return lines


class InlineWriter:
    """Writes the inline content of paragraphs. Pictures and links get relationships in `file`."""

    def __init__(self, file: DocxFile, pictures: Pictures) -> None:
        self._file = file
        self._pictures = pictures
        self._num_pictures = 0

    def runs(self, tokens: Sequence[Token], *, is_bold: bool = False) -> list[Run]:
        """Return the content of a Markdown paragraph, split at display formulas."""
        is_rtl = is_right_to_left(plain(tokens))
        found: list[Run] = []
        pieces: list[str] = []
        depths = Counter({"strong": int(is_bold)})
        link, address = "", ""
        for token in tokens:
            name, _, side = token.type.rpartition("_")
            if side in {"open", "close"} and name in {"strong", "em", "s"}:
                depths[name] += 1 if side == "open" else -1
            elif token.type == "link_open":
                address = str(token.attrs.get("href", ""))
                id_ = self._file.link(address)
                link = "" if id_ is None else f'<w:hyperlink r:id="{id_}">'
                pieces.append(link)
            elif token.type == "link_close":
                # The address of a link that word processors would refuse is text.
                pieces.append("</w:hyperlink>" if link else text_run(f" ({address})", is_rtl=is_rtl))
                link = address = ""
            elif token.type == DISPLAY:
                found += [Run("".join([*pieces, "</w:hyperlink>" if link else ""])), Run(self.formula(token), True)]
                pieces = [link]
            else:
                style = "Hyperlink" if link else ""
                look = Look(
                    style=style, is_bold=depths["strong"] > 0, is_italic=depths["em"] > 0, is_struck=depths["s"] > 0
                )
                pieces.append(self._run(token, look, is_rtl=is_rtl))
        found.append(Run("".join(pieces)))
        return found

    def _run(self, token: Token, look: Look, *, is_rtl: bool) -> str:
        match token.type:
            case "softbreak":
                return text_run(" ", look)
            case "hardbreak":
                return "<w:r><w:br/></w:r>"
            case "code_inline":
                return text_run(token.content, _CODE)
            case "image":
                return self.image(str(token.attrs.get("src", "")), token.content)
            case _ if token.type == NOTE_MARK:
                return note_mark(token.content)
            case _ if token.type == INLINE:
                return self.formula(token)
            case _:
                return text_run(token.content, look, is_rtl=is_rtl)

    def image(self, address: str, description: str) -> str:
        picture = self._pictures.picture(address)
        return (
            text_run(f"[image: {description or address}]") if picture is None else self._drawing(picture, description)
        )

    def formula(self, token: Token) -> str:
        """Return a formula as a picture, or as its source if it can't be drawn."""
        source = as_written(token)
        picture = self._pictures.formula(token.content, is_inline=token.type == INLINE)
        return text_run(source, _CODE) if picture is None else self._drawing(picture, source)

    def _drawing(self, picture: Picture, description: str) -> str:
        """Return an inline picture; screen readers read its description."""
        self._num_pictures += 1
        names = f'id="{self._num_pictures}" name="Picture {self._num_pictures}"'
        size = f'cx="{round(picture.width_mm * _EMU_PER_MM)}" cy="{round(picture.height_mm * _EMU_PER_MM)}"'
        below = (
            f'<w:rPr><w:position w:val="{-round(picture.below_mm * 144 / 25.4)}"/></w:rPr>' if picture.below_mm else ""
        )
        return (
            f'<w:r>{below}<w:drawing><wp:inline distT="0" distB="0" distL="0" distR="0"><wp:extent {size}/>'
            f'<wp:docPr {names} descr="{escaped(description)}"/><a:graphic><a:graphicData uri="{_PICTURE_TYPE}">'
            f"<pic:pic><pic:nvPicPr><pic:cNvPr {names}/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill>"
            f'<a:blip r:embed="{picture.id}"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm>'
            f'<a:off x="0" y="0"/><a:ext {size}/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr>'
            "</pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
        )
