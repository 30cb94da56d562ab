"""The tree beside the transcript: its head, what is pinned, the tree or what it will look like, an overview, a card."""

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
from app.ui.theme import Theme, icon, scaled_beside
from app.ui.tree.pinned_branches import PinnedBranches
from app.ui.tree.tree_card import TreeCard
from app.ui.tree.tree_overview import TreeOverview
from app.ui.tree.tree_sample import TreeSample
from app.ui.tree.tree_view import TreeView
from app.ui.tree.tree_words import fold_in_words

WIDTH_PX = 300
_BUTTON_PX = 28
_HEAD_PX = 48
_SETTLED_MS = 40
"""So long nothing must be scrolled before it is asked what things in sight cost."""


class TreeDock(QFrame):
    """Shows the tree of the controller's conversation while it is visible itself."""

    close_asked = Signal()
    key_pressed = Signal(int, str)
    """A letter, or `Del`, was pressed on a message."""
    menu_asked = Signal(int, QPoint)
    """A message's menu, and where it is to open."""

    def __init__(self, controller: Controller, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("tree_dock")
        self._controller = controller
        self._opened: OpenConversation | None = None
        self._tree: Tree | None = None
        self.view = TreeView(theme, self._message, controller.costs.get)
        self.pinned = PinnedBranches(theme, self._message, self._siblings, controller.costs.get)
        self._overview = TreeOverview(self.view, theme)
        self._sample = TreeSample(theme)
        self.card = TreeCard(theme)
        self._count = QLabel()
        self._count.setObjectName("quiet")
        self._fit_button = _button(self.tr("Fit the tree into view"), self.tr("Fit the tree into view (0)"))
        self._close_button = _button(self.tr("Close the tree"), self.tr("Close the tree (Ctrl+T)"))
        self._body = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._pages = QStackedWidget()
        self._build()
        # Several things that happen at once are shown once.
        self._refresher = QTimer(self, singleShot=True, interval=0)
        self._refresher.timeout.connect(self._refresh)
        self._asker = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._asker.timeout.connect(self._want_costs)
        self._connect()
        self.set_theme(theme)

    def _build(self) -> None:
        title = QLabel(self.tr("Tree"))
        title.setObjectName("heading")
        bar = QFrame()
        bar.setObjectName("tree_head")
        bar.setFixedHeight(_HEAD_PX)
        head = QHBoxLayout(bar)
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
        # Beside its line.
        layout.setContentsMargins(1, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(bar)
        layout.addWidget(self._pages, 1)

    def _connect(self) -> None:
        controller, view = self._controller, self.view
        controller.shown.branch_changed.connect(self._refresh_soon)
        controller.shown.history_changed.connect(self._refresh_soon)
        controller.shown.message_changed.connect(self._on_message_changed)
        controller.costs.changed.connect(self._on_costs)
        view.key_pressed.connect(self.key_pressed)
        view.menu_asked.connect(self.menu_asked)
        view.current_changed.connect(self._show_card)
        view.pointed.connect(self._show_card)
        view.sight_changed.connect(self._asker.start)
        self._fit_button.clicked.connect(view.fit)
        pinned = self.pinned
        pinned.pointed.connect(self._show_card)
        pinned.gone_to.connect(view.set_current)
        pinned.gone_to.connect(view.gone_to)
        pinned.key_pressed.connect(self.key_pressed)
        pinned.menu_asked.connect(self.menu_asked)
        pinned.left.connect(view.left)
        self._close_button.clicked.connect(self.close_asked)

    def set_theme(self, theme: Theme) -> None:
        self.setFixedWidth(scaled_beside(WIDTH_PX))
        self._fit_button.setIcon(icon("fit", theme.quiet_text))
        self._close_button.setIcon(icon("close", theme.quiet_text))
        for part in (self.pinned, self.view, self._overview, self._sample, self.card):
            part.set_theme(theme)

    def show_now(self) -> None:
        """Show at once what would be shown a moment later."""
        self._refresher.stop()
        self._refresh()

    # --- what is shown -------------------------------------------------------------------------------------

    def _message(self, message_id: MessageId) -> Message:
        try:
            return self._controller.shown.message(message_id)
        except LookupError:
            # Another conversation was opened, and this one is still on screen.
            assert self._tree is not None
            return self._tree[message_id]

    def _siblings(self, message_id: MessageId) -> Sequence[MessageId]:
        return () if self._tree is None else self._tree.siblings(message_id)

    def _refresh_soon(self) -> None:
        if self.isVisible():
            self._refresher.start()

    def _refresh(self) -> None:
        opened = self._controller.shown.opened
        if opened is not self._opened:
            self._opened = opened
            self._controller.costs.show(None if opened is None else opened.lineage)
        self._tree = None if opened is None else opened.tree
        self.view.show_tree(self._tree, {} if opened is None else opened.choices)
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
            self._controller.costs.doubt()

    def _on_costs(self) -> None:
        if self.isVisible():
            self.view.viewport().update()
            self._show_card()

    def _show_card(self) -> None:
        """Tell of the message under the mouse or pinned where the keys are, else of the one that they work on."""
        layout = self.view.layout_shown
        spots = (None if layout is None else layout.get(spot_id) for spot_id in self._meant())
        spot = next((found for found in spots if found is not None), None)
        if spot is None or self._tree is None:
            self.card.clear()
        elif spot.num_folded:
            self.card.show_fold(fold_in_words(spot.num_folded))
        else:
            message = self._message(spot.id)
            self.card.show_message(message, self._tree.siblings(spot.id), self._controller.costs.get(spot.id))
            if not self._asker.isActive() and self._controller.costs.get(spot.id) is None:
                self._asker.start()

    def _want_costs(self) -> None:
        if self.isVisible():
            first = [spot_id for spot_id in self._meant() if spot_id > 0]
            in_sight = (*self.pinned.in_sight(), *self.view.in_sight())
            self._controller.costs.want(list(dict.fromkeys([*first, *in_sight])))

    def _meant(self) -> tuple[int, int, int]:
        """The spots that the card is about: the first that there is of them."""
        picture = self.view.picture
        return self.pinned.pointed_id, picture.pointed_id, picture.current_id

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.show_now()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._controller.costs.want(())


def _button(name: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setFixedSize(_BUTTON_PX, _BUTTON_PX)
    button.setIconSize(QSize(20, 20))
    button.setAccessibleName(name)
    button.setToolTip(tip)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
