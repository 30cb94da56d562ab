"""Bough as a process that writes until it is killed: `python -m tests.end_to_end.run_writing FOLDER`.

It continues the last answer if that was cut, and asks one question after another. It prints what it has done, and when
(`time.monotonic_ns`), to standard output: `worker PID`, `goes_on MESSAGE TEXT`, `said TEXT` (the model is asked),
`grown MESSAGE NUM_CHARS NS WAITED_NS` (the length of the answer on screen, and how long this thread has waited for a
CPU since its start), `saved NS` (what has arrived is stored), `ended MESSAGE STATE NUM_CHARS`, `blocked NS PLACE` (the
event loop has not turned for a tenth of a second, and where it is).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.model.message import Message

_LONG = 3000
"""A longer answer is not continued."""


def waited_for_cpu_ns(pid: int) -> int:
    """Return how long the main thread of a process was ready to run and had no CPU. 0 where Linux doesn't count it."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
    return 0


_LOOK_S = 0.02
_BLOCKED_NS = 10**8
_NUM_FRAMES = 6


class _Watch:
    """Says where the thread that makes it is, when its event loop does not turn. It lives as long as the process."""

    def __init__(self, say: Callable[..., None]) -> None:
        from PySide6.QtCore import QTimer

        self._say = say
        self._thread_id = threading.get_ident()
        self._beat_ns = time.monotonic_ns()
        self._timer = QTimer(interval=10)
        self._timer.timeout.connect(self._beat)
        self._timer.start()
        threading.Thread(target=self._look, daemon=True).start()

    def _beat(self) -> None:
        self._beat_ns = time.monotonic_ns()

    def _look(self) -> None:
        while True:
            time.sleep(_LOOK_S)
            if time.monotonic_ns() - self._beat_ns > _BLOCKED_NS:
                frame = sys._current_frames().get(self._thread_id)  # pyright: ignore[reportPrivateUsage]
                lines = traceback.extract_stack(frame)[-_NUM_FRAMES:]
                places = [f"{line.filename.rpartition('/')[2]}:{line.lineno} {line.name}" for line in lines]
                self._say("blocked", time.monotonic_ns(), " > ".join(places))


def main() -> int:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from app.application import Application, Places, make_qt_application

    qt_application = make_qt_application(sys.argv[:1])
    bough = Application(Places.under(Path(sys.argv[1])))
    controller, answers = bough.controller, bough.answers
    numbers = itertools.count()
    lengths: dict[int, int] = {}

    printing = threading.Lock()

    def say(*what: object) -> None:
        with printing:
            print(json.dumps(what), flush=True)

    def ask() -> None:
        controller.shown.new_conversation()
        text = f"Question {next(numbers)} of {os.getpid()}"
        controller.send(text)
        say("said", text)

    def on_session() -> None:
        say("worker", bough.link.pid)
        if bough.session.state != "ready":
            return
        path = controller.shown.path
        if path and controller.shown.can_continue(path[-1]) and len(path[-1].text) < _LONG:
            lengths[path[-1].id] = len(path[-1].text)
            controller.continue_answer(path[-1].id)
            say("goes_on", path[-1].id, path[-1].text)
        else:
            ask()

    def on_text(message_id: int, text: str) -> None:
        lengths[message_id] = lengths.get(message_id, 0) + len(text)
        say("grown", message_id, lengths[message_id], time.monotonic_ns(), waited_for_cpu_ns(os.getpid()))

    def on_end(message: Message) -> None:
        say("ended", message.id, message.state, len(message.text))
        if bough.session.state == "ready":
            ask()

    bough.session.changed.connect(on_session)
    answers.text_appended.connect(on_text)
    answers.ended.connect(on_end)
    messages, append = bough.store.messages, bough.store.messages.append

    def append_and_say(*what: Any) -> None:
        append(*what)
        say("saved", time.monotonic_ns())

    messages.append = append_and_say  # pyright: ignore[reportAttributeAccessIssue]
    say("worker", bough.link.pid)
    _Watch(say)
    return qt_application.exec()


if __name__ == "__main__":
    sys.exit(main())
