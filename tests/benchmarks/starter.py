"""The starter, a small real model, for the benchmarks. Rows that need it are left out where it is not there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from app.catalog.starter import find_starter
from app.places import Places


def starter() -> Path | None:
    """Return the starter's folder, from `make starter` or in BOUGH_STARTER; None if it does not exist."""
    given = os.environ.get("BOUGH_STARTER")
    return find_starter(Places.of_user().models) if given is None else Path(given)


def endless_copy(model: Path, folder: Path) -> Path:
    """Copy a model with its last control token as the end of answers, so that it writes up to the limit."""
    # The weights are linked, not copied.
    shutil.copytree(model, folder, copy_function=_link)
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    end = max(tokenizer["added_tokens"], key=lambda token: token["id"])
    for name in ("config.json", "generation_config.json"):
        if (folder / name).is_file():
            _change(folder / name, eos_token_id=end["id"])
    _change(folder / "tokenizer_config.json", eos_token=end["content"])
    return folder


def _change(file: Path, **changes: object) -> None:
    described = json.loads(file.read_text(encoding="utf-8")) | changes
    file.unlink()
    file.write_text(json.dumps(described), encoding="utf-8")


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
    return target
