"""The page of a conversation that has not begun: what this is, and three questions to begin with."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.parts.labels import balanced_width_px
from app.ui.theme import Theme, icon

_TEXT_PX = 600
_LEAST_PX = 200
_QUESTIONS_PX = 480
_EDGE_PX = 16
# As they are in every language: the guide knows no other one.
_QUESTIONS = ("What is a branch?", "How do I edit a message?", "How do I load a bigger model?")


class Welcome(QScrollArea):
    """Offers three questions that the guide answers well; to another model it offers none. It scrolls where it must."""

    question_chosen = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("page")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._leaf = QLabel()
        self._title = QLabel(self.tr("A conversation is a tree"))
        self._title.setObjectName("welcome_title")
        self._text, self._about_guide = QLabel(), QLabel()
        self._text.setText(self.tr("Ask, then edit, regenerate or fork any message: every version stays."))
        self._about_guide.setText(
            self.tr("The guide is a tiny model that knows Bough and nothing else; it speaks English.")
        )
        for label in (self._text, self._about_guide):
            label.setObjectName("welcome_text")
            label.setWordWrap(True)
        page = QWidget()
        page.setObjectName("page")
        column = QVBoxLayout(page)
        column.setContentsMargins(_EDGE_PX, _EDGE_PX, _EDGE_PX, _EDGE_PX)
        column.setSpacing(0)
        column.addStretch(3)
        for label, space in ((self._leaf, 8), (self._title, 8), (self._text, 4), (self._about_guide, 24)):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            column.addWidget(label, 0, Qt.AlignmentFlag.AlignHCenter)
            column.addSpacing(space)
        self.questions: list[QPushButton] = []
        for question in _QUESTIONS:
            button = QPushButton(question)
            button.setObjectName("question")
            button.clicked.connect(lambda _=False, text=question: self.question_chosen.emit(text))
            self.questions.append(button)
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
            column.addSpacing(8)
        column.addStretch(4)
        self.setWidget(page)
        self._width_px = self.width()
        self.set_theme(theme)
        self.show_model("guide")

    def show_model(self, name: str) -> None:
        """Say who will answer."""
        for widget in (self._about_guide, *self.questions):
            widget.setVisible(name == "guide")

    def set_theme(self, theme: Theme) -> None:
        self._leaf.setPixmap(icon("leaf", theme.accent).pixmap(32, 32))
        self._fit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The viewport's: asking for that itself makes PySide6 look through all of Qt's widgets for what it is.
        self._width_px = event.size().width()
        self._fit()

    def _fit(self) -> None:
        room = self._width_px - 2 * _EDGE_PX
        most = min(_TEXT_PX, room)
        for label in (self._text, self._about_guide):
            label.ensurePolished()
            # Centred in its page, the label is asked for its size, never for its height at this width;
            # and it thinks of none below its least size.
            label.setMinimumSize(0, 0)
            width = balanced_width_px(label.heightForWidth, min(_LEAST_PX, most), most)
            label.setFixedSize(width, label.heightForWidth(width))
        for button in self.questions:
            button.setFixedWidth(min(_QUESTIONS_PX, room))
