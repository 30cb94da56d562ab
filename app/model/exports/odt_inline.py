"""Writes the inline content of an ODT text's paragraphs as XML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from markdown_it.token import Token

from app.model.exports.highlighting import code_looks, stretches
from app.model.exports.odt_file import AutomaticStyles, attribute, escaped
from app.model.markdown_parser import DISPLAY, INLINE, NOTE_MARK, as_written

_SPACES = re.compile(r"\r\n?|[\n\t\u2028]|(?:(?<=[ \n\t])|^) +| {2,}| +$")
_MAX_DEPTH = 40
_SPANS = {"strong": "Strong_20_Emphasis", "em": "Emphasis", "s": "Struck"}


class Picture(NamedTuple):
    """A picture file of the document and its size on paper; `below_mm` of its height are below the baseline."""

    path: str
    width_mm: float
    height_mm: float
    below_mm: float = 0.0


class Pictures(Protocol):
    """The source of a document's pictures. None means that there is no picture."""

    def formula(self, latex: str, *, is_inline: bool) -> Picture | None: ...

    def picture(self, address: str) -> Picture | None: ...


class Run(NamedTuple):
    """Inline content of one paragraph, or a formula that is a paragraph of its own."""

    xml: str
    is_formula: bool = False


def text_xml(text: str) -> str:
    """Return a text as XML that keeps its spaces and line breaks."""
    return _SPACES.sub(_space, escaped(text))


def _space(found: re.Match[str]) -> str:
    space = found[0]
    if space == "\t":
        return "<text:tab/>"
    return f'<text:s text:c="{len(space)}"/>' if space.startswith(" ") else "<text:line-break/>"


def span(style: str, xml: str) -> str:
    return f'<text:span text:style-name="{style}">{xml}</text:span>' if xml else ""


def frame(picture: Picture, description: str) -> str:
    """Return an inline picture; screen readers read its description."""
    return (
        f'<draw:frame draw:style-name="InLine" text:anchor-type="as-char" svg:width="{picture.width_mm:.2f}mm" '
        f'svg:height="{picture.height_mm:.2f}mm" svg:y="{picture.below_mm - picture.height_mm:.2f}mm">'
        f'<draw:image xlink:href="{attribute(picture.path)}" xlink:type="simple" xlink:show="embed" '
        f'xlink:actuate="onLoad"/><svg:title>{escaped(description)}</svg:title></draw:frame>'
    )


def image(address: str, description: str, pictures: Pictures) -> str:
    picture = pictures.picture(address)
    return text_xml(f"[image: {description or address}]") if picture is None else frame(picture, description)


def runs(tokens: Iterable[Token], pictures: Pictures) -> list[Run]:
    """Return the content of a Markdown paragraph, split at display formulas."""
    found: list[Run] = []
    pieces: list[str] = []
    open_tags: list[tuple[str, str]] = []
    """The start and end tag of each open span; both empty where spans are nested too deeply."""

    def split() -> None:
        pieces.extend(end for _, end in reversed(open_tags))
        found.append(Run("".join(pieces)))
        pieces[:] = [start for start, _ in open_tags]

    for token in tokens:
        name, _, side = token.type.rpartition("_")
        if side == "open" and (name in _SPANS or name == "link"):
            tags = _tags(name, token) if len(open_tags) < _MAX_DEPTH else ("", "")
            open_tags.append(tags)
            pieces.append(tags[0])
        elif side == "close" and (name in _SPANS or name == "link"):
            pieces.append(open_tags.pop()[1])
        elif token.type == DISPLAY:
            split()
            found.append(Run(formula(token, pictures), is_formula=True))
        else:
            pieces.append(_token_xml(token, pictures))
    split()
    return found


def _tags(name: str, token: Token) -> tuple[str, str]:
    if name == "link":
        address = attribute(str(token.attrs.get("href", "")))
        return f'<text:a xlink:type="simple" xlink:href="{address}" text:style-name="Internet_20_link">', "</text:a>"
    return f'<text:span text:style-name="{_SPANS[name]}">', "</text:span>"


def _token_xml(token: Token, pictures: Pictures) -> str:
    match token.type:
        case "softbreak":
            return " "
        case "hardbreak":
            return "<text:line-break/>"
        case "code_inline":
            return span("Source_20_Text", text_xml(token.content))
        case "image":
            return image(str(token.attrs.get("src", "")), token.content, pictures)
        case _ if token.type == NOTE_MARK:
            return note_mark(token.content)
        case _ if token.type == INLINE:
            return formula(token, pictures)
        case _:
            # A single space beside a span is not at the end of the paragraph and needs no mark-up.
            text = token.content
            inner = text.strip(" ")
            if not inner or len(text) - len(inner) > 2:
                return text_xml(text)
            return f"{' ' * text.startswith(' ')}{text_xml(inner)}{' ' * text.endswith(' ')}"


def note_mark(label: str) -> str:
    return span("Superscript", text_xml(f"[{label}]"))


def formula(token: Token, pictures: Pictures) -> str:
    picture = pictures.formula(token.content, is_inline=token.type == INLINE)
    source = as_written(token)
    return span("Source_20_Text", text_xml(source)) if picture is None else frame(picture, source)


def plain(tokens: Sequence[Token]) -> str:
    """Return the text of a paragraph's tokens, to measure it or to find its direction."""
    return "".join("\n" if token.type.endswith("break") else token.content for token in tokens)


def code_lines(code: str, language: str, styles: AutomaticStyles) -> list[str]:
    """Return the lines of highlighted code."""
    looks = code_looks("light")
    lines = [""]
    for text, kind in stretches(code, language):
        look = looks.get(kind) if kind else None
        to_xml: Callable[[str], str] = text_xml
        if look is not None and (look.colour or look.is_bold or look.is_italic):
            style = styles.text(look.colour or "", is_bold=look.is_bold, is_italic=look.is_italic)
            to_xml = partial(_span_of, style)
        first, *more = re.split(r"\r\n?|\n", text)
        lines[-1] += to_xml(first)
        lines += [to_xml(line) for line in more]
    return lines


def _span_of(style: str, text: str) -> str:
    return span(style, text_xml(text))
