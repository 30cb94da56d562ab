"""Kinds of buttons (shortened text, several lines, folding a part of a page), and the keys Enter and Esc.

Lists of names that open belong to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QHelpEvent, QKeyEvent, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QComboBox,
    QMenu,
    QPushButton,
    QRadioButton,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QToolButton,
    QToolTip,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.ui.parts.labels import as_label, as_tool_tip, beginning
from app.ui.theme import Theme, icon, scaled

_MIN_TEXT_PX = 40
_MIN_NAME_CHARS = 6
_SPARE_PX = 2
"""Pixels for rounding errors: the widths of parts do not add up exactly to the width of the whole text."""
_ENTER = {Qt.Key.Key_Return, Qt.Key.Key_Enter}

# At run time, only one base class may be Qt's.
_Button = QAbstractButton if TYPE_CHECKING else object


class FittingButton(QToolButton):
    """Shows the longest of several texts that fits.

    The size hint depends on the texts, not on the one shown, so that the layout is stable.
    """

    def __init__(self, *, is_modest: bool = False) -> None:
        """`is_modest` means that the size hint is for the shortest text, so the button only takes spare width."""
        super().__init__()
        self._is_modest = is_modest
        self._texts: tuple[str, ...] = ("",)
        self._ending = ""
        self._room_px: int | None = None
        self._later = QTimer(self, interval=0, singleShot=True)
        self._later.timeout.connect(self._update_size)
        policy = QSizePolicy.Policy
        self.setSizePolicy(policy.Preferred if is_modest else policy.Maximum, policy.Fixed)

    def show_texts(self, *texts: str, ending: str = "") -> None:
        """Show the first of `texts` that fits, else the last one, elided. The texts go from long to short.

        `ending` follows the text and is never elided.
        """
        if (texts, ending) != (self._texts, self._ending):
            self._texts, self._ending = texts, ending
            self._update_size()

    def limit(self, room_px: int) -> None:
        """Take only the width of the longest text that fits into this room; the neighbours get the rest."""
        self._room_px = room_px
        self._set_limit()

    def _set_limit(self) -> None:
        if self._is_modest:
            self.setMaximumWidth(self._size_for(self._texts[0]).width())
        elif self._room_px is not None:
            widths = [self._size_for(text).width() for text in self._texts]
            least = min(widths[-1], max(self._room_px, self.minimumSizeHint().width()))
            width = next((width for width in widths if width <= self._room_px), least)
            if self.maximumWidth() != width:
                self.setMaximumWidth(width)

    def _update_size(self) -> None:
        self._set_limit()
        self.updateGeometry()
        parent = self.parentWidget()
        layout = None if parent is None else parent.layout()
        if layout is not None:
            # Now, so that the new text is visible when this call returns.
            layout.activate()
        self._fit()

    def _fit(self) -> None:
        metrics = self.fontMetrics()
        room = self.width() - self._padding_px - metrics.horizontalAdvance(self._ending)
        fitting = (text for text in self._texts if metrics.horizontalAdvance(text) <= room)
        elided = metrics.elidedText(self._texts[-1], Qt.TextElideMode.ElideRight, max(room, 0))
        self.setText(as_label(next(fitting, elided) + self._ending))

    @property
    def _padding_px(self) -> int:
        """The width of the button without its text."""
        # Measured in the same way as Qt does, so that the result does not depend on the shown text. Qt adds two spaces,
        # which would all be on the right of the text.
        metrics = self.fontMetrics()
        text = metrics.size(Qt.TextFlag.TextShowMnemonic, self.text())
        return super().sizeHint().width() - text.width() - 2 * metrics.horizontalAdvance(" ")

    def _size_for(self, text: str, max_text_px: int | None = None) -> QSize:
        metrics = self.fontMetrics()
        text_px = metrics.horizontalAdvance(text)
        text_px = text_px if max_text_px is None else min(text_px, max_text_px)
        width = self._padding_px + text_px + metrics.horizontalAdvance(self._ending) + _SPARE_PX
        return QSize(width, super().sizeHint().height())

    @override
    def sizeHint(self) -> QSize:
        return self._size_for(self._texts[-1 if self._is_modest else 0])

    @override
    def minimumSizeHint(self) -> QSize:
        return self._size_for(self._texts[-1], scaled(_MIN_TEXT_PX))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() not in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            return
        if self.updatesEnabled():
            self._update_size()
        else:
            # A change of the theme sends many of these events, and nothing is painted until its end.
            self._later.start()


class _Wraps(_Button):
    """A button that wraps its text if one line has no room for it."""

    def __init__(self, text: str = "", *arguments: Any) -> None:
        """The `arguments` are those of the button's base class."""
        super().__init__(*arguments)
        self._whole = ""
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.show_text(text)

    def show_text(self, text: str) -> None:
        """Show a text, or the beginning of a very long one, in one line until the width or `wrap` asks for more."""
        self._whole = beginning(text)
        super().setText(as_label(self._whole))
        self.setAccessibleName(self._whole)

    @override
    def setText(self, text: str) -> None:
        self.show_text(text.replace("&&", "&"))

    @property
    def width_in_one_line(self) -> int:
        return self.fontMetrics().horizontalAdvance(self._whole) + self._padding_px

    def wrap(self, width_px: int) -> None:
        """Break the text into lines for this width of the button."""
        text = as_label("\n".join(self._lines(width_px)))
        if text != self.text():
            super().setText(text)

    @override
    def sizeHint(self) -> QSize:
        # So that it becomes one line again where there is room.
        return QSize(self.width_in_one_line, super().sizeHint().height())

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._padding_px + scaled(_MIN_TEXT_PX), super().sizeHint().height())

    @override
    def heightForWidth(self, width: int, /) -> int:
        more = len(self._lines(width)) - 1 - self.text().count("\n")
        return super().sizeHint().height() + more * self.fontMetrics().lineSpacing()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.wrap(event.size().width())

    @property
    def _padding_px(self) -> int:
        """The width of the button without its text."""
        text = self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, self.text())
        return super().sizeHint().width() - text.width()

    def _lines(self, width_px: int) -> list[str]:
        """Return the lines of the text in a button of this width."""
        self.ensurePolished()
        room = width_px - self._padding_px
        if not 0 < room < self.fontMetrics().horizontalAdvance(self._whole):
            return [self._whole]
        layout = QTextLayout(self._whole, self.font())
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        lines: list[str] = []
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            line.setLineWidth(room)
            lines.append(self._whole[line.textStart() : line.textStart() + line.textLength()].strip())
        layout.endLayout()
        return lines


