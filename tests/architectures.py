"""Small models of the architectures that mlx-lm supports, with random weights, in memory or as real folders."""

from __future__ import annotations

import copy
import importlib
import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map_with_path
from tokenizers import Tokenizer

from tests.models import CHATML, EOS, byte_level_tokenizer, llama_config, write_tokenizer

# The softplus or sigmoid of these numbers decides how much of a state decays with each token. By default so much decays
# that no test could distinguish a kept state from a lost one.
_HOW_FAST_IS_FORGOTTEN = ("dt_bias", "dt_proj.bias", "recurrent_param", "w_lora.lora.2.bias")

_NEVER = "<|never|>"


def build_random_model(config: dict[str, Any], *, vocab_size: int, seed: int = 0) -> nn.Module:
    """Make a model of `config["model_type"]` with random weights that are sharp enough to avoid ties in the argmax."""
    module = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
    # Biases and the like are sampled where they are made.
    mx.random.seed(seed)
    # Some of mlx-lm's models write into the config that they are given.
    model: nn.Module = module.Model(module.ModelArgs.from_dict(copy.deepcopy(_completed(config, vocab_size))))
    key = mx.random.key(seed)

    def randomized(path: str, array: mx.array) -> mx.array:
        nonlocal key
        if path.endswith(_HOW_FAST_IS_FORGOTTEN):
            return mx.full(array.shape, -5.0)
        # Vectors are norms and biases, which are fine as they are; but an all-zero tensor would make its part do
        # nothing.
        if array.ndim < 2 and mx.any(array):
            return array
        key, drawn = mx.random.split(key)
        scale = 1.0 if "embed" in path else 2.0 / array.shape[-1] ** 0.5
        return mx.random.normal(array.shape, key=drawn) * scale

    model.update(tree_map_with_path(randomized, model.parameters()))
    return model


def write_random_model(
    folder: Path,
    tokenizer: Tokenizer,
    config: dict[str, Any],
    *,
    seed: int = 0,
    quantized: dict[str, Any] | None = None,
    chat_template: str | None = CHATML,
) -> Path:
    """Write what `build_random_model` makes as a model folder."""
    vocab_size = tokenizer.get_vocab_size(with_added_tokens=True)
    config = {"eos_token_id": tokenizer.token_to_id(EOS), **_completed(config, vocab_size)}
    model = build_random_model(config, vocab_size=vocab_size, seed=seed)
    if quantized is not None:
        nn.quantize(model, **quantized)
        config["quantization"] = quantized
    write_tokenizer(folder, tokenizer, chat_template)
    mx.save_safetensors(
        str(folder / "model.safetensors"), dict(tree_flatten(model.parameters())), metadata={"format": "mlx"}
    )
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def write_endless_random_model(folder: Path, config: dict[str, Any]) -> tuple[Path, Tokenizer]:
    """Write a random model whose answers always reach `max_tokens`. Return its tokenizer, too."""
    tokenizer = _endless_tokenizer()
    never = tokenizer.token_to_id(_NEVER)
    write_random_model(folder, tokenizer, config | {"vocab_size": never, "eos_token_id": never})
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"eos_token": _NEVER}))
    return folder, tokenizer


def _endless_tokenizer() -> Tokenizer:
    """Make a tokenizer whose answers always reach `max_tokens`:

    no parts of characters, and EOS beyond the model's logits.
    """
    described = json.loads(byte_level_tokenizer().to_str())
    vocabulary = described["model"]["vocab"]
    ascii_only = [piece for piece in vocabulary if all(character < "\x7f" or character in "ĠĊ" for character in piece)]
    described["model"]["vocab"] = {piece: index for index, piece in enumerate(ascii_only)}
    merges = described["model"]["merges"]
    described["model"]["merges"] = [merge for merge in merges if {*merge, "".join(merge)} <= set(ascii_only)]
    tokenizer = Tokenizer.from_str(json.dumps(described))
    tokenizer.add_special_tokens([_NEVER])
    return tokenizer


