"""Bough as a process that a test can kill: `python -m tests.end_to_end.run_bough FOLDER QUESTION`.

It opens the window without a display and asks the question, if there is one, as soon as the model is loaded. It prints
what happens to standard output: `worker PID`, `ready`, `reading`, `streaming`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> int:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from app.application import Application, Places, make_qt_application

    folder, question = Path(sys.argv[1]), sys.argv[2]
    qt_application = make_qt_application(sys.argv[:1])
    bough = Application(Places.under(folder))
    bough.window.show()
    said: set[str] = set()

    def say(what: str) -> None:
        if what not in said:
            said.add(what)
            print(what, flush=True)

    def on_session() -> None:
        if bough.link.pid is not None:
            say(f"worker {bough.link.pid}")
        if bough.session.state == "ready":
            say("ready")
            if question:
                bough.controller.send(question)

    def on_text(_message_id: int, _text: str) -> None:
        if len(bough.controller.shown.path[-1].text) > 2000:
            say("streaming")

    bough.session.changed.connect(on_session)
    bough.controller.shown.reading.connect(lambda *_: say("reading"))  # pyright: ignore[reportUnknownLambdaType]
    bough.controller.shown.text_appended.connect(on_text)
    return qt_application.exec()


if __name__ == "__main__":
    sys.exit(main())
