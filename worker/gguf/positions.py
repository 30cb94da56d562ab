"""Translates how a model scales rotary positions: GGUF's metadata and tensors → `rope_scaling` of config.json."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from worker.errors import ModelInvalidError
from worker.gguf.gguf_file import GgufFiles
from worker.sentence import Sentence

ROPE_TENSORS = frozenset(("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"))
"""Tensors that become entries of config.json instead of weights."""

_MAX_FACTORS = 1 << 16
_MAX_FACTOR = 1e6
_TOLERANCE = 1e-3


def scaling_of(files: GgufFiles, prefix: str, dimensions: int, theta: float) -> dict[str, Any] | None:
    """Return how positions are scaled; None if they are not. Raises `ModelInvalidError` for an unknown method.

    `prefix`: the beginning of the metadata's keys. `dimensions`: how many dimensions of each head are rotated.
    """
    metadata = files.metadata
    kind = metadata.text(f"{prefix}.rope.scaling.type") or "none"
    factor = metadata.number(f"{prefix}.rope.scaling.factor") or metadata.number(f"{prefix}.rope.scale_linear") or 1.0
    original = metadata.integer(f"{prefix}.rope.scaling.original_context_length")
    stretch = metadata.number(f"{prefix}.rope.scaling.attn_factor") or 1.0
    if "rope_freqs.weight" in files.tensors and kind == "none":
        return _llama3(files, dimensions, theta)
    if kind in ("none", "linear") and stretch == 1:
        if not 1 / _MAX_FACTOR < factor < _MAX_FACTOR:
            raise _unknown(files, kind)
        return None if factor == 1 else {"type": "linear", "rope_type": "linear", "factor": factor}
    if kind == "yarn" and original and 1 < factor < _MAX_FACTOR:
        found: dict[str, Any] = {
            "type": "yarn",
            "rope_type": "yarn",
            "factor": factor,
            "original_max_position_embeddings": original,
            # mlx-lm's factor of the attention is `0.1 * mscale * log(factor) + 1`.
            "mscale": (stretch * (0.1 * math.log(factor) + 1) - 1) / (0.1 * math.log(factor)),
        }
        for name in ("beta_fast", "beta_slow"):
            value = metadata.number(f"{prefix}.rope.scaling.yarn_{name}")
            if value is not None:
                found[name] = value
        return found
    raise _unknown(files, kind)


def long_scaling_of(files: GgufFiles, prefix: str, dimensions: int) -> dict[str, Any]:
    """Return the part of config.json that describes the positions of Phi-3."""
    metadata = files.metadata
    context = metadata.required_integer(f"{prefix}.context_length")
    original = metadata.integer(f"{prefix}.rope.scaling.original_context_length") or context
    config: dict[str, Any] = {"original_max_position_embeddings": original}
    long, short = (_factors(files, f"rope_factors_{name}.weight", dimensions // 2) for name in ("long", "short"))
    if long is None or short is None:
        return config
    factor = context / original
    if original < 2:
        raise _unknown(files, "longrope")
    usual = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
    if abs((metadata.number(f"{prefix}.rope.scaling.attn_factor") or 1.0) - usual) > _TOLERANCE:
        raise _unknown(files, "longrope")
    return config | {
        "rope_scaling": {
            "type": "longrope",
            "rope_type": "longrope",
            "long_factor": long.tolist(),
            "short_factor": short.tolist(),
        }
    }


def _llama3(files: GgufFiles, dimensions: int, theta: float) -> dict[str, Any] | None:
    """Return the parameters from which the factors of a file were computed.

    Files since Llama 3.1 hold only the factors, mlx-lm needs the parameters.
    """
    factors = _factors(files, "rope_freqs.weight", dimensions // 2)
    assert factors is not None
    highest = float(factors.max(initial=1.0))
    if abs(highest - 1) < _TOLERANCE and abs(float(factors.min(initial=1.0)) - 1) < _TOLERANCE:
        return None
    for original in (8192, files.metadata.integer("llama.rope.scaling.original_context_length")):
        parameters = {
            "factor": round(highest, 4),
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": original or 8192,
        }
        if np.allclose(_llama3_factors(parameters, dimensions, theta), factors, rtol=_TOLERANCE):
            return {"type": "llama3", "rope_type": "llama3", **parameters}
    raise _unknown(files, "llama3")


def _llama3_factors(parameters: Mapping[str, float], dimensions: int, theta: float) -> npt.NDArray[np.float64]:
    waves = 2 * math.pi * theta ** (np.arange(0, dimensions, 2) / dimensions)
    low, high, factor = (parameters[name] for name in ("low_freq_factor", "high_freq_factor", "factor"))
    original = parameters["original_max_position_embeddings"]
    smooth = np.clip((original / waves - low) / (high - low), 0, 1)
    return 1 / ((1 - smooth) / factor + smooth)


def _factors(files: GgufFiles, name: str, count: int) -> npt.NDArray[np.float32] | None:
    """Return the factors of the frequencies; None if the model has none."""
    tensor = files.tensors.get(name)
    if tensor is None:
        return None
    if tensor.type.name != "F32" or tensor.shape != (count,) or count > _MAX_FACTORS:
        raise _unknown(files, name)
    with tensor.file.open("rb") as stream:
        stream.seek(tensor.begin)
        found = np.frombuffer(stream.read(tensor.num_bytes), "<f4")
    if found.shape != (count,) or not np.isfinite(found).all() or (found <= 0).any():
        raise _unknown(files, name)
    return found


def _unknown(files: GgufFiles, kind: str) -> ModelInvalidError:
    return ModelInvalidError(
        Sentence(
            "{path} uses a position encoding that Bough does not support yet ({kind}). Choose a model in MLX format, "
            "or another model.",
            path=files.paths[0],
            kind=kind[:40],
        )
    )
