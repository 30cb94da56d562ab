"""Keys and values in 4 and 8 bits, a setting of `load_model`: less memory, the same sharing, clear errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.architectures import small_gemma3, small_llama, small_mamba, write_random_model
from tests.driver import StdioWorker

PROMPT: dict[str, Any] = {"token_ids": list(range(40, 100))}
WIDE = {"head_dim": 64, "hidden_size": 256}


def written(config: dict[str, Any], folder: Path, tokenizer: Tokenizer) -> Path:
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    return write_random_model(folder / "model", tokenizer, config | {"vocab_size": size})


def ask(worker: StdioWorker, **fields: Any) -> dict[str, Any]:
    return worker.result("generate", **{**PROMPT, "max_tokens": 8, "sampling": {"temperature": 1, "seed": 1}, **fields})


@pytest.mark.parametrize(("bits", "shrinks_by"), [(8, 3.2), (4, 5.5)])
def test_kept_tokens_take_less_memory_and_are_not_read_again(
    shared_worker: StdioWorker, tmp_path: Path, byte_level: Tokenizer, bits: int, shrinks_by: float
):
    folder = str(written(small_llama(0) | WIDE, tmp_path, byte_level))
    whole = shared_worker.result("load_model", model=folder)["kv_bytes_per_token"]
    loaded = shared_worker.result("load_model", model=folder, cache={"kv_bits": bits})
    assert loaded["kv_bytes_per_token"] * shrinks_by < whole
    first = ask(shared_worker)
    other = ask(shared_worker, token_ids=[*range(40, 80), 7, 8, 9])
    assert other["usage"]["cached_tokens"] == 40
    again = ask(shared_worker)
    assert again["usage"]["prefilled_tokens"] == 1
    assert again["choices"] == first["choices"]
    several = ask(shared_worker, n=3)
    assert several["choices"][0] == first["choices"][0]
    stats = shared_worker.result("cache_stats")
    assert stats["tokens"] * loaded["kv_bytes_per_token"] <= stats["bytes"]


def test_narrow_heads_use_smaller_groups(shared_worker: StdioWorker, tmp_path: Path, byte_level: Tokenizer):
    folder = written(small_llama(0) | {"head_dim": 32, "hidden_size": 128}, tmp_path, byte_level)
    assert shared_worker.result("load_model", model=str(folder), cache={"kv_bits": 8})["type"] == "model_loaded"
    assert ask(shared_worker)["type"] == "finished"


def test_windows_stay_unquantized_beside_quantized_layers(
    shared_worker: StdioWorker, tmp_path: Path, byte_level: Tokenizer
):
    folder = written(small_gemma3(window=24) | WIDE, tmp_path, byte_level)
    assert shared_worker.result("load_model", model=str(folder), cache={"kv_bits": 8})["type"] == "model_loaded"
    first = ask(shared_worker)
    ask(shared_worker, token_ids=[5, 6, 7])
    again = ask(shared_worker)
    assert again["usage"]["prefilled_tokens"] == 1
    assert again["choices"] == first["choices"]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (small_mamba(), "mamba models can't be cached in 4 bits"),
        (small_llama(0), "llama models can't be cached in 4 bits ("),
    ],
    ids=["states alone", "heads of 16"],
)
def test_a_model_that_cannot_be_quantized_is_refused_with_a_clear_message(
    shared_worker: StdioWorker, tmp_path: Path, byte_level: Tokenizer, config: dict[str, Any], words: str
):
    folder = str(written(config, tmp_path, byte_level))
    failed = shared_worker.result("load_model", model=folder, cache={"kv_bits": 4})
    assert (failed["type"], failed["kind"]) == ("failed", "bad_request")
    assert words in failed["message"]
    assert "Load it without `kv_bits`." in failed["message"]
    assert shared_worker.result("load_model", model=folder)["type"] == "model_loaded"


def test_other_numbers_of_bits_are_a_bad_request(shared_worker: StdioWorker):
    failed = shared_worker.result("load_model", model="guide", cache={"kv_bits": 3})
    assert failed["kind"] == "bad_request"
    assert "kv_bits" in failed["message"]
