"""A gauge of how full the model's context is."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QToolTip
from typing_extensions import override

from app.costs.context_meter import ContextUse
from app.model.message import Overflow
from app.numbers import counted
from app.ui.parts.buttons import FittingButton
from app.ui.parts.cost_text import seconds_text
from app.ui.parts.labels import as_tool_tip
from app.ui.theme import Theme, repolish

_BAR, _SHORT_BAR = QSize(44, 8), QSize(24, 8)
_MIN_SHOWN_S = 0.95
_USUAL = "88 %"


class ContextGauge(FittingButton):
    """A bar and a percentage, with a warning when the context is nearly full.

    Cached tokens are darker than tokens that must be processed. A click or Space shows the figures as a tool tip.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("action")
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._bar_size = _BAR
        self.setIconSize(_BAR)
        self._theme = theme
        self._use: ContextUse | None = None
        self._overflow: Overflow = "fail"
        # Its place is kept while it is hidden, and for two digits, so that the other buttons do not change.
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        self.clicked.connect(self._show_tip)
        self._show()

    @override
    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(self._size_for(_USUAL))

    def show_use(self, use: ContextUse | None, overflow: Overflow) -> None:
        """Show how much of the context is used. None means that it is not known, and hides the gauge."""
        self._use, self._overflow = use, overflow
        self._show()

    def shorten(self, *, is_short: bool) -> None:
        """Show a short bar, so that the percentage fits beside it in a narrow window."""
        size = _SHORT_BAR if is_short else _BAR
        if size != self._bar_size:
            self._bar_size = size
            self.setIconSize(size)
            self._show()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._show()

    def _show(self) -> None:
        use = self._use
        self.setVisible(use is not None)
        if use is None:
            return
        share = f"{counted(100 * use.share, 0)} %"
        text, kind = "", ""
        if use.is_over:
            text = self.tr("oldest left out") if self._overflow == "drop_oldest" else self.tr("too long")
            kind = "danger" if self._overflow == "fail" else "warning"
        elif use.is_nearly_full:
            text, kind = self.tr("nearly full"), "warning"
        self.show_texts(*([f"{share} · {text}", share] if text else [share]))
        if self.property("kind") != kind:
            self.setProperty("kind", kind)
            repolish(self)
        colour = {"danger": self._theme.danger, "warning": self._theme.warning}.get(kind, self._theme.accent)
        self.setIcon(self._bar(use, colour))
        figures = self._figures(use)
        self.setToolTip(as_tool_tip(figures))
        self.setAccessibleName(self.tr("Context: {share} used").format(share=share) + (f", {text}" if text else ""))
        self.setAccessibleDescription(figures)

    def _figures(self, use: ContextUse) -> str:
        kept = min(use.num_kept, use.num_used)
        used = self.tr("{used} of {limit} tokens with this message: {kept} kept, {read} to read").format(
            used=counted(use.num_used), limit=counted(use.limit), kept=counted(kept), read=counted(use.num_read)
        )
        if use.seconds is not None and use.seconds >= _MIN_SHOWN_S:
            used += f" ({seconds_text(use.seconds, 0)})"
        if not use.is_over:
            return used + self.tr(", {free} free for the answer.").format(free=counted(use.num_free))
        over = self.tr(", {over} too many. ").format(over=counted(1 - use.num_free))
        if self._overflow == "drop_oldest":
            return used + over + self.tr("The oldest messages will not be sent to the model.")
        return used + over + self.tr("The answer would fail: shorten the message, or continue from an earlier one.")

    def _bar(self, use: ContextUse, colour: str) -> QIcon:
        ratio = self.devicePixelRatioF()
        pixmap = QPixmap(self._bar_size * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        whole = QRectF(0.5, 0.5, self._bar_size.width() - 1, self._bar_size.height() - 1)
        painter.setPen(QColor(self._theme.control_line))
        painter.setBrush(QColor(self._theme.surface))
        painter.drawRoundedRect(whole, 3, 3)
        painter.setPen(Qt.PenStyle.NoPen)
        inside = whole.adjusted(1.5, 1.5, -1.5, -1.5)
        light = QColor(colour)
        light.setAlphaF(0.45)
        used, kept = min(use.share, 1.0), min(use.num_kept / use.limit, use.share, 1.0) if use.limit else 0.0
        for share, brush in ((used, light), (kept, QColor(colour))):
            if share > 0:
                painter.setBrush(brush)
                width = max(inside.width() * share, 1.0)
                painter.drawRect(QRectF(inside.x(), inside.y(), width, inside.height()))
        painter.end()
        return QIcon(pixmap)

    def _show_tip(self) -> None:
        QToolTip.showText(self.mapToGlobal(QPoint(0, -self.height())), self.toolTip(), self)
