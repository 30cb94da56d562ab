"""The tour: the real window and the real worker play the main steps by themselves, and leave pictures of it.

It works the window as a person does, by its buttons, keys and fields; each step says what it expects, and one
that finds otherwise makes the exit code 1.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from PySide6.QtCore import QCoreApplication, QEventLoop, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.application import Application, Places, make_qt_application
from app.model.message import Message
from app.model.settings import Settings, save_settings
from app.model.settings import Theme as ThemeName
from app.ui.message_view import MessageView

_SIZE = (1280, 800)
_PATIENCE_S = 120
_QUESTION = "What is a branch?"
_FOLLOW_UP = "How do I regenerate an answer?"
_EDITED = "How do I fork a message?"


class _UnexpectedError(Exception):
    """A step found something else than it should."""


def play_tour(out: Path, theme: ThemeName = "light") -> int:
    """Play the tour; write numbered pictures, the transcript and `tour.json` to `out`; return the exit code."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for old in (*out.glob("[0-9][0-9]-*.png"), out / "transcript.md", out / "tour.json"):
            old.unlink(missing_ok=True)
    except OSError as failure:
        print(f"The tour can't write to {out} ({failure.strerror}). Name another folder.", file=sys.stderr)  # noqa: T201
        return 1
    data = Path(tempfile.mkdtemp(prefix="bough-tour-"))
    _qt_application = make_qt_application(sys.argv[:1])
    try:
        save_settings(data / "settings.json", Settings(theme=theme))
        tour = _Tour(out, Application(Places.under(data)))
        error = tour.play()
    finally:
        shutil.rmtree(data, ignore_errors=True)
    report = {"ok": error is None, "error": error, "steps": tour.steps}
    (out / "tour.json").write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2))
    print(f"The tour's pictures, transcript.md and tour.json are in {out.resolve()}")  # noqa: T201
    if error is not None:
        print(f"The tour went wrong: {error}", file=sys.stderr)  # noqa: T201
    return 0 if error is None else 1


