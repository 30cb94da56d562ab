"""The memory of layers by config.json is that of the caches that mlx-lm makes."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models.cache import make_prompt_cache

from app.catalog.layer_memory import layers_of
from tests.architectures import ARCHITECTURES, build_random_model
from worker.layers import num_bytes_at

_OWN_CACHES = {"deepseek_v41"}
"""Its caches are of a kind that only it has; Bough estimates them roughly."""


@pytest.mark.parametrize("name", sorted({*ARCHITECTURES} - _OWN_CACHES))
def test_all_architectures(name: str):
    model = build_random_model(ARCHITECTURES[name], vocab_size=50)
    caches = make_prompt_cache(model)
    model(mx.zeros((1, 4), mx.int32), cache=caches)
    layers = layers_of(ARCHITECTURES[name])
    for num_tokens in (1, 20, 3000):
        expected = sum(num_bytes_at(cache, num_tokens) for cache in caches if cache is not None) // 4
        found = sum(
            layer.num_layers
            * (layer.fixed_numbers + layer.numbers_per_token * min(num_tokens, layer.window or num_tokens))
            for layer in layers
        )
        assert abs(found - expected) <= 8, num_tokens


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"num_hidden_layers": 10**30, "hidden_size": 64},
        {"num_hidden_layers": -3, "num_attention_heads": True, "layer_types": 7},
        {"num_hidden_layers": 2, "layer_types": [[], {}, None]},
        {"model_type": "nemotron-nas", "num_hidden_layers": 2, "block_configs": [3, {"attention": 4}]},
        {"text_config": [], "num_hidden_layers": "2"},
    ],
)
def test_nonsense(config: dict[str, Any]):
    assert isinstance(layers_of(config), tuple)
