"""The list of hooks with their switches, order and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFormLayout, QHBoxLayout, QLineEdit, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.model.generation_settings import Hook, HookOption
from app.sentences import translated
from app.ui.composer.chips import TextChips
from app.ui.parts.buttons import WrappingCheckBox
from app.ui.parts.labels import as_label, as_tool_tip, quiet_label
from app.ui.parts.layouts import order_tabs, tab_stops
from app.ui.theme import Theme, grown, icon, scaled

_INSET_PX = 28
_TARGET_PX = 28
_ICON_PX = 16


class HookRows(QWidget):
    """A row for each hook: first the active ones in the order of their calls, then the others by name."""

    changed = Signal()

    def __init__(self, names: Sequence[str], options: Mapping[str, Mapping[str, Any]], theme: Theme) -> None:
        super().__init__()
        self.names = tuple(names)
        """The active hooks, in order."""
        self.options: dict[str, dict[str, Any]] = {name: dict(given) for name, given in options.items()}
        self._theme = theme
        self._hooks: Mapping[str, Hook] = {}
        self._is_known = False
        self._focused: QWidget | None = None
        """The widget that gets the focus after the rows are built."""
        self.switches: dict[str, QCheckBox] = {}
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(4)
        self._rows.addWidget(quiet_label(self.tr("Looking for hooks…")))

    def show_hooks(self, hooks: Sequence[Hook]) -> None:
        """Show the hooks found; active hooks stay in the list even if they were not found."""
        found = {hook.name: hook for hook in hooks}
        if self._is_known and found == self._hooks:
            return
        self._hooks = found
        self._is_known = True
        self._show(None)

    def show_active(self, names: Sequence[str], options: Mapping[str, Mapping[str, Any]]) -> None:
        """Set the active hooks and their options."""
        if (tuple(names), options) != (self.names, self.options):
            self.names = tuple(names)
            self.options = {name: dict(given) for name, given in options.items()}
            self._show(None)

    def _show(self, focus: tuple[str, str] | None) -> None:
        """Rebuild the rows; `focus` is the hook and the button that was just used."""
        if not self._is_known:
            return
        while item := self._rows.takeAt(0):
            widget = item.widget()
            if widget is not None:
                # A layout shows a new widget a moment later, even if it was removed meanwhile.
                widget.hide()
                widget.deleteLater()
        self.switches = {}
        others = [name for name in self._hooks if name not in self.names]
        for name in (*self.names, *others):
            missing = Hook(name=name, problem=self.tr("This hook is no longer in the hooks folder. Turn it off."))
            self._add(self._row(self._hooks.get(name, missing), focus))
        if not self._hooks and not self.names:
            self._add(quiet_label(self.tr("There are no hooks.")))
        order_tabs(self, [stop for row in self._shown for stop in tab_stops(row)])
        if self._focused is not None:
            self._focused.setFocus()
            self._focused = None

    @property
    def _shown(self) -> list[QWidget]:
        """The rows from top to bottom."""
        items = (self._rows.itemAt(index) for index in range(self._rows.count()))
        return [widget for item in items if item is not None and (widget := item.widget()) is not None]

    def _add(self, row: QWidget) -> None:
        self._rows.addWidget(row)
        # The panel computes its height at once; the layout would show the row a moment later.
        row.show()

    def _row(self, hook: Hook, focus: tuple[str, str] | None) -> QWidget:
        row = QWidget()
        column = QVBoxLayout(row)
        column.setContentsMargins(0, 0, 0, 4)
        column.setSpacing(2)
        is_active = hook.name in self.names
        title, text = _title_and_text(hook)
        switch = WrappingCheckBox(title)
        switch.setChecked(is_active)
        switch.setEnabled(is_active or not hook.problem)
        switch.setToolTip(as_tool_tip(translated(hook.description or hook.summary)))
        switch.setAccessibleDescription(translated(hook.problem or hook.summary))
        switch.toggled.connect(partial(self._switch, hook.name))
        self.switches[hook.name] = switch
        head = QHBoxLayout()
        head.setSpacing(2)
        head.addWidget(switch, 1)
        if is_active and len(self.names) > 1:
            head.addWidget(self._move_button(hook.name, -1, focus))
            head.addWidget(self._move_button(hook.name, +1, focus))
        column.addLayout(head)
        summary = quiet_label(translated(hook.problem) or text)
        summary.setTextFormat(Qt.TextFormat.PlainText)
        if hook.problem:
            summary.setObjectName("warning")
        summary.setContentsMargins(_INSET_PX, 0, 0, 0)
        column.addWidget(summary)
        if is_active and hook.options:
            form = QFormLayout()
            form.setContentsMargins(_INSET_PX, 4, 0, 4)
            form.setHorizontalSpacing(12)
            form.setVerticalSpacing(6)
            for option in hook.options:
                form.addRow(as_label(option.name), self._field(hook.name, option))
            column.addLayout(form)
        if focus == (hook.name, "switch"):
            self._focused = switch
        return row

    def _move_button(self, name: str, step: int, focus: tuple[str, str] | None) -> QToolButton:
        button = QToolButton()
        button.setIcon(icon("up" if step < 0 else "down", self._theme.quiet_text))
        button.setIconSize(QSize(scaled(_ICON_PX), scaled(_ICON_PX)))
        button.setFixedSize(grown(_TARGET_PX), grown(_TARGET_PX))
        text = self.tr("Move {name} up") if step < 0 else self.tr("Move {name} down")
        button.setAccessibleName(text.format(name=name))
        button.setToolTip(as_tool_tip(button.accessibleName()))
        index = self.names.index(name) + step
        button.setEnabled(0 <= index < len(self.names))
        button.clicked.connect(partial(self._move, name, step))
        if focus == (name, str(step)):
            self._focused = button
        return button

    def _field(self, hook: str, option: HookOption) -> QWidget:
        value = self.options.get(hook, {}).get(option.name, option.default)
        name = f"{hook}, {option.name}"
        set_option = partial(self._set_option, hook, option)
        match option.kind:
            case "bool":
                check = QCheckBox()
                check.setChecked(bool(value))
                check.toggled.connect(set_option)
                field = check
            case "list" if not isinstance(value, str) and all(isinstance(item, str) for item in value or ()):
                chips = TextChips(name, value or (), self._theme)
                chips.changed.connect(lambda: set_option(list(chips.texts)))
                return chips
            case _:
                line = QLineEdit(_option_text(option, value))
                line.setPlaceholderText(self.tr("required") if option.is_required else "")
                line.editingFinished.connect(lambda: set_option(_parsed(option, line.text())))
                field = line
        field.setAccessibleName(name)
        return field

    # --- changes -------------------------------------------------------------------------------------------

    def _switch(self, name: str, is_active: bool) -> None:
        self.names = (*self.names, name) if is_active else tuple(other for other in self.names if other != name)
        self._show((name, "switch"))
        self.changed.emit()

    def _move(self, name: str, step: int, _is_checked: bool = False) -> None:
        names = list(self.names)
        index = names.index(name)
        names.insert(index + step, names.pop(index))
        self.names = tuple(names)
        self._show((name, str(step)))
        self.changed.emit()

    def _set_option(self, hook: str, option: HookOption, value: Any) -> None:
        given = {name: other for name, other in self.options.get(hook, {}).items() if name != option.name}
        if value is not None and value != option.default:
            given[option.name] = value
        if given != self.options.get(hook, {}):
            self.options = {name: other for name, other in self.options.items() if name != hook}
            if given:
                self.options[hook] = given
            self.changed.emit()

    @override
    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(QSize(0, self._rows.totalSizeHint().height()))


def _option_text(option: HookOption, value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) and option.kind == "str" else msgspec.json.encode(value).decode()


def _parsed(option: HookOption, text: str) -> Any:
    """Return the value of the typed text if it is JSON, else the text itself; None if it is empty."""
    if not text.strip():
        return None
    if option.kind == "str":
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


def _title_and_text(hook: Hook) -> tuple[str, str]:
    """Return the title and the description of a hook; a summary of the form "Name: text" gives both."""
    name, colon, _ = hook.summary.partition(": ")
    summary = translated(hook.summary)
    if not colon or name.casefold() != hook.name.replace("_", " ").casefold():
        return hook.name, summary
    title, _, rest = summary.partition(": ")
    return title, rest[:1].upper() + rest[1:]
