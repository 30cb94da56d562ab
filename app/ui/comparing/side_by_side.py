"""A page with several answers to one question side by side, also while they stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.conversation.controller import Controller
from app.model.message import Message, MessageId
from app.ui.header import model_label
from app.ui.message.message_view import MessageView
from app.ui.message.shown_message import ShownMessage
from app.ui.message.waiting_answers import WaitingAnswers
from app.ui.parts.buttons import claim_escape
from app.ui.parts.labels import ElidedLabel
from app.ui.parts.layouts import FlowLayout
from app.ui.theme import Theme, icon

_TICK_MS = 33
_CARD_PX = 300
"""The minimum width of an answer that is easy to read."""
_FEW_CARDS = 4
_CARDS_AT_ONCE = 4
_CARD_HEIGHT_PX = 240
_MARGIN_PX = 16
_GAP_PX = 12
_TEXT_INSET_PX = 10


class SideBySide(QWidget):
    """Shows the answers. The user continues with one of them, or keeps only one.

    The page closes when the answers are gone.
    """

    closed = Signal(bool)
    """True if the user chose one of the answers."""

    def __init__(self, controller: Controller, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("page")
        self._controller = controller
        self._theme = theme
        self._cards: dict[MessageId, _Card] = {}
        self._wanted: list[MessageId] = []
        """The answers whose cards are still to be added."""
        self._names: dict[MessageId, str] = {}
        self._adding = QTimer(self, interval=0, singleShot=True)
        self._adding.timeout.connect(partial(self._add_cards, 1))
        self._title = ElidedLabel()
        self._title.setObjectName("title")
        self._close_button = QToolButton()
        self._close_button.setAccessibleName(self.tr("Close, keep all"))
        self._close_button.setToolTip(self.tr("Close, keep all (Esc)"))
        self._close_button.clicked.connect(self.close_page)
        head = QHBoxLayout()
        head.addWidget(self._title, 1)
        head.addWidget(self._close_button)
        self._grid = QGridLayout()
        self._grid.setSpacing(_GAP_PX)
        self._grid.setContentsMargins(0, 0, 0, 0)
        inside = QWidget()
        inside.setObjectName("page")
        inside.setLayout(self._grid)
        self._area = QScrollArea()
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setWidget(inside)
        column = QVBoxLayout(self)
        column.setContentsMargins(_MARGIN_PX, 8, _MARGIN_PX, 8)
        column.setSpacing(8)
        column.addLayout(head)
        column.addWidget(self._area, 1)
        self._ticker = QTimer(self, singleShot=True, interval=_TICK_MS)
        self._ticker.timeout.connect(self._render)
        self._waiting = WaitingAnswers(controller, self, messages=self._messages, view=self._view, shown=self._shown)
        controller.shown.text_appended.connect(self._on_text)
        controller.shown.message_changed.connect(self._on_changed)
        controller.shown.branch_changed.connect(self._on_branch)
        self.set_theme(theme)

    def unload_long_texts(self) -> bool:
        """Remove parts of long texts from the page until the next `set_theme`; return whether there were any."""
        return sum(card.view.unload_long_texts() for card in self._cards.values()) > 0

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._close_button.setIcon(icon("close", theme.quiet_text))
        for card in self._cards.values():
            card.view.set_theme(theme)

    @property
    def message_ids(self) -> Sequence[MessageId]:
        """The answers on the page in order; empty while the page is hidden."""
        return (*self._cards, *self._wanted)

    def show_versions(self, message_ids: Sequence[MessageId]) -> None:
        """Show some or all siblings with their numbers among all, and focus the one on the visible branch."""
        self._clear()
        first = self._controller.shown.message(message_ids[0])
        asked = self._controller.shown.message(first.parent_id).text if first.parent_id is not None else ""
        versions = list(self._controller.shown.siblings(message_ids[0]))
        are_all = len(message_ids) == len(versions)
        title = self.tr("Answers to “{}”").format(" ".join(asked.split()))
        some = self.tr("{} of {} versions").format(len(message_ids), len(versions))
        self._title.show_text(title if are_all else f"{some} · {title}")
        self._wanted = list(message_ids)
        self._names = self._names_of(message_ids, versions)
        self._add_cards(_CARDS_AT_ONCE)
        self._waiting.start()

    def _names_of(self, message_ids: Sequence[MessageId], versions: Sequence[MessageId]) -> dict[MessageId, str]:
        models = {self._model_of(message_id) for message_id in message_ids}
        names: dict[MessageId, str] = {}
        for message_id in message_ids:
            name = self.tr("Version {} of {}").format(versions.index(message_id) + 1, len(versions))
            names[message_id] = f"{name} · {model_label(self._model_of(message_id))}" if len(models) > 1 else name
        return names

    def _add_cards(self, number: int) -> None:
        """Add the next cards, and start to add the others one by one, because adding many at once would take long."""
        shown = self._controller.shown
        message_ids = self.message_ids
        are_all = len(message_ids) == len(shown.siblings(message_ids[0]))
        for message_id in self._wanted[:number]:
            card = self._cards[message_id] = _Card(self._names[message_id], self._shown(message_id), self._theme)
            card.go_on_button.clicked.connect(partial(self._go_on, message_id))
            card.keep_button.clicked.connect(partial(self._keep, message_id))
            num_pruned = shown.subtree_size(*(other for other in message_ids if other != message_id))
            tip = self.tr("Prunes %n message(s); Undo restores them", "", num_pruned)
            if not are_all:
                card.keep_button.setText(self.tr("Keep only this version of {}").format(len(message_ids)))
                others_stay = self.tr("Versions that are not shown here are kept.")
                tip = f"{tip}. {others_stay}"
            card.keep_button.setToolTip(tip)
        del self._wanted[:number]
        self._lay_out_cards()
        if self._wanted:
            self._adding.start()
        if not any(card.isAncestorOf(self.focusWidget() or self) for card in self._cards.values()):
            self._focus_card()

    def _focus_card(self) -> None:
        """Focus the version on the visible branch, or else the first one, if its card is there."""
        visible = {message.id for message in self._controller.shown.path}
        message_ids = self.message_ids
        focused = next((message_id for message_id in message_ids if message_id in visible), message_ids[0])
        button = self._close_button if focused in self._wanted else self._cards[focused].go_on_button
        button.setFocus(Qt.FocusReason.OtherFocusReason)

    def close_page(self, *, is_chosen: bool = False) -> None:
        """Close the page; all versions stay in the tree."""
        self._clear()
        self.closed.emit(is_chosen)

    def _go_on(self, message_id: MessageId) -> None:
        self._controller.shown.go_to(message_id)
        self.close_page(is_chosen=True)

    def _keep(self, message_id: MessageId) -> None:
        others = [other for other in self.message_ids if other != message_id]
        self._controller.shown.go_to(message_id)
        self._controller.prune(*others)
        self.close_page(is_chosen=True)

    def _shown(self, message_id: MessageId) -> ShownMessage:
        return ShownMessage(
            message=self._controller.shown.whole(message_id),
            siblings=(message_id,),
            actions=(),
            is_streaming=self._controller.shown.is_streaming(message_id),
            is_waiting=self._controller.shown.is_without_new_text(message_id),
            is_queued=self._controller.shown.is_queued(message_id),
            is_last=False,
        )

    def _model_of(self, message_id: MessageId) -> str:
        record = self._controller.shown.message(message_id).record
        return "" if record is None else record.model

    def _messages(self) -> list[Message]:
        return [self._controller.shown.message(message_id) for message_id in self._cards]

    def _view(self, message_id: MessageId) -> MessageView | None:
        card = self._cards.get(message_id)
        return None if card is None else card.view

    def _clear(self) -> None:
        for card in self._cards.values():
            self._grid.removeWidget(card)
            card.hide()
            card.deleteLater()
        self._cards.clear()
        self._wanted.clear()
        self._adding.stop()

    def _lay_out_cards(self) -> None:
        """Lay the cards out in rows of equal length, each at least `_CARD_PX` wide."""
        if not self._cards:
            return
        card_px = max(_CARD_PX, *(card.minimumSizeHint().width() for card in self._cards.values()))
        # Leave room for the vertical scroll bar that may appear.
        room = self.width() - 2 * _MARGIN_PX - self._area.verticalScrollBar().sizeHint().width()
        max_columns = max((room + _GAP_PX) // (card_px + _GAP_PX), 1)
        number = len(self.message_ids)
        # A few cards fill all places; with many cards, the last row may be shorter.
        full = [columns for columns in range(1, max_columns + 1) if number % columns == 0]
        num_columns = max(full) if number <= _FEW_CARDS else -(-number // -(-number // max_columns))
        for index, card in enumerate(self._cards.values()):
            card.show_whole(self._area.viewport().height() if num_columns < number else None)
            self._grid.removeWidget(card)
            self._grid.addWidget(card, index // num_columns, index % num_columns)
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 1 if column < num_columns else 0)

    def _on_text(self, message_id: MessageId, text: str) -> None:
        card = self._cards.get(message_id)
        if card is not None:
            card.view.append_text(text)
            if not self._ticker.isActive():
                self._ticker.start()

    def _render(self) -> None:
        for card in self._cards.values():
            card.render_appended()

    def _on_changed(self, message_id: MessageId) -> None:
        card = self._cards.get(message_id)
        if card is not None:
            card.view.show_message(self._shown(message_id))

    def _on_branch(self) -> None:
        """Close the page if another conversation was opened or one of the answers was pruned."""
        if not self._cards:
            return
        first = next(iter(self._cards))
        shown = self._controller.shown
        if not shown.has(first) or not set(self.message_ids) <= set(shown.siblings(first)):
            self.close_page()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out_cards()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_page()
        else:
            super().keyPressEvent(event)

    @override
    def event(self, event: QEvent) -> bool:
        return claim_escape(event) or super().event(event)


class _Card(QFrame):
    """One answer with its two buttons. While its end is visible, it scrolls with the text that streams in."""

    def __init__(self, name: str, shown: ShownMessage, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("card")
        self.setAccessibleName(name)
        self.setMinimumHeight(_CARD_HEIGHT_PX)
        label = ElidedLabel()
        label.show_text(name)
        label.setObjectName("role")
        # Aligned with the text below.
        label.setContentsMargins(_TEXT_INSET_PX, 0, 0, 0)
        self.view = MessageView(shown, theme)
        self._area = QScrollArea()
        self._area.setObjectName("bare")
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._holder = holder = QWidget()
        holder.setObjectName("bare")
        holder.installEventFilter(self)
        self._room_px: int | None = None
        inside = QVBoxLayout(holder)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.addWidget(self.view)
        inside.addStretch(1)
        self._area.setWidget(holder)
        self.go_on_button = QPushButton(self.tr("Go on with this"))
        self.go_on_button.setAccessibleName(self.tr("Go on with {}").format(name))
        self.keep_button = QPushButton(self.tr("Keep only this"))
        self.keep_button.setAccessibleName(self.tr("Keep only {}").format(name))
        buttons = FlowLayout(is_at_end=True)
        buttons.setSpacing(8)
        buttons.addWidget(self.keep_button)
        buttons.addWidget(self.go_on_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 10, 10, 12)
        column.setSpacing(8)
        column.addWidget(label)
        column.addWidget(self._area, 1)
        column.addLayout(buttons)

    def show_whole(self, room_px: int | None) -> None:
        """Grow with the answer up to this height; None keeps the least height, in a single row."""
        self._room_px = room_px
        self._fit()

    def _fit(self) -> None:
        least = _CARD_HEIGHT_PX
        if self._room_px is not None:
            around = self.height() - self._area.height()
            least = min(around + self._holder.sizeHint().height(), self._room_px)
        if least != self.minimumHeight():
            self.setMinimumHeight(least)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._holder and event.type() in {QEvent.Type.LayoutRequest, QEvent.Type.Resize}:
            self._fit()
        return super().eventFilter(watched, event)

    def render_appended(self) -> None:
        bar = self._area.verticalScrollBar()
        was_at_end = bar.value() >= bar.maximum() - 24
        if self.view.render_appended() and was_at_end:
            QTimer.singleShot(0, self, lambda: bar.setValue(bar.maximum()))
