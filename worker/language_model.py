"""A loaded model with its tokenizer. Independent of requests, answers and the prompt cache."""

from __future__ import annotations

import gc
import os
import re
import textwrap
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

import mlx.core as mx
import mlx.nn as nn
import mlx_lm
import tokenizers
from mlx_lm.models.cache import KVCache, QuantizedKVCache, make_prompt_cache
from mlx_lm.utils import load_tokenizer, maybe_set_recommended_wired_limit
from tokenizers import Tokenizer

from worker.batch import can_batch, can_share, is_shareable
from worker.blas import versions_in_use
from worker.cpu_math import FORM, forget_factors, transpose_once, use_cpu_forms
from worker.errors import (
    BadRequestError,
    ModelInvalidError,
    ModelUntrustedError,
    WorkerError,
    WorkerOutOfMemoryError,
    is_out_of_memory,
    is_panic,
)
from worker.huge_pages import use_huge_pages
from worker.layers import Layers, bytes_per_token, num_bytes_at, quantized
from worker.memory import free_bytes
from worker.model_trial import build_model, check_model
from worker.models.configuration import impossible_numbers
from worker.models.folder import ModelFolder, context_length, text_configs
from worker.models.tokenizer_file import IS_COMPLETE, check_tokenizer
from worker.protocol import CacheKind
from worker.sentence import Sentence
from worker.templates.chat_template import ChatTemplate
from worker.templates.rendering import TRIAL_MODULES, chat_renderer, sources_of, thinking_of, time_texts_of
from worker.templates.tool_messages import ToolStyle, style_of
from worker.text.constraint import Constraints
from worker.text.vocabulary import Vocabulary
from worker.trial import Budget, StoppedError, TrialProcess
from worker.weights import Weights, arrays_of, is_finite, num_parameters

_GROUP_SIZES = (64, 32)
"""How many numbers share a scale in quantized keys and values. It must divide the width of a head."""

_UNLIMITED_CONTEXT = 2**31 - 1


_TRIALS_S = 25.0
"""How long all trials of a folder's files may take together."""
_NUM_PROBED = 4
"""When a model is loaded, it processes this many tokens at once to try it out."""


@dataclass(frozen=True)
class Loading:
    """Progress of a load: `fraction` from 0 to 1, `stage` as a text for the user."""

    fraction: float
    stage: str


class UnreadModel:
    """A model with its tokenizer, whose weights are still on disk."""

    def __init__(
        self,
        folder: ModelFolder,
        trials: TrialProcess | None = None,
        free: Callable[[], int] = free_bytes,
        chat_template: str | None = None,
    ) -> None:
        """Raises a `WorkerError` that says what to do.

        `trials` runs the chat template; None means a new process. `free` returns the free memory in bytes.
        `chat_template`: for a folder that has none; None means that messages become plain text.
        """
        _refuse_if_far_too_large(folder)
        self._folder = folder
        self._trials = trials or TrialProcess(TRIAL_MODULES)
        self._free = free
        self._on_cpu = mx.default_device() == mx.Device(mx.cpu)
        if self._on_cpu:
            # On a CPU, fused kernels gain nothing, and each first use runs the C++ compiler.
            mx.disable_compile()
            use_cpu_forms()
        else:
            maybe_set_recommended_wired_limit()
        self._budget = Budget(_TRIALS_S)
        with self._trials.sharing(self._budget):
            self._build(chat_template)

    def _build(self, chat_template: str | None) -> None:
        """Build the model, and load its tokenizer.

        Their files may be hostile, so unusual ones are first tried in another process.
        """
        folder = self._folder
        with _explained(folder):
            check_model(folder, self._trials)
            try:
                self._model, self._config = build_model(folder.path)
            finally:
                # The library draws weights, which are never used. Until it is computed, MLX's random state keeps each
                # draw: 32 kB for a small model.
                mx.eval(mx.random.state)
        with _explained(folder, "tokenizer"):
            check_tokenizer(folder.path, self._trials)
            # If this is not set, transformers asks on standard input whether to run the model's code.
            no_code = {"trust_remote_code": False, "local_files_only": True}
            eos_ids = _eos_ids(self._config)
            self._tokenizer: Any = load_tokenizer(folder.path, no_code, eos_token_ids=eos_ids)
            self.has_template: bool = self._tokenizer.has_chat_template
            if chat_template is not None and not self.has_template:
                options = {**no_code, "chat_template": chat_template}
                self._tokenizer = load_tokenizer(folder.path, options, eos_token_ids=eos_ids)
            if not isinstance(getattr(self._tokenizer, "backend_tokenizer", None), Tokenizer):
                raise ModelInvalidError(
                    Sentence(
                        "The tokenizer in {path} is in a format that Bough can't read (it needs tokenizer.json). "
                        "Choose another model.",
                        path=folder.path,
                    )
                )
            _use_file_unchanged(self._tokenizer, folder)
            _switch_off_changes(self._tokenizer.backend_tokenizer)

    def read(self) -> Iterator[Loading | LanguageModel]:
        """Read the weights into memory step by step. The last value is the model. Raises a `WorkerError`."""
        with _explained(self._folder):
            weights = Weights(self._model, on_cpu=self._on_cpu, free=self._free)
            for fraction in weights.read():
                yield Loading(0.1 + 0.85 * fraction, "reading the weights")
            if self._on_cpu:
                transpose_once(self._model)
            yield Loading(0.95, "warming up")
            if sources_of(self._tokenizer):
                # Start the process now, so that it is ready for the first prompt.
                self._trials.start()
            with self._trials.sharing(self._budget):
                model = LanguageModel(self._folder, self._model, self._tokenizer, self._config, self._trials, weights)
            if self._on_cpu:
                use_huge_pages((array for _, array in arrays_of(self._model)), model)
            model.notices += _notices(weights.odd, has_end=bool(model.vocabulary.eos_ids))
            yield model


