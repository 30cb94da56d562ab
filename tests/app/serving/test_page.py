"""docs/serving.md: what it tells users to type."""

from __future__ import annotations

import argparse
import json
import re

import pytest

from app.command_line import parser
from tests.app.serving.running import KEY, Bough
from tests.driver import ROOT

_PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", _PAGE, re.DOTALL)


def test_every_option_is_described() -> None:
    shell = (ROOT / "docs" / "shell.md").read_text(encoding="utf-8")
    commands = next(
        action.choices
        for action in parser()._actions  # pyright: ignore[reportPrivateUsage]
        if isinstance(action, argparse._SubParsersAction)  # pyright: ignore[reportPrivateUsage]
    )
    options = {action.option_strings[0] for action in commands["serve"]._actions} - {"-h", "--data-dir"}  # pyright: ignore[reportPrivateUsage]
    assert "--drop" in options
    assert [option for option in options if f"`{option}" not in _PAGE or f"`{option}" not in shell] == []


def test_the_commands_can_be_typed() -> None:
    commands = [
        line.partition("#")[0] for line in "".join(_blocks("sh")).splitlines() if line.startswith("bough serve")
    ]
    assert len(commands) > 2
    for command in commands:
        parser().parse_args([word.strip('"') for word in command.split()[1:]])


def test_the_settings_are_json() -> None:
    settings = [json.loads(block) for block in _blocks("json")]
    assert len(settings) == 2


def test_the_lines_for_python_get_an_answer(bough: Bough, capsys: pytest.CaptureFixture[str]) -> None:
    (lines,) = _blocks("python")
    exec(lines.replace("http://127.0.0.1:2684", bough.url).replace('"KEY"', repr(KEY)), {})  # noqa: S102 (our own page)
    assert capsys.readouterr().out.strip()
