"""The list of hooks with their options, which runs none of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver import StdioWorker
from worker.answers.hook_folder import HookFolder
from worker.answers.hook_listing import listed_file
from worker.protocol import HookOption, ListedHook

RUNS = "raise SystemExit('run')\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hooks")


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[StdioWorker]:
    with StdioWorker(arguments=["--hooks-folder", str(folder)]) as worker:
        yield worker


def listed(worker: StdioWorker) -> dict[str, dict[str, Any]]:
    event = worker.result("list_hooks")
    assert event["type"] == "hooks_listed", event
    names = [hook["name"] for hook in event["hooks"]]
    assert names == sorted(names)
    return {hook["name"]: hook for hook in event["hooks"]}


def said_by(source: str | bytes, tmp_path: Path) -> ListedHook:
    file = tmp_path / "one.py"
    file.write_bytes(source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass"))
    return listed_file("one", file, is_own=True)


def test_boughs_hooks_are_listed_without_a_model(worker: StdioWorker):
    hooks = listed(worker)
    assert {"banned phrases", "no repeats", "uncertain pause"} <= hooks.keys()
    pause = hooks["uncertain pause"]
    assert pause["summary"].startswith("Uncertain pause: when the model is unsure")
    assert pause["description"].startswith(pause["summary"])
    assert pause["options"] == [
        {"name": "threshold", "kind": "float", "default": 0.1, "is_required": False},
        {"name": "temperature", "kind": "float", "default": 0.3, "is_required": False},
    ]
    assert hooks["banned phrases"]["options"] == [
        {"name": "phrases", "kind": "list", "default": [], "is_required": False}
    ]
    assert not any(hook["is_own"] or hook["problem"] for hook in hooks.values())


def test_the_users_own_hook_is_listed_but_not_run(worker: StdioWorker, folder: Path):
    (folder / "of_mine.py").write_text(f'"""Says less.\n\nAnd more of that."""\n{RUNS}\ndef hook(step): ...\n')
    mine = listed(worker)["of mine"]
    assert mine == {
        "name": "of mine",
        "summary": "Says less.",
        "description": "Says less.\n\nAnd more of that.",
        "options": [],
        "is_own": True,
        "problem": "",
    }
    (folder / "of_mine.py").unlink()
    assert "of mine" not in listed(worker)


def test_the_users_own_hook_replaces_one_of_boughs_with_the_same_name(tmp_path: Path):
    (tmp_path / "no_repeats.py").write_text('"""Mine."""\n')
    [hook] = [hook for hook in HookFolder(tmp_path).listed() if hook.name == "no repeats"]
    assert (hook.summary, hook.is_own) == ("Mine.", True)


def test_hooks_without_a_file_are_listed_too():
    def make() -> Any:
        """Never called."""

    hooks = {hook.name: hook for hook in HookFolder(given={"made": make}).listed()}
    assert hooks["made"].summary == "Never called."
    assert "no repeats" in hooks


@pytest.mark.parametrize(
    ("argument", "option"),
    [
        ("a: int = 3", HookOption(name="a", kind="int", default=3)),
        ("a: bool = True", HookOption(name="a", kind="bool", default=True)),
        ("a=0.5", HookOption(name="a", kind="float", default=0.5)),
        ("a: str", HookOption(name="a", kind="str", is_required=True)),
        ("a", HookOption(name="a", kind="any", is_required=True)),
        ("a: str | None = None", HookOption(name="a", kind="str")),
        ("a: 'Optional[float]' = None", HookOption(name="a", kind="float")),
        ("a: collections.abc.Sequence[str] = ('x',)", HookOption(name="a", kind="list", default=["x"])),
        ("*, a: dict[str, int] = {}", HookOption(name="a", kind="any", default={})),
        ("a=2 ** 80", HookOption(name="a", kind="any")),
        (f"a: int = {10**30}", HookOption(name="a", kind="int")),
        ("a=3j", HookOption(name="a", kind="any")),
        ("a='\\ud800'", HookOption(name="a", kind="any")),
        ("a=-1", HookOption(name="a", kind="int", default=-1)),
        ("a: int = os.getpid()", HookOption(name="a", kind="int")),
    ],
)
def test_an_argument_of_the_class_is_an_option(argument: str, option: HookOption, tmp_path: Path):
    hook = said_by(f"class Hook:\n    def __init__(self, {argument}):\n        pass\n", tmp_path)
    assert hook.options == [option]


def test_the_fields_of_a_data_class_are_options(tmp_path: Path):
    hook = said_by(
        "@dataclasses.dataclass\nclass Hook:\n    '''A data class.'''\n    n: int = 2\n    word: str = 'x'\n"
        "    all: ClassVar[int] = 3\n    seen: list[int] = field(default_factory=list)\n",
        tmp_path,
    )
    assert hook.summary == "A data class."
    assert [(option.name, option.default) for option in hook.options] == [("n", 2), ("word", "x")]


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("def hook(step) return None", "line 1"),
        (b"x = '\xff'", "Python"),
        (b"x = 1\x00", "Python"),
        ("(" * 5000, "Python"),
    ],
)
def test_a_file_that_is_not_python_is_listed_with_its_problem(source: str | bytes, word: str, tmp_path: Path):
    hook = said_by(source, tmp_path)
    assert word in hook.problem
    assert hook.options == []


def test_a_file_that_cannot_be_read_is_listed_with_its_problem(tmp_path: Path):
    (tmp_path / "one.py").mkdir()
    [hook] = [hook for hook in HookFolder(tmp_path).listed() if hook.name == "one"]
    assert "can't be read" in hook.problem


def test_a_docstring_may_contain_any_text(tmp_path: Path):
    assert said_by('"""A \\ud800 hook."""\n', tmp_path).summary == "A ? hook."
    assert said_by("def hook(step):\n    '''Says\n    less.'''\n", tmp_path).summary == "Says less."
    assert said_by("x = '\\d'\n", tmp_path).problem == ""


def test_a_file_that_is_nested_too_deeply_says_so(tmp_path: Path):
    assert said_by("x = " + "-" * 100_000 + "1", tmp_path).problem == "one.py is nested too deeply to be read."
