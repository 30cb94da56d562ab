"""Checks that the weights of a model have the shapes that config.json requires, because a file may be hostile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from worker.errors import ModelInvalidError
from worker.gguf.architectures import Weight
from worker.gguf.gguf_file import Tensor
from worker.sentence import Sentence

_LAYER = re.compile(r"model\.layers\.(0|[1-9]\d{0,4})\.(.+)")
_OUTER = ("model.embed_tokens.weight", "model.norm.weight")

# Shapes by the last part of a weight's module.
_MATRICES = {
    "embed_tokens": ("words", "hidden"),
    "lm_head": ("words", "hidden"),
    "q_proj": ("q", "hidden"),
    "k_proj": ("kv", "hidden"),
    "v_proj": ("kv", "hidden"),
    "qkv_proj": ("qkv", "hidden"),
    "o_proj": ("hidden", "q"),
    "gate_proj": ("wide", "hidden"),
    "up_proj": ("wide", "hidden"),
    "gate_up_proj": ("two wide", "hidden"),
    "down_proj": ("hidden", "wide"),
}


def check_shapes(weights: Sequence[Weight], config: Mapping[str, Any], num_tokens: int) -> None:
    """Raise `ModelInvalidError` if a weight is missing, is present twice, or has a wrong shape."""
    sizes = _sizes(config)
    path = weights[0].tensor.file if weights else None
    by_name = {weight.name: weight for weight in weights}
    for name in _OUTER:
        if name not in by_name:
            raise ModelInvalidError(
                Sentence("{path} lacks weights ({name}). Choose a language model's file.", path=path, name=name)
            )
    if num_tokens > sizes["words"]:
        raise _contradiction(by_name[_OUTER[0]].tensor, Sentence("it has {count} tokens", count=num_tokens))
    for weight in weights:
        _check(weight, sizes)
    _check_layers(by_name, config["num_hidden_layers"])


def _sizes(config: Mapping[str, Any]) -> dict[str, int]:
    heads, groups, head = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    return {
        "words": config["vocab_size"],
        "hidden": config["hidden_size"],
        "wide": config["intermediate_size"],
        "two wide": 2 * config["intermediate_size"],
        "expert": config.get("moe_intermediate_size", 0),
        "experts": config.get("num_experts", 0),
        "q": heads * head,
        "kv": groups * head,
        "qkv": (heads + 2 * groups) * head,
    }


def _check(weight: Weight, sizes: Mapping[str, int]) -> None:
    shape = weight.tensor.shape
    module, _, kind = weight.name.rpartition(".")
    last = module.rpartition(".")[2]
    names = _MATRICES.get(last)
    if ".switch_mlp." in module and names is not None:
        names = ("experts", *("expert" if name == "wide" else name for name in names))
    elif module.endswith(".mlp.gate"):
        names = ("experts", "hidden")
    if names is not None:
        expected = tuple(sizes[name] for name in (names if kind == "weight" else names[:-1]))
        allowed = shape == expected
    elif last in ("q_norm", "k_norm"):
        # A norm of one head or of all heads.
        allowed = len(shape) == 1 and sizes["q" if last == "q_norm" else "kv"] % shape[0] == 0
    else:
        allowed = shape == (sizes["hidden"],)
    if not allowed:
        text = "×".join(map(str, shape))
        raise _contradiction(weight.tensor, Sentence("{name} has the shape {shape}", name=weight.name, shape=text))


def _check_layers(by_name: Mapping[str, Weight], num_layers: int) -> None:
    """Raise `ModelInvalidError` unless all layers have the same weights."""
    layers: dict[int, set[str]] = {}
    for name in by_name:
        found = _LAYER.fullmatch(name)
        if found:
            layers.setdefault(int(found[1]), set()).add(found[2])
    tensor = by_name[_OUTER[0]].tensor
    if len(layers) != num_layers:
        raise _contradiction(
            tensor, Sentence("it holds {found} of {count} layers", found=len(layers), count=num_layers)
        )
    for number in range(num_layers):
        missing = sorted(layers[0] - layers.get(number, set())) if 0 in layers else ["model.layers.0"]
        if missing:
            raise _contradiction(tensor, Sentence("layer {number} lacks {name}", number=number, name=missing[0]))


def _contradiction(tensor: Tensor, how: Sentence) -> ModelInvalidError:
    return ModelInvalidError(
        Sentence(
            "{path} is inconsistent: {how}. Download the file again, or choose another one.",
            path=tensor.file,
            how=how,
        )
    )
