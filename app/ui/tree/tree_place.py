"""Where the tree is: beside the page, over it in a narrow window, or away; it knows no conversation."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget
from typing_extensions import override


class TreePlace(QObject):
    """Puts a dock into a row of parts, or over them."""

    changed = Signal(bool)
    """The dock is shown, or it is not."""

    def __init__(
        self, make_dock: Callable[[], object], row: QHBoxLayout, whole: QWidget, give_focus: Callable[[], None]
    ) -> None:
        """`make_dock` is called when the dock is first to be shown, and gives one to `take`.

        `row` is the layout of `whole`; `give_focus` is called where the dock had the focus and goes away.
        """
        super().__init__(whole)
        self._dock: QWidget | None = None
        self._make_dock = make_dock
        self._row = row
        self._whole = whole
        self._give_focus = give_focus
        self._is_narrow = False
        self._is_wanted = False
        """Whether it is to be there where there is room."""
        whole.installEventFilter(self)

    def take(self, dock: QWidget) -> None:
        """Take a dock, away yet."""
        self._dock = dock
        dock.setParent(self._whole)
        dock.hide()
        if not self._is_narrow:
            self._row.addWidget(dock)

    @property
    def is_shown(self) -> bool:
        return self._dock is not None and not self._dock.isHidden()

    @property
    def is_over(self) -> bool:
        """Whether it covers something, so that it had better go when it has been used."""
        return self._is_narrow and self.is_shown

    def want(self, wanted: bool) -> None:
        """Show it, or put it away."""
        self._is_wanted = wanted
        self._show(wanted and not self._is_narrow)

    def toggle(self) -> bool:
        """Show what is away, put away what is shown; return whether it is now to be there where there is room."""
        shown = not self.is_shown
        if not self._is_narrow:
            self._is_wanted = shown
        self._show(shown)
        return self._is_wanted

    def leave(self) -> None:
        """Somebody has done with it for now: give the focus back, and go away from over the page."""
        if self.is_over:
            self._show(False)
        else:
            self._give_focus()

    def set_narrow(self, is_narrow: bool) -> None:
        """Say whether there is room beside the page: where there is none it folds away, and is called over it."""
        if is_narrow == self._is_narrow:
            return
        self._show(False)
        self._is_narrow = is_narrow
        if self._dock is not None and is_narrow:
            self._row.removeWidget(self._dock)
        elif self._dock is not None:
            self._row.addWidget(self._dock)
        self._show(self._is_wanted and not is_narrow)

    def _show(self, shown: bool) -> None:
        if shown == self.is_shown:
            return
        if self._dock is None:
            self._make_dock()
        dock = self._dock
        assert dock is not None
        focus = dock.window().focusWidget()
        had_focus = focus is not None and (focus is dock or dock.isAncestorOf(focus))
        self._lie_over()
        dock.setVisible(shown)
        if shown:
            dock.raise_()
        elif had_focus:
            self._give_focus()
        self.changed.emit(shown)

    def _lie_over(self) -> None:
        if self._dock is not None and self._is_narrow:
            left = self._whole.width() - self._dock.width()
            self._dock.setGeometry(left, 0, self._dock.width(), self._whole.height())

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._whole and event.type() == QEvent.Type.Resize:
            self._lie_over()
        return super().eventFilter(watched, event)