class WrappingButton(_Wraps, QPushButton):
    """A push button. It breaks its text into lines."""


class LinesButton(WrappingButton):
    """A push button whose text is broken only by `wrap`, which its owner calls. It is as large as its lines."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)

    @override
    def sizeHint(self) -> QSize:
        return QPushButton.sizeHint(self)

    @override
    def minimumSizeHint(self) -> QSize:
        return QPushButton.minimumSizeHint(self)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        QPushButton.resizeEvent(self, event)


class WrappingCheckBox(_Wraps, QCheckBox):
    """A check box. It breaks its text into lines."""


class WrappingRadioButton(_Wraps, QRadioButton):
    """A radio button that breaks its text into lines."""


class WrappingToolButton(_Wraps, QToolButton):
    """A button with an icon. It breaks its text into lines."""


class NameBox(QComboBox):
    """A list of names that opens. A name that does not fit ends in an ellipsis; its tool tip and the list show it all.

    The width does not depend on the names.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(_MIN_NAME_CHARS)

    @override
    def initStyleOption(self, option: QStyleOptionComboBox, /) -> None:
        super().initStyleOption(option)
        field = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self).width() - _SPARE_PX
        shown = self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room)
        option.currentText = shown  # pyright: ignore[reportAttributeAccessIssue]

    @override
    def event(self, event: QEvent, /) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            lines = [line for line in (self.currentText(), self.toolTip()) if line]
            QToolTip.showText(event.globalPos(), as_tool_tip("\n\n".join(lines)), self)
            return True
        return super().event(event)

    @override
    def showPopup(self) -> None:
        view, screen = self.view(), self.screen().availableGeometry()
        wanted = view.sizeHintForColumn(0) + 2 * view.frameWidth() + view.verticalScrollBar().sizeHint().width()
        view.setMinimumWidth(min(max(wanted, self.width()), screen.width()))
        super().showPopup()
        frame = view.window()
        frame.move(max(min(frame.x(), screen.right() + 1 - frame.width()), screen.left()), frame.y())


class FoldButton(QToolButton):
    """A checkable button with an arrow, checked while the part below it is open.

    Click, Space and Enter toggle it.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setObjectName("action")
        self.setCheckable(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toggled.connect(self._draw_arrow)
        self._draw_arrow()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._draw_arrow()

    def _draw_arrow(self) -> None:
        self.setIcon(icon("down" if self.isChecked() else "right", self._theme.quiet_text))

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER:
            self.click()
        else:
            super().keyPressEvent(event)


class _WrappingFoldButton(_Wraps, FoldButton):
    pass


class FoldedPart(QWidget):
    """A part that a button above it opens. Callers fill `column`."""

    def __init__(self, title: str, theme: Theme) -> None:
        super().__init__()
        self.button = _WrappingFoldButton(title, theme)
        self._body = QWidget()
        self._body.setVisible(False)
        self.column = QVBoxLayout(self._body)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(8)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(4)
        whole.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        whole.addWidget(self._body)
        self.button.toggled.connect(self._body.setVisible)

    def open(self) -> None:
        self.button.setChecked(True)


class EnterKey(QObject):
    """Lets Enter press the focused button in a window that is not a dialog, where Qt only lets Space do that."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in _ENTER:
            focus = watched.focusWidget() if isinstance(watched, QWidget) else None
            if isinstance(focus, QAbstractButton):
                focus.click()
                return True
        return super().eventFilter(watched, event)


def give_menu(button: QToolButton, menu: QMenu) -> None:
    """Let a press of the button open a menu. With Qt's own mode for that, screen readers could not open it."""
    button.setMenu(menu)
    button.pressed.connect(button.showMenu)


def claim_escape(event: QEvent) -> bool:
    """Accept Esc as a key of the widget that gets this event: for the window it is the shortcut that stops an answer.

    Return whether it was Esc that may be a shortcut.
    """
    is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
    if is_escape and event.type() == QEvent.Type.ShortcutOverride:
        event.accept()
        return True
    return False
