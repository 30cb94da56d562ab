"""What makes two loaded models the same: the bits of their weights and their configuration, wherever they came from.

It knows no layers and no files. A copied folder is the same model; one weight that differs by a bit makes another one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import mlx.core as mx
import mlx_lm
import tokenizers
from typing_extensions import Buffer

FORMAT = 1
"""Counts up when what is kept for a model changes its form or its meaning."""

_BLOCK_BYTES = 8 << 20
_MOST_THREADS = 8


def versions() -> dict[str, str]:
    """Return the versions of the libraries that an answer depends on, by their names."""
    return {
        "mlx": cast("Any", mx).__version__,
        "mlx_lm": mlx_lm.__version__,
        "tokenizers": tokenizers.__version__,
    }


def identity_of(config: Mapping[str, Any], weights: Sequence[tuple[str, mx.array]]) -> str:
    """Return a text that stands for a model as it computes here: on this kind of device, with these libraries."""
    told = {
        "format": FORMAT,
        "mlx": cast("Any", mx).__version__,
        "mlx_lm": mlx_lm.__version__,
        "device": str(mx.default_device().type),
        "config": config,
        "weights": [(name, str(array.dtype), list(array.shape)) for name, array in weights],
    }
    whole = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode())
    # Hashing lets other threads run: it takes the time of reading the weights once more from memory, or less.
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as threads:
        for _, array in weights:
            view = memoryview(cast("Buffer", array.reshape(-1).view(mx.uint8)))
            blocks = [view[place : place + _BLOCK_BYTES] for place in range(0, array.nbytes, _BLOCK_BYTES)]
            for digest in threads.map(_digest, blocks):
                whole.update(digest)
    return whole.hexdigest()


def _digest(block: memoryview) -> bytes:
    return hashlib.sha256(block).digest()
