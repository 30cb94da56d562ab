"""The form of weights in memory: when quantized ones are unpacked, and that both forms compute the same."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx_lm.models.mla import MultiLinear, QuantizedMultiLinear
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear
from mlx_lm.utils import load_model
from tokenizers import Tokenizer

from app.answers.model_session import how_weights_lie
from tests.architectures import ARCHITECTURES, small_gemma3, small_llama, write_random_model
from tests.trials import TRIALS
from worker import weights
from worker.language_model import LanguageModel, Loading, UnreadModel
from worker.memory import Needs, chosen_form, free_bytes
from worker.models.folder import find_model
from worker.values import WeightForm
from worker.weights import Packed, unpack_for_many_rows, unpacked_module

GIB = 1 << 30
FORMS: list[dict[str, Any]] = [
    *({"bits": bits, "group_size": group_size} for bits in (2, 3, 4, 5, 6, 8) for group_size in (32, 64, 128)),
    {"bits": 4, "group_size": 32, "mode": "mxfp4"},
    {"bits": 8, "group_size": 32, "mode": "mxfp8"},
    {"bits": 4, "group_size": 16, "mode": "nvfp4"},
]

on_cpu = pytest.mark.skipif(mx.default_device() != mx.Device(mx.cpu), reason="weights are unpacked on a CPU only")


def plenty() -> int:
    return 1 << 50


def nothing() -> int:
    return 0


def loaded(folder: Path, free: Any = plenty) -> LanguageModel:
    *_, model = UnreadModel(find_model(str(folder)), TRIALS, free=free).read()
    assert isinstance(model, LanguageModel)
    return model


def logits(model: LanguageModel, token_ids: list[int]) -> np.ndarray:
    return np.array(model.logits_of_all(mx.array([token_ids]), model.new_layers()))


# --- the choice ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "keys_and_values", "free", "form"),
    [
        # SmolLM2: 0.5 GiB of weights, 4,096 tokens of keys and values, half a GiB of room.
        (538_000_000, 189_000_000, 2 * GIB, "unpacked"),
        (538_000_000, 189_000_000, 1 * GIB, "packed"),
        # Seven billion parameters: an eighth of the weights is room.
        (28 * GIB, 2 * GIB, 33 * GIB, "packed"),
        (28 * GIB, 2 * GIB, 34 * GIB, "unpacked"),
        (1, 0, 0, "packed"),
    ],
)
def test_weights_are_unpacked_where_they_fit_with_some_room(weights: int, keys_and_values: int, free: int, form: str):
    chosen = chosen_form(Needs(weights, keys_and_values), free)
    assert chosen.form == form
    assert chosen.free_bytes == free
    assert chosen.needed_bytes > weights + keys_and_values


GROUPS = {
    "0::/user/session": {
        "user/memory.max": "max",
        "user/memory.current": "5000",
        "user/session/memory.max": "4000",
        "user/session/memory.current": "1500",
        "user/session/memory.stat": "anon 200\ninactive_file 300\n",
    },
    # A container sees its own group as the root.
    "0::/machine/container-7": {"memory.max": "4000", "memory.current": "1500", "memory.stat": "inactive_file 300"},
    "9:cpu:/a\n5:memory,hugetlb:/job": {
        "memory/job/memory.limit_in_bytes": "4000",
        "memory/job/memory.usage_in_bytes": "1500",
        "memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n",
    },
    # The group above allows less.
    "0::/a/b": {"a/memory.max": "2900", "a/memory.current": "100", "a/b/memory.max": "9000", "a/b/memory.current": "0"},
}


@pytest.mark.parametrize("named", GROUPS)
def test_free_memory_is_what_the_control_groups_leave(named: str, tmp_path: Path):
    own = tmp_path / "cgroup"
    own.write_text(named + "\n")
    for name, text in GROUPS[named].items():
        file = tmp_path / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    assert free_bytes(lambda: 1_000_000, tmp_path / "groups", own) == 2800
    assert free_bytes(lambda: 700, tmp_path / "groups", own) == 700


@pytest.mark.parametrize("text", ["", "0::/", "nonsense", "0:", "::::", "0::/../../etc", "1:memory:/x\n" * 3])
def test_without_limits_the_machines_memory_counts(text: str, tmp_path: Path):
    own = tmp_path / "cgroup"
    own.write_text(text)
    (tmp_path / "memory.max").write_text("max")
    (tmp_path / "memory.current").write_text("1")
    assert free_bytes(lambda: 700, tmp_path, own) == 700
    assert free_bytes(lambda: 700, tmp_path, tmp_path / "nothing") == 700
    assert free_bytes() > 0


# --- modules ---------------------------------------------------------------------------------------------------


def packed(module: Any, form: dict[str, Any]) -> Packed:
    module.set_dtype(mx.float32)
    quantized = module.to_quantized(**form)
    quantized.set_dtype(mx.float32)
    return quantized


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_an_unpacked_module_computes_what_the_packed_one_does(form: dict[str, Any]):
    rng = Random(repr(form))
    x = mx.random.normal((3, 256), key=mx.random.key(rng.randrange(1 << 30)))
    linear = packed(nn.Linear(256, 48), form)
    assert isinstance(linear, nn.QuantizedLinear)
    unpacked: Any = unpacked_module(linear)
    assert type(unpacked) is nn.Linear
    assert unpacked.weight.dtype == mx.float32
    np.testing.assert_allclose(np.array(unpacked(x)), np.array(linear(x)), atol=2e-4)
    embedding = packed(nn.Embedding(48, 256), form)
    assert isinstance(embedding, nn.QuantizedEmbedding)
    unpacked = unpacked_module(embedding)
    assert type(unpacked) is nn.Embedding
    rows = mx.array([[0, 47, 5]])
    close = 1e-6 if form.get("mode") is None else 1e-2  # where packed ones give 16 bits
    np.testing.assert_allclose(
        np.array(unpacked(rows).astype(mx.float32)), np.array(embedding(rows).astype(mx.float32)), atol=close
    )
    np.testing.assert_allclose(np.array(unpacked.as_linear(x)), np.array(embedding.as_linear(x)), atol=2e-4)


@pytest.mark.parametrize("form", [FORMS[7], FORMS[-3]], ids=str)
def test_experts_and_matrices_of_heads_are_unpacked_too(form: dict[str, Any]):
    x = mx.random.normal((2, 1, 1, 64), key=mx.random.key(1))
    chosen = mx.array([[0, 3], [2, 1]])
    experts = packed(SwitchLinear(64, 32, 4), form)
    assert isinstance(experts, QuantizedSwitchLinear)
    unpacked: Any = unpacked_module(experts)
    np.testing.assert_allclose(np.array(unpacked(x, chosen)), np.array(experts(x, chosen)), atol=2e-5)
    heads = packed(MultiLinear(64, 64, 3), form)
    assert isinstance(heads, QuantizedMultiLinear)
    unpacked = unpacked_module(heads)
    y = mx.random.normal((1, 3, 5, 64), key=mx.random.key(2))
    for transposed in (True, False):
        np.testing.assert_allclose(np.array(unpacked(y, transposed)), np.array(heads(y, transposed)), atol=2e-5)


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("num_rows", [1, 2, 3, 30])
def test_a_packed_module_gives_the_same_for_few_and_many_rows(num_rows: int, has_bias: bool):
    x = mx.random.normal((1, num_rows, 64), key=mx.random.key(1))
    linear = packed(nn.Linear(64, 32, bias=has_bias), FORMS[7])
    assert isinstance(linear, nn.QuantizedLinear)
    embedding = packed(nn.Embedding(32, 64), FORMS[7])
    assert isinstance(embedding, nn.QuantizedEmbedding)
    expected = [np.array(linear(x)), np.array(embedding.as_linear(x))]
    unpack_for_many_rows(linear)
    unpack_for_many_rows(embedding)
    for one, other in zip(expected, [linear(x), embedding.as_linear(x)], strict=True):
        np.testing.assert_allclose(np.array(other), one, atol=2e-5)


@pytest.mark.parametrize(("large", "least"), [(1 << 27, 3), (1 << 10, 8)])
def test_a_large_matrix_is_unpacked_for_more_rows_only(large: int, least: int, monkeypatch: pytest.MonkeyPatch):
    unpacked: list[int] = []
    unpack = weights._unpacked_weight  # pyright: ignore[reportPrivateUsage]

    def counted(module: Packed) -> mx.array:
        unpacked.append(num_rows)
        return unpack(module)

    monkeypatch.setattr(weights, "_unpacked_weight", counted)
    monkeypatch.setattr(weights, "_LARGE", large)
    linear: Any = packed(nn.Linear(64, 32), FORMS[7])
    unpack_for_many_rows(linear)
    for num_rows in range(1, 10):
        linear(mx.zeros((num_rows, 1, 64)))
    assert unpacked == list(range(least, 10))


# --- models ----------------------------------------------------------------------------------------------------


def check_forms(folder: Path) -> None:
    unpacked, stays = loaded(folder), loaded(folder, nothing)
    token_ids = [Random(1).randrange(400) for _ in range(40)]
    one, other = logits(unpacked, token_ids), logits(stays, token_ids)
    assert (unpacked.weight_form.form, stays.weight_form.form) == ("unpacked", "packed")
    assert unpacked.num_parameters == stays.num_parameters
    assert unpacked.weights_bytes > stays.weights_bytes
    assert unpacked.identity() != stays.identity()
    assert unpacked.versions["weights"] != stays.versions["weights"]
    assert np.abs(one - other).max() < 2e-3 * max(1.0, one.std())


@on_cpu
@pytest.mark.parametrize("config", [small_llama(466), small_gemma3(), ARCHITECTURES["qwen3_moe"]])
def test_a_model_computes_the_same_in_both_forms(config: dict[str, Any], tmp_path: Path, byte_level: Tokenizer):
    form = {"bits": 4, "group_size": 32}
    check_forms(write_random_model(tmp_path / "model", byte_level, config, quantized=form))


@on_cpu
def test_unpacked_answers_are_those_of_the_float32_folder(tmp_path: Path, byte_level: Tokenizer):
    config = small_llama(byte_level.get_vocab_size(with_added_tokens=True))
    folder = write_random_model(tmp_path / "model", byte_level, config, quantized={"bits": 4, "group_size": 32})
    model = loaded(folder)
    plain: Any = load_model(folder)[0]
    token_ids = list(range(50, 80))
    expected = np.array(plain(mx.array([token_ids])))
    np.testing.assert_allclose(logits(model, token_ids), expected, atol=1e-4)


@on_cpu
def test_loading_packed_weights_reports_progress(tmp_path: Path, byte_level: Tokenizer):
    config = small_llama(byte_level.get_vocab_size(with_added_tokens=True))
    folder = write_random_model(tmp_path / "model", byte_level, config, quantized={"bits": 4, "group_size": 32})
    steps = list(UnreadModel(find_model(str(folder)), TRIALS, free=plenty).read())
    fractions = [step.fraction for step in steps if isinstance(step, Loading)]
    assert fractions == sorted(fractions)
    assert len(fractions) > 5


def test_the_window_says_which_form_the_weights_have():
    assert how_weights_lie(WeightForm()) is None
    assert "unpacked" in str(how_weights_lie(WeightForm(form="unpacked")))
    packed = how_weights_lie(WeightForm(form="packed", needed_bytes=30 * GIB, free_bytes=2 * GIB))
    assert "30" in str(packed)
    assert "2" in str(packed)
