"""Whether things move: the system, or Settings by the style sheet, may ask that they do not."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def is_animated(widget: QWidget) -> bool:
    """Whether what changes on a widget may take its time."""
    # With all its names it takes as long to import as the window's smaller parts together.
    from PySide6.QtWidgets import QStyle

    return widget.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, widget) > 0
