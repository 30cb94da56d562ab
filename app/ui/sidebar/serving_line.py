"""The line about programs that use the model through the local API, and its panel with each request."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QCoreApplication, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.local_api import LocalApi
from app.numbers import counted
from app.serving.relay import Served
from app.ui.parts.cost_text import speed_text, why_read_again
from app.ui.parts.labels import ElidedLabel, as_tool_tip, quiet_label
from app.ui.parts.popover import Popover

translate = QCoreApplication.translate

_WIDTH_PX = 420
_ROOM_PX = 24
"""The border and padding of the button, on both sides together."""
_SLOW = 10
"""Speeds below this many tokens per second are shown with one decimal."""


class ServingButton(QPushButton):
    """Says which programs are served and how fast, and opens the panel. Hidden while no program is served."""

    def __init__(self, api: LocalApi) -> None:
        super().__init__()
        self.setObjectName("side_button")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.panel: ServingPopover | None = None
        self._api = api
        self._is_wanted = True
        self._who, self._speed = "", ""
        self.clicked.connect(self._open)
        api.served_changed.connect(self._show)
        self._show()

    def set_wanted(self, *, is_wanted: bool) -> None:
        """Set whether the button is shown while programs are served. If not, it is always hidden."""
        self._is_wanted = is_wanted
        self._show()

    def _show(self) -> None:
        served = self._api.served
        self.setVisible(bool(served) and self._is_wanted)
        if not served:
            return
        names = dict.fromkeys(one.client.name for one in served)
        several = translate("ServingLine", "{num} programs").format(num=counted(len(names)))
        self._who = next(iter(names)) if len(names) == 1 else several
        speed = sum(one.tokens_per_s for one in served)
        self._speed = f" · {_speed(speed)}" if speed else ""
        self.setAccessibleName(self._text())
        self._fit()

    def _fit(self) -> None:
        self.setText(self._text().replace("&", "&&"))

    def _text(self) -> str:
        return self._without_speed() + self._speed

    def _without_speed(self) -> str:
        return translate("ServingLine", "Serving {}").format(self._who)

    def _open(self) -> None:
        self.panel = ServingPopover(self._api, self.window())
        self.panel.destroyed.connect(self._forget_panel)
        self.panel.show_above(self, self.panel.stop_buttons[0] if self.panel.stop_buttons else self.panel)

    def _forget_panel(self) -> None:
        self.panel = None


class ServingMark(ServingButton):
    """The button in one word, for the header of a window whose sidebar is hidden."""

    @override
    def _fit(self) -> None:
        self.setText(translate("ServingLine", "Serving"))
        self.setToolTip(as_tool_tip(self._text()))


class ServingLine(ServingButton):
    """The button as one line of the sidebar."""

    @override
    def _fit(self) -> None:
        metrics, whole = self.fontMetrics(), self._text()
        room = self.width() - _ROOM_PX
        # The name says more than the speed, which the tool tip and the panel show, too.
        shown = whole if metrics.horizontalAdvance(whole) <= room else self._without_speed()
        shown = metrics.elidedText(shown, Qt.TextElideMode.ElideRight, room)
        self.setText(shown.replace("&", "&&"))
        self.setToolTip("" if shown == whole else as_tool_tip(whole))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    @override
    def sizeHint(self) -> QSize:
        # The sidebar sets the width of this button.
        return QSize(0, super().sizeHint().height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()


class ServingPopover(Popover):
    """Lists the requests that are being answered, each with a button to stop it. Closes when none is left."""

    def __init__(self, api: LocalApi, parent: QWidget) -> None:
        super().__init__(translate("ServingPopover", "Requests of other programs"), _WIDTH_PX, parent)
        self._api = api
        self._rows: dict[str | int, _Row] = {}
        self._stop_all = QPushButton(translate("ServingPopover", "Stop all"))
        self._stop_all.clicked.connect(api.stop_all)
        self.column.addWidget(self._stop_all, 0, Qt.AlignmentFlag.AlignLeft)
        api.served_changed.connect(self._show)
        self._show()

    @property
    def stop_buttons(self) -> list[QPushButton]:
        """The stop button of each request."""
        return [row.stop for row in self._rows.values()]

    @property
    def texts(self) -> list[str]:
        """The text of each request."""
        return [row.text for row in self._rows.values()]

    def _show(self) -> None:
        served = {one.request_id: one for one in self._api.served}
        for request_id in [each for each in self._rows if each not in served]:
            row = self._rows.pop(request_id)
            had_focus = row.stop.hasFocus()
            row.hide()
            row.deleteLater()
            if had_focus and self._rows:
                self.stop_buttons[0].setFocus()
        for request_id, one in served.items():
            if request_id not in self._rows:
                self._rows[request_id] = row = _Row(one)
                row.stop.clicked.connect(partial(self._api.stop_request, request_id))
                self.column.insertWidget(self.column.count() - 1, row)
            self._rows[request_id].show_served(one)
        self._stop_all.setVisible(len(served) > 1)
        if not served:
            self.close()


class _Row(QFrame):
    """A request: who sent it, its state, and a button."""

    def __init__(self, served: Served) -> None:
        super().__init__()
        self.setObjectName("bare")
        name = served.client.name
        who = ElidedLabel()
        who.show_text(f"{name} · {served.model}")
        self._state = quiet_label("")
        self._why = quiet_label(why_read_again(served.compared.changed))
        self._why.setVisible(bool(self._why.text()))
        self.stop = QPushButton(translate("ServingPopover", "Stop"))
        self.stop.setAccessibleName(translate("ServingPopover", "Stop the answer for {}").format(name))
        texts = QVBoxLayout()
        texts.setSpacing(0)
        for label in (who, self._state, self._why):
            texts.addWidget(label)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addLayout(texts, 1)
        row.addWidget(self.stop, 0, Qt.AlignmentFlag.AlignTop)

    @property
    def text(self) -> str:
        return "\n".join(label.text() for label in self.findChildren(QLabel) if not label.isHidden())

    def show_served(self, served: Served) -> None:
        self._state.setText(_state_of(served))


def _state_of(served: Served) -> str:
    if served.num_tokens:
        text = translate("ServingPopover", "Tokens written: {}").format(counted(served.num_tokens))
        return f"{text} · {_speed(served.tokens_per_s)}" if served.tokens_per_s else text
    if served.num_prompt:
        text = translate("ServingPopover", "Reading {done} of {total} tokens · {kept} kept")
        return text.format(
            done=counted(served.num_read), total=counted(served.num_prompt), kept=counted(served.num_cached)
        )
    return translate("ServingPopover", "Waiting")


def _speed(tokens_per_s: float) -> str:
    return speed_text(tokens_per_s, 1 if tokens_per_s < _SLOW else 0)
