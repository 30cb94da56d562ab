"""Conversations as the content of an OpenDocument text: messages and their Markdown as paragraphs, lists and tables.

Every paragraph has the direction of its own first letter. How far it stands in is said at itself, so that programs that
understand lists in their own ways show the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from markdown_it.token import Token

from app.model.exports.captions import (
    branch_title,
    heading,
    split_note,
    split_reasoning,
    statistics,
    title,
    told_sections,
)
from app.model.exports.column_widths import column_widths
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.open_inline import (
    Pictures,
    Run,
    code_lines,
    formula,
    image,
    note_mark,
    plainly,
    runs,
    said,
    span,
)
from app.model.exports.open_lists import OpenLists
from app.model.exports.open_styles import BELOW_MM, QUOTE_LINE, STEP_MM, TEXT_MM, PlaceStyles, margins
from app.model.exports.rendering import boxed
from app.model.markdown_parser import DISPLAY, parsed
from app.model.message import Message
from app.model.text import is_right_to_left

_LETTER_MM, _SMALL_LETTER_MM, _CELL_MM = 2.1, 1.7, 5.0


class OpenText:
    """The content of one document, as it is told."""

    def __init__(self, pictures: Pictures, options: Options) -> None:
        self.styles = PlaceStyles()
        self._pictures = pictures
        self._options = options
        self._parts: list[str] = []
        self._lists = OpenLists(self._parts)
        self._num_quotes = 0
        self._is_footnote = False
        self._footnote_label = ""
        self._follows_code = False
        self._follows_list = False

    @property
    def xml(self) -> str:
        return "".join(self._parts)

    def tell(self, excerpt: Excerpt) -> Iterator[int]:
        """Tell a conversation; yield how many messages are told."""
        self._heading("Title", 1, title(excerpt))
        done = 0
        for number, section in enumerate(told_sections(excerpt, self._options), 1):
            if number > 1:
                self._heading("Heading_20_1", 1, branch_title(excerpt, section, number))
            for message in section.messages:
                self._message(message)
                done += 1
                yield done

    def _message(self, message: Message) -> None:
        self._heading("Heading_20_2", 2, heading(message))
        if message.role == "note":
            note = split_note(message)
            if note.is_picture:
                self._paragraph("Text_20_body", image(note.file_address, note.file_name, self._pictures))
            elif note.file_address:
                self._typed("Typed_20_line", f"[file: {note.file_name}]")
            else:
                self._markdown(note.text)
            return
        told = split_reasoning(message)
        if told.reasoning and self._options.reasoning:
            self._paragraph("Reasoning", span("Strong_20_Emphasis", "Reasoning"))
            self._typed("Reasoning", told.reasoning)
        if message.role == "assistant":
            self._markdown(told.answer)
        else:
            self._typed("Typed_20_line", told.answer)
        if message.record is not None and message.record.error:
            self._paragraph("Failure", said(message.record.error), message.record.error)
        if self._options.statistics and (line := statistics(message)):
            self._paragraph("Figures", said(line))

    # --- paragraphs ------------------------------------------------------------------------------------------

    def _heading(self, style: str, level: int, text: str) -> None:
        name = self.styles.paragraph(style, _direction(text))
        self._parts.append(f'<text:h text:style-name="{name}" text:outline-level="{level}">{said(text)}</text:h>')

    def _typed(self, style: str, text: str) -> None:
        """What is typed stands in its lines."""
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            self._paragraph(style, said(line), line, margins(0, 2.5) if number == len(lines) else {})

    def _paragraph(
        self,
        style: str,
        xml: str,
        text: str = "",
        more: dict[str, str | float] | None = None,
        *,
        level: int = 0,
    ) -> None:
        """Put a paragraph where the document is; `text`: what tells its direction; `level`: it is such a heading."""
        is_labelled = self._lists.enter()
        set_ = {**_direction(text), **(more or {})}
        depth = self._lists.depth
        if depth or self._num_quotes:
            set_["fo:margin-left"] = f"{self._left_mm}mm"
            set_["fo:text-indent"] = f"-{self._lists.hangs_mm}mm" if is_labelled else "0mm"
        if depth and style == "Formula":
            set_["fo:text-align"] = "left"
        if depth and style == "Quotations":
            # Its line would go in and out with the list.
            set_["fo:border"] = "none"
        if self._follows_list and not depth and not level:
            set_ = {**margins(2.5, BELOW_MM.get(style, 0)), **set_}
        if style == "Quotations" and "style:writing-mode" in set_ and not depth:
            set_ |= {"fo:border-left": "none", "fo:border-right": QUOTE_LINE, "fo:padding-right": "3mm"}
        self._follows_list = False
        name = self.styles.paragraph(style, set_)
        # In a list a heading would be numbered with all others.
        if level and not depth:
            self._parts.append(f'<text:h text:style-name="{name}" text:outline-level="{level}">{xml}</text:h>')
        else:
            self._parts.append(f'<text:p text:style-name="{name}">{xml}</text:p>')
        self._follows_code = False

    @property
    def _left_mm(self) -> float:
        """How far the text stands in; however deep, there is room for it."""
        return min((self._lists.depth + self._num_quotes) * STEP_MM, TEXT_MM / 2)

    def _body_style(self, *, is_tight: bool) -> str:
        if self._is_footnote:
            return "Footnote"
        if self._num_quotes:
            return "Quotations"
        return "Tight_20_item" if is_tight else "Text_20_body"

    # --- Markdown --------------------------------------------------------------------------------------------

    def _markdown(self, text: str) -> None:
        tokens = boxed(parsed(text, {}))
        place = 0
        while place < len(tokens):
            token = tokens[place]
            if token.type == "table_open":
                end = next(
                    (at for at in range(place, len(tokens)) if tokens[at].type == "table_close"), len(tokens) - 1
                )
                self._table(tokens[place:end])
                place = end
            elif token.type == "heading_open":
                level = min(int(token.tag[1]) + 2, 6)
                self._words(tokens[place + 1], f"Heading_20_{level}", level=level)
                place += 1
            elif token.type == "paragraph_open":
                self._words(tokens[place + 1], self._body_style(is_tight=token.hidden))
                place += 1
            else:
                self._block(token)
            place += 1

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
                self._note_label()
                self._is_footnote = False
            case "hr":
                self._paragraph("Horizontal_20_Line", "")
            case "fence" | "code_block":
                words = token.info.split(maxsplit=1)
                self._code(token.content.removesuffix("\n"), words[0] if words else "")
            case _ if token.type == DISPLAY:
                # Behind a block of its own a stop may stand.
                self._paragraph("Formula", formula(token, self._pictures) + said(token.info))
            case _ if token.content:
                self._paragraph(self._body_style(is_tight=False), said(token.content), token.content)
            case _:
                pass

    def _note_label(self) -> str:
        label, self._footnote_label = self._footnote_label, ""
        return f"{note_mark(label)} " if label else ""

    def _words(self, inline: Token, style: str, *, level: int = 0) -> None:
        children = inline.children or []
        label, text = self._note_label(), plainly(children)
        found: list[Run] = runs(children, self._pictures)
        for number, run in enumerate(found):
            xml = (label if number == 0 else "") + run.xml
            if run.is_formula:
                self._paragraph("Formula", xml)
            elif xml.strip() or len(found) == 1:
                self._paragraph(style, xml, text, level=level)

    def _code(self, code: str, language: str) -> None:
        if self._follows_code:
            # Blocks that touch would be one.
            self._paragraph("Table_20_Contents", "")
        lines = code_lines(code, language, self.styles)
        for number, line in enumerate(lines, 1):
            self._paragraph("Preformatted_20_Text", line, "", margins(0, 3.5) if number == len(lines) else {})
        self._follows_code = True

    def _table(self, tokens: Sequence[Token]) -> None:
        self._lists.enter()
        self._lists.leave()
        rows: list[list[tuple[Token, list[Token]]]] = []
        for place, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in {"th_open", "td_open"}:
                rows[-1].append((token, tokens[place + 1].children or []))
        texts = [[plainly(words) for _, words in row] for row in rows]
        room_mm = TEXT_MM - self._left_mm
        widths = column_widths(texts, room_mm, a_character=_LETTER_MM, a_cell=_CELL_MM)
        style = "Table_20_Contents"
        if sum(widths) > room_mm - 1:
            widths = column_widths(texts, room_mm, a_character=_SMALL_LETTER_MM, a_cell=_CELL_MM)
            style = "Small_20_Table_20_Contents"
        is_rtl = is_right_to_left("".join(texts[0]))
        table = self.styles.table(sum(widths), self._left_mm, is_rtl=is_rtl)
        columns = "".join(f'<table:table-column table:style-name="{self.styles.column(width)}"/>' for width in widths)
        self._parts.append(f'<table:table table:style-name="{table}">{columns}<table:table-header-rows>')
        for number, row in enumerate(rows):
            self._parts.append("<table:table-row>")
            for token, words in row:
                self._cell(token, words, style)
            self._parts.append("</table:table-row>" + ("</table:table-header-rows>" if number == 0 else ""))
        self._parts.append("</table:table>")
        self._follows_code = False

    def _cell(self, token: Token, words: list[Token], style: str) -> None:
        is_head = token.type == "th_open"
        # No formula has a line of its own here.
        xml = "".join(run.xml for run in runs(words, self._pictures))
        align = str(token.attrs.get("style", "")).removeprefix("text-align:")
        set_ = {**_direction(plainly(words)), **({"fo:text-align": align} if align else {})}
        self._parts.append(
            f'<table:table-cell table:style-name="{"HeadCell" if is_head else "Cell"}" office:value-type="string">'
            f'<text:p text:style-name="{escape(self.styles.paragraph(style, set_))}">'
            f"{span('Strong_20_Emphasis', xml) if is_head else xml}</text:p></table:table-cell>"
        )


def _direction(text: str) -> dict[str, str | float]:
    return {"style:writing-mode": "rl-tb", "fo:text-align": "right"} if is_right_to_left(text) else {}
