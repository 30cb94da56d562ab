"""Models made of GGUF files compute the logits that llama.cpp computes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import mlx.core as mx
import numpy as np
import numpy.typing as npt
import pytest
from gguf import GGMLQuantizationType as Type
from mlx_lm.models.cache import make_prompt_cache

from tests.worker.gguf.computing import converted, loaded, logits, tokenizer_of
from tests.worker.gguf.judge import Judge, model_file
from tests.worker.gguf.random_models import RANDOM_MODELS, write_random_gguf, write_same_numbers
from worker.gguf.architectures import ARCHITECTURES

Logits: TypeAlias = npt.NDArray[np.float32]

TEXT = (
    "The capital of France is Paris. It lies on the Seine, and more than two million people live there. "
    "Its oldest bridge is called the New Bridge; it was opened in 1607. In the evening, when the lamps are lit, "
    "def add(a, b): return a + b  # 12 + 30 = 42. Die Stadt ist schön, und ihre Cafés sind es auch."
)
QUESTION = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
)
LENGTHS = (1, 2, 7, 31, 64, 130, 200)
NUM_POSITIONS = 512
"""Greater than the original context of the models with long or scaled positions, which llama.cpp goes by."""

EXACT = 1e-4
TABLE = 5e-3
"""The limit for Gemma: llama.cpp looks up gelu in a table of 16-bit numbers."""
LIMITS = {Type.F16: 1e-2, Type.BF16: 1e-1, Type.Q8_0: 3e-1, Type.Q4_0: 3e-1, Type.Q4_1: 3e-1}
"""The largest difference, as a part of the logits' standard deviation.

