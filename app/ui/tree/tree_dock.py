"""The dock beside the transcript: pinned branches, the tree or a sample, its overview, a card about one message."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QStackedWidget, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.conversation.controller import Controller
from app.model.message import Message, MessageId
from app.model.open_conversation import OpenConversation
from app.model.tree import Tree
from app.numbers import counted
from app.ui.theme import Theme, around_line, grown, icon, scaled, scaled_beside
from app.ui.tree.pinned_branches import PinnedBranches
from app.ui.tree.tree_card import TreeCard
from app.ui.tree.tree_overview import TreeOverview
from app.ui.tree.tree_sample import TreeSample
from app.ui.tree.tree_text import fold_text
from app.ui.tree.tree_view import TreeView

WIDTH_PX = 300
_BUTTON_PX, _ICON_PX = 28, 20
_HEAD_PX = 48
_SETTLED_MS = 40
"""The costs of visible messages are requested when the tree has not been scrolled for this time."""


class TreeDock(QFrame):
    """Shows the tree of the controller's conversation; it follows changes while it is visible."""

    close_requested = Signal()
    key_pressed = Signal(int, str)
    """A letter, or `Del`, was pressed on a message."""
    menu_requested = Signal(int, QPoint)
    """The user wants the menu of a message at a point of the screen."""

    def __init__(self, controller: Controller, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("tree_dock")
        self._controller = controller
        self._opened: OpenConversation | None = None
        self._tree: Tree | None = None
        self.view = TreeView(theme, self._message, controller.costs.get, controller.costs.last_tier)
        self.pinned = PinnedBranches(theme, self._message, self._siblings, controller.costs.get)
        self._overview = TreeOverview(self.view, theme)
        self._sample = TreeSample(theme)
        self.card = TreeCard(theme)
        self._count = QLabel()
        self._count.setObjectName("quiet")
        self._fit_button = _button(self.tr("Fit tree to view"), self.tr("Fit tree to view (0)"))
        self._close_button = _button(self.tr("Close the tree"), self.tr("Close the tree (Ctrl+T)"))
        self._bar = QFrame()
        self._body = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._pages = QStackedWidget()
        self._build()
        # Several changes in one turn of the event loop cause one refresh.
        self._refresh_timer = QTimer(self, singleShot=True, interval=0)
        self._refresh_timer.timeout.connect(self._refresh)
        self._costs_timer = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._costs_timer.timeout.connect(self._request_costs)
        self._connect()
        self.set_theme(theme)

    def _build(self) -> None:
        title = QLabel(self.tr("Tree"))
        title.setObjectName("heading")
        self._bar.setObjectName("tree_head")
        head = QHBoxLayout(self._bar)
        head.setContentsMargins(16, 0, 8, 0)
        head.setSpacing(8)
        head.addWidget(title)
        head.addWidget(self._count, 1)
        head.addWidget(self._fit_button)
        head.addWidget(self._close_button)
        whole = QWidget()
        self._body.setContentsMargins(0, 0, 0, 0)
        self._body.setSpacing(0)
        self._body.addWidget(self.view, 1)
        self._body.addWidget(self._overview)
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.pinned)
        column.addLayout(self._body, 1)
        column.addWidget(self.card)
        self._pages.addWidget(self._sample)
        self._pages.addWidget(whole)
        layout = QVBoxLayout(self)
        # Room for the border.
        layout.setContentsMargins(1, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._bar)
        layout.addWidget(self._pages, 1)

    def _connect(self) -> None:
        controller, view = self._controller, self.view
        controller.shown.branch_changed.connect(self._refresh_soon)
        controller.shown.history_changed.connect(self._refresh_soon)
        controller.shown.message_changed.connect(self._on_message_changed)
        controller.costs.changed.connect(self._on_costs)
        controller.shown.history_changed.connect(self._refresh_costs)
        view.key_pressed.connect(self.key_pressed)
        view.menu_requested.connect(self.menu_requested)
        view.current_changed.connect(self._show_card)
        view.hovered.connect(self._show_card)
        view.sight_changed.connect(self._costs_timer.start)
        self._fit_button.clicked.connect(view.fit)
        pinned = self.pinned
        pinned.active_changed.connect(self._show_card)
        pinned.go_to_requested.connect(view.set_current)
        pinned.go_to_requested.connect(view.go_to_requested)
        pinned.key_pressed.connect(self.key_pressed)
        pinned.menu_requested.connect(self.menu_requested)
        pinned.escaped.connect(view.escaped)
        self._close_button.clicked.connect(self.close_requested)

    def set_theme(self, theme: Theme) -> None:
        self.setFixedWidth(scaled_beside(WIDTH_PX))
        self._bar.setFixedHeight(around_line(_HEAD_PX))
        self._fit_button.setIcon(icon("fit", theme.quiet_text))
        self._close_button.setIcon(icon("close", theme.quiet_text))
        for button in (self._fit_button, self._close_button):
            button.setFixedSize(grown(_BUTTON_PX), grown(_BUTTON_PX))
            button.setIconSize(QSize(scaled(_ICON_PX), scaled(_ICON_PX)))
        for widget in (self.pinned, self.view, self._overview, self._sample, self.card):
            widget.set_theme(theme)

    def show_now(self) -> None:
        """Refresh at once instead of in the next turn of the event loop."""
        self._refresh_timer.stop()
        self._refresh()

    # --- what is shown -------------------------------------------------------------------------------------

    def _message(self, message_id: MessageId) -> Message:
        try:
            return self._controller.shown.whole(message_id)
        except LookupError:
            # Another conversation was opened, and the dock still shows the one before.
            assert self._tree is not None
            return self._tree[message_id]

    def _siblings(self, message_id: MessageId) -> Sequence[MessageId]:
        return () if self._tree is None else self._tree.siblings(message_id)

    def _refresh_soon(self) -> None:
        if self.isVisible():
            self._refresh_timer.start()

    def _refresh(self) -> None:
        opened = self._controller.shown.opened
        if opened is not self._opened:
            self._opened = opened
            lineage, tree = (None, None) if opened is None else (opened.lineage, opened.tree)
            self._controller.costs.show(lineage, tree)
        self._tree, choices = (None, {}) if opened is None else opened.tree.without_parts(opened.choices)
        self.view.show_tree(self._tree, choices)
        self._show_pinned([] if opened is None else [message.id for message in opened.pinned])
        layout = self.view.layout_shown
        is_strip = self._overview.is_strip
        direction = QBoxLayout.Direction.LeftToRight if is_strip else QBoxLayout.Direction.TopToBottom
        self._body.setDirection(direction)
        self._overview.fit_side()
        self._pages.setCurrentIndex(0 if layout is None else 1)
        self._fit_button.setVisible(layout is not None)
        num_branches = 0 if layout is None else layout.num_branches
        self._count.setText(self.tr("{count} branches", "", num_branches).format(count=counted(num_branches)))
        self._count.setVisible(num_branches > 1)
        self._show_card()

    def _show_pinned(self, message_ids: Sequence[MessageId]) -> None:
        had_focus = self.pinned.hasFocus()
        self.pinned.show_ids(message_ids)
        if had_focus and not message_ids:
            self.view.setFocus()

    def _on_message_changed(self, _message_id: MessageId) -> None:
        if self.isVisible():
            self.view.viewport().update()
            self.pinned.viewport().update()
            self._show_card()
            self._controller.costs.refresh()

    def _refresh_costs(self) -> None:
        if self.isVisible():
            self._controller.costs.refresh()

    def _on_costs(self) -> None:
        if self.isVisible():
            self.view.viewport().update()
            self._show_card()

    def _show_card(self) -> None:
        """Show the message under the mouse in the card, else the current one."""
        layout = self.view.layout_shown
        spots = (None if layout is None else layout.get(spot_id) for spot_id in self._card_ids())
        spot = next((found for found in spots if found is not None), None)
        if spot is None or self._tree is None:
            self.card.clear()
        elif spot.num_folded:
            self.card.show_fold(fold_text(spot.num_folded))
        else:
            message = self._message(spot.id)
            self.card.show_message(message, self._tree.siblings(spot.id), self._controller.costs.get(spot.id))
            if not self._costs_timer.isActive() and self._controller.costs.get(spot.id) is None:
                self._costs_timer.start()

    def _request_costs(self) -> None:
        if self.isVisible():
            first = [spot_id for spot_id in self._card_ids() if spot_id > 0]
            in_sight = (*self.pinned.in_sight(), *self.view.in_sight())
            self._controller.costs.want(list(dict.fromkeys([*first, *in_sight])))

    def _card_ids(self) -> tuple[int, int, int]:
        """Return the spots for the card in order of preference; 0 for none."""
        picture = self.view.picture
        return self.pinned.active_id, picture.hovered_id, picture.current_id

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.show_now()
        # Branches may have changed while nobody asked for their costs.
        self._controller.costs.refresh()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._controller.costs.want(())


def _button(name: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setAccessibleName(name)
    button.setToolTip(tip)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
