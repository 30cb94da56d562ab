"""The page for a website and the user's guide are true: their commands run, and all that they name exists."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.command_line import parser
from tests.driver import ROOT
from tests.named import keys, keys_named, num_pairs, wrong_names, wrong_pairs

_DOCS = ROOT / "docs"
_GUIDE = sorted((_DOCS / "guide").glob("*.md"))
_PAGES = [_DOCS / "index.md", *_GUIDE]
_MAX_LINES = 90
_WORKERS_OPTIONS = {"--stdio", "--help", "--version"}
_OTHER_PROGRAMS = ("make ", "sudo ", "pipx ")
_NOT_IN_THE_WINDOW = {"Debian and Ubuntu", "Other Linux systems", "macOS on Apple silicon", "With Python 3.11 to 3.14"}

pages = pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)


def _text(page: Path) -> str:
    """Return a page without its blocks of commands."""
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_guide_is_short_and_the_first_page_leads_to_all_of_it() -> None:
    assert 5 <= len(_GUIDE) <= 10
    first = _PAGES[0].read_text(encoding="utf-8")
    assert sorted(re.findall(r"\(guide/([\w-]+\.md)\)", first)) == [page.name for page in _GUIDE]
    assert {page.name: number for page in _PAGES if (number := len(page.read_text().splitlines())) > _MAX_LINES} == {}


@pages
def test_its_links_and_pictures_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).resolve().is_file()] == []


@pages
def test_menus_buttons_and_settings_exist(page: Path) -> None:
    assert [name for name in wrong_names(_text(page)) if name not in _NOT_IN_THE_WINDOW] == []


def test_wrong_names_and_keys_are_found() -> None:
    """So that these tests can fail."""
    wrong = ("File → Setings…", "View → Settings…", "File → Settings… → Keys", "Settings → Kees", "Regenerrate")
    assert wrong_names(" ".join(f"**{name}**" for name in (*wrong, "Edit", "Settings → Keys"))) == list(wrong)
    assert wrong_pairs("**View → Tree** (`Ctrl+Q`), **File → Quit** (`Ctrl+Q`)") == ["Tree (Ctrl+Q)"]
    assert keys_named("`Ctrl+Alt+Shift+W`, `heron`") - keys() == {"Ctrl+Alt+Shift+W"}
    with pytest.raises(SystemExit):
        _check("bough exprot --all")


@pages
def test_keys_exist_and_belong_to_what_they_stand_at(page: Path) -> None:
    text = _text(page)
    assert keys_named(text) - keys() == set()
    assert wrong_pairs(text) == []
    rows = re.findall(r"^\| \*\*([^*]+)\*\* \| `(.+?)` \|", text, re.MULTILINE)
    assert wrong_pairs(" ".join(f"**{name}** (`{key}`)" for name, key in rows)) == []


def test_the_pages_name_enough_to_test() -> None:
    assert sum(num_pairs(_text(page)) for page in _PAGES) > 40
    assert sum(1 for page in _PAGES for _ in _commands(page)) > 15


def _options(commands: argparse.ArgumentParser) -> Iterator[str]:
    for action in commands._actions:  # pyright: ignore[reportPrivateUsage]
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            for each in action.choices.values():
                yield from _options(each)


@pages
def test_commands_and_options_in_sentences_exist(page: Path) -> None:
    known = {*_options(parser()), *_WORKERS_OPTIONS}
    for code in re.findall(r"`([^`]+)`", _text(page)):
        if code.startswith("--"):
            assert code in known, code
        elif code.startswith("make "):
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert re.search(rf"^{code.split()[1]}:", makefile, re.MULTILINE), code
        elif code.startswith(("bough ", "bough-worker ")) and not code.startswith(_OTHER_PROGRAMS):
            _check(code)


def _check(command: str) -> None:
    """Fail if a command can't be parsed."""
    program, *arguments = shlex.split(command)
    if program == "bough" and not {"--help", "--version"} & set(arguments):
        parser().parse_args(arguments)
    elif program == "bough-worker":
        assert set(arguments) <= {*_WORKERS_OPTIONS, "chat"}, command


def _commands(page: Path) -> Iterator[str]:
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        yield from block.splitlines()


@pages
def test_its_commands_run(page: Path, tmp_path: Path) -> None:
    """In a folder with a file of questions, and with the user's folders below it."""
    questions = [{"role": "user", "content": "Where does the heron sleep?"}, {"role": "assistant", "content": "Here."}]
    (tmp_path / "questions.json").write_text(json.dumps({"messages": questions}))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, module in (("bough", "app"), ("bough-worker", "worker")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module} "$@"\n')
        program.chmod(0o755)
    without = {"DISPLAY", "WAYLAND_DISPLAY", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"}
    environment = {name: value for name, value in os.environ.items() if name not in without}
    environment |= {
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    for command in _commands(page):
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert done.stdout.strip() or "models" in command, command
        if command.endswith("--json"):
            json.loads(done.stdout)
