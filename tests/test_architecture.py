"""ARCHITECTURE.md names every folder and only paths that exist, so that a newcomer finds the place for a change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.driver import ROOT

_ENGINE = {"host", "host_of", "is_remote", "remote", "endpoint_of", "EndpointModel", "capabilities"}
"""Names that say what kind of engine a model has."""
_PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_every_folder_is_listed() -> None:
    folders = [path.parent for package in ("app", "worker") for path in (ROOT / package).rglob("__init__.py")]
    listed = re.findall(r"^ *(\w+)/ ", _PAGE, re.MULTILINE)
    assert sorted(folder.name for folder in folders if folder.name not in listed) == []


def test_every_path_exists() -> None:
    paths = re.findall(r"`((?:app|worker|tests|packaging|resources|docs)/[\w./-]*)`", _PAGE)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_it_can_be_read_in_one_go() -> None:
    assert len(_PAGE.splitlines()) <= 130


def test_each_change_is_found_with_three_files() -> None:
    rows = re.findall(r"^\| .* \|$", _PAGE, re.MULTILINE)
    assert rows
    assert [row for row in rows if len(re.findall(r"`[\w./-]+\.py`", row)) > 3] == []


def test_no_page_holds_both_sides_of_a_merge() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    marked = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    assert [page.name for page in pages if marked.search(page.read_text(encoding="utf-8"))] == []


def test_no_branch_of_the_window_asks_for_the_kind_of_an_engine() -> None:
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "app" / "ui").rglob("*.py")}
    asked = [f"{path.name}:{test.lineno}" for path, module in modules.items() for test in _tests(module) if _asks(test)]
    assert asked == []
    # The rule finds each of the ways in which this can be asked.
    for text in (
        "if model.host: pass",
        "x = model.host or y",
        "x = 1 if model.is_remote else 2",
        "while not session.is_remote: pass",
        "x = [1 for _ in y if EndpointModel.parse(name)]",
        "match model:\n  case Model(host=''): pass",
        "match model.host:\n  case '': pass",
        "if session.info.capabilities is None: pass",
    ):
        assert any(_asks(test) for test in _tests(ast.parse(text))), text


def _tests(module: ast.Module) -> Iterator[ast.expr | ast.pattern]:
    for node in ast.walk(module):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield test
            case ast.BoolOp(values=values):
                yield from values
            case ast.comprehension(ifs=tests):
                yield from tests
            case ast.Match(subject=subject, cases=cases):
                yield subject
                yield from (case.pattern for case in cases)
                yield from (case.guard for case in cases if case.guard is not None)
            case _:
                pass


def _asks(test: ast.AST) -> bool:
    for node in ast.walk(test):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in _ENGINE:
                return True
            case ast.MatchClass(kwd_attrs=names) if _ENGINE.intersection(names):
                return True
            case _:
                pass
    return False
