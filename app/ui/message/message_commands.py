"""What the actions of a message do: on the one that has the focus, or on the last one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QMenu, QWidget, QWidgetAction

from app.conversation.controller import Controller
from app.model.message import MessageId
from app.model.presets import OURS, Preset
from app.ui.composer.composer import Composer
from app.ui.composer.display_names import preset_name
from app.ui.header import model_label
from app.ui.menus import Menus
from app.ui.message.action_row import ActionName
from app.ui.parts.labels import as_label, as_tool_tip
from app.ui.transcript.transcript import Transcript

_ACTIONS: tuple[ActionName, ...] = ("edit", "regenerate", "fork", "continue", "copy")
_NUM_ANSWERS = (2, 3, 4)
_HEADING_MARGINS_PX = (12, 8, 12, 4)


class MessageCommands(QObject):
    """Edit, regenerate, fork, continue, copy; walking between versions and messages; stop."""

    def __init__(self, controller: Controller, transcript: Transcript, composer: Composer, menus: Menus) -> None:
        super().__init__(transcript)
        self._menus = menus
        self._controller = controller
        self._transcript = transcript
        self._composer = composer
        transcript.action_asked.connect(self.act)
        transcript.more_asked.connect(self._show_more)

    def slots(self) -> dict[str, Callable[[], object]]:
        """What each action does, by its name in the menus."""
        return {
            **{name: partial(self._on_current, name) for name in _ACTIONS},
            "previous_sibling": partial(self._step_sibling, -1),
            "next_sibling": partial(self._step_sibling, +1),
            "previous_message": partial(self._step_message, -1),
            "next_message": partial(self._step_message, +1),
            "regenerate_with": self._regenerate_current_with,
            "stop": self._controller.stop,
        }

    def update(self) -> None:
        """Let those be chosen that are possible now."""
        current = self.current_id()
        possible = self._transcript.shown(current).actions if current is not None else ()
        for name in _ACTIONS:
            self._menus[name].setEnabled(name in possible)
        self._menus["regenerate_with"].setEnabled("regenerate" in possible)

    def act(self, message_id: MessageId, name: str) -> None:
        """Do with a message what was asked for."""
        match name:
            case "regenerate":
                self._controller.regenerate(message_id)
            case "regenerate_with":
                self._regenerate_with(message_id)
            case "fork":
                self._controller.fork(message_id)
                self._composer.text.setFocus()
            case "continue":
                self._controller.continue_answer(message_id)
            case "stop":
                self._controller.stop()
            case "copy":
                QGuiApplication.clipboard().setText(self._controller.shown.message(message_id).text)
            case _:
                pass

    def edit(self, message_id: MessageId) -> None:
        """Let another version of a message be written, wherever it stands."""
        if message_id not in self._transcript.message_ids:
            self._controller.shown.go_to(message_id)
        if (view := self._transcript.reveal(message_id)) is not None:
            view.begin_edit()

    def _regenerate_current_with(self) -> None:
        current = self.current_id()
        if current is not None:
            self._regenerate_with(current)

    def _regenerate_with(self, message_id: MessageId) -> None:
        view = self._transcript.reveal(message_id)
        if view is not None and "regenerate" in self._transcript.shown(message_id).actions:
            menu = RegenerateMenu(self._controller, message_id, self._transcript.window())
            menu.aboutToHide.connect(menu.deleteLater)
            bottom = view.mapToGlobal(QPoint(view.text.mapTo(view, QPoint(0, 0)).x(), view.height()))
            # Of a long message the end may be out of sight.
            sight = self._transcript.mapToGlobal(self._transcript.rect().bottomLeft())
            menu.popup(QPoint(bottom.x(), min(bottom.y(), sight.y())))

    def _show_more(self, _message_id: MessageId, place: QPoint) -> None:
        """The menu of messages, as the menu bar has it; the message has the focus."""
        self._menus.menu("Message").popup(place)

    def current_id(self) -> MessageId | None:
        """The message that is meant where none is named."""
        return self._transcript.current_message_id

    def _on_current(self, name: ActionName) -> None:
        current = self.current_id()
        if current is not None:
            if name == "edit" and (view := self._transcript.reveal(current)) is not None:
                view.begin_edit()
            self.act(current, name)

    def _step_sibling(self, step: int) -> None:
        current = self.current_id()
        if current is not None:
            ids = self._transcript.message_ids
            # Where there is nothing to switch, the nearest fork above is what is meant.
            upward = reversed(ids[: ids.index(current) + 1])
            fork = next((upper for upper in upward if len(self._controller.shown.siblings(upper)) > 1), current)
            self._transcript.step_sibling(fork, step)

    def _step_message(self, step: int) -> None:
        if self._transcript.message_ids and not self._transcript.walk(step):
            self._composer.text.setFocus(Qt.FocusReason.ShortcutFocusReason)


class RegenerateMenu(QMenu):
    """A menu with the options for one more answer: several at once, another preset, another model.

    The choice applies to these answers only.
    """

    def __init__(self, controller: Controller, message_id: MessageId, parent: QWidget) -> None:
        super().__init__(parent)
        self._controller = controller
        self._message_id = message_id
        self.setAccessibleName(self.tr("Regenerate with"))
        self.setToolTipsVisible(True)
        self._add_heading(self.tr("Side by side"))
        for number in _NUM_ANSWERS:
            self.addAction(self.tr("%n answer(s)", "", number), partial(controller.regenerate, message_id, number))
        self._add_heading(self.tr("Drawn otherwise"))
        settings = controller.program.settings
        for preset in (*OURS, *settings.presets):
            self.addAction(as_label(preset_name(preset)), partial(self._regenerate_by, preset))
        others = [name for name in ("guide", *settings.recent_models) if name != controller.program.session.name]
        if others:
            self._add_heading(self.tr("By another model"))
        for name in others:
            action = self.addAction(as_label(model_label(name)), partial(controller.regenerate_by, message_id, name))
            action.setToolTip(as_tool_tip(name))

    def _add_heading(self, text: str) -> None:
        # With a style sheet, Qt does not paint the text of a section.
        heading = QLabel(text)
        heading.setObjectName("quiet")
        heading.setContentsMargins(*_HEADING_MARGINS_PX)
        action = QWidgetAction(self)
        action.setDefaultWidget(heading)
        action.setEnabled(False)
        self.addAction(action)

    def _regenerate_by(self, preset: Preset) -> None:
        asking = preset.onto(self._controller.preparation.asking)
        self._controller.regenerate(self._message_id, asking=asking)
