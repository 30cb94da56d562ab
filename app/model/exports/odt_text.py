"""Writes the text of an ODT export: messages and their Markdown as paragraphs, lists and tables.

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
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.odt_file import BELOW_MM, INDENT_MM, QUOTE_BORDER, TEXT_MM, AutomaticStyles, Properties, margins
from app.model.exports.odt_inline import Pictures, code_lines, formula, image, note_mark, plain, runs, span, text_xml
from app.model.exports.rendering import boxed
from app.model.markdown_parser import DISPLAY, parsed
from app.model.message import Message
from app.model.text import is_right_to_left

_CHARACTER_MM, _SMALL_CHARACTER_MM, _CELL_PADDING_MM = 2.1, 1.7, 5.0
_MAX_WORD_CHARACTERS = (16, 12, 9, 7, 5)
"""Limits for the letters of a word that a column must have room for, tried in turn until all columns fit."""
_MAX_LINE_CHARACTERS = 80
_MIN_LONG_NUMBER = 100
"""List numbers from this one on need more space than the indentation."""


class OdtText:
    """Writes the text of one document."""

    def __init__(self, pictures: Pictures, options: Options) -> None:
        self.styles = AutomaticStyles()
        self._pictures = pictures
        self._options = options
        self._pieces: list[str] = []
        self._lists = _OpenLists(self._pieces)
        self._num_quotes = 0
        self._is_footnote = False
        self._footnote_label = ""
        self._follows_code = False
        self._follows_list = False

    @property
    def xml(self) -> str:
        return "".join(self._pieces)

    def write(self, excerpt: Excerpt) -> Iterator[int]:
        """Write a conversation; yield the number of messages written so far."""
        self._heading("Title", 1, title(excerpt))
        num_done = 0
        for number, section in enumerate(shown_sections(excerpt, self._options), 1):
            if number > 1:
                self._heading("Heading_20_1", 1, branch_title(excerpt, section, number))
            for message in section.messages:
                self._message(message)
                num_done += 1
                yield num_done

    def _message(self, message: Message) -> None:
        self._heading("Heading_20_2", 2, heading(message))
        if marked := marks(message):
            self._paragraph("Figures", text_xml(marked), marked)
        if is_folded(message):
            note = split_note(message)
            if note.is_picture:
                self._paragraph("Text_20_body", image(note.file_address, note.file_name, self._pictures))
            elif note.file_address:
                self._typed_text("Typed_20_line", f"[file: {note.file_name}]")
            else:
                self._markdown(note.text)
            return
        said = split_reasoning(message)
        if said.reasoning and self._options.reasoning:
            self._paragraph("Reasoning", span("Strong_20_Emphasis", "Reasoning"))
            self._typed_text("Reasoning", said.reasoning)
        if message.role == "assistant":
            self._markdown(said.answer)
        else:
            self._typed_text("Typed_20_line", said.answer)
        if ended := ending(message):
            self._paragraph("Failure" if message.state == "failed" else "Figures", text_xml(ended), ended)
        if self._options.statistics and (line := statistics(message)):
            self._paragraph("Figures", text_xml(line))

    # --- paragraphs ------------------------------------------------------------------------------------------

    def _heading(self, style: str, level: int, text: str) -> None:
        name = self.styles.paragraph(style, _direction(text))
        self._pieces.append(f'<text:h text:style-name="{name}" text:outline-level="{level}">{text_xml(text)}</text:h>')

    def _typed_text(self, style: str, text: str) -> None:
        """Write a text with one paragraph per line."""
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            self._paragraph(style, text_xml(line), line, margins(0, 2.5) if number == len(lines) else {})

    def _paragraph(
        self, style: str, xml: str, text: str = "", extra: Properties | None = None, *, level: int = 0
    ) -> None:
        """Write a paragraph. Its direction is that of `text`; a `level` makes it a heading."""
        is_labelled = self._lists.enter()
        properties = {**_direction(text), **(extra or {})}
        depth = self._lists.depth
        if depth or self._num_quotes:
            properties["fo:margin-left"] = f"{self._left_mm}mm"
            properties["fo:text-indent"] = f"-{self._lists.hanging_mm}mm" if is_labelled else "0mm"
        if depth and style == "Formula":
            properties["fo:text-align"] = "left"
        if depth and style == "Quotations":
            # Otherwise the border would follow the list's indentation.
            properties["fo:border"] = "none"
        if self._follows_list and not depth and not level:
            properties = {**margins(2.5, BELOW_MM.get(style, 0)), **properties}
        if style == "Quotations" and "style:writing-mode" in properties and not depth:
            properties |= {"fo:border-left": "none", "fo:border-right": QUOTE_BORDER, "fo:padding-right": "3mm"}
        self._follows_list = False
        name = self.styles.paragraph(style, properties)
        # A heading inside a list would get a number of the outline.
        if level and not depth:
            self._pieces.append(f'<text:h text:style-name="{name}" text:outline-level="{level}">{xml}</text:h>')
        else:
            self._pieces.append(f'<text:p text:style-name="{name}">{xml}</text:p>')
        self._follows_code = False

    @property
    def _left_mm(self) -> float:
        """The indentation in mm, at most half the width of the text."""
        return min((self._lists.depth + self._num_quotes) * INDENT_MM, TEXT_MM / 2)

    def _body_style(self, *, is_tight: bool) -> str:
        if self._is_footnote:
            return "Footnote"
        if self._num_quotes:
            return "Quotations"
        return "Tight_20_item" if is_tight else "Text_20_body"

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
                level = min(int(token.tag[1]) + 2, 6)
                self._inline(tokens[index + 1], f"Heading_20_{level}", level=level)
                index += 1
            elif token.type == "paragraph_open":
                self._inline(tokens[index + 1], self._body_style(is_tight=token.hidden))
                index += 1
            else:
                self._block(token)
            index += 1

    def _block(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self._lists.begin("Bullets")
            case "ordered_list_open":
                style = "Numbers_20_paren" if token.markup == ")" else "Numbers"
                start = token.attrs.get("start")
                self._lists.begin(style, int(start) if start is not None else None)
            case "bullet_list_close" | "ordered_list_close":
                self._lists.end()
                self._follows_list = not self._lists.depth
            case "list_item_open":
                self._lists.begin_item()
            case "list_item_close":
                if self._lists.is_item_empty:
                    self._paragraph(self._body_style(is_tight=True), "")
                self._lists.end_item()
            case "blockquote_open":
                self._num_quotes += 1
            case "blockquote_close":
                self._num_quotes -= 1
            case "footnote_reference_open":
                self._is_footnote, self._footnote_label = True, str(token.meta["label"])
            case "footnote_reference_close":
                self._take_footnote_label()
                self._is_footnote = False
            case "hr":
                self._paragraph("Horizontal_20_Line", "")
            case "fence" | "code_block":
                words = token.info.split(maxsplit=1)
                self._code(token.content.removesuffix("\n"), words[0] if words else "")
            case _ if token.type == DISPLAY:
                # The info is punctuation after the formula.
                self._paragraph("Formula", formula(token, self._pictures) + text_xml(token.info))
            case _ if token.content:
                self._paragraph(self._body_style(is_tight=False), text_xml(token.content), token.content)
            case _:
                pass

    def _take_footnote_label(self) -> str:
        """Return the label of a footnote that begins here, and clear it."""
        label, self._footnote_label = self._footnote_label, ""
        return f"{note_mark(label)} " if label else ""

    def _inline(self, inline: Token, style: str, *, level: int = 0) -> None:
        children = inline.children or []
        label, text = self._take_footnote_label(), plain(children)
        found = runs(children, self._pictures)
        for number, run in enumerate(found):
            xml = (label if number == 0 else "") + run.xml
            if run.is_formula:
                self._paragraph("Formula", xml)
            elif xml.strip() or len(found) == 1:
                self._paragraph(style, xml, text, level=level)

    def _code(self, code: str, language: str) -> None:
        if self._follows_code:
            # Adjacent blocks would look like one.
            self._paragraph("Table_20_Contents", "")
        lines = code_lines(code, language, self.styles)
        for number, line in enumerate(lines, 1):
            self._paragraph("Preformatted_20_Text", line, "", margins(0, 3.5) if number == len(lines) else {})
        self._follows_code = True

    def _table(self, tokens: Sequence[Token]) -> None:
        self._lists.enter()
        self._lists.leave()
        rows: list[list[tuple[Token, list[Token]]]] = []
        for index, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in {"th_open", "td_open"}:
                rows[-1].append((token, tokens[index + 1].children or []))
        texts = [[plain(content) for _, content in row] for row in rows]
        room_mm = TEXT_MM - self._left_mm
        style = "Table_20_Contents"
        widths = column_widths(texts, room_mm, character=_CHARACTER_MM, padding=_CELL_PADDING_MM)
        if sum(widths) > room_mm - 1:
            style = "Small_20_Table_20_Contents"
            widths = column_widths(texts, room_mm, character=_SMALL_CHARACTER_MM, padding=_CELL_PADDING_MM)
        is_rtl = is_right_to_left("".join(texts[0]))
        table = self.styles.table(sum(widths), self._left_mm, is_rtl=is_rtl)
        columns = "".join(f'<table:table-column table:style-name="{self.styles.column(width)}"/>' for width in widths)
        self._pieces.append(f'<table:table table:style-name="{table}">{columns}<table:table-header-rows>')
        for number, row in enumerate(rows):
            self._pieces.append("<table:table-row>")
            for token, content in row:
                self._cell(token, content, style)
            self._pieces.append("</table:table-row>" + ("</table:table-header-rows>" if number == 0 else ""))
        self._pieces.append("</table:table>")
        self._follows_code = False

    def _cell(self, token: Token, content: list[Token], style: str) -> None:
        is_head = token.type == "th_open"
        # Display formulas stay in the cell's only paragraph.
        xml = "".join(run.xml for run in runs(content, self._pictures))
        align = str(token.attrs.get("style", "")).removeprefix("text-align:")
        properties: Properties = {**_direction(plain(content)), **({"fo:text-align": align} if align else {})}
        self._pieces.append(
            f'<table:table-cell table:style-name="{"HeadCell" if is_head else "Cell"}" office:value-type="string">'
            f'<text:p text:style-name="{self.styles.paragraph(style, properties)}">'
            f"{span('Strong_20_Emphasis', xml) if is_head else xml}</text:p></table:table-cell>"
        )


def _direction(text: str) -> Properties:
    return {"style:writing-mode": "rl-tb", "fo:text-align": "right"} if is_right_to_left(text) else {}


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


class _OpenList(Struct):
    style: str
    start: int | None
    name: str = ""
    """The XML id of the list's last element; empty if there is none yet."""
    is_open: bool = False
    item: str = ""
    """The open element of the current item."""
    number: int = 0
    """The number of the current item."""
    is_labelled: bool = True
    """Whether the current item already has its bullet or number."""


