"""The command palette: finds actions, branches, conversations, models and presets by a few letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QListView,
    QMainWindow,
    QStackedWidget,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.conversation.controller import Controller
from app.model.fuzzy import fit, folded
from app.model.generation_settings import BUILT_IN_PRESETS, Preset
from app.ui.composer.display_names import preset_name
from app.ui.header import model_label
from app.ui.menus import Menus, key_of, label
from app.ui.parts.labels import beginning, quiet_label
from app.ui.parts.list_rows import draw_elided, paint_row
from app.ui.parts.overlay import Overlay
from app.ui.theme import SMALL_PX, TEXT_PX, icon, scaled, scaled_beside, text_font
from app.ui.tree.tree_text import branch_text

_WIDTH_PX = 600
_HEIGHT_PX = 440
_ROW_PX = 36
_MARK_PX = 16
_MARGIN_PX, _GAP_PX = 12, 8
_MAX_SHOWN = 100
_LIST_KEYS = frozenset({Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown})
_ENTER_KEYS = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})
_BEHIND_ACTIONS = 5.0
_CHOICE = Qt.ItemDataRole.UserRole

_Index = QModelIndex | QPersistentModelIndex


class Choice(NamedTuple):
    """Something that the user can choose."""

    text: str
    aside: str
    """Shown at the right and also searched: the key of an action, else the kind of the choice."""
    mark: str
    """An icon's name."""
    act: Callable[[], object]
    handicap: float = 0.0
    """Subtracted from the score of a match."""
    is_checked: bool = False
    """Whether the choice is switched on; choosing it again may switch it off."""


