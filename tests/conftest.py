"""Fixtures for all tests: a fast BLAS, no display, no network, and models that the tests make themselves."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings
from PySide6.QtWidgets import QApplication
from tokenizers import Tokenizer
from typing_extensions import override
from xdist.remote import Producer
from xdist.scheduler.loadfile import LoadFileScheduling

# A shell that runs the tests in the background makes them, and the programs that they start, ignore Ctrl+C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["HF_HUB_OFFLINE"] = "1"

from app.qt_runtime import GarbageCollector, collect_due_garbage, restore_import

restore_import()

from worker.blas import preload
from worker.transformers_import import prepare_import

preload()
prepare_import()

# The machine may be busy, and no test asserts times. Every run draws other examples, so half of the usual number do.
settings.register_profile("bough", deadline=None, max_examples=50)
settings.load_profile("bough")

from tests.driver import StdioWorker
from tests.forking import fork_workers
from tests.models import byte_level_tokenizer, sentencepiece_tokenizer, write_random_llama, write_scripted_model

fork_workers()


@pytest.fixture(scope="session")
def qapp_cls() -> type[QApplication]:
    """Let all tests use the program's own application object."""
    from app.application import QtApplication

    return QtApplication


def pytest_collection(session: pytest.Session) -> None:
    """Let each process import other tests first, so that one of them compiles a module and the others read that."""
    number, count = (int(os.environ.get(name, at).removeprefix("gw")) for name, at in _PROCESS)
    folder = Path(__file__).parent
    if count == 1 or [session.config.rootpath / argument for argument in session.config.args] != [folder]:
        return
    names = [".".join(file.relative_to(folder.parent).with_suffix("").parts) for file in folder.rglob("test_*.py")]
    for name in sorted(names)[len(names) * number // count : len(names) * (number + 1) // count]:
        with contextlib.suppress(Exception):  # its collection reports it
            importlib.import_module(name)


_PROCESS = (("PYTEST_XDIST_WORKER", "gw0"), ("PYTEST_XDIST_WORKER_COUNT", "1"))


class _Scheduling(LoadFileScheduling):
    """Each process runs whole files; one runs all that need the official clients, whose import takes seconds."""

    @override
    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "clients" if file.startswith(_WITH_CLIENTS) else file


_WITH_CLIENTS = ("tests/app/serving/", "tests/app/ui/test_local_api.py", "tests/attacks/test_serving.py")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    return _Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of whole programs run first, because one of them may take as long as a hundred others."""
    items.sort(key=lambda item: "end_to_end" not in item.path.parts)


def pytest_collection_finish() -> None:
    """Modules and tests live as long as this process. Looking for garbage among them takes half a second each time."""
    gc.collect()
    gc.freeze()
    gc.enable()


gc.disable()  # until the tests are collected


_collected_in: list[str] = []
"""Threads that could have destroyed a widget, because Python collected garbage in them."""


def _note_thread(phase: str, _info: Mapping[str, int]) -> None:
    thread = threading.current_thread()
    if phase == "start" and thread is not threading.main_thread() and QApplication.instance() is not None:
        _collected_in.append(thread.name)


gc.callbacks.append(_note_thread)


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    """pytest-qt's application, which collects garbage in its thread, as Bough's does."""
    GarbageCollector(qapp)
    return qapp


@pytest.fixture(autouse=True)
def _garbage_is_collected_here() -> Iterator[None]:
    """Widgets that earlier tests left in cycles are destroyed in this thread alone, even if no event loop runs."""
    yield
    if not gc.isenabled():
        collect_due_garbage()
    in_threads = list(_collected_in)
    _collected_in.clear()
    assert in_threads == []


@pytest.fixture(scope="session")
def byte_level() -> Tokenizer:
    return byte_level_tokenizer()


@pytest.fixture(scope="session")
def sentencepiece() -> Tokenizer:
    return sentencepiece_tokenizer()


@pytest.fixture(scope="session")
def random_llama(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    """A folder with a small llama of random weights."""
    return write_random_llama(tmp_path_factory.mktemp("models") / "random-llama", byte_level)


@pytest.fixture(scope="session")
def endless_model(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    """A model that writes "ababab…" until it is stopped or its context of a million tokens is full."""
    a, b = byte_level.encode("a").ids[0], byte_level.encode("b").ids[0]
    successor = dict.fromkeys(range(byte_level.get_vocab_size(with_added_tokens=True)), a) | {a: b, b: a}
    folder = tmp_path_factory.mktemp("models") / "endless"
    return write_scripted_model(folder, byte_level, successor, context_length=1_000_000)


@pytest.fixture
def stdio_worker() -> Iterator[StdioWorker]:
    """A worker for one test, driven over its standard input and output."""
    with StdioWorker() as worker:
        yield worker


@pytest.fixture(scope="module")
def shared_worker() -> Iterator[StdioWorker]:
    """A worker for all tests of a module. They must leave nothing running."""
    with StdioWorker() as worker:
        yield worker
