"""The replay window: runs an answer again from its record and shows where the tokens differ, and why."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from app.numbers import counted
from app.replay.live_replay import LiveReplay
from app.replay.verdict import Difference, Verdict, sentences
from app.sentences import translated
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import scrolled
from app.ui.parts.sheet import Sheet, filled_by
from app.ui.theme import code_font

_SIZE_PX = (560, 480)
_MAX_DIFFERENCES = 16


class ReplayWindow(Sheet):
    """Shows one run. Closing the window stops the run."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(self.tr("Run again"), parent)
        self._run: LiveReplay | None = None
        self.outcome = QLabel(self.tr("Running the answer again…"))
        self.outcome.setObjectName("heading")
        self.outcome.setWordWrap(True)
        self.outcome.setTextFormat(Qt.TextFormat.PlainText)
        self.why = quiet_label(
            self.tr(
                "Each token is sampled again after the stored tokens before it, with the same seed and "
                "settings. The conversation does not change."
            )
        )
        self.why.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        card = QFrame()
        card.setObjectName("card")
        column = QVBoxLayout(card)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(8)
        column.addWidget(self.outcome)
        column.addWidget(self.why)
        self._differences = QFrame()
        self._differences.setObjectName("card")
        self._grid = QGridLayout(self._differences)
        self._grid.setContentsMargins(16, 12, 16, 12)
        self._grid.setHorizontalSpacing(16)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnStretch(2, 1)
        self._differences.setVisible(False)
        page = QWidget()
        whole = QVBoxLayout(page)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(12)
        whole.addWidget(card)
        whole.addWidget(self._differences)
        whole.addStretch(1)
        area = scrolled(page)
        self.body.addWidget(area, 1)
        self.close_button = self.add_button(self.tr("Cancel"), self.reject, key=self.tr("Esc"))
        self.open_at(*_SIZE_PX, filling=filled_by(area))

    def follow_run(self, run: LiveReplay) -> None:
        """Show the progress and the verdict of a run."""
        self._run = run
        self.show_progress(self.tr("Sampling…"), 0, 0)
        run.progressed.connect(self._on_progress)
        run.done.connect(self.show_verdict)
        run.start()

    @property
    def is_over(self) -> bool:
        """Whether the verdict is shown."""
        return self._run is None

    def _on_progress(self, done: float) -> None:
        self.show_progress(self.tr("Sampling…"), round(done * 1000), 1000)

    def show_verdict(self, verdict: Verdict) -> None:
        """Show the verdict of a run."""
        self._run = None
        self.hide_progress()
        outcome, *reasons = (translated(line) for line in sentences(verdict))
        self.outcome.setText(("✓ " if verdict.matched else "") + outcome)
        self.why.setText("\n".join(reasons) or self.tr("The same model, libraries, seed and settings."))
        self.close_button.setText(self.tr("Close"))
        self.close_button.setToolTip(self.tr("Close (Esc)"))
        if verdict.differences:
            self._show_differences(verdict.differences[:_MAX_DIFFERENCES])

    @override
    def reject(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.stop()
        super().reject()

    def _show_differences(self, differences: tuple[Difference, ...]) -> None:
        for column, text in enumerate((self.tr("Token"), self.tr("Before"), self.tr("Now"))):
            self._grid.addWidget(quiet_label(text), 0, column)
        end = self.tr("the end")
        for row, difference in enumerate(differences, 1):
            self._grid.addWidget(_cell(counted(difference.place + 1)), row, 0)
            for column, token_id, text in (
                (1, difference.stored_id, difference.stored_text),
                (2, difference.drawn_id, difference.drawn_text),
            ):
                self._grid.addWidget(_cell(end) if token_id is None else _cell(text, code_font()), row, column)
        self._differences.setVisible(True)


def _cell(text: str, font: QFont | None = None) -> QLabel:
    """Return a label; with a font, it shows a token's text with visible spaces and line breaks."""
    shown = text.replace("\n", "⏎").replace(" ", "␣") if font is not None else text
    label = QLabel(shown)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if font is not None:
        label.setFont(font)
    return label
