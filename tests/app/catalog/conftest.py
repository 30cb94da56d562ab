"""A hub on loopback, and a queue that downloads from it into folders of the test."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import huggingface_hub.constants
import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring

from app.catalog.download_queue import Download, DownloadQueue
from app.catalog.hub import Hub
from app.places import Places
from tests.hub_server import HubServer

PATIENCE_S = 200.0


def downloading() -> list[BaseProcess]:
    """The processes that download or convert now. This process may have others, such as a worker of other tests."""
    return [process for process in multiprocessing.active_children() if process.name == "bough-download"]


class MemoryKeyring(KeyringBackend):
    """A keyring that exists as long as the test."""

    priority = 1  # pyright: ignore[reportAssignmentType, reportIncompatibleVariableOverride]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self.kept.pop((service, username), None)


class Desk:
    """The queue of a program, and what happens in it."""

    def __init__(self, folder: Path, url: str) -> None:
        self._changed = threading.Condition()
        self.hub = Hub(url)
        self.queue = DownloadQueue(Places.under(folder), self.hub, self._note, stall_s=0.5, first_wait_s=0.01)

    def _note(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something holds after a change of the queue."""
        with self._changed:
            assert self._changed.wait_for(is_so, PATIENCE_S)

    def end_of(self, id_: str) -> Download:
        """Wait until an entry is paused, has failed or has landed."""
        download = self.queue.wait(id_, PATIENCE_S)
        assert download is not None
        return download


@pytest.fixture(autouse=True)
def keys() -> Iterator[KeyringBackend]:
    """No keyring; the user's own one is never used."""
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    yield keyring.get_keyring()
    keyring.set_keyring(before)


@pytest.fixture
def hub_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A hub, and an empty Hugging Face cache without a login."""
    for name in ("HF_HUB_OFFLINE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "huggingface" / "token"))
    with HubServer() as server:
        yield server


@pytest.fixture
def open_desk(hub_server: HubServer, tmp_path: Path) -> Iterator[Callable[[], Desk]]:
    """Start a program that downloads from the hub. Each one has the same folder."""
    with contextlib.ExitStack() as stack:

        def opened() -> Desk:
            desk = Desk(tmp_path / "bough", hub_server.url)
            stack.callback(desk.queue.close)
            return desk

        yield opened


@pytest.fixture
def desk(open_desk: Callable[[], Desk]) -> Desk:
    return open_desk()
