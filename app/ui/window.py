"""The main window: its parts, put together, and what each of its actions does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QUrl, Signal
from PySide6.QtGui import QAction, QCloseEvent, QDesktopServices, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QMenu, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.controller import Controller, Notice
from app.model.message import MessageId
from app.ui import dialogs
from app.ui.banner import Banner
from app.ui.composer import Composer
from app.ui.header import Header, model_label
from app.ui.menus import Menus
from app.ui.message_actions import ActionName
from app.ui.message_view import MessageView
from app.ui.plain import as_label, as_tool_tip
from app.ui.sampling_popover import SamplingPopover
from app.ui.settings_window import SettingsWindow
from app.ui.sidebar import Sidebar
from app.ui.theme import Theme, system_scheme, theme
from app.ui.transcript import Transcript
from app.ui.welcome import Welcome

_NARROW_PX = 900
_MESSAGE_ACTIONS: tuple[ActionName, ...] = ("edit", "regenerate", "fork", "continue", "copy")


class MainWindow(QMainWindow):
    """Bough's window."""

    closed = Signal()

    def __init__(self, controller: Controller, data_folder: Path) -> None:
        super().__init__()
        self._controller = controller
        self._data_folder = data_folder
        self._theme = self._chosen_theme()
        self._is_narrow = False
        self.setWindowTitle("Bough")
        self.resize(1180, 780)
        self.setMinimumSize(520, 420)
        self._menus = Menus(self, self._slots())
        self._build()
        self._connect()
        self._menus[f"theme_{controller.settings.theme}"].setChecked(True)
        self._show_sidebar(controller.settings.sidebar_visible)
        self._apply_theme()
        self._show_branch()
        self._show_model()
        self._show_sampling()
        self._fill_models_menu()
        self.composer.give_back(controller.settings.draft)

    # --- parts ---------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.sidebar = Sidebar(self._controller, self._theme)
        self.header = Header(self._menus.menu("Models"))
        self.banner = Banner(self._theme)
        self.transcript = Transcript(self._controller, self._theme)
        self.welcome = Welcome(self._theme)
        self.composer = Composer(self._theme)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.welcome)
        self._pages.addWidget(self.transcript)
        middle = QWidget()
        middle.setObjectName("page")
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self.banner)
        column.addWidget(self._pages, 1)
        column.addWidget(self.composer)
        centre = QWidget()
        whole = QHBoxLayout(centre)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.sidebar)
        whole.addWidget(middle, 1)
        self.setCentralWidget(centre)

    def _slots(self) -> dict[str, Callable[[], object]]:
        """What each action of the menus does."""
        controller = self._controller
        return {
            "new": self._new,
            "rename": partial(self._on_open_conversation, self._rename),
            "delete": partial(self._on_open_conversation, controller.delete_conversation),
            "empty_trash": self._empty_trash,
            "export": self._export,
            "data": self._show_data_folder,
            "settings": self._show_settings,
            "quit": self.close,
            **{name: partial(self._on_current, name) for name in _MESSAGE_ACTIONS},
            "previous_sibling": partial(self._step_sibling, -1),
            "next_sibling": partial(self._step_sibling, +1),
            "previous_message": partial(self._step_message, -1),
            "next_message": partial(self._step_message, +1),
            "stop": controller.stop,
            "open_model": self._open_model,
            "sidebar": self._toggle_sidebar,
            "theme_system": partial(controller.set_theme, "system"),
            "theme_light": partial(controller.set_theme, "light"),
            "theme_dark": partial(controller.set_theme, "dark"),
            "shortcuts": lambda: dialogs.show_shortcuts(self, self._menus.keys()),
            "about": partial(dialogs.show_about, self),
        }

    def action(self, name: str) -> QAction:
        """Return an action of the menus by its name."""
        return self._menus[name]

    def _connect(self) -> None:
        controller = self._controller
        controller.branch_changed.connect(self._show_branch)
        controller.message_changed.connect(self._show_streaming)
        controller.conversations_changed.connect(self._show_title)
        controller.noticed.connect(self.banner.show_notice)
        controller.unsent.connect(self.composer.give_back)
        controller.settings_changed.connect(self._on_settings)
        controller.session.changed.connect(self._show_model)
        self.sidebar.conversation_chosen.connect(controller.open_conversation)
        self.sidebar.menu_asked.connect(self._show_conversation_menu)
        self.sidebar.new_asked.connect(self._new)
        self.header.sidebar_asked.connect(self._toggle_sidebar)
        self.composer.sent.connect(controller.send)
        self.composer.stop_asked.connect(controller.stop)
        self.composer.refused.connect(self._on_refused)
        self.composer.sampling_asked.connect(self._show_sampling_popover)
        self.welcome.question_chosen.connect(controller.send)
        self.transcript.action_asked.connect(self._on_action)
        self.transcript.focus_orphaned.connect(self.composer.text.setFocus)
        self.transcript.refused.connect(self._on_refused)
        self.banner.action_asked.connect(self._on_banner_action)
        self._menus.menu("Message").aboutToShow.connect(self._update_message_actions)
        self._menus.menu("Models").aboutToShow.connect(self._fill_models_menu)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_settings)

    # --- what is shown -------------------------------------------------------------------------------------

    def _show_branch(self) -> None:
        has_messages = self._controller.conversation is not None
        self._pages.setCurrentWidget(self.transcript if has_messages else self.welcome)
        self._show_title()
        self._show_streaming()

    def _show_title(self) -> None:
        conversation = self._controller.conversation
        name = conversation.name if conversation is not None else "New conversation"
        self.header.show_title(name)
        self.setWindowTitle(f"{name} — Bough" if conversation is not None else "Bough")
        for action in ("rename", "delete", "export"):
            self._menus[action].setEnabled(conversation is not None)

    def _show_streaming(self, _message_id: int = 0) -> None:
        streaming = self._controller.streaming_message is not None
        self.composer.set_streaming(streaming)
        self._menus["stop"].setEnabled(streaming)

    def _show_model(self) -> None:
        session = self._controller.session
        self.header.show_model(session)
        self.composer.set_placeholder("Ask the guide about Bough" if session.name == "guide" else "Ask anything")
        self.welcome.show_model(session.name)

    def _show_sampling(self) -> None:
        self.composer.set_sampling(self._controller.settings.sampling)

    def _chosen_theme(self) -> Theme:
        chosen = self._controller.settings.theme
        return theme(system_scheme() if chosen == "system" else chosen)

    def _apply_theme(self) -> None:
        chosen = self._theme
        QGuiApplication.setPalette(chosen.palette())
        self.setStyleSheet(chosen.style_sheet())
        for part in (self._menus, self.sidebar, self.header, self.banner, self.transcript, self.welcome, self.composer):
            part.set_theme(chosen)

    def _on_settings(self) -> None:
        chosen = self._chosen_theme()
        if chosen != self._theme:
            self._theme = chosen
            self._apply_theme()
        self._show_sampling()

    # --- actions -------------------------------------------------------------------------------------------

    def _new(self) -> None:
        self._controller.new_conversation()
        self.composer.text.setFocus()

    def _on_open_conversation(self, act: Callable[[int], object]) -> None:
        conversation = self._controller.conversation
        if conversation is not None:
            act(conversation.id)

    def _rename(self, conversation_id: int) -> None:
        names = {conversation.id: conversation.name for conversation in self._controller.conversations}
        name = dialogs.ask_name(self, names.get(conversation_id, ""))
        if name is not None:
            self._controller.rename(conversation_id, name)

    def _export(self) -> None:
        conversation = self._controller.conversation
        file = dialogs.ask_export_file(self, conversation.name) if conversation is not None else None
        if file is not None and self._controller.export_markdown(file):
            self.banner.show_notice(Notice(f"The visible branch is in {file}."))

    def _show_data_folder(self) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._data_folder))):
            self.banner.show_notice(Notice(f"Everything is in {self._data_folder}. Nothing here can show folders."))

    def _open_model(self) -> None:
        folder = dialogs.ask_model_folder(self)
        if folder is not None:
            self._controller.load_model(str(folder))

    def _fill_models_menu(self) -> None:
        menu = self._menus.menu("Models")
        open_model = self._menus["open_model"]
        # Taken out first: `clear` deletes actions that are in no other menu.
        menu.removeAction(open_model)
        menu.clear()
        current = self._controller.session.name
        for name in ("guide", *self._controller.settings.recent_models):
            action = menu.addAction(as_label(model_label(name)), partial(self._controller.load_model, name))
            action.setToolTip(as_tool_tip(name))
            action.setCheckable(True)
            action.setChecked(name == current)
        menu.addSeparator()
        menu.addAction(open_model)

    def _toggle_sidebar(self) -> None:
        visible = self.sidebar.isHidden()
        self._show_sidebar(visible)
        if not self._is_narrow:
            self._controller.set_sidebar_visible(visible)

    def _show_sidebar(self, visible: bool) -> None:
        self.sidebar.setVisible(visible)
        self._menus["sidebar"].setChecked(visible)

    def _show_conversation_menu(self, conversation_id: int, place: QPoint) -> None:
        menu = QMenu(self)
        menu.addAction("Rename…", partial(self._rename, conversation_id))
        menu.addAction("Delete", partial(self._controller.delete_conversation, conversation_id))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(place)

    def _show_sampling_popover(self) -> None:
        popover = SamplingPopover(self._controller.settings.sampling, self)
        popover.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        popover.changed.connect(self._controller.set_sampling)
        popover.show_above(self.composer.sampling_button)

    def _show_settings(self) -> None:
        opened = self.findChild(SettingsWindow)
        settings = opened if isinstance(opened, SettingsWindow) else SettingsWindow(self._controller, self)
        settings.show()
        settings.raise_()
        settings.activateWindow()

    def _current_view(self) -> MessageView | None:
        """The message that has the focus, or the last one."""
        views = self.transcript.views
        focus = self.focusWidget()
        for view in views:
            if focus is not None and (view is focus or view.isAncestorOf(focus)):
                return view
        return views[-1] if views else None

    def _on_current(self, name: ActionName) -> None:
        view = self._current_view()
        if view is not None:
            if name == "edit":
                view.begin_edit()
            self._on_action(view.message.id, name)

    def _update_message_actions(self) -> None:
        view = self._current_view()
        possible = view.possible_actions if view is not None else ()
        for name in _MESSAGE_ACTIONS:
            self._menus[name].setEnabled(name in possible)

    def _on_action(self, message_id: MessageId, name: str) -> None:
        match name:
            case "regenerate":
                self._controller.regenerate(message_id)
            case "fork":
                self._controller.fork(message_id)
                self.composer.text.setFocus()
            case "continue":
                self._controller.continue_answer(message_id)
            case "copy":
                QGuiApplication.clipboard().setText(self._controller.message(message_id).text)
            case _:
                pass

    def _step_sibling(self, step: int) -> None:
        view = self._current_view()
        views = self.transcript.views
        if view is not None and len(self._controller.siblings(view.message.id)) == 1:
            # Nothing to switch here: the nearest fork above is what is meant.
            above = views[: views.index(view)]
            view = next((v for v in reversed(above) if len(self._controller.siblings(v.message.id)) > 1), None)
        if view is not None:
            self.transcript.step_sibling(view.message.id, step)

    def _step_message(self, step: int) -> None:
        views = self.transcript.views
        if not views:
            return
        focus = self.focusWidget()
        index = next((i for i, view in enumerate(views) if focus is not None and view.isAncestorOf(focus)), len(views))
        if index + step >= len(views):
            self.composer.text.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            views[max(index + step, 0)].text.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _empty_trash(self) -> None:
        dialogs.confirm_emptying(self, self._controller.empty_trash)

    def _on_refused(self, why: str) -> None:
        self.banner.show_notice(Notice(why, "warning"))

    def _on_banner_action(self, name: str) -> None:
        if name == "undo_delete":
            self._controller.undo_delete()
        elif name == "load_guide":
            self._controller.load_model("guide")
        elif name == "open_settings":
            self._show_settings()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = event.size().width() < _NARROW_PX
        if is_narrow != self._is_narrow:
            # In a narrow window the sidebar folds away; the person can still call it.
            self._is_narrow = is_narrow
            self._show_sidebar(not is_narrow and self._controller.settings.sidebar_visible)

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        settings = self.findChild(SettingsWindow)
        if isinstance(settings, SettingsWindow):
            settings.close()
        self._controller.keep_draft(self.composer.text.content)
        self.closed.emit()
