"""The start of the program: until the window is painted, against a bare PySide6 window, and until a model is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measure import Row, alone, compared
from tests.benchmarks.starter import starter
from tests.driver import ROOT

_ROUNDS = 7
_MODEL = "BOUGH_BENCH_MODEL"


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as compiled:
        # As on a user's computer after the first start: modules are compiled and files are in the system's cache.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        yield from _rows(environment | {"PYTHONPYCACHEPREFIX": compiled})


def _rows(environment: dict[str, str]) -> list[Row]:
    _run("app", environment)
    _run("bare", environment)
    painted: list[float] = []
    loaded: list[float] = []
    bare: list[float] = []
    for _ in range(_ROUNDS):
        first = _run("app", environment)
        painted.append(first["painted"])
        loaded.append(first["loaded"])
        bare.append(_run("bare", environment)["painted"])
    return [
        compared("start", "to a painted window, s", painted, "a bare PySide6 window", bare, goal="<= 2.5"),
        alone("start", "to a loaded guide model, s", loaded),
        *_rows_of_starter(environment),
    ]


def _rows_of_starter(environment: dict[str, str]) -> list[Row]:
    model = starter()
    if model is None:
        return []
    environment = environment | {_MODEL: str(model)}
    firsts = [_run("first_word", environment)["answered"] for _ in range(1 + _ROUNDS)]
    return [alone("start", "to SmolLM2's first word, s", firsts[1:], "<= 4")]


def _run(what: str, environment: dict[str, str]) -> dict[str, float]:
    """Start a process; return the time of each event it reports, in seconds after its start."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        out = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.start", what, folder],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    times = dict(line.split() for line in out.splitlines())
    return {name: float(value) - started for name, value in times.items()}


def _report(name: str) -> None:
    print(name, time.monotonic(), flush=True)


def _start_app(folder: str) -> None:
    from app.application import Application, Places, make_qt_application

    qt_application = make_qt_application([])
    application = Application(Places.under(Path(folder)))
    _report_first_paint(application.window)

    def on_changed() -> None:
        if application.session.state == "ready":
            _report("loaded")
            application.window.close()
            qt_application.quit()

    application.session.changed.connect(on_changed)
    application.window.show()
    qt_application.exec()
    application.close()


def _start_and_ask(folder: str) -> None:
    """Start with the model that the environment names, as if it was used last; ask it, and report its first text."""
    from app.application import Application, Places, make_qt_application
    from app.model.settings import Settings, save_settings
    from worker.protocol import Chunk, Event

    places = Places.under(Path(folder))
    save_settings(places.config / "settings.json", Settings().with_loaded(os.environ[_MODEL], ""))
    qt_application = make_qt_application([])
    application = Application(places)

    def on_changed() -> None:
        if application.session.state == "ready":
            application.session.changed.disconnect(on_changed)
            application.controller.send("What is the capital of France?")

    def on_event(event: Event) -> None:
        if isinstance(event, Chunk) and event.text:
            assert application.session.name == os.environ[_MODEL]
            _report("answered")
            application.window.close()
            qt_application.quit()

    application.session.changed.connect(on_changed)
    application.link.received.connect(on_event)
    application.window.show()
    qt_application.exec()
    application.close()


def _start_bare() -> None:
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication, QLabel, QMainWindow

    qt_application = QApplication([])
    window = QMainWindow()
    window.setCentralWidget(QLabel("Hello"))
    window.resize(1180, 780)
    _report_first_paint(window)
    window.show()
    QTimer.singleShot(300, qt_application.quit)
    qt_application.exec()


def _report_first_paint(window: object) -> None:
    from PySide6.QtCore import QEvent, QObject
    from PySide6.QtWidgets import QMainWindow

    assert isinstance(window, QMainWindow)

    class Watch(QObject):
        was_reported = False

        def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint and not self.was_reported:
                self.was_reported = True
                _report("painted")
            return False

    watch = Watch(window)
    window.installEventFilter(watch)


if __name__ == "__main__":
    match sys.argv[1]:
        case "app":
            _start_app(sys.argv[2])
        case "first_word":
            _start_and_ask(sys.argv[2])
        case _:
            _start_bare()
