"""Writes the text of a DOCX export: messages and their Markdown as paragraphs, lists and tables.

Every paragraph has the direction of its first letter. Indentation is a property of each paragraph, so that programs
that treat lists differently show the same.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from markdown_it.token import Token
from msgspec import Struct

from app.model.exports.captions import (
    branch_title,
    ending,
    heading,
    is_folded,
    marks,
    shown_sections,
    split_note,
    split_reasoning,
    statistics,
    title,
)
from app.model.exports.docx_file import INDENT_MM, MAX_LEVEL, TEXT_MM, DocxFile, ListKind, twips
from app.model.exports.docx_inline import InlineWriter, Look, Pictures, code_lines, note_mark, plain, text_run
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.highlighting import theme
from app.model.exports.rendering import boxed
from app.model.markdown_parser import DISPLAY, parsed
from app.model.message import Message, is_part
from app.model.text import is_right_to_left

_CHARACTER_MM, _SMALL_CHARACTER_MM, _CELL_PADDING_MM = 2.1, 1.7, 3.5
_MAX_WORD_CHARACTERS = (16, 12, 9, 7, 5)
"""Limits for the letters of a word that a column must have room for, tried in turn until all columns fit."""
_MAX_LINE_CHARACTERS = 80
_MAX_COLUMNS, _MAX_ROWS = 63, 32_000
"""Word does not open a document with larger tables."""
_MAX_NUMBER = 32_767
"""Word can't count list items further."""
_MIN_LONG_NUMBER = 100
"""List numbers from this one on need more space than the indentation."""
_NO_BORDER = '<w:pBdr><w:left w:val="nil"/></w:pBdr>'
_BORDER_AT_RIGHT = (
    '<w:pBdr><w:left w:val="nil"/><w:right w:val="single" w:sz="16" w:space="8" '
    f'w:color="{theme("light")["line"].removeprefix("#")}"/></w:pBdr>'
)
_ALIGNMENTS = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}


