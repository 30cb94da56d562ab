"""Plays all steps of the tour and writes pictures, the transcript and a report to a folder.

A step that finds something unexpected ends the tour with exit code 1.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from app.application import Application, Places, make_qt_application
from app.model.settings import Settings, save_settings
from app.model.settings import Theme as ThemeName
from app.tour.screen import OFFSCREEN, no_window_manager_warnings, offscreen_of
from app.tour.steps import steps_of
from app.tour.visitor import UnexpectedError, Visitor, expect

SIZE = (1280, 800)


def play_tour(out: Path, theme: ThemeName = "light", *, starter: Path | None = None) -> int:
    """Play the tour; write numbered pictures, the transcript and `tour.json` to `out`; return the exit code.

    `starter`: the folder of a small real model, with which the tour begins; None goes straight to the guide.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        for old in (*out.glob("[0-9][0-9]-*.png"), out / "transcript.md", out / "tour.json"):
            old.unlink(missing_ok=True)
    except OSError as failure:
        print(f"The tour can't write to {out} ({failure.strerror}). Name another folder.", file=sys.stderr)  # noqa: T201
        return 1
    data = Path(tempfile.mkdtemp(prefix="bough-tour-"))
    if os.environ.get("QT_QPA_PLATFORM") == OFFSCREEN:
        os.environ["QT_QPA_PLATFORM"] = offscreen_of(data)
    try:
        with no_window_manager_warnings():
            _qt_application = make_qt_application(sys.argv[:1])
            # The steps use the buttons' English names, and pictures must not show half an animation.
            save_settings(data / "settings.json", Settings(theme=theme, language="en", motion="less"))
            places = Places.under(data)
            if starter is not None:
                places.models.mkdir()
                (places.models / starter.name).symlink_to(starter, target_is_directory=True)
            error, steps = _play(Application(places), out, data)
    finally:
        shutil.rmtree(data, ignore_errors=True)
    report = {"ok": error is None, "error": error, "steps": steps}
    (out / "tour.json").write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2))
    print(f"The tour's pictures, transcript.md and tour.json are in {out.resolve()}")  # noqa: T201
    if error is not None:
        print(f"The tour went wrong: {error}", file=sys.stderr)  # noqa: T201
    return 0 if error is None else 1


def _play(application: Application, out: Path, folder: Path) -> tuple[str | None, list[dict[str, Any]]]:
    """Play all steps; return the error, if any, and the facts of the steps that succeeded."""
    visitor = Visitor(application, out, folder)
    steps: list[dict[str, Any]] = []
    try:
        with _failures_in_slots() as in_slots:
            application.window.resize(*SIZE)
            application.window.show()
            error = _play_steps(visitor, steps, in_slots)
            application.window.close()
        return error or next(iter(in_slots), None), steps
    finally:
        application.close()


def _play_steps(visitor: Visitor, steps: list[dict[str, Any]], in_slots: list[str]) -> str | None:
    try:
        for name, step in steps_of(has_starter=bool(visitor.controller.program.supply.starter)):
            began = time.perf_counter()
            facts = step(visitor)
            expect(not in_slots, next(iter(in_slots), ""))
            steps.append({"step": name, "seconds": round(time.perf_counter() - began, 3), **facts})
            visitor.picture(name)
    except Exception as error:  # noqa: BLE001 (the report names any error)
        if not isinstance(error, UnexpectedError):
            traceback.print_exception(error)
        visitor.picture("failed")
        return str(error) or type(error).__name__
    return None


@contextmanager
def _failures_in_slots() -> Generator[list[str]]:
    """Collect exceptions raised in slots. Qt prints them and goes on; the tour must fail."""
    failures: list[str] = []
    print_it = sys.excepthook

    def remember(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        failures.append(f"{kind.__name__}: {error}")
        print_it(kind, error, trace)

    sys.excepthook = remember
    try:
        yield failures
    finally:
        sys.excepthook = print_it
