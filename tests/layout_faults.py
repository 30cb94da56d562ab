"""Walks the window and Settings at two sizes and tells what is cut off: `python -m tests.layout_faults LANGUAGE`.

Run it with QT_SCALE_FACTOR=2 for a screen of twice as many points. A line for each fault on standard output.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QAbstractButton, QDialog, QLabel, QWidget

from app.application import Application, Places, make_qt_application
from app.model.settings import Settings, save_settings
from app.model.store import Store
from app.ui.elided_label import ElidedLabel

_SIZES = ((1280, 800), (820, 640))


def main() -> int:
    _ = make_qt_application([])
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        save_settings(data / "settings.json", Settings(language=sys.argv[1], tree_visible=True))
        conversation_id = _fill(data / "conversations.sqlite3")
        application = Application(Places.under(data))
        window = application.window
        window.show()
        application.controller.open_conversation(conversation_id)
        for width, height in _SIZES:
            window.resize(width, height)
            _settle()
            _tell(f"window {width}", window)
        window.action("settings").trigger()
        settings = window.findChild(QDialog, "settings")
        assert settings is not None
        for row in range(settings.list.count()):  # pyright: ignore[reportAttributeAccessIssue]
            settings.list.setCurrentRow(row)  # pyright: ignore[reportAttributeAccessIssue]
            _settle()
            _tell(f"settings {row}", settings)
        window.close()
        application.close()
    return 0


def _fill(file: Path) -> int:
    store = Store(file)
    conversation, question = store.create_conversation("How branches work", "Be brief.", "What is a branch?")
    for number in range(2):
        store.add(conversation.id, question.id, "assistant", f"Answer {number} with `code`.\n\n```python\nx = 1\n```")
    store.create_conversation("A conversation with quite a long name that must be cut somewhere", "", "Hello")
    store.close()
    return conversation.id


def _tell(where: str, root: QWidget) -> None:
    for fault in _faults(root):
        print(f"{where}: {fault}")


def _faults(root: QWidget) -> Iterator[str]:
    for widget in root.findChildren(QWidget):
        if (
            not widget.isVisible()
            or not isinstance(widget, QLabel | QAbstractButton)
            or isinstance(widget, ElidedLabel)
        ):
            continue
        text = widget.text().replace("&&", "&")
        if isinstance(widget, QLabel) and widget.wordWrap():
            if widget.height() < widget.heightForWidth(widget.width()) - 1:
                yield f"{text!r} needs {widget.heightForWidth(widget.width())} px of height and has {widget.height()}"
        elif text and widget.width() < widget.fontMetrics().horizontalAdvance(text) - 1:
            yield f"{text!r} needs {widget.fontMetrics().horizontalAdvance(text)} px and has {widget.width()}"
        parent = widget.parentWidget()
        if parent is not None and parent.layout() is not None:
            for other in parent.findChildren(QWidget):
                is_beside = other.parentWidget() is parent and other is not widget and other.isVisible()
                if (
                    is_beside
                    and isinstance(other, QLabel | QAbstractButton)
                    and other.geometry().intersects(widget.geometry())
                ):
                    yield f"{text!r} overlaps {other.text()!r}"


def _settle() -> None:
    loop = QEventLoop()
    QTimer.singleShot(200, loop.quit)
    loop.exec()


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    sys.exit(main())
