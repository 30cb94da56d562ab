"""GGUF files of random weights, written by the `gguf` package."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

WORDS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(chr(code) for code in range(33, 127)), "Ġ", "Ċ", "Ġt", "he"]
MERGES = ["Ġ t", "h e"]


def write_llama(path: Path, kind: Type = Type.Q4_0, *, layers: int = 2, seed: int = 0) -> Path:
    """Write a small model of the architecture llama, whose matrices have the given type."""
    writer = gguf.GGUFWriter(path, "llama")
    write_llama_metadata(writer, layers)
    draw = np.random.default_rng(seed)
    hidden, wide = 64, 128

    def matrix(name: str, rows: int, columns: int) -> None:
        values = draw.standard_normal((rows, columns)).astype(np.float32)
        writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)

    matrix("token_embd.weight", len(WORDS), hidden)
    writer.add_tensor("output_norm.weight", np.ones(hidden, np.float32))
    for layer in range(layers):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(hidden, np.float32))
        for name, rows, columns in (
            ("attn_q", hidden, hidden),
            ("attn_k", hidden // 2, hidden),
            ("attn_v", hidden // 2, hidden),
            ("attn_output", hidden, hidden),
            ("ffn_gate", wide, hidden),
            ("ffn_up", wide, hidden),
            ("ffn_down", hidden, wide),
        ):
            matrix(f"blk.{layer}.{name}.weight", rows, columns)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_llama_metadata(writer: gguf.GGUFWriter, layers: int = 2) -> None:
    writer.add_name("A small model")
    writer.add_context_length(128)
    writer.add_embedding_length(64)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(128)
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
