"""A page that covers the window while files are dragged over it, and says what a drop does with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QColor, QDragLeaveEvent, QDragMoveEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from app.model.imports import SUFFIXES
from app.ui.parts.file_drops import FileDrops
from app.ui.parts.labels import BreakingLabel
from app.ui.theme import Theme, icon, scaled

_MARGIN_PX = 24
_WIDTH_PX = 420
_SHADE = QColor(0, 0, 0, 80)
_ICON_PX = 32


class DropPage(QWidget):
    """Covers its parent while files are dragged over it, except the widget `excluded`, which accepts files itself."""

    dropped = Signal(object)
    """The paths of the files that can be imported."""
    attached = Signal(object)
    """The paths of files that are neither models nor conversations. They go with the next message."""
    models_dropped = Signal(object)
    """The paths of GGUF files and model folders."""

    def __init__(self, theme: Theme, parent: QWidget, excluded: QWidget | None = None) -> None:
        super().__init__(parent)
        self._excluded = excluded
        self._icon = QLabel()
        self._icon.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.headline = _label("heading")
        self.details = _label("quiet")
        self._card = QFrame(self)
        self._card.setObjectName("drop")
        column = QVBoxLayout(self._card)
        column.setContentsMargins(24, 20, 24, 20)
        column.setSpacing(8)
        for part in (self._icon, self.headline, self.details):
            column.addWidget(part)
        over_window = FileDrops(parent)
        over_window.entered.connect(self._open)
        # A drop may come before the page takes over the drag.
        over_window.dropped.connect(self.take)
        FileDrops(self).dropped.connect(self.take)
        self.setVisible(False)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self._icon.setPixmap(icon("import", theme.accent).pixmap(scaled(_ICON_PX), scaled(_ICON_PX)))

    # --- over the window ---------------------------------------------------------------------------------

    @override
    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.acceptProposedAction()

    @override
    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.setVisible(False)

    def take(self, files: Sequence[Path]) -> None:
        """Handle these files like dropped ones: open models, else import conversations, else attach the files."""
        self.setVisible(False)
        models, importable, _ = by_kind(files)
        if models:
            self.models_dropped.emit(models)
        elif importable:
            self.dropped.emit(importable)
        elif files:
            self.attached.emit(files)

    # --- content -------------------------------------------------------------------------------------------

    def _open(self, files: Sequence[Path]) -> None:
        models, importable, others = by_kind(files)
        if models:
            self.headline.setText(self.tr("Drop to open %n model(s)", "", len(models)))
            details = [_names(models)]
            if importable or others:
                details.append(self.tr("Not imported: {names}").format(names=_names([*importable, *others])))
            self.details.setText("\n".join(details))
        elif importable:
            self.headline.setText(self.tr("Drop to import %n file(s)", "", len(importable)))
            details = [
                self.tr("You see the contents first. Nothing is imported until you confirm."),
                self.tr("To attach them to a message, drop them on the message field."),
            ]
            if others:
                details.append(self.tr("Not imported: {names}").format(names=_names(others)))
            self.details.setText("\n".join(details))
        else:
            self.headline.setText(self.tr("Drop to attach %n file(s)", "", len(files)))
            self.details.setText(self.tr("With your next message: {names}").format(names=_names(files)))
        self._cover()
        self.setVisible(True)
        self.raise_()

    def _cover(self) -> None:
        window = self.parentWidget()
        if window is None:
            return
        room = window.rect()
        if self._excluded is not None and self._excluded.isVisible():
            room = QRect(room.topLeft(), QPoint(room.right(), self._excluded.mapTo(window, QPoint(0, 0)).y()))
        self.setGeometry(room)
        width = min(scaled(_WIDTH_PX), room.width() - 2 * _MARGIN_PX)
        for part in (self._card, self.headline, self.details):
            part.ensurePolished()
        layout = self._card.layout()
        wanted = 0 if layout is None else layout.totalHeightForWidth(width)
        height = min(wanted, room.height() - 2 * _MARGIN_PX)
        self._card.setGeometry((room.width() - width) // 2, (room.height() - height) // 2, width, height)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), _SHADE)


def by_kind(files: Sequence[Path]) -> tuple[list[Path], list[Path], list[Path]]:
    """Return the models, the files that may hold conversations, and all others."""
    models = [file for file in files if is_model(file)]
    importable = [file for file in files if can_be_imported(file)]
    return models, importable, [file for file in files if file not in {*models, *importable}]


def can_be_imported(file: Path) -> bool:
    """Whether Bough may be able to import a file, judged by its name."""
    return not is_model(file) and (file.is_dir() or file.suffix.lower() in SUFFIXES)


def is_model(file: Path) -> bool:
    """Whether a file or folder is a model, judged by names."""
    if file.suffix.lower() == ".gguf":
        return True
    return (file / "config.json").is_file() and any(file.glob("model*.safetensors"))


def _names(files: Sequence[Path]) -> str:
    shown = ", ".join(file.name for file in files[:3])
    return f"{shown}, …" if len(files) > 3 else shown


def _label(name: str) -> BreakingLabel:
    label = BreakingLabel()
    label.setObjectName(name)
    label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    return label
