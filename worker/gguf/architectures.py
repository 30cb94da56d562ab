"""How GGUF describes the models of an architecture: metadata → config.json, names of tensors → names of weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from worker.errors import ModelInvalidError
from worker.gguf.gguf_file import GgufFiles, Tensor
from worker.sentence import Sentence


@dataclass(frozen=True)
class Weight:
    """A weight of the model, and the tensor that holds it."""

    name: str
    """Its path in the model, with `.weight` or `.bias` at its end."""
    tensor: Tensor
    shift: float = 0.0
    """Is added to each number."""


@dataclass(frozen=True)
class Architecture:
    """One architecture. `names` maps tensors' names to weights' names; `{}` is the number of a layer."""

    config: Callable[[GgufFiles], dict[str, Any]]
    names: Mapping[str, str]


def architecture_of(files: GgufFiles) -> str:
    """Return the name of the architecture. Raises `ModelInvalidError` if the file does not say it."""
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
        if tensor.name == "rope_freqs.weight":
            continue
        layer = re.fullmatch(r"blk\.(\d{1,4})\.(.+)", tensor.name)
        pattern = f"blk.{{}}.{layer[2]}" if layer else tensor.name
        stem, _, kind = pattern.rpartition(".")
        target = architecture.names.get(stem)
        if target is None or kind not in ("weight", "bias"):
            raise ModelInvalidError(
                Sentence(
                    "{path} holds a tensor that Bough can't place ({name}). Choose another file of this model.",
                    path=tensor.file,
                    name=tensor.name[:80],
                )
            )
        name = f"{target.format(layer[1] if layer else '')}.{kind}"
        weights.append(Weight(name, tensor))
    return weights


def _llama_config(files: GgufFiles) -> dict[str, Any]:
    said = files.metadata
    heads = said.required_integer("llama.attention.head_count")
    hidden = said.required_integer("llama.embedding_length")
    return {
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": said.required_integer("llama.block_count"),
        "intermediate_size": said.required_integer("llama.feed_forward_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": said.integer("llama.attention.head_count_kv") or heads,
        "head_dim": said.integer("llama.attention.key_length") or hidden // heads,
        "rms_norm_eps": said.required_number("llama.attention.layer_norm_rms_epsilon"),
        "vocab_size": files.tensors["token_embd.weight"].shape[0],
        "max_position_embeddings": said.required_integer("llama.context_length"),
        "rope_theta": said.number("llama.rope.freq_base") or 10000.0,
        "rope_traditional": True,
        "tie_word_embeddings": "output.weight" not in files.tensors,
    }


_LLAMA_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "blk.{}.attn_norm": "model.layers.{}.input_layernorm",
    "blk.{}.attn_q": "model.layers.{}.self_attn.q_proj",
    "blk.{}.attn_k": "model.layers.{}.self_attn.k_proj",
    "blk.{}.attn_v": "model.layers.{}.self_attn.v_proj",
    "blk.{}.attn_output": "model.layers.{}.self_attn.o_proj",
    "blk.{}.ffn_norm": "model.layers.{}.post_attention_layernorm",
    "blk.{}.ffn_gate": "model.layers.{}.mlp.gate_proj",
    "blk.{}.ffn_up": "model.layers.{}.mlp.up_proj",
    "blk.{}.ffn_down": "model.layers.{}.mlp.down_proj",
}

ARCHITECTURES: Mapping[str, Architecture] = {"llama": Architecture(_llama_config, _LLAMA_NAMES)}
