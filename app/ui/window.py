"""The main window: its parts, put together; what its actions do is in the `…_commands.py`.

Parts that are not on its first picture are made, and imported, when they are first wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs
from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QCloseEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.conversation.controller import Controller
from app.late import Late
from app.model.message import MessageId
from app.ui.banner import Announcements, Banner, NoticeCommands
from app.ui.comparing.compare_commands import CompareCommands
from app.ui.composer.composer import Composer
from app.ui.composer.composer_commands import ComposerCommands
from app.ui.dialogs.dialog_commands import DialogCommands
from app.ui.field_commands import FieldCommands
from app.ui.first_paint import FirstPaint
from app.ui.header import Header
from app.ui.menus import Menus
from app.ui.message.message_commands import MessageCommands
from app.ui.message.reading_commands import ReadingCommands
from app.ui.parts.buttons import EnterKey
from app.ui.program_commands import ProgramCommands
from app.ui.sidebar.conversation_commands import ConversationCommands
from app.ui.sidebar.sidebar import Sidebar
from app.ui.theme import Theme, set_text_scale, system_scheme, theme
from app.ui.transcript.find_commands import FindCommands
from app.ui.transcript.selection_commands import SelectionCommands
from app.ui.transcript.transcript import Transcript
from app.ui.tree.dock_commands import DockCommands, TreePlace
from app.ui.tree.tree_commands import TreeCommands
from app.ui.welcome import Welcome

if TYPE_CHECKING:
    from app.ui.comparing.side_by_side import SideBySide
    from app.ui.palette import PaletteCommands
    from app.ui.transcript.find_bar import FindBar
    from app.ui.tree.tree_dock import TreeDock

_NARROW_PX = 900
_LEAST_PAGE_PX = 48


class MainWindow(QMainWindow):
    """Bough's window."""

    closed = Signal()

    def __init__(self, controller: Controller, data_folder: Path) -> None:
        super().__init__()
        self._controller = controller
        self._theme = self._chosen_theme()
        self._is_narrow = False
        self._read_before: MessageId | None = None
        """The message that had the focus before its versions were shown side by side."""
        self._keys: dict[str, str] | None = None
        self.setWindowTitle("Bough")
        self.resize(1180, 780)
        self.setMinimumSize(520, 420)
        self._menus = Menus(self)
        self._build()
        self._message_commands = MessageCommands(controller, self.transcript, self.composer, self._menus)
        self._tree_commands = TreeCommands(controller, self._message_commands.current_id, self)
        self._reading_commands = ReadingCommands(
            controller, self.transcript, self._message_commands.current_id, self._menus, self._theme
        )
        self._selection_commands = SelectionCommands(self.transcript, self._menus)
        self._field_commands = FieldCommands(self, self._menus)
        self._find_commands = FindCommands(controller, self.transcript, self._find_bar, self._theme)
        self._conversation_commands = ConversationCommands(
            controller, self.composer, self.sidebar.list, data_folder, self._menus, self
        )
        self._program_commands = ProgramCommands(controller.program, self._menus, self)
        NoticeCommands(
            controller,
            self.banner,
            composer=self.composer,
            transcript=self.transcript,
            message_commands=self._message_commands,
            tree_commands=self._tree_commands,
            program_commands=self._program_commands,
        )
        self._asking_commands = ComposerCommands(controller, self.composer, lambda: self._theme, self)
        self.announcements = Announcements(controller, self)
        self._palette_commands = Late(self._make_palette_commands)
        self.dialogs = DialogCommands(
            controller, self._message_commands.current_id, self.transcript, self._theme, self, self.composer
        )
        self._compare_commands = CompareCommands(controller, self._theme, self)
        self._dock_commands = DockCommands(
            controller,
            self._tree_dock,
            self._tree_place,
            (self._message_commands, self._tree_commands, self._compare_commands),
            self.transcript,
            self._menus,
        )
        self._menus.connect_slots(self._slots())
        self._connect()
        self._show_keys()
        self._menus[f"theme_{controller.program.settings.theme}"].setChecked(True)
        self._show_sidebar(controller.program.settings.sidebar_visible)
        self._tree_place.want(controller.program.settings.tree_visible)
        self._apply_theme()
        self._reading_commands.update()
        self._show_branch()
        self._show_model()
        self._program_commands.fill_models_menu(self._menus)
        self.first_paint = FirstPaint(self)
        self.first_paint.over.connect(self.transcript.make_ahead)

    # --- parts ---------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.sidebar = Sidebar(self._controller, self._theme)
        self.header = Header(self._menus.menu("Models"))
        self.banner = Banner(self._theme)
        self.transcript = Transcript(self._controller, self._theme)
        self.welcome = Welcome(self._theme)
        self.composer = Composer(self._theme)
        # Connected before anything sends: what follows may post new notices.
        self.composer.sent.connect(self.banner.dismiss_unless_danger)
        self._pages = QStackedWidget()
        # Each of them scrolls: in a low window there is room for what stands around them.
        self._pages.setMinimumHeight(_LEAST_PAGE_PX)
        self._pages.addWidget(self.welcome)
        self._pages.addWidget(self.transcript)
        middle = QWidget()
        middle.setObjectName("page")
        column = self._column = QVBoxLayout(middle)
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
        self._find_bar = Late(self._make_find_bar)
        self._side_by_side = Late(self._make_side_by_side)
        self._tree_dock = Late(self._make_tree_dock)
        self._tree_place = TreePlace(self._tree_dock.get, whole, centre, self.composer.text.setFocus)
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
        return self._side_by_side.get()

    def _make_side_by_side(self) -> SideBySide:
        from app.ui.comparing.side_by_side import SideBySide

        page = SideBySide(self._controller, self._theme)
        self._pages.addWidget(page)
        page.closed.connect(self._on_versions_closed)
        return page

    @property
    def tree_dock(self) -> TreeDock:
        return self._tree_dock.get()

    def _make_tree_dock(self) -> TreeDock:
        from app.ui.tree.tree_dock import TreeDock

        dock = TreeDock(self._controller, self._theme)
        self._tree_place.take(dock)
        self._dock_commands.connect_dock(dock)
        dock.view.set_hits(self._find_commands.found_in)
        self._find_commands.found.connect(dock.view.set_hits)
        return dock

    def _make_palette_commands(self) -> PaletteCommands:
        from app.ui.palette import PaletteCommands

        return PaletteCommands(self._controller, self._menus, self)

    def _slots(self) -> dict[str, Callable[[], object]]:
        """What each action of the menus does."""
        return {
            **self._message_commands.slots(),
            **self._tree_commands.slots(),
            **self._reading_commands.slots(),
            **self._dock_commands.slots(),
            **self._field_commands.slots(),
            **self._selection_commands.slots(),
            **self._find_commands.slots(),
            **self._conversation_commands.slots(),
            **self._program_commands.slots(),
            **self._asking_commands.slots(),
            **self.dialogs.slots(),
            "new_window": partial(self._controller.program.window_asked.emit, None),
            "close_window": self.close,
            "quit": self._controller.program.quit_asked.emit,
            "sidebar": self._toggle_sidebar,
            "palette": lambda: self._palette_commands.get().show(),
        }

    @property
    def menus(self) -> Menus:
        return self._menus

    def action(self, name: str) -> QAction:
        """Return an action of the menus by its name."""
        return self._menus[name]

    def _connect(self) -> None:
        controller = self._controller
        controller.shown.branch_changed.connect(self._show_branch)
        controller.shown.message_changed.connect(self._show_streaming)
        controller.program.conversations.changed.connect(self._show_title)
        controller.program.settings_changed.connect(self._on_settings)
        controller.program.session.changed.connect(self._show_model)
        self.sidebar.conversation_chosen.connect(controller.shown.open_conversation)
        self.sidebar.menu_asked.connect(self._conversation_commands.show_menu)
        self.sidebar.section_menu_asked.connect(self._conversation_commands.show_section_menu)
        self.sidebar.moved.connect(self._conversation_commands.move)
        self.sidebar.delete_asked.connect(controller.program.conversations.delete)
        EnterKey(self)
        self.composer.paged.connect(self.transcript.keyPressEvent)
        self.sidebar.writing_asked.connect(self.composer.text.setFocus)
        self.sidebar.new_asked.connect(self._conversation_commands.begin)
        self.sidebar.settings_asked.connect(self._menus["settings"].trigger)
        self.sidebar.search_asked.connect(self._menus["search_all"].trigger)
        self.header.sidebar_asked.connect(self._toggle_sidebar)
        self.header.tree_asked.connect(self._menus["tree"].trigger)
        self.welcome.question_chosen.connect(controller.send)
        controller.several_asked.connect(self._show_versions)
        self._tree_commands.versions_asked.connect(self._show_versions)
        self._tree_commands.comparison_asked.connect(self._compare_commands.compare)
        self.transcript.action_asked.connect(self._tree_commands.act)
        self.transcript.focus_orphaned.connect(self.composer.text.setFocus)
        self._asking_commands.files.import_asked.connect(self.dialogs.show_import)
        self.transcript.edit_begun.connect(self._asking_commands.show_cost_in)
        self._menus.menu("Message").aboutToShow.connect(self._message_commands.update)
        self._menus.menu("Message").aboutToShow.connect(self._reading_commands.update)
        for title in ("Edit", "Message"):
            self._menus.menu(title).aboutToShow.connect(partial(self._tree_commands.update, self._menus))
        self._menus.menu("Message").aboutToShow.connect(partial(self._tree_commands.count, self._menus))
        controller.shown.history_changed.connect(partial(self._tree_commands.update, self._menus))
        models = self._menus.menu("Models")
        models.aboutToShow.connect(partial(self._program_commands.fill_models_menu, self._menus))
        models.aboutToShow.connect(partial(self._menus.draw_icons, models))
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_settings)

    # --- what is shown -------------------------------------------------------------------------------------

    def _show_branch(self) -> None:
        self._show_page()
        self._show_title()
        self._show_streaming()

    def _show_page(self) -> None:
        if self._controller.shown.conversation is None:
            self._pages.setCurrentWidget(self.welcome)
        else:
            versions = self._side_by_side.made
            self._pages.setCurrentWidget(versions if versions is not None and versions.message_ids else self.transcript)

    def _show_versions(self, message_ids: list[MessageId]) -> None:
        self._read_before = self.transcript.focused_message_id
        self._pages.setCurrentWidget(self.side_by_side)
        self.side_by_side.show_versions(message_ids)

    def _on_versions_closed(self, is_chosen: bool) -> None:
        self._show_page()
        # Who has only looked goes on with the message; who has chosen goes on writing.
        read = None if is_chosen else self._read_before
        if read is None or not self.transcript.focus(read):
            self.composer.text.setFocus()

    def _show_title(self) -> None:
        conversation = self._controller.shown.conversation
        name = conversation.name if conversation is not None else self.tr("New conversation")
        self.header.show_title(name)
        self.setWindowTitle(f"{name} — Bough" if conversation is not None else "Bough")
        self._conversation_commands.update(self._menus)
        self.dialogs.update(self._menus)

    def _show_streaming(self, _message_id: int = 0) -> None:
        streaming = self._controller.shown.streaming_message is not None
        self.composer.set_streaming(streaming)
        self._menus["stop"].setEnabled(streaming)

    def _show_model(self) -> None:
        session = self._controller.program.session
        self.header.show_model(session)
        self.composer.set_placeholder(
            self.tr("Ask the guide about Bough") if session.name == "guide" else self.tr("Ask anything")
        )
        self.welcome.show_model(session.name)

    def _show_keys(self) -> None:
        keys = self._controller.program.settings.keys
        if keys != self._keys:
            self._keys = keys
            self._menus.set_keys(keys)
            self.sidebar.show_keys(self._menus["new"], self._menus["settings"], self._menus["search_all"])

    def _chosen_theme(self) -> Theme:
        settings = self._controller.program.settings
        return structs.replace(
            theme(system_scheme() if settings.theme == "system" else settings.theme),
            text_scale=settings.text_percent / 100,
            has_less_motion=settings.motion == "less",
        )

    def _apply_theme(self) -> None:
        chosen = self._theme
        set_text_scale(chosen.text_scale)
        QGuiApplication.setPalette(chosen.palette())
        self.setStyleSheet(chosen.style_sheet())
        for part in (self._menus, self.sidebar, self.header, self.banner, self.welcome, self.transcript, self.composer):
            part.set_theme(chosen)
        for late in (self._side_by_side, self._tree_dock):
            if late.made is not None:
                late.made.set_theme(chosen)
        self.dialogs.set_theme(chosen)
        self._find_commands.set_theme(chosen)
        self._compare_commands.set_theme(chosen)
        self._reading_commands.set_theme(chosen)

    def _on_settings(self) -> None:
        self._show_keys()
        chosen = self._chosen_theme()
        if chosen != self._theme:
            self._theme = chosen
            self._apply_theme()

    # --- what only the window does -------------------------------------------------------------------------

    def _toggle_sidebar(self) -> None:
        visible = self.sidebar.isHidden()
        self._show_sidebar(visible)
        if not self._is_narrow:
            self._controller.program.set_sidebar_visible(visible)

    def _show_sidebar(self, visible: bool) -> None:
        self.sidebar.setVisible(visible)
        self._menus["sidebar"].setChecked(visible)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = event.size().width() < _NARROW_PX
        if is_narrow != self._is_narrow:
            # In a narrow window the sidebar folds away; the person can still call it.
            self._is_narrow = is_narrow
            self._show_sidebar(not is_narrow and self._controller.program.settings.sidebar_visible)
            self._tree_place.set_narrow(is_narrow)

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        for dialog in self.findChildren(QDialog):
            dialog.close()
        self.dialogs.close()
        self._controller.preparation.save()
        self.closed.emit()
