"""Pictures of the window's states, in both themes and at two sizes, to be looked at: `python -m tests.pictures DIR`.

Texts are put into the store by hand, so that each state shows what is hard about it; the window is the real one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from PySide6.QtCore import QEventLoop, QTimer

from app.application import Application, Places, make_qt_application
from app.model.message import Figures, Message, Record
from app.model.settings import Settings, Theme, save_settings
from app.model.store import Store
from app.notices import Notice
from app.ui.settings_window import SettingsWindow
from app.ui.sheet import Sheet
from tests import pictures_of_transfer, pictures_of_trees

_SIZES = ((1280, 800), (820, 640))
_FIGURES = Figures(
    prompt_tokens=812, kept_tokens=798, read_tokens=14, new_tokens=96, first_word_ms=50, tokens_per_s=230
)

_CODE = """\
Here is a function, and a line that is far too long for the page:

```python
def longest_common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    \"\"\"Return how many items `a` and `b` share at their beginnings.\"\"\"
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b)))  # one pass, and it stops early enough

class Tree:
    def __init__(self) -> None:
        self.children: dict[str, "Tree"] = {}
```

1. First, `rewind_to(prompt)`.
2. Then read what is new:
   - in chunks,
   - with *looks* for commands **between** them.

> What the model has read once it never reads again.

| model | tokens | kept |
|:------|-------:|-----:|
| guide | 1,204 | 98 % |
| a model with a rather long name | 32,768 | 7 % |
"""

_SCRIPTS = """\
עברית נכתבת מימין לשמאל, והמשפט הזה ארוך מספיק כדי להישבר לשורה שנייה בחלון הזה, אם הכול עובד כמו שצריך.

东京是日本的首都。這一段文字沒有空格，所以必須在任何字符之間斷行，而不會超出頁面的邊緣，也不會切斷字符。

