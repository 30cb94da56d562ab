"""GGUF files of random weights, written by the `gguf` package, and random blocks of every type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType as Type

from worker.gguf.gguf_file import TYPES, TensorType

WORDS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(chr(code) for code in range(33, 127)), "Ġ", "Ċ", "Ġt", "he"]
MERGES = ["Ġ t", "h e"]

BY_NAME: Mapping[str, TensorType] = {kind.name: kind for kind in TYPES.values()}

# Where the blocks of each type hold numbers of 16 bits.
_HALVES: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("Q4_0", "Q5_0", "Q8_0", "IQ4_NL", "IQ4_XS", "IQ2_XXS", "IQ2_XS", "IQ2_S"), (0,)),
    **dict.fromkeys(("IQ3_XXS", "IQ3_S", "IQ1_S"), (0,)),
    **dict.fromkeys(("Q4_1", "Q5_1", "Q4_K", "Q5_K"), (0, 2)),
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q6_K": (208,),
    "TQ1_0": (52,),
    "TQ2_0": (64,),
}


def random_blocks(kind: TensorType, rows: int, columns: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    """Return rows of valid blocks: any bytes, but scales of the sizes that models have."""
    draw = np.random.default_rng(seed)
    raw = draw.integers(0, 256, (rows, columns // kind.values, kind.num_bytes), dtype=np.uint8)
    for begin in _HALVES.get(kind.name, ()):
        scales = draw.uniform(2e-4, 4e-3, (rows, raw.shape[1], 1)) * draw.choice([-1, 1], (rows, raw.shape[1], 1))
        raw[:, :, begin : begin + 2] = scales.astype("<f2").view(np.uint8)
    if kind.name == "MXFP4":
        raw[:, :, 0] = draw.integers(100, 130, raw.shape[:2])
    if kind.name == "IQ1_M":
        # The scale's four nibbles stand in the high half of every second byte of the last eight.
        nibbles = draw.uniform(2e-4, 4e-3, raw.shape[:2]).astype("<f2").view("<u2")
        for number in range(4):
            high = (nibbles >> (4 * number) & 15).astype(np.uint8) << 4
            raw[:, :, 49 + 2 * number] = raw[:, :, 49 + 2 * number] & 15 | high
    if kind.name in ("F32", "F16", "BF16"):
        values = draw.standard_normal((rows, columns)).astype(np.float32)
        return gguf.quantize(values, Type[kind.name]).view(np.uint8)
    return raw.reshape(rows, -1)


def write_llama(
    path: Path,
    kinds: Callable[[str], str] | str = "Q4_0",
    *,
    layers: int = 2,
    hidden: int = 64,
    tied: bool = True,
    change: Callable[[gguf.GGUFWriter], None] = lambda writer: None,
    split_tensors: int = 0,
) -> Path:
    """Write a small model of the architecture llama.

    `kinds` gives the type of a matrix by its name. `change` may add to the metadata. With `split_tensors`, the model is
    split into parts of this many tensors, named `…-00001-of-0000N.gguf`.
    """
    writer = gguf.GGUFWriter(path, "llama", split_max_tensors=split_tensors)
    write_llama_metadata(writer, layers, hidden)
    change(writer)
    wide, words = hidden * 2, len(WORDS)
    lists = ["output_norm.weight"]
    matrices = [("token_embd.weight", words, hidden)] + ([] if tied else [("output.weight", words, hidden)])
    for layer in range(layers):
        lists += [f"blk.{layer}.{name}.weight" for name in ("attn_norm", "ffn_norm")]
        matrices += [
            (f"blk.{layer}.{name}.weight", rows, columns)
            for name, rows, columns in (
                ("attn_q", hidden, hidden),
                ("attn_k", hidden // 2, hidden),
                ("attn_v", hidden // 2, hidden),
                ("attn_output", hidden, hidden),
                ("ffn_gate", wide, hidden),
                ("ffn_up", wide, hidden),
                ("ffn_down", hidden, wide),
            )
        ]
    for name in lists:
        writer.add_tensor(name, np.linspace(0.5, 1.5, hidden).astype(np.float16).astype(np.float32))
    for seed, (name, rows, columns) in enumerate(matrices):
        kind = BY_NAME[kinds if isinstance(kinds, str) else kinds(name)]
        writer.add_tensor(name, random_blocks(kind, rows, columns, seed), raw_dtype=Type[kind.name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_llama_metadata(writer: gguf.GGUFWriter, layers: int = 2, hidden: int = 64) -> None:
    writer.add_name("A small model")
    writer.add_context_length(128)
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(hidden * 2)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(WORDS)
    writer.add_token_merges(MERGES)
    writer.add_token_types([3 if word.startswith("<|") else 1 for word in WORDS])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for message in messages %}{{ message.content }}{% endfor %}")
