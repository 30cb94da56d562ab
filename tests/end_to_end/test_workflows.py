"""The workflows of GitHub, and all shell scripts: valid, safe, naming only what exists. None of them is run here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.driver import ROOT

_WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
_DEPENDABOT = ROOT / ".github" / "dependabot.yml"
_SCRIPTS = sorted([*(ROOT / "packaging").rglob("*.sh"), ROOT / ".ci" / "run"])


def _run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment of the tests, without the network."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    program = shutil.which(name, path=path)
    assert program is not None, f"{name} is missing: make setup"
    return subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def _schema_faults(*files: Path, schema: str = "github-workflows") -> str:
    done = _run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)
    return "" if done.returncode == 0 else done.stdout


def _unsafe_steps(*files: Path) -> str:
    done = _run("zizmor", "--offline", "--persona", "pedantic", "--no-progress", "--format", "plain", *files)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_workflows_follow_githubs_schema() -> None:
    assert _WORKFLOWS
    assert _schema_faults(*_WORKFLOWS) == ""
    assert _schema_faults(_DEPENDABOT, schema="dependabot") == ""


def test_workflows_pin_their_actions_and_have_the_least_rights() -> None:
    assert _unsafe_steps(*_WORKFLOWS, _DEPENDABOT) == ""


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("    runs-on: ubuntu-24.04\n", "    run-on: ubuntu-24.04\n", "run-on"),
        ("timeout-minutes: 60", "timeout-minutes: an hour", "timeout-minutes"),
        ("needs: [check, wheel, linux, macos]", "needs: {check: wheel}", "needs"),
    ],
)
def test_a_fault_of_the_schema_is_found(tmp_path: Path, old: str, new: str, fault: str) -> None:
    text = _WORKFLOWS[0].read_text()
    assert old in text
    (tmp_path / "faulty.yml").write_text(text.replace(old, new, 1))
    assert fault in _schema_faults(tmp_path / "faulty.yml")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd", "actions/checkout@v6", "unpinned-uses"),
        ("permissions: {}", "permissions: write-all", "excessive-permissions"),
        ("run: make check", 'run: echo "${{ github.event.pull_request.title }}"', "template-injection"),
        ("          persist-credentials: false\n", "", "artipacked"),
    ],
)
def test_an_unsafe_step_is_found(tmp_path: Path, old: str, new: str, fault: str) -> None:
    text = _WORKFLOWS[0].read_text()
    assert old in text
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "unsafe.yml").write_text(text.replace(old, new, 1))
    assert fault in _unsafe_steps(folder / "unsafe.yml")


def test_scripts_and_targets_of_the_workflows_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for workflow in _WORKFLOWS:
        jobs: dict[str, dict[str, Any]] = yaml.safe_load(workflow.read_text())["jobs"]
        commands = "\n".join(str(step.get("run", "")) for job in jobs.values() for step in job["steps"])
        assert set(re.findall(r"\bmake ([a-z-]+)", commands)) <= targets
        scripts = re.findall(r"packaging/[\w/]+\.sh", commands)
        assert scripts
        assert [script for script in scripts if not os.access(ROOT / script, os.X_OK)] == []
        assert {name for job in jobs.values() for name in job.get("needs", [])} <= jobs.keys()


def test_shell_scripts_have_no_faults() -> None:
    done = _run("shellcheck", *_SCRIPTS)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_fault_of_a_shell_script_is_found(tmp_path: Path) -> None:
    (tmp_path / "faulty.sh").write_text("#!/bin/sh\nrm -r $1/*\n")
    assert "SC2086" in _run("shellcheck", tmp_path / "faulty.sh").stdout