llama.cpp rounds what it multiplies with a matrix to the matrix's type, or to 8 bits; MLX does not. In a mixture of
experts this may choose another expert, so there is no limit.
"""
TYPICAL = ("llama", "qwen2", "qwen3", "gemma3", "phi3", "qwen3moe")


@pytest.mark.parametrize("name", RANDOM_MODELS)
def test_logits_are_those_of_llama_cpp(name: str, tmp_path: Path, judge: Judge) -> None:
    file = tmp_path / "model.gguf"
    write_random_gguf(file, RANDOM_MODELS[name])
    folder = converted(file)
    inputs = prompts(folder)
    worst = worst_difference(logits(folder, inputs), judge.logits(file, inputs, NUM_POSITIONS))
    print(f"{name} F32: {worst:.1e}")
    assert worst < (TABLE if name.startswith("gemma") else EXACT)


@pytest.mark.parametrize("name", [name for name in RANDOM_MODELS if name.startswith("gemma")])
def test_gemma_without_gelu_is_exact(name: str, tmp_path: Path, judge: Judge) -> None:
    file = tmp_path / "model.gguf"
    write_random_gguf(file, RANDOM_MODELS[name], silent="ffn_gate")
    folder = converted(file)
    inputs = prompts(folder)
    worst = worst_difference(logits(folder, inputs), judge.logits(file, inputs, NUM_POSITIONS))
    print(f"{name} F32 without gelu: {worst:.1e}")
    assert worst < EXACT


@pytest.mark.parametrize("weight_type", LIMITS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", TYPICAL)
def test_logits_of_quantized_models(name: str, weight_type: Type, tmp_path: Path, judge: Judge) -> None:
    file, same_numbers = tmp_path / "model.gguf", tmp_path / "same.gguf"
    write_random_gguf(file, RANDOM_MODELS[name], weight_type)
    write_random_gguf(same_numbers, RANDOM_MODELS[name], weight_type, dequantized=True)
    folder = converted(file)
    inputs = prompts(folder)
    ours = logits(folder, inputs)
    worst = worst_difference(ours, judge.logits(file, inputs, NUM_POSITIONS))
    exact = worst_difference(ours, judge.logits(same_numbers, inputs, NUM_POSITIONS))
    print(f"{name} {weight_type.name}: {worst:.1e}, with the same numbers in F32 {exact:.1e}")
    assert exact < (TABLE if name.startswith("gemma") else EXACT)
    assert worst < LIMITS[weight_type] or name == "qwen3moe"


@pytest.mark.parametrize("name", TYPICAL)
def test_greedy_continuations_are_those_of_llama_cpp(name: str, tmp_path: Path, judge: Judge) -> None:
    file = tmp_path / "model.gguf"
    write_random_gguf(file, RANDOM_MODELS[name])
    folder = converted(file)
    for prompt in prompts(folder)[2:6:3]:
        check_greedy(folder, file, prompt, 60, judge)


@pytest.mark.parametrize(
    ("pattern", "limit"), [("SmolLM2-*.gguf", 1e-3), ("gemma-3-*.gguf", 2e-1)], ids=["SmolLM2", "Gemma 3"]
)
def test_models_as_published(pattern: str, limit: float, tmp_path: Path, judge: Judge) -> None:
    file = model_file(pattern)
    tokenizer = tokenizer_of(file)
    same_numbers = tmp_path / "same.gguf"
    write_same_numbers(same_numbers, file)
    inputs = [tokenizer.encode(TEXT[:length]).ids for length in (20, 100, len(TEXT))]
    ours, judged = logits(converted(file, tmp_path), inputs), judge.logits(file, inputs, 256)
    exact = judge.logits(same_numbers, inputs, 256)
    for name, one, other in (
        ("Bough, the same numbers in llama.cpp", ours, exact),
        ("Bough, llama.cpp", ours, judged),
        ("llama.cpp, the same numbers in llama.cpp", judged, exact),
    ):
        print(f"{file.name}: {name}: {mean_difference(one, other):.1e}, same best {num_same(one, other):.1%}")
    assert mean_difference(ours, exact) < limit
    if pattern.startswith("SmolLM2"):
        # llama.cpp's own 4-bit arithmetic answers “L'Étoile, la Marseillaise”: the two best differ by 0.08.
        prompt = tokenizer.encode(QUESTION).ids
        check_greedy(tmp_path / "converted", same_numbers, prompt, 24, judge)
        assert tokenizer.decode(judge.greedy(same_numbers, prompt, 8, NUM_POSITIONS)).startswith(
            "The capital of France is Paris."
        )


def test_every_architecture_is_judged() -> None:
    assert {model.architecture for model in RANDOM_MODELS.values()} == set(ARCHITECTURES)


def prompts(folder: Path) -> list[list[int]]:
    limit = json.loads((folder / "config.json").read_text())["max_position_embeddings"]
    draw = np.random.default_rng(0)
    return [draw.integers(0, 300, length).tolist() for length in LENGTHS if length <= limit]


def mean_difference(ours: Sequence[Logits], theirs: Sequence[Logits]) -> float:
    """Return the mean difference of two lists of logits, as a part of their standard deviation."""
    return max(float(np.abs(mine - other).mean() / other.std()) for mine, other in zip(ours, theirs, strict=True))


def num_same(ours: Sequence[Logits], theirs: Sequence[Logits]) -> float:
    """Return the part of positions with the same likeliest token."""
    same = [mine.argmax(-1) == other.argmax(-1) for mine, other in zip(ours, theirs, strict=True)]
    return float(np.concatenate(same).mean())


def worst_difference(ours: Sequence[Logits], theirs: Sequence[Logits]) -> float:
    """Return the largest difference of two lists of logits, as a part of their standard deviation."""
    return max(float(np.abs(mine - other).max() / other.std()) for mine, other in zip(ours, theirs, strict=True))


def check_greedy(folder: Path, file: Path, prompt: Sequence[int], count: int, judge: Judge) -> None:
    """Compare the likeliest continuation, up to a token at which the two best logits are nearly equal."""
    model = loaded(folder)
    cache = make_prompt_cache(model)
    expected = judge.greedy(file, prompt, count, NUM_POSITIONS)
    ids = list(prompt)
    for token_id in expected:
        found = np.array(model(mx.array([ids]), cache=cache)[0, -1])
        if found.argmax() != token_id:
            second, best = np.partition(found, -2)[-2:]
            assert best - second < 1e-3 * found.std()
            return
        ids = [token_id]
