"""Walks through all scenes and reports what is cut off, overlaps or is untranslated.

`python -m tests.layout_faults LANGUAGE PERCENT`, where PERCENT is the text size, prints one line for each fault. Use
QT_SCALE_FACTOR=2 for a screen with twice the resolution.
"""

from __future__ import annotations

import os
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from PySide6.QtCore import QMargins, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QToolButton,
    QWidget,
)

from app.application import make_qt_application
from app.tour.screen import OFFSCREEN, offscreen_of
from app.ui.parts.labels import ElidedLabel
from tests.driver import ROOT
from tests.scenes.playbill import EMPTY, SCENES
from tests.scenes.stage import Stage

_SIZES = ((1280, 800), (820, 640), (360, 700), (640, 420))
"""The last one is a screen of 1280 × 800 at 200 %, without its edges."""
_SETTLED_MS = 40
_FEW_PX = 4
"""An icon may lose this much of the space around it."""
_NUM_LOOKS = 12
"""A fault is checked this many times before it is reported."""


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.environ["QT_QPA_PLATFORM"] == OFFSCREEN:
            os.environ["QT_QPA_PLATFORM"] = offscreen_of(folder, 3200, 2000)
        qt_application = make_qt_application([])
        sizes = _SIZES[:3] if qt_application.devicePixelRatio() < 2 else _SIZES[2:]
        for scenes, trees in ((EMPTY, None), (SCENES, (3, 300))):
            stage = Stage(
                folder / str(len(scenes)),
                language=sys.argv[1],
                text_percent=int(sys.argv[2]),
                tree_sizes=trees,
                settled_ms=_SETTLED_MS,
            )
            _play(stage, scenes, sizes, _english(sys.argv[1]))
            stage.close()
    return 0


def _english(language: str) -> frozenset[str]:
    """Texts shown in English though the window speaks another language; empty if it speaks English."""
    if language == "en":
        return frozenset()
    messages = ET.parse(ROOT / "resources" / "translations" / f"bough_{language}.ts").getroot().iter("message")  # noqa: S314
    pairs = [(message.findtext("source", ""), message.findtext("translation", "")) for message in messages]
    said = {translation for _, translation in pairs}
    return frozenset(source for source, _ in pairs if source not in said and " " in source)


def _play(
    stage: Stage,
    scenes: Mapping[str, Callable[[Stage], QWidget]],
    sizes: Sequence[tuple[int, int]],
    english: frozenset[str],
) -> None:
    for name, scene in scenes.items():
        shown = scene(stage)
        for width, height in sizes:
            stage.window.resize(width, height)
            stage.settle()
            for fault in _lasting_faults(stage, shown, english):
                print(f"{name}, {width}: {fault}")
            if shown is not stage.window:
                # It has a size of its own.
                break
        stage.clear()


def _lasting_faults(stage: Stage, shown: QWidget, english: frozenset[str]) -> list[str]:
    """Return the faults that remain once everything has found its position."""
    faults: list[str] = []
    for _ in range(_NUM_LOOKS):
        popup = QApplication.activePopupWidget()
        windows = (shown,) if popup is None else (shown, popup)
        faults = [fault for window in windows for fault in _faults(window, english)]
        if not faults:
            break
        stage.settle()
    return faults


def _faults(root: QWidget, english: frozenset[str]) -> Iterator[str]:
    for widget in root.findChildren(QWidget):
        if widget.isVisible() and not isinstance(widget, ElidedLabel):
            yield from _cut_off(widget)
            yield from _hidden_sideways(widget)
            yield from _overlaps(widget)
            for text in english & {_text_of(widget), widget.toolTip(), widget.accessibleName()}:
                yield f"{text!r} is English"


def _cut_off(widget: QWidget) -> Iterator[str]:
    text, width = _text_of(widget), widget.width()
    if isinstance(widget, QLabel) and widget.wordWrap():
        needed = widget.heightForWidth(width)
        if widget.height() < needed - 1:
            yield f"{text!r} needs {needed} px of height and has {widget.height()}"
        # Without the breaks that `BreakingLabel` hides.
        shown, room = QLabel.text(widget), widget.contentsRect().width()
        lines_px = widget.fontMetrics().boundingRect(0, 0, room, 9999, Qt.TextFlag.TextWordWrap, shown).width()
        if lines_px > room + 1:
            yield f"{text!r} has a word of {lines_px} px and {room} px of room"
    elif _is_icon(widget) and not widget.icon().isNull() and widget.width() < widget.sizeHint().width() - _FEW_PX:
        yield f"the icon of {widget.accessibleName()!r} is squeezed into {widget.width()} px"
    elif text and width < _width_of(widget, text) - 1:
        yield f"{text!r} needs {_width_of(widget, text)} px and has {width}"
    parent = widget.parentWidget()
    if text and parent is not None and not widget.isWindow() and not isinstance(parent.parentWidget(), QScrollArea):
        seen = widget.geometry().intersected(parent.rect())
        if seen.size() != widget.size():
            yield f"{text!r} is cut off by what it lies in"


def _is_icon(widget: QWidget) -> TypeGuard[QToolButton]:
    return isinstance(widget, QToolButton) and widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly


def _hidden_sideways(widget: QWidget) -> Iterator[str]:
    """Return pages that are wider than their view."""
    if isinstance(widget, QScrollArea):
        page, room = widget.widget(), widget.viewport().width()
        if page is not None and page.width() > room:
            yield f"the page in {widget.accessibleName() or widget.objectName()!r} has {page.width()} px, {room} show"


def _width_of(widget: QWidget, text: str) -> int:
    """Return the width that a widget needs to show its whole text, including its margins."""
    if isinstance(widget, QPushButton | QRadioButton | QCheckBox):
        return widget.sizeHint().width()
    margins = widget.textMargins() if isinstance(widget, QLineEdit) else QMargins()
    return widget.fontMetrics().horizontalAdvance(text) + margins.left() + margins.right()


def _overlaps(widget: QWidget) -> Iterator[str]:
    parent = widget.parentWidget()
    if not isinstance(widget, QLabel | QAbstractButton) or parent is None or parent.layout() is None:
        return
    for other in parent.findChildren(QWidget):
        is_beside = other.parentWidget() is parent and other is not widget and other.isVisible()
        if is_beside and isinstance(other, QLabel | QAbstractButton) and other.geometry().intersects(widget.geometry()):
            yield f"{_text_of(widget)!r} overlaps {_text_of(other)!r}"


def _text_of(widget: QWidget) -> str:
    if _is_icon(widget):
        return ""
    if isinstance(widget, QLabel | QAbstractButton):
        return widget.text().replace("&&", "&")
    if isinstance(widget, QLineEdit):
        # Text may be longer than its field, but a number may not.
        is_number = isinstance(widget.parentWidget(), QAbstractSpinBox)
        return widget.text() if is_number else ("" if widget.text() else widget.placeholderText())
    return ""


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", OFFSCREEN)
    sys.exit(main())
