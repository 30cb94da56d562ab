"""Chips: short texts in rows, each with a button that removes it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QHideEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.model.text import escaped, unescaped
from app.numbers import counted
from app.ui.parts.buttons import FittingButton
from app.ui.parts.labels import as_tool_tip
from app.ui.parts.layouts import FlowLayout, order_tabs
from app.ui.theme import Theme, grown, icon, scaled

_TEXT_PX = 300
_MIN_TEXT_PX = 40
_ICON_PX = 16
_BUTTON_PX = 28
_MOST_CHIPS = 50
"""At most this many chips are shown, because creating a chip takes some milliseconds."""
_REMOVE_KEYS = {Qt.Key.Key_Delete, Qt.Key.Key_Backspace}
_FIELD_INSET_PX = 4
_BETWEEN = " · "
"""Between the parts of a text."""


class Chips(QWidget):
    """Chips in rows. Tab moves between them; Delete, Backspace, Enter and Space remove the focused one.

    A chip that can be opened has a button with its text, too; Enter and Space open it. If there are very many chips,
    only the first ones are shown, with the number of the others.
    """

    removed = Signal(int)
    """The index of a chip."""
    opened = Signal(int)
    """The index of a chip."""

    def __init__(self, name: str, theme: Theme) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._theme = theme
        self._flow = FlowLayout(self)
        self._texts: Sequence[str] = ()
        self._openable: Collection[int] = ()
        self.openers: dict[int, QToolButton] = {}
        """The buttons that open chips, by index."""
        self.buttons: list[QToolButton] = []
        """The buttons that remove chips."""
        self.setVisible(False)

    def show_texts(self, texts: Sequence[str], openable: Collection[int] = ()) -> None:
        """Replace the chips; without any, the widget is hidden. `openable` has the indices of chips that open."""
        if (texts, openable) == (self._texts, self._openable):
            return
        focused = next((number for number, button in enumerate(self.buttons) if button.hasFocus()), None)
        opener = next((number for number, button in self.openers.items() if button.hasFocus()), None)
        self._texts, self._openable = texts, openable
        while item := self._flow.takeAt(0):
            widget = item.widget()
            if widget is not None:
                # A layout shows a new widget a moment later, even if it was removed meanwhile.
                widget.hide()
                widget.deleteLater()
        self.buttons, self.openers = [], {}
        for number, text in enumerate(texts[:_MOST_CHIPS]):
            self._flow.addWidget(self._new_chip(number, text))
        if len(texts) > _MOST_CHIPS:
            self._flow.addWidget(QLabel(self.tr("and {num} more").format(num=counted(len(texts) - _MOST_CHIPS))))
        order_tabs(self, self._tab_stops)
        self.setVisible(bool(texts))
        self.updateGeometry()
        if focused is not None and self.buttons:
            self.buttons[min(focused, len(self.buttons) - 1)].setFocus()
        if opener in self.openers:
            self.openers[opener].setFocus()

    @property
    def _tab_stops(self) -> list[QWidget]:
        stops: list[QWidget] = []
        for number, button in enumerate(self.buttons):
            stops += [self.openers[number], button] if number in self.openers else [button]
        return stops

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for button in self.buttons:
            button.setIcon(icon("close", theme.quiet_text))

    def _new_chip(self, number: int, text: str) -> QFrame:
        chip = QFrame()
        chip.setObjectName("held")
        label = self._label(number, text)
        button = QToolButton()
        button.setObjectName("remove")
        button.setIcon(icon("close", self._theme.quiet_text))
        button.setIconSize(QSize(scaled(_ICON_PX), scaled(_ICON_PX)))
        button.setFixedSize(grown(_BUTTON_PX), grown(_BUTTON_PX))
        button.setAccessibleName(self.tr("Remove {what}").format(what=text))
        button.setToolTip(self.tr("Remove (Del)"))
        button.clicked.connect(partial(self._remove, number))
        button.installEventFilter(self)
        self.buttons.append(button)
        row = QHBoxLayout(chip)
        row.setContentsMargins(4 if number in self._openable else 10, 0, 0, 0)
        row.setSpacing(2)
        row.addWidget(label)
        row.addWidget(button)
        return chip

    def _label(self, number: int, text: str) -> QWidget:
        shown = self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, _TEXT_PX)
        tip = as_tool_tip(text) if shown != text else ""
        if number in self._openable:
            opener = FittingButton()
            opener.setObjectName("action")
            # If the text is too long, only the name and the size are shown.
            parts = text.split(_BETWEEN)
            opener.show_texts(*dict.fromkeys((shown, _BETWEEN.join((parts[0], parts[-1])), parts[0])))
            opener.setAccessibleName(text)
            opener.setToolTip(tip or self.tr("Choose parts"))
            opener.clicked.connect(partial(self._open, number))
            opener.installEventFilter(self)
            self.openers[number] = opener
            return opener
        label = _ChipLabel(shown)
        label.setToolTip(tip or as_tool_tip(text))
        label.setAccessibleName(text)
        return label

    def _remove(self, number: int, _is_checked: bool = False) -> None:
        self.removed.emit(number)

    def _open(self, number: int, _is_checked: bool = False) -> None:
        self.opened.emit(number)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in _REMOVE_KEYS:
            buttons = [*enumerate(self.buttons), *self.openers.items()]
            number = next((number for number, button in buttons if button is watched), None)
            if number is not None:
                self._remove(number)
                return True
        return super().eventFilter(watched, event)


class _ChipLabel(QLabel):
    """A line of text whose middle is elided where the line does not fit."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._whole = text

    @override
    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self._whole) + 2, super().sizeHint().height())

    @override
    def minimumSizeHint(self) -> QSize:
        size = self.sizeHint()
        return QSize(min(size.width(), scaled(_MIN_TEXT_PX)), size.height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.setText(self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideMiddle, self.width()))