class LanguageModel:
    """A loaded model with its tokenizer and chat template: computes logits, and converts prompts to ids."""

    def __init__(
        self,
        folder: ModelFolder,
        model: nn.Module,
        tokenizer: Any,
        config: Mapping[str, Any],
        trials: TrialProcess,
        weights: Weights,
    ) -> None:
        self.folder = folder
        self.notices: list[Sentence] = []
        """Faults of the model, which can still be used; usually none."""
        self._model = model
        self._config = config
        self._weights = weights
        self._quantization: tuple[int, int] | None = None
        """Bits and group size of keys and values."""
        _speed_up_module_lookup(model)
        logits = self._tried()
        self._check_numbers(are_finite=bool(weights.odd) or is_finite(logits))
        self.vocab_size: int = logits.shape[-1]
        is_trimmable = all(isinstance(layer, KVCache | QuantizedKVCache) for layer in self._layers)
        self.cache_kind: CacheKind = "trimmable" if is_trimmable else "snapshot"
        self.context_length = min(context_length(config) or _UNLIMITED_CONTEXT, _UNLIMITED_CONTEXT)
        self.num_parameters = num_parameters(model)
        self.weight_form = weights.form
        self.weights_bytes: int = sum(array.nbytes for _, array in arrays_of(model))
        self.tokenizer: Tokenizer = tokenizer.backend_tokenizer
        # mlx-lm puts None in place of a missing token.
        eos_ids: list[int] = [token_id for token_id in tokenizer.eos_token_ids if token_id is not None]
        self.vocabulary = Vocabulary(self.tokenizer, eos_ids, self.vocab_size)
        self._trials = trials
        render = chat_renderer(tokenizer, trials)
        sources = sources_of(tokenizer)
        style = style_of(render, sources, self.vocabulary.control_texts) if tokenizer.has_chat_template else ToolStyle()
        self.chat_template = ChatTemplate(render, self.tokenizer, self.vocabulary, time_texts_of(tokenizer), style)
        self.thinking = thinking_of(render, sources)

    def identity(self) -> str:
        """Return a hash that two models share if one can use the other's cache."""
        cache_options = {} if self._quantization is None else {"kv_quantization": self._quantization}
        return self._weights.identity({**self._config, **cache_options})

    def new_layers(self) -> Layers:
        """Return an empty cache for each layer."""
        layers = make_prompt_cache(self._model)
        return layers if self._quantization is None else quantized(layers, *self._quantization)[0]

    def quantize_kv(self, bits: int) -> None:
        """Store keys and values in this many bits from now on. Raises `BadRequestError` if the model can't."""
        if not quantized(self.new_layers(), bits, _GROUP_SIZES[0])[1]:
            raise BadRequestError(
                Sentence(
                    "`cache.kv_bits`: {architecture} models can't be cached in {bits} bits. Load it without `kv_bits`.",
                    architecture=self.folder.architecture,
                    bits=bits,
                )
            )
        reason: Exception | None = None
        for group_size in _GROUP_SIZES:
            self._quantization = (bits, group_size)
            try:
                self._probe()
            except Exception as error:  # noqa: BLE001 (MLX and the model's code may raise anything)
                reason = error
            else:
                return
        self._quantization = None
        self._probe()
        raise BadRequestError(
            Sentence(
                "`cache.kv_bits`: {architecture} models can't be cached in {bits} bits ({reason}). "
                "Load it without `kv_bits`.",
                architecture=self.folder.architecture,
                bits=bits,
                reason=textwrap.shorten(str(reason), 200).rstrip("."),
            )
        )

    def _tried(self) -> mx.array:
        """Like `_probe`, but raise `ModelInvalidError` if the model fails."""
        try:
            return self._probe()
        except Exception as error:
            if is_out_of_memory(error):
                raise
            raise ModelInvalidError(
                Sentence(
                    "The model in {path} fails when it reads a prompt ({reason}). Its config.json is probably wrong. "
                    "Download the model again, or choose another one.",
                    path=self.folder.path,
                    reason=textwrap.shorten(str(error) or type(error).__name__, 200).rstrip("."),
                )
            ) from error

    def _check_numbers(self, *, are_finite: bool) -> None:
        """Warn about numbers in the configuration that are not finite, or refuse the model because of them.

        `are_finite`: False if the logits are not finite although the weights are. Raises `ModelInvalidError` if the
        model can't answer because of such numbers.
        """
        numbers = impossible_numbers(self._config, are_all=not are_finite)
        if are_finite and numbers:
            self.notices.append(
                Sentence(
                    "The config.json of this model holds values that are not finite numbers: {numbers}. "
                    "Its answers may make no sense. Download the model again, or choose another one.",
                    numbers=numbers,
                )
            )
        elif numbers:
            raise ModelInvalidError(
                Sentence(
                    "The model in {path} computes values that are not finite numbers, so it can't answer. Its weights "
                    "are sound, but its config.json is wrong: {numbers}. "
                    "Download the model again, or choose another one.",
                    path=self.folder.path,
                    numbers=numbers,
                )
            )
        elif not are_finite:
            self.notices.append(
                Sentence(
                    "This model computes values that are not finite numbers, though its weights are sound. Its "
                    "config.json is probably wrong. Download the model again, or choose another one."
                )
            )

    def _probe(self) -> mx.array:
        """Process tokens as answers do: one alone; a few at once, then one. Return the logits after the last one.

        The attempt finds out shapes, and compiles kernels before the first question. Some wrong values in config.json,
        such as a window of 0 tokens, make a model fail only when it processes several tokens at once.
        """
        for num_tokens in (1, _NUM_PROBED):
            self._layers = self.new_layers()
            mx.eval(self.logits_of_all(mx.zeros((1, num_tokens), mx.int32), self._layers))
        logits = self.logits_of_all(mx.zeros((1, 1), mx.int32), self._layers)
        mx.eval(logits)
        return logits

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the libraries that affect answers, and the form of quantized weights, by name."""
        form = self.weight_form.form
        return versions() if form == "stored" else {**versions(), "weights": form}

    @property
    def kv_bytes_per_token(self) -> int:
        """How many bytes each token takes in the layers' caches."""
        return sum(bytes_per_token(layer) for layer in self._layers)

    @cached_property
    def can_batch(self) -> bool:
        """Whether a step can process a token of several sequences."""
        return can_batch(self.forward, self.new_layers, self._config)

    @cached_property
    def can_share(self) -> bool:
        """Whether several sequences can share the keys and values of the tokens with which they begin."""
        return self.can_batch and can_share(self.forward, self.new_layers)

    @cached_property
    def constraints(self) -> Constraints:
        """Makes constraints for the model's answers."""
        return Constraints(self.vocabulary, self._trials)

    def num_bytes_at(self, num_tokens: int) -> int:
        """Return how many bytes the layers' caches take after this many tokens."""
        return sum(num_bytes_at(layer, num_tokens) for layer in self._layers)

    def shared_bytes_at(self, num_tokens: int) -> int:
        """Return how many bytes of `num_bytes_at` are shared by sequences that begin with the same tokens."""
        return sum(num_bytes_at(layer, num_tokens) for layer in self._layers if is_shareable(layer))

    def forward(self, tokens: mx.array, layers: Layers) -> mx.array:
        """Process `tokens`, shape [sequences, n], and add them to `layers`, lazily.

        Returns the logits after the last ones, shape [sequences, vocabulary].
        """
        logits = self.logits_of_all(tokens, layers)
        # For a single token, `squeeze` costs less than indexing.
        return logits.squeeze(1) if tokens.shape[1] == 1 else logits[:, -1, :]

    def logits_of_all(self, tokens: mx.array, layers: Layers) -> mx.array:
        """Like `forward`, but return the logits after each token, shape [sequences, n, vocabulary]."""
        logits: mx.array = cast("Any", self._model)(tokens, cache=layers)
        return logits