class Palette(Overlay):
    """A text field with a list of matches. Enter closes the palette, then carries out the current choice."""

    def __init__(self, parent: QWidget, home: QWidget) -> None:
        """`home` receives the focus if the widget that had it no longer exists."""
        super().__init__(parent, _WIDTH_PX, _HEIGHT_PX, home)
        self.setAccessibleName(self.tr("Command palette"))
        self._choices: list[tuple[str, Choice]] = []
        self.field = QLineEdit()
        self.field.setObjectName("search_everything")
        self.field.setAccessibleName(self.tr("Command palette"))
        self.field.textChanged.connect(self._show_matches)
        self.field.installEventFilter(self)
        self._shown = _Choices(self)
        self.list = QListView()
        self.list.setObjectName("rows")
        self.list.setAccessibleName(self.tr("Results"))
        self.list.setModel(self._shown)
        self.list.setItemDelegate(_Rows(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.clicked.connect(self._choose)
        self._nothing = nothing = quiet_label(self.tr("No results. Try fewer letters."))
        nothing.setContentsMargins(12, 8, 12, 8)
        nothing.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.list)
        self._pages.addWidget(nothing)
        column = QVBoxLayout(self.card)
        column.setContentsMargins(_MARGIN_PX, _MARGIN_PX, _MARGIN_PX, _MARGIN_PX)
        column.setSpacing(_GAP_PX)
        column.addWidget(self.field)
        column.addWidget(self._pages, 1)

    def open(self, choices: Sequence[Choice]) -> None:
        """Show choices, in this order until the user types."""
        self._choices = [(folded(f"{choice.text} {choice.aside}"), choice) for choice in choices]
        self.field.clear()
        self._show_matches("")
        self.cover(self.field)

    @property
    def shown(self) -> list[Choice]:
        """The choices that match, the best first."""
        return list(self._shown.choices)

    def _show_matches(self, typed: str) -> None:
        wanted = folded(typed)
        found = [
            (choice.handicap - score, number, choice)
            for number, (text, choice) in enumerate(self._choices)
            if (score := fit(wanted, text)) is not None
        ]
        if wanted.strip():
            found.sort(key=lambda one: one[:2])
        self._shown.show_choices([choice for _, _, choice in found[:_MAX_SHOWN]])
        self._pages.setCurrentIndex(0 if found else 1)
        self.list.setCurrentIndex(self._shown.index(0))
        self.list.scrollToTop()
        self._fit()

    def _fit(self) -> None:
        """Make the card as high as the list."""
        self.card.ensurePolished()
        rows = self._shown.rowCount() * self.list.sizeHintForRow(0) if self._shown.choices else 0
        room = rows or self._nothing.sizeHint().height()
        self.fit(self.field.sizeHint().height() + room + 2 * _MARGIN_PX + 2 * _GAP_PX)

    def _choose(self, index: QModelIndex) -> None:
        if index.isValid():
            choice: Choice = index.data(_CHOICE)
            self.dismiss()
            choice.act()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and watched is self.field:
            if event.key() in _ENTER_KEYS:
                self._choose(self.list.currentIndex())
                return True
            if event.key() in _LIST_KEYS:
                QApplication.sendEvent(self.list, event)
                return True
        if event.type() == QEvent.Type.Resize and watched is self.field:
            self._fit_hint()
        return super().eventFilter(watched, event)

    def _fit_hint(self) -> None:
        hint, short = self.tr("Command, conversation, model"), self.tr("Search")
        fits = self.field.fontMetrics().horizontalAdvance(hint) <= self.field.width() - 2 * _MARGIN_PX
        self.field.setPlaceholderText(hint if fits else short)

    @override
    def focusNextPrevChild(self, next: bool) -> bool:
        # Only the field takes the focus.
        return True


class _Choices(QAbstractListModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.choices: Sequence[Choice] = ()

    def show_choices(self, choices: Sequence[Choice]) -> None:
        self.beginResetModel()
        self.choices = choices
        self.endResetModel()

    @override
    def rowCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.choices)

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        choice = self.choices[index.row()]
        match role:
            case Qt.ItemDataRole.UserRole:
                return choice
            case Qt.ItemDataRole.DisplayRole:
                return choice.text
            case Qt.ItemDataRole.AccessibleTextRole:
                parts = (choice.text, self.tr("checked") if choice.is_checked else "", choice.aside)
                return ", ".join(part for part in parts if part)
            case _:
                return None


class _Rows(QStyledItemDelegate):
    """Paints a mark, the text, and at the right the additional text."""

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        paint_row(painter, option)
        choice: Choice = index.data(_CHOICE)
        palette: QPalette = option.palette  # pyright: ignore[reportAttributeAccessIssue]
        room: QRect = option.rect.adjusted(12, 0, -12, 0)  # pyright: ignore[reportAttributeAccessIssue]
        quiet = palette.placeholderText().color().name()
        # As in the menus, a check mark replaces the icon.
        if mark := "check" if choice.is_checked else choice.mark:
            drawn = icon(mark, quiet).pixmap(scaled(_MARK_PX), scaled(_MARK_PX))
            painter.drawPixmap(room.left(), room.center().y() - scaled(_MARK_PX) // 2, drawn)
        small, font = text_font(SMALL_PX), text_font(TEXT_PX)
        left = room.adjusted(scaled(_MARK_PX) + 8, 0, 0, 0)
        # The text comes first: half a key or half a kind says nothing.
        aside = QFontMetrics(small).horizontalAdvance(choice.aside) + 1
        if QFontMetrics(font).horizontalAdvance(choice.text) + 8 + aside <= left.width() or aside < left.width() // 3:
            right = QRect(room.right() - aside, room.top(), aside, room.height())
            draw_elided(painter, right, choice.aside, small, quiet, Qt.AlignmentFlag.AlignRight)
            left.setRight(left.right() - aside - 8)
        draw_elided(painter, left, choice.text, font, palette.text().color().name())

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(0, scaled_beside(_ROW_PX))


class PaletteCommands(QObject):
    """Opens the palette with everything that the user can choose now."""

    def __init__(self, controller: Controller, menus: Menus, window: QMainWindow, field: QWidget) -> None:
        """`field` is where the user types messages."""
        super().__init__(window)
        self._field = field
        self._controller = controller
        self._menus = menus
        self._window = window
        self._palette: Palette | None = None

    def show(self) -> None:
        """Open the palette."""
        if self._palette is None:
            self._palette = Palette(self._window, self._field)
        # Actions are updated as when a menu opens, and before the palette takes the focus.
        self._menus.update_all()
        self._palette.open(
            [*self._actions(), *self._pinned(), *self._conversations(), *self._models(), *self._presets()]
        )

    def _actions(self) -> Iterator[Choice]:
        for name, action in self._menus:
            if name != "palette" and action.isEnabled() and action.isVisible():
                mark = self._menus.icon_name(name)
                yield Choice(label(action), key_of(action), mark, action.trigger, is_checked=action.isChecked())

    def _pinned(self) -> Iterator[Choice]:
        opened = self._controller.shown.opened
        for message in () if opened is None else opened.pinned:
            go = partial(self._controller.shown.go_to, message.id)
            yield Choice(branch_text(message), self.tr("Pinned branch"), "pin", go, _BEHIND_ACTIONS)

    def _conversations(self) -> Iterator[Choice]:
        kind, open_it = self.tr("Conversation"), self._controller.shown.open_conversation
        for one in self._controller.program.conversations.all:
            yield Choice(
                beginning(one.name),
                one.folder or kind,
                "leaf",
                self._then_write(partial(open_it, one.id)),
                _BEHIND_ACTIONS,
            )

    def _models(self) -> Iterator[Choice]:
        program = self._controller.program
        for name in ("guide", *program.settings.recent_models):
            load = self._then_write(partial(program.load_model, name))
            yield Choice(model_label(name), self.tr("Model"), "model", load, _BEHIND_ACTIONS)

    def _presets(self) -> Iterator[Choice]:
        for preset in (*BUILT_IN_PRESETS, *self._controller.program.settings.presets):
            use = self._then_write(partial(self._use, preset))
            yield Choice(preset_name(preset), self.tr("Preset"), "sampling", use, _BEHIND_ACTIONS)

    def _then_write(self, act: Callable[[], object]) -> Callable[[], None]:
        """Return a function that acts and gives the field the focus: the user's next step is to type a message."""

        def act_and_focus() -> None:
            act()
            self._field.setFocus(Qt.FocusReason.OtherFocusReason)

        return act_and_focus

    def _use(self, preset: Preset) -> None:
        preparation = self._controller.preparation
        preparation.set_generation(preset.apply_to(preparation.generation))