class TextChips(QWidget):
    """Chips with a field that adds one. In the field `\\n` is a line break, `\\t` a tab, `\\\\` a backslash."""

    changed = Signal()

    def __init__(self, name: str, texts: Sequence[str], theme: Theme) -> None:
        super().__init__()
        self.texts = tuple(texts)
        self.chips = Chips(name, theme)
        self.chips.removed.connect(self._remove)
        self.field = QLineEdit()
        self.field.setAccessibleName(name)
        self.field.setPlaceholderText(self.tr("Type here, then press Enter"))
        self.field.setToolTip(self.tr("Type, then press Enter; \\n is a line break"))
        self.field.setTextMargins(_FIELD_INSET_PX, 0, _FIELD_INSET_PX, 0)
        self.field.returnPressed.connect(self.add)
        self.add_button = QToolButton()
        self.add_button.setIcon(icon("plus", theme.quiet_text))
        self.add_button.setMinimumSize(28, 28)
        self.add_button.setAccessibleName(self.tr("Add"))
        self.add_button.setToolTip(self.tr("Add (Enter)"))
        self.add_button.clicked.connect(self.add)
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self.field, 1)
        row.addWidget(self.add_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.chips)
        column.addLayout(row)
        self.chips.show_texts([escaped(text) for text in self.texts])

    def set_theme(self, theme: Theme) -> None:
        self.chips.set_theme(theme)
        self.add_button.setIcon(icon("plus", theme.quiet_text))

    def add(self) -> None:
        """Add a chip with the text in the field."""
        text = unescaped(self.field.text())
        self.field.clear()
        if text and text not in self.texts:
            self._change((*self.texts, text))

    def show_texts(self, texts: Sequence[str]) -> None:
        """Replace the texts of the chips."""
        self.texts = tuple(texts)
        self.chips.show_texts([escaped(text) for text in texts])

    def _remove(self, number: int) -> None:
        self._change((*self.texts[:number], *self.texts[number + 1 :]))
        if not self.texts:
            self.field.setFocus()

    def _change(self, texts: tuple[str, ...]) -> None:
        self.show_texts(texts)
        self.changed.emit()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        # A text that was typed before the panel was closed is added, too.
        self.add()
        super().hideEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.field.setFocus()
