"""Builds a model; one whose configuration has unusual numbers is first tried in a process of its own.

mlx-lm trusts a configuration: one number may make it build lists without end, or read outside of an array.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_model

from worker.errors import ModelInvalidError
from worker.models.configuration import unusual_numbers
from worker.models.folder import ModelFolder
from worker.sentence import Sentence
from worker.trial import (
    CrashedError,
    Limits,
    RaisedError,
    StoppedError,
    TooMuchMemoryError,
    TooSlowError,
    TrialError,
    TrialProcess,
)

_LIMITS = Limits(seconds=20.0, memory_bytes=512 << 20, result_bytes=1 << 10)
"""Ordinary models take a tenth of a second, and 50 MB."""
_COMPUTED_BYTES = 256 << 20
"""A model with more weights is built but not computed, which might take long."""
_NUM_TOKENS = 4


def build_model(path: Path) -> tuple[nn.Module, dict[str, Any]]:
    """Return a model whose weights are still on disk, and its configuration."""
    with _without_empty_groups():
        return load_model(path, lazy=True)


@contextlib.contextmanager
def _without_empty_groups() -> Generator[None]:
    """Refuse to quantize in groups of 0 numbers: MLX would divide by zero, which ends the process.

    mlx-lm asks for such groups if the configuration does, or if it names fewer numbers than the weights have groups.
    """
    quantize = mx.quantize

    def checked(weight: mx.array, group_size: int | None = None, *rest: Any, **named: Any) -> Any:
        if group_size == 0:
            raise ValueError("its weights have other sizes than its configuration says: a group would have no numbers")
        return quantize(weight, group_size, *rest, **named)

    mx.quantize = checked
    try:
        yield
    finally:
        mx.quantize = quantize


def check_model(folder: ModelFolder, trials: TrialProcess) -> None:
    """Refuse a model that takes too much time or memory, or crashes, because of unusual numbers in its configuration.

    Raises `ModelInvalidError` and `StoppedError`.
    """
    numbers = unusual_numbers(folder.config)
    if not numbers:
        return
    process = trials.another([__name__])
    try:
        process.run(_LIMITS, try_model, str(folder.path), is_computed=folder.weights_bytes <= _COMPUTED_BYTES)
    except TooSlowError as error:
        raise _refused(folder, numbers, Sentence("it takes too long to build")) from error
    except (TooMuchMemoryError, CrashedError) as error:
        raise _refused(folder, numbers, Sentence("it takes too much memory to build, or crashes")) from error
    except RaisedError as error:
        if "MemoryError" in error.names:
            raise _refused(folder, numbers, Sentence("it takes too much memory to build, or crashes")) from error
        return  # Loading the model raises the same error, and explains it.
    except StoppedError:
        raise
    except TrialError:
        return  # The process could not be started. Loading the model will probably fail, too, and say why.
    finally:
        process.close()


def try_model(path: str, *, is_computed: bool) -> None:
    """Build a model and let it process a few tokens. Its weights are not loaded: all are zero."""
    mx.set_default_device(mx.Device(mx.cpu))
    mx.disable_compile()
    model, _ = build_model(Path(path))
    model.update(cast("dict[str, Any]", tree_map(_zeros_like, model.parameters())))
    for num_tokens in (1, _NUM_TOKENS):
        logits = _logits(model, num_tokens)
        if is_computed:
            mx.eval(logits)


def _zeros_like(array: mx.array) -> mx.array:
    """Return an array that takes no memory."""
    return mx.broadcast_to(mx.zeros((), array.dtype), array.shape)


def _logits(model: nn.Module, num_tokens: int) -> mx.array:
    return cast("Any", model)(mx.zeros((1, num_tokens), mx.int32), cache=make_prompt_cache(model))


def _refused(folder: ModelFolder, numbers: str, reason: Sentence) -> ModelInvalidError:
    return ModelInvalidError(
        Sentence(
            "The model in {path} can't be loaded: {reason}. The cause is probably in its config.json: {numbers}. "
            "Download the model again, or choose another one.",
            path=folder.path,
            reason=reason,
            numbers=numbers,
        )
    )
