"""A loaded model's figures: ends of answers, context, size; weight formats; tokenizers that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from app.catalog.chat_templates import PLAIN
from tests.architectures import small_gemma3, small_lfm2, small_llama, small_mamba, write_random_model
from tests.driver import StdioWorker
from tests.models import chain, write_random_llama, write_scripted_model
from tests.trials import TRIALS
from worker.errors import ModelInvalidError
from worker.language_model import LanguageModel, Loading, UnreadModel
from worker.models.folder import find_model


def loaded(folder: Path) -> LanguageModel:
    *_, model = UnreadModel(find_model(str(folder)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    return model


def token(tokenizer: Tokenizer, piece: str) -> int:
    token_id = tokenizer.token_to_id(piece)
    assert token_id is not None
    return token_id


def edit(folder: Path, name: str, **changes: Any) -> None:
    file = folder / name
    described = json.loads(file.read_text()) if file.exists() else {}
    described |= changes
    file.write_text(json.dumps({key: value for key, value in described.items() if value is not None}))


# --- figures ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "kind", "bytes_per_token"),
    [
        # Two arrays of keys and values, layers × heads × head size × 4 bytes.
        (small_llama(466), "trimmable", 2 * 2 * 4 * 16 * 4),
        (small_gemma3(), "snapshot", 2 * 3 * 2 * 16 * 4),
        (small_lfm2(), "snapshot", 2 * 1 * 2 * 16 * 4),
        (small_mamba(), "snapshot", 0),
    ],
    ids=["llama", "gemma3", "lfm2", "mamba"],
)
def test_a_loaded_model_reports_its_sizes(
    config: dict[str, Any], kind: str, bytes_per_token: int, tmp_path: Path, byte_level: Tokenizer
):
    folder = write_random_model(tmp_path / "model", byte_level, config)
    model = loaded(folder)
    weights = load_file(folder / "model.safetensors")
    assert model.num_parameters == sum(array.size for array in weights.values())
    assert model.weights_bytes == 4 * model.num_parameters
    assert model.vocab_size == 466
    assert model.context_length == 4096
    assert model.cache_kind == kind
    assert model.kv_bytes_per_token == bytes_per_token


def test_a_vision_model_has_the_context_and_ends_of_its_text_model(tmp_path: Path, byte_level: Tokenizer):
    text = small_gemma3() | {"model_type": "gemma3_text", "vocab_size": 466, "max_position_embeddings": 777}
    folder = write_random_model(tmp_path / "model", byte_level, small_gemma3())
    weights = load_file(folder / "model.safetensors")
    save_file(
        {f"language_model.{name}": array for name, array in weights.items()},
        folder / "model.safetensors",
        metadata={"format": "mlx"},
    )
    config = {"model_type": "gemma3", "vocab_size": 466, "text_config": text | {"eos_token_id": [7, 8]}}
    (folder / "config.json").write_text(json.dumps(config))
    model = loaded(folder)
    assert model.folder.architecture == "gemma3"
    assert model.context_length == 777
    assert {7, 8} <= model.vocabulary.eos_ids


@pytest.mark.parametrize(
    ("config", "context_length"),
    [
        ({"max_position_embeddings": None}, 2**31 - 1),
        ({"max_position_embeddings": None, "n_positions": 300}, 300),
        ({"max_position_embeddings": None, "max_sequence_length": 400}, 400),
        ({"max_position_embeddings": 0, "n_ctx": 500}, 500),
        ({"max_position_embeddings": 10**30}, 2**31 - 1),
    ],
    ids=str,
)
def test_the_context_length_has_many_names(
    config: dict[str, Any], context_length: int, random_llama: Path, tmp_path: Path
):
    folder = tmp_path / "model"
    folder.mkdir()
    for file in random_llama.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    edit(folder, "config.json", **config)
    assert loaded(folder).context_length == context_length


def test_the_progress_of_loading_never_decreases(random_llama: Path):
    steps = list(UnreadModel(find_model(str(random_llama)), TRIALS).read())
    fractions = [step.fraction for step in steps if isinstance(step, Loading)]
    assert isinstance(steps[-1], LanguageModel)
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < fractions[-1] < 1


# --- the end of an answer --------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_name", ["config.json", "generation_config.json"])
def test_each_of_several_end_tokens_ends_an_answer(
    file_name: str, shared_worker: StdioWorker, tmp_path: Path, byte_level: Tokenizer
):
    end, a, b, c = (token(byte_level, text) for text in ("<|endoftext|>", "a", "b", "c"))
    folder = write_scripted_model(tmp_path / "model", byte_level, chain([a, b, end, c]))
    edit(folder, file_name, eos_token_id=[end, token(byte_level, "z")])
    shared_worker.load(folder)
    choice = shared_worker.result("generate", token_ids=[a], max_tokens=10)["choices"][0]
    assert (choice["text"], choice["reason"]) == ("b", "eos")
    assert choice["token_ids"] == [b]


def test_the_tokenizers_end_token_counts_without_a_configured_one(
    shared_worker: StdioWorker, tmp_path: Path, byte_level: Tokenizer
):
    a, b = token(byte_level, "a"), token(byte_level, "b")
    folder = write_scripted_model(tmp_path / "model", byte_level, {a: b})
    edit(folder, "config.json", eos_token_id=None)
    shared_worker.load(folder)
    choice = shared_worker.result("generate", token_ids=[a], max_tokens=10)["choices"][0]
    assert (choice["text"], choice["reason"]) == ("b", "eos")


# --- formats ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=str)
def test_weights_of_16_bits_are_widened_on_a_cpu(dtype: mx.Dtype, random_llama: Path, tmp_path: Path):
    if mx.default_device() != mx.Device(mx.cpu):
        pytest.skip("not a CPU")
    wide = loaded(random_llama)
    folder = tmp_path / "model"
    folder.mkdir()
    for file in random_llama.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    weights: Any = mx.load(str(folder / "model.safetensors"))
    narrow = {name: array.astype(dtype) for name, array in weights.items()}
    mx.save_safetensors(str(folder / "model.safetensors"), narrow, metadata={"format": "mlx"})
    model = loaded(folder)
    assert model.weights_bytes == wide.weights_bytes
    tokens = mx.array([[50, 60, 70]])
    logits = [np.array(one.forward(tokens, one.new_layers())) for one in (wide, model)]
    assert np.abs(logits[0] - logits[1]).max() < 0.2


@pytest.mark.parametrize(
    "quantized",
    [
        {"group_size": 32, "bits": 4},
        {"group_size": 64, "bits": 8},
        {"group_size": 32, "bits": 4, "mode": "mxfp4"},
    ],
    ids=["4 bits", "8 bits", "mxfp4"],
)
def test_a_quantized_model_is_loaded_and_answers(
    quantized: dict[str, Any],
    shared_worker: StdioWorker,
    tmp_path: Path,
    byte_level: Tokenizer,
):
    config = small_llama(byte_level.get_vocab_size(with_added_tokens=True))
    plain = shared_worker.load(write_random_model(tmp_path / "plain", byte_level, config))
    small = shared_worker.load(write_random_model(tmp_path / "small", byte_level, config, quantized=quantized))
    assert small["num_parameters"] == plain["num_parameters"]
    # On a CPU they are unpacked.
    assert small["weights"]["form"] in {"unpacked", "stored"}
    assert (small["weights_bytes"] == plain["weights_bytes"]) == (small["weights"]["form"] == "unpacked")
    assert plain["weights"]["form"] == "stored"
    finished = shared_worker.result("generate", text="Hello there", max_tokens=8)
    assert finished["type"] == "finished"
    again = shared_worker.result("generate", text="Hello there", max_tokens=8)
    assert again["choices"][0]["token_ids"] == finished["choices"][0]["token_ids"]


def test_weights_in_several_files_are_one_model(random_llama: Path, tmp_path: Path):
    folder = tmp_path / "model"
    folder.mkdir()
    for file in random_llama.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    files = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, part in files.items():
        save_file({name: weights[name] for name in part}, folder / file, metadata={"format": "mlx"})
    index = {"weight_map": {name: file for file, part in files.items() for name in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert loaded(folder).num_parameters == loaded(random_llama).num_parameters


# --- tokenizers ------------------------------------------------------------------------------------------------


def test_a_tokenizer_without_a_usable_file_is_refused(random_llama: Path, tmp_path: Path):
    folder = tmp_path / "model"
    folder.mkdir()
    for file in random_llama.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    edit(folder, "tokenizer_config.json", tokenizer_class="ByT5Tokenizer")
    with pytest.raises(ModelInvalidError, match="a format that Bough can't read"):
        UnreadModel(find_model(str(folder)))


def test_a_model_without_a_chat_template_gets_a_transcript(
    shared_worker: StdioWorker, random_llama: Path, tmp_path: Path
):
    folder = tmp_path / "model"
    folder.mkdir()
    for file in random_llama.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    edit(folder, "tokenizer_config.json", chat_template=None)
    shared_worker.load(folder)
    tokenized = shared_worker.result("tokenize", messages=[{"role": "user", "content": "Hi <|im_end|>"}])
    assert "".join(tokenized["pieces"]) == "User: Hi <|im_end|>\n\nAssistant:"
    assert byte_count(tokenized["pieces"]) > len(tokenized["token_ids"])


def test_a_template_is_given_to_a_model_without_one(shared_worker: StdioWorker, random_llama: Path, tmp_path: Path):
    folder = tmp_path / "model"
    folder.mkdir()
    for file in random_llama.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    messages = [{"role": "user", "content": "Hi"}]
    given = {"messages": messages}

    def prompt() -> str:
        return "".join(shared_worker.result("tokenize", **given)["pieces"])

    own = shared_worker.result("load_model", model=str(folder), chat_template=PLAIN)
    assert own["has_template"]
    assert prompt() == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    edit(folder, "tokenizer_config.json", chat_template=None)
    without = shared_worker.result("load_model", model=str(folder), chat_template=PLAIN)
    assert not without["has_template"]
    assert prompt() == "User:\nHi<|im_end|>\n\nAssistant:\n"
    assert not shared_worker.load(folder)["has_template"]
    assert prompt() == "User: Hi\n\nAssistant:"


def byte_count(pieces: list[str]) -> int:
    return len("".join(pieces).encode())


def test_tokens_beyond_the_models_vocabulary_are_never_used(
    shared_worker: StdioWorker, tmp_path: Path, byte_level: Tokenizer
):
    tokenizer = Tokenizer.from_str(byte_level.to_str())
    folder = write_random_llama(tmp_path / "model", tokenizer)
    tokenizer.add_special_tokens(["<|beyond|>"])
    tokenizer.add_tokens(["branches"])
    tokenizer.save(str(folder / "tokenizer.json"))
    size = shared_worker.load(folder)["vocab_size"]
    assert size == byte_level.get_vocab_size(with_added_tokens=True)
    content = "Two branches, and <|beyond|> them."
    messages = [{"role": "user", "content": content}]
    tokenized = shared_worker.result("tokenize", messages=messages)
    assert max(tokenized["token_ids"]) < size
    assert content in "".join(tokenized["pieces"])
    assert shared_worker.result("generate", messages=messages, max_tokens=3)["type"] == "finished"
