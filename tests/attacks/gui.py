"""The real window over hostile texts, and what a user does with them."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QEventLoop, QMimeData, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication
from typing_extensions import override

from app.notices import Notice
from app.ui.comparing.compare_window import CompareWindow
from app.ui.composer.writing_field import WritingField
from app.ui.message.message_view import MessageView
from app.ui.text.message_text import MessageText
from app.ui.window import MainWindow
from tests.app.desk import Desk
from tests.app.ui.waiting import are_formulas_rendered, has_chosen_look, is_at_rest, is_idle
from tests.attacks.watchdog import Watchdog
from worker.protocol import Alternative, Chunk, Token
from worker.sentence import verbatim

_NUM_CHUNKS = 200
_PATIENCE_S = 15
"""After this time a file that is being written is cancelled."""
_SIZE = (1180, 780)
_PRESS = QEvent.Type.KeyPress
_NO_MODIFIER = Qt.KeyboardModifier.NoModifier


class Stage:
    """The window, with a scripted worker."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder)
        self.window = MainWindow(self.desk.controller, folder)
        self.window.resize(*_SIZE)
        self.window.show()
        self.turn()
        self.desk.ask("Hello", "Hello.")
        self.short = self._conversation
        self.settle()

    @property
    def _conversation(self) -> int:
        assert self.desk.controller.shown.conversation is not None
        return self.desk.controller.shown.conversation.id

    @property
    def answer(self) -> int:
        return self.desk.controller.shown.path[-1].id

    def turn(self) -> None:
        # Without a running event loop, what this function's callers have deleted would stay for ever.
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        QEventLoop().processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 10)

    def settle(self, patience_s: float = 900) -> None:
        """Wait until the page is complete."""
        end = time.monotonic() + patience_s
        num_quiet = 0
        while num_quiet < 3:
            self.turn()
            is_quiet = is_at_rest(self.window.transcript) and are_formulas_rendered() and self._are_texts_written()
            is_quiet = is_quiet and has_chosen_look(self.window, self.desk.program.settings)
            num_quiet = num_quiet + 1 if is_quiet else 0
            assert time.monotonic() < end, "The page is still not complete"

    def _are_texts_written(self) -> bool:
        return all(is_idle(text) for text in self.window.findChildren(MessageText))

    def plant(self, text: str) -> int:
        """Store a conversation with two versions of an answer; return its id."""
        self.desk.controller.shown.new_conversation()
        store = self.desk.store
        conversation, question = store.create_conversation("Hostile", "", "Go")
        for version in (text, text + " more"):
            answer = store.add(conversation.id, question.id, "assistant", version)
        assert answer.text
        self.show(self.short)
        return conversation.id

    def show(self, conversation: int) -> None:
        self.desk.controller.shown.open_conversation(conversation)
        self.settle()

    def stream(self, text: str, watchdog: Watchdog) -> None:
        """Answer with a text, piece by piece."""
        self.desk.controller.send("And then?")
        request = self.desk.link.asked[-1]
        step = max(4, len(text) // _NUM_CHUNKS)
        other = Alternative(id=2, text="other", logprob=-2.0)
        for start in range(0, len(text), step):
            piece = text[start : start + step]
            tokens = [Token(id=1, logprob=-0.5, top=[other], num_chars=len(piece))]
            self.desk.link.say(Chunk(request_id=request.request_id, choice=0, text=piece, tokens=tokens))
            self.turn()
        self.desk.link.finished(request, text)
        self.settle()

    def close(self) -> None:
        self.window.close()
        self.window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        self.desk.close()

    @property
    def view(self) -> MessageView:
        """The view of the answer."""
        view = self.window.transcript.view(self.answer)
        assert view is not None
        return view

    def paste(self, field: WritingField, text: str) -> None:
        data = QMimeData()
        data.setText(text)
        field.insertFromMimeData(data)
        self.settle()

    def press(
        self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier, text: str = ""
    ) -> None:
        focus = QApplication.focusWidget() or self.window.focusWidget()
        for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            QApplication.postEvent(focus, QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier, text))
        self.turn()


@contextlib.contextmanager
def stage(folder: Path) -> Generator[Stage]:
    stage = Stage(folder)
    try:
        yield stage
    finally:
        stage.close()


