"""The main window: builds its widgets and commands, and connects them.

Widgets that the window does not show at first are created, and their modules imported, when they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QMainWindow, QVBoxLayout, QWidget
from typing_extensions import override

from app.answers.sessions import GUIDE
from app.conversation.controller import Controller
from app.lazy import Lazy
from app.ui.banner import Announcements, Banner, NoticeCommands
from app.ui.comparing.compare_commands import CompareCommands
from app.ui.composer.composer import Composer
from app.ui.composer.composer_commands import ComposerCommands
from app.ui.dialogs.dialog_commands import DialogCommands
from app.ui.dialogs.drop_page import by_kind
from app.ui.field_commands import FieldCommands
from app.ui.first_paint import FirstPaint
from app.ui.header import Header
from app.ui.menus import Menus
from app.ui.message.display_commands import DisplayCommands
from app.ui.message.message_commands import MessageCommands, UndoCommands
from app.ui.models.models_commands import ModelsCommands
from app.ui.pages import Pages
from app.ui.parts.buttons import EnterKey
from app.ui.parts.labels import beginning
from app.ui.program_commands import ProgramCommands
from app.ui.sidebar.conversation_commands import ConversationCommands
from app.ui.sidebar.sidebar import Sidebar
from app.ui.theme import chosen_theme, scaled_beside, set_text_scale
from app.ui.transcript.find_commands import FindCommands
from app.ui.transcript.message_selection import SelectionCommands
from app.ui.tree.dock_commands import DockCommands, DockPlacement

if TYPE_CHECKING:
    from app.ui.comparing.side_by_side import SideBySide
    from app.ui.palette import PaletteCommands
    from app.ui.transcript.find_bar import FindBar
    from app.ui.tree.tree_dock import TreeDock

_NARROW_PX = 900
_MIN_PX = 360, 420


class MainWindow(QMainWindow):
    """One window of Bough, which shows one conversation at a time."""

    closed = Signal()

    def __init__(self, controller: Controller, data_folder: Path) -> None:
        super().__init__()
        self._controller = controller
        controller.may_send_to = self._may_send_to
        self._theme = chosen_theme(self._controller.program.settings)
        self.may_close: Callable[[], bool] = lambda: True
        """Called before the window closes. If it returns False, the window stays open."""
        self._keys: dict[str, str] | None = None
        self.setWindowTitle("Bough")
        self.resize(1180, 780)
        self.setMinimumSize(*_MIN_PX)
        self.menus = Menus(self)
        self._build_widgets()
        self._build_commands(data_folder)
        self.menus.connect_slots(self._slots())
        self._connect_controller()
        self._connect_widgets()
        self._connect_menus()
        self._show_keys()

        self._dock_placement.set_wanted(controller.program.settings.tree_visible)
        self._sidebar_placement.set_wanted(controller.program.settings.sidebar_visible)
        self._apply_theme()
        self._display_commands.update()
        self._show_branch()
        self._show_model()
        self.first_paint = FirstPaint(self)
        self.first_paint.over.connect(self.transcript.make_ahead)
        if controller.program.supply.starter:
            # This takes time, and finds nothing before a model is loaded.
            self.first_paint.over.connect(self._watch_offers)
        else:
            # An offer that came after the first paint would move what is there.
            self._watch_offers()

    # --- widgets -----------------------------------------------------------------------------------------

    def _build_widgets(self) -> None:
        self.sidebar = Sidebar(self._controller, self._theme, self.menus)
        self.header = Header(self.menus.menu("Models"), self.menus.all)
        self.banner = Banner(self._theme)
        self._pages = Pages(self._controller, self._theme)
        self.transcript, self.welcome = self._pages.transcript, self._pages.welcome
        self.composer = Composer(self._theme)
        # Connected first, because the objects created below may post notices.
        self.composer.sent.connect(self.banner.dismiss_passing)
        middle = QWidget()
        middle.setObjectName("page")
        column = self._column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self._pages, 1)
        column.addWidget(self.composer)
        self.banner.lie_over(self._pages, middle)
        self.banner.covering.connect(self.transcript.cover)
        centre = QWidget()
        row = QHBoxLayout(centre)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(middle, 1)
        self._find_bar = Lazy(self._make_find_bar)
        self._tree_dock = Lazy(self._make_tree_dock)
        self._dock_placement = DockPlacement(self._tree_dock.get, row, centre, self.composer.text.setFocus)
        self._sidebar_placement = DockPlacement(
            lambda: None, row, centre, self.composer.text.setFocus, side=Qt.Edge.LeftEdge
        )
        self._sidebar_placement.set_dock(self.sidebar)
        self._sidebar_placement.changed.connect(self._on_sidebar)
        self.setCentralWidget(centre)

    @property
    def find_bar(self) -> FindBar:
        return self._find_bar.get()

    def _make_find_bar(self) -> FindBar:
        from app.ui.transcript.find_bar import FindBar

        bar = FindBar(self._theme)
        self._column.insertWidget(self._column.indexOf(self._pages), bar)
        self._find_commands.connect_bar(bar)
        return bar

    @property
    def side_by_side(self) -> SideBySide:
        return self._pages.side_by_side

    @property
    def tree_dock(self) -> TreeDock:
        return self._tree_dock.get()

    def _make_tree_dock(self) -> TreeDock:
        from app.ui.tree.tree_dock import TreeDock

        dock = TreeDock(self._controller, self._theme)
        self._dock_placement.set_dock(dock)
        self._dock_commands.connect_dock(dock)
        dock.view.set_hits(self._find_commands.message_ids)
        self._find_commands.found.connect(dock.view.set_hits)
        return dock

    # --- commands ----------------------------------------------------------------------------------------

    def _build_commands(self, data_folder: Path) -> None:
        controller, menus, transcript = self._controller, self.menus, self.transcript
        self._message_commands = MessageCommands(controller, transcript, self.composer, menus)
        current_id = self._message_commands.current_id
        self._undo_commands = UndoCommands(controller, menus, self)
        self._display_commands = DisplayCommands(controller, transcript, current_id, menus, self._theme)
        self._selection_commands = SelectionCommands(transcript.selection, menus)
        self._field_commands = FieldCommands(self, menus)
        self._find_commands = FindCommands(controller, transcript, self._find_bar, self._theme)
        self._conversation_commands = ConversationCommands(
            controller, self, menus=menus, sidebar=self.sidebar, composer=self.composer, data_folder=data_folder
        )
        self._program_commands = ProgramCommands(controller, menus, self)
        self._models_commands = ModelsCommands(controller, menus, self._theme, self)
        NoticeCommands(
            controller,
            self.banner,
            composer=self.composer,
            transcript=transcript,
            message_commands=self._message_commands,
            program_commands=self._program_commands,
            show_backups=lambda: self.dialogs.show_backups(),
            show_models=self._models_commands.show_models,
        )
        self._composer_commands = ComposerCommands(controller, self.composer, lambda: self._theme, self)
        self.announcements = Announcements(controller, self)
        self._palette_commands = Lazy(self._make_palette_commands)
        self.dialogs = DialogCommands(
            controller,
            self,
            current_id=current_id,
            transcript=transcript,
            composer=self.composer,
            theme=self._theme,
        )
        for commands in (self._conversation_commands, self._composer_commands):
            commands.project_asked.connect(self.dialogs.show_project)
        self.dialogs.project_made.connect(self._conversation_commands.begin_in)
        self.dialogs.drop_page.attached.connect(self.composer.files_given)
        self.dialogs.drop_page.models_dropped.connect(self._models_commands.open_models)
        self._compare_commands = CompareCommands(controller, self._theme, self)
        self._dock_commands = DockCommands(
            controller,
            dock=self._tree_dock,
            placement=self._dock_placement,
            menus=menus,
            message_commands=self._message_commands,
            compare_commands=self._compare_commands,
        )

    def _make_palette_commands(self) -> PaletteCommands:
        from app.ui.palette import PaletteCommands

        return PaletteCommands(self._controller, self.menus, self, self.composer.text)

    def _slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of every action, by the action's name in the menus."""
        return {
            **self._message_commands.slots(),
            **self._undo_commands.slots(),
            **self._display_commands.slots(),
            **self._dock_commands.slots(),
            **self._field_commands.slots(),
            **self._selection_commands.slots(),
            **self._find_commands.slots(),
            **self._conversation_commands.slots(),
            **self._program_commands.slots(),
            **self._models_commands.slots(),
            **self._composer_commands.slots(),
            **self.dialogs.slots(),
            "new_window": partial(self._controller.program.window_requested.emit, None),
            "close_window": self.close,
            "quit": self._controller.program.quit_requested.emit,
            "sidebar": self._toggle_sidebar,
            "palette": lambda: self._palette_commands.get().show(),
        }

    def open_files(self, files: Sequence[Path]) -> None:
        """Do what dropping does with the models among these files, with the conversations, and with all others."""
        for files_of_kind in by_kind(files):
            self.dialogs.drop_page.take(files_of_kind)

    def action(self, name: str) -> QAction:
        """Return an action of the menus by its name."""
        return self.menus[name]

    # --- connections -------------------------------------------------------------------------------------

    def _connect_controller(self) -> None:
        controller = self._controller
        controller.shown.branch_changed.connect(self._show_branch)
        controller.shown.message_changed.connect(self._show_streaming)
        controller.program.answers.stopping.connect(self._show_streaming)
        controller.several_asked.connect(self._pages.show_versions)
        controller.program.conversations.changed.connect(self._show_title)
        controller.program.settings_changed.connect(self._on_settings)
        controller.model.changed.connect(self._show_model)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_settings)
        controller.program.local_api_made.connect(self.header.watch)
        if controller.program.made_local_api is not None:
            self.header.watch(controller.program.made_local_api)

    def _connect_widgets(self) -> None:
        EnterKey(self)
        self.header.sidebar_requested.connect(self._toggle_sidebar)
        for left in (self.sidebar.list.chosen, self.sidebar.escaped, self.sidebar.left):
            left.connect(self._leave_sidebar)
        self.header.load_cancelled.connect(self._controller.model.cancel_load)
        self.header.tree_requested.connect(self.menus["tree"].trigger)
        self.header.project_requested.connect(self.menus["project"].trigger)
        self.welcome.question_chosen.connect(self._controller.send_to_guide)
        self.welcome.model_chosen.connect(self._choose_model)
        self.banner.left.connect(self.composer.text.setFocus)
        self._dock_placement.changed.connect(self.header.show_tree)
        self.composer.paged.connect(self.transcript.keyPressEvent)
        self._composer_commands.files.import_asked.connect(self.dialogs.show_import)
        self._pages.focus_orphaned.connect(self.composer.text.setFocus)
        self.transcript.focus_lost.connect(self.composer.text.setFocus)
        self.transcript.editor_opened.connect(self._composer_commands.show_cost_in)
        self._message_commands.versions_requested.connect(self._pages.show_versions)
        self._message_commands.comparison_requested.connect(self._compare_commands.compare)

    def _connect_menus(self) -> None:
        self.menus.menu("Message").aboutToShow.connect(self._display_commands.update)

    # --- content -----------------------------------------------------------------------------------------

    def _show_branch(self) -> None:
        self._pages.show_current()
        self._show_title()
        self._show_streaming()

    def _show_title(self) -> None:
        conversation = self._controller.shown.conversation
        folder = self._controller.project.folder
        if conversation is not None:
            name = conversation.name
        else:
            name = (
                self.tr("New conversation in “{folder}”").format(folder=folder)
                if folder
                else self.tr("New conversation")
            )
        # A new conversation says so itself.
        self.header.show_title(name, folder if conversation is not None else "")
        self.setWindowTitle(f"{beginning(name)} — Bough" if conversation is not None else "Bough")
        self._conversation_commands.update(self.menus)
        self.dialogs.update(self.menus)

    def _may_send_to(self, host: str) -> bool:
        # Imported here because few starts need it.
        from app.ui.dialogs.questions import ask_to_send

        return ask_to_send(self, host)

    def _show_streaming(self, _message_id: int = 0) -> None:
        message = self._controller.shown.streaming_message
        is_stopping = message is not None and self._controller.program.answers.is_stopping(message.id)
        self.composer.set_streaming(message is not None, is_stopping=is_stopping)
        self.menus["stop"].setEnabled(message is not None and not is_stopping)

    def _show_model(self) -> None:
        model = self._controller.model
        self.header.show_model(model)
        if model.name == GUIDE:
            self.composer.set_placeholder(self.tr("Ask the guide about Bough"), self.tr("Ask the guide"))
        else:
            self.composer.set_placeholder(self.tr("Ask anything"))
        self._show_choices()

    def _show_choices(self) -> None:
        answering, program = self._controller.model.name, self._controller.program
        model = program.model_to_chat_with if answering == GUIDE else answering
        self.welcome.show_choices(answering, model, is_starter=model == program.supply.starter)

    def _show_offer(self) -> None:
        """Offer a model to download on the first page."""
        program, welcome = self._controller.program, self.welcome
        first = program.supply.first_models
        if first.offer is None and not welcome.has_offer:
            return
        if not welcome.has_offer:
            welcome.offer.download_requested.connect(first.download)
            welcome.offer.cancel_requested.connect(first.cancel)
        welcome.offer.show_offer(first.offer, is_starter=not program.supply.starter)

    def _watch_offers(self) -> None:
        self._controller.program.supply.first_models.changed.connect(self._show_offer)
        self._show_offer()

    def _choose_model(self, name: str) -> None:
        self._controller.choose_model(name)
        self.composer.text.setFocus()

    def _show_keys(self) -> None:
        keys = self._controller.program.settings.keys
        if keys != self._keys:
            self._keys = keys
            self.menus.set_keys(keys)
            self.sidebar.show_keys()

    def _change_theme(self, *, has_long_texts: bool = False) -> None:
        # Each step has a turn of the event loop of its own, so that none blocks the window for long.
        if self._pages.unload_long_texts():
            # Removing long texts from the page takes some turns.
            QTimer.singleShot(0, self, partial(self._change_theme, has_long_texts=True))
        elif has_long_texts:
            # They are shown again in the next turn.
            self._change_style()
        else:
            QTimer.singleShot(0, self, self._change_style)

    def _change_style(self) -> None:
        # Nothing is painted until all parts have the new look.
        self.setUpdatesEnabled(False)
        self._apply_style()
        QTimer.singleShot(0, self, self._change_parts)

    def _change_parts(self) -> None:
        self._apply_to_parts()
        QTimer.singleShot(0, self, partial(self.setUpdatesEnabled, True))

    def _apply_theme(self) -> None:
        self._apply_style()
        self._apply_to_parts()

    def _apply_style(self) -> None:
        chosen = self._theme
        set_text_scale(chosen.text_scale)
        QGuiApplication.setPalette(chosen.palette())
        self.setStyleSheet(chosen.style_sheet())

    def _apply_to_parts(self) -> None:
        chosen = self._theme
        self._show_menu_bar()
        self._fit_docks()
        for themed in (self.menus, self.sidebar, self.header, self.banner, self._pages, self.composer):
            themed.set_theme(chosen)
        if self._tree_dock.made is not None:
            self._tree_dock.made.set_theme(chosen)
        for commands in (
            self.dialogs,
            self._find_commands,
            self._compare_commands,
            self._display_commands,
            self._models_commands,
        ):
            commands.set_theme(chosen)

    def _on_settings(self) -> None:
        self._show_keys()
        self._show_choices()
        chosen = chosen_theme(self._controller.program.settings)
        if chosen != self._theme:
            self._theme = chosen
            self._change_theme()

    # --- sidebar and closing -----------------------------------------------------------------------------

    def _toggle_sidebar(self) -> None:
        self._controller.program.set_sidebar_visible(self._sidebar_placement.toggle())
        if self._sidebar_placement.is_overlay:
            self.sidebar.take_focus()

    def _leave_sidebar(self) -> None:
        """Hide the sidebar if it covers a part of the page."""
        if self._sidebar_placement.is_overlay:
            self._sidebar_placement.leave()

    def _on_sidebar(self, is_shown: bool) -> None:
        self.sidebar.set_overlay(is_overlay=self._sidebar_placement.is_overlay)
        self.menus["sidebar"].setChecked(is_shown)
        self.header.show_sidebar(is_shown=is_shown)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_docks()
        self._show_menu_bar()

    def _fit_docks(self) -> None:
        """Let the sidebar and the tree cover a part of the page if the page beside them would be too narrow."""
        is_narrow = self.width() < scaled_beside(_NARROW_PX)
        for placement in (self._sidebar_placement, self._dock_placement):
            placement.set_narrow(is_narrow)

    def _show_menu_bar(self) -> None:
        """Show the menu bar, or one button for all menus if the window is too narrow for the bar."""
        bar = self.menuBar()
        # Where the system shows the menus, the window's width does not matter.
        has_room = bar.isNativeMenuBar() or bar.sizeHint().width() <= self.width()
        bar.setVisible(has_room)
        self.header.menu_button.setVisible(not has_room)

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.may_close():
            event.ignore()
            return
        super().closeEvent(event)
        for dialog in self.findChildren(QDialog):
            dialog.close()
        self.dialogs.close()
        self._controller.preparation.save()
        self.closed.emit()
