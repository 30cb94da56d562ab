"""Translates GGUF's description of a model: metadata → config.json, names of tensors → names of weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from worker.errors import ModelInvalidError
from worker.gguf.gguf_file import GgufFiles, Metadata, Tensor
from worker.gguf.positions import ROPE_TENSORS, long_scaling_of, scaling_of
from worker.sentence import Sentence


@dataclass(frozen=True)
class Weight:
    """A weight of the model, and the tensor that holds it."""

    name: str
    """The weight's path in the model, with `.weight` or `.bias` at its end."""
    tensor: Tensor
    shift: float = 0.0
    """A number that is added to each number of the tensor."""


@dataclass(frozen=True)
class Architecture:
    """One architecture. `names` maps tensors' names to weights' names; `{}` is the number of a layer."""

    config: Callable[[GgufFiles], dict[str, Any]]
    names: Mapping[str, str]
    shifts_norms: bool = False
    """Whether the norms in the file are greater by one than those of the model."""


def architecture_of(files: GgufFiles) -> str:
    """Return the name of the architecture. Raises `ModelInvalidError` if the file does not name it."""
    name = files.metadata.text("general.architecture")
    if not name:
        raise ModelInvalidError(
            Sentence("{path} does not name its architecture. Choose a language model's file.", path=files.paths[0])
        )
    return name


def known_architecture(files: GgufFiles) -> Architecture:
    """Return the architecture of a model. Raises `ModelInvalidError` for one that can't be converted."""
    name = architecture_of(files)
    known = ARCHITECTURES.get(name)
    if known is None:
        raise ModelInvalidError(
            Sentence(
                "Bough can't convert GGUF models of the architecture {architecture}. "
                "Choose one of these: {known}; or a model in MLX format.",
                architecture=name[:80],
                known=", ".join(sorted(ARCHITECTURES)),
            )
        )
    return known


def weights_of(architecture: Architecture, files: GgufFiles) -> list[Weight]:
    """Return the weights of a model, in the order of the file. Raises `ModelInvalidError` for an unknown tensor."""
    weights: list[Weight] = []
    for tensor in files.tensors.values():
        if tensor.name in ROPE_TENSORS:
            continue
        layer = re.fullmatch(r"blk\.(\d{1,4})\.(.+)", tensor.name)
        pattern = f"blk.{{}}.{layer[2]}" if layer else tensor.name
        stem, _, kind = pattern.rpartition(".")
        target = architecture.names.get(stem)
        if target is None or kind not in ("weight", "bias"):
            raise ModelInvalidError(
                Sentence(
                    "{path} contains an unknown tensor ({name}). Choose another file of this model.",
                    path=tensor.file,
                    name=tensor.name[:80],
                )
            )
        name = f"{target.format(layer[1] if layer else '')}.{kind}"
        shift = -1.0 if architecture.shifts_norms and stem.endswith("norm") else 0.0
        weights.append(Weight(name, tensor, shift))
    return weights


# --- config.json -------------------------------------------------------------------------------------------


_MAX_THETA = 1e15
"""The limit for the base of rotary positions. Real ones have up to 11 digits."""


class _Reader:
    """Reads a file's metadata about its architecture."""

    def __init__(self, files: GgufFiles) -> None:
        self.files = files
        self.metadata: Metadata = files.metadata
        self.prefix = architecture_of(files)
        self.hidden = self.count("embedding_length")
        self.heads = self.count("attention.head_count")
        self.head = self.metadata.integer(self.key("attention.key_length")) or self.hidden // self.heads
        self.theta = self.number("rope.freq_base", 10000.0)
        if not 1 < self.theta < _MAX_THETA:
            raise self.refused("rope.freq_base")

    def key(self, name: str) -> str:
        return f"{self.prefix}.{name}"

    def count(self, name: str) -> int:
        """Return a required integer. Raises `ModelInvalidError` if it is missing."""
        return self.metadata.required_integer(self.key(name))

    def number(self, name: str, usual: float) -> float:
        found = self.metadata.number(self.key(name))
        return usual if found is None else found

    def has(self, tensor: str) -> bool:
        return tensor in self.files.tensors

    def refused(self, key: str) -> ModelInvalidError:
        """Return the error for a value that mlx-lm's model can't have."""
        return ModelInvalidError(
            Sentence(
                "Bough can't convert the model in {path} (unsupported: `{key}`). Choose a model in MLX format, or "
                "another model.",
                path=self.files.paths[0],
                key=self.key(key),
            )
        )

    def common(self, model_type: str) -> dict[str, Any]:
        """Return the entries of config.json that all architectures have."""
        embedding = self.files.tensors.get("token_embd.weight")
        if embedding is None:
            raise ModelInvalidError(
                Sentence("{path} contains no language model. Choose a model's file.", path=self.files.paths[0])
            )
        if (self.metadata.integer(self.key("attention.value_length")) or self.head) != self.head:
            raise self.refused("attention.value_length")
        return {
            "model_type": model_type,
            "hidden_size": self.hidden,
            "num_hidden_layers": self.count("block_count"),
            "intermediate_size": self.count("feed_forward_length"),
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.metadata.integer(self.key("attention.head_count_kv")) or self.heads,
            "head_dim": self.head,
            "rms_norm_eps": self.metadata.required_number(self.key("attention.layer_norm_rms_epsilon")),
            "vocab_size": embedding.shape[0],
            "max_position_embeddings": self.count("context_length"),
            "rope_theta": self.theta,
            "tie_word_embeddings": not self.has("output.weight"),
        }

    def with_positions(self, config: dict[str, Any]) -> dict[str, Any]:
        """Add the scaling of positions to `config`. All dimensions of a head are rotated."""
        rotated = self.metadata.integer(self.key("rope.dimension_count")) or self.head
        if rotated != self.head:
            raise self.refused("rope.dimension_count")
        scaling = scaling_of(self.files, self.prefix, rotated, self.theta)
        return config if scaling is None else config | {"rope_scaling": scaling}