class _Tour:
    def __init__(self, out: Path, application: Application) -> None:
        self.steps: list[dict[str, Any]] = []
        self._out = out
        self._application = application
        self._controller = application.controller
        self._window = application.window
        self._why_not_loaded = ""
        application.session.load_failed.connect(self._on_load_failed)

    def play(self) -> str | None:
        """Play all steps; return what went wrong."""
        # An exception in a slot is printed and survived; here it is also something wrong.
        in_slots: list[str] = []
        print_it = sys.excepthook

        def remember(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            in_slots.append(f"{kind.__name__}: {error}")
            print_it(kind, error, trace)

        sys.excepthook = remember
        try:
            error = self._play_steps()
            self._window.close()
            return error or next(iter(in_slots), None)
        finally:
            sys.excepthook = print_it
            self._application.close()

    def _play_steps(self) -> str | None:
        self._window.resize(*_SIZE)
        self._window.show()
        try:
            for name, step in (
                ("load", self._load),
                ("ask", self._ask),
                ("regenerate", self._regenerate),
                ("regenerate again", self._regenerate),
                ("ask on", self._ask_on),
                ("edit an earlier question", self._edit),
                ("switch back", self._switch_back),
                ("fork", self._fork),
                ("search everything", self._search),
                ("export", self._export),
            ):
                began = time.perf_counter()
                facts = step()
                seconds = round(time.perf_counter() - began, 3)
                self.steps.append({"step": name, "seconds": seconds, **facts})
                self._picture(name)
        except Exception as error:  # noqa: BLE001 (whatever it is, the tour went wrong, and its report says so)
            if not isinstance(error, _UnexpectedError):
                traceback.print_exception(error)
            self._picture("failed")
            return str(error) or type(error).__name__
        return None

    # --- steps ---------------------------------------------------------------------------------------------

    def _load(self) -> dict[str, Any]:
        session = self._controller.program.session
        self._picture("start")
        self._wait("the model to load", lambda: session.state != "loading")
        info = session.info
        if info is None:
            raise _UnexpectedError(f"The guide model did not load: {self._why_not_loaded}")
        return {"model": info.model, "parameters": info.num_parameters, "context": info.context_length}

    def _ask(self) -> dict[str, Any]:
        self._type(_QUESTION)
        first_words = self._wait_for_words()
        self._picture("streaming")
        answer = self._finished_answer()
        _expect(answer.text.startswith(first_words), "what was shown first was taken back")
        return _figures(answer)

    def _regenerate(self) -> dict[str, Any]:
        old = self._controller.path[-1]
        self._press(self._view_of(old), "R")
        answer = self._finished_answer()
        versions = len(self._controller.siblings(answer.id))
        _expect(answer.id != old.id and old.id in self._controller.siblings(answer.id), "the old answer is gone")
        figures = _figures(answer)
        _expect(figures["read_tokens"] == 1, f"{figures['read_tokens']} tokens were read again")
        return {**figures, "versions": versions}

    def _ask_on(self) -> dict[str, Any]:
        self._type(_FOLLOW_UP)
        answer = self._finished_answer()
        figures = _figures(answer)
        _expect(figures["kept_tokens"] > 0, "nothing of the first turn was kept")
        return figures

    def _edit(self) -> dict[str, Any]:
        question = next(message for message in self._controller.path if message.text == _FOLLOW_UP)
        view = self._view_of(question)
        self._press(view, "E")
        editor = self._window.focusWidget()
        QTest.keyClick(editor, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(editor, _EDITED)
        self._picture("editing")
        QTest.keyClick(editor, Qt.Key.Key_Return)
        answer = self._finished_answer()
        edited = self._controller.path[-2]
        _expect(edited.text == _EDITED, "the new version is not shown")
        _expect(question.id in self._controller.siblings(edited.id), "the old question is gone")
        figures = _figures(answer)
        _expect(figures["kept_tokens"] > 0, "nothing before the edited question was kept")
        return {**figures, "versions": len(self._controller.siblings(edited.id))}

    def _switch_back(self) -> dict[str, Any]:
        edited = self._controller.path[-2]
        self._view_of(edited).text.setFocus(Qt.FocusReason.TabFocusReason)
        self._window.action("previous_sibling").trigger()
        texts = [message.text for message in self._controller.path]
        _expect(_FOLLOW_UP in texts and _EDITED not in texts, "the first version did not come back")
        return {"messages": len(texts)}

    def _fork(self) -> dict[str, Any]:
        answer = next(message for message in self._controller.path if message.role == "assistant")
        self._press(self._view_of(answer), "F")
        _expect(self._controller.path[-1].id == answer.id, "the new conversation does not end where it was forked")
        self._type(_EDITED)
        forked = self._finished_answer()
        return {**_figures(forked), "conversations": len(self._controller.program.conversations.all)}

    def _search(self) -> dict[str, Any]:
        """Look for a word of a branch that is not shown, and go there."""
        self._window.action("search_all").trigger()
        search = self._window.transfer.search
        QTest.keyClicks(search.field, _FOLLOW_UP.split()[3])
        self._wait("what was looked for", lambda: search.list.chosen is not None)
        self._picture("searching")
        found = search.list.chosen
        QTest.keyClick(search.field, Qt.Key.Key_Return)
        shown = [message.id for message in self._controller.path]
        _expect(found is not None and found.message.id in shown, "what was found is not shown")
        return {"hits": search.list.model().rowCount()}

    def _export(self) -> dict[str, Any]:
        sheet = self._window.transfer.show_export()
        if sheet is None:
            raise _UnexpectedError("There is nothing to export")
        sheet.set_folder(self._out)
        sheet.name_field.clear()
        QTest.keyClicks(sheet.name_field, "transcript")
        self._wait("the preview", lambda: bool(sheet.preview.text.toPlainText()))
        self._settle()
        self._save(sheet, "exporting")
        QTest.keyClick(sheet, Qt.Key.Key_Return)
        self._wait("the export", lambda: not sheet.is_working)
        text = (self._out / "transcript.md").read_text(encoding="utf-8")
        for message in self._controller.path:
            _expect(message.text.strip() in text, f"the transcript lacks {message.text[:40]!r}")
        return {"characters": len(text)}

    def _on_load_failed(self, why: str) -> None:
        self._why_not_loaded = why

    # --- hands and eyes ------------------------------------------------------------------------------------

    def _type(self, text: str) -> None:
        field = self._window.composer.text
        field.setFocus()
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)

    def _press(self, view: MessageView, key: str) -> None:
        view.text.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClicks(view.text, key)

    def _view_of(self, message: Message) -> MessageView:
        view = self._window.transcript.reveal(message.id)
        if view is None:
            raise _UnexpectedError(f"{message.text[:40]!r} is not on the page")
        return view

    def _wait_for_words(self) -> str:
        self._wait("the first words", lambda: bool(self._controller.path[-1].text))
        words = self._controller.path[-1].text
        self._settle()
        return words

    def _finished_answer(self) -> Message:
        self._wait("the answer", lambda: self._controller.streaming_message is None)
        answer = self._controller.path[-1]
        _expect(answer.role == "assistant" and answer.state == "complete", f"the answer ended as {answer.state}")
        _expect(bool(answer.text.strip()), "the answer is empty")
        self._settle()
        _expect(self._view_of(answer).text.content == answer.text, "the page does not show the answer")
        return answer

    def _wait(self, what: str, is_there: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not is_there():
            if time.monotonic() > deadline:
                raise _UnexpectedError(f"{what} did not come within {_PATIENCE_S} s")
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)

    def _settle(self) -> None:
        """Let what has been asked for be laid out and painted."""
        loop = QEventLoop()
        QTimer.singleShot(80, loop.quit)
        loop.exec()

    def _picture(self, name: str) -> None:
        self._settle()
        self._save(self._window, name)

    def _save(self, widget: QWidget, name: str) -> None:
        number = len(list(self._out.glob("[0-9][0-9]-*.png"))) + 1
        widget.grab().save(str(self._out / f"{number:02}-{name.replace(' ', '-')}.png"))


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _UnexpectedError(otherwise)


def _figures(answer: Message) -> dict[str, Any]:
    record = answer.record
    if record is None:
        raise _UnexpectedError("The answer has no record")
    return msgspec.structs.asdict(record.figures)
