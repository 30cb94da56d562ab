"""Small GGUF models with random weights, whose metadata has the keys that llama.cpp's converter writes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from worker.gguf.gguf_file import read_files

_Shapes = Mapping[str, tuple[int, ...]]

HIDDEN, FEED_FORWARD, HEADS, KV_HEADS, LAYERS = 256, 256, 4, 2, 3
HEAD = HIDDEN // HEADS
WIDE = 96
"""The width of a head that is not a part of the hidden state."""
VOCABULARY = 320


@dataclass(frozen=True)
class RandomModel:
    """The parts of a model of an architecture. `layer` is in each layer, `once` outside of them."""

    architecture: str
    metadata: Mapping[str, Any]
    once: _Shapes
    layer: _Shapes
    fixed: Mapping[str, list[float]] = field(default_factory=dict)
    """Tensors with given values."""
    num_layers: int = LAYERS


def _size(head: int = HEAD, *, gate: bool = True) -> dict[str, tuple[int, ...]]:
    shapes = {
        "attn_norm": (HIDDEN,),
        "attn_q": (HEADS * head, HIDDEN),
        "attn_k": (KV_HEADS * head, HIDDEN),
        "attn_v": (KV_HEADS * head, HIDDEN),
        "attn_output": (HIDDEN, HEADS * head),
        "ffn_norm": (HIDDEN,),
        "ffn_down": (HIDDEN, FEED_FORWARD),
        "ffn_up": (FEED_FORWARD, HIDDEN),
    }
    return shapes | ({"ffn_gate": (FEED_FORWARD, HIDDEN)} if gate else {})


_TIED = {"token_embd": (VOCABULARY, HIDDEN), "output_norm": (HIDDEN,)}
_UNTIED = _TIED | {"output": (VOCABULARY, HIDDEN)}
_BIASES = {"attn_q.bias": (HEADS * HEAD,), "attn_k.bias": (KV_HEADS * HEAD,), "attn_v.bias": (KV_HEADS * HEAD,)}


def _base(context: int, theta: float, **others: Any) -> dict[str, Any]:
    return {
        "block_count": LAYERS,
        "context_length": context,
        "embedding_length": HIDDEN,
        "feed_forward_length": FEED_FORWARD,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": theta,
        **{key.replace("__", "."): value for key, value in others.items()},
    }


def _llama3_factors(head: int, theta: float, factor: float, original: int) -> list[float]:
    """Return how many times as slow each frequency of Llama 3.1 is."""
    found: list[float] = []
    for number in range(head // 2):
        wave = 2 * math.pi * theta ** (2 * number / head)
        if wave < original / 4:
            found.append(1.0)
        elif wave > original:
            found.append(factor)
        else:
            smooth = (original / wave - 1) / (4 - 1)
            found.append(1 / ((1 - smooth) / factor + smooth))
    return found


_YARN = {"rope__scaling__type": "yarn", "rope__scaling__factor": 4.0}
_WIDE = {"attention__key_length": WIDE, "attention__value_length": WIDE}
_NORMS = {"attn_q_norm": (WIDE,), "attn_k_norm": (WIDE,)}
_GEMMA = _size(WIDE) | {"post_attention_norm": (HIDDEN,), "post_ffw_norm": (HIDDEN,)}
_PHI3 = {
    "attn_norm": (HIDDEN,),
    "attn_qkv": ((HEADS + 2 * KV_HEADS) * HEAD, HIDDEN),
    "attn_output": (HIDDEN, HIDDEN),
    "ffn_norm": (HIDDEN,),
    "ffn_up": (2 * FEED_FORWARD, HIDDEN),
    "ffn_down": (HIDDEN, FEED_FORWARD),
}

RANDOM_MODELS: Mapping[str, RandomModel] = {
    "llama": RandomModel(
        "llama", _base(2048, 10000.0, rope__dimension_count=HEAD, vocab_size=VOCABULARY), _UNTIED, _size()
    ),
    "llama tied": RandomModel("llama", _base(2048, 500000.0, rope__dimension_count=HEAD), _TIED, _size()),
    "llama 3.1": RandomModel(
        "llama",
        _base(131072, 500000.0, rope__dimension_count=HEAD),
        _TIED,
        _size(),
        {"rope_freqs": _llama3_factors(HEAD, 500000.0, 8.0, 8192)},
    ),
    "llama linear": RandomModel(
        "llama",
        _base(4096, 10000.0, rope__dimension_count=HEAD, rope__scaling__type="linear", rope__scaling__factor=2.0),
        _UNTIED,
        _size(),
    ),
    "llama yarn": RandomModel(
        "llama",
        _base(512, 10000.0, rope__dimension_count=HEAD, rope__scaling__original_context_length=128, **_YARN),
        _UNTIED,
        _size(),
    ),
    "smollm3": RandomModel(
        "smollm3",
        _base(65536, 5000000.0, rope__dimension_count=HEAD, vocab_size=VOCABULARY) | {"block_count": 5},
        _TIED,
        _size(),
        num_layers=5,
    ),
    "qwen2": RandomModel("qwen2", _base(32768, 1000000.0), _TIED, _size() | _BIASES),
    "qwen2 untied": RandomModel("qwen2", _base(32768, 1000000.0), _UNTIED, _size() | _BIASES),
    "qwen2 yarn": RandomModel(
        "qwen2",
        _base(512, 1000000.0, rope__scaling__original_context_length=128, **_YARN),
        _UNTIED,
        _size() | _BIASES,
    ),
    "qwen3": RandomModel("qwen3", _base(40960, 1000000.0, **_WIDE), _TIED, _size(WIDE) | _NORMS),
    "qwen3 yarn": RandomModel(
        "qwen3",
        _base(512, 1000000.0, rope__scaling__original_context_length=128, **_YARN, **_WIDE),
        _UNTIED,
        _size(WIDE) | _NORMS,
    ),
    "gemma3": RandomModel(
        "gemma3",
        _base(32768, 1000000.0, **_WIDE, attention__sliding_window=48) | {"block_count": 7},
        _TIED,
        _GEMMA | _NORMS,
        num_layers=7,
    ),
    "gemma3 linear": RandomModel(
        "gemma3",
        _base(
            131072,
            1000000.0,
            **_WIDE,
            attention__sliding_window=64,
            rope__scaling__type="linear",
            rope__scaling__factor=8.0,
        )
        | {"block_count": 7},
        _TIED,
        _GEMMA | _NORMS,
        num_layers=7,
    ),
    "phi3": RandomModel(
        "phi3",
        _base(
            4096,
            10000.0,
            rope__dimension_count=HEAD,
            rope__scaling__original_context_length=4096,
            attention__sliding_window=2047,
        ),
        _UNTIED,
        _PHI3,
    ),
    "phi3 long": RandomModel(
        "phi3",
        _base(
            8192,
            10000.0,
            rope__dimension_count=HEAD,
            rope__scaling__original_context_length=256,
            rope__scaling__attn_factor=math.sqrt(1 + math.log(32) / math.log(256)),
            attention__sliding_window=262144,
        ),
        _UNTIED,
        _PHI3,
        {
            "rope_factors_long": [1.0 + 0.4 * number for number in range(HEAD // 2)],
            "rope_factors_short": [1.0 + 0.02 * number for number in range(HEAD // 2)],
        },
    ),
    "phi4 mini": RandomModel(
        "phi3",
        _base(
            4096,
            10000.0,
            rope__dimension_count=HEAD * 3 // 4,
            rope__scaling__original_context_length=256,
            rope__scaling__attn_factor=math.sqrt(1 + math.log(16) / math.log(256)),
            attention__sliding_window=0,
        ),
        _TIED,
        _PHI3,
        {
            "rope_factors_long": [1.0 + 0.5 * number for number in range(HEAD * 3 // 8)],
            "rope_factors_short": [1.0] * (HEAD * 3 // 8),
        },
    ),
    "qwen3moe": RandomModel(
        "qwen3moe",
        _base(40960, 1000000.0, **_WIDE, expert_count=8, expert_used_count=2, expert_feed_forward_length=64),
        _UNTIED,
        {name: shape for name, shape in _size(WIDE).items() if not name.startswith("ffn_") or name == "ffn_norm"}
        | _NORMS
        | {
            "ffn_gate_inp": (8, HIDDEN),
            "ffn_gate_exps": (8, 64, HIDDEN),
            "ffn_up_exps": (8, 64, HIDDEN),
            "ffn_down_exps": (8, HIDDEN, 64),
        },
    ),
    "gemma2": RandomModel(
        "gemma2",
        _base(8192, 10000.0, **_WIDE, attention__sliding_window=160)
        | {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
        _TIED,
        _GEMMA,
    ),
    "olmo2": RandomModel(
        "olmo2",
        _base(4096, 500000.0),
        _UNTIED,
        {name: shape for name, shape in _size().items() if name not in ("attn_norm", "ffn_norm")}
        | {
            "attn_q_norm": (HIDDEN,),
            "attn_k_norm": (KV_HEADS * HEAD,),
            "post_attention_norm": (HIDDEN,),
            "post_ffw_norm": (HIDDEN,),
        },
    ),
}


def write_random_gguf(
    path: Path,
    model: RandomModel,
    weight_type: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.F32,
    seed: int = 0,
    *,
    dequantized: bool = False,
    silent: str | None = None,
) -> None:
    """Write a model with random weights; matrices have the type `weight_type`.

    With `dequantized` they have the numbers of this type, but are written with 32 bits. Matrices whose names end in
    `silent` are zero.
    """
    writer = gguf.GGUFWriter(path, model.architecture)
    writer.add_name("random")
    writer.add_quantization_version(2)
    for key, value in model.metadata.items():
        _add(writer, f"{model.architecture}.{key}", value)
    for key, value in byte_tokenizer().items():
        _add(writer, f"tokenizer.{key}", value)
    for name, values in _tensors(model, np.random.default_rng(seed)):
        if values.ndim == 1 or name.endswith("ffn_gate_inp.weight"):
            writer.add_tensor(name, values)
            continue
        if silent is not None and name.endswith(f"{silent}.weight"):
            values = np.zeros_like(values)
        quantized = gguf.quants.quantize(values, weight_type)
        if dequantized:
            writer.add_tensor(name, gguf.quants.dequantize(quantized, weight_type).astype(np.float32))
        else:
            writer.add_tensor(name, quantized, raw_dtype=weight_type)
    _finish(writer)


def write_same_numbers(path: Path, source: Path) -> None:
    """Write the model in `source` with the numbers of its blocks, but with 32 bits."""
    files = read_files(source)
    values = dict(files.metadata.values)
    writer = gguf.GGUFWriter(path, str(values.pop("general.architecture")))
    for key, value in values.items():
        _add(writer, key, value.tolist() if isinstance(value, np.ndarray) else value)
    for tensor in files.tensors.values():
        kind = gguf.GGMLQuantizationType[tensor.type.name]
        blocks = np.fromfile(source, np.uint8, tensor.num_bytes, offset=tensor.begin)
        rows = blocks.reshape(*tensor.shape[:-1], -1)
        numbers = rows.view(np.float32) if kind == kind.F32 else gguf.quants.dequantize(rows, kind)
        writer.add_tensor(tensor.name, numbers.astype(np.float32))
    _finish(writer)


def _tensors(model: RandomModel, draws: np.random.Generator) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    named = dict(model.once) | {
        f"blk.{number}.{name}": shape for number in range(model.num_layers) for name, shape in model.layer.items()
    }
    for name, shape in named.items():
        full = name if name.endswith(".bias") else f"{name}.weight"
        values = draws.standard_normal(shape, np.float32)
        if name.endswith("norm"):
            values = _few_bits(1 + 0.2 * values)
        elif name.endswith(".bias"):
            values = _few_bits(0.5 * values)
        else:
            values /= 10 if name == "token_embd" else math.sqrt(shape[-1])
        yield full, values.astype(np.float32)
    for name, numbers in model.fixed.items():
        yield f"{name}.weight", np.array(numbers, np.float32)


def _finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _few_bits(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Round to 64ths: like those of real models, these numbers need few bits."""
    return (np.round(values * 64) / 64).astype(np.float32)


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)


def byte_tokenizer(pre: str = "qwen2") -> dict[str, Any]:
    """Return the metadata of a tokenizer with a token for each byte, some words and control tokens."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(256, 512))
    alphabet = [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]
    merges = ["t h", "th e", "Ġ the", "i n", "Ġ a", "a n", "an d", "Ġ and", "1 2", "e r"]
    tokens = [*alphabet, *(merge.replace(" ", "") for merge in merges)]
    controls = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    first = len(tokens)
    tokens += controls
    kinds = [1] * first + [3] * len(controls)
    tokens += [f"[PAD{number}]" for number in range(len(tokens), VOCABULARY)]
    kinds += [5] * (VOCABULARY - len(kinds))
    return {
        "ggml.model": "gpt2",
        "ggml.pre": pre,
        "ggml.tokens": tokens,
        "ggml.token_type": kinds,
        "ggml.merges": merges,
        "ggml.bos_token_id": first,
        "ggml.eos_token_id": first + 2,
        "ggml.padding_token_id": first,
        "ggml.add_bos_token": False,
        "chat_template": "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
        "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    }