def _llama(files: GgufFiles) -> dict[str, Any]:
    reader = _Reader(files)
    for key in ("expert_count", "attention.scale"):
        if reader.number(key, 0.0):
            raise reader.refused(key)
    return reader.with_positions(
        reader.common("llama")
        | {
            # The rows of queries and keys are in the order that `rope_traditional` needs.
            "rope_traditional": True,
            "attention_bias": reader.has("blk.0.attn_q.bias"),
            "mlp_bias": reader.has("blk.0.ffn_up.bias"),
        }
    )


def _smollm3(files: GgufFiles) -> dict[str, Any]:
    # Every fourth layer does not rotate positions.
    return _llama(files) | {"model_type": "smollm3", "no_rope_layer_interval": 4}


def _qwen2(files: GgufFiles) -> dict[str, Any]:
    reader = _Reader(files)
    if reader.head * reader.heads != reader.hidden:
        raise reader.refused("attention.key_length")
    return reader.with_positions(reader.common("qwen2"))


def _qwen3(files: GgufFiles) -> dict[str, Any]:
    reader = _Reader(files)
    return reader.with_positions(reader.common("qwen3"))


def _qwen3_moe(files: GgufFiles) -> dict[str, Any]:
    reader = _Reader(files)
    return reader.with_positions(
        reader.common("qwen3_moe")
        | {
            "num_experts": reader.count("expert_count"),
            "num_experts_per_tok": reader.count("expert_used_count"),
            "moe_intermediate_size": reader.count("expert_feed_forward_length"),
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
            "norm_topk_prob": True,
        }
    )


def _gemma3(files: GgufFiles) -> dict[str, Any]:
    reader = _Reader(files)
    if reader.number("final_logit_softcapping", 0.0):
        raise reader.refused("final_logit_softcapping")
    config = reader.common("gemma3_text")
    window = reader.metadata.integer(reader.key("attention.sliding_window"))
    # Only the model with 27 billion parameters scales by the width of the layers.
    divides_width = config["num_hidden_layers"] == 62
    return reader.with_positions(
        config
        | {
            "query_pre_attn_scalar": reader.hidden // reader.heads if divides_width else reader.head,
            "sliding_window": window or 512,
            "sliding_window_pattern": _period(reader) if window else 1,
            "rope_local_base_freq": reader.number("rope.freq_base_swa", 10000.0),
        }
    )


_MAX_PERIOD = 1 << 10


def _period(reader: _Reader) -> int:
    """Return n if every n-th layer attends to all positions, and the others to a window."""
    found = reader.metadata.numbers(reader.key("attention.sliding_window_pattern"))
    if found is None:
        return 6
    if found.dtype != bool and found.size == 1 and 1 <= found[0] <= _MAX_PERIOD:
        return int(found[0])
    if found.dtype != bool:
        raise reader.refused("attention.sliding_window_pattern")
    sees_all = [number for number, slides in enumerate(found.tolist(), 1) if not slides]
    period = sees_all[0] if sees_all else len(found) + 1
    if sees_all != list(range(period, len(found) + 1, period)):
        raise reader.refused("attention.sliding_window_pattern")
    return period