def versions() -> dict[str, str]:
    """Return the versions of the libraries that affect answers, by name."""
    found = {
        "mlx": cast("Any", mx).__version__,
        "mlx_lm": mlx_lm.__version__,
        "tokenizers": tokenizers.__version__,
    }
    # Results differ in the last bits between the kernels of OpenBLAS.
    on_cpu = {"exponentials": FORM, **versions_in_use()}
    return {**found, **on_cpu} if mx.default_device() == mx.Device(mx.cpu) else found


def release() -> None:
    """Return the memory of dropped models and caches to the system."""
    forget_factors()
    gc.collect()
    mx.clear_cache()


@contextmanager
def _explained(folder: ModelFolder, part: Literal["model", "tokenizer"] = "model") -> Generator[None]:
    """Turn errors of mlx-lm, transformers and the model's files into a `WorkerError` with a sentence for the user."""
    try:
        yield
    except (WorkerError, StoppedError, MemoryError):
        raise
    except BaseException as error:
        # Some of mlx-lm's modules exit if a package is missing.
        if not (isinstance(error, Exception | SystemExit) or is_panic(error)):
            raise
        if "trust_remote_code" in str(error):
            raise ModelUntrustedError(
                Sentence(
                    "The model in {path} needs its own program code. Bough never runs code that comes with a model. "
                    "Choose a model with a built-in architecture.",
                    path=folder.path,
                )
            ) from error
        if is_out_of_memory(error):
            raise
        if re.search(r"Model type .* not supported", str(error)):
            raise ModelInvalidError(
                Sentence(
                    "Bough does not support models of the type {architecture} ({path}). Choose another model.",
                    architecture=folder.architecture,
                    path=folder.path,
                )
            ) from error
        reason = textwrap.shorten(str(error) or type(error).__name__, 300).rstrip(".")
        if part == "model":
            sentence = Sentence(
                "The model in {path} can't be loaded: {reason}. Download it again, or choose another model.",
                path=folder.path,
                reason=reason,
            )
        else:
            sentence = Sentence(
                "The tokenizer in {path} can't be loaded: {reason}. Download the model again, or choose another one.",
                path=folder.path,
                reason=reason,
            )
        raise ModelInvalidError(sentence) from error