Ein Wort: Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft 🌿 👩‍👩‍👧 — naïve café.
"""


def main() -> int:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    _ = make_qt_application([])
    for theme in ("light", "dark"):
        for name, application, width, height in _states(theme):
            application.window.resize(width, height)
            _settle(250)
            shown = application.window.findChild(SettingsWindow) or application.window.findChild(Sheet)
            shown = shown or application.window
            shown.grab().save(str(out / f"{name}-{theme}-{width}.png"))
            print(f"{name}-{theme}-{width}")
    return 0


def _states(theme: Theme) -> Iterator[tuple[str, Application, int, int]]:
    for name, prepare in (
        ("welcome", _welcome),
        ("code", _of_answer(_CODE)),
        ("scripts", _of_answer(_SCRIPTS)),
        ("long-word", _of_answer("x" * 10_000)),
        ("siblings", _siblings),
        ("failed", _failed),
        ("streaming", _streaming),
        ("editing", _editing),
        ("sampling", _sampling),
        ("settings", _settings),
        ("settings-general", _general),
        ("palette", _palette),
        ("searching", _with(pictures_of_transfer.searching)),
        ("exporting", _with(pictures_of_transfer.exporting)),
        ("importing", _with(pictures_of_transfer.importing)),
        ("trash", _with(pictures_of_transfer.trash)),
        *((f"tree-{num}", pictures_of_trees.tree(num, _wait)) for num in (0, 3, 300, 10_000)),
        ("comparing", _with(pictures_of_trees.comparing)),
        ("running-again", _with(pictures_of_transfer.running_again)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            save_settings(Path(folder) / "settings.json", Settings(theme=theme))
            show = prepare(Path(folder))
            application = Application(Places.under(Path(folder)))
            application.window.show()
            _wait(lambda application=application: application.session.state == "ready")
            _settle(100)
            show(application)
            for width, height in _SIZES:
                yield name, application, width, height
            application.window.close()
            application.close()


def _welcome(_folder: Path) -> Callable[[Application], None]:
    return lambda _: None


def _of_answer(text: str) -> Callable[[Path], Callable[[Application], None]]:
    def prepare(folder: Path) -> Callable[[Application], None]:
        def fill(store: Store, conversation_id: int, question: Message) -> None:
            store.add(conversation_id, question.id, "assistant", text, record=Record(model="guide", figures=_FIGURES))

        return _with_conversation(folder, fill)

    return prepare


def _siblings(folder: Path) -> Callable[[Application], None]:
    def fill(store: Store, conversation_id: int, question: Message) -> None:
        for number in ("first", "second", "third"):
            answer = store.add(
                conversation_id,
                question.id,
                "assistant",
                f"The {number} answer, kept beside the others.",
                record=Record(figures=_FIGURES),
            )
        for number in range(2):
            store.add(conversation_id, answer.id, "user", f"And then? (version {number + 1})")  # pyright: ignore[reportPossiblyUnbound]

    return _with_conversation(folder, fill)


def _failed(folder: Path) -> Callable[[Application], None]:
    def fill(store: Store, conversation_id: int, question: Message) -> None:
        error = "The prompt has 2,310 tokens; the model's context holds 2,048 with the answer. Shorten the message."
        store.add(conversation_id, question.id, "assistant", "", state="failed", record=Record(error=error))

    def show(application: Application) -> None:
        application.controller.program.notices.noticed.emit(
            Notice(
                "The worker that runs the model ended by SIGKILL. What was written is kept. "
                "A fresh worker is starting; your next message will work.",
                "warning",
            )
        )

    opened = _with_conversation(folder, fill)

    def both(application: Application) -> None:
        opened(application)
        show(application)

    return both


def _streaming(folder: Path) -> Callable[[Application], None]:
    """A real answer, stopped in its middle: nothing more arrives while the picture is taken."""

    def show(application: Application) -> None:
        application.controller.program.set_sampling(
            msgspec.structs.replace(application.controller.program.settings.asking.sampling, stop=("§",))
        )
        application.controller.send("What is a branch, and what is a fork?")
        _wait(lambda: bool(application.controller.path[-1].text))
        application.link.received.disconnect()

    return show


def _editing(folder: Path) -> Callable[[Application], None]:
    opened = _siblings(folder)

    def show(application: Application) -> None:
        opened(application)
        transcript = application.window.transcript
        view = transcript.reveal(transcript.message_ids[1])
        assert view is not None
        view.begin_edit()

    return show


def _sampling(folder: Path) -> Callable[[Application], None]:
    opened = _siblings(folder)

    def show(application: Application) -> None:
        opened(application)
        application.window.composer.sampling_button.click()

    return show


def _general(folder: Path) -> Callable[[Application], None]:
    opened = _siblings(folder)

    def show(application: Application) -> None:
        opened(application)
        application.window.action("settings").trigger()

    return show


def _palette(folder: Path) -> Callable[[Application], None]:
    opened = _siblings(folder)

    def show(application: Application) -> None:
        opened(application)
        application.window.action("palette").trigger()

    return show


def _settings(folder: Path) -> Callable[[Application], None]:
    opened = _siblings(folder)

    def show(application: Application) -> None:
        opened(application)
        application.controller.send("What is a branch?")
        _wait(lambda: application.controller.streaming_message is None)
        application.window.action("settings").trigger()
        settings = application.window.findChild(SettingsWindow)
        assert isinstance(settings, SettingsWindow)
        settings.show_page(settings.memory_page)
        settings.memory_page.memory.choose(1)
        _wait(lambda: application.session.kept is not None)

    return show


def _with(
    show: Callable[[Application, pictures_of_transfer.Wait], None],
) -> Callable[[Path], Callable[[Application], None]]:
    """A state of a conversation with versions, brought about by the window itself."""

    def prepare(folder: Path) -> Callable[[Application], None]:
        opened = _siblings(folder)

        def both(application: Application) -> None:
            opened(application)
            show(application, _wait)

        return both

    return prepare


def _with_conversation(folder: Path, fill: Callable[[Store, int, Message], None]) -> Callable[[Application], None]:
    store = Store(folder / "conversations.sqlite3")
    conversation, question = store.create_conversation(
        "How branches work", "You are a careful teacher. Answer in short sentences.", "Show me what is hard to show."
    )
    fill(store, conversation.id, question)
    for name in ("Trip plans", "A question with quite a long name that must be cut somewhere"):
        store.create_conversation(name, "", "Hello")
    store.close()
    return lambda application: application.controller.open_conversation(conversation.id)


def _wait(holds: Callable[[], bool]) -> None:
    loop = QEventLoop()
    timer = QTimer()
    timer.timeout.connect(lambda: loop.quit() if holds() else None)
    timer.start(5)
    loop.exec()


def _settle(ms: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(ms, loop.quit)
    loop.exec()


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    sys.exit(main())
