"""Buttons: whose text fits their width, with several lines, to fold a part of a page; and the keys Enter and Esc."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QFont, QKeyEvent, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QAbstractButton, QMenu, QPushButton, QSizePolicy, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.parts.labels import as_label, beginning
from app.ui.theme import Theme, icon, scaled

_MIN_TEXT_PX = 40
_SPARE_PX = 2
"""Pixels for rounding errors: the widths of parts do not add up exactly to the width of the whole text."""
_ENTER = {Qt.Key.Key_Return, Qt.Key.Key_Enter}


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
        """Be only as wide as the longest text that fits into this room, so that what is beside it gets the rest."""
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
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            self._update_size()


class WrappingButton(QPushButton):
    """Breaks its text into lines where there is no room for it in one."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._whole = ""
        self.show_text(text)

    def show_text(self, text: str) -> None:
        """Show a text, or the beginning of a very long one, in one line until the next `wrap`."""
        self._whole = beginning(text)
        self.setText(as_label(self._whole))
        self.setAccessibleName(self._whole)

    @property
    def width_in_one_line(self) -> int:
        return self.fontMetrics().horizontalAdvance(self._whole) + self._padding_px

    def wrap(self, width_px: int) -> None:
        """Break the text into lines for this width of the button."""
        self.ensurePolished()
        room = width_px - self._padding_px
        self.setText(as_label(self._whole))
        if self.fontMetrics().horizontalAdvance(self._whole) > room > 0:
            self.setText(as_label("\n".join(_lines(self._whole, self.font(), room))))

    @property
    def _padding_px(self) -> int:
        text = self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, self.text())
        return self.sizeHint().width() - text.width()


def _lines(text: str, font: QFont, room: int) -> list[str]:
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    lines: list[str] = []
    layout.beginLayout()
    while (line := layout.createLine()).isValid():
        line.setLineWidth(room)
        lines.append(text[line.textStart() : line.textStart() + line.textLength()].strip())
    layout.endLayout()
    return lines


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


class FoldedPart(QWidget):
    """A part that a button above it opens. Callers fill `column`."""

    def __init__(self, title: str, theme: Theme) -> None:
        super().__init__()
        self.button = FoldButton(theme)
        self.button.setText(title)
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
