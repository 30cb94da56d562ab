"""The command palette: everything that can be done or opened, found by a few letters; it does none of it itself."""

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
from PySide6.QtGui import QKeyEvent, QPainter, QPalette
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
from app.model.presets import OURS, Preset
from app.ui.composer.display_names import preset_name
from app.ui.header import model_label
from app.ui.menus import Menus, key_of, label
from app.ui.parts.labels import quiet_label
from app.ui.parts.list_rows import draw_elided, paint_row
from app.ui.parts.overlay import Overlay
from app.ui.theme import SMALL_PX, TEXT_PX, icon, text_font
from app.ui.tree.tree_text import branch_text

_WIDTH_PX = 600
_HEIGHT_PX = 440
_ROW_PX = 36
_MARK_PX = 16
_MOST_SHOWN = 100
_LIST_KEYS = frozenset({Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown})
_ENTER_KEYS = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})
_BEHIND_ACTIONS = 5.0
_CHOICE = Qt.ItemDataRole.UserRole

_Index = QModelIndex | QPersistentModelIndex


class Choice(NamedTuple):
    """Something that can be chosen."""

    text: str
    aside: str
    """Its key, or of what kind it is; it is looked in, too."""
    mark: str
    """An icon's name."""
    act: Callable[[], object]
    handicap: float = 0.0
    """By how much it comes behind others that fit as well."""
    is_checked: bool = False
    """Whether it holds already; to choose it may mean that it is to hold no more."""


class Palette(Overlay):
    """A field and below it what fits; Enter does what is chosen, after the focus is back where it was."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, _WIDTH_PX, _HEIGHT_PX)
        self.setAccessibleName(self.tr("Command palette"))
        self._choices: list[tuple[str, Choice]] = []
        self.field = QLineEdit()
        self.field.setObjectName("search_everything")
        self.field.setAccessibleName(self.tr("Command palette"))
        self.field.setPlaceholderText(self.tr("Command, conversation, model, preset"))
        self.field.textChanged.connect(self._show_fitting)
        self.field.installEventFilter(self)
        self._shown = _Choices(self)
        self.list = QListView()
        self.list.setObjectName("rows")
        self.list.setAccessibleName(self.tr("What fits"))
        self.list.setModel(self._shown)
        self.list.setItemDelegate(_Rows(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.clicked.connect(self._do)
        nothing = quiet_label(self.tr("Nothing is called so. Fewer letters find more."))
        nothing.setContentsMargins(12, 8, 12, 8)
        nothing.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.list)
        self._pages.addWidget(nothing)
        column = QVBoxLayout(self.card)
        column.setContentsMargins(12, 12, 12, 12)
        column.setSpacing(8)
        column.addWidget(self.field)
        column.addWidget(self._pages, 1)

    def open(self, choices: Sequence[Choice]) -> None:
        """Offer these; as long as nothing is typed, in this order."""
        self._choices = [(folded(f"{choice.text} {choice.aside}"), choice) for choice in choices]
        self.field.clear()
        self._show_fitting("")
        self.cover(self.field)

    @property
    def shown(self) -> list[Choice]:
        """What fits, the best first."""
        return list(self._shown.choices)

    def _show_fitting(self, typed: str) -> None:
        looked_for = folded(typed)
        found = [
            (choice.handicap - how_well, number, choice)
            for number, (text, choice) in enumerate(self._choices)
            if (how_well := fit(looked_for, text)) is not None
        ]
        if looked_for.strip():
            found.sort(key=lambda one: one[:2])
        self._shown.show_choices([choice for _, _, choice in found[:_MOST_SHOWN]])
        self._pages.setCurrentIndex(0 if found else 1)
        self.list.setCurrentIndex(self._shown.index(0))
        self.list.scrollToTop()

    def _do(self, index: QModelIndex) -> None:
        if index.isValid():
            choice: Choice = index.data(_CHOICE)
            self.dismiss()
            choice.act()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and watched is self.field:
            if event.key() in _ENTER_KEYS:
                self._do(self.list.currentIndex())
                return True
            if event.key() in _LIST_KEYS:
                QApplication.sendEvent(self.list, event)
                return True
        return super().eventFilter(watched, event)

    @override
    def focusNextPrevChild(self, next: bool) -> bool:
        # The field is the one place of it; Tab leads nowhere else.
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
    """A mark, the text, and at the right what stands aside."""

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        paint_row(painter, option)
        choice: Choice = index.data(_CHOICE)
        palette: QPalette = option.palette  # pyright: ignore[reportAttributeAccessIssue]
        room: QRect = option.rect.adjusted(12, 0, -12, 0)  # pyright: ignore[reportAttributeAccessIssue]
        quiet = palette.placeholderText().color().name()
        # As in the menus a check takes the place of the mark.
        if mark := "check" if choice.is_checked else choice.mark:
            drawn = icon(mark, quiet).pixmap(_MARK_PX, _MARK_PX)
            painter.drawPixmap(room.left(), room.center().y() - _MARK_PX // 2, drawn)
        small = text_font(SMALL_PX)
        aside = room.width() // 3
        left = room.adjusted(_MARK_PX + 8, 0, -aside - 8, 0)
        draw_elided(painter, left, choice.text, text_font(TEXT_PX), palette.text().color().name())
        right = QRect(room.right() - aside, room.top(), aside, room.height())
        draw_elided(painter, right, choice.aside, small, quiet, Qt.AlignmentFlag.AlignRight)

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(0, _ROW_PX)


class PaletteCommands(QObject):
    """Opens the palette over a window."""

    def __init__(self, controller: Controller, menus: Menus, window: QMainWindow) -> None:
        super().__init__(window)
        self._controller = controller
        self._menus = menus
        self._window = window
        self._palette: Palette | None = None

    def show(self) -> None:
        """Open the palette with what is possible now."""
        if self._palette is None:
            self._palette = Palette(self._window)
        # Each menu finds out what is possible when it opens; so it does here, before the focus is in the palette.
        self._menus.look_again()
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
            yield Choice(one.name, one.folder or kind, "leaf", partial(open_it, one.id), _BEHIND_ACTIONS)

    def _models(self) -> Iterator[Choice]:
        program = self._controller.program
        for name in ("guide", *program.settings.recent_models):
            load = partial(program.load_model, name)
            yield Choice(model_label(name), self.tr("Model"), "model", load, _BEHIND_ACTIONS)

    def _presets(self) -> Iterator[Choice]:
        for preset in (*OURS, *self._controller.program.settings.presets):
            use = partial(self._use, preset)
            yield Choice(preset_name(preset), self.tr("Preset"), "sampling", use, _BEHIND_ACTIONS)

    def _use(self, preset: Preset) -> None:
        preparation = self._controller.preparation
        preparation.ask_so(preset.onto(preparation.asking))
