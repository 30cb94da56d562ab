"""Words of an OpenDocument text: what a paragraph holds, as XML; it knows no blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple, Protocol

from markdown_it.token import Token

from app.model.exports.highlighting import code_looks, stretches
from app.model.exports.open_styles import PlaceStyles, letters
from app.model.markdown_parser import DISPLAY, INLINE, NOTE_MARK, as_written

_BAD = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "�")
"""What XML can't have."""
_SPACES = re.compile(r"\r\n?|[\n\t\u2028]|(?:(?<=[ \n\t])|^) +| {2,}| +$")
_DEEPEST = 40
_SPANS = {"strong": "Strong_20_Emphasis", "em": "Emphasis", "s": "Struck"}


class Picture(NamedTuple):
    """A picture among the document's files, and how large it is shown; `below_mm` of it stands below the line."""

    path: str
    width_mm: float
    height_mm: float
    below_mm: float = 0.0


class Pictures(Protocol):
    """Where a document's pictures come from."""

    def formula(self, latex: str, *, is_inline: bool) -> Picture | None: ...

    def picture(self, address: str) -> Picture | None: ...


class Run(NamedTuple):
    """Words in a line; or a formula that has a line of its own."""

    xml: str
    is_formula: bool = False


def said(text: str) -> str:
    """Return any text as XML that keeps its spaces and the ends of its lines."""
    return _SPACES.sub(_space, escape(text.translate(_BAD), quote=False))


def _space(found: re.Match[str]) -> str:
    space = found[0]
    if space == "\t":
        return "<text:tab/>"
    return f'<text:s text:c="{len(space)}"/>' if space.startswith(" ") else "<text:line-break/>"


def span(style: str, xml: str) -> str:
    return f'<text:span text:style-name="{style}">{xml}</text:span>' if xml else ""


def attribute(text: str) -> str:
    """Return a text as it may stand in an attribute."""
    return escape(text.translate(_BAD)).replace("\n", "&#10;").replace("\t", "&#9;")


def frame(picture: Picture, words: str) -> str:
    """Return a picture that stands in a line; `words` are what is read out for it."""
    return (
        f'<draw:frame draw:style-name="InLine" text:anchor-type="as-char" svg:width="{picture.width_mm:.2f}mm" '
        f'svg:height="{picture.height_mm:.2f}mm" svg:y="{picture.below_mm - picture.height_mm:.2f}mm">'
        f'<draw:image xlink:href="{attribute(picture.path)}" xlink:type="simple" xlink:show="embed" '
        f'xlink:actuate="onLoad"/><svg:title>{said_plainly(words)}</svg:title></draw:frame>'
    )


def said_plainly(text: str) -> str:
    return escape(text.translate(_BAD), quote=False)


def image(address: str, words: str, pictures: Pictures) -> str:
    picture = pictures.picture(address)
    return said(f"[image: {words or address}]") if picture is None else frame(picture, words)


def runs(tokens: Iterable[Token], pictures: Pictures) -> list[Run]:
    """Return what stands between the marks of a paragraph, cut where a formula has a line of its own."""
    found: list[Run] = []
    pieces: list[str] = []
    openings: list[tuple[str, str]] = []
    """Of each span that is open, how it begins and ends; empty where it is too deep to be one."""

    def cut() -> None:
        pieces.extend(end for _, end in reversed(openings))
        found.append(Run("".join(pieces)))
        pieces[:] = [begin for begin, _ in openings]

    for token in tokens:
        name, _, side = token.type.rpartition("_")
        if side == "open" and (name in _SPANS or name == "link"):
            tags = _tags(name, token) if len(openings) < _DEEPEST else ("", "")
            openings.append(tags)
            pieces.append(tags[0])
        elif side == "close" and (name in _SPANS or name == "link"):
            pieces.append(openings.pop()[1])
        elif token.type == DISPLAY:
            cut()
            found.append(Run(formula(token, pictures), is_formula=True))
        else:
            pieces.append(_word(token, pictures))
    cut()
    return found


def _tags(name: str, token: Token) -> tuple[str, str]:
    if name == "link":
        address = attribute(str(token.attrs.get("href", "")))
        return f'<text:a xlink:type="simple" xlink:href="{address}" text:style-name="Internet_20_link">', "</text:a>"
    return f'<text:span text:style-name="{_SPANS[name]}">', "</text:span>"


def _word(token: Token, pictures: Pictures) -> str:
    match token.type:
        case "softbreak":
            return " "
        case "hardbreak":
            return "<text:line-break/>"
        case "code_inline":
            return span("Source_20_Text", said(token.content))
        case "image":
            return image(str(token.attrs.get("src", "")), token.content, pictures)
        case _ if token.type == NOTE_MARK:
            return note_mark(token.content)
        case _ if token.type == INLINE:
            return formula(token, pictures)
        case _:
            # Beside a span a single space is one.
            text = token.content
            inner = text.strip(" ")
            if not inner or len(text) - len(inner) > 2:
                return said(text)
            return f"{' ' * text.startswith(' ')}{said(inner)}{' ' * text.endswith(' ')}"


def note_mark(label: str) -> str:
    return span("Superscript", said(f"[{label}]"))


def formula(token: Token, pictures: Pictures) -> str:
    picture = pictures.formula(token.content, is_inline=token.type == INLINE)
    words = as_written(token)
    return span("Source_20_Text", said(words)) if picture is None else frame(picture, words)


def plainly(tokens: Sequence[Token]) -> str:
    """Return what tokens of a paragraph say, to measure it or to tell its direction."""
    return "".join("\n" if token.type.endswith("break") else token.content for token in tokens)


def code_lines(code: str, language: str, styles: PlaceStyles) -> list[str]:
    """Return the lines of code, in its colours."""
    looks = code_looks("light")
    lines = [""]
    for text, kind in stretches(code, language):
        look = looks.get(kind) if kind else None
        dress: Callable[[str], str] = said
        if look is not None and (look.colour or look.is_bold or look.is_italic):
            name = styles.letters(
                letters(is_bold=look.is_bold or None, is_italic=look.is_italic or None, colour=look.colour or "")
            )
            dress = _dressed(name)
        first, *more = re.split(r"\r\n?|\n", text)
        lines[-1] += dress(first)
        lines += [dress(line) for line in more]
    return lines


def _dressed(name: str) -> Callable[[str], str]:
    return lambda text: span(name, said(text))
