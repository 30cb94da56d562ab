"""A button with shorter texts for less room, and the Enter key for buttons outside dialogs."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QToolButton, QWidget
from typing_extensions import override

from app.ui.parts.labels import as_label
from app.ui.theme import scaled

_LEAST_WORDS_PX = 40
_SPARE_PX = 2
"""Widths of parts, each of them rounded, are not that of the whole."""
_ENTER = {Qt.Key.Key_Return, Qt.Key.Key_Enter}


class FittingButton(QToolButton):
    """Makes do with less room than its first wording needs; what it shows never changes what it asks for."""

    def __init__(self, *, is_modest: bool = False) -> None:
        """`is_modest`: it asks for room for its last wording alone, and takes more where a layout has it to spare."""
        super().__init__()
        self._is_modest = is_modest
        self._wordings: tuple[str, ...] = ("",)
        self._ending = ""
        policy = QSizePolicy.Policy
        self.setSizePolicy(policy.Preferred if is_modest else policy.Maximum, policy.Fixed)

    def show_words(self, *wordings: str, ending: str = "") -> None:
        """Show the first of these that fits, each shorter than the one before; of the last as much as fits."""
        if (wordings, ending) != (self._wordings, self._ending):
            self._wordings, self._ending = wordings, ending
            self._get_room()

    def _get_room(self) -> None:
        if self._is_modest:
            self.setMaximumWidth(self._size_for(self._wordings[0]).width())
        self.updateGeometry()
        parent = self.parentWidget()
        layout = None if parent is None else parent.layout()
        if layout is not None:
            # At once: what is said now is to be there when it is looked at.
            layout.activate()
        self._fit()

    def _fit(self) -> None:
        metrics = self.fontMetrics()
        room = self.width() - self._around - metrics.horizontalAdvance(self._ending)
        fitting = (words for words in self._wordings if metrics.horizontalAdvance(words) <= room)
        elided = metrics.elidedText(self._wordings[-1], Qt.TextElideMode.ElideRight, max(room, 0))
        self.setText(as_label(next(fitting, elided) + self._ending))

    @property
    def _around(self) -> int:
        """How much wider a button is than its words."""
        # Measured as Qt measures them: not a point may depend on what is shown.
        words = self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, self.text())
        return super().sizeHint().width() - words.width()

    def _size_for(self, words: str, most_px: int | None = None) -> QSize:
        metrics = self.fontMetrics()
        words_px = metrics.horizontalAdvance(words)
        words_px = words_px if most_px is None else min(words_px, most_px)
        width = self._around + words_px + metrics.horizontalAdvance(self._ending) + _SPARE_PX
        return QSize(width, super().sizeHint().height())

    @override
    def sizeHint(self) -> QSize:
        return self._size_for(self._wordings[-1 if self._is_modest else 0])

    @override
    def minimumSizeHint(self) -> QSize:
        return self._size_for(self._wordings[-1], scaled(_LEAST_WORDS_PX))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.StyleChange}:
            self._get_room()


class EnterKey(QObject):
    """Lets Enter press the focused button of a window, as in a dialog. Qt alone only presses it with Space."""

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