class _OpenLists:
    """The nested lists around the current place.

    Their elements are opened only when content is written into them. They are closed before a table, which ODT does not
    allow in lists, and opened again after it.
    """

    def __init__(self, pieces: list[str]) -> None:
        self._pieces = pieces
        self._lists: list[_OpenList] = []
        self._num_elements = 0

    @property
    def depth(self) -> int:
        return len(self._lists)

    @property
    def is_item_empty(self) -> bool:
        return not self._lists[-1].is_labelled

    @property
    def hanging_mm(self) -> float:
        """The distance from the bullet or number to the item's text, in mm."""
        current = self._lists[-1]
        if current.style == "Bullets" or current.number < _MIN_LONG_NUMBER:
            return INDENT_MM - 2
        return 2 * len(str(current.number)) + 4

    def begin(self, style: str, start: int | None = None) -> None:
        self._lists.append(_OpenList(style, start, number=0 if start is None else start - 1))

    def end(self) -> None:
        self._pieces.append("</text:list>" if self._lists.pop().is_open else "")

    def begin_item(self) -> None:
        self._lists[-1].is_labelled = False
        self._lists[-1].number += 1

    def end_item(self) -> None:
        current = self._lists[-1]
        self._pieces.append(f"</{current.item}>" if current.item else "")
        current.item = ""

    def enter(self) -> bool:
        """Open all elements. Return whether the current item's bullet or number is written here."""
        is_labelled = False
        for found in self._lists:
            if not found.is_open:
                self._num_elements += 1
                continued = f' text:continue-list="{found.name}"' if found.name else ""
                found.name, found.is_open = f"list{self._num_elements}", True
                self._pieces.append(f'<text:list xml:id="{found.name}"{continued} text:style-name="{found.style}">')
            is_labelled = not found.is_labelled
            if not found.item:
                found.item = "text:list-header" if found.is_labelled else "text:list-item"
                start = "" if found.start is None or found.is_labelled else f' text:start-value="{found.start}"'
                self._pieces.append(f"<{found.item}{start}>")
            if is_labelled:
                found.is_labelled, found.start = True, None
        return is_labelled

    def leave(self) -> None:
        """Close all elements before content that is not allowed in a list."""
        for found in reversed(self._lists):
            self._pieces.append(f"</{found.item}>" if found.item else "")
            self._pieces.append("</text:list>" if found.is_open else "")
            found.item, found.is_open = "", False
