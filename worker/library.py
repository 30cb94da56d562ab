"""Bough as a library.

placeholder
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worker.blas import preload
from worker.protocol import CacheOptions, Sampling, Usage
from worker.sequence_state import BatchMismatch, SampleMismatch, SequenceState
from worker.token_sequence import Ending, SlicingError

if TYPE_CHECKING:
    from worker.local_model import LocalModel

__all__ = [
    "BatchMismatch",
    "CacheOptions",
    "Ending",
    "SampleMismatch",
    "Sampling",
    "SequenceState",
    "SlicingError",
    "Usage",
    "open_model",
]


def open_model(model: str = "guide", cache: CacheOptions = CacheOptions()) -> LocalModel:  # noqa: B008 (a frozen value)
    """Load a model in this process: "guide", a folder, or a downloaded model's name.

    `cache`: how much of what it has read is kept, in memory alone. Raises a `WorkerError` that says what to do.
    """
    preload()
    # Only now: MLX takes its BLAS when it is first imported.
    from worker.engine import Engine
    from worker.language_model import LanguageModel, UnreadModel
    from worker.local_model import LocalModel
    from worker.models.folder import find_model
    from worker.prompt_cache import PromptCache, default_limit_bytes

    *_, loaded = UnreadModel(find_model(model)).read()
    assert isinstance(loaded, LanguageModel)
    if cache.kv_bits is not None:
        loaded.quantize_kv(cache.kv_bits)
    limit_bytes = default_limit_bytes(loaded.weights_bytes) if cache.limit_bytes is None else cache.limit_bytes
    return LocalModel(Engine(loaded, PromptCache(loaded.new_layers, limit_bytes)))
