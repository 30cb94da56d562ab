"""The pages in the middle of the window: the welcome page, the transcript, and versions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QLabel,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.answers.sessions import GUIDE
from app.catalog.starter import NUM_MILLIONS as STARTER_MILLIONS
from app.catalog.starter import TITLE as STARTER_TITLE
from app.conversation.controller import Controller
from app.lazy import Lazy
from app.model.message import MessageId
from app.ui.header import model_label
from app.ui.parts.buttons import LinesButton
from app.ui.parts.labels import balanced_width_px, widest_word_px
from app.ui.parts.layouts import order_tabs
from app.ui.theme import Theme, icon, scaled
from app.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from app.ui.comparing.side_by_side import SideBySide
    from app.ui.download_offer import DownloadOffer

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
    """The page with the versions was closed, and no message has the focus."""

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

    def unload_long_texts(self) -> bool:
        """Remove parts of long texts from the page until the next `set_theme`; return whether there were any."""
        versions = self._side_by_side.made
        return any([self.transcript.unload_long_texts(), versions is not None and versions.unload_long_texts()])

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.welcome.set_theme(theme)
        self.transcript.set_theme(theme)
        if self._side_by_side.made is not None:
            self._side_by_side.made.set_theme(theme)

    def show_current(self) -> None:
        """Show the page that fits the controller's state: welcome, versions or transcript."""
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
        # A user who only looked returns to the message; a user who chose a version continues in the composer.
        message_id = None if is_chosen else self._focused_before
        if message_id is None or not self.transcript.focus(message_id):
            self.focus_orphaned.emit()


