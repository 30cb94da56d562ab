"""Folders made of GGUF files of each architecture, and what is refused."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.worker.gguf.computing import converted, logits
from tests.worker.gguf.random_models import HEAD, RANDOM_MODELS, VOCABULARY, RandomModel, write_random_gguf
from worker.errors import ModelInvalidError
from worker.gguf.architectures import known_architecture, weights_of
from worker.gguf.gguf_file import Metadata, read_files
from worker.gguf.shapes import check_shapes
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import check_folder

# llama.cpp's likeliest ids after PROMPT; `test_architectures_judged.py` compares all logits with it.
PROMPT = [5, 80, 200, 11, 11, 140, 77, 3]
JUDGED: Mapping[str, list[int]] = json.loads(Path(__file__).with_name("judged.json").read_text())


@pytest.mark.parametrize("name", RANDOM_MODELS)
def test_the_likeliest_tokens_are_those_of_llama_cpp(name: str, tmp_path: Path) -> None:
    (found,) = logits(made(RANDOM_MODELS[name], tmp_path), [PROMPT])
    assert found.argmax(-1).tolist() == JUDGED[name]


def test_the_tokenizer_does_not_compose_characters(tmp_path: Path) -> None:
    # transformers' own tokenizer for this architecture composes characters.
    *_, model = UnreadModel(check_folder(made(RANDOM_MODELS["qwen2"], tmp_path))).read()
    assert isinstance(model, LanguageModel)
    for text in ("e\u0301", "\u1100\u1161", "\u212b"):
        assert model.vocabulary.text_of(model.tokenizer.encode(text).ids) == text


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("llama", {"rope.scaling.type": "longrope"}, "(longrope)"),
        ("llama", {"rope.dimension_count": HEAD // 2}, "`llama.rope.dimension_count`)"),
        ("llama", {"attention.value_length": 32}, "`llama.attention.value_length`)"),
        ("qwen2", {"attention.key_length": 32}, "`qwen2.attention.key_length`)"),
        ("gemma3", {"final_logit_softcapping": 30.0}, "`gemma3.final_logit_softcapping`)"),
        ("phi3 long", {"rope.scaling.attn_factor": 2.0}, "(longrope)"),
        ("olmo2", {"attention.sliding_window": 4096}, "`olmo2.attention.sliding_window`)"),
        ("qwen3", {"embedding_length": None}, "qwen3.embedding_length"),
    ],
)
def test_a_feature_that_the_models_of_mlx_lack_is_refused(
    name: str, changes: Mapping[str, Any], words: str, tmp_path: Path
) -> None:
    model = RANDOM_MODELS[name]
    metadata = {key: value for key, value in {**model.metadata, **changes}.items() if value is not None}
    with pytest.raises(ModelInvalidError, match=re.escape(words)):
        made(replace(model, metadata=metadata), tmp_path)


@pytest.mark.parametrize("factors", [[0.0] * 32, [float("nan")] * 32, [1.0, 3.0] * 16, [1.0] * 31])
def test_odd_factors_of_positions_are_refused(factors: list[float], tmp_path: Path) -> None:
    with pytest.raises(ModelInvalidError, match="uses a position encoding"):
        made(replace(RANDOM_MODELS["llama 3.1"], fixed={"rope_freqs": factors}), tmp_path)


def test_factors_that_change_nothing_do_not_count_as_scaling(tmp_path: Path) -> None:
    folder = made(replace(RANDOM_MODELS["llama 3.1"], fixed={"rope_freqs": [1.0] * 32}), tmp_path)
    assert "rope_scaling" not in json.loads((folder / "config.json").read_text())


@pytest.mark.parametrize(
    ("pattern", "period"), [(2, 2), ([True, True, False] * 2 + [True], 3), ([False] * 7, 1), ([True] * 7, 8)]
)
def test_the_layers_with_a_sliding_window_are_counted(pattern: Any, period: int, tmp_path: Path) -> None:
    model = RANDOM_MODELS["gemma3"]
    metadata = {**model.metadata, "attention.sliding_window_pattern": pattern}
    folder = made(replace(model, metadata=metadata), tmp_path)
    assert json.loads((folder / "config.json").read_text())["sliding_window_pattern"] == period


def test_layers_with_a_sliding_window_in_another_order_are_refused(tmp_path: Path) -> None:
    model = RANDOM_MODELS["gemma3"]
    metadata = {**model.metadata, "attention.sliding_window_pattern": [False, True] * 3 + [True]}
    with pytest.raises(ModelInvalidError, match="sliding_window_pattern"):
        made(replace(model, metadata=metadata), tmp_path)


@pytest.mark.parametrize("name", RANDOM_MODELS)
def test_odd_numbers_are_read_or_refused(name: str, tmp_path: Path) -> None:
    write_random_gguf(tmp_path / "model.gguf", RANDOM_MODELS[name])
    files = read_files(tmp_path / "model.gguf")
    draw = random.Random(name)
    keys = [*(key for key in files.metadata.values if not key.startswith("tokenizer.")), *MORE_KEYS]
    for _ in range(20):
        values = dict(files.metadata.values)
        for key in draw.sample(keys, draw.randint(1, 3)):
            values[key.format(files.metadata.text("general.architecture"))] = draw.choice(ODD_NUMBERS)
        odd = replace(files, metadata=Metadata(files.metadata.path, values))
        try:
            architecture = known_architecture(odd)
            check_shapes(weights_of(architecture, odd), architecture.config(odd), VOCABULARY)
        except ModelInvalidError:
            continue


MORE_KEYS = (
    *("{}.rope.scaling.type", "{}.rope.scaling.factor", "{}.rope.scaling.original_context_length", "{}.rope.freq_base"),
    *("{}.rope.scaling.attn_factor", "{}.attention.sliding_window_pattern", "{}.attention.key_length"),
)
ODD_NUMBERS = (
    *(0, 1, 2, 3, 2**31 - 1, 2**63, 0.0, -1.0, 1e-300, 1e300, True, "", "yarn", "linear", "longrope", ["a"]),
    *(np.zeros(0, np.int32), np.zeros(9, bool), np.array([0]), np.array([-3]), np.array([float("inf")])),
)


def made(model: RandomModel, folder: Path) -> Path:
    write_random_gguf(folder / "model.gguf", model)
    return converted(folder / "model.gguf")
