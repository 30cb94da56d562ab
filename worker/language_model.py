"""One loaded model with its tokenizer; it knows nothing of requests, answers or what is cached."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_lm.models.cache import KVCache, QuantizedKVCache, make_prompt_cache
from mlx_lm.utils import get_total_parameters, load_model, load_tokenizer
from tokenizers import Tokenizer

from worker.chat_template import ChatTemplate, plain_transcript
from worker.errors import ModelInvalidError, ModelUntrustedError, WorkerError
from worker.models.folder import ModelFolder
from worker.protocol import CacheKind
from worker.vocabulary import Vocabulary

Layers = list[Any]
"""What a model keeps of the tokens it has read, a cache a layer, as mlx-lm's models make them."""

_UNLIMITED_CONTEXT = 2**31 - 1

# The longest contexts of models go by many names.
_CONTEXT_KEYS = (
    "max_position_embeddings",
    "max_sequence_length",
    "max_seq_len",
    "seq_length",
    "n_positions",
    "n_ctx",
)


@dataclass(frozen=True)
class Loading:
    """How far a load is: `fraction` 0…1, `stage` in a person's words."""

    fraction: float
    stage: str


class LanguageModel:
    """A model that can be asked for logits, the bytes of its tokens, and its prompts."""

    def __init__(self, folder: ModelFolder, model: nn.Module, tokenizer: Any, config: Mapping[str, Any]) -> None:
        self.folder = folder
        self._model = model
        layers, logits = _probe(model)
        self.vocab_size: int = logits.shape[-1]
        self.cache_kind: CacheKind = _cache_kind(layers)
        self.kv_bytes_per_token = sum(_bytes_per_token(layer) for layer in layers)
        self.context_length = _context_length(config)
        self.num_parameters: int = get_total_parameters(model)
        self.weights_bytes: int = sum(array.nbytes for _, array in _arrays(model))
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if not isinstance(backend, Tokenizer):
            raise ModelInvalidError(
                f"The tokenizer in {folder.path} has no tokenizer.json that Bough can use. Choose another model."
            )
        self.tokenizer: Tokenizer = backend
        self.vocabulary = Vocabulary(backend, tokenizer.eos_token_ids, self.vocab_size)
        self.chat_template = ChatTemplate(_renderer(tokenizer), backend, self.vocabulary)

    def new_layers(self) -> Layers:
        """Return caches that hold nothing yet, one a layer."""
        return make_prompt_cache(self._model)

    def forward(self, tokens: mx.array, layers: Layers) -> mx.array:
        """Read `tokens`, shape [n], into `layers`; return the last one's logits, shape [1, vocabulary], lazily."""
        logits: mx.array = cast("Any", self._model)(tokens[None], cache=layers)
        return logits[:, -1, :]


def load(folder: ModelFolder) -> Iterator[Loading | LanguageModel]:
    """Load a model step by step; the last value is the model. Raises a `WorkerError` that says what to do."""
    yield Loading(0.0, "building the model")
    on_cpu = mx.default_device() == mx.Device(mx.cpu)
    if on_cpu:
        # Fusing kernels gains nothing on a CPU and costs a run of the C++ compiler at each first use.
        mx.disable_compile()
    try:
        model, config = load_model(folder.path, lazy=True)
        for fraction in _read_weights(model, as_float32=on_cpu):
            yield Loading(0.05 + 0.75 * fraction, "reading the weights")
        yield Loading(0.8, "reading the tokenizer")
        tokenizer = load_tokenizer(folder.path, eos_token_ids=config.get("eos_token_id"))
        yield Loading(0.95, "warming up")
        yield LanguageModel(folder, model, tokenizer, config)
    except (WorkerError, MemoryError):
        raise
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise ModelUntrustedError(
                f"The model in {folder.path} wants to run a program of its own. "
                "Bough never runs code that comes with a model; choose a model of a built-in architecture."
            ) from error
        raise ModelInvalidError(
            f"The model in {folder.path} can't be loaded: {error or type(error).__name__}. "
            "Download it again, or choose another model."
        ) from error


def release() -> None:
    """Give the memory of dropped models and caches back to the system."""
    gc.collect()
    mx.clear_cache()


def _read_weights(model: nn.Module, *, as_float32: bool) -> Iterator[float]:
    """Bring the weights into memory one by one; yield the fraction that is there, a hundred times at most.

    `as_float32`: on a CPU MLX computes float32 some thirty times faster than 16 bits.
    """
    if as_float32:
        model.set_dtype(mx.float32)
    arrays = _arrays(model)
    total = sum(array.nbytes for _, array in arrays) or 1
    done = told = 0
    for _, array in arrays:
        mx.eval(array)
        done += array.nbytes
        if (done - told) * 100 >= total:
            told = done
            yield done / total


def _arrays(model: nn.Module) -> list[tuple[str, mx.array]]:
    return cast("list[tuple[str, mx.array]]", tree_flatten(model.parameters()))


def _probe(model: nn.Module) -> tuple[Layers, mx.array]:
    """Read one token, so that shapes are known and kernels are compiled before the first question."""
    layers = make_prompt_cache(model)
    logits: mx.array = cast("Any", model)(mx.array([[0]]), cache=layers)
    mx.eval(logits)
    return layers, logits


def _cache_kind(layers: Layers) -> CacheKind:
    return "trimmable" if all(isinstance(layer, KVCache | QuantizedKVCache) for layer in layers) else "snapshot"


def _bytes_per_token(layer: Any) -> int:
    if isinstance(layer, KVCache) and layer.keys is not None and layer.values is not None:
        return (layer.keys.nbytes + layer.values.nbytes) // layer.keys.shape[2]
    nested = getattr(layer, "caches", ())
    if nested:
        return sum(_bytes_per_token(part) for part in nested)
    keys = getattr(layer, "keys", None)
    values = getattr(layer, "values", None)
    if isinstance(keys, mx.array) and isinstance(values, mx.array) and keys.ndim == 4:
        return (keys.nbytes + values.nbytes) // keys.shape[2]
    return 0


def _context_length(config: Mapping[str, Any]) -> int:
    for found in (config, config.get("text_config")):
        if not isinstance(found, Mapping):
            continue
        for key in _CONTEXT_KEYS:
            length = cast("Mapping[str, Any]", found).get(key)
            if isinstance(length, int) and length > 0:
                return length
    return _UNLIMITED_CONTEXT


def _renderer(tokenizer: Any) -> Any:
    if not tokenizer.has_chat_template:
        return plain_transcript

    def render(messages: list[dict[str, Any]], options: Mapping[str, Any]) -> str:
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **options)

    return render
