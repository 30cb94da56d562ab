"""Searching the hub and describing models, over real HTTP on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import huggingface_hub.constants
import pytest

from app.catalog.hub import Hub
from app.catalog.hub_error import HubError
from tests.hub_server import Fault, HubServer, Repository


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    with HubServer() as server:
        yield server


FILES = {"config.json": b"{}", "model.safetensors": b"weights", "tokenizer.json": b"{}", "run.py": b"print()"}
MLX = ("mlx", "text-generation", "license:apache-2.0", "4-bit")


def test_the_models_of_mlx_community_come_first(server: HubServer) -> None:
    server.add(Repository("someone/big-4bit", FILES, MLX, downloads=900))
    server.add(Repository("mlx-community/small-4bit", FILES, MLX, downloads=5))
    server.add(Repository("someone/some-GGUF", {}, ("gguf",), downloads=9000, expand={"gguf": {"total": 7}}))
    found = Hub(server.url).search("").models
    assert [model.repo for model in found] == ["mlx-community/small-4bit", "someone/big-4bit", "someone/some-GGUF"]
    assert [model.format for model in found] == ["mlx", "mlx", "gguf"]
    assert found[0].licence == "apache-2.0"


def test_details_name_the_files_that_bough_needs(server: HubServer) -> None:
    server.add(Repository("mlx-community/small-4bit", FILES, MLX))
    (model,) = Hub(server.url).details("mlx-community/small-4bit")
    assert [file.path for file in model.files] == ["config.json", "tokenizer.json", "model.safetensors"]
    assert model.num_bytes == 11


def test_a_missing_repository_is_gone(server: HubServer) -> None:
    with pytest.raises(HubError) as failed:
        Hub(server.url).details("someone/nothing")
    assert failed.value.kind == "gone"


def test_a_failing_server_is_named(server: HubServer) -> None:
    server.fail("/api/models", Fault("status", status=503), times=3)
    with pytest.raises(HubError) as failed:
        Hub(server.url).search("llama")
    assert failed.value.kind == "failed"
    assert "HTTP 503" in failed.value.sentence
