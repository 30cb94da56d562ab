"""One loaded model with its tokenizer; it knows nothing of requests, answers or what is cached."""

from __future__ import annotations

import gc
import re
import textwrap
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_lm.models.cache import KVCache, QuantizedKVCache, make_prompt_cache
from mlx_lm.utils import get_total_parameters, load_model, load_tokenizer, maybe_set_recommended_wired_limit
from tokenizers import Tokenizer

from worker.batch import can_batch
from worker.errors import BadRequestError, ModelInvalidError, ModelUntrustedError, WorkerError, is_out_of_memory
from worker.layers import Layers, arrays_in, num_bytes_in, quantized
from worker.model_identity import identity_of
from worker.models.folder import ModelFolder
from worker.protocol import CacheKind
from worker.templates.chat_template import ChatTemplate
from worker.templates.rendering import chat_renderer, moment_of, thinking_of
from worker.text.constraint import Constraints
from worker.text.vocabulary import Vocabulary

_GROUP_SIZES = (64, 32)
"""Numbers that share a scale, of keys and values of few bits: what divides a head's width."""

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


class UnreadModel:
    """A model that is built and has its tokenizer, while its weights still lie on disk."""

    def __init__(self, folder: ModelFolder) -> None:
        """Raises a `WorkerError` that says what to do."""
        self._folder = folder
        self._on_cpu = mx.default_device() == mx.Device(mx.cpu)
        if self._on_cpu:
            # Fusing kernels gains nothing on a CPU and costs a run of the C++ compiler at each first use.
            mx.disable_compile()
        else:
            maybe_set_recommended_wired_limit()
        with _told_of(folder):
            self._model, self._config = load_model(folder.path, lazy=True)
        with _told_of(folder, "tokenizer"):
            # Without a clear no, transformers would ask on standard input whether to run a model's own code.
            no_code = {"trust_remote_code": False, "local_files_only": True}
            self._tokenizer: Any = load_tokenizer(folder.path, no_code, eos_token_ids=_eos_ids(self._config))
            if not isinstance(getattr(self._tokenizer, "backend_tokenizer", None), Tokenizer):
                raise ModelInvalidError(
                    f"The tokenizer in {folder.path} has no form that Bough can use (tokenizer.json). "
                    "Choose another model."
                )

    def read(self) -> Iterator[Loading | LanguageModel]:
        """Bring the weights into memory step by step; the last value is the model. Raises a `WorkerError`."""
        with _told_of(self._folder):
            for fraction in _read_weights(self._model, as_float32=self._on_cpu):
                yield Loading(0.1 + 0.85 * fraction, "reading the weights")
            yield Loading(0.95, "warming up")
            yield LanguageModel(self._folder, self._model, self._tokenizer, self._config)


class LanguageModel:
    """A model that can be asked for logits, the bytes of its tokens, and its prompts."""

    def __init__(self, folder: ModelFolder, model: nn.Module, tokenizer: Any, config: Mapping[str, Any]) -> None:
        self.folder = folder
        self._model = model
        self._config = config
        self._quantization: tuple[int, int] | None = None
        """Bits and group size of keys and values."""
        _let_python_find_the_modules_of(model)
        logits = self._probe()
        self.vocab_size: int = logits.shape[-1]
        self.cache_kind: CacheKind = _cache_kind(self._layers)
        self.context_length = _context_length(config)
        self.num_parameters = _num_parameters(model)
        self.weights_bytes: int = sum(array.nbytes for _, array in _arrays(model))
        self.tokenizer: Tokenizer = tokenizer.backend_tokenizer
        self.vocabulary = Vocabulary(self.tokenizer, tokenizer.eos_token_ids, self.vocab_size)
        render = chat_renderer(tokenizer)
        self.chat_template = ChatTemplate(render, self.tokenizer, self.vocabulary, moment_of(tokenizer))
        self.thinking = thinking_of(render)

    def identity(self) -> str:
        """Return what is the same for two models if one may go on from what the other has read."""
        kept_as = {} if self._quantization is None else {"kv_quantization": self._quantization}
        return identity_of({**self._config, **kept_as}, _arrays(self._model))

    def new_layers(self) -> Layers:
        """Return caches that hold nothing yet, one a layer."""
        layers = make_prompt_cache(self._model)
        return layers if self._quantization is None else quantized(layers, *self._quantization)[0]

    def quantize_kv(self, bits: int) -> None:
        """Keep keys and values in so many bits from now on. Raises `BadRequestError` where the model can't."""
        if not quantized(self.new_layers(), bits, _GROUP_SIZES[0])[1]:
            raise BadRequestError(
                f"`cache.kv_bits`: {self.folder.architecture} keeps windows or states alone, which have no form of "
                f"{bits} bits. Load it without `kv_bits`."
            )
        reason: Exception | None = None
        for group_size in _GROUP_SIZES:
            self._quantization = (bits, group_size)
            try:
                self._probe()
            except Exception as error:  # noqa: BLE001 (whatever mlx and the model's code have against it)
                reason = error
            else:
                return
        self._quantization = None
        self._probe()
        said = textwrap.shorten(str(reason), 200).rstrip(".")
        raise BadRequestError(
            f"`cache.kv_bits`: {self.folder.architecture} can't keep its keys and values in {bits} bits ({said}). "
            "Load it without `kv_bits`."
        )

    def _probe(self) -> mx.array:
        """Read a few tokens, so that shapes are known and kernels are compiled before the first question."""
        self._layers = self.new_layers()
        logits: mx.array = cast("Any", self._model)(mx.array([[0]]), cache=self._layers)
        if self._quantization is not None:
            logits = cast("Any", self._model)(mx.array([[0, 0]]), cache=self._layers)
        mx.eval(logits)
        return logits

    @property
    def kv_bytes_per_token(self) -> int:
        """How much memory each token takes."""
        return sum(_bytes_per_token(layer) for layer in self._layers)

    @cached_property
    def can_batch(self) -> bool:
        """Whether several sequences may be read in one step."""
        return can_batch(self.forward, self.new_layers, self._config)

    @cached_property
    def constraints(self) -> Constraints:
        """The forms that its answers can be given."""
        return Constraints(self.vocabulary)

    def num_bytes_at(self, num_tokens: int) -> int:
        """Return how much memory the layers take that have read so many tokens."""
        return sum(_num_bytes_at(layer, num_tokens) for layer in self._layers)

    def forward(self, tokens: mx.array, layers: Layers) -> mx.array:
        """Read `tokens`, shape [sequences, n], into `layers`, lazily; return the last ones' logits.

        Their shape is [sequences, vocabulary].
        """
        logits = self.logits_of_all(tokens, layers)
        # Of one token, the only one is the last one: indexing costs more.
        return logits.squeeze(1) if tokens.shape[1] == 1 else logits[:, -1, :]

    def logits_of_all(self, tokens: mx.array, layers: Layers) -> mx.array:
        """Read `tokens` likewise; return the logits after each, shape [sequences, n, vocabulary]."""
        logits: mx.array = cast("Any", self._model)(tokens, cache=layers)
        return logits


