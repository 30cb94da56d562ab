"""Small models of any architecture that mlx-lm knows, with random weights, as real folders."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map_with_path
from tokenizers import Tokenizer

from tests.models import CHATML, EOS, llama_config, write_tokenizer


def write_random_model(
    folder: Path,
    tokenizer: Tokenizer,
    config: dict[str, Any],
    *,
    seed: int = 0,
    quantized: dict[str, Any] | None = None,
    chat_template: str | None = CHATML,
) -> Path:
    """Write a model of `config["model_type"]` whose weights are random and sharp enough that its argmax is no tie."""
    config = {
        "vocab_size": tokenizer.get_vocab_size(with_added_tokens=True),
        "eos_token_id": tokenizer.token_to_id(EOS),
        "max_position_embeddings": 4096,
        **config,
    }
    module = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
    model: nn.Module = module.Model(module.ModelArgs.from_dict(config))
    key = mx.random.key(seed)

    def randomized(path: str, array: mx.array) -> mx.array:
        nonlocal key
        if "norm" in path or array.ndim < 2:
            return array
        key, drawn = mx.random.split(key)
        scale = 1.0 if "embed" in path else 2.0 / array.shape[-1] ** 0.5
        return mx.random.normal(array.shape, key=drawn) * scale

    model.update(tree_map_with_path(randomized, model.parameters()))
    if quantized is not None:
        nn.quantize(model, **quantized)
        config["quantization"] = quantized
    write_tokenizer(folder, tokenizer, chat_template)
    mx.save_safetensors(
        str(folder / "model.safetensors"), dict(tree_flatten(model.parameters())), metadata={"format": "mlx"}
    )
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def small_llama(vocab_size: int) -> dict[str, Any]:
    return llama_config(vocab_size, hidden_size=64, layers=2, head_dim=16, heads=4, intermediate_size=128)


def small_gemma3(window: int = 24) -> dict[str, Any]:
    """Sliding windows of a few tokens in all layers but each third one, as Gemma 3 has them."""
    return {
        "model_type": "gemma3_text",
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "rms_norm_eps": 1e-6,
        "query_pre_attn_scalar": 16,
        "sliding_window": window,
        "sliding_window_pattern": 3,
    }


def small_lfm2() -> dict[str, Any]:
    """Short convolutions, whose state can't be trimmed, beside attention, as LFM2 has them."""
    return {
        "model_type": "lfm2",
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "norm_eps": 1e-5,
        "conv_bias": False,
        "conv_L_cache": 3,
        "block_dim": 64,
        "block_ff_dim": 128,
        "block_multiple_of": 16,
        "block_ffn_dim_multiplier": 1.0,
        "block_auto_adjust_ff_dim": False,
        "full_attn_idxs": [1],
    }


def small_mamba() -> dict[str, Any]:
    """Nothing but recurrent states."""
    return {
        "model_type": "mamba",
        "hidden_size": 64,
        "intermediate_size": 128,
        "state_size": 8,
        "num_hidden_layers": 2,
        "conv_kernel": 4,
        "use_bias": False,
        "use_conv_bias": True,
        "time_step_rank": 4,
        "tie_word_embeddings": True,
    }
