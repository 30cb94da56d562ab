"""Tests for the quicker import of transformers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import worker.transformers_import as quick
from tests.driver import ROOT

_CODE = """
import json
from pathlib import Path
from transformers_import import import_transformers
import_transformers()
import transformers
utils = transformers.utils.import_utils
models = Path(transformers.__file__).parent / "models"
was_searched = utils.create_import_structure_from_path.cache_info().misses > 0
found = utils.define_import_structure(str(models / "__init__.py"))
plain = utils.spread_import_structure(utils.create_import_structure_from_path(str(models)))
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.models.llama import LlamaConfig
print(json.dumps([was_searched, found == plain, AutoTokenizer.__name__, LlamaConfig.__name__]))
"""
"""Prints whether transformers searched for its names when it was imported, and whether it has all names."""


def _run(code: str, folder: Path) -> str:
    """Run a program that may keep names in a folder. Return its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def test_transformers_offers_the_same_names_and_searches_for_them_once(tmp_path: Path) -> None:
    source = (ROOT / "worker" / "transformers_import.py").read_text(encoding="utf-8")
    (tmp_path / "transformers_import.py").write_text(source, encoding="utf-8")
    assert _run(_CODE, tmp_path) == '[true, true, "AutoTokenizer", "LlamaConfig"]\n'
    assert _run(_CODE, tmp_path) == '[false, true, "AutoTokenizer", "LlamaConfig"]\n'


def test_importing_transformers_prints_nothing() -> None:
    code = "from worker.transformers_import import import_transformers; import_transformers(); import mlx_lm"
    assert _run(code, ROOT) == ""


class _Searching:
    """An installed transformers that records the searches."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(quick, "__file__", str(folder / "quick.py"))
        monkeypatch.setattr(sys, "dont_write_bytecode", False)
        self.package = folder / "transformers"
        (self.package / "utils").mkdir(parents=True)
        self.install("1")
        self.names: quick.Names = {frozenset({"torch"}): {"a.modeling_a": {"A"}}, frozenset(): {"a": {"B", "C"}}}
        self.asked: list[object] = []

    def install(self, version: str) -> None:
        (self.package / "__init__.py").write_text(f"__version__ = {version!r}\n")

    def import_names(self, prefix: str | None = None) -> quick.Names:
        """Import transformers in another process. Return the names that it finds."""
        module: Any = SimpleNamespace(__file__=str(self.package / "utils" / "import_utils.py"))
        module.define_import_structure = self._search
        quick.remember_names(module)
        return module.define_import_structure(self.package / "models", prefix)

    def _search(self, path: object, prefix: str | None = None) -> quick.Names:
        self.asked.append(path)
        return self.names

    @property
    def kept(self) -> Path:
        (file,) = (self.package.parent / "__pycache__").iterdir()
        return file


@pytest.fixture
def searching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Searching:
    return _Searching(tmp_path, monkeypatch)


def test_names_are_kept_until_transformers_changes(searching: _Searching) -> None:
    before = searching.names
    assert [searching.import_names(), searching.import_names()] == [before, before]
    assert searching.import_names("models") == {
        frozenset({"torch"}): {"models.a.modeling_a": {"A"}},
        frozenset(): {"models.a": {"B", "C"}},
    }
    assert len(searching.asked) == 1
    searching.install("another version")
    searching.names = {frozenset(): {"b": {"D"}}}
    assert [searching.import_names(), searching.import_names()] == [searching.names, searching.names]
    assert len(searching.asked) == 2


@pytest.mark.parametrize("end", [b"", b"\n", b"\n{", b"\n[1]", b"\n[[[], 5]]", b"\n\xff\xff"])
def test_a_damaged_file_is_written_again(searching: _Searching, end: bytes) -> None:
    searching.import_names()
    searching.kept.write_bytes(searching.kept.read_bytes().splitlines()[0] + end)
    assert [searching.import_names(), searching.import_names()] == [searching.names, searching.names]
    assert len(searching.asked) == 2


def test_names_are_not_kept_if_python_may_not_write_bytecode(
    searching: _Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert [searching.import_names(), searching.import_names()] == [searching.names, searching.names]
    assert len(searching.asked) == 2
    assert not (searching.package.parent / "__pycache__").exists()
