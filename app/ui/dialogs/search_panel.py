"""The search over all conversations: a card over the window with a text field, filters and results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.archive.searching import MAX_HITS, Searcher, SearchResult
from app.model.search_filters import (
    Key,
    Mark,
    day_text,
    split_query,
    valid_filters,
    valid_marks,
    with_filter,
    with_mark,
)
from app.sentences import translated
from app.ui.dialogs.search_hits import HitList
from app.ui.parts.buttons import give_menu
from app.ui.parts.labels import as_label, quiet_label
from app.ui.parts.layouts import FlowLayout
from app.ui.parts.overlay import Overlay
from app.ui.theme import COLUMN_PX, Theme, icon, repolish, scaled

_MARGIN_PX = 24
_HEIGHT_PX = 620
_SPARE_PX = 12
_LIST_KEYS = frozenset({Qt.Key.Key_Down, Qt.Key.Key_PageDown})
_ENTER_KEYS = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})
_BESIDE = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
_WEEK_DAYS = 7
_MONTH_DAYS = 30
_YEAR_DAYS = 365


class SearchPanel(Overlay):
    """Searches while the user types. The arrow keys move through the results, and Enter opens one."""

    hit_chosen = Signal(int, int)
    """The ids of a conversation and of a message in it."""

    def __init__(self, searcher: Searcher, theme: Theme, parent: QWidget, home: QWidget) -> None:
        """`home` receives the focus if the widget that had it no longer exists."""
        super().__init__(parent, COLUMN_PX + 2 * _MARGIN_PX, _HEIGHT_PX, home)
        self._searcher = searcher
        self.setAccessibleName(self.tr("Search all conversations"))
        self.field = QLineEdit()
        self.field.setObjectName("search_everything")
        self.field.setAccessibleName(self.tr("Search all conversations"))
        self.field.setPlaceholderText(self.tr("Search all messages in all branches"))
        self.field.setClearButtonEnabled(False)
        self._icon = QLabel()
        self.close_button = QToolButton()
        self.close_button.setAccessibleName(self.tr("Close the search"))
        self.close_button.setToolTip(self.tr("Close (Esc)"))
        self.chips = SearchChips(theme)
        self.list = HitList()
        self.status = quiet_label("")
        self.hint = QLabel()
        self.hint.setObjectName("search_says")
        self.hint.setWordWrap(True)
        self.hint.setTextFormat(Qt.TextFormat.PlainText)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._pages = QStackedWidget()
        self._column = QVBoxLayout(self.card)
        self._lay_out()
        self.field.textChanged.connect(self._on_typed)
        self.field.installEventFilter(self)
        self.close_button.clicked.connect(self.dismiss)
        self.chips.typed.connect(self._on_chip)
        self.list.clicked.connect(self._go_to)
        self.list.installEventFilter(self)
        searcher.found.connect(self._on_found)
        self.set_theme(theme)
        self._explain()

    def _lay_out(self) -> None:
        self._pages.addWidget(self.hint)
        self._pages.addWidget(self.list)
        head = QHBoxLayout()
        head.setContentsMargins(16, 12, 12, 0)
        head.setSpacing(8)
        head.addWidget(self._icon)
        head.addWidget(self.field, 1)
        head.addWidget(self.close_button)
        chips = QHBoxLayout()
        chips.setContentsMargins(16, 0, 16, 0)
        chips.addWidget(self.chips)
        foot = QHBoxLayout()
        foot.setContentsMargins(16, 0, 16, 12)
        foot.addWidget(self.status)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(8)
        self._column.addLayout(head)
        self._column.addLayout(chips)
        self._column.addWidget(self._pages, 1)
        self._column.addLayout(foot)

    def set_theme(self, theme: Theme) -> None:
        self._icon.setPixmap(icon("search", theme.quiet_text).pixmap(scaled(20), scaled(20)))
        self.close_button.setIcon(icon("close", theme.quiet_text))
        self.chips.set_theme(theme)

    def open(self, text: str | None = None) -> None:
        """Show the card and focus its field with `text`. None means the text of the last search, selected."""
        self.cover(self.field)
        if text is None:
            self.field.selectAll()
            # Search again, because conversations may have changed.
            self._on_typed(self.field.text())
        else:
            self.field.setText(text)

    # --- searching ------------------------------------------------------------------------------------------

    def _on_typed(self, text: str) -> None:
        self.chips.show_text(text)
        self._searcher.search(text)

    def _on_chip(self, text: str) -> None:
        self.field.setText(text)
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_found(self, found: SearchResult) -> None:
        if not self.isVisible():
            return
        self.list.show_hits(found.hits)
        if found.hits:
            self._pages.setCurrentWidget(self.list)
            self.status.setText(
                self.tr("First %n message(s). Add words to narrow the search.", "", MAX_HITS)
                if len(found.hits) == MAX_HITS
                else self.tr("%n message(s). Press Enter to go there.", "", len(found.hits))
            )
        else:
            self._pages.setCurrentWidget(self.hint)
            self.status.setText("")
            self._explain_no_hits(found)
        if not found.error and not found.is_complete:
            self.status.setText(
                self.tr("The search index is still being written. Some old or long messages are not found yet.")
            )
        self._fit()

    def _explain_no_hits(self, found: SearchResult) -> None:
        if found.error:
            self.hint.setText(translated(found.error))
        elif not found.query.strip():
            self._explain()
        elif valid_filters(found.query) and split_query(found.query).words:
            self.hint.setText(self.tr("No results with these filters. Remove a filter to find more."))
        else:
            self.hint.setText(self.tr("No results in any branch. Messages in the trash are not searched."))

    def _fit(self) -> None:
        """Make the card as high as the results."""
        column, width = self._column, self.card.width()
        column.activate()
        parts = [column.itemAt(index) for index in range(column.count())]
        # The chips wrap, so their height depends on the width.
        others = [
            part.heightForWidth(width) if part.hasHeightForWidth() else part.sizeHint().height()
            for part in parts
            if part is not None and part.widget() is not self._pages
        ]
        is_list = self._pages.currentWidget() is self.list
        rows = self.list.model().rowCount() * self.list.sizeHintForRow(0)
        room = rows if is_list else self.hint.heightForWidth(width)
        self.fit(sum(others) + column.spacing() * len(others) + room + _SPARE_PX)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _explain(self) -> None:
        self.hint.setText(
            self.tr(
                "Searches all messages in all branches of all conversations, except in the trash.\n\nEnter "
                "words, “a phrase”, or the beginn* of a word.\nNarrow the search with from:you, "
                "from:answer, is:starred, is:pinned, model:guide, after:2026-01-31, before:2026-03-01."
            )
        )
        self.status.setText("")

    # --- results and keys -------------------------------------------------------------------------------------

    def _go_to(self, index: QModelIndex) -> None:
        hit = self.list.hit_at(index)
        if hit is not None:
            self.dismiss()
            self.hit_chosen.emit(hit.conversation.id, hit.message.id)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_here = watched is self.field or watched is self.list
        if is_here and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in _ENTER_KEYS:
                self._go_to(self.list.currentIndex())
                return True
            if watched is self.field and event.key() in _LIST_KEYS:
                # Screen readers read a result when the list has the focus.
                if self.list.chosen is not None:
                    self.list.setFocus(Qt.FocusReason.TabFocusReason)
                    QApplication.sendEvent(self.list, event)
                return True
            if watched is self.list and event.key() == Qt.Key.Key_Up and self.list.currentIndex().row() <= 0:
                self.field.setFocus(Qt.FocusReason.BacktabFocusReason)
                return True
            if watched is self.list and _is_typed(event):
                self.field.setFocus(Qt.FocusReason.OtherFocusReason)
                QApplication.sendEvent(self.field, event)
                return True
        return super().eventFilter(watched, event)

    @override
    def focusNextPrevChild(self, next: bool) -> bool:
        """Keep Tab inside the card while it is visible."""
        if not self.isVisible():
            return super().focusNextPrevChild(next)
        widgets: tuple[QWidget, ...] = (self.field, *self.chips.findChildren(QToolButton), self.list, self.close_button)
        focusable = [widget for widget in widgets if widget.isVisible() and widget.isEnabled()]
        focus = self.focusWidget()
        index = focusable.index(focus) if focus in focusable else 0
        following = focusable[(index + (1 if next else -1)) % len(focusable)]
        following.setFocus(Qt.FocusReason.TabFocusReason if next else Qt.FocusReason.BacktabFocusReason)
        return True


class SearchChips(QWidget):
    """The filters of a search as buttons: role, date, model, starred, pinned.

    The buttons show and change the filters in the search text, which is the only place where filters are stored.
    """

    typed = Signal(str)
    """The new text for the search field."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._text = ""
        self._models: Sequence[str] = ()
        self.role = self._menu_chip(self.tr("Filter by author"))
        self.date = self._menu_chip(self.tr("Filter by date"))
        self.model = self._menu_chip(self.tr("Filter by model"))
        self.starred = self._mark_chip("starred", self.tr("Starred"), self.tr("Only starred messages (is:starred)"))
        self.pinned = self._mark_chip("pinned", self.tr("Pinned"), self.tr("Only pinned messages (is:pinned)"))
        row = FlowLayout(self)
        row.setSpacing(8)
        for chip in (self.role, self.date, self.model, self.starred, self.pinned):
            chip.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
            row.addWidget(chip)
        self.set_theme(theme)
        self.show_text("")

    def set_theme(self, theme: Theme) -> None:
        self.starred.setIcon(icon("star", theme.text))
        self.pinned.setIcon(icon("pin", theme.text))
        for chip in (self.role, self.date, self.model):
            chip.setIcon(icon("down", theme.quiet_text))

    def set_models(self, names: Sequence[str]) -> None:
        """Set the models to choose from."""
        self._models = names
        self.show_text(self._text)

    def show_text(self, text: str) -> None:
        """Show the filters of a search text."""
        self._text = text
        given = valid_filters(text)
        roles = {
            None: self.tr("Anyone"),
            "you": self.tr("You"),
            "answer": self.tr("Answers"),
            "system": self.tr("System prompts"),
            "note": self.tr("Notes"),
            "file": self.tr("Files"),
        }
        self._fill(self.role, "from", roles, given.get("from", "").lower() or None)
        dates = {
            None: self.tr("Any time"),
            day_text(0): self.tr("Today"),
            day_text(_WEEK_DAYS): self.tr("Last seven days"),
            day_text(_MONTH_DAYS): self.tr("Last 30 days"),
            day_text(_YEAR_DAYS): self.tr("Last year"),
        }
        since, until = given.get("after"), given.get("before")
        self._fill(self.date, "after", dates, since)
        if until is not None:
            since_text = dates.get(since, since) if since else ""
            until_text = self.tr("before {day}").format(day=until)
            self.date.setText(f"{since_text}, {until_text}" if since_text else until_text)
        models: dict[str | None, str] = {None: self.tr("Any model"), **{name: name for name in self._models}}
        self._fill(self.model, "model", models, given.get("model"))
        marks = valid_marks(text)
        for chip, is_wanted in ((self.starred, "starred" in marks), (self.pinned, "pinned" in marks)):
            blocked = chip.blockSignals(True)
            chip.setChecked(is_wanted)
            chip.blockSignals(blocked)

    def _fill(self, chip: QToolButton, key: Key, names: dict[str | None, str], chosen: str | None) -> None:
        menu = chip.menu()
        menu.clear()
        for value, name in names.items():
            action = QAction(as_label(name), menu)
            action.setCheckable(True)
            action.setChecked(value == chosen)
            action.triggered.connect(partial(self._choose, key, value))
            menu.addAction(action)
        chip.setText(as_label(names.get(chosen) or self.tr("since {day}").format(day=chosen)))
        if key == "model" and chosen not in names:
            chip.setText(as_label(chosen or ""))
        chip.setProperty("narrows", chosen is not None)
        chip.setAccessibleName(f"{chip.toolTip()}: {chip.text()}")
        repolish(chip)

    def _choose(self, key: Key, value: str | None, _is_checked: bool = False) -> None:
        self.typed.emit(with_filter(self._text, key, value))

    def _on_mark(self, mark: Mark, is_on: bool) -> None:
        self.typed.emit(with_mark(self._text, mark, is_wanted=is_on))

    def _mark_chip(self, mark: Mark, text: str, tip: str) -> QToolButton:
        chip = QToolButton()
        chip.setObjectName("chip")
        chip.setText(text)
        chip.setToolTip(tip)
        chip.setCheckable(True)
        chip.setToolButtonStyle(_BESIDE)
        chip.toggled.connect(partial(self._on_mark, mark))
        return chip

    def _menu_chip(self, name: str) -> QToolButton:
        chip = QToolButton()
        chip.setObjectName("chip")
        chip.setToolTip(name)
        chip.setToolButtonStyle(_BESIDE)
        give_menu(chip, QMenu(chip))
        return chip


def _is_typed(event: QKeyEvent) -> bool:
    """Whether a key that was pressed in the list is typing, which goes to the field."""
    is_text = bool(event.text()) and event.text().isprintable()
    return is_text or event.key() == Qt.Key.Key_Backspace
