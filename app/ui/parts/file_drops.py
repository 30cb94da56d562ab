"""Files that are dragged onto a widget."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override


class FileDrops(QObject):
    """Lets the user drop files on a widget. The widget handles drags without files itself."""

    entered = Signal(object)
    """Files are dragged over the widget: a list of paths."""
    dropped = Signal(object)

    def __init__(self, target: QWidget) -> None:
        super().__init__(target)
        target.setAcceptDrops(True)
        target.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent) and event.type() == QEvent.Type.DragEnter:
            signal = self.entered
        elif isinstance(event, QDropEvent) and event.type() == QEvent.Type.Drop:
            signal = self.dropped
        else:
            return False
        files = files_in(event.mimeData())
        if files:
            # Files are read where they are. If a move were accepted, their owner could remove them.
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            signal.emit(files)
        return bool(files)


def files_in(dragged: QMimeData) -> list[Path]:
    """Return the local files of a drag or of the clipboard."""
    return [Path(url.toLocalFile()) for url in dragged.urls() if url.isLocalFile()]