class DocxText:
    """Writes the text of one document. Pictures, links and lists go to `file`."""

    def __init__(self, file: DocxFile, pictures: Pictures, options: Options) -> None:
        self._file = file
        self._inline = InlineWriter(file, pictures)
        self._options = options
        self._pieces: list[str] = []
        self._lists: list[_OpenList] = []
        self._num_quotes = 0
        self._is_footnote = False
        self._footnote_label = ""
        self._last_style = ""

    @property
    def xml(self) -> str:
        return "".join(self._pieces)

    def write(self, excerpt: Excerpt) -> Iterator[int]:
        """Write a conversation; yield the number of messages written so far."""
        self._line("Title", title(excerpt))
        num_done = 0
        for number, section in enumerate(shown_sections(excerpt, self._options), 1):
            if number > 1:
                self._line("Heading1", branch_title(excerpt, section, number))
            for message in section.messages:
                self._message(message)
                num_done += 1
                yield num_done

    def _message(self, message: Message) -> None:
        if caption := heading(message):
            self._line("Figures" if is_part(message) else "Heading2", caption)
        if marked := marks(message):
            self._line("Figures", marked)
        if is_folded(message):
            note = split_note(message)
            if note.is_picture:
                self._paragraph("BodyText", self._inline.image(note.file_address, note.file_name))
            elif note.file_address:
                self._line("BodyText", f"[file: {note.file_name}]")
            else:
                self._markdown(note.text)
            return
        split = split_reasoning(message)
        if split.reasoning and self._options.reasoning:
            self._paragraph("Reasoning", text_run("Reasoning", Look(is_bold=True)))
            self._typed_text("Reasoning", split.reasoning)
        if message.role == "assistant":
            self._markdown(split.answer)
        else:
            self._typed_text("TypedLine", split.answer)
        if ended := ending(message):
            self._line("Failure" if message.state == "failed" else "Figures", ended)
        if self._options.statistics and (line := statistics(message)):
            self._line("Figures", line)

    # --- paragraphs ------------------------------------------------------------------------------------------

    def _typed_text(self, style: str, text: str) -> None:
        """Write a text with one paragraph per line."""
        for line in text.split("\n"):
            self._line(style, line)

    def _line(self, style: str, text: str) -> None:
        self._paragraph(style, text_run(text, is_rtl=is_right_to_left(text)), text)

    def _paragraph(self, style: str, runs: str, text: str = "") -> None:
        """Write a paragraph. Its direction is that of `text`."""
        counted, label, hanging_mm = self._label()
        is_rtl = is_right_to_left(text)
        depth = len(self._lists) + self._num_quotes
        properties = [f'<w:pStyle w:val="{style}"/>', counted]
        if style == "Quote" and (is_rtl or self._lists):
            # In a list, the border would follow the indentation of each item.
            properties.append(_NO_BORDER if self._lists else _BORDER_AT_RIGHT)
        properties.append("<w:bidi/>" if is_rtl else "")
        if depth:
            properties.append(f'<w:ind w:left="{twips(self._left_mm)}" w:hanging="{twips(hanging_mm)}"/>')
        if depth and style == "Formula":
            properties.append('<w:jc w:val="left"/>')
        self._pieces.append(f"<w:p><w:pPr>{''.join(properties)}</w:pPr>{label}{runs}</w:p>")
        self._last_style = style

    def _label(self) -> tuple[str, str, float]:
        """Return the property that gives a list item its bullet or number, or a run with it, and the space in mm.

        Outside the first paragraph of an item, they are empty and 0.
        """
        if not self._lists or self._lists[-1].is_labelled:
            return "", "", 0
        current, level = self._lists[-1], min(len(self._lists) - 1, MAX_LEVEL)
        current.is_labelled = True
        number = current.number
        hanging_mm = INDENT_MM - 2 if current.kind == "•" or number < _MIN_LONG_NUMBER else 2 * len(str(number)) + 4
        if current.kind != "•" and number > _MAX_NUMBER:
            return "", text_run(f"{number}{current.kind}\t"), hanging_mm
        return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{current.id}"/></w:numPr>', "", hanging_mm

    @property
    def _left_mm(self) -> float:
        """The indentation in mm, at most half the width of the text."""
        return min((len(self._lists) + self._num_quotes) * INDENT_MM, TEXT_MM / 2)

    def _body_style(self, *, is_tight: bool) -> str:
        if self._is_footnote:
            return "Note"
        if self._num_quotes:
            return "Quote"
        return "TightItem" if is_tight else "BodyText"

    # --- Markdown --------------------------------------------------------------------------------------------

    def _markdown(self, text: str) -> None:
        tokens = boxed(parsed(text, {}))
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.type == "table_open":
                last = len(tokens) - 1
                end = next((at for at in range(index, last) if tokens[at].type == "table_close"), last)
                self._table(tokens[index:end])
                index = end
            elif token.type == "heading_open":
                self._text(tokens[index + 1], f"Heading{int(token.tag[1]) + 2}")
                index += 1
            elif token.type == "paragraph_open":
                self._text(tokens[index + 1], self._body_style(is_tight=token.hidden))
                index += 1
            else:
                self._block(token)
            index += 1

    def _block(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self._begin_list("•", 1)
            case "ordered_list_open":
                self._begin_list(")" if token.markup == ")" else ".", int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
                if not self._lists and self._last_style == "TightItem":
                    self._paragraph("Space", "")
            case "list_item_open":
                self._lists[-1].number += 1
                self._lists[-1].is_labelled = False
            case "list_item_close":
                self._end_label()
            case "blockquote_open":
                self._num_quotes += 1
            case "blockquote_close":
                self._num_quotes -= 1
            case "footnote_reference_open":
                self._is_footnote, self._footnote_label = True, str(token.meta["label"])
            case "footnote_reference_close":
                self._is_footnote, self._footnote_label = False, ""
            case "hr":
                self._paragraph("Line", "")
            case "fence" | "code_block":
                words = token.info.split(maxsplit=1)
                self._code(token.content.removesuffix("\n"), words[0] if words else "")
            case _ if token.type == DISPLAY:
                # The info is punctuation after the formula.
                self._paragraph("Formula", self._inline.formula(token) + text_run(token.info))
            case _ if token.content:
                self._line(self._body_style(is_tight=False), token.content)
            case _:
                pass

    def _begin_list(self, kind: ListKind, start: int) -> None:
        self._end_label()
        level = min(len(self._lists), MAX_LEVEL)
        id_ = self._file.new_list(kind, level, min(start, _MAX_NUMBER))
        self._lists.append(_OpenList(kind, id_, start - 1))

    def _end_label(self) -> None:
        """Write the bullet or number of an item that has no text so far."""
        if self._lists and not self._lists[-1].is_labelled:
            self._paragraph("TightItem", "")

    def _text(self, inline: Token, style: str) -> None:
        children = inline.children or []
        label = f"{note_mark(self._footnote_label)}{text_run(' ')}" if self._footnote_label else ""
        self._footnote_label = ""
        found = self._inline.runs(children)
        for number, run in enumerate(found):
            runs = label + run.xml if number == 0 else run.xml
            if run.is_formula:
                self._paragraph("Formula", runs)
            elif runs or len(found) == 1:
                self._paragraph(style, runs, plain(children))

    def _code(self, code: str, language: str) -> None:
        if self._last_style == "Code":
            # Adjacent blocks would look like one.
            self._paragraph("Space", "")
        for line in code_lines(code, language):
            self._paragraph("Code", line)

    # --- tables ----------------------------------------------------------------------------------------------

    def _table(self, tokens: Sequence[Token]) -> None:
        self._end_label()
        rows: list[list[tuple[Token, list[Token]]]] = []
        for index, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in {"th_open", "td_open"}:
                rows[-1].append((token, tokens[index + 1].children or []))
        if len(rows[0]) > _MAX_COLUMNS:
            self._line(
                "Figures",
                f"This table has {len(rows[0])} columns. Word shows at most {_MAX_COLUMNS}, so each row is a line.",
            )
            for row in rows:
                cells = text_run("\t").join(self._cell_runs(token, content) for token, content in row)
                self._paragraph("Cell", cells, plain(row[0][1]))
            return
        texts = [[plain(content) for _, content in row] for row in rows]
        room_mm = TEXT_MM - self._left_mm
        style = "Cell"
        widths = column_widths(texts, room_mm, character=_CHARACTER_MM, padding=_CELL_PADDING_MM)
        if sum(widths) > room_mm - 1:
            style = "SmallCell"
            widths = column_widths(texts, room_mm, character=_SMALL_CHARACTER_MM, padding=_CELL_PADDING_MM)
        head = _table_head(widths, self._left_mm, is_rtl=is_right_to_left("".join(texts[0])))
        for number, row in enumerate(rows):
            if number % _MAX_ROWS == 0:
                self._pieces.append(("</w:tbl><w:p/>" if number else "") + head)
            is_head = "<w:trPr><w:tblHeader/></w:trPr>" if number == 0 else ""
            self._pieces.append(f"<w:tr>{is_head}")
            for width, (token, content) in zip(widths, row, strict=True):
                self._cell(width, token, content, style)
            self._pieces.append("</w:tr>")
        self._pieces.append("</w:tbl>")
        # Word would join this table and one that follows.
        self._paragraph("Space", "")

    def _cell(self, width_mm: float, token: Token, content: list[Token], style: str) -> None:
        direction = "<w:bidi/>" if is_right_to_left(plain(content)) else ""
        align = _ALIGNMENTS.get(str(token.attrs.get("style", "")), "")
        if direction and align in {"left", "right"}:
            # In such a paragraph, left is where lines begin.
            align = "left" if align == "right" else "right"
        justified = f'<w:jc w:val="{align}"/>' if align else ""
        runs = self._cell_runs(token, content)
        self._pieces.append(
            f'<w:tc><w:tcPr><w:tcW w:w="{twips(width_mm)}" w:type="dxa"/></w:tcPr>'
            f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{direction}{justified}</w:pPr>{runs}</w:p></w:tc>'
        )

    def _cell_runs(self, token: Token, content: list[Token]) -> str:
        # Display formulas stay in the cell's only paragraph.
        return "".join(run.xml for run in self._inline.runs(content, is_bold=token.type == "th_open"))


class _OpenList(Struct):
    kind: ListKind
    id: int
    number: int
    """The number of the current item."""
    is_labelled: bool = True
    """Whether the current item already has its bullet or number."""


def _table_head(widths_mm: Sequence[float], left_mm: float, *, is_rtl: bool) -> str:
    """Return the beginning of a table, before its rows."""
    columns = "".join(f'<w:gridCol w:w="{twips(width)}"/>' for width in widths_mm)
    return (
        f'<w:tbl><w:tblPr><w:tblStyle w:val="TableGrid"/>{"<w:bidiVisual/>" if is_rtl else ""}'
        f'<w:tblW w:w="{sum(map(twips, widths_mm))}" w:type="dxa"/><w:tblInd w:w="{twips(left_mm)}" w:type="dxa"/>'
        '<w:tblLayout w:type="fixed"/><w:tblLook w:val="0020" w:firstRow="1"/></w:tblPr>'
        f"<w:tblGrid>{columns}</w:tblGrid>"
    )


def column_widths(cells: Sequence[Sequence[str]], room: float, *, character: float, padding: float) -> list[float]:
    """Return the width of each column of a table.

    Columns are as wide as their longest lines if `room` is enough; otherwise they share `room`. `character` is the
    width of a character, `padding` that of a cell's padding; all have the same unit.
    """
    columns = list(zip(*cells, strict=True))
    words = [max((_num_columns(word) for cell in column for word in cell.split()), default=1) for column in columns]
    lines = [max(map(_num_columns, column), default=1) for column in columns]
    narrow: list[float] = []
    for most in _MAX_WORD_CHARACTERS:
        narrow = [padding + character * min(most, word) for word in words]
        if sum(narrow) <= room:
            break
    wide = [padding + character * min(_MAX_LINE_CHARACTERS, line) for line in lines]
    if sum(wide) <= room:
        return wide
    if sum(narrow) >= room:
        return [least * room / sum(narrow) for least in narrow]
    share = (room - sum(narrow)) / (sum(wide) - sum(narrow))
    return [least + (most - least) * share for least, most in zip(narrow, wide, strict=True)]


def _num_columns(text: str) -> int:
    """Return the width of a text in letters; East Asian characters count twice."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
