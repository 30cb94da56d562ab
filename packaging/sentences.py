"""Collects all sentence templates in the sources of app and worker for the translators."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from worker.sentence import field_names

_FOLDERS = ("app", "worker")


def templates(root: Path) -> list[str]:
    """Return the sorted texts of the translation context "Sentences": templates and descriptions of Bough's hooks."""
    files = [file for folder in _FOLDERS for file in (root / folder).rglob("*.py")]
    found = {template for file in files for template in _templates_in(file)}
    for hook in (root / "worker" / "hooks").glob("[!_]*.py"):
        found |= _descriptions(hook)
    return sorted(found)


def _templates_in(file: Path) -> Iterator[str]:
    source = file.read_text(encoding="utf-8")
    if "Sentence(" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="Sentence"), args=[ast.Constant(value=str() as template)], keywords=fields):
                if field_names(template) != {field.arg for field in fields}:
                    raise ValueError(f"{file}:{node.lineno}: the keyword arguments are not the fields of the template")
                yield template
            case ast.Call(func=ast.Name(id="Sentence")):
                raise ValueError(f"{file}:{node.lineno}: the template of a `Sentence` must be a literal")
            case _:
                pass


def _descriptions(hook: Path) -> set[str]:
    """Return a hook's docstring and its first paragraph, because the window shows both."""
    doc = (ast.get_docstring(ast.parse(hook.read_text(encoding="utf-8"))) or "").strip()
    return {doc, doc.split("\n\n")[0].replace("\n", " ")}
