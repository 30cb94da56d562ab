"""Crashes of the whole program: a report is kept and offered, and neither it nor the log holds what a user wrote."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.application import Application
from app.care.crash_reports import CrashReports
from app.care.log_file import LogFile
from app.model.generation_settings import GenerationSettings
from app.model.message import Sampling
from app.model.project import Project
from app.notices import ShowReport
from app.ui.dialogs.docs_window import ReportWindow
from tests.app.sampling import set_sampling
from tests.driver import ROOT
from tests.end_to_end.conftest import OpenBough
from tests.holders import forms_of, holders
from tests.waiting import PATIENCE_MS
from worker.surroundings import program_version

_MARKER = "the otter hid its letters below the mill"
_NAME = "Letters of a shy heron"


def _ready(application: Application, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)


def _open_report(application: Application, qtbot: QtBot) -> ReportWindow:
    """Press the button of the banner, which offers a report."""
    banner = application.window.banner
    assert isinstance(banner.action, ShowReport)
    assert banner.button.text() == "Show report"
    banner.button.click()
    window = application.window.findChild(ReportWindow)
    assert isinstance(window, ReportWindow)
    return window


def test_a_crash_of_the_app_is_offered_at_the_next_start(open_bough: OpenBough, qtbot: QtBot, tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "reports"
    folder.mkdir(parents=True)
    text = "Bough stopped unexpectedly.\n\nFatal Python error: Segmentation fault\n"
    (folder / "2026-01-31 12-00-00 bough 77.running").write_text(text)
    application = open_bough()
    banner = application.window.banner
    qtbot.waitUntil(lambda: isinstance(banner.action, ShowReport), timeout=PATIENCE_MS)
    assert banner.label.text().startswith("Bough stopped unexpectedly. Your texts are kept.")
    report = _open_report(application, qtbot)
    assert report.text.toPlainText() == text
    assert not banner.isVisible()
    assert "crash" not in {notice.cause for notice in application.program.notices.lasting}
    report.copy_button.click()
    assert QGuiApplication.clipboard().text() == text
    report.delete_button.click()
    assert not report.isVisible()
    assert CrashReports(folder).all() == []


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux says what a worker was doing in each library")
def test_a_crash_of_a_worker_is_reported_with_its_step_and_place(
    open_bough: OpenBough, qtbot: QtBot, tmp_path: Path
) -> None:
    application = open_bough()
    _ready(application, qtbot)
    controller = application.controller
    set_sampling(application.program, Sampling(temperature=0.0))
    controller.send(f"{_MARKER} " * 60)
    with qtbot.waitSignal(controller.shown.reading, timeout=PATIENCE_MS):
        pass
    assert application.link.pid is not None
    with qtbot.waitSignal(application.session.worker_died, timeout=PATIENCE_MS):
        os.kill(application.link.pid, signal.SIGSEGV)
    # The answer says what happened. The report is offered once the model is there again.
    banner = application.window.banner
    qtbot.waitUntil(lambda: isinstance(banner.action, ShowReport), timeout=PATIENCE_MS)
    _ready(application, qtbot)
    assert "signal SIGSEGV" in banner.label.text()
    text = _open_report(application, qtbot).text.toPlainText()
    assert text.startswith("The model process stopped unexpectedly (signal SIGSEGV).\nThat was at ")
    # The last heartbeat may come from before the answer.
    assert re.search(r"\nIt was .+, for [\d.]+ s\.\n", text)
    assert "\nModel: guide\n" in text
    assert "\nmlx " in text
    assert "Fatal Python error: Segmentation fault" in text
    assert 'worker/server.py", line ' in text
    assert len(CrashReports(tmp_path / "logs" / "reports").all()) == 1
    assert not holders(tmp_path / "logs", forms_of(_MARKER))


_HOOK = """
def hook(step):
    print(step.text, file=__import__("sys").stderr)
    raise ValueError(step.text)
"""


def test_a_whole_life_leaves_no_text_in_the_log_and_the_reports(
    open_bough: OpenBough, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question, a name, a project, a hook that fails with the text, a crash, and damaged files with such names."""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "failing.py").write_text(_HOOK)
    log = LogFile(tmp_path / "logs", "bough.log")
    application = open_bough()
    _ready(application, qtbot)
    controller, program = application.controller, application.program
    program.projects.put(_NAME, Project(instructions=_MARKER))
    controller.send(_MARKER)
    qtbot.waitUntil(lambda: controller.shown.streaming_message is None, timeout=PATIENCE_MS)
    conversation = controller.shown.conversation
    assert conversation is not None
    program.conversations.rename(conversation.id, _NAME)
    answered = controller.shown.path[-1]
    controller.preparation.set_generation(GenerationSettings(hooks=("failing",)))
    controller.regenerate(answered.id)
    qtbot.waitUntil(lambda: controller.shown.streaming_message is None, timeout=PATIENCE_MS)
    failed = controller.shown.path[-1]
    assert failed.record is not None
    assert failed.record.error
    controller.preparation.set_generation(GenerationSettings())
    damaged = tmp_path / f"{_NAME}.json"
    damaged.write_text(f'{{"messages": [{{"role": "user", "content": "{_MARKER}')
    window = application.window.dialogs.show_import([damaged])
    qtbot.waitUntil(lambda: not window.is_working, timeout=PATIENCE_MS)
    window.close()
    program.conversations.delete(conversation.id)
    pid = application.link.pid
    assert pid is not None
    with qtbot.waitSignal(application.session.worker_died, timeout=PATIENCE_MS):
        os.kill(pid, signal.SIGABRT)
    _ready(application, qtbot)
    application.window.close()
    log.close()
    logs = tmp_path / "logs"
    # The store has what must not be here, and the log was written all the time.
    assert holders(tmp_path, {_MARKER.encode()})
    text = log.path.read_text(encoding="utf-8")
    assert "Notice: " in text
    assert "Fatal Python error: Aborted" in text
    assert len(CrashReports(logs / "reports").all()) == 1
    assert not holders(logs, forms_of(_MARKER) | forms_of(_NAME))


_CRASHING = """
import os, signal, sys
from pathlib import Path
from PySide6.QtCore import Qt, QTimer
from app.__main__ import open_window
from app.windows import Windows

show = Windows.show

def show_and_crash(windows):
    show(windows)
    windows.first[0].first_paint.over.connect(
        lambda: QTimer.singleShot(0, lambda: os.kill(os.getpid(), signal.SIGSEGV)), Qt.ConnectionType.QueuedConnection
    )

Windows.show = show_and_crash
open_window(Path(sys.argv[1]))
"""


def test_the_real_program_notes_its_own_crash(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CRASHING, str(tmp_path)], cwd=ROOT, capture_output=True, timeout=500, check=False
    )
    assert done.returncode == -signal.SIGSEGV, done.stderr
    reports = CrashReports(tmp_path / "logs" / "reports")
    report = reports.collect()
    assert report is not None
    text = report.read_text(encoding="utf-8")
    assert f"\nBough {program_version()}, Python " in text
    assert "Fatal Python error: Segmentation fault" in text
    assert "app/__main__.py" in text
    log = (tmp_path / "logs" / "bough.log").read_text(encoding="utf-8")
    assert "Bough begins, process " in log
