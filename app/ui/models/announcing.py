"""Lets screen readers announce the progress of downloads: each quarter, a pause, a failure, and the end."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from app.sentences import translated
from app.supply.transfers import Transfer, Transfers

_PERCENT = 25


class TransferAnnouncements(QObject):
    """Announces downloads and conversions while its window is open."""

    announced = Signal(str)

    def __init__(self, transfers: Transfers, window: QWidget) -> None:
        super().__init__(window)
        self._transfers = transfers
        self._window = window
        self._announced = {one.key: (one.title, self._text(one)) for one in transfers.all}
        """By key, the title of each transfer and the last text that was announced about it."""
        transfers.landed.connect(self._on_landed)
        transfers.changed.connect(self._on_changed)

    def _on_changed(self) -> None:
        for transfer in self._transfers.all:
            text = self._text(transfer)
            if self._announced.get(transfer.key, ("", ""))[1] != text:
                self._announced[transfer.key] = transfer.title, text
                self._announce(text, is_urgent=transfer.state == "failed")

    def _on_landed(self, key: str) -> None:
        title, _ = self._announced.pop(key, ("", ""))
        if title:
            self._announce(self.tr("{model} can be used now").format(model=title))

    def _text(self, transfer: Transfer) -> str:
        match transfer.state:
            case "queued":
                return self.tr("{model} is waiting").format(model=transfer.title)
            case "paused":
                return self.tr("{model} is paused").format(model=transfer.title)
            case "failed":
                why = "" if transfer.failure is None else translated(transfer.failure)
                if transfer.phase == "converting":
                    text = self.tr("The conversion of {model} failed. {why}")
                else:
                    text = self.tr("The download of {model} failed. {why}")
                return text.format(model=transfer.title, why=why).strip()
            case "running":
                return self._progress(transfer)

    def _progress(self, transfer: Transfer) -> str:
        percent = int(100 * (transfer.fraction or 0) / _PERCENT) * _PERCENT
        if transfer.phase == "converting":
            text = self.tr("{model} is being converted: {percent} %")
        else:
            text = self.tr("{model} is being downloaded: {percent} %")
        return text.format(model=transfer.title, percent=percent)

    def _announce(self, text: str, *, is_urgent: bool = False) -> None:
        event = QAccessibleAnnouncementEvent(self._window, text)
        politeness = QAccessible.AnnouncementPoliteness
        event.setPoliteness(politeness.Assertive if is_urgent else politeness.Polite)
        QAccessible.updateAccessibility(event)
        self.announced.emit(text)
