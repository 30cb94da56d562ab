"""The starter's folder, one with the same weights in float32, which is made once for all runs, and a long text.

The text is the beginning of Shakespeare's Coriolanus, as in `data/tinyshakespeare` of the repository karpathy/char-rnn.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from app.catalog.starter import find_starter
from app.places import Places

TEXT = (Path(__file__).parent / "coriolanus.txt").read_text("ascii")
WITHOUT = "The starter model is not on this machine. `make starter` fetches it; BOUGH_STARTER names another folder."
_SOURCE = "made_from.txt"


def starter_folder() -> Path | None:
    """Return the folder of the starter, with packed weights; None if it is not on this machine."""
    given = os.environ.get("BOUGH_STARTER")
    return find_starter(Places.of_user().models) if given is None else Path(given)


def unpacked_folder(starter: Path) -> Path:
    """Return a folder with the starter's weights in float32."""
    kept = Places.of_user().cache / "tests" / f"{starter.name}-float32"
    made_from = kept / _SOURCE
    if made_from.is_file() and made_from.read_text("utf-8") == _state_of(starter):
        return kept
    shutil.rmtree(kept, ignore_errors=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as made:
        folder = Path(made) / "model"
        _unpack(starter, folder)
        (folder / _SOURCE).write_text(_state_of(starter), encoding="utf-8")
        folder.rename(kept)
    return kept


def _unpack(starter: Path, folder: Path) -> None:
    # BLAS is loaded before the first import of MLX.
    import mlx.core as mx
    from mlx_lm.utils import dequantize_model, load_model, save_model

    model, config = load_model(starter)
    # First the scales: they would round the unpacked numbers to their own 16 bits.
    model.set_dtype(mx.float32)
    save_model(folder, dequantize_model(model), donate_model=True)
    bare = {key: value for key, value in config.items() if not key.startswith("quantization")}
    (folder / "config.json").write_text(json.dumps(bare), encoding="utf-8")
    for file in starter.iterdir():
        if file.name.startswith("tokenizer") or file.suffix == ".jinja":
            shutil.copy(file, folder)


def _state_of(folder: Path) -> str:
    """Return a text that changes with the folder's files."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    return "\n".join(f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)
