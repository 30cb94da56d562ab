"""Walks through all scenes and reports what is cut off, overlaps, is untranslated or lies outside the screen.

`python -m tests.layout_faults LANGUAGE PERCENT [WIDTHxHEIGHT …]`, where PERCENT is the text size, prints one line for
each fault. Each size is a screen of its own, which the main window fills. Use QT_SCALE_FACTOR=2 for a screen with twice
the resolution.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeGuard

from PySide6.QtCore import QMargins, QRect, QSize, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QStyle,
    QStyleOptionComboBox,
    QToolButton,
    QWidget,
)

from app.application import make_qt_application
from app.tour.screen import OFFSCREEN, no_window_manager_warnings, offscreen_of
from app.ui.parts.buttons import NameBox
from app.ui.parts.labels import ElidedLabel
from tests.driver import ROOT
from tests.scenes.playbill import EMPTY, SCENES
from tests.scenes.stage import Stage

_SIZES = ("1280x800", "820x640", "360x700", "640x420")
"""The last one is a screen of 1280 × 800 at 200 %, without its edges."""
_SETTLED_MS = 40
_FEW_PX = 4
"""An icon may lose this much of the space around it."""
_NUM_LOOKS = 12
"""A fault is checked this many times before it is reported."""


def main() -> int:
    language, percent, *sizes = sys.argv[1:]
    if len(sizes) != 1:
        # Qt reads the size of an offscreen display once.
        is_dense = float(os.environ.get("QT_SCALE_FACTOR", "1")) >= 2
        for size in sizes or (_SIZES[2:] if is_dense else _SIZES[:3]):
            subprocess.run([sys.executable, "-m", "tests.layout_faults", language, percent, size], check=True)
        return 0
    width, height = map(int, sizes[0].split("x"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scale = int(os.environ.get("QT_SCALE_FACTOR", "1"))
        os.environ["QT_QPA_PLATFORM"] = offscreen_of(folder, width * scale, height * scale)
        _qt_application = make_qt_application([])
        with no_window_manager_warnings():
            _look(folder, language, int(percent), QSize(width, height))
    return 0


def _look(folder: Path, language: str, percent: int, size: QSize) -> None:
    for scenes, trees in ((EMPTY, None), (SCENES, (3, 300))):
        stage = Stage(
            folder / str(len(scenes)),
            language=language,
            text_percent=percent,
            tree_sizes=trees,
            settled_ms=_SETTLED_MS,
        )
        stage.window.setGeometry(0, 0, size.width(), size.height())
        stage.settle()
        _play(stage, scenes, f"{size.width()}", _english(language))
        stage.close()


def _english(language: str) -> frozenset[str]:
    """Texts shown in English though the window speaks another language; empty if it speaks English."""
    if language == "en":
        return frozenset()
    messages = ET.parse(ROOT / "resources" / "translations" / f"bough_{language}.ts").getroot().iter("message")  # noqa: S314
    pairs = [(message.findtext("source", ""), message.findtext("translation", "")) for message in messages]
    said = {translation for _, translation in pairs}
    return frozenset(source for source, _ in pairs if source not in said and " " in source)


def _play(stage: Stage, scenes: Mapping[str, Callable[[Stage], QWidget]], where: str, english: frozenset[str]) -> None:
    for name, scene in scenes.items():
        shown = scene(stage)
        stage.settle()
        for fault in _lasting_faults(stage, shown, english):
            print(f"{name}, {where}: {fault}", flush=True)
        if shown is not stage.window:
            # Users change the size of a window of its own.
            for size in (QSize(1, 1), shown.screen().availableGeometry().size()):
                shown.resize(size)
                shown.move(0, 0)
                stage.settle()
                for fault in _lasting_faults(stage, shown, english):
                    print(f"{name}, {where}, window of {shown.width()} × {shown.height()}: {fault}", flush=True)
        stage.clear()


def _lasting_faults(stage: Stage, shown: QWidget, english: frozenset[str]) -> list[str]:
    """Return the faults that remain once everything has found its position."""
    faults: list[str] = []
    for _ in range(_NUM_LOOKS):
        popup = QApplication.activePopupWidget()
        windows = (shown,) if popup is None else (shown, popup)
        faults = [fault for window in windows for fault in (*_faults(window, english), *_off_screen(window))]
        if not faults:
            break
        stage.settle()
    return faults


def _off_screen(window: QWidget) -> Iterator[str]:
    screen, place = window.screen().availableGeometry(), window.geometry()
    # The offscreen platform puts a frame of two pixels around each window.
    if not screen.adjusted(-_FEW_PX, -_FEW_PX, _FEW_PX, _FEW_PX).contains(place):
        yield f"{window.windowTitle() or type(window).__name__!r} lies at {_said(place)} on a screen of {_said(screen)}"


def _said(place: QRect) -> str:
    return f"({place.x()}, {place.y()}) with {place.width()} × {place.height()} px"


def _faults(root: QWidget, english: frozenset[str]) -> Iterator[str]:
    for widget in root.findChildren(QWidget):
        if widget.isVisible() and not isinstance(widget, ElidedLabel | NameBox):
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
    elif isinstance(widget, QComboBox):
        needed, room = _width_of(widget, widget.currentText()), _room_in(widget)
        if needed > room:
            yield f"{widget.currentText()!r} needs {needed} px and has {room}"
    elif text and width < _width_of(widget, text) - 1:
        yield f"{text!r} needs {_width_of(widget, text)} px and has {width}"
    parent = widget.parentWidget()
    if text and parent is not None and not widget.isWindow() and not isinstance(parent.parentWidget(), QScrollArea):
        seen = widget.geometry().intersected(parent.rect())
        if seen.size() != widget.size():
            yield f"{text!r} is cut off by what it lies in"


def _room_in(box: QComboBox) -> int:
    """Return the width for the text of a list that opens."""
    option = QStyleOptionComboBox()
    option.initFrom(box)
    field = QStyle.SubControl.SC_ComboBoxEditField
    room = box.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, box).width()
    has_icon = not box.itemIcon(box.currentIndex()).isNull()
    return room - (box.iconSize().width() + _FEW_PX if has_icon else 0)


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
    # A text in lines has its whole width as a hint.
    if isinstance(widget, QPushButton | QRadioButton | QCheckBox) and "\n" not in text:
        return widget.sizeHint().width()
    margins = widget.textMargins() if isinstance(widget, QLineEdit) else QMargins()
    lines_px = max(widget.fontMetrics().horizontalAdvance(line) for line in text.split("\n"))
    return lines_px + margins.left() + margins.right()


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
