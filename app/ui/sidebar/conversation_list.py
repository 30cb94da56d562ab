"""The list of conversations in sections, worked by mouse and keyboard."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QPalette
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QTreeView
from typing_extensions import override

from app.conversation.controller import Controller
from app.ui.sidebar.conversation_model import ID, IS_ANSWERING, KEY, ConversationModel, sections
from app.ui.theme import SMALL_PX, Theme, icon, scaled, scaled_beside, text_font

_ROW_PX = 34
_ICON_PX = 16


class ConversationList(QTreeView):
    """Enter opens a conversation or folds a section, F2 renames, Delete deletes. Folded sections are remembered."""

    chosen = Signal(int)
    opened_by_pointer = Signal()
    """A conversation was opened by a click, which moves the focus to the page. After Enter the focus stays here."""
    menu_requested = Signal(int, QPoint)
    """A conversation's id, and the global position for its menu."""
    section_menu_requested = Signal(str, QPoint)
    """A section's key, and the global position for its menu."""
    delete_requested = Signal(int)

    def __init__(self, controller: Controller, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("conversations")
        self.setAccessibleName(self.tr("Conversations"))
        self._controller = controller
        self._conversations = controller.program.conversations
        self._is_filling = False
        self.rows = ConversationModel(self)
        self.setModel(self.rows)
        self._delegate = _RowDelegate(self, theme)
        self.setItemDelegate(self._delegate)
        self.setHeaderHidden(True)
        self.setIndentation(0)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setExpandsOnDoubleClick(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setDragDropOverwriteMode(True)
        self.setTabKeyNavigation(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu)
        self.clicked.connect(self._on_clicked)
        self.expanded.connect(self._remember_folded)
        self.collapsed.connect(self._remember_folded)
        self.rows.renamed.connect(self._conversations.rename)
        self._conversations.changed.connect(self.refresh)
        controller.shown.branch_changed.connect(self.select_open)
        answers = controller.program.answers
        for changed in (answers.requested, answers.ended, controller.shown.branch_changed):
            changed.connect(self._update_answering)
        self.refresh()

    def set_theme(self, theme: Theme) -> None:
        # The window's style sheet changes too, which repaints everything.
        self._delegate.theme = theme

    def refresh(self) -> None:
        """Reload the conversations."""
        current_id = self.current_id
        self._is_filling = True
        today = datetime.now().astimezone().date()
        projects = self._controller.program.projects.names
        self.rows.show_sections(sections(self._conversations.all, today, projects))
        folded = self._controller.program.settings.folded_sections
        for row in range(self.rows.rowCount()):
            index = self.rows.index(row, 0)
            self.setExpanded(index, index.data(KEY) not in folded)
        self._is_filling = False
        if self.hasFocus() and current_id is not None:
            self._make_current(current_id)
        else:
            self.select_open()

    def _update_answering(self) -> None:
        # The open conversation shows its answer, and painting a mark would delay the first words.
        opened = self._controller.shown.conversation
        shown = frozenset[int]() if opened is None else {opened.id}
        self.rows.show_answering(self._controller.program.answers.conversation_ids - shown)

    @property
    def current_id(self) -> int | None:
        """The id of the conversation in the current row; None if there is none."""
        found = self.currentIndex().data(ID)
        return found if isinstance(found, int) else None

    def select_open(self) -> None:
        """Select the conversation that the window shows."""
        opened = self._controller.shown.conversation
        if opened is None:
            self.setCurrentIndex(QModelIndex())
            self.clearSelection()
        else:
            self._make_current(opened.id)

    def begin_rename(self, conversation_id: int) -> bool:
        """Start to rename a conversation in its row; return False if the list does not show it."""
        index = self.rows.index_of(conversation_id)
        if not index.isValid() or not self.isVisible():
            return False
        self.expand(index.parent())
        self.scrollTo(index)
        self.setCurrentIndex(index)
        self.edit(index)
        return True

    def _make_current(self, conversation_id: int) -> None:
        index = self.rows.index_of(conversation_id)
        if index != self.currentIndex() or not index.isValid():
            # A folded section stays folded.
            is_shown = index.isValid() and self.isExpanded(index.parent())
            self.setCurrentIndex(index if is_shown else QModelIndex())

    def _open(self, index: QModelIndex) -> None:
        conversation_id = index.data(ID)
        if conversation_id is None:
            self.setExpanded(index, not self.isExpanded(index))
        else:
            self.chosen.emit(conversation_id)

    def _on_clicked(self, index: QModelIndex) -> None:
        self._open(index)
        if index.data(ID) is not None:
            self.opened_by_pointer.emit()

    def _remember_folded(self) -> None:
        if self._is_filling:
            return
        indexes = [self.rows.index(row, 0) for row in range(self.rows.rowCount())]
        shown = {index.data(KEY): self.isExpanded(index) for index in indexes}
        # Sections that are empty now keep their state.
        others = [key for key in self._controller.program.settings.folded_sections if key not in shown]
        folded = [key for key, is_expanded in shown.items() if not is_expanded]
        self._controller.program.preferences.change(folded_sections=(*others, *folded))

    def _on_menu(self, position: QPoint) -> None:
        index = self.indexAt(position)
        global_position = self.viewport().mapToGlobal(position)
        if index.data(ID) is not None:
            self.menu_requested.emit(index.data(ID), global_position)
        elif index.isValid():
            self.section_menu_requested.emit(index.data(KEY), global_position)

    @override
    def event(self, event: QEvent) -> bool:
        # In the list, these keys do not trigger the window's shortcuts.
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            is_ours = event.key() in {Qt.Key.Key_Delete, Qt.Key.Key_F2} and not event.modifiers()
            if is_ours and self.state() != QAbstractItemView.State.EditingState:
                event.accept()
                return True
        return super().event(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        index, conversation_id = self.currentIndex(), self.current_id
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if index.isValid():
                self._open(index)
            case Qt.Key.Key_Delete | Qt.Key.Key_Backspace if conversation_id is not None:
                self.delete_requested.emit(conversation_id)
            case Qt.Key.Key_F2 if conversation_id is not None:
                self.begin_rename(conversation_id)
            case Qt.Key.Key_Menu if conversation_id is not None:
                self.menu_requested.emit(conversation_id, self._below(index))
            case Qt.Key.Key_Menu if index.isValid():
                self.section_menu_requested.emit(index.data(KEY), self._below(index))
            case _:
                super().keyPressEvent(event)

    def _below(self, index: QModelIndex) -> QPoint:
        return self.viewport().mapToGlobal(self.visualRect(index).bottomLeft())

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.currentIndex().isValid() and self.rows.rowCount():
            self.setCurrentIndex(self.rows.index(0, 0))

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self.state() != QAbstractItemView.State.EditingState:
            self.select_open()


class _RowDelegate(QStyledItemDelegate):
    """Draws a section's title small and quiet, with an arrow that shows whether the section is open."""

    def __init__(self, view: QTreeView, theme: Theme) -> None:
        super().__init__(view)
        self.theme = theme
        self._view = view

    @override
    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        if index.data(ID) is not None:
            if index.data(IS_ANSWERING):
                self._show_icon(option, "leaf", self.theme.accent)
                option.decorationPosition = QStyleOptionViewItem.Position.Right  # pyright: ignore[reportAttributeAccessIssue]
            return
        is_open = isinstance(index, QModelIndex) and self._view.isExpanded(index)
        option.font = text_font(SMALL_PX)  # pyright: ignore[reportAttributeAccessIssue] (Qt's fields are set so)
        self._show_icon(option, "down" if is_open else "right", self.theme.quiet_text)
        option.palette.setColor(QPalette.ColorRole.Text, QColor(self.theme.quiet_text))  # pyright: ignore[reportAttributeAccessIssue]

    def _show_icon(self, option: QStyleOptionViewItem, name: str, colour: str) -> None:
        option.icon = icon(name, colour)  # pyright: ignore[reportAttributeAccessIssue]
        option.decorationSize = QSize(scaled(_ICON_PX), scaled(_ICON_PX))  # pyright: ignore[reportAttributeAccessIssue]
        option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration  # pyright: ignore[reportAttributeAccessIssue]

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, scaled_beside(_ROW_PX))
