"""The Models window with the keyboard alone: every control is reached, and the focus is never lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QMenu,
    QProgressBar,
    QWidget,
)

from app.supply.transfers import Transfer
from app.ui.models.models_window import ModelsWindow
from tests.app.ui.conftest import User
from tests.hub_server import HubServer, Repository
from tests.models import byte_level_tokenizer, write_random_llama
from tests.waiting import PATIENCE_MS
from tests.worker.gguf.files import write_llama

pytestmark = pytest.mark.own_window

Key = Qt.Key
SLOW = 2e5
"""Bytes per second of a download that does not end by itself."""


@pytest.fixture(scope="module", autouse=True)
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubServer]:
    """A hub with three models in MLX format and one with two quantizations."""
    weights = bytes(2_000_000)
    with HubServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.delenv("HF_HUB_OFFLINE")
        patch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("huggingface")))
        patch.setenv("HF_ENDPOINT", server.url)
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        for number in range(3):
            files = {"config.json": b'{"model_type": "llama"}', "model.safetensors": weights + bytes([number])}
            server.add(Repository(f"owner/Tiny-{number}", files, ("mlx", "text-generation"), downloads=9 - number))
        folder = tmp_path_factory.mktemp("files")
        kinds = {f"Duo-{kind}.gguf": write_llama(folder / f"{kind}.gguf", kind) for kind in ("Q4_0", "Q8_0")}
        server.add(Repository("owner/Duo-GGUF", kinds, ("gguf", "text-generation")))
        yield server


class Hands:
    """A user without a mouse."""

    def __init__(self, user: User, hub: HubServer) -> None:
        self.user = user
        self.bot = user.bot
        self.program = user.controller.program
        self.hub = hub
        QTest.keySequence(user.window.focusWidget() or user.window, user.window.action("models").shortcut())
        opened = user.window.findChild(ModelsWindow)
        assert isinstance(opened, ModelsWindow)
        self.window = opened
        self.wait(opened.isActiveWindow)

    def wait(self, holds: Callable[[], bool]) -> None:
        self.bot.waitUntil(holds, timeout=PATIENCE_MS)

    @property
    def focus(self) -> QWidget:
        """The control that gets the keys, which is always in sight."""
        if QApplication.activePopupWidget() is None and not self.window.isActiveWindow():
            # After a menu is closed, only a window manager would activate the window again.
            self.window.activateWindow()
            self.wait(self.window.isActiveWindow)
        found = QApplication.focusWidget()
        assert found is not None
        assert self.window.isAncestorOf(found)
        assert found.isVisible(), f"{_name(found)} is hidden"
        return found

    def press(self, *keys: Qt.Key) -> None:
        for key in keys:
            QTest.keyClick(self.focus, key)

    def tab_to(self, name: str) -> None:
        """Press Tab until the control of this name has the focus."""
        seen: set[QWidget] = set()
        while _name(self.focus) != name:
            assert self.focus not in seen, f"Tab does not reach {name!r}, but {sorted(map(_name, seen))}"
            seen.add(self.focus)
            self.press(Key.Key_Tab)

    def walk(self) -> list[str]:
        """Return the names of what Tab visits, from the search field on."""
        self.window.field.setFocus()
        names = [_name(self.focus)]
        self.press(Key.Key_Tab)
        while self.focus is not self.window.field:
            names.append(_name(self.focus))
            self.press(Key.Key_Tab)
        return names

    def search(self, words: str) -> None:
        self.window.field.setFocus()
        self.window.field.selectAll()
        QTest.keyClicks(self.focus, words)
        self.wait(lambda: not self.program.supply.hub_search.is_searching and bool(self.window.list.rows))

    def choose(self, title: str) -> None:
        """Go up and down in the list to the model of this title."""
        self.press(Key.Key_Down)
        assert self.focus is self.window.list
        self.press(Key.Key_Home)
        keys = set[str]()
        while self.title != title:
            assert self.window.list.chosen_key not in keys, f"The list has no {title!r}"
            keys.add(self.window.list.chosen_key)
            self.press(Key.Key_Down)

    @property
    def title(self) -> str:
        """The title of the chosen model."""
        entry = self.window.page.entry
        return "" if entry is None else entry.title

    def in_menu(self, text: str) -> None:
        """Choose an entry of the menu that is open."""
        self.wait(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        texts = [action.text() for action in menu.actions()]
        for _ in texts:
            QTest.keyClick(menu, Key.Key_Down)
            active: QAction | None = menu.activeAction()
            if active is not None and active.text() == text:
                QTest.keyClick(menu, Key.Key_Return)
                return
        menu.close()
        raise AssertionError(f"The menu has no {text!r}, but {texts}")

    def menu_key(self, text: str) -> None:
        """Press the menu key in the list and choose an entry."""
        rows = self.window.list
        assert self.focus is rows
        place = rows.viewport().rect().center()
        reason = QContextMenuEvent.Reason.Keyboard
        QApplication.sendEvent(rows.viewport(), QContextMenuEvent(reason, place, rows.mapToGlobal(place)))
        self.in_menu(text)

    def download(self, title: str) -> None:
        """Find a model on the hub and download it with Enter."""
        self.search(title)
        self.choose(title)
        self.wait(lambda: bool(self.window.page.entry and self.window.page.entry.variants))
        self.press(Key.Key_Return)
        self.wait(lambda: self.transfer(title) is not None)

    def transfer(self, title: str) -> Transfer | None:
        found = (one for one in self.program.supply.transfers.all if one.title == title)
        return next(found, None)

    def state(self, title: str) -> str:
        transfer = self.transfer(title)
        return "" if transfer is None else transfer.state


def _name(widget: QWidget) -> str:
    text = widget.text() if isinstance(widget, QAbstractButton) else ""
    return text or widget.accessibleName() or type(widget).__name__


@pytest.fixture
def hands(user: User, hub: HubServer) -> Iterator[Hands]:
    hands = Hands(user, hub)
    yield hands
    hub.bytes_per_s = None
    for transfer in hands.program.supply.transfers.all:
        hands.program.supply.transfers.cancel(transfer.key)
    for window in user.window.findChildren(ModelsWindow):
        window.close()


def test_tab_goes_from_top_to_bottom(hands: Hands) -> None:
    hands.search("duo")
    hands.choose("Duo-GGUF")
    hands.wait(lambda: bool(hands.window.page.entry and hands.window.page.entry.variants))
    left = ["Search models", "Open a model, or add a folder", "Models"]
    assert hands.walk() == [*left, "More", "Quantization", "Download"]
    hands.search("guide")
    assert hands.walk() == [*left, "More", "Start a chat", "Chat template"]


def test_a_quantization_is_chosen_and_downloaded(hands: Hands) -> None:
    hands.search("duo")
    hands.choose("Duo-GGUF")
    hands.wait(lambda: bool(hands.window.page.entry and hands.window.page.entry.variants))
    hands.tab_to("Quantization")
    assert hands.window.page.variants.currentIndex() == 0
    hands.press(Key.Key_Down)
    assert hands.focus is hands.window.page.variants
    hands.tab_to("Download")
    hands.press(Key.Key_Return)
    assert hands.focus is hands.window.page.main_button
    hands.wait(lambda: hands.window.list.chosen_key.endswith("Duo-Q8_0"))
    assert hands.focus is hands.window.page.main_button
    assert hands.focus.isVisible()
    hands.tab_to("More")


def test_a_download_is_paused_resumed_put_first_and_cancelled(hands: Hands) -> None:
    hands.hub.bytes_per_s = SLOW
    for number in range(3):
        hands.download(f"Tiny-{number}")
    hands.window.field.clear()
    hands.window.field.setFocus()
    hands.choose("Tiny-2")
    assert hands.state("Tiny-2") == "queued"
    hands.menu_key("Download next")
    titles = [transfer.title for transfer in hands.program.supply.transfers.all]
    assert titles == ["Tiny-0", "Tiny-2", "Tiny-1"]
    assert hands.focus is hands.window.list
    assert hands.title == "Tiny-2"
    hands.choose("Tiny-0")
    hands.press(Key.Key_Return)
    assert hands.state("Tiny-0") == "paused"
    assert hands.focus is hands.window.list
    hands.wait(lambda: hands.state("Tiny-2") == "running")
    hands.wait(lambda: hands.window.page.main_button.text() == "Resume")
    hands.tab_to("Resume")
    hands.press(Key.Key_Space)
    assert hands.state("Tiny-0") == "queued"
    hands.wait(lambda: _name(hands.focus) == "Pause")
    hands.tab_to("Cancel")
    hands.press(Key.Key_Return)
    assert hands.state("Tiny-0") == ""
    assert hands.focus is hands.window.list
    hands.wait(lambda: hands.title == "Tiny-2")


def test_progress_is_announced_and_every_control_has_a_name(hands: Hands) -> None:
    heard: list[str] = []
    hands.window.announcements.announced.connect(heard.append)
    hands.hub.bytes_per_s = SLOW
    hands.download("Tiny-2")
    hands.wait(lambda: hands.state("Tiny-2") == "running")
    kinds = (QAbstractButton, QAbstractItemView, QComboBox, QLineEdit, QProgressBar)
    shown = [widget for kind in kinds for widget in hands.window.findChildren(kind) if widget.isVisible()]
    assert [
        widget for widget in shown if _name(widget) == type(widget).__name__ and widget.objectName()[:3] != "qt_"
    ] == []
    row = hands.window.list.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole)
    assert row.startswith("Tiny-2, ")
    hands.hub.bytes_per_s = None
    hands.hub.released.set()
    hands.wait(lambda: hands.window.list.chosen_key == "local:owner/Tiny-2")
    assert "Tiny-2 is being downloaded: 0 %" in heard
    assert heard[-1] == "Tiny-2 can be used now"
    assert len(heard) == len(set(heard)) <= 7


def test_a_model_is_deleted_after_a_question(hands: Hands) -> None:
    folder = hands.program.models_folder / "Alpha"
    write_random_llama(folder, byte_level_tokenizer())
    hands.program.supply.local_models.look()
    hands.wait(lambda: any(entry.title == "Alpha" for entry in hands.window.entries.all))
    hands.search("alpha")
    hands.choose("Alpha")
    hands.menu_key("Delete…")
    confirmation = hands.window.page.confirmation
    assert hands.focus is confirmation.no_button
    hands.press(Key.Key_Escape)
    assert not confirmation.isVisible()
    assert hands.window.isVisible()
    assert _name(hands.focus) == "More"
    QTimer.singleShot(0, hands.window, lambda: hands.in_menu("Delete…"))
    hands.press(Key.Key_Space)
    hands.wait(confirmation.isVisible)
    # Enter presses what has the focus, and nothing else.
    hands.tab_to("Chat template")
    hands.press(Key.Key_Return)
    assert folder.exists()
    assert confirmation.isVisible()
    hands.tab_to("Delete")
    hands.press(Key.Key_Return)
    assert hands.focus is hands.window.list
    hands.wait(lambda: not folder.exists() and "was deleted" in hands.window.status.text())


def test_a_folder_is_added(hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_random_llama(tmp_path / "Elsewhere", byte_level_tokenizer())

    def choose(_parent: QWidget, _title: str) -> str:
        return str(tmp_path)

    monkeypatch.setattr(QFileDialog, "getExistingDirectory", choose)
    hands.tab_to("Open a model, or add a folder")
    QTimer.singleShot(0, hands.window, lambda: hands.in_menu("Add folder to the list…"))
    hands.press(Key.Key_Return)
    hands.wait(lambda: any(entry.title == "Elsewhere" for entry in hands.window.entries.all))
    assert _name(hands.focus) == "Open a model, or add a folder"
    hands.program.preferences.change(model_folders=())


def test_escape_goes_back_one_step_at_a_time(hands: Hands) -> None:
    window = hands.window
    window.resize(360, 600)
    hands.wait(window.page.isHidden)
    hands.search("tiny")
    hands.choose("Tiny-1")
    hands.press(Key.Key_Return)
    hands.wait(window.page.isVisible)
    assert hands.focus is window.page.main_button
    hands.press(Key.Key_Escape)
    assert hands.focus is window.list
    hands.press(Key.Key_Return)
    hands.tab_to("Back to the list")
    hands.press(Key.Key_Return)
    assert hands.focus is window.list
    hands.press(Key.Key_Escape)
    assert window.field.text() == ""
    assert hands.focus is window.field
    hands.press(Key.Key_Escape)
    assert not window.isVisible()