def _refuse_if_far_too_large(folder: ModelFolder) -> None:
    """Refuse weights that don't fit into memory, even with swap space."""
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if folder.weights_bytes > 2 * memory_bytes:
        raise WorkerOutOfMemoryError(
            Sentence(
                "The weights in {path} take {weights_bytes}, but this computer has {memory_bytes} of memory. "
                "Choose a smaller model.",
                path=folder.path,
                weights_bytes=folder.weights_bytes,
                memory_bytes=memory_bytes,
            )
        )


def _use_file_unchanged(tokenizer: Any, folder: ModelFolder) -> None:
    """Use tokenizer.json unchanged where it is complete, as in folders made from GGUF files.

    transformers builds the tokenizers of some models by its own rules: that of Qwen 2 changes text that is not in NFC.
    """
    own: Any = tokenizer._tokenizer  # noqa: SLF001
    if own.init_kwargs.get(IS_COMPLETE) and type(own).__name__ != "TokenizersBackend":
        own._tokenizer = Tokenizer.from_file(str(folder.path / "tokenizer.json"))  # noqa: SLF001


def _switch_off_changes(tokenizer: Tokenizer) -> None:
    """Switch off options of a tokenizer that would change prompts without notice.

    Such options cut or pad prompts, split control tokens that the template writes, or choose tokens at random.
    """
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = False
    if getattr(tokenizer.model, "dropout", None) is not None:
        tokenizer.model.dropout = None


def _speed_up_module_lookup(model: nn.Module) -> None:
    """Put submodules into `__dict__`, so that Python finds them without calling `nn.Module.__getattr__`.

    These calls took an eighth of the time to build a step of a small model. Weights are left out, as code may replace
    them.
    """
    for module in model.modules():
        for name, value in cast("dict[str, object]", module).items():
            if isinstance(value, nn.Module | list):
                module.__dict__[name] = value


def _notices(odd: Sequence[str], *, has_end: bool) -> list[Sentence]:
    notices: list[Sentence] = []
    if not has_end:
        notices.append(
            Sentence(
                "The files of this model do not say which token ends an answer, so it may write until its limit. "
                "Set a limit or a stop string, or choose another model."
            )
        )
    if odd:
        notices.append(
            Sentence(
                "Some weights of this model are damaged: {name} holds values that are infinite or not numbers. "
                "Its answers may make no sense. Download the model again, or choose another one.",
                name=odd[0],
            )
        )
    return notices


def _eos_ids(config: Mapping[str, Any]) -> list[int] | None:
    """Return the ids that end an answer according to the configuration; None if it names none."""
    for found in text_configs(config):
        named = found.get("eos_token_id")
        listed = cast("list[object]", named) if isinstance(named, list) else [named]
        ids = [token_id for token_id in listed if isinstance(token_id, int)]
        if ids:
            return ids
    return None
