"""The page of a conversation that has not begun: what this is, and three questions to begin with."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.ui.theme import Theme, icon

_WIDTH_PX = 480
# As they are in every language: the guide knows no other one.
_QUESTIONS = ("What is a branch?", "How do I edit a message?", "How do I load a bigger model?")


class Welcome(QWidget):
    """Offers three questions that the guide answers well; to another model it offers none."""

    question_chosen = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("page")
        self._leaf = QLabel()
        self._leaf.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._title = QLabel(self.tr("A conversation is a tree"))
        self._title.setObjectName("welcome_title")
        self._title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text = QLabel()
        self._text.setObjectName("welcome_text")
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text.setWordWrap(True)
        layout = QVBoxLayout()
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._leaf)
        layout.addWidget(self._title)
        layout.addWidget(self._text)
        layout.addSpacing(16)
        self.questions: list[QPushButton] = []
        for question in _QUESTIONS:
            button = QPushButton(question)
            button.setObjectName("question")
            button.clicked.connect(lambda _=False, text=question: self.question_chosen.emit(text))
            self.questions.append(button)
            layout.addWidget(button)
        inner = QWidget()
        inner.setFixedWidth(_WIDTH_PX)
        inner.setLayout(layout)
        outer = QVBoxLayout(self)
        outer.addStretch(3)
        outer.addWidget(inner, 0, Qt.AlignmentFlag.AlignHCenter)
        outer.addStretch(4)
        self.set_theme(theme)
        self.show_model("guide")

    def show_model(self, name: str) -> None:
        """Say who will answer."""
        is_guide = name == "guide"
        for button in self.questions:
            button.setVisible(is_guide)
        self._text.setFixedWidth(_WIDTH_PX)
        self._text.setText(
            self.tr(
                "Ask, then edit, regenerate or fork any message: every version stays. "
                "The guide is a tiny model that knows Bough and nothing else; it speaks English."
            )
            if is_guide
            else self.tr("Ask, then edit, regenerate or fork any message: every version stays.")
        )
        # Centred in its page, the label is asked for its size, never for its height at this width.
        self._text.setFixedHeight(self._text.heightForWidth(_WIDTH_PX))

    def set_theme(self, theme: Theme) -> None:
        self._leaf.setPixmap(icon("leaf", theme.accent).pixmap(32, 32))
