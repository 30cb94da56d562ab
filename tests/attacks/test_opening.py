"""Hostile GGUF files and model folders in the real window: each is reported, nothing blocks and nothing is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.application import Application
from app.ui.models.models_window import ModelsWindow
from tests.attacks import test_gguf_files, test_model_folders
from tests.attacks.gguf_bytes import raw_file
from tests.attacks.victim import Attack
from tests.attacks.watchdog import Watchdog
from tests.end_to_end.conftest import OpenBough, open_bough
from tests.long import in_long_runs
from tests.worker.gguf.files import write_llama

__all__ = ["open_bough"]

_PATIENCE_MS = 300_000
_MAX_BLOCK_MS = 2000
"""The GUI thread's own time between two turns of its loop. A longer one would be a hang."""

_GGUF = [attack for attack in test_gguf_files.ATTACKS if attack.name != "a good file"]
_FOLDERS = [
    *(attack for attack in test_model_folders.ODD_FILES if "terabyte" not in attack.name),
    *test_model_folders.HEADERS,
    *test_model_folders.CONFIGS,
    *test_model_folders.EXPLOSIONS,
]


class _Desk:
    """A window with one answer, in which models are opened."""

    def __init__(self, application: Application, bot: QtBot) -> None:
        self.application, self.bot = application, bot
        self.controller, self.program = application.controller, application.program
        self.supply = self.program.supply
        self.wait(lambda: application.session.state == "ready")
        self._first = self.answer_to("How do I fork a message?")
        application.window.action("models").trigger()
        found = application.window.findChild(ModelsWindow)
        assert isinstance(found, ModelsWindow)
        self.models = found
        # A model that the first search finds is not taken for a dropped one.
        self.wait(lambda: self.supply.local_models.has_looked and not self.supply.local_models.is_looking)

    def wait(self, condition: Callable[[], bool]) -> None:
        self.bot.waitUntil(condition, timeout=_PATIENCE_MS)

    def answer_to(self, text: str) -> str:
        self.controller.shown.new_conversation()
        self.controller.send(text)
        self.wait(lambda: self.controller.shown.streaming_message is None)
        answer = self.controller.shown.path[-1]
        assert answer.record is not None
        assert answer.record.error is None
        return answer.text

    def drop(self, path: Path) -> str:
        """Drop a model on the window. Return what the Models window says of it; empty if it is a usable model."""
        self.models.status.setText("")
        num_found = len(self.supply.local_models.all)
        self.application.window.dialogs.drop_page.models_dropped.emit([path])
        failed = self._failed_transfer
        self.wait(lambda: bool(self.models.status.text() or failed() or len(self.supply.local_models.all) > num_found))
        said = self.models.status.text() or failed()
        for transfer in self.supply.transfers.all:
            self.supply.transfers.cancel(transfer.key)
        return said

    def _failed_transfer(self) -> str:
        return next((str(one.failure) for one in self.supply.transfers.all if one.state == "failed"), "")

    def open(self, folder: Path) -> str:
        """Choose a model folder. Return why it is not used; empty if it is loaded."""
        self.program.notices.end("model")
        self.controller.choose_model(str(folder))
        self.wait(lambda: self.application.session.state in {"ready", "failed"})
        return "\n".join(notice.text for notice in self.program.notices.lasting if notice.cause == "model")

    def check(self) -> None:
        """Nothing was lost, and the guide answers as before."""
        self.controller.choose_model("guide")
        self.wait(lambda: self.application.session.state == "ready" and self.application.session.name == "guide")
        assert self.answer_to("How do I fork a message?") == self._first
        assert self.program.store.has_conversations


@pytest.fixture
def desk(open_bough: OpenBough, qtbot: QtBot) -> _Desk:
    return _Desk(open_bough(), qtbot)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("attacks", [_GGUF[5::25], *in_long_runs([_GGUF])], ids=len)
def test_a_hostile_gguf_file_is_reported(
    desk: _Desk, tmp_path: Path, attacks: Sequence[test_gguf_files.Attack]
) -> None:
    good = raw_file(write_llama(tmp_path / "good.gguf"))
    with Watchdog() as watchdog:
        for number, attack in enumerate(attacks):
            path = tmp_path / f"hostile {number}.gguf"
            path.write_bytes(bytes(attack.change(good)))
            said = desk.drop(path)
            assert said, attack.name
            assert len(said) < 1000
        os.mkfifo(tmp_path / "pipe.gguf")
        (tmp_path / "folder.gguf").mkdir()
        (tmp_path / "device.gguf").symlink_to("/dev/zero")
        for name in ("pipe", "folder", "device"):
            assert desk.drop(tmp_path / f"{name}.gguf")
    assert watchdog.longest.cpu_ms < _MAX_BLOCK_MS, watchdog.stacks.most_common(3)
    desk.check()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("attacks", [_FOLDERS[3::40], *in_long_runs([_FOLDERS])], ids=len)
def test_a_hostile_folder_is_reported(
    desk: _Desk, random_llama: Path, tmp_path: Path, attacks: Sequence[Attack]
) -> None:
    with Watchdog() as watchdog:
        for number, attack in enumerate(attacks):
            folder = tmp_path / "hostile" / str(number)
            shutil.copytree(random_llama, folder)
            attack.damage(folder)
            desk.drop(folder)
            said = desk.open(folder)
            assert bool(said) == (attack.ends != "model_loaded"), (attack.name, said)
            assert len(said) < 1000
        # All of them in a folder that is searched.
        desk.program.add_model_folder(tmp_path / "hostile")
        desk.wait(lambda: desk.supply.local_models.has_looked and not desk.supply.local_models.is_looking)
        assert desk.supply.local_models.failure is None
    assert watchdog.longest.cpu_ms < _MAX_BLOCK_MS, watchdog.stacks.most_common(3)
    desk.check()
