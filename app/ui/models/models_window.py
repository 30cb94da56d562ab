"""The Models window: a list with a search field on the left, the chosen model on the right.

A narrow window shows either the list or the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import assert_never

from PySide6.QtCore import QEvent, QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.catalog.entry import LocalModel, RemoteModel
from app.catalog.hub_error import HubError
from app.model.endpoints import Endpoint, find
from app.numbers import sized
from app.program import Program
from app.sentences import translated
from app.supply.endpoints import Added
from app.supply.local_models import look_at
from app.ui.dialogs import questions
from app.ui.models.announcing import TransferAnnouncements
from app.ui.models.endpoint_window import EndpointWindow
from app.ui.models.entry import Action, main_action
from app.ui.models.model_entries import ModelEntries
from app.ui.models.model_list import ModelList
from app.ui.models.model_page import ModelPage
from app.ui.models.model_settings_form import ModelSettingsForm
from app.ui.parts.buttons import EnterKey, give_menu
from app.ui.parts.file_drops import FileDrops
from app.ui.parts.labels import quiet_label
from app.ui.theme import Theme, chosen_theme, grown, icon, scaled
from worker.sentence import Sentence

_WIDTH_PX, _HEIGHT_PX = 940, 640
_MIN_PX = (320, 360)
_NARROW_PX = 700
_LIST_PX = 340
_BUTTON_PX = 32
_MAX_PX = 16_777_215
"""Qt's limit for the size of a widget, in pixels."""
_OF_SCREEN = 0.9
_LIST_KEYS = {Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_PageDown, Qt.Key.Key_PageUp}
_ENTER = {Qt.Key.Key_Return, Qt.Key.Key_Enter}


def _forget(program: Program, name: str, _num_bytes: int) -> None:
    program.forget_model(name)


