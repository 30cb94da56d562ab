"""Writes the mean of two trained models' weights: of two passes from one model it errs less than either.

python packaging/guide_model/mean.py --out resources/guide FIRST SECOND
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import mlx.core as mx

WEIGHTS = "model.safetensors"


def mean(first: Path, second: Path) -> dict[str, mx.array]:
    """Return the mean of each weight, in 16 bits; both models must be of one shape and one tokenizer."""
    ours, theirs = ({name: part.astype(mx.float32) for name, part in _weights(one)} for one in (first, second))
    return {name: ((part + theirs[name]) / 2).astype(mx.float16) for name, part in ours.items()}


def _weights(folder: Path) -> list[tuple[str, mx.array]]:
    loaded = mx.load(str(folder / WEIGHTS))
    assert isinstance(loaded, dict)
    return sorted(loaded.items())


def main() -> None:
    """Write the mean, with the first model's tokenizer and configuration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder of the mean")
    options = parser.parse_args()

    mx.set_default_device(mx.Device(mx.cpu))
    weights = mean(options.first, options.second)
    shutil.copytree(options.first, options.out, dirs_exist_ok=True)
    mx.save_safetensors(str(options.out / WEIGHTS), weights, metadata={"format": "mlx"})


if __name__ == "__main__":
    main()
