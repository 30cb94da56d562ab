"""Converted folders are loaded, and GGUF files that were not converted are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import mlx.core as mx
import numpy as np
import pytest

from tests.attacks.gguf_bytes import LIST, Entry, raw_file
from tests.trials import TRIALS
from tests.worker.gguf.files import WORDS, write_llama
from worker.errors import ModelInvalidError, ModelNotFoundError
from worker.gguf.conversion import convert
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model


def loaded(file: Path, folder: Path) -> LanguageModel:
    for _ in convert(file, folder):
        pass
    *_, model = UnreadModel(find_model(str(folder)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    return model


@pytest.mark.parametrize("kind", ["Q4_0", "MXFP4", "Q5_1", "F16"])
def test_a_converted_model_computes_with_the_numbers_of_its_file(tmp_path: Path, kind: str) -> None:
    model = loaded(write_llama(tmp_path / "m.gguf", kind, tied=False), tmp_path / "m")
    assert model.notices == []
    # With an untied output, an embedding of zeros but for one number picks a column of a matrix.
    tensors = {each.name: each for each in gguf.GGUFReader(tmp_path / "m.gguf").tensors}
    output = tensors["output.weight"]
    expected = gguf.dequantize(output.data, output.tensor_type)
    head: Any = model._model.lm_head  # pyright: ignore[reportPrivateUsage]
    found = head(mx.eye(expected.shape[1]))
    assert np.array_equal(np.array(found.astype(mx.float32)).T, expected)


def test_a_model_without_an_end_token_or_a_template_says_so(tmp_path: Path) -> None:
    file = write_llama(tmp_path / "m.gguf")
    raw = raw_file(file).without("tokenizer.ggml.eos_token_id", "tokenizer.chat_template")
    raw = raw.with_entry(Entry("tokenizer.ggml.tokens", LIST, ["<a>", "<b>", "<c>", *WORDS[3:]]))
    file.write_bytes(bytes(raw))
    model = loaded(file, tmp_path / "m")
    assert [str(notice)[:67] for notice in model.notices] == [
        "The files of this model do not say which token ends an answer, so i"
    ]
    assert not list((tmp_path / "m").glob("*.jinja"))


def test_a_file_that_was_not_converted_is_named(tmp_path: Path) -> None:
    file = write_llama(tmp_path / "m.gguf")
    with pytest.raises(ModelNotFoundError, match="is a GGUF file, which Bough must convert first"):
        find_model(str(file))
    with pytest.raises(ModelInvalidError, match=r"contains a GGUF file \(m\.gguf\)"):
        find_model(str(tmp_path))
