"""The window's start: what exists when it is first painted, and what waits until then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject, QSize
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.lazy import Lazy
from app.model.database import Database
from app.ui.first_paint import FirstPaint
from app.ui.theme import icon
from tests.driver import ROOT
from tests.waiting import PATIENCE_MS

_NOT_ON_THE_FIRST_PICTURE = (
    # Markdown, formulas and code come with the first message.
    *(
        "app.ui.message.message_view",
        "app.ui.text.markdown_document",
        "app.ui.text.formulas",
        "markdown_it",
        "pygments",
    ),
    # Windows that open on request.
    *(
        "app.ui.settings.settings_window",
        "app.ui.palette",
        "app.ui.transcript.find_bar",
        "app.ui.composer.sampling_panel",
        "app.ui.comparing.compare_window",
    ),
    *(
        "app.ui.tree.tree_view",
        "app.ui.comparing.side_by_side",
        "app.ui.dialogs.export_window",
        "app.ui.dialogs.import_window",
        "app.ui.dialogs.search_panel",
    ),
    *(
        "app.ui.dialogs.recovery_windows",
        "app.ui.dialogs.replay_window",
        "app.ui.composer.system_prompt_popover",
    ),
    # Import, export and everything that runs in the background.
    *("app.export.exporting", "app.archive.archive", "app.model.imports.source", "app.model.upkeep"),
    *("ijson", "importlib.resources"),
    *("worker.process", "multiprocessing", "subprocess", "asyncio", "email", "hashlib"),
)


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("start")
    command = [sys.executable, "-m", "tests.app.first_picture", str(folder)]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)


def test_the_first_picture_is_the_whole_window(picture: dict[str, Any]) -> None:
    assert picture["seen"] == ["Sidebar", "Header", "Welcome", *["LinesButton"] * 3, "Composer"]
    assert (picture["model"], picture["hint"]) == ("Guide · starting 0 % ▾", "Ask the guide about Bough")


@pytest.mark.parametrize("module", _NOT_ON_THE_FIRST_PICTURE)
def test_modules_that_the_first_picture_does_not_need_are_not_imported_for_it(
    module: str, picture: dict[str, Any]
) -> None:
    assert module not in picture["modules"]


def test_imports_read_no_source(picture: dict[str, Any]) -> None:
    assert picture["import"] != "__feature_import__"
    assert picture["sources_read"] == []


def test_the_worker_starts_after_the_first_picture(picture: dict[str, Any]) -> None:
    assert not picture["has_worker"]


def test_deferred_work_comes_after_the_first_paint(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    came: list[str] = []
    paints = _Paints(window, came)
    first_paint = FirstPaint(window)
    first_paint.over.connect(lambda: came.append("over"))
    window.show()
    qtbot.waitUntil(lambda: "over" in came, timeout=PATIENCE_MS)
    assert came[0] == "painted"
    window.update()
    count = came.count("painted")
    qtbot.waitUntil(lambda: came.count("painted") > count, timeout=PATIENCE_MS)
    assert came.count("over") == 1
    window.removeEventFilter(paints)


def test_without_a_shown_window_deferred_work_does_not_wait_long(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    with qtbot.waitSignal(FirstPaint(window).over, timeout=PATIENCE_MS):
        pass
    assert not window.isVisible()


def test_a_lazy_part_is_made_once_and_only_when_it_is_wanted() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    lazy = Lazy(make)
    assert lazy.made is None
    assert not made
    assert lazy.get() is lazy.get() is lazy.made
    assert len(made) == 1


@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0])
def test_an_icon_is_drawn_at_the_screens_resolution(scale: float, qapp: QApplication) -> None:
    drawn = icon("plus", "#123456").pixmap(QSize(20, 20), scale)
    assert (drawn.width(), drawn.devicePixelRatio()) == (20 * scale, scale)
    assert _strongest(drawn) == 255


def test_the_icon_of_a_disabled_action_is_fainter(qapp: QApplication) -> None:
    faint = icon("plus", "#123456").pixmap(QSize(20, 20), 1.0, QIcon.Mode.Disabled)
    assert 0 < _strongest(faint) < 255


def test_changing_a_copy_of_an_icon_leaves_the_original_unchanged(qapp: QApplication) -> None:
    copy = QIcon(icon("plus", "#123456"))
    copy.addPixmap(QPixmap(3, 3))
    for one in (icon("plus", "#123456"), copy):
        assert _strongest(one.pixmap(QSize(20, 20), 1.0)) == 255


def test_a_new_store_is_as_safe_as_an_old_one_once_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    said: list[object] = []
    for _ in range(2):
        database = Database.open(path, patience_ms=1000)
        said.append([database.rows(f"PRAGMA {name}") for name in ("synchronous", "journal_mode", "foreign_keys")])
        database.close()
    assert said == [[[(1,)], [("wal",)], [(1,)]]] * 2


class _Paints(QObject):
    """Counts each painting of a window."""

    def __init__(self, window: QWidget, came: list[str]) -> None:
        super().__init__(window)
        self._came = came
        window.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self._came.append("painted")
        return False


def _strongest(pixmap: QPixmap) -> int:
    image = pixmap.toImage()
    return max(image.pixelColor(x, y).alpha() for x in range(image.width()) for y in range(image.height()))
