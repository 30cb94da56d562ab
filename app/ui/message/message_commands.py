"""The commands of the Message menu, of keys and of buttons on messages; Undo and Redo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, assert_never

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QMenu, QWidget, QWidgetAction

from app.conversation.controller import Controller
from app.model.attachment import split_file
from app.model.generation_settings import BUILT_IN_PRESETS, Preset
from app.model.message import MessageId
from app.ui.composer.composer import Composer
from app.ui.composer.display_names import preset_name
from app.ui.dialogs import questions
from app.ui.header import model_label
from app.ui.menus import SHORT_MESSAGE_MENU, Menus
from app.ui.message.message_action import (
    ROW_ACTIONS,
    TREE_ACTIONS,
    VERSION_ACTIONS,
    ContinueAfter,
    ForkAtToken,
    MessageAction,
    MessageRequest,
    OpenEntry,
    OpenMenu,
    ReplaceText,
    SaveAndContinue,
    SaveVersion,
    ShowSibling,
)
from app.ui.parts.labels import as_label, as_tool_tip
from app.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from app.ui.message.message_editor import MessageEditor
    from app.ui.message.message_view import MessageView

STEPS = (
    QT_TRANSLATE_NOOP("Steps", "Send"),
    QT_TRANSLATE_NOOP("Steps", "Edit"),
    QT_TRANSLATE_NOOP("Steps", "Replace"),
    QT_TRANSLATE_NOOP("Steps", "Regenerate"),
    QT_TRANSLATE_NOOP("Steps", "Continue"),
    QT_TRANSLATE_NOOP("Steps", "Fork at token"),
    QT_TRANSLATE_NOOP("Steps", "Star"),
    QT_TRANSLATE_NOOP("Steps", "Unstar"),
    QT_TRANSLATE_NOOP("Steps", "Pin branch"),
    QT_TRANSLATE_NOOP("Steps", "Unpin branch"),
    QT_TRANSLATE_NOOP("Steps", "Name branch"),
    QT_TRANSLATE_NOOP("Steps", "Prune"),
)
"""The English names that the controller uses for steps that can be undone."""

_NUM_ANSWERS = (2, 3, 4)
_HEADING_MARGINS_PX = (12, 8, 12, 4)


class MessageCommands(QObject):
    """Carries out all actions on messages. The menu works on the current message of the transcript."""

    versions_requested = Signal(object)
    """The user wants to see these siblings side by side: a list of message ids."""
    comparison_requested = Signal(int)
    """The user wants to compare this message with its previous version: a message id."""
    refused = Signal(str)
    """Why an action was not carried out."""

    def __init__(self, controller: Controller, transcript: Transcript, composer: Composer, menus: Menus) -> None:
        super().__init__(transcript)
        self._menus = menus
        self._controller = controller
        self._transcript = transcript
        self._composer = composer
        transcript.action_requested.connect(self.act)
        menus.menu("Message").aboutToShow.connect(self._update)
        controller.shown.history_changed.connect(self._update_tree_actions)
        controller.shown.branch_changed.connect(self._update_page_actions)
        transcript.editor_opened.connect(partial(self._show_replace, True))
        self._show_replace(False)
        self._update_page_actions()

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {
            **{action.value: partial(self._act_on_current, action) for action in MessageAction},
            "stop": self._controller.stop,
            "previous_sibling": partial(self._step_sibling, -1),
            "next_sibling": partial(self._step_sibling, +1),
            "previous_message": partial(self._step_message, -1),
            "next_message": partial(self._step_message, +1),
        }

    def current_id(self) -> MessageId | None:
        """Return the message that the menu works on; None if there is none."""
        return self._transcript.current_message_id

    def act(self, message_id: MessageId, request: MessageRequest) -> None:
        """Carry out an action on a message of the tree. An action that is impossible now does nothing."""
        controller = self._controller
        # The versions, marks and branches of a message belong to its first part.
        first_id = controller.shown.first_part(message_id)
        match request:
            case MessageAction.EDIT:
                self.edit(self._editable_part(message_id))
            case MessageAction.REGENERATE:
                controller.regenerate(message_id)
            case MessageAction.REGENERATE_WITH:
                self._open_regenerate_menu(message_id)
            case MessageAction.FORK:
                controller.fork(message_id)
                self._composer.text.setFocus()
            case MessageAction.CONTINUE:
                self._continue(message_id)
            case MessageAction.COPY:
                message = controller.shown.message(message_id)
                if message.role not in {"note", "file"}:
                    message = controller.shown.whole(message_id)
                text = split_file(message)[1] if message.role == "file" else message.text
                QGuiApplication.clipboard().setText(text)
            case MessageAction.STAR:
                controller.star(first_id)
            case MessageAction.PIN_BRANCH:
                controller.pin_branch(first_id)
            case MessageAction.NAME_BRANCH:
                name = questions.ask_branch_name(self._transcript.window(), controller.shown.message(first_id).name)
                if name is not None:
                    controller.name_branch(first_id, name)
            case MessageAction.PRUNE:
                if controller.can_prune(first_id):
                    controller.prune(first_id)
            case MessageAction.SIDE_BY_SIDE:
                if self._has_versions(first_id):
                    self.versions_requested.emit(list(controller.shown.siblings(first_id)))
            case MessageAction.COMPARE:
                if self._has_versions(first_id):
                    self.comparison_requested.emit(first_id)
            case MessageAction.KEEP_ONLY:
                if self._has_versions(first_id):
                    controller.keep_only(first_id)
            case SaveVersion(text):
                controller.edit(message_id, text)
            case MessageAction.REPLACE:
                self._replace()
            case SaveAndContinue(text):
                controller.edit_and_continue(message_id, text)
            case ReplaceText(text):
                controller.replace(message_id, text)
            case ShowSibling(step):
                self._transcript.step_sibling(first_id, step)
            case ForkAtToken(token_index, token_id):
                controller.forks.fork_at_token(message_id, token_index, token_id)
            case ContinueAfter(num_chars):
                controller.forks.continue_with(message_id, controller.shown.message(message_id).text[:num_chars])
            case OpenEntry(name):
                self._menus[name].trigger()
            case OpenMenu(position, left_out):
                self._open_menu(position, left_out)
            case _:
                assert_never(request)

    def possible(self, message_id: MessageId) -> list[MessageAction]:
        """Return the actions that are possible on a message anywhere in the tree."""
        message = self._controller.shown.parts(message_id)[-1]
        match self._controller.shown.whole(message_id).role:
            case "assistant":
                can_continue = self._controller.shown.can_continue(message)
                actions = [action for action in ROW_ACTIONS if action != MessageAction.CONTINUE or can_continue]
            case "user":
                actions = [action for action in ROW_ACTIONS if action != MessageAction.CONTINUE]
            case "system":
                actions = [MessageAction.EDIT, MessageAction.COPY]
            case _:
                actions = [MessageAction.COPY]
        return [*actions, *self._possible_tree_actions(message_id)]

    def is_marked(self, message_id: MessageId, action: MessageAction) -> bool | None:
        """Return whether a message has the mark that an action sets; None if the action sets none."""
        message = self._controller.shown.message(self._controller.shown.first_part(message_id))
        match action:
            case MessageAction.STAR:
                return message.starred_ms is not None
            case MessageAction.PIN_BRANCH:
                return message.pinned_ms is not None
            case _:
                return None

    def label(self, message_id: MessageId, action: MessageAction) -> str:
        """Return the menu text of an action. For actions that prune, it contains the number of messages."""
        controller = self._controller
        message_id = controller.shown.first_part(message_id)
        match action:
            case MessageAction.PRUNE:
                return self.tr("Prune (%n message(s))", "", controller.shown.subtree_size(message_id))
            case MessageAction.KEEP_ONLY:
                others = [other for other in controller.shown.siblings(message_id) if other != message_id]
                return self.tr(
                    "Keep only this version (prune %n message(s))", "", controller.shown.subtree_size(*others)
                )
            case _:
                return self._menus.own_text(action.value)

    def _possible_tree_actions(self, message_id: MessageId) -> list[MessageAction]:
        message_id = self._controller.shown.first_part(message_id)
        can_prune = self._controller.can_prune(message_id)
        has_versions = len(self._controller.shown.siblings(message_id)) > 1
        return [
            action
            for action in TREE_ACTIONS
            if (can_prune or action != MessageAction.PRUNE) and (has_versions or action not in VERSION_ACTIONS)
        ]

    def _has_versions(self, message_id: MessageId) -> bool:
        has_versions = len(self._controller.shown.siblings(message_id)) > 1
        if not has_versions:
            self.refused.emit(self.tr("This message has only one version. Edit or regenerate it to make another."))
        return has_versions

    # --- the menu ------------------------------------------------------------------------------------------

    def _open_menu(self, position: QPoint, left_out: Sequence[MessageAction] = ()) -> None:
        """Open a short menu with the actions that are possible on the current message.

        It begins with `left_out`, the actions whose buttons have no room.
        """
        whole = self._menus.menu("Message")
        # Update the actions, as if the whole menu had been opened.
        whole.aboutToShow.emit()
        menu = QMenu(self._transcript.window())
        menu.setObjectName("message_menu")
        menu.aboutToHide.connect(menu.deleteLater)
        for name in dict.fromkeys((*(action.value for action in left_out), *SHORT_MESSAGE_MENU)):
            action = self._menus[name]
            if action.isEnabled() and action.isVisible():
                menu.addAction(self._menus.copied(name, menu))
        menu.setMinimumWidth(min(whole.minimumWidth(), menu.sizeHint().width()))
        menu.popup(position)

    def _update(self) -> None:
        """Enable the possible actions in the menu that is about to open, and show how many messages pruning removes."""
        current = self.current_id()
        possible = self._transcript.shown(current).actions if current is not None else ()
        for action in ROW_ACTIONS:
            self._menus[action.value].setEnabled(action in possible)
        self._menus[MessageAction.REGENERATE_WITH.value].setEnabled(MessageAction.REGENERATE in possible)
        self._show_replace(self._edited() is not None)
        self._update_tree_actions()
        self._update_page_actions()
        # Counting takes a moment in a large tree, so it is done for the open menu only.
        for action in (MessageAction.PRUNE, MessageAction.KEEP_ONLY):
            if current is not None and self._menus[action.value].isEnabled():
                self._menus.set_text(action.value, self.label(current, action))

    def _update_tree_actions(self) -> None:
        current = self.current_id()
        possible = self._possible_tree_actions(current) if current is not None else ()
        for action in TREE_ACTIONS:
            self._menus[action.value].setEnabled(action in possible)
            self._menus.set_text(action.value, "")
            is_marked = self.is_marked(current, action) if current is not None else None
            self._menus[action.value].setChecked(bool(is_marked))

    def _update_page_actions(self) -> None:
        """Enable what the page has messages for, whichever of them is the current one: their keys work at any time."""
        path = self._controller.shown.path
        has_versions = any(len(self._controller.shown.siblings(message.id)) > 1 for message in path)
        for name, is_possible in (
            ("previous_sibling", has_versions),
            ("next_sibling", has_versions),
            ("previous_message", bool(path)),
            ("next_message", bool(path)),
            ("replay", any(message.role == "assistant" for message in path)),
        ):
            self._menus[name].setEnabled(is_possible)

    def _act_on_current(self, action: MessageAction) -> None:
        current = self.current_id()
        if current is not None:
            self.act(current, action)

    # --- the actions ---------------------------------------------------------------------------------------

    def edit(self, message_id: MessageId) -> None:
        """Open the editor in a message. If the message is on another branch, show that branch first."""
        if message_id not in self._transcript.message_ids:
            self._controller.shown.go_to(message_id)
        if (view := self._transcript.reveal(message_id)) is not None:
            view.begin_edit()

    def _editable_part(self, message_id: MessageId) -> MessageId:
        """Return the part itself; if it is folded, the last text of its message, if there is one."""
        parts = self._controller.shown.parts(message_id)
        texts = [part.id for part in parts if part.role not in {"note", "file"}]
        return message_id if message_id in texts or not texts else texts[-1]

    def _continue(self, message_id: MessageId) -> None:
        """Continue an answer from the cursor that the user placed inside it, else from its end."""
        view = self._transcript.view(message_id)
        num_chars = None if view is None else view.position_to_continue
        if num_chars is None:
            self._controller.continue_answer(message_id)
        else:
            self.act(message_id, ContinueAfter(num_chars))

    def _edited(self) -> MessageView | None:
        """Return the view whose editor has the focus, else the first view with an open editor; None without any."""
        edited = [view for view in self._transcript.views if view.is_edited]
        focus = self._transcript.window().focusWidget()
        with_focus = [view for view in edited if focus is not None and view.isAncestorOf(focus)]
        return next(iter([*with_focus, *edited]), None)

    def _show_replace(self, shown: bool, _editor: MessageEditor | None = None) -> None:
        self._menus[MessageAction.REPLACE.value].setVisible(shown)

    def _replace(self) -> None:
        view = self._edited()
        if view is not None:
            view.replace_text()

    def _open_regenerate_menu(self, message_id: MessageId) -> None:
        view = self._transcript.reveal(message_id)
        if view is None or MessageAction.REGENERATE not in self._transcript.shown(message_id).actions:
            return
        menu = RegenerateMenu(self._controller, message_id, self._transcript.window())
        menu.aboutToHide.connect(menu.deleteLater)
        bottom_left = view.mapToGlobal(QPoint(view.text.mapTo(view, QPoint(0, 0)).x(), view.height()))
        # The end of a long message may be out of sight.
        sight_bottom = self._transcript.mapToGlobal(self._transcript.rect().bottomLeft()).y()
        menu.popup(QPoint(bottom_left.x(), min(bottom_left.y(), sight_bottom)))

    def _step_sibling(self, step: int) -> None:
        """Show the next version (1) or the previous one (-1) of the current message.

        If the message has only one version, the nearest message above it that has several is used.
        """
        current = self.current_id()
        if current is not None:
            ids = self._transcript.message_ids
            upward = reversed(ids[: ids.index(current) + 1])
            fork = next((upper for upper in upward if len(self._controller.shown.siblings(upper)) > 1), current)
            self._transcript.step_sibling(fork, step)

    def _step_message(self, step: int) -> None:
        if self._transcript.message_ids and not self._transcript.walk(step):
            self._composer.text.setFocus(Qt.FocusReason.ShortcutFocusReason)


class UndoCommands(QObject):
    """Undo and Redo. Their menu texts name the step."""

    def __init__(self, controller: Controller, menus: Menus, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._menus = menus
        menus.menu("Edit").aboutToShow.connect(self._update)
        controller.shown.history_changed.connect(self._update)

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {"undo": self._controller.undo, "redo": self._controller.redo}

    def _update(self) -> None:
        for name, verb, step in (
            ("undo", self.tr("Undo"), self._controller.to_undo),
            ("redo", self.tr("Redo"), self._controller.to_redo),
        ):
            self._menus[name].setEnabled(bool(step))
            self._menus.set_text(name, f"{verb}: {QCoreApplication.translate('Steps', step)}" if step else verb)


class RegenerateMenu(QMenu):
    """A menu of ways to ask again: for several answers at once, with another preset, or with another model.

    The choice applies only to the new answers.
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
        self._add_heading(self.tr("Other sampling"))
        settings = controller.program.settings
        for preset in (*BUILT_IN_PRESETS, *settings.presets):
            self.addAction(as_label(preset_name(preset)), partial(self._regenerate_by, preset))
        others = [name for name in controller.program.offered_models if name != controller.model.name]
        if others:
            self._add_heading(self.tr("Another model"))
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
        generation = preset.apply_to(self._controller.preparation.generation)
        self._controller.regenerate(self._message_id, generation=generation)