class Welcome(QScrollArea):
    """The page without a conversation: a choice of who answers, and three questions that the guide answers."""

    question_chosen = Signal(str)
    """The user chose a question for the guide."""
    model_chosen = Signal(str)
    """The user chose the model that should answer: its name."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("page")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._shown: tuple[str, str, bool] | None = None
        self._leaf = QLabel()
        self._title = QLabel(self.tr("A conversation is a tree"))
        self._title.setObjectName("welcome_title")
        self._text, self._about = QLabel(), QLabel()
        self._text.setText(self.tr("Ask a question, then edit, regenerate or fork any message. Every version is kept."))
        self._about_questions = QLabel(self.tr("The guide answers questions about Bough:"))
        for label in (self._text, self._about, self._about_questions):
            label.setObjectName("welcome_text")
        for label in (self._title, self._text, self._about, self._about_questions):
            label.setWordWrap(True)
        self.model_button = _choice_button()
        self.model_button.toggled.connect(self._choose_model)
        self.guide_button = _choice_button(self.tr("Ask the guide about Bough"))
        self.guide_button.toggled.connect(self._choose_guide)
        page = QWidget()
        page.setObjectName("page")
        column = QVBoxLayout(page)
        column.setContentsMargins(_MARGIN_PX, _MARGIN_PX, _MARGIN_PX, _MARGIN_PX)
        column.setSpacing(0)
        column.addStretch(3)
        for label, space in ((self._leaf, 8), (self._title, 8), (self._text, 24)):
            self._add(column, label, space)
        self._choices = QWidget()
        self._choices_box = _row_in(self._choices, self.model_button, self.guide_button)
        self._add(column, self._choices, 12)
        self._add(column, self._about, 8)
        self._offer = Lazy(self._make_offer)
        self._place_of_offer = QVBoxLayout()
        column.addLayout(self._place_of_offer)
        column.addSpacing(16)
        self._add(column, self._about_questions, 8)
        self.questions = [self._question(text) for text in _QUESTIONS]
        for button in self.questions:
            self._add(column, button, 8)
        column.addStretch(4)
        self.setWidget(page)
        self._width_px = self.width()
        self._model = ""
        self.set_theme(theme)
        self.show_choices(GUIDE, GUIDE, is_starter=False)

    def _question(self, text: str) -> LinesButton:
        button = LinesButton(text)
        button.setObjectName("question")
        button.clicked.connect(lambda: self.question_chosen.emit(text))
        button.setAccessibleDescription(self.tr("A question for the guide"))
        return button

    def _add(self, column: QVBoxLayout, widget: QWidget, space_px: int) -> None:
        if isinstance(widget, QLabel):
            widget.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(space_px)

    def show_choices(self, answering: str, model: str, *, is_starter: bool) -> None:
        """Offer a model and the guide; `answering` is the name of the one that is chosen now.

        `model` is the guide's own name if there is no other model. `is_starter` means that `model` is the small model
        to start with.
        """
        shown = answering, model, is_starter
        if shown == self._shown:
            return
        self._shown, self._model = shown, model
        self._choices.setVisible(model != GUIDE)
        self._about_questions.setVisible(answering != GUIDE)
        name = self.tr("{model} (small, real)").format(model=STARTER_TITLE) if is_starter else model_label(model)
        self.model_button.show_text(self.tr("Chat with {model}").format(model=name))
        for button, is_chosen in ((self.model_button, answering != GUIDE), (self.guide_button, answering == GUIDE)):
            with QSignalBlocker(button):
                button.setChecked(is_chosen)
        if answering == GUIDE:
            about = self.tr("The guide is a tiny model that knows only Bough. It speaks English.")
        elif is_starter:
            text = self.tr("{model} has {num} million parameters. It is small: it writes fluently, but knows little.")
            about = text.format(model=STARTER_TITLE, num=STARTER_MILLIONS)
        else:
            about = ""
        self._about.setText(about)
        self._about.setVisible(bool(about))
        self._fit()

    @property
    def offer(self) -> DownloadOffer:
        """The offer to download a model. It is created when there is a model to offer."""
        return self._offer.get()

    @property
    def has_offer(self) -> bool:
        return self._offer.made is not None

    def _make_offer(self) -> DownloadOffer:
        from app.ui.download_offer import DownloadOffer

        offer = DownloadOffer()
        self._place_of_offer.addSpacing(8)
        self._place_of_offer.addWidget(offer, 0, Qt.AlignmentFlag.AlignHCenter)
        self._place_of_offer.addSpacing(8)
        order_tabs(self.questions[0], [offer.button, offer.cancel_button])
        offer.fit(self._width_of_questions)
        return offer

    def _choose_model(self, is_chosen: bool) -> None:
        if is_chosen:
            self.model_chosen.emit(self._model)

    def _choose_guide(self, is_chosen: bool) -> None:
        if is_chosen:
            self.model_chosen.emit(GUIDE)

    def set_theme(self, theme: Theme) -> None:
        self._leaf.setPixmap(icon("leaf", theme.accent).pixmap(scaled(32), scaled(32)))
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
        for label in (self._title, self._text, self._about_questions, *([self._about] if self._about.text() else [])):
            label.ensurePolished()
            # A centred label in a layout is asked for its sizeHint, never for its height at this width; and
            # heightForWidth does not go below the minimum size, so that is reset first.
            label.setMinimumSize(0, 0)
            least = min(max(_MIN_TEXT_PX, widest_word_px(label)), max_px)
            width = balanced_width_px(label.heightForWidth, least, max_px)
            label.setFixedSize(width, label.heightForWidth(width))
        for button in self.questions:
            button.wrap(self._width_of_questions)
            button.setFixedWidth(self._width_of_questions)
        if self._offer.made is not None:
            self._offer.made.fit(self._width_of_questions)
        choices = (self.model_button, self.guide_button)
        widest = max(button.width_in_one_line for button in choices)
        is_row = 2 * widest + self._choices_box.spacing() <= max_px
        direction = QBoxLayout.Direction.LeftToRight if is_row else QBoxLayout.Direction.TopToBottom
        self._choices_box.setDirection(direction)
        for button in choices:
            width = widest if is_row else self._width_of_questions
            button.wrap(width)
            button.setFixedWidth(width)

    @property
    def _width_of_questions(self) -> int:
        return min(_MAX_QUESTION_PX, self._width_px - 2 * _MARGIN_PX)


def _row_in(parent: QWidget, *buttons: LinesButton) -> QBoxLayout:
    row = QBoxLayout(QBoxLayout.Direction.LeftToRight, parent)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(8)
    for button in buttons:
        row.addWidget(button)
    return row


def _choice_button(text: str = "") -> LinesButton:
    """Return a button that is checked while its model is the one that answers."""
    button = LinesButton(text)
    button.setObjectName("choice")
    button.setCheckable(True)
    # A click on the checked button keeps it checked.
    button.setAutoExclusive(True)
    return button