def release() -> None:
    """Give the memory of dropped models and caches back to the system."""
    gc.collect()
    mx.clear_cache()


@contextmanager
def _told_of(folder: ModelFolder, what: str = "model") -> Generator[None]:
    """Turn what mlx-lm, transformers and the model's files raise into a sentence for the person."""
    try:
        yield
    except (WorkerError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # some of mlx-lm's modules exit where a package is missing
        if "trust_remote_code" in str(error):
            raise ModelUntrustedError(
                f"The model in {folder.path} wants to run a program of its own. "
                "Bough never runs code that comes with a model; choose a model of a built-in architecture."
            ) from error
        if is_out_of_memory(error):
            raise
        if re.search(r"Model type .* not supported", str(error)):
            raise ModelInvalidError(
                f"The model in {folder.path} is of a kind that Bough does not know: {folder.architecture}. "
                "Choose another model."
            ) from error
        reason = textwrap.shorten(str(error) or type(error).__name__, 300).rstrip(".")
        raise ModelInvalidError(
            f"The {what} in {folder.path} can't be loaded: {reason}. Download the model again, or choose another one."
        ) from error


def _let_python_find_the_modules_of(model: nn.Module) -> None:
    """Spare Python a call of `nn.Module.__getattr__` each time that a module asks for one of its own modules.

    That was an eighth of the time in which a step of a small model is put together. Weights stay where they are, as
    code may replace them.
    """
    for module in model.modules():
        for name, value in cast("dict[str, object]", module).items():
            if isinstance(value, nn.Module | list):
                module.__dict__[name] = value


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


def _num_parameters(model: nn.Module) -> int:
    """Quantized weights count as what they stand for; parameters of blocks (a recurrent layer's) count, too."""
    leaves = cast("list[tuple[str, nn.Module]]", tree_flatten(model.leaf_modules(), is_leaf=nn.Module.is_module))
    in_leaves = sum(array.size for _, leaf in leaves for _, array in _arrays(leaf))
    in_blocks = sum(array.size for _, array in _arrays(model)) - in_leaves
    return get_total_parameters(model) + in_blocks


def _cache_kind(layers: Layers) -> CacheKind:
    return "trimmable" if all(isinstance(layer, KVCache | QuantizedKVCache) for layer in layers) else "snapshot"


def _bytes_per_token(layer: Any) -> int:
    nested = getattr(layer, "caches", ())
    if nested:
        return sum(_bytes_per_token(part) for part in nested)
    held = arrays_in([getattr(layer, "keys", None), getattr(layer, "values", None)])
    return sum(array.nbytes // array.shape[2] for array in held if array.ndim == 4)


def _num_bytes_at(layer: Any, num_tokens: int) -> int:
    nested = getattr(layer, "caches", ())
    if nested:
        return sum(_num_bytes_at(part, num_tokens) for part in nested)
    a_token = _bytes_per_token(layer)
    most = next((size for name in ("max_size", "chunk_size") if (size := getattr(layer, name, None))), num_tokens)
    return a_token * min(num_tokens, most) if a_token else num_bytes_in(layer and list(layer.__dict__.values()))


def _text_configs(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The configuration itself and those of the text model in it (models that also see have one)."""
    nested = [config.get(key) for key in ("text_config", "llm_config", "language_config")]
    return [config, *(cast("Mapping[str, Any]", found) for found in nested if isinstance(found, Mapping))]


def _context_length(config: Mapping[str, Any]) -> int:
    for found in _text_configs(config):
        for key in _CONTEXT_KEYS:
            length = found.get(key)
            if isinstance(length, int) and length > 0:
                return min(length, _UNLIMITED_CONTEXT)
    return _UNLIMITED_CONTEXT


def _eos_ids(config: Mapping[str, Any]) -> list[int] | None:
    """The ids that end an answer, by the configuration; None where it names none."""
    for found in _text_configs(config):
        named = found.get("eos_token_id")
        listed = cast("list[object]", named) if isinstance(named, list) else [named]
        ids = [token_id for token_id in listed if isinstance(token_id, int)]
        if ids:
            return ids
    return None
