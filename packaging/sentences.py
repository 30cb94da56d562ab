"""Collects the sentences that are written below the window: failures and notices of model, program and worker.

A sentence is the text of an error, or one that ends with a full stop; what a function `…_in_words` returns is a part of
one. What is put into it is a field, called after the last name in its expression. `app/sentences.py` says them in the
window's language.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_ROOMS = ("answers", "archive", "conversation", "costs", "export", "replay")
"""Of the front end, those that say something: the window's own texts are translated as they are written."""
_SOURCES = ("app/*.py", *(f"app/{room}/*.py" for room in _ROOMS), "app/model/**/*.py", "worker/**/*.py")
_NOT_IN_THE_WINDOW = (
    # What is said in the terminal.
    *(f"app/{name}.py" for name in ("__main__", "command_line", "replay/batch_replay", "tour")),
    # Of the library, of a chat in the terminal, of commands that the window never sends.
    "worker/states/*.py",
    *(f"worker/{name}.py" for name in ("__main__", "chat", "commands", "encoding", "library", "stdio", "stepping")),
    "worker/values.py",
    # Of bugs alone.
    "worker/cache/array_file.py",
    *(f"worker/text/{name}.py" for name in ("healing", "stop_strings", "text_stream")),
    "app/archive/searching.py",
)
_ERRORS_OF_BUGS = {"AssertionError", "LookupError", "RuntimeError", "TypeError"}
_TELLING = {"__init__", "Problem"}
"""Calls besides those of errors whose texts are told."""
_FEWEST_LETTERS = 7
"""A text with fewer of its own could be anything."""
_NAME = re.compile(r"[A-Za-z]\w*")
_FIELD = re.compile(r"\{\w+\}")


def sentences(root: Path) -> list[str]:
    """Return all of them, their fields in braces, in the order of the alphabet."""
    hidden = {file for pattern in _NOT_IN_THE_WINDOW for file in root.glob(pattern)}
    files = {file for pattern in _SOURCES for file in root.glob(pattern)} - hidden
    found = {text for file in files for text in _within(ast.parse(file.read_text(encoding="utf-8")))}
    found |= _remarks(root / "app" / "model" / "imports")
    for file in (root / "worker" / "hooks").glob("[!_]*.py"):
        found |= _said_of_itself(file)
    return sorted(text for text in found if len(_FIELD.sub("", text)) >= _FEWEST_LETTERS)


def _said_of_itself(hook: Path) -> set[str]:
    """What is shown of a hook that comes with Bough: all of its docstring, and the first paragraph alone."""
    doc = (ast.get_docstring(ast.parse(hook.read_text(encoding="utf-8"))) or "").strip()
    return {doc, doc.split("\n\n")[0].replace("\n", " ")}


def _remarks(folder: Path) -> set[str]:
    """What several modules count while they import: constants without an underscore."""
    lines = "\n".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    return set(re.findall(r'^[A-Z]\w+ = "(\w+ \w+\W.+)"$', lines, re.MULTILINE))


def _within(node: ast.AST) -> Iterator[str]:
    for part in ast.iter_child_nodes(node):
        match part:
            case ast.Expr(value=ast.Constant()):
                # A docstring.
                pass
            case ast.Constant(value=str()) | ast.JoinedStr():
                text = _with_fields(part)
                if text.endswith(".") and text[0] not in ".[" and len(_NAME.findall(_FIELD.sub("", text))) > 1:
                    yield text
                for field in ast.walk(part):
                    if isinstance(field, ast.FormattedValue):
                        yield from _within(field)
            case ast.FunctionDef(name=name) if name.endswith("_in_words"):
                yield from _phrases(part)
            case ast.Subscript(value=counted, slice=text) if ast.unparse(counted).endswith("remarks") and _is_text(
                text
            ):
                yield _with_fields(text)
            case ast.Call():
                name = ast.unparse(part.func).split(".")[-1]
                if name in _TELLING or (name.endswith("Error") and name not in _ERRORS_OF_BUGS):
                    yield from (_with_fields(text) for given in part.args for text in _texts(given))
                if not ast.unparse(part.func).startswith(("log.", "_log.")):
                    yield from _within(part)
            case _:
                yield from _within(part)


def _phrases(function: ast.FunctionDef) -> Iterator[str]:
    """What a function of this name returns, or puts into that, is put into sentences."""
    for part in ast.walk(function):
        if isinstance(part, ast.Return | ast.Assign) and part.value is not None:
            yield from map(_with_fields, _texts(part.value))


def _texts(value: ast.expr) -> list[ast.expr]:
    """The texts that a value may be."""
    either = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    return [text for text in either if _is_text(text)]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _with_fields(text: ast.AST) -> str:
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    named: dict[str, str] = {}
    written = ""
    for part in parts:
        match part:
            case ast.Constant(value=str() as said):
                written += said.replace("{", "{{").replace("}", "}}")
            case ast.FormattedValue(value=value):
                expression = ast.unparse(value)
                name = _NAME.findall(expression)[-1].strip("_").lower()
                while named.setdefault(name, expression) != expression:
                    name += "_"
                written += f"{{{name}}}"
            case _:
                pass
    return written.strip()
