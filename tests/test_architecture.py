"""ARCHITECTURE.md names every module, so that a newcomer finds the place for a change."""

from __future__ import annotations

import re

import pytest

from tests.driver import ROOT


@pytest.mark.parametrize("package", ["app", "worker"])
def test_every_module_is_named(package: str) -> None:
    named = set(re.findall(r"\w+\.py", (ROOT / "ARCHITECTURE.md").read_text()))
    modules = {path.name for path in (ROOT / package).rglob("*.py") if path.parent.name != "hooks"}
    assert modules - named <= {"__init__.py"}
