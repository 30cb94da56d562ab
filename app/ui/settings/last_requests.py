"""The list of the last requests of other programs: what each cost, and why tokens were processed again."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from app.numbers import counted
from app.serving.request_log import LoggedRequest
from app.ui.parts.cost_text import changed_part, speed_text, why_read_again
from app.ui.parts.labels import as_tool_tip
from app.ui.parts.list_rows import two_line_item, two_line_list
from app.ui.parts.times import when
from app.ui.theme import scaled

translate = QCoreApplication.translate

_NUM_SHOWN = 5
_ROW_PX = 52
_FRAME_PX = 4


def last_requests_list() -> QListWidget:
    """Return an empty list."""
    return two_line_list(translate("LastRequests", "Last requests"))


def show_requests(rows: QListWidget, requests: Sequence[LoggedRequest]) -> None:
    """Replace the rows of the list. The selected request stays selected, and at the same place on the screen."""
    chosen = rows.currentItem()
    key = None if chosen is None else chosen.data(Qt.ItemDataRole.UserRole)
    before = rows.count()
    place = rows.verticalScrollBar().value()
    rows.clear()
    for request in requests:
        rows.addItem(_item(request))
        if request.time_ms == key:
            rows.setCurrentRow(rows.count() - 1)
    num_shown = min(max(rows.count(), 1), _NUM_SHOWN)
    rows.setFixedHeight(num_shown * scaled(_ROW_PX) + _FRAME_PX)
    if place:
        rows.verticalScrollBar().setValue(place + (rows.count() - before) * scaled(_ROW_PX))


def _item(request: LoggedRequest) -> QListWidgetItem:
    upper = " · ".join((when(request.time_ms), request.client, request.model))
    parts = [
        changed_part(request.read_again),
        translate("LastRequests", "{} read").format(counted(request.num_read)),
        translate("LastRequests", "{} kept").format(counted(request.num_kept)),
        _first(request.first_ms),
        _speed(request.tokens_per_s),
    ]
    lower = " · ".join(part for part in parts if part)
    item = two_line_item(upper, lower, request.time_ms)
    rules = [
        translate("LastRequests", "Left out of the request by your rule: {}").format(rule) for rule in request.dropped
    ]
    whole = "\n".join(text for text in (upper, lower, why_read_again(request.read_again), *rules) if text)
    item.setToolTip(as_tool_tip(whole))
    item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, "\n".join((why_read_again(request.read_again), *rules)))
    return item


def _first(ms: float) -> str:
    return translate("LastRequests", "first token {} s").format(counted(ms / 1000, 2)) if ms else ""


def _speed(tokens_per_s: float) -> str:
    return speed_text(tokens_per_s, 1) if tokens_per_s else ""
