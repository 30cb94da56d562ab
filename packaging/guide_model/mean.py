"""Averages the weights of two trained models.

The average of two passes from the same model makes fewer mistakes than either of them.

python packaging/guide_model/mean.py --out resources/guide FIRST SECOND
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import mlx.core as mx

WEIGHTS = "model.safetensors"


def mean(first: Path, second: Path) -> dict[str, mx.array]:
    """Return the mean of each weight as float16. Both models must have the same shape and tokenizer."""
    one, other = ({name: weight.astype(mx.float32) for name, weight in _weights(folder)} for folder in (first, second))
    return {name: ((weight + other[name]) / 2).astype(mx.float16) for name, weight in one.items()}


def _weights(folder: Path) -> list[tuple[str, mx.array]]:
    loaded = mx.load(str(folder / WEIGHTS))
    assert isinstance(loaded, dict)
    return sorted(loaded.items())


def main() -> None:
    """Write the averaged model with the first model's tokenizer and configuration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for the averaged model")
    options = parser.parse_args()

    mx.set_default_device(mx.Device(mx.cpu))
    weights = mean(options.first, options.second)
    shutil.copytree(options.first, options.out, dirs_exist_ok=True)
    mx.save_safetensors(str(options.out / WEIGHTS), weights, metadata={"format": "mlx"})


if __name__ == "__main__":
    main()