def _gemma2(files: GgufFiles) -> dict[str, Any]:
    reader = _Reader(files)
    config = reader.common("gemma2")
    # mlx-lm has no sliding window for this model. Within the window, there is no difference.
    window = reader.metadata.integer(reader.key("attention.sliding_window")) or 4096
    divides_width = config["num_hidden_layers"] == 46
    return reader.with_positions(
        config
        | {
            "max_position_embeddings": min(config["max_position_embeddings"], window),
            "query_pre_attn_scalar": reader.hidden // reader.heads if divides_width else reader.head,
            "attn_logit_softcapping": reader.number("attn_logit_softcapping", 50.0),
            "final_logit_softcapping": reader.number("final_logit_softcapping", 30.0),
        }
    )


def _phi3(files: GgufFiles) -> dict[str, Any]:
    reader = _Reader(files)
    if reader.head * reader.heads != reader.hidden:
        raise reader.refused("attention.key_length")
    rotated = reader.metadata.integer(reader.key("rope.dimension_count")) or reader.head
    return (
        reader.common("phi3")
        | {"partial_rotary_factor": rotated / reader.head}
        | long_scaling_of(files, reader.prefix, rotated)
    )


def _olmo2(files: GgufFiles) -> dict[str, Any]:
    reader = _Reader(files)
    if reader.metadata.integer(reader.key("attention.sliding_window")):
        raise reader.refused("attention.sliding_window")
    return reader.with_positions(reader.common("olmo2"))


# --- names of weights --------------------------------------------------------------------------------------

_OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_QKV = {
    "blk.{}.attn_q": "model.layers.{}.self_attn.q_proj",
    "blk.{}.attn_k": "model.layers.{}.self_attn.k_proj",
    "blk.{}.attn_v": "model.layers.{}.self_attn.v_proj",
}
_OUTPUT = {"blk.{}.attn_output": "model.layers.{}.self_attn.o_proj"}
_MLP = {
    "blk.{}.ffn_gate": "model.layers.{}.mlp.gate_proj",
    "blk.{}.ffn_up": "model.layers.{}.mlp.up_proj",
    "blk.{}.ffn_down": "model.layers.{}.mlp.down_proj",
}
_NORMS = {
    "blk.{}.attn_norm": "model.layers.{}.input_layernorm",
    "blk.{}.ffn_norm": "model.layers.{}.post_attention_layernorm",
}
_QK_NORMS = {
    "blk.{}.attn_q_norm": "model.layers.{}.self_attn.q_norm",
    "blk.{}.attn_k_norm": "model.layers.{}.self_attn.k_norm",
}
_POST_NORMS = {
    "blk.{}.post_attention_norm": "model.layers.{}.post_attention_layernorm",
    "blk.{}.post_ffw_norm": "model.layers.{}.post_feedforward_layernorm",
}
_EXPERTS = {
    "blk.{}.ffn_gate_inp": "model.layers.{}.mlp.gate",
    "blk.{}.ffn_gate_exps": "model.layers.{}.mlp.switch_mlp.gate_proj",
    "blk.{}.ffn_up_exps": "model.layers.{}.mlp.switch_mlp.up_proj",
    "blk.{}.ffn_down_exps": "model.layers.{}.mlp.switch_mlp.down_proj",
}
_USUAL = _OUTER | _QKV | _OUTPUT | _MLP | _NORMS
_GEMMA = _USUAL | _POST_NORMS | {"blk.{}.ffn_norm": "model.layers.{}.pre_feedforward_layernorm"}
_MERGED = (
    _OUTER
    | _OUTPUT
    | _NORMS
    | {
        "blk.{}.attn_qkv": "model.layers.{}.self_attn.qkv_proj",
        "blk.{}.ffn_up": "model.layers.{}.mlp.gate_up_proj",
        "blk.{}.ffn_down": "model.layers.{}.mlp.down_proj",
    }
)

ARCHITECTURES: Mapping[str, Architecture] = {
    "llama": Architecture(_llama, _USUAL),
    "smollm3": Architecture(_smollm3, _USUAL),
    "qwen2": Architecture(_qwen2, _USUAL),
    "qwen3": Architecture(_qwen3, _USUAL | _QK_NORMS),
    "qwen3moe": Architecture(_qwen3_moe, _OUTER | _QKV | _OUTPUT | _NORMS | _QK_NORMS | _EXPERTS),
    "gemma2": Architecture(_gemma2, _GEMMA, shifts_norms=True),
    "gemma3": Architecture(_gemma3, _GEMMA | _QK_NORMS, shifts_norms=True),
    "phi3": Architecture(_phi3, _MERGED),
    "olmo2": Architecture(_olmo2, _OUTER | _QKV | _OUTPUT | _MLP | _QK_NORMS | _POST_NORMS),
}
"""Architectures by the value of `general.architecture`."""
