"""The page of a model without a window around it."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.catalog.entry import RemoteModel
from app.supply.transfers import Transfer
from app.ui.models.entry import Entry
from app.ui.models.model_page import ModelPage
from app.ui.models.model_settings_form import ModelSettingsForm
from app.ui.theme import theme
from tests.app.desk import Desk
from tests.waiting import PATIENCE_MS

_RUNNING = Transfer(
    key="one",
    title="One",
    state="running",
    num_bytes=120 << 20,
    total_bytes=900 << 20,
    bytes_per_s=3e6,
    seconds_left=250.0,
    model=RemoteModel(repo="owner/One"),
)


def test_widgets_below_the_progress_stay_where_they_are(qtbot: QtBot, desk: Desk) -> None:
    form = ModelSettingsForm(desk.controller.program, theme("light"))
    page = ModelPage(theme("light"), lambda _: None, lambda _: None, form)
    page.resize(230, 600)
    page.show()
    heights: list[int] = []
    for transfer in (_RUNNING, replace(_RUNNING, bytes_per_s=None, seconds_left=None), _RUNNING):
        page.show_entry(Entry("one", transfer.model, transfer=transfer))
        QApplication.sendPostedEvents()
        qtbot.waitUntil(lambda: page.facts.y() > 0, timeout=PATIENCE_MS)
        heights.append(page.facts.y())
    other = replace(_RUNNING, key="two", bytes_per_s=None, seconds_left=None)
    page.show_entry(Entry("two", other.model, transfer=other))
    QApplication.sendPostedEvents()
    assert len(set(heights)) == 1
    assert page.facts.y() < heights[0]
    page.close()
    page.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
