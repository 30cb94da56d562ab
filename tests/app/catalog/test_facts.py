"""The small files of a model: its chat template, its licence, its form, the token that ends an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.catalog import facts


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, ""),
        ({"chat_template.jinja": "{{ a }}"}, "{{ a }}"),
        ({"chat_template.json": {"chat_template": "b"}, "tokenizer_config.json": {"chat_template": "c"}}, "b"),
        ({"tokenizer_config.json": {"chat_template": "c"}}, "c"),
        ({"tokenizer_config.json": {"chat_template": [7, {"name": "default", "template": "d"}]}}, "d"),
        ({"tokenizer_config.json": {"chat_template": [{"name": "default"}, 7]}}, ""),
        ({"tokenizer_config.json": {"chat_template": {}}}, ""),
        ({"tokenizer_config.json": "["}, ""),
    ],
)
def test_the_chat_template_is_found_in_each_of_its_files(tmp_path: Path, files: dict[str, Any], text: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert facts.template_text(tmp_path) == text


@pytest.mark.parametrize(
    ("readme", "licence"),
    [
        (None, ""),
        ("No front matter\nlicense: mit\n", ""),
        ("---\nlicense: apache-2.0\n---\n", "apache-2.0"),
        ("---\nlicense: 'mit'\nlicense_name: not this\n---\n", "mit"),
        ("---\nlicense: other\nlicense_name: llama-3\n---\n", "llama-3"),
        ("---\nlicense: other\n---\nlicense_name: no\n", "other"),
        ("---\nlicense:\n---\n", ""),
    ],
)
def test_the_licence_is_that_of_the_front_matter(tmp_path: Path, readme: str | None, licence: str) -> None:
    files = set[str]()
    if readme is not None:
        (tmp_path / "README.md").write_text(readme, encoding="utf-8")
        files.add("README.md")
    assert facts.licence(tmp_path, files) == licence
    assert facts.licence(tmp_path, {"README.md"}) == licence  # also if it is gone since


@pytest.mark.parametrize(
    ("config", "dtype", "text"),
    [
        ({"quantization": {"bits": 4}}, "", "4 bits"),
        ({"quantization": {"bits": 4, "mode": "mxfp4"}}, "", "MXFP4"),
        ({"quantization_config": {"quant_method": "awq"}}, "", "AWQ"),
        ({"quantization": 7, "torch_dtype": "bfloat16"}, "", "BF16"),
        ({"quantization": {"bits": "many"}, "dtype": "float16"}, "", "F16"),
        ({"torch_dtype": ["float16"]}, "", ""),
        ({}, "F32", "F32"),
    ],
)
def test_the_form_of_the_weights_is_described_in_words(config: dict[str, Any], dtype: str, text: str) -> None:
    assert facts.quantization(config, dtype) == text


@pytest.mark.parametrize(
    ("file", "content", "found"),
    [
        ("generation_config.json", {"eos_token_id": [1, 2]}, True),
        ("generation_config.json", {"eos_token_id": True}, False),
        ("tokenizer_config.json", {"eos_token": "</s>"}, True),
        ("tokenizer_config.json", {"eos_token": {"content": "</s>"}}, True),
        ("tokenizer_config.json", {"eos_token": None}, False),
        ("other.json", {}, False),
    ],
)
def test_the_end_token_is_found_in_each_of_its_files(tmp_path: Path, file: str, content: object, found: bool) -> None:
    (tmp_path / file).write_text(json.dumps(content), encoding="utf-8")
    assert facts.has_end_token(tmp_path, {}) is found
    assert facts.has_end_token(tmp_path, {"text_config": {"eos_token_id": 3}})