def _completed(config: dict[str, Any], vocab_size: int) -> dict[str, Any]:
    """Set the vocabulary size and the context length wherever a config may have them."""
    sizes = dict.fromkeys(("vocab_size", "num_vocab", "embedding_size", "vocab_size_per_layer_input"), vocab_size)
    config = {**sizes, "max_position_embeddings": 4096, **config}
    if "text_config" in config:
        config["text_config"] = _completed(config["text_config"], vocab_size)
    return config


def small_llama(vocab_size: int) -> dict[str, Any]:
    return llama_config(vocab_size, hidden_size=64, layers=2, head_dim=16, heads=4, intermediate_size=128)


def small_gemma3(window: int = 24) -> dict[str, Any]:
    """Sliding windows of a few tokens in all layers except each third one, as in Gemma 3."""
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
    """Short convolutions, whose state can't be trimmed, and attention, as in LFM2."""
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
    """Recurrent states alone."""
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
        "use_bcdt_rms": True,
    }


# Values that most configs have, under their most common names; each architecture takes those that it knows.
_SMALL: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "rms_norm_eps": 1e-5,
    "norm_eps": 1e-5,
    "layer_norm_eps": 1e-5,
    "layer_norm_epsilon": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "mlp_bias": False,
    "use_bias": False,
}

_EXPERTS: dict[str, Any] = {
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "moe_num_experts": 4,
    "num_experts_per_tok": 2,
    "num_experts_per_token": 2,
    "moe_topk": 2,
    "n_shared_experts": 1,
    "num_shared_experts": 1,
    "num_shared_expert": 1,
    "moe_intermediate_size": 32,
    "shared_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "first_k_dense_replace": 1,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "n_group": 1,
    "topk_group": 1,
    "norm_topk_prob": True,
    "routed_scaling_factor": 1.0,
    "scoring_func": "sigmoid",
    "topk_method": "noaux_tc",
}

# Keys and values are kept as one short vector for all heads; a layer's "keys" are wider than its "values".
_LATENT: dict[str, Any] = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 12,
}

# The positions that a latent layer attends to are chosen by keys of their own.
_INDEXED: dict[str, Any] = {"index_head_dim": 16, "index_n_heads": 2, "index_topk": 24}

_MAMBA2: dict[str, Any] = {
    "mamba_expand": 1,
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
    "mamba_d_ssm": 64,
    "mamba_d_state": 32,
    "mamba_d_conv": 4,
    "mamba_n_groups": 1,
    "mamba_proj_bias": False,
    "mamba_conv_bias": True,
}

_DELTA: dict[str, Any] = {
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
}

_WINDOW = 24
_SLIDING, _FULL, _LINEAR = "sliding_attention", "full_attention", "linear_attention"
_WINDOWS: dict[str, Any] = {
    "num_hidden_layers": 3,
    "sliding_window": _WINDOW,
    "layer_types": [_SLIDING, _FULL, _SLIDING],
}


def _small(model_type: str, *parts: dict[str, Any], **own: Any) -> dict[str, Any]:
    config = {**_SMALL, "model_type": model_type}
    for part in (*parts, own):
        config |= part
    return config


def _wrapped(model_type: str, text_config: dict[str, Any]) -> dict[str, Any]:
    """The text part of a model that also reads images or audio."""
    return {"model_type": model_type, "text_config": text_config}


_SMALL_GEMMA4 = _small(
    "gemma4_text",
    num_hidden_layers=4,
    num_kv_shared_layers=2,
    sliding_window=_WINDOW,
    layer_types=[_SLIDING, _FULL, _SLIDING, _FULL],
    global_head_dim=32,
    hidden_size_per_layer_input=16,
)

_SMALL_QWEN3_5 = _small("qwen3_5_text", _DELTA, num_hidden_layers=4, full_attention_interval=2)

