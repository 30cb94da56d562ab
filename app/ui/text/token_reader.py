"""The tokens mode of a message's text: a popover at the token under the mouse, or at the token chosen by keys."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QTextEdit
from typing_extensions import override

from app.model.token_pieces import TokenPiece
from app.ui.text.token_popover import TokenPopover
from app.ui.text.token_tint import TokenTint
from app.ui.theme import Theme

_HOVER_MS = 250
_LEAVE_MS = 400
"""The time that the user has to move the mouse from a token into its popover."""


class TokenReader(QObject):
    """The tokens mode of a text widget, as its event filter: tints, details under the mouse, forks by click or key."""

    chosen = Signal(int, int)
    """A token's index, and the id of the alternative that the user chose for it."""

    def __init__(self, text: QTextEdit, theme: Theme) -> None:
        super().__init__(text)
        self._text = text
        self._theme = theme
        self._content = ""
        self._can_fork = True
        self._tint: TokenTint | None = None
        self._current: int | None = None
        self._hovered: int | None = None
        self._popover: TokenPopover | None = None
        self._hover = QTimer(self, singleShot=True, interval=_HOVER_MS)
        self._hover.timeout.connect(self._show_hovered)
        self._leave = QTimer(self, singleShot=True, interval=_LEAVE_MS)
        self._leave.timeout.connect(self._leave_if_outside)
        for watched in (text, text.viewport()):
            watched.installEventFilter(self)

    @property
    def current(self) -> int | None:
        """The index of the token that the popover shows; None while it is closed."""
        return self._current

    @property
    def popover(self) -> TokenPopover | None:
        return self._popover

    @property
    def pieces(self) -> Sequence[TokenPiece]:
        return self._tint.pieces if self._tint is not None else ()

    def show(self, content: str, pieces: Sequence[TokenPiece], *, can_fork: bool) -> None:
        """Mark the tokens of a text that is shown as plain text."""
        before = None if self._current is None else self.pieces[self._current]
        is_same_text = content.startswith(self._content)
        self._content = content
        self._can_fork = can_fork
        self._tint = TokenTint(self._text.document(), content, pieces)
        index = next((at for at, piece in enumerate(self.pieces) if _is_same(piece, before)), None)
        if is_same_text and index is not None:
            # The answer has ended while the popover was open.
            self._show(index)
        else:
            self.close()

    def grow(self, content: str, pieces: Sequence[TokenPiece]) -> None:
        """Mark the tokens that were added at the end of `pieces`; `content` is the whole text."""
        self._content = content
        if self._tint is not None:
            self._tint.grow(content, pieces)
            self._text.viewport().update()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._popover is not None:
            self._popover.deleteLater()
            self._popover = None

    def paint(self, painter: QPainter, visible: QRect) -> None:
        if self._tint is not None:
            self._tint.paint(painter, visible, self._theme, self._current)

    def close(self) -> None:
        """Close the popover."""
        self._current = self._hovered = None
        self._hover.stop()
        if self._popover is not None:
            self._popover.hide()
        self._text.viewport().update()

    def end(self) -> None:
        """Leave the tokens mode."""
        self.close()
        for watched in (self._text, self._text.viewport()):
            watched.removeEventFilter(self)
        self.deleteLater()

    # --- keys and pointer ----------------------------------------------------------------------------------

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.ShortcutOverride if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
                # With an open popover, Esc closes it and does not stop the answer.
                is_open = self._current is not None
                event.setAccepted(is_open)
                return is_open
            case QEvent.Type.KeyPress if isinstance(event, QKeyEvent) and watched is self._text:
                return self._handle_key(event)
            case QEvent.Type.FocusOut if watched is self._text:
                self.close()
            case QEvent.Type.MouseMove if isinstance(event, QMouseEvent) and watched is not self._text:
                self.hover(event.position().toPoint())
            case QEvent.Type.Leave:
                self._on_left()
            case _:
                pass
        return super().eventFilter(watched, event)

    def _handle_key(self, event: QKeyEvent) -> bool:
        """Handle a key and return whether it was one of these.

        Left and Right go to another token, Up and Down mark an alternative, Enter chooses it, Esc closes the popover.
        """
        if self._tint is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        key = event.key()
        if key in {Qt.Key.Key_Left, Qt.Key.Key_Right}:
            self._step(1 if key == Qt.Key.Key_Right else -1)
            return True
        if self._current is None or self._popover is None:
            return False
        if key in {Qt.Key.Key_Up, Qt.Key.Key_Down}:
            self._popover.step(1 if key == Qt.Key.Key_Down else -1)
            self._announce(self._popover.description)
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            if self._popover.marked_id is not None:
                self._choose(self._popover.marked_id)
        elif key == Qt.Key.Key_Escape:
            self.close()
        else:
            return False
        return True

    def hover(self, point: QPoint) -> None:
        """Open or close the popover for the mouse at a point of the viewport."""
        index = None
        if self._tint is not None:
            position = self._text.cursorForPosition(point).position()
            near = (self._tint.index_at(position), self._tint.index_at(position - 1))
            index = next((n for n in near if n is not None and self._tint.rect(n).contains(point)), None)
        if index != self._hovered:
            self._hovered = index
            self._hover.start()
        if index is None and self._current is not None:
            self._leave.start()

    def _on_left(self) -> None:
        self._hovered = None
        self._hover.stop()
        if self._current is not None:
            self._leave.start()

    def _show_hovered(self) -> None:
        if self._hovered is not None:
            self._show(self._hovered)

    def _leave_if_outside(self) -> None:
        if self._hovered is None and self._popover is not None and not self._popover.underMouse():
            self.close()

    def _step(self, step: int) -> None:
        if not self.pieces or self._tint is None:
            return
        if self._current is None:
            before = self._text.textCursor().position()
            index = self._tint.index_at(before)
            index = index if index is not None else (0 if step > 0 else len(self.pieces) - 1)
        else:
            index = min(max(self._current + step, 0), len(self.pieces) - 1)
        self._show(index)
        self._announce(self._popover.description if self._popover is not None else "")

    def _show(self, index: int) -> None:
        if self._tint is None or index >= len(self.pieces):
            return
        if self._popover is None:
            self._popover = TokenPopover(self._theme, self._text)
            self._popover.chosen.connect(self._choose)
        self._current = index
        piece = self.pieces[index]
        point = self._tint.rect(index).bottomLeft().toPoint() + QPoint(0, 4)
        self._popover.show_token(
            piece,
            self._content[piece.start : piece.end],
            self._text.viewport().mapToGlobal(point),
            can_fork=self._can_fork,
        )
        self._text.viewport().update()

    def _choose(self, token_id: int) -> None:
        if self._current is not None and self._can_fork:
            index = self._current
            self.close()
            self.chosen.emit(index, token_id)

    def _announce(self, text: str) -> None:
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._text, text))


def _is_same(piece: TokenPiece, other: TokenPiece | None) -> bool:
    """Return whether two tokens are the same at the same position; their indexes may differ."""
    return other is not None and (piece.id, piece.start, piece.end) == (other.id, other.start, other.end)
