"""Compiles the worker's modules, and those of its libraries, while the worker can still write files."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from worker.transformers_import import are_names_kept


def keep_bytecode() -> None:
    """Compile the modules that are imported later: once confined, Python can't save their compiled form.

    Usually the installer has compiled them; then this takes a few milliseconds.
    """
    package = Path(__file__).parent
    if sys.dont_write_bytecode or getattr(sys, "frozen", False):
        return
    if os.access(package, os.W_OK) and not all(map(_has_bytecode, package.rglob("*.py"))):
        import compileall

        compileall.compile_dir(package, quiet=2)
    spec = importlib.util.find_spec("mlx_lm")
    if spec is None or spec.origin is None:
        return
    is_compiled = _has_bytecode(Path(spec.origin)) or not os.access(Path(spec.origin).parent, os.W_OK)
    if not is_compiled or not are_names_kept():
        import subprocess

        # The child process is not confined, so Python saves what it compiles.
        code = "from worker.transformers_import import import_transformers; import_transformers(); import worker.server"
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=package.parent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=60, check=False,
        )  # fmt: skip


def _has_bytecode(source: Path) -> bool:
    """Return whether Python has saved a compiled form of this file that is not older than the file."""
    try:
        return os.stat(importlib.util.cache_from_source(str(source))).st_mtime >= source.stat().st_mtime  # noqa: PTH116
    except OSError:
        return False
