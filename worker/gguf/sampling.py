"""The sampling parameters that a GGUF file recommends, as entries of generation_config.json."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.gguf.gguf_file import Metadata

_RANGES = {
    "temp": ("temperature", 0.0, 10.0),
    "top_p": ("top_p", 0.0, 1.0),
    "min_p": ("min_p", 0.0, 1.0),
    "top_k": ("top_k", 0.0, 1e6),
    "penalty_repeat": ("repetition_penalty", 0.01, 10.0),
}
"""Names in the file → names in generation_config.json, with their bounds."""


def sampling_of(metadata: Metadata) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the recommended parameters, and the names of those that are left out because their values are invalid."""
    found: dict[str, Any] = {}
    unused: list[str] = []
    for key, (name, least, most) in _RANGES.items():
        value = metadata.values.get(f"general.sampling.{key}")
        if value is None:
            continue
        if isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most:
            # The shortest decimal number with the same 32 bits: 0.95, not 0.9499999880790710.
            found[name] = int(value) if name == "top_k" else float(str(np.float32(value)))
        else:
            unused.append(name)
    return {"do_sample": found.get("temperature") != 0, **found} if found else {}, tuple(unused)
