"""GGUF files become model folders."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.worker.gguf.files import write_llama
from worker.gguf.conversion import convert, inspect, record_of
from worker.models.folder import check_folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_llama(tmp_path / "small.gguf")


def test_a_file_becomes_a_folder(file: Path, tmp_path: Path) -> None:
    steps = list(convert(file, tmp_path / "small"))
    assert steps
    assert steps[-1].done_bytes == steps[-1].total_bytes
    assert steps[-1].conversion == record_of(tmp_path / "small")
    folder = check_folder(tmp_path / "small")
    assert folder.architecture == "llama"
    assert not (tmp_path / "small.partial").exists()
    weights = load_file(tmp_path / "small" / "model.safetensors")
    assert weights["model.layers.0.self_attn.q_proj.scales"].dtype == np.float16
    assert json.loads((tmp_path / "small" / "config.json").read_text())["quantization"]["bits"] == 4


def test_a_file_is_described_by_its_header(file: Path) -> None:
    found = inspect(file)
    assert (found.architecture, found.quantization, found.context_length) == ("llama", "Q4_0", 128)
    assert found.num_bytes == file.stat().st_size
    assert found.num_parameters == sum(int(np.prod(each.shape)) for each in gguf.GGUFReader(file).tensors)
