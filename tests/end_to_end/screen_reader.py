# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
"""Does the main job like a user of a screen reader, by roles and names alone: ask, wait, edit, switch back, fork.

It is run by the system's own Python, which has pyatspi, in a session with a display and an accessibility bus. It prints
what it heard and read as JSON.
"""

import json
import sys
import time
import traceback
from typing import Any

import pyatspi

_PATIENCE_S = 60
_QUESTION = "What is a branch?"
_EDITED = "How do I fork a message?"


def main() -> int:
    heard: list[str] = []
    pyatspi.Registry.registerEventListener(lambda event: heard.append(str(event.any_data)), "object:announcement")
    window = _wait(_program)
    _wait(lambda: _find(window, "push button", "What is a branch?"))
    _write(window, "Message", _QUESTION)
    _press(window, "push button", "Send")
    read: dict[str, Any] = {"first": _answer(window, heard, 1)}
    _focus(window, "You")
    _press(window, "menu item", "Edit\tE")
    _write(window, "New version", _EDITED)
    _press(window, "push button", "Ask again")
    read["second"] = _answer(window, heard, 2)
    _focus(window, "You, version 2 of 2")
    _press(window, "push button", "Previous version")
    read["again"] = _wait(lambda: _text(window, "You, version 1 of 2")) and _text(window, "Answer")
    _press(window, "menu item", "Fork\tF")
    _wait(lambda: _find(window, "table cell", f"{_QUESTION} (fork)"))
    read["conversations"] = [node.name for node in _all(window) if node.getRoleName() == "table cell"]
    print(json.dumps({"heard": heard, "read": read}))
    return 0


def _answer(window: Any, heard: list[str], number: int) -> str:
    """Wait for the announcement that this many answers have ended. Return the text of the last one."""
    _wait(lambda: heard.count("Answer finished") >= number)
    return _wait(lambda: _text(window, "Answer"))


def _program() -> Any:
    desk = pyatspi.Registry.getDesktop(0)
    programs = [program for program in desk if program is not None and program.name == "Bough"]
    return programs[0][0] if programs and programs[0].childCount else None


def _all(node: Any) -> list[Any]:
    found = [node]
    for child in node:
        # Widgets that have gone have neither a name nor children.
        if child is not None:
            found += _all(child)
    return found


def _find(window: Any, role: str, name: str) -> Any:
    for node in _all(window):
        # Newer versions say "button" alone.
        if node.name == name and (not role or node.getRoleName() in {role, role.removeprefix("push ")}):
            return node
    return None


def _press(window: Any, role: str, name: str) -> None:
    control = _wait(lambda: _find(window, role, name))
    _wait(lambda: control.getState().contains(pyatspi.STATE_ENABLED))
    control.queryAction().doAction(0)


def _write(window: Any, name: str, text: str) -> None:
    field = _wait(lambda: _text_in_sight(window, lambda found: found == name))
    field.queryEditableText().setTextContents(text)


def _focus(window: Any, name: str) -> None:
    node = _wait(lambda: _text_in_sight(window, lambda found: found == name))
    # Without a window manager no window is active, so no widget is reported to have the focus.
    node.queryComponent().grabFocus()


def _text(window: Any, name: str) -> str:
    """Return the text of the message whose name begins like this."""
    face = _text_in_sight(window, lambda found: found.startswith(name)).queryText()
    return face.getText(0, face.characterCount)


def _text_in_sight(window: Any, is_called_so: Any) -> Any:
    """Find a field or a message. Some exist only to be measured, and are never shown."""
    for node in _all(window):
        is_text = is_called_so(node.name) and "Text" in pyatspi.listInterfaces(node)
        if is_text and node.getState().contains(pyatspi.STATE_SHOWING):
            return node
    return None


def _wait(look: Any) -> Any:
    """Look again and again, and handle events in between."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            found = look()
        except Exception:  # noqa: BLE001 (what it looks at may go away while it looks)
            found = None
        if found:
            return found
        pyatspi.Registry.pumpQueuedEvents()
        _let_events_in()
    traceback.print_stack()
    sys.exit("It did not come")


def _let_events_in() -> None:
    from gi.repository import GLib

    context = GLib.MainContext.default()
    for _ in range(20):
        context.iteration(False)


if __name__ == "__main__":
    sys.exit(main())