_SMALL_KIMI_LINEAR = _small(
    "kimi_linear",
    _EXPERTS,
    _LATENT,
    num_hidden_layers=3,
    model_max_length=4096,
    linear_attn_config={
        "kda_layers": [1, 3],  # Counted from 1.
        "full_attn_layers": [2],
        "num_heads": 2,
        "head_dim": 32,
        "short_conv_kernel_size": 4,
    },
)

# By mlx-lm's name, or by that and a variant. Windows and chunks have only a few tokens, so that a short prompt exceeds
# them. The vocabulary size is set when a model is made.
ARCHITECTURES: dict[str, dict[str, Any]] = {
    # --- keys and values of all positions --------------------------------------------------------------------
    "llama": _small("llama"),
    "qwen": _small("qwen", kv_channels=16),
    "qwen2": _small("qwen2"),
    "qwen3": _small("qwen3"),
    "gemma": _small("gemma"),
    "gemma2": _small("gemma2", query_pre_attn_scalar=16),
    "phi": _small("phi"),
    "phi3": _small("phi3"),
    "mistral3": _wrapped("mistral3", _small("llama")),
    "pixtral": _wrapped("pixtral", _small("llama")),
    "qwen2_vl": _wrapped("qwen2_vl", _small("qwen2")),
    "qwen3_vl": _wrapped("qwen3_vl", _small("qwen3")),
    "granite": _small(
        "granite", logits_scaling=4.0, attention_multiplier=0.25, embedding_multiplier=2.0, residual_multiplier=0.5
    ),
    "olmo2": _small("olmo2"),
    "cohere": _small("cohere", num_key_value_heads=4),
    "exaone": _small("exaone", num_layers=2),
    "glm": _small("glm"),
    "glm4": _small("glm4", partial_rotary_factor=0.5),
    "smollm3": _small("smollm3", num_hidden_layers=4),
    "starcoder2": _small("starcoder2", norm_epsilon=1e-5),
    "stablelm": _small("stablelm", use_qkv_bias=True, partial_rotary_factor=0.25),
    "minicpm": _small("minicpm", dim_model_base=32, scale_depth=1.4, scale_emb=12.0),
    "internlm2": _small("internlm2"),
    "internlm3": _small("internlm3"),
    "helium": _small("helium"),
    "hunyuan_v1_dense": _small("hunyuan_v1_dense"),
    "ernie4_5": _small("ernie4_5"),
    "nemotron": _small("nemotron", hidden_act="relu2"),
    "nanochat": _small("nanochat", num_key_value_heads=4),
    "mimo": _small("mimo"),
    "seed_oss": _small("seed_oss"),
    "apertus": _small("apertus", post_norm=False, qk_norm=True),
    "telechat3": _small("telechat3"),
    "talkie": _small("talkie"),
    "plamo": _small("plamo", n_shared_head=2),
    "lille-130m": _small("lille-130m", block_size=128, n_embd=64, n_head=4, n_kv_heads=2, n_layer=2),
    "openelm": _small(
        "openelm",
        num_transformer_layers=2,
        model_dim=64,
        ffn_dim_divisor=16,
        num_query_heads=[4, 4],
        num_kv_heads=[2, 1],  # The number differs from layer to layer.
        ffn_multipliers=[1.0, 2.0],
    ),
    "gpt2": _small("gpt2", n_ctx=128, n_positions=128, n_embd=64, n_head=4, n_layer=2),
    "gpt_bigcode": _small("gpt_bigcode", n_positions=128, n_embd=64, n_inner=128, n_head=4, n_layer=2),
    "gpt_neox": _small("gpt_neox", rotary_emb_base=10000, rotary_pct=0.25),
    "gptj": _small("gptj", n_embd=64, n_head=4, n_layer=2, rotary_dim=8),
    # The same layers are read more than once, with keys and values for each time.
    "nanbeige": _small("nanbeige", num_loops=2),
    # Expert layers keep nothing.
    "mixtral": _small("mixtral", _EXPERTS),
    "qwen2_moe": _small("qwen2_moe", _EXPERTS),
    "qwen3_moe": _small("qwen3_moe", _EXPERTS),
    "qwen3_vl_moe": _wrapped("qwen3_vl_moe", _small("qwen3_moe", _EXPERTS)),
    "deepseek": _small("deepseek", _EXPERTS),
    "olmoe": _small("olmoe", _EXPERTS),
    "phimoe": _small(
        "phimoe",
        _EXPERTS,
        rope_scaling={"short_factor": [1.0] * 8, "long_factor": [1.0] * 8, "short_mscale": 1.0, "long_mscale": 1.0},
    ),
    "phixtral": _small("phixtral", _EXPERTS, model_dim=64, num_heads=4, num_layers=2, rotary_dim=8),
    "dbrx": _small(
        "dbrx",
        d_model=64,
        n_layers=2,
        n_heads=4,
        attn_config={"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
        ffn_config={"ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2},
    ),
    "dots1": _small("dots1", _EXPERTS),
    "ernie4_5_moe": _small("ernie4_5_moe", _EXPERTS, moe_k=2),
    "glm4_moe": _small("glm4_moe", _EXPERTS, use_qk_norm=True, partial_rotary_factor=0.5, rope_scaling=None),
    "granitemoe": _small(
        "granitemoe",
        _EXPERTS,
        logits_scaling=4.0,
        attention_multiplier=0.25,
        embedding_multiplier=2.0,
        residual_multiplier=0.5,
    ),
    "bailing_moe": _small("bailing_moe", _EXPERTS),
    "minimax": _small("minimax", _EXPERTS, rotary_dim=8),
    "Klear": _small("Klear", _EXPERTS),
    "solar_open": _small("solar_open", _EXPERTS, partial_rotary_factor=1.0),
    "llama4_text": _small("llama4_text", intermediate_size_mlp=128, no_rope_layers=[1, 0], use_qk_norm=True),
    # --- fewer caches than layers ----------------------------------------------------------------------------
    # The last layers attend to the keys and values of an earlier layer.
    "afm7": _small("afm7", hidden_dim=64, num_layers=4, num_kv_reuse_layers=2, num_heads=4, num_kv_heads=2),
    "hunyuan": _small(
        "hunyuan",
        _EXPERTS,
        num_hidden_layers=4,
        use_mixed_mlp_moe=True,
        use_qk_norm=True,
        use_cla=True,
        cla_share_factor=2,
        rope_scaling={"alpha": 1.0, "factor": 1.0, "type": "dynamic"},
    ),
    # Layers without attention have no cache.
    "nemotron-nas": _small(
        "nemotron-nas",
        num_hidden_layers=3,
        block_configs=[
            {"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 1.0}},
            {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.0}},
            {"attention": {"n_heads_in_group": 4}, "ffn": {"no_op": True}},
        ],
    ),
    "gemma3n": _wrapped(
        "gemma3n",
        _small(
            "gemma3n_text",
            num_hidden_layers=4,
            num_kv_shared_layers=2,
            sliding_window=_WINDOW,
            layer_types=[_SLIDING, _FULL, _SLIDING, _FULL],
            rope_local_base_freq=10000.0,
            final_logit_softcapping=30.0,
            activation_sparsity_pattern=[0.95, 0.0, 0.0, 0.0],
            hidden_size_per_layer_input=16,
            altup_num_inputs=2,
            altup_coef_clip=120.0,
            altup_correct_scale=True,
            altup_active_idx=0,
            laurel_rank=8,
        ),
    ),
    "gemma4_text": _SMALL_GEMMA4,
    "gemma4": _wrapped("gemma4", _SMALL_GEMMA4),
    # --- windows: a ring of the latest positions -------------------------------------------------------------
    "llama-windows": _small("llama", _WINDOWS),
    "ministral3": _small(
        "ministral3",
        _WINDOWS,
        rope_parameters={"rope_theta": 10000.0, "llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 64},
    ),
    "gemma3_text": small_gemma3(_WINDOW),
    "gemma3": _wrapped("gemma3", small_gemma3(_WINDOW)),
    "cohere2": _small("cohere2", num_hidden_layers=4, sliding_window=_WINDOW, sliding_window_pattern=2),
    "exaone4": _small(
        "exaone4",
        num_hidden_layers=4,
        rope_scaling=None,
        sliding_window=_WINDOW,
        sliding_window_pattern="LG",
        layer_types=[_SLIDING, _FULL, _SLIDING, _FULL],
    ),
    "exaone_moe": _small("exaone_moe", _EXPERTS, _WINDOWS, is_moe_layer=[False, True, True]),
    "olmo3": _small("olmo3", _WINDOWS),
    "gpt_oss": _small("gpt_oss", _EXPERTS, _WINDOWS),
    "afmoe": _small("afmoe", _EXPERTS, _WINDOWS, num_dense_layers=1),
    "laguna": _small("laguna", _EXPERTS, _WINDOWS),
    "mellum": _small(
        "mellum",
        _EXPERTS,
        _WINDOWS,
        rope_parameters={kind: {"rope_theta": 10000.0, "rope_type": "default"} for kind in (_SLIDING, _FULL)},
    ),
    "spark2_5": _small(
        "spark2_5",
        _WINDOWS,
        rope_parameters={kind: {"rope_theta": 10000.0, "rope_type": "default"} for kind in (_SLIDING, _FULL)},
    ),
    "step3p5": _small(
        "step3p5", _EXPERTS, _WINDOWS, num_attention_groups=2, moe_top_k=2, share_expert_dim=32, moe_layers_enum="1,2"
    ),
    "mimo_v2_flash": _small(
        "mimo_v2_flash",
        _EXPERTS,
        num_hidden_layers=3,
        hybrid_layer_pattern=[0, 1, 1],
        moe_layer_freq=[0, 1, 1],
        sliding_window_size=_WINDOW,
        add_swa_attention_sink_bias=True,
        add_full_attention_sink_bias=False,
        layernorm_epsilon=1e-5,
        swa_rope_theta=10000.0,
        swa_num_attention_heads=4,
        swa_num_key_value_heads=1,
        v_head_dim=8,
        swa_head_dim=16,
        swa_v_head_dim=8,
        partial_rotary_factor=0.5,
        n_shared_experts=None,
    ),
    "muse_glimmer": _small("muse_glimmer", _WINDOWS),
    # More caches than layers: a layer is read twice, the second time with a window.
    "iquestloopcoder": _small("iquestloopcoder", loop_window_size=_WINDOW),
    # --- chunks: positions before the latest chunk are invisible ---------------------------------------------
    "llama4": _wrapped(
        "llama4",
        _small(
            "llama4_text",
            _EXPERTS,
            num_hidden_layers=4,
            attention_chunk_size=_WINDOW,
            interleave_moe_layer_step=2,
            intermediate_size_mlp=128,
            num_experts_per_tok=1,
            use_qk_norm=True,
            rope_scaling=None,
        ),
    ),
    # --- one latent vector for all heads ---------------------------------------------------------------------
    "deepseek_v2": _small(
        "deepseek_v2", _EXPERTS, _LATENT, topk_method="greedy", rope_scaling={"type": "yarn", "factor": 1.0}
    ),
    "deepseek_v3": _small("deepseek_v3", _EXPERTS, _LATENT),
    "glm4_moe_lite": _small("glm4_moe_lite", _EXPERTS, _LATENT),
    "mistral4": _small(
        "mistral4",
        _EXPERTS,
        _LATENT,
        rope_parameters={
            "rope_theta": 10000.0,
            "type": "default",
            "llama_4_scaling_beta": 0.1,
            "original_max_position_embeddings": 64,
        },
    ),
    "kimi_vl": _wrapped("kimi_vl", _small("deepseek_v3", _EXPERTS, _LATENT)),
    "kimi_k25": _wrapped("kimi_k25", _small("deepseek_v3", _EXPERTS, _LATENT)),
    "minicpm3": _small(
        "minicpm3",
        _LATENT,
        dim_model_base=32,
        scale_depth=1.4,
        scale_emb=12.0,
        rope_scaling={"short_factor": [1.0] * 4, "long_factor": [1.0] * 4, "original_max_position_embeddings": 4096},
    ),
    "youtu_llm": _small("youtu_llm", _LATENT),
    # --- more than one cache in a layer ----------------------------------------------------------------------
    "longcat_flash": _small(
        "longcat_flash",
        _EXPERTS,
        _LATENT,
        attention_method="MLA",
        zero_expert_type="identity",
        zero_expert_num=2,
        ffn_hidden_size=64,
        expert_ffn_hidden_size=32,
        num_layers=2,
        mla_scale_q_lora=True,
        mla_scale_kv_lora=True,
    ),
    # One of the caches belongs to no layer: it holds the latest tokens.
    "longcat_flash_ngram": _small(
        "longcat_flash_ngram",
        _EXPERTS,
        _LATENT,
        zero_expert_num=2,
        ffn_hidden_size=64,
        expert_ffn_hidden_size=32,
        num_layers=2,
        mla_scale_q_lora=True,
        mla_scale_kv_lora=True,
        ngram_vocab_size_ratio=2,
        emb_neighbor_num=3,
        emb_split_num=2,
    ),
    "deepseek_v32": _small("deepseek_v32", _EXPERTS, _LATENT, _INDEXED),
    "glm_moe_dsa": _small(
        "glm_moe_dsa",
        _EXPERTS,
        _LATENT,
        _INDEXED,
        moe_layer_freq=1,
        rope_parameters={"rope_theta": 10000.0, "rope_type": "default"},
    ),
    "minimax_m3_vl": _wrapped(
        "minimax_m3_vl",
        _small(
            "minimax_m3",
            _EXPERTS,
            num_hidden_layers=3,
            dense_intermediate_size=64,
            moe_layer_freq=[0, 1, 1],
            sparse_attention_config={
                "sparse_attention_freq": [0, 1, 1],
                "sparse_num_index_heads": 2,
                "sparse_index_dim": 16,
                "sparse_block_size": 8,
                "sparse_topk_blocks": 2,
            },
        ),
    ),
    # --- one state for everything that was read --------------------------------------------------------------
    "mamba": small_mamba(),
    "mamba2": _small(
        "mamba2",
        num_heads=4,
        state_size=32,
        conv_kernel=4,
        n_groups=1,
        use_conv_bias=True,
        time_step_limit=[0.0, 100.0],
        time_step_rank="auto",
        expand=1,
    ),
    "rwkv7": _small(
        "rwkv7", head_dim=32, a_low_rank_dim=8, v_low_rank_dim=8, gate_low_rank_dim=8, decay_low_rank_dim=8
    ),
    # --- states in some layers, positions in others ----------------------------------------------------------
    "lfm2": small_lfm2(),
    "lfm2-vl": _wrapped("lfm2-vl", small_lfm2()),
    "lfm2_moe": _small(
        "lfm2_moe",
        _EXPERTS,
        num_hidden_layers=3,
        use_expert_bias=True,
        num_dense_layers=1,
        conv_bias=False,
        conv_L_cache=3,
        layer_types=["conv", _FULL, "conv"],
    ),
    "jamba": _small(
        "jamba",
        _EXPERTS,
        num_hidden_layers=4,
        attn_layer_offset=1,
        attn_layer_period=2,
        expert_layer_offset=1,
        expert_layer_period=2,
        mamba_d_conv=4,
        mamba_d_state=8,
        mamba_expand=2,
    ),
    "granitemoehybrid": _small(
        "granitemoehybrid",
        _EXPERTS,
        _MAMBA2,
        num_hidden_layers=3,
        embedding_multiplier=2.0,
        attention_multiplier=0.25,
        logits_scaling=4.0,
        residual_multiplier=0.5,
        layer_types=["mamba", "attention", "mamba"],
    ),
    "nemotron_h": _small(
        "nemotron_h",
        _EXPERTS,
        mamba_num_heads=4,
        mamba_head_dim=16,
        mamba_proj_bias=False,
        ssm_state_size=32,
        conv_kernel=4,
        n_groups=1,
        use_conv_bias=True,
        moe_shared_expert_intermediate_size=32,
        hybrid_override_pattern=["M", "*", "-", "M", "E"],
    ),
    "plamo2": _small("plamo2", num_hidden_layers=4, hidden_size_per_head=16, mamba_d_state=32, mamba_num_heads=4),
    "qwen3_next": _small(
        "qwen3_next", _EXPERTS, _DELTA, num_hidden_layers=4, full_attention_interval=2, partial_rotary_factor=0.25
    ),
    "qwen3_5": _wrapped("qwen3_5", _SMALL_QWEN3_5),
    "qwen3_5_moe": _wrapped("qwen3_5_moe", _SMALL_QWEN3_5 | _EXPERTS),
    "olmo_hybrid": _small(
        "olmo_hybrid",
        _DELTA,
        num_hidden_layers=3,
        linear_allow_neg_eigval=True,
        layer_types=[_LINEAR, _FULL, _LINEAR],
    ),
    "kimi_linear": _SMALL_KIMI_LINEAR,
    "kimi_k3": _wrapped("kimi_k3", _SMALL_KIMI_LINEAR),
    "bailing_moe_linear": _small(
        "bailing_moe_linear",
        _EXPERTS,
        num_hidden_layers=4,
        num_key_value_heads=4,
        layer_group_size=2,
        group_norm_size=2,
    ),
    "bailing_hybrid": _small(
        "bailing_hybrid", _EXPERTS, _LATENT, num_hidden_layers=4, layer_group_size=2, group_norm_size=2
    ),
    "bailing_moe_v3": _small(
        "bailing_moe_v3",
        _EXPERTS,
        _LATENT,
        num_hidden_layers=4,
        layer_group_size=2,
        head_dim=32,
        moe_shared_expert_intermediate_size=32,
    ),
    # --- states and windows, in one layer or in several ------------------------------------------------------
    "recurrent_gemma": _small(
        "recurrent_gemma",
        num_hidden_layers=3,
        num_key_value_heads=1,
        conv1d_width=4,
        logits_soft_cap=30.0,
        attention_window_size=_WINDOW,
        block_types=["recurrent", "recurrent", "attention"],
    ),
    "gear": _small("gear", num_hidden_layers=3, sliding_window=_WINDOW, layer_types=[_SLIDING, _FULL, "conv_mixer"]),
    "baichuan_m1": _small(
        "baichuan_m1", num_hidden_layers=3, sliding_window=_WINDOW, sliding_window_layers=[0, 2], conv_window=2
    ),
    "falcon_h1": _small("falcon_h1", _MAMBA2),
    # --- caches of a model's own -----------------------------------------------------------------------------
    "deepseek_v41": _small(
        "deepseek_v41",
        _EXPERTS,
        _INDEXED,
        num_hidden_layers=3,
        q_lora_rank=24,
        qk_rope_head_dim=8,
        o_groups=2,
        o_lora_rank=16,
        sliding_window=_WINDOW,
        compress_ratios=[0, 4, 4],
        kv_source_layer_ids=[1],
        index_source_layer_ids=[1],
        index_topk=8,
    ),
}
