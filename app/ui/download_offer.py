"""A button that downloads a model, and the progress of the download."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.numbers import counted, sized
from app.sentences import translated
from app.ui.parts.buttons import LinesButton
from app.ui.parts.cost_text import seconds_text
from app.ui.parts.labels import balanced_width_px, widest_word_px

if TYPE_CHECKING:
    from app.supply.first_models import Offer
    from app.supply.transfers import Transfer

_BAR_STEPS = 1000
_MIN_TEXT_PX = 200


class DownloadOffer(QWidget):
    """Shows one `Offer`."""

    download_requested = Signal()
    cancel_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.has_state = False
        """Whether the text says how the download goes, or why it failed."""
        self.button = LinesButton()
        self.button.clicked.connect(self.download_requested)
        self.cancel_button = QPushButton(self.tr("Stop"))
        self.cancel_button.clicked.connect(self.cancel_requested)
        self._state = QLabel()
        self._state.setObjectName("welcome_text")
        self._state.setTextFormat(Qt.TextFormat.PlainText)
        self._state.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._state.setWordWrap(True)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._width_px = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._state, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self._bar)
        for button in (self.button, self.cancel_button):
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        self.show_offer(None, is_starter=False)

    def fit(self, width_px: int) -> None:
        """Set the width, and the height that the text needs at that width."""
        self._width_px = width_px
        if width_px <= 0 or not self._state.text():
            return
        self.setFixedWidth(width_px)
        self.button.wrap(width_px)
        self._state.ensurePolished()
        # `heightForWidth` does not go below the minimum size.
        self._state.setMinimumSize(0, 0)
        least = min(max(_MIN_TEXT_PX, widest_word_px(self._state)), width_px)
        width = balanced_width_px(self._state.heightForWidth, least, width_px)
        self._state.setFixedSize(width, self._state.heightForWidth(width))

    def show_offer(self, offer: Offer | None, *, is_starter: bool) -> None:
        """Show an offer; None hides everything. `is_starter` means that it is the small model to start with."""
        self.setVisible(offer is not None)
        if offer is None:
            return
        transfer, model = offer.transfer, offer.model
        is_under_way = transfer is not None and transfer.state in {"queued", "running"}
        size = "" if model.num_bytes is None else f" ({sized(model.num_bytes)})"
        self.button.show_text(self.tr("Download {model}").format(model=f"{model.title}{size}"))
        self.button.setVisible(not is_under_way)
        self.cancel_button.setVisible(is_under_way)
        fraction = None if transfer is None else transfer.fraction
        self._bar.setVisible(is_under_way)
        self._bar.setMaximum(0 if fraction is None else _BAR_STEPS)
        self._bar.setValue(0 if fraction is None else round(fraction * _BAR_STEPS))
        state = "" if transfer is None else self._state_text(model.title, transfer)
        self.has_state = bool(state)
        if is_starter:
            what = self.tr("A small real model, to chat about anything:")
        else:
            what = self.tr("The best model that fits this computer:")
        self._state.setText(state or what)
        self.fit(self._width_px)

    def _state_text(self, title: str, transfer: Transfer) -> str:
        if transfer.failure is not None:
            return translated(transfer.failure)
        if transfer.waiting is not None:
            return translated(transfer.waiting)
        if transfer.state not in {"queued", "running"}:
            return ""
        if transfer.fraction is None:
            return self.tr("Downloading {model}…").format(model=title)
        text = self.tr("Downloading {model}: {percent} %").format(
            model=title, percent=counted(int(transfer.fraction * 100))
        )
        left_s = transfer.seconds_left
        return text if left_s is None else f"{text} · {seconds_text(left_s, 0)}"
