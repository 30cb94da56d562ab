"""The main window: conversations, transcript, composer, and the menus with every action."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QUrl, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QCloseEvent,
    QDesktopServices,
    QGuiApplication,
    QKeySequence,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QMainWindow,
    QMenu,
    QMessageBox,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.controller import Controller, Notice
from app.model.message import MessageId
from app.model.settings import Theme as ThemeName
from app.ui.banner import Banner
from app.ui.composer import Composer
from app.ui.message_view import ActionName, MessageView
from app.ui.sampling_popover import SamplingPopover
from app.ui.sidebar import Sidebar
from app.ui.theme import Theme, icon, system_scheme, theme
from app.ui.transcript import Transcript
from app.ui.welcome import Welcome

_NARROW_PX = 900
_THEMES: tuple[tuple[ThemeName, str], ...] = (("system", "System"), ("light", "Light"), ("dark", "Dark"))


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
        self._build()
        self._build_menus()
        self._connect()
        self._apply_theme()
        self._show_branch()
        self._show_model()
        self._show_sampling()
        self.composer.text.setFocus()

    # --- parts ---------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.sidebar = Sidebar(self._controller, self._theme)
        self.banner = Banner(self._theme)
        self.transcript = Transcript(self._controller, self._theme)
        self.welcome = Welcome(self._theme)
        self.composer = Composer(self._theme)
        self._title = QLabel()
        self._title.setObjectName("title")
        self.model_button = QToolButton()
        self.model_button.setObjectName("action")
        self.model_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.model_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._sidebar_button = QToolButton()
        self._sidebar_button.setAccessibleName("Show or hide the conversations")
        self._sidebar_button.setToolTip("Sidebar (Ctrl+B)")
        self._sidebar_button.clicked.connect(lambda: self._actions["sidebar"].trigger())

        header = QFrame()
        header.setObjectName("header")
        header.setFixedHeight(48)
        row = QHBoxLayout(header)
        row.setContentsMargins(12, 0, 16, 0)
        row.setSpacing(8)
        row.addWidget(self._sidebar_button)
        row.addWidget(self._title, 1)
        row.addWidget(self.model_button)

        self._pages = QStackedWidget()
        self._pages.addWidget(self.welcome)
        self._pages.addWidget(self.transcript)
        middle = QWidget()
        middle.setObjectName("page")
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(header)
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

    def _build_menus(self) -> None:
        self._actions: dict[str, QAction] = {}
        add = self._add_action
        file = self.menuBar().addMenu("&File")
        add(file, "new", "New conversation", "Ctrl+N", self._new)
        add(file, "rename", "Rename conversation…", "F2", self._rename)
        add(file, "delete", "Delete conversation", "", self._delete)
        file.addSeparator()
        add(file, "export", "Export branch…", "Ctrl+Shift+E", self._export)
        add(file, "data", "Show data folder", "", self._show_data_folder)
        file.addSeparator()
        add(file, "quit", "Quit", "Ctrl+Q", self.close)

        message = self.menuBar().addMenu("&Message")
        letters: tuple[tuple[ActionName, str, str], ...] = (
            ("edit", "Edit", "E"),
            ("regenerate", "Regenerate", "R"),
            ("fork", "Fork", "F"),
            ("continue", "Continue", "C"),
            ("copy", "Copy message", ""),
        )
        for name, text, key in letters:
            # The letter works on the message that has the focus; it is no shortcut of the window.
            add(message, name, text, "", partial(self._on_current, name), hint=key)
        message.addSeparator()
        add(message, "previous_sibling", "Previous version", "Alt+Left", partial(self._step_sibling, -1))
        add(message, "next_sibling", "Next version", "Alt+Right", partial(self._step_sibling, +1))
        add(message, "previous_message", "Previous message", "Alt+Up", partial(self._step_message, -1))
        add(message, "next_message", "Next message", "Alt+Down", partial(self._step_message, +1))
        message.addSeparator()
        add(message, "stop", "Stop", "Esc", self._controller.stop)
        message.aboutToShow.connect(self._update_message_actions)

        self._models_menu = self.menuBar().addMenu("M&odels")
        self._models_menu.aboutToShow.connect(self._fill_models_menu)
        self.addAction(self._new_action("open_model", "Open folder…", "Ctrl+O", self._open_model))
        self.model_button.setMenu(self._models_menu)
        self._fill_models_menu()

        view = self.menuBar().addMenu("&View")
        add(view, "sidebar", "Sidebar", "Ctrl+B", self._toggle_sidebar).setCheckable(True)
        themes = view.addMenu("Theme")
        group = QActionGroup(self)
        for name, text in _THEMES:
            action = add(themes, f"theme_{name}", text, "", partial(self._controller.set_theme, name))
            action.setCheckable(True)
            action.setChecked(self._controller.settings.theme == name)
            group.addAction(action)

        help_menu = self.menuBar().addMenu("&Help")
        add(help_menu, "shortcuts", "Keyboard shortcuts", "F1", self._show_shortcuts)
        add(help_menu, "about", "About Bough", "", self._show_about)
        self._show_sidebar(self._controller.settings.sidebar_visible)

    def _new_action(self, name: str, text: str, key: str, slot: Callable[[], object], hint: str = "") -> QAction:
        action = QAction(f"{text}\t{hint}" if hint else text, self)
        if key:
            action.setShortcut(QKeySequence(key))
        action.triggered.connect(lambda _=False: slot())
        self._actions[name] = action
        return action

    def _add_action(
        self, menu: QMenu, name: str, text: str, key: str, slot: Callable[[], object], hint: str = ""
    ) -> QAction:
        action = self._new_action(name, text, key, slot, hint)
        menu.addAction(action)
        self.addAction(action)
        return action

    def action(self, name: str) -> QAction:
        """Return an action of the menus by its name."""
        return self._actions[name]

    def _connect(self) -> None:
        controller = self._controller
        controller.branch_changed.connect(self._show_branch)
        controller.message_changed.connect(self._show_streaming)
        controller.conversations_changed.connect(self._show_title)
        controller.noticed.connect(self.banner.show_notice)
        controller.settings_changed.connect(self._on_settings)
        controller.session.changed.connect(self._show_model)
        self.sidebar.conversation_chosen.connect(controller.open_conversation)
        self.sidebar.menu_asked.connect(self._show_conversation_menu)
        self.sidebar.new_asked.connect(self._new)
        self.composer.sent.connect(controller.send)
        self.composer.stop_asked.connect(controller.stop)
        self.composer.sampling_asked.connect(self._show_sampling_popover)
        self.welcome.question_chosen.connect(controller.send)
        self.transcript.action_asked.connect(self._on_action)
        self.transcript.focus_orphaned.connect(self.composer.text.setFocus)
        self.banner.action_asked.connect(self._on_banner_action)
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
        self._title.setText(name)
        self.setWindowTitle(f"{name} — Bough" if conversation is not None else "Bough")
        for action in ("rename", "delete", "export"):
            self._actions[action].setEnabled(conversation is not None)

    def _show_streaming(self, _message_id: int = 0) -> None:
        streaming = self._controller.streaming_message is not None
        self.composer.set_streaming(streaming)
        self._actions["stop"].setEnabled(streaming)

    def _show_model(self) -> None:
        session = self._controller.session
        name = _model_label(session.name)
        if session.state == "loading":
            text = f"{name} · {session.stage} {session.fraction:.0%}"
        elif session.state == "failed":
            text = f"{name} · not loaded"
        else:
            text = name
        self.model_button.setText(f"{text} ▾")
        self.model_button.setAccessibleName(f"Model: {text}")
        info = session.info
        if info is not None:
            self.model_button.setToolTip(
                f"{info.architecture} · {info.num_parameters / 1e6:,.1f} M parameters · "
                f"context {info.context_length:,} tokens"
            )
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
        self._sidebar_button.setIcon(icon("sidebar", chosen.quiet_text))
        self.model_button.setIcon(icon("model", chosen.quiet_text))
        for part in (self.sidebar, self.banner, self.transcript, self.welcome, self.composer):
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

    def _rename(self) -> None:
        conversation = self._controller.conversation
        if conversation is not None:
            self._rename_conversation(conversation.id)

    def _rename_conversation(self, conversation_id: int) -> None:
        names = {conversation.id: conversation.name for conversation in self._controller.conversations}
        name, accepted = QInputDialog.getText(self, "Rename conversation", "Name", text=names.get(conversation_id, ""))
        if accepted:
            self._controller.rename(conversation_id, name)

    def _delete(self) -> None:
        conversation = self._controller.conversation
        if conversation is not None:
            self._controller.delete_conversation(conversation.id)

    def _export(self) -> None:
        conversation = self._controller.conversation
        if conversation is None:
            return
        name = "".join(character if character not in '\\/:*?"<>|\0' else " " for character in conversation.name)
        file, _ = QFileDialog.getSaveFileName(self, "Export branch", f"{name.strip()}.md", "Markdown (*.md)")
        if file and self._controller.export_markdown(Path(file)):
            self.banner.show_notice(Notice(f"The visible branch is in {file}."))

    def _show_data_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._data_folder)))

    def _open_model(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Open a model's folder")
        if folder:
            self._controller.load_model(folder)

    def _fill_models_menu(self) -> None:
        menu = self._models_menu
        menu.clear()
        current = self._controller.session.name
        for name in ("guide", *self._controller.settings.recent_models):
            action = menu.addAction(_model_label(name))
            action.setToolTip(name)
            action.setCheckable(True)
            action.setChecked(name == current)
            action.triggered.connect(lambda _=False, name=name: self._controller.load_model(name))
        menu.addSeparator()
        menu.addAction(self._actions["open_model"])

    def _toggle_sidebar(self) -> None:
        visible = self.sidebar.isHidden()
        self._show_sidebar(visible)
        if not self._is_narrow:
            self._controller.set_sidebar_visible(visible)

    def _show_sidebar(self, visible: bool) -> None:
        self.sidebar.setVisible(visible)
        self._actions["sidebar"].setChecked(visible)

    def _show_conversation_menu(self, conversation_id: int, place: QPoint) -> None:
        menu = QMenu(self)
        menu.addAction("Rename…", partial(self._rename_conversation, conversation_id))
        menu.addAction("Delete", partial(self._controller.delete_conversation, conversation_id))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(place)

    def _show_sampling_popover(self) -> None:
        popover = SamplingPopover(self._controller.settings.sampling, self)
        popover.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        popover.changed.connect(self._controller.set_sampling)
        popover.show_above(self.composer.sampling_button)

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
        for name in ("edit", "regenerate", "fork", "continue", "copy"):
            self._actions[name].setEnabled(name in possible)

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

    def _on_banner_action(self, name: str) -> None:
        if name == "undo_delete":
            self._controller.undo_delete()
        elif name == "load_guide":
            self._controller.load_model("guide")

    def _show_shortcuts(self) -> None:
        rows = [(action.text().split("\t")[0], _key_of(action)) for action in self._actions.values() if _key_of(action)]
        rows += [("Send", "Enter"), ("New line", "Shift+Enter")]
        table = "".join(
            f"<tr><td style='padding:3px 24px 3px 0'>{text}</td><td><b>{key}</b></td></tr>" for text, key in rows
        )
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle("Keyboard shortcuts")
        box.setTextFormat(Qt.TextFormat.RichText)
        box.setText(f"<table>{table}</table><p>Single letters work on the message that has the focus.</p>")
        box.open()

    def _show_about(self) -> None:
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle("About Bough")
        box.setText("Bough is a chat program for local models in which a conversation is a tree.")
        box.setInformativeText("Free software under the MIT licence. Nothing you write leaves this computer.")
        box.open()

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
        self.closed.emit()


def _model_label(name: str) -> str:
    return "Guide" if name == "guide" else Path(name).name or name


def _key_of(action: QAction) -> str:
    shortcut = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    return shortcut or action.text().partition("\t")[2]
