"""The starter, a small real model to begin with: SmolLM2-135M-Instruct, as a folder among Bough's models."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from app.catalog.entry import RemoteModel
from worker.protocol import STARTER, STARTER_FOLDER, STARTER_ON_HUB

TITLE = "SmolLM2"
NUM_MILLIONS = 135
"""The number of the starter's parameters."""
ON_HUB = RemoteModel(repo=STARTER_ON_HUB, title=TITLE, num_bytes=271_000_000)
"""The same model on the hub, with weights in bfloat16."""

BROUGHT = ".starter-brought"
"""A file in Bough's models folder which says that the starter was there, so that it is not copied again after the user
removed it."""

_SAMPLING = {"temperature": 0.2, "top_p": 0.9}
"""The sampling that the starter's authors recommend, which its GGUF file lacks.

At higher temperatures, a model this small writes nonsense.
"""


def starter_path(models: Path) -> Path:
    """Return the path of the starter's folder in Bough's models folder. The folder may not exist."""
    return models / STARTER_FOLDER


def full_name(name: str, models: Path) -> str:
    """Return the name under which conversations store a model. For "starter" that is its folder or repository."""
    return str(find_starter(models) or STARTER_ON_HUB) if name == STARTER else name


def find_starter(models: Path) -> Path | None:
    """Return the starter's folder in Bough's models folder; None if it does not exist."""
    folder = starter_path(models)
    # A conversion gives a folder its final name when all of it is there.
    return folder if (folder / "config.json").is_file() else None


def convert_starter(gguf: Path, models: Path) -> Iterator[float]:
    """Convert the starter's GGUF file to its folder. Yield the fraction that is done. Raises `WorkerError`."""
    # Reads large libraries.
    from worker.gguf.conversion import convert

    folder = starter_path(models)
    for progress in convert(gguf, folder):
        yield progress.done_bytes / max(progress.total_bytes, 1)
    with contextlib.suppress(OSError):
        (folder / "generation_config.json").write_text(json.dumps(_SAMPLING), encoding="utf-8")


def bring_starter(models: Path, bundled: Path | None = None) -> None:
    """Copy the starter out of the bundle, unless it is or was in Bough's models folder. Raises `OSError`.

    `bundled`: the folder of the models in the bundle; None: the usual one.
    """
    # Slow to import, and only a bundle needs it.
    import importlib.resources

    source = starter_path(bundled or Path(str(importlib.resources.files("resources"))) / "models")
    if (models / BROUGHT).exists() or not source.is_dir():
        return
    if find_starter(models) is None:
        models.mkdir(parents=True, exist_ok=True)
        # The folder gets its name when it is complete. Another Bough may copy it at the same time.
        part = models / f".starter-{os.getpid()}"
        try:
            shutil.copytree(source, part, copy_function=shutil.copyfile)
            with contextlib.suppress(FileExistsError):
                part.rename(starter_path(models))
        finally:
            shutil.rmtree(part, ignore_errors=True)
    (models / BROUGHT).touch()
