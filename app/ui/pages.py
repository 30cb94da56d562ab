"""The pages in the middle of the window: the welcome page, the transcript, and versions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QScrollArea, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.conversation.controller import Controller
from app.lazy import Lazy
from app.model.message import MessageId
from app.ui.parts.labels import balanced_width_px
from app.ui.theme import Theme, icon
from app.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from app.ui.comparing.side_by_side import SideBySide

_MIN_HEIGHT_PX = 48
_MAX_TEXT_PX = 600
_MIN_TEXT_PX = 200
_MAX_QUESTION_PX = 480
_MARGIN_PX = 16
# Not translated: the guide only understands English.
_QUESTIONS = ("What is a branch?", "How do I edit a message?", "How do I load a bigger model?")


class Pages(QStackedWidget):
    """Shows one page: the welcome page without a conversation, otherwise the transcript or versions side by side."""

    focus_orphaned = Signal()
    """The versions were closed, and no message takes the focus back."""

    def __init__(self, controller: Controller, theme: Theme) -> None:
        super().__init__()
        self._controller = controller
        self._theme = theme
        self._focused_before: MessageId | None = None
        """The message that had the focus before its versions were shown side by side."""
        self.transcript = Transcript(controller, theme)
        self.welcome = Welcome(theme)
        self._side_by_side = Lazy(self._make_side_by_side)
        # Each page scrolls, so a low window has room for what surrounds them.
        self.setMinimumHeight(_MIN_HEIGHT_PX)
        self.addWidget(self.welcome)
        self.addWidget(self.transcript)

    @property
    def side_by_side(self) -> SideBySide:
        return self._side_by_side.get()

    def _make_side_by_side(self) -> SideBySide:
        from app.ui.comparing.side_by_side import SideBySide

        page = SideBySide(self._controller, self._theme)
        self.addWidget(page)
        page.closed.connect(self._on_versions_closed)
        return page

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.welcome.set_theme(theme)
        self.transcript.set_theme(theme)
        if self._side_by_side.made is not None:
            self._side_by_side.made.set_theme(theme)

    def show_current(self) -> None:
        """Show the page for what the controller has open."""
        versions = self._side_by_side.made
        if self._controller.shown.conversation is None:
            self.setCurrentWidget(self.welcome)
        elif versions is not None and versions.message_ids:
            self.setCurrentWidget(versions)
        else:
            self.setCurrentWidget(self.transcript)

    def show_versions(self, message_ids: list[MessageId]) -> None:
        """Show versions of a message side by side."""
        self._focused_before = self.transcript.focused_message_id
        self.setCurrentWidget(self.side_by_side)
        self.side_by_side.show_versions(message_ids)

    def _on_versions_closed(self, is_chosen: bool) -> None:
        self.show_current()
        # A user who only looked returns to the message; one who chose a version goes on writing.
        message_id = None if is_chosen else self._focused_before
        if message_id is None or not self.transcript.focus(message_id):
            self.focus_orphaned.emit()


class Welcome(QScrollArea):
    """The page without a conversation. While the guide is loaded, it offers three questions that the guide answers."""

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
        self._text.setText(self.tr("Ask a question, then edit, regenerate or fork any message. Every version is kept."))
        self._about_guide.setText(self.tr("The guide is a tiny model that knows only Bough. It speaks English."))
        for label in (self._text, self._about_guide):
            label.setObjectName("welcome_text")
            label.setWordWrap(True)
        page = QWidget()
        page.setObjectName("page")
        column = QVBoxLayout(page)
        column.setContentsMargins(_MARGIN_PX, _MARGIN_PX, _MARGIN_PX, _MARGIN_PX)
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
        """Offer the questions if this model is the guide."""
        for widget in (self._about_guide, *self.questions):
            widget.setVisible(name == "guide")

    def set_theme(self, theme: Theme) -> None:
        self._leaf.setPixmap(icon("leaf", theme.accent).pixmap(32, 32))
        self._fit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The viewport's width, without calling viewport(): PySide6 would search all widgets for its Python type.
        self._width_px = event.size().width()
        self._fit()

    def _fit(self) -> None:
        room = self._width_px - 2 * _MARGIN_PX
        max_px = min(_MAX_TEXT_PX, room)
        for label in (self._text, self._about_guide):
            label.ensurePolished()
            # A centred label in a layout is asked for its sizeHint, never for its height at this width; and
            # heightForWidth does not go below the minimum size, so that is reset first.
            label.setMinimumSize(0, 0)
            width = balanced_width_px(label.heightForWidth, min(_MIN_TEXT_PX, max_px), max_px)
            label.setFixedSize(width, label.heightForWidth(width))
        for button in self.questions:
            button.setFixedWidth(min(_MAX_QUESTION_PX, room))