class ModelsWindow(QDialog):
    """Models on this machine and on the hub. Downloads and conversions continue when the window is closed."""

    chat_requested = Signal(str)
    """The user wants to begin a conversation with the model of this name."""

    def __init__(self, program: Program, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("models")
        self.setWindowTitle(self.tr("Models"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._program = program
        self.entries = ModelEntries(program, self)
        self._is_narrow = False
        self._is_page_open = False
        """Whether a narrow window shows the model's page, not the list."""
        self.field = QLineEdit()
        self.field.setObjectName("search_everything")
        self.field.setPlaceholderText(self.tr("Search"))
        self.field.setToolTip(self.tr("Search here and on the hub"))
        self.field.setAccessibleName(self.tr("Search models"))
        self.field.installEventFilter(self)
        self.add_button = QToolButton()
        self.add_button.setMinimumSize(_BUTTON_PX, _BUTTON_PX)
        self.add_button.setAccessibleName(self.tr("Open a model, or add a folder"))
        self.add_button.setToolTip(self.tr("Open a model, or add a folder"))
        give_menu(self.add_button, self._new_add_menu())
        self._result = ""
        """The result of the last action, shown below the list until the next action or search."""
        self.list = ModelList(theme)
        self.status = quiet_label("")
        self.again_button = QPushButton()
        self.again_button.setAutoDefault(False)
        self.again_button.clicked.connect(self._search_on)
        self.page = ModelPage(
            theme, self.entries.fit_of, program.templates.of, settings=ModelSettingsForm(program, theme)
        )
        self._left = QFrame()
        self._left.setObjectName("models_list")
        self._lay_out()
        self._connect()
        self.list.choose_next(f"local:{program.session.name}")
        self.set_theme(theme)
        EnterKey(self)
        self.announcements = TransferAnnouncements(program.supply.transfers, self)
        program.supply.watch_transfers(self)
        program.supply.local_models.look()
        self.entries.search("")
        program.supply.fits.measure()
        self._fit_width(self.width())
        self.field.setFocus()

    def _lay_out(self) -> None:
        column = QVBoxLayout(self._left)
        column.setContentsMargins(8, 12, 8, 0)
        column.setSpacing(8)
        head = QHBoxLayout()
        head.setContentsMargins(4, 0, 4, 0)
        head.setSpacing(8)
        head.addWidget(self.field, 1)
        head.addWidget(self.add_button)
        foot = QVBoxLayout()
        foot.setContentsMargins(12, 0, 12, 12)
        foot.setSpacing(8)
        foot.addWidget(self.status)
        foot.addWidget(self.again_button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addLayout(head)
        column.addWidget(self.list, 1)
        column.addLayout(foot)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._left)
        row.addWidget(self.page, 1)
        room = self.screen().availableGeometry()
        self.setMinimumSize(min(_MIN_PX[0], room.width()), min(_MIN_PX[1], room.height()))
        width, height = int(room.width() * _OF_SCREEN), int(room.height() * _OF_SCREEN)
        self.resize(min(grown(_WIDTH_PX), width), min(grown(_HEIGHT_PX), height))

    def _connect(self) -> None:
        FileDrops(self).dropped.connect(self._open_all)
        self.field.textChanged.connect(self._on_words)
        self.list.chosen.connect(self._on_chosen)
        self.list.entered.connect(self._on_entered)
        self.list.clicked.connect(self._on_clicked)
        self.list.menu_requested.connect(self.page.open_menu)
        self.page.requested.connect(self._act)
        self.page.variant_chosen.connect(self._on_variant)
        self.page.back_requested.connect(self._show_list)
        self.page.focus_lost.connect(self._show_list)
        self.page.plain_template_chosen.connect(self._on_plain_template)
        self.page.token.entered.connect(self._program.supply.hub_search.enter_token)
        self._program.supply.hub_search.token_answered.connect(self._on_token)
        self._program.supply.hub_search.details_changed.connect(self._on_details)
        self._program.supply.transfers.landed.connect(self._on_landed)
        self.entries.changed.connect(self._show)
        self._program.of_models.changed.connect(self._show)

    def _new_add_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.addAction(self.tr("Open GGUF file…"), self._ask_file)
        menu.addAction(self.tr("Open model folder…"), self._ask_folder)
        menu.addAction(self.tr("Add folder to the list…"), self._ask_added_folder)
        menu.addSeparator()
        menu.addAction(self.tr("Add an endpoint…"), self.open_endpoint)
        return menu

    def set_theme(self, theme: Theme) -> None:
        self.add_button.setIcon(icon("plus", theme.quiet_text))
        self.list.set_theme(theme)
        self.page.set_theme(theme)

    # --- content -------------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Update the list and the page."""
        self.list.show_rows(self.entries.rows())
        entry = self.entries.get(self.list.chosen_key)
        if entry is None and self.list.is_awaiting and not self._program.supply.local_models.is_looking:
            self.list.give_up()
            entry = self.entries.get(self.list.chosen_key)
        if entry is not None or not self.list.is_awaiting:
            # Otherwise the page stays until its model is listed again, now as a model on this machine.
            self.page.show_entry(entry)
        self._show_status()

    def _show_status(self) -> None:
        """Show below the list what the search is doing, or why it found nothing."""
        search = self._program.supply.hub_search
        local, again = self._program.supply.local_models, ""
        if self._result or local.failure is not None:
            text = self._result or translated(local.failure or "")
        elif search.failure is not None:
            text, again = translated(search.failure.sentence), self.tr("Try again")
        elif search.is_searching:
            text = self.tr("Searching the hub…")
        elif self.field.text().strip() and not self.list.rows:
            text = self.tr("No model has this name, here or on the hub. Try fewer letters.")
        else:
            text = self.tr("Looking…") if local.is_looking and not self.list.rows else ""
            again = self.tr("More results") if search.has_more else ""
        self.status.setText(text)
        self.status.setVisible(bool(text))
        self.again_button.setText(again)
        self.again_button.setVisible(bool(again))

    def _on_words(self, words: str) -> None:
        self._result = ""
        self.entries.search(words)

    def _search_on(self) -> None:
        search = self._program.supply.hub_search
        if search.failure is not None:
            search.search_again()
        else:
            search.search_more()

    def _on_chosen(self, key: str) -> None:
        self.page.show_entry(self.entries.get(key))
        self.entries.look_into(key)

    def _on_variant(self, gguf: str) -> None:
        entry = self.page.entry
        if entry is not None and isinstance(entry.model, RemoteModel):
            self.entries.choose_variant(entry.model.repo, gguf)

    def _on_plain_template(self, is_chosen: bool) -> None:
        entry = self.page.entry
        if entry is not None and isinstance(entry.model, LocalModel):
            self._program.choose_template(entry.model.name, is_plain=is_chosen)
            self._show()

    def _on_landed(self, key: str, name: str) -> None:
        """Select a model whose download or conversion has finished, if that was selected."""
        if self.list.awaits(key):
            self.entries.keep(f"local:{name}")
            self.list.choose_next(f"local:{name}")
            self._program.supply.local_models.look()

    def _on_details(self, repo: str) -> None:
        """Show why a row disappears if its model no longer exists on the hub."""
        found = self._program.supply.hub_search.known_details(repo)
        if not self.field.text().strip() and isinstance(found, HubError) and found.kind == "gone":
            self._say(self.tr("{model} is no longer on the hub, so it is not listed.").format(model=repo))

    def _on_token(self, why: Sentence | None, is_used: bool) -> None:
        if why is not None:
            self.page.token.say(translated(why))
        if is_used:
            entry = self.page.entry
            if entry is not None and entry.transfer is not None and entry.transfer.state == "failed":
                self._program.supply.transfers.resume(entry.transfer.key)

    # --- actions -------------------------------------------------------------------------------------------

    def _on_entered(self) -> None:
        if self._is_narrow and not self._is_page_open:
            self._show_page()
            return
        entry = self.page.entry
        action = None if entry is None else main_action(entry)
        if action is not None:
            self._act(action)

    def _on_clicked(self) -> None:
        if self._is_narrow:
            self._show_page()

    def _act(self, action: Action) -> None:
        entry = self.page.entry
        if entry is None:
            return
        model, transfers = entry.model, self._program.supply.transfers
        self._result = ""
        key = "" if entry.transfer is None else entry.transfer.key
        match action:
            case "chat" if isinstance(model, LocalModel):
                self.chat_requested.emit(model.name)
            case "free_memory":
                self._program.supply.free_memory()
            case "cancel_load":
                self._program.session.cancel_load()
            case "unload":
                self._program.unload_model()
            case "convert" if isinstance(model, LocalModel):
                self.list.choose_next(transfers.convert(model))
            case "download" if isinstance(model, RemoteModel):
                self.list.choose_next(transfers.download(model))
            case "pause":
                transfers.pause(key)
            case "resume":
                transfers.resume(key)
            case "run_next":
                transfers.run_next(key)
            case "cancel_transfer":
                transfers.cancel(key)
                self._show_list()
            case "ask_again" if isinstance(model, RemoteModel):
                self._program.supply.hub_search.ask_details(model.repo)
            case "delete" if isinstance(model, LocalModel):
                self._delete(model)
            case "show_folder" if isinstance(model, LocalModel):
                self._open(QUrl.fromLocalFile(str(_folder_of(model.path))))
            case "open_page" if model is not None:
                self._open(QUrl(self._program.supply.hub_search.page_of(model.repo)))
            case "edit_endpoint" if isinstance(model, LocalModel):
                self.open_endpoint(self._endpoint_of(model))
            case "remove_endpoint" if isinstance(model, LocalModel):
                self._remove_endpoint(self._endpoint_of(model))
            case "edit_endpoint" | "remove_endpoint":
                pass
            case "chat" | "convert" | "download" | "ask_again" | "delete" | "show_folder" | "open_page":
                pass
            case _:
                assert_never(action)

    def _open(self, url: QUrl) -> None:
        if not QDesktopServices.openUrl(url):
            self._say(self.tr("{place} can't be opened here.").format(place=url.toLocalFile() or url.toString()))

    def _delete(self, model: LocalModel) -> None:
        self._program.leave_model(model.name)
        task = self._program.supply.local_models.remove(model)
        task.setObjectName(model.title)
        # Also if this window is closed meanwhile.
        task.done.connect(partial(_forget, self._program, model.name))
        task.done.connect(self._on_deleted)
        task.failed.connect(self._show_reason)
        self._show_list()

    def _on_deleted(self, num_bytes: int) -> None:
        deleted = self.tr("{title} was deleted, which freed {size}.")
        self._say(deleted.format(title=self.sender().objectName(), size=sized(num_bytes)))

    def _show_reason(self, why: Sentence) -> None:
        self._say(translated(why))

    def _say(self, text: str) -> None:
        self._result = text
        self._show_status()

    # --- endpoints -----------------------------------------------------------------------------------------

    def open_endpoint(self, endpoint: Endpoint | None = None) -> EndpointWindow:
        """Open the window that adds a server, or changes one."""
        window = EndpointWindow(self._program.supply.endpoints, chosen_theme(self._program.settings), self, endpoint)
        window.added.connect(self._on_endpoint)
        return window

    def _on_endpoint(self, added: Added) -> None:
        endpoint = added.endpoint
        self.field.clear()
        self.list.choose_next(f"local:{endpoint.model_names[0]}")
        if added.is_key_kept:
            self._say(self.tr("{name} can be used now.").format(name=endpoint.name))
        else:
            self._say(
                self.tr("This system has no keyring that Bough can use, so the key is kept only until Bough ends.")
            )

    def _endpoint_of(self, model: LocalModel) -> Endpoint | None:
        found = find(self._program.settings.endpoints, model.name)
        return None if found is None else found[0]

    def _remove_endpoint(self, endpoint: Endpoint | None) -> None:
        if endpoint is not None:
            self._program.remove_endpoint(endpoint)
            removed = self.tr("{name} was removed, with its key. Conversations keep its answers.")
            self._say(removed.format(name=endpoint.name))

    # --- opening -------------------------------------------------------------------------------------------

    def open_path(self, path: Path) -> None:
        """Show the model in a folder or a GGUF file; a GGUF model is converted at once."""
        task = self._program.archive.run(lambda: look_at(path))
        task.done.connect(self._on_opened)
        task.failed.connect(self._show_reason)

    def _on_opened(self, models: Sequence[LocalModel]) -> None:
        self.field.clear()
        if len(models) == 1 and models[0].format == "gguf":
            self.list.choose_next(self._program.supply.transfers.convert(models[0]))
        else:
            self._program.supply.local_models.add(models)
            self.list.choose_next(f"local:{models[0].name}")
            self._show()

    def _ask_file(self) -> None:
        file, _ = QFileDialog.getOpenFileName(self, self.tr("Open a GGUF file"), "", self.tr("GGUF models (*.gguf)"))
        if file:
            self.open_path(Path(file))

    def _ask_folder(self) -> None:
        folder = questions.ask_model_folder(self, self._program.settings.recent_models)
        if folder is not None:
            self.open_path(folder)

    def _ask_added_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Add a folder with models"))
        if folder:
            self._program.add_model_folder(Path(folder))

    def _open_all(self, paths: Sequence[Path]) -> None:
        for path in paths:
            self.open_path(path)

    # --- two columns, or two pages ---------------------------------------------------------------------------

    def _fit_width(self, width: int) -> None:
        self._is_narrow = width < scaled(_NARROW_PX)
        self._left.setMinimumWidth(0 if self._is_narrow else scaled(_LIST_PX))
        self._left.setMaximumWidth(_MAX_PX if self._is_narrow else scaled(_LIST_PX))
        self._show_columns()

    def _show_columns(self) -> None:
        self._left.setVisible(not self._is_narrow or not self._is_page_open)
        self.page.setVisible(not self._is_narrow or self._is_page_open)
        self.page.back_button.setVisible(self._is_narrow)

    def _show_page(self) -> None:
        self._is_page_open = True
        self._show_columns()
        self.page.take_focus()

    def _show_list(self) -> None:
        self._is_page_open = False
        self._show_columns()
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_width(event.size().width())

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            # Files and free memory may have changed while the user was in another window.
            self._program.supply.local_models.look()
            self._program.supply.fits.measure()

    # --- keys ------------------------------------------------------------------------------------------------

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in _LIST_KEYS and self.list.rows:
                self.list.setFocus(Qt.FocusReason.TabFocusReason)
                QApplication.sendEvent(self.list, event)
                return True
            if event.key() in _ENTER:
                self._on_entered()
                return True
        return super().eventFilter(watched, event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Escape leave the model's page in a narrow window, else clear the search, else close the window."""
        if event.key() == Qt.Key.Key_Escape and self._is_narrow and self._is_page_open:
            self._show_list()
        elif event.key() == Qt.Key.Key_Escape and self.field.text():
            self.field.clear()
            self.field.setFocus()
        else:
            super().keyPressEvent(event)


def _folder_of(path: Path) -> Path:
    return path if path.is_dir() else path.parent
