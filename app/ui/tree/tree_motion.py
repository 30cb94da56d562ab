"""A tree on its way from where it stood before; it is there at once where less motion is asked for."""

from __future__ import annotations

from PySide6.QtCore import QVariantAnimation, Signal
from PySide6.QtWidgets import QWidget

from app.model.tree_layout import TreeLayout
from app.ui.parts.motion import is_animated
from app.ui.tree.tree_places import TreePlaces

_CHANGE_MS = 120


class TreeMotion(QVariantAnimation):
    """Tells the picture how far they are."""

    moved = Signal()

    def __init__(self, picture: TreePlaces, canvas: QWidget) -> None:
        super().__init__(canvas)
        self._picture = picture
        self._canvas = canvas
        self.setStartValue(0.0)
        self.setEndValue(1.0)
        self.setDuration(_CHANGE_MS)
        self.valueChanged.connect(self._on_value)

    def begin(self, before: TreeLayout) -> None:
        """Let what stood elsewhere go to where it stands now."""
        if self._canvas.isVisible() and is_animated(self._canvas):
            self._picture.lanes_before = {spot.id: spot.lane for row in before.rows for spot in row}
            self._picture.progress = 0.0
            self.start()

    def _on_value(self, progress: float) -> None:
        self._picture.progress = progress
        if progress >= 1:
            self._picture.lanes_before = {}
        self.moved.emit()
