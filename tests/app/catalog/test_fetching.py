"""Fetching models with real processes, over real HTTP on loopback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest

from app.catalog.fetching import FetchQueue
from app.catalog.hub import Hub
from app.places import Places
from tests.hub_server import HubServer, Repository

PATIENCE_S = 60.0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    with HubServer() as server:
        yield server


@pytest.fixture
def queue(server: HubServer, tmp_path: Path) -> Iterator[FetchQueue]:
    queue = FetchQueue(Places.under(tmp_path / "bough"), Hub(server.url), stall_s=0.5, first_wait_s=0.01)
    yield queue
    queue.close()


def test_a_model_lands_in_the_hugging_face_cache(server: HubServer, queue: FetchQueue, tmp_path: Path) -> None:
    files = {
        "config.json": b'{"model_type": "llama"}',
        "model.safetensors": os.urandom(3_000_000),
        "tokenizer.json": b"{}",
    }
    repository = server.add(Repository("mlx-community/small", files, ("mlx",)))
    (model,) = Hub(server.url).details("mlx-community/small")
    fetch = queue.wait(queue.add(model).id, PATIENCE_S)
    assert fetch is not None
    assert fetch.failure is None
    assert (fetch.state, fetch.name) == ("landed", "mlx-community/small")
    folder = Path(fetch.path)
    assert folder == tmp_path / "huggingface/hub/models--mlx-community--small/snapshots" / repository.commit
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    assert not (tmp_path / "bough/fetching").exists() or not list((tmp_path / "bough/fetching").iterdir())
