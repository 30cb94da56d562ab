"""A disk that is really full: a file system of eight megabytes, mounted in a namespace of its own."""

from __future__ import annotations

import errno
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.model.exports.files import FORMATS
from tests.driver import ROOT

_ALONE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
_MOUNT = "mount -t tmpfs -o size=8m tmpfs {folder}"


def _on_a_small_disk(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command that finds a small file system at `folder`."""
    mount = _MOUNT.format(folder=shlex.quote(str(folder)))
    script = f"{mount} && exec {shlex.join(command)}"
    return subprocess.run([*_ALONE, script], cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)


def test_on_a_full_disk_nothing_is_lost_and_nothing_half_written(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or _on_a_small_disk(tmp_path, "true").returncode:
        pytest.skip("no file system can be mounted here")
    done = _on_a_small_disk(tmp_path, sys.executable, "-m", "tests.end_to_end.run_full_disk", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["told"].startswith("The disk is full, so ")
    assert "Everything saved before is kept. Free some disk space, then try again." in said["told"]
    assert said["num_written"] > 20
    assert said["kept"] == [True, True, True]
    assert said["export_errors"] == dict.fromkeys(FORMATS, errno.ENOSPC)
    assert said["document"] == "as it was"
    assert said["import_error"].startswith("The disk is full, so ")
    assert said["num_shown"] == 1
    assert not [name for name in said["files"] if name.startswith(".")]
    assert said["sound"] == "ok"
