"""Questions of `bough doctor` about MLX and hooks. They run in a process of their own, because MLX may crash it."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path
from typing import Any

_SIDE = 256
"""The rows and columns of the matrices that are multiplied."""
_PACKAGES = ("mlx", "mlx-lm", "llguidance", "tokenizers", "transformers")


def mlx_facts() -> dict[str, Any]:
    """Import MLX as the worker does and compute with it. Return what was found, as plain data.

    `versions`: of the packages; empty text for a missing one. `blas`: the library and its kernel, empty if MLX brings
    its own. `device`: the one that computes. `gpu`: its name, empty if MLX uses none. `is_right`: whether a product of
    two matrices came out right.
    """
    from worker.blas import preload, versions_in_use

    preload()
    import mlx.core as mx
    import mlx_lm  # noqa: F401  # pyright: ignore[reportUnusedImport] (whether it can be imported is the question)

    ones = mx.ones((_SIDE, _SIDE))
    is_right = bool(mx.all(ones @ ones == _SIDE).item())
    device = str(mx.default_device())
    return {
        "versions": {name: _version(name) for name in _PACKAGES},
        "blas": " ".join(f"{name} {version}" for name, version in versions_in_use().items()),
        "device": device,
        "gpu": _gpu(mx) if "gpu" in device else "",
        "is_right": is_right,
        "machine": platform.machine(),
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _gpu(mx: Any) -> str:
    """Return the name of the GPU. Which module has it depends on MLX's version."""
    for ask in (lambda: mx.device_info(), lambda: mx.metal.device_info()):
        try:
            return str(ask().get("device_name", "")) or "GPU"
        except (AttributeError, RuntimeError, ValueError):
            continue
    return "GPU"


def hook_facts(folder: str) -> list[tuple[str, str]]:
    """Return the name of each of the user's hooks, and why it can't be used (empty if it can). Runs no hook."""
    from worker.answers.hook_listing import listed_file

    files = sorted(Path(folder).glob("[!_]*.py"))
    return [(file.stem, listed_file(file.stem, file, is_own=True).problem) for file in files]
