"""The panel for the answer format, checked while it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QLabel,
    QMenu,
    QPlainTextEdit,
    QRadioButton,
    QToolButton,
    QWidget,
)

from app.model.generation_settings import EXAMPLES, AnswerFormat, FormatKind
from app.sentences import translated
from app.ui.composer.display_names import format_name
from app.ui.parts.buttons import give_menu
from app.ui.parts.labels import as_label, quiet_label
from app.ui.parts.layouts import FlowLayout
from app.ui.parts.popover import Popover
from app.ui.theme import code_font, repolish

translate = QCoreApplication.translate

_WIDTH_PX = 588
_EDITOR_PX = 190


class FormatPopover(Popover):
    """Five kinds of formats, and an editor for those defined by a text. Changes apply at once."""

    changed = Signal(object)
    """The new `AnswerFormat`, or None for free answers."""

    def __init__(
        self, answer_format: AnswerFormat | None, parent: QWidget, kinds: Sequence[FormatKind] = tuple(EXAMPLES)
    ) -> None:
        """`kinds` are the formats that the model can keep to. The chosen one is offered in any case."""
        super().__init__(translate("FormatPopover", "Answer format"), _WIDTH_PX, parent)
        self._texts: dict[FormatKind, str] = {} if answer_format is None else {answer_format.kind: answer_format.text}
        """The text that was typed for each kind of format."""
        self._kind: FormatKind | None = None if answer_format is None else answer_format.kind
        self.kinds: dict[FormatKind | None, QRadioButton] = {}
        self._group = QButtonGroup(self)
        buttons = QWidget()
        row = FlowLayout(buttons)
        row.setSpacing(8)
        offered: list[FormatKind] = [kind for kind in EXAMPLES if kind in kinds or kind == self._kind]
        for kind in (None, *offered):
            button = QRadioButton(format_name(kind))
            button.setToolTip(_explanation(kind))
            button.toggled.connect(partial(self._on_kind, kind))
            self.kinds[kind] = button
            self._group.addButton(button)
            row.addWidget(button)
        self.column.addWidget(buttons)
        self._explanation = quiet_label("")
        self.column.addWidget(self._explanation)
        self.editor = QPlainTextEdit()
        self.editor.setObjectName("field")
        self.editor.setFont(code_font())
        self.editor.setTabChangesFocus(True)
        self.editor.setFixedHeight(_EDITOR_PX)
        self.editor.textChanged.connect(self._on_text)
        self.column.addWidget(self.editor)
        self.verdict = QLabel()
        self.verdict.setWordWrap(True)
        self.verdict.setTextFormat(Qt.TextFormat.PlainText)
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.column.addWidget(self.verdict)
        self.examples = QToolButton()
        self.examples.setObjectName("chip")
        self.examples.setText(self.tr("Examples") + " ▾")
        self.examples.setToolTip(self.tr("Start with an example"))
        give_menu(self.examples, QMenu(self.examples))
        self.column.addWidget(self.examples, 0, Qt.AlignmentFlag.AlignLeft)
        self.kinds[self._kind].setChecked(True)
        self._show_kind()

    @property
    def answer_format(self) -> AnswerFormat | None:
        """The format, or None for free answers and for an empty text."""
        text = self._texts.get(self._kind, "") if self._kind is not None else ""
        return AnswerFormat(kind=self._kind, text=text) if self._kind is not None and text.strip() else None

    @property
    def first(self) -> QWidget:
        """The widget that has the focus at first."""
        return self.kinds[None] if self._kind is None else self.editor

    def show_verdict(self, problem: str | None) -> None:
        """Show the problem of the format. Empty means that it has none; None means that the check is still running."""
        if self.answer_format is None:
            text, kind = self.tr("Enter a format. Until then, answers are free text."), "quiet"
        elif problem is None:
            text, kind = self.tr("Checking…"), "quiet"
        elif problem:
            text, kind = translated(problem), "failure"
        else:
            text, kind = self.tr("✓ Valid"), "good"
        self.verdict.setText(text)
        self.verdict.setVisible(self._kind is not None)
        if self.verdict.objectName() != kind:
            self.verdict.setObjectName(kind)
            repolish(self.verdict)

    def _on_kind(self, kind: FormatKind | None, is_chosen: bool) -> None:
        if is_chosen and kind != self._kind:
            self._kind = kind
            self._show_kind()
            self.changed.emit(self.answer_format)

    def _show_kind(self) -> None:
        kind = self._kind
        self._explanation.setText(_explanation(kind))
        for widget in (self.editor, self.verdict, self.examples):
            widget.setVisible(kind is not None)
        if kind is None:
            self.fit()
            return
        blocked = self.editor.blockSignals(True)
        self.editor.setPlainText(self._texts.get(kind, ""))
        self.editor.blockSignals(blocked)
        self.editor.setAccessibleName(format_name(kind))
        menu = self.examples.menu()
        menu.clear()
        for example in EXAMPLES[kind]:
            menu.addAction(as_label(_label(example)), partial(self.editor.setPlainText, example.text))
        self.show_verdict(None)
        self.fit()

    def _on_text(self) -> None:
        if self._kind is not None:
            self._texts[self._kind] = self.editor.toPlainText()
            self.show_verdict(None)
            self.changed.emit(self.answer_format)


def _explanation(kind: FormatKind | None) -> str:
    texts: Mapping[FormatKind | None, str] = {
        None: translate(
            "FormatPopover",
            "The model answers freely. Every other format is enforced token by token.",
        ),
        "json_schema": translate("FormatPopover", "The answer is JSON that matches this schema."),
        "regex": translate("FormatPopover", "The whole answer matches this regular expression."),
        "choice": translate("FormatPopover", "The answer is exactly one of these lines."),
        "lark": translate("FormatPopover", "The answer matches the rule “start” of this grammar (Lark syntax)."),
    }
    return texts[kind]


def _label(example: AnswerFormat) -> str:
    """Return the name of an example, or its text if it has none."""
    shown = " ".join(example.text.replace("{", " ").split()) if example.kind == "json_schema" else example.text
    names = {
        0: {
            "json_schema": translate("FormatPopover", "A person"),
            "regex": translate("FormatPopover", "A date"),
            "choice": translate("FormatPopover", "Yes or no"),
            "lark": translate("FormatPopover", "A sum"),
        },
        1: {
            "json_schema": translate("FormatPopover", "A short list"),
            "regex": translate("FormatPopover", "A number from 1 to 10"),
            "choice": translate("FormatPopover", "A mood"),
            "lark": translate("FormatPopover", "Three lines"),
        },
        2: {
            "json_schema": translate("FormatPopover", "Reasons and a verdict"),
            "regex": translate("FormatPopover", "Three capitals"),
        },
    }
    index = EXAMPLES[example.kind].index(example)
    return names.get(index, {}).get(example.kind, shown)