def _open(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    conversation = stage.plant(text)
    return lambda _: stage.show(conversation)


def _stream(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    return lambda watchdog: stage.stream(text, watchdog)


def _tint(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    stage.window.transcript.modes.show_tokens(True)
    return lambda watchdog: stage.stream(text, watchdog)


def _think(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    """Answer with the text as a thought, which is unfolded, and fold it and unfold it again."""

    def run(watchdog: Watchdog) -> None:
        stage.window.transcript.modes.unfolded.update(range(100))
        stage.stream(f"<think>{text}</think>Yes.", watchdog)
        for _ in range(2):
            stage.view.toggle_thought()
            stage.settle()

    return run


def _send(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    """Paste the text into the composer, type, and send it: it is a question, and names the conversation."""

    def run(_: Watchdog) -> None:
        stage.desk.controller.shown.new_conversation()
        field = stage.window.composer.text
        stage.paste(field, text)
        field.setFocus()
        for letter in "ab":
            stage.press(Qt.Key.Key_A, text=letter)
            stage.settle()
        if not field.content:
            # The field refuses some texts, but an import, say, may bring them.
            stage.desk.controller.send(text)
        else:
            stage.window.composer.send()
        stage.settle()
        stage.desk.answer("Yes.")
        stage.settle()

    return run


def _name(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    """Name a conversation and a branch after the text, and show them where names are shown."""

    def run(_: Watchdog) -> None:
        conversation = stage.desk.controller.shown.conversation
        assert conversation is not None
        stage.desk.program.conversations.rename(conversation.id, text)
        stage.settle()
        stage.desk.controller.name_branch(stage.answer, text)
        stage.settle()
        for action in ("tree", "palette"):
            stage.window.action(action).trigger()
            stage.settle()
        QApplication.sendEvent(stage.window.focusWidget(), QKeyEvent(_PRESS, Qt.Key.Key_Escape, _NO_MODIFIER))
        stage.settle()

    return run


def _notify(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def run(_: Watchdog) -> None:
        stage.desk.program.notices.post(Notice(verbatim(text), "warning"))
        stage.settle()
        stage.window.banner.dismiss()
        stage.settle()

    return run


WAYS: Mapping[str, Callable[[Stage, str], Callable[[Watchdog], None]]] = {
    "open": _open,
    "stream": _stream,
    "tint": _tint,
    "think": _think,
    "send": _send,
    "name": _name,
    "notify": _notify,
}
"""The ways in which a text gets into the window, by name. Each prepares the window and returns the steps to measure."""


def _resize(stage: Stage) -> None:
    for width in (*range(1600, 500, -220), *range(520, 1600, 220), *_SIZE[:1]):
        stage.window.resize(width, _SIZE[1])
        stage.settle()


def _scroll(stage: Stage) -> None:
    bar = stage.window.transcript.verticalScrollBar()
    for part in range(9):
        bar.setValue(bar.maximum() * part // 8)
        stage.settle()


def _find(stage: Stage) -> None:
    stage.window.action("find").trigger()
    stage.turn()
    for query in ("a", "an", "x"):
        stage.window.find_bar.field.setText(query)
        stage.settle()
    for _ in range(3):
        stage.window.action("find_next").trigger()
        stage.settle()
    stage.window.find_bar.closed.emit()
    stage.settle()


def _copy(stage: Stage) -> None:
    stage.view.text.selectAll()
    stage.turn()
    stage.view.text.copy()
    stage.turn()
    stage.window.action("select_messages").trigger()
    stage.turn()
    stage.window.action("copy_messages").trigger()
    stage.settle()


def _raw(stage: Stage) -> None:
    for _ in range(2):
        stage.view.toggle_raw()
        stage.settle()


def _edit(stage: Stage) -> None:
    stage.view.begin_edit()
    stage.settle()
    for letter in "abc":
        stage.press(Qt.Key.Key_A, text=letter)
        stage.settle()
    stage.press(Qt.Key.Key_Escape)
    stage.settle()


def _compare(stage: Stage) -> None:
    stage.window._compare_commands.compare(stage.answer)  # pyright: ignore[reportPrivateUsage]
    stage.settle()
    window = stage.window.findChild(CompareWindow)
    assert isinstance(window, CompareWindow)
    while window.panes.is_comparing:
        stage.turn()
    for _ in range(2):
        window.next_button.click()
        stage.settle()
    window.close()
    stage.settle()


def _versions(stage: Stage) -> None:
    shown = stage.desk.controller.shown
    stage.window._message_commands.versions_requested.emit(shown.siblings(stage.answer))  # pyright: ignore[reportPrivateUsage]
    stage.settle()
    stage.window.side_by_side.close_page()
    stage.settle()


def _tree(stage: Stage) -> None:
    for _ in range(2):
        stage.window.action("tree").trigger()
        stage.settle()


def _search(stage: Stage) -> None:
    stage.window.action("search_all").trigger()
    found: list[object] = []
    panel = stage.window.dialogs.search
    panel._searcher.found.connect(found.append)  # pyright: ignore[reportPrivateUsage]
    for number, query in enumerate(("a", "x", "hostile"), 1):
        panel.field.setText(query)
        while len(found) < number:
            stage.turn()
        stage.settle()
    panel.dismiss()
    stage.settle()


def _export(stage: Stage) -> None:
    _preview(stage, ("txt", "md", "bough"))


def _preview(stage: Stage, formats: Sequence[str]) -> None:
    window = stage.window.dialogs.show_export()
    assert window is not None
    for format_ in formats:
        window.formats.setCurrentIndex(window.formats.findData(format_))
        while window._preview_task is not None:  # pyright: ignore[reportPrivateUsage]
            stage.turn()
        stage.settle()
    window.reject()
    stage.settle()


def _export_pages(stage: Stage) -> None:
    """Show pictures of first pages."""
    _preview(stage, ("html", "pdf", "docx"))


def _export_file(stage: Stage, format_: str) -> None:
    """Write a file; cancel this after a while, since some texts take minutes."""
    window = stage.window.dialogs.show_export()
    assert window is not None
    window.formats.setCurrentIndex(window.formats.findData(format_))
    while window._preview_task is not None:  # pyright: ignore[reportPrivateUsage]
        stage.turn()
    ended: list[object] = []
    for end in (window.accepted, window.rejected):
        end.connect(lambda: ended.append(None))
    window.export_button.click()
    latest_s = time.monotonic() + _PATIENCE_S
    while window.is_working:
        stage.turn()
        if time.monotonic() > latest_s:
            window.reject()
    if not ended:
        window.reject()
    stage.settle()


def _print(stage: Stage) -> None:
    """Print the branch. The printer writes a file, as printers of the system do."""
    from PySide6.QtPrintSupport import QPrinter

    class Printer(QPrinter):
        @override
        def outputFileName(self) -> str:
            return ""

    printing = stage.window.dialogs._printing  # pyright: ignore[reportPrivateUsage]
    shown = stage.desk.controller.shown
    assert shown.conversation is not None
    with tempfile.TemporaryDirectory() as folder:
        printer = Printer(QPrinter.PrinterMode.HighResolution)
        printer.setOutputFileName(f"{folder}/printed.pdf")
        printing._print(printer, shown.conversation.id, shown.path[-1].id)  # pyright: ignore[reportPrivateUsage]
        latest_s = time.monotonic() + _PATIENCE_S
        while printing._timer.isActive() and time.monotonic() < latest_s:  # pyright: ignore[reportPrivateUsage]
            stage.turn()
        if printing._timer.isActive():  # pyright: ignore[reportPrivateUsage]
            printing._timer.stop()  # pyright: ignore[reportPrivateUsage]
            printing._is_printing, printing._steps = False, iter(())  # pyright: ignore[reportPrivateUsage]
    stage.settle()


def _menu(stage: Stage) -> None:
    """Open the menu of the message, and fork the conversation at it."""
    conversation = stage.desk.controller.shown.conversation
    assert conversation is not None
    stage.view.text.setFocus()
    menu = stage.window.menus.menu("Message")
    menu.popup(stage.window.pos())
    stage.settle()
    menu.close()
    stage.settle()
    stage.window.action("fork").trigger()
    stage.settle()
    assert stage.desk.controller.shown.conversation != conversation
    stage.show(conversation.id)


def _theme(stage: Stage) -> None:
    for theme in ("theme_dark", "theme_light"):
        stage.window.action(theme).trigger()
        stage.settle()


def _zoom(stage: Stage) -> None:
    for action in ("larger_text", "usual_text"):
        stage.window.action(action).trigger()
        stage.settle()


def _switch(stage: Stage) -> None:
    """Show the other version, and this one again."""
    for step in (-1, 1):
        stage.window.transcript.step_sibling(stage.answer, step)
        stage.settle()


def _show_tokens(stage: Stage) -> None:
    for _ in range(2):
        stage.window.action("tokens").trigger()
        stage.settle()


def _show_more(stage: Stage) -> None:
    """Press *Show more*, if it is there."""
    if stage.view.text.num_hidden:
        more = stage.view.text._more  # pyright: ignore[reportPrivateUsage]
        assert more is not None
        more.click()
        stage.settle()


ACTS: Mapping[str, Callable[[Stage], None]] = {
    "resize": _resize,
    "scroll": _scroll,
    "find": _find,
    "copy": _copy,
    "raw": _raw,
    "edit": _edit,
    "compare": _compare,
    "versions": _versions,
    "tree": _tree,
    "search": _search,
    "export": _export,
    "pages": _export_pages,
    "pdf": lambda stage: _export_file(stage, "pdf"),
    "print": _print,
    "docx": lambda stage: _export_file(stage, "docx"),
    "menu": _menu,
    "theme": _theme,
    "zoom": _zoom,
    "switch": _switch,
    "tokens": _show_tokens,
    "more": _show_more,
}
"""The user's actions with a text on the page, by name."""
