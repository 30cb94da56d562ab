"""Compares estimates of memory with what worker processes really take: `python -m tests.benchmarks.memory [NAME…]`.

Models of random weights, of 0.4 to 1.5 GB in float32, read prompts of three lengths, each in a process of its own. The
table has the estimate, the measured peak (resident memory of the process and its children, Linux only) and their ratio.
A name may be the folder of a model, too. It takes some minutes a model.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import random
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map

from app.catalog.entry import KvBits, Memory
from app.catalog.fit import need
from app.catalog.machine_memory import machine_memory
from app.catalog.on_disk import model_at
from tests.architectures import small_lfm2
from tests.driver import StdioWorker
from tests.models import byte_level_tokenizer, write_tokenizer

LENGTHS = (512, 2048, 6144)
_LARGE: dict[str, Any] = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 4,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "attention_bias": False,
    "mlp_bias": False,
    # Reading a prompt takes no time for the embedding, which is most of these models.
    "vocab_size": 128_000,
    "max_position_embeddings": 32_768,
}
_EXPERTS: dict[str, Any] = {
    "num_experts": 16,
    "num_experts_per_tok": 4,
    "moe_intermediate_size": 512,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "norm_topk_prob": True,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": _LARGE,
    "llama-wide": _LARGE | {"num_key_value_heads": 16, "intermediate_size": 8192},
    "qwen3": _LARGE | {"model_type": "qwen3", "head_dim": 128},
    "gemma3_text": _LARGE
    | {"model_type": "gemma3_text", "num_hidden_layers": 8, "query_pre_attn_scalar": 64}
    | {"sliding_window": 512, "sliding_window_pattern": 6},
    "qwen3_moe": _LARGE | _EXPERTS | {"model_type": "qwen3_moe"},
    "deepseek_v3": _LARGE
    | {"model_type": "deepseek_v3", "n_routed_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 512}
    | {"n_shared_experts": 1, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "topk_method": "noaux_tc"}
    | {"scoring_func": "sigmoid", "norm_topk_prob": True, "routed_scaling_factor": 1.0, "num_key_value_heads": 16}
    | {"kv_lora_rank": 256, "q_lora_rank": 384, "qk_rope_head_dim": 32, "qk_nope_head_dim": 64, "v_head_dim": 64},
    "lfm2": small_lfm2()
    | {key: _LARGE[key] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads", "vocab_size")}
    | {"num_hidden_layers": 6, "block_dim": 1024, "block_ff_dim": 4096, "full_attn_idxs": [2, 4]}
    | {"max_position_embeddings": 32_768},
    "qwen3_next": _LARGE
    | _EXPERTS
    | {"model_type": "qwen3_next", "shared_expert_intermediate_size": 256, "full_attention_interval": 4}
    | {"partial_rotary_factor": 0.25, "head_dim": 128, "linear_num_value_heads": 16, "linear_num_key_heads": 8}
    | {"linear_key_head_dim": 64, "linear_value_head_dim": 64, "linear_conv_kernel_dim": 4},
}


class Row(NamedTuple):
    """One measurement, in bytes."""

    estimate: int
    peak: int
    arrays: int
    """The part of the peak that MLX's arrays took."""


def write_large_model(folder: Path, config: dict[str, Any], bits: int | None = None) -> Path:
    """Write a model of random weights in bfloat16, or quantized."""
    config = {"model_type": "llama", "eos_token_id": 0, **config}
    module = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
    model: nn.Module = module.Model(module.ModelArgs.from_dict(copy.deepcopy(config)))

    def drawn(array: mx.array) -> mx.array:
        return (mx.random.normal(array.shape) * 0.02 if array.ndim > 1 else array).astype(mx.bfloat16)

    model.update(tree_map(drawn, model.parameters()))
    if bits is not None:
        nn.quantize(model, group_size=64, bits=bits)
        config["quantization"] = {"group_size": 64, "bits": bits}
    write_tokenizer(folder, byte_level_tokenizer())
    arrays = dict(tree_flatten(model.parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), arrays, metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def measure(folder: Path, length: int, *, kv_bits: KvBits = 16, num_answers: int = 1, max_tokens: int = 4) -> Row:
    """Read a prompt of `length` tokens in a fresh worker."""
    with StdioWorker() as worker:
        memory = machine_memory()
        cache = {"disk_limit_bytes": 0} | ({} if kv_bits == 16 else {"kv_bits": kv_bits})
        vocabulary = min(worker.load(folder, **cache)["vocab_size"], 500)
        draw = random.Random(0)
        ids = [draw.randrange(3, vocabulary) for _ in range(length - max_tokens)]
        end = worker.result("generate", token_ids=ids, max_tokens=max_tokens, n=num_answers)
        assert end["type"] == "finished", end
        process = worker.process.pid
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        peak = sum(peak_bytes(pid) for pid in (process, *map(int, children)))
        return Row(
            estimate=estimate(folder, memory, length, kv_bits, num_answers),
            peak=peak,
            arrays=end["usage"]["peak_memory_bytes"],
        )


def estimate(folder: Path, memory: Memory, length: int, kv_bits: KvBits, num_answers: int) -> int:
    model = model_at(folder)
    assert model is not None
    assert model.shape is not None
    found = need(model.shape, memory, context_length=length, kv_bits=kv_bits, num_answers=num_answers)
    return found.total_bytes


def peak_bytes(pid: int) -> int:
    """Return the most memory that a process ever took."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CONFIGS), metavar="NAME", help=", ".join(CONFIGS))
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--bits", type=int, help="quantize the weights")
    parser.add_argument("--kv-bits", type=int, default=16, choices=(4, 8, 16))
    parser.add_argument("--answers", type=int, default=1)
    chosen = parser.parse_args()
    print(f"{'model':<20}{'tokens':>8}{'estimate':>10}{'peak':>10}{'arrays':>10}  estimate ÷ peak")
    with tempfile.TemporaryDirectory(prefix="bough-memory-") as temporary:
        for name in chosen.names:
            folder = Path(name)
            if name in CONFIGS:
                folder = write_large_model(Path(temporary) / name, CONFIGS[name], chosen.bits)
            for length in map(int, chosen.lengths.split(",")):
                row = measure(folder, length, kv_bits=chosen.kv_bits, num_answers=chosen.answers)
                sizes = "".join(f"{size / 1e6:>10,.0f}" for size in row)
                print(f"{folder.name:<20}{length:>8,}{sizes}  {row.estimate / row.peak:.2f}", flush=True)


if __name__ == "__main__":
    main()
