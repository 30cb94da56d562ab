"""Deleting models: all of it, only inside Bough's folder and the Hugging Face cache, and never a link's target."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from app.catalog.entry import LocalModel, Source
from app.catalog.hub_folder import HubFolder
from app.catalog.removal import RemovalError, remove


def _model(path: Path, source: Source = "bough", repo: str = "") -> LocalModel:
    return LocalModel(name=str(path), title="M", path=path, source=source, format="mlx", num_bytes=3, repo=repo)


def _folder(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_bytes(b"abc")
    return path


def test_a_model_of_bough_is_deleted_with_its_folder(tmp_path: Path) -> None:
    folder, other = _folder(tmp_path / "models" / "a"), _folder(tmp_path / "models" / "b")
    assert remove(_model(folder), models=tmp_path / "models", cache=tmp_path / "hub") == 3
    assert not folder.exists()
    assert other.exists()


def test_a_repository_of_the_cache_is_deleted_with_its_blobs(tmp_path: Path) -> None:
    repo = tmp_path / "hub" / "models--owner--name"
    _folder(repo / "blobs")
    snapshot = repo / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").symlink_to("../../blobs/config.json")
    remove(_model(snapshot, "hub", "owner/name"), models=tmp_path / "models", cache=tmp_path / "hub")
    assert not repo.exists()


def test_a_repository_that_is_downloaded_now_stays(tmp_path: Path) -> None:
    folder = HubFolder("owner/name", tmp_path / "hub", "0" * 40)
    _folder(folder.snapshot)
    folder.lock.parent.mkdir(parents=True)
    model = _model(folder.snapshot, "hub", "owner/name")
    with folder.lock.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RemovalError, match="is being downloaded now"):
            remove(model, models=tmp_path / "models", cache=tmp_path / "hub")
    assert folder.snapshot.exists()
    remove(model, models=tmp_path / "models", cache=tmp_path / "hub")
    assert not folder.path.exists()
    assert not folder.lock.exists()


def test_only_the_link_to_a_folder_is_deleted(tmp_path: Path) -> None:
    target = _folder(tmp_path / "elsewhere")
    (tmp_path / "models").mkdir()
    link = tmp_path / "models" / "linked"
    link.symlink_to(target)
    remove(_model(link), models=tmp_path / "models", cache=tmp_path / "hub")
    assert not link.is_symlink()
    assert (target / "config.json").exists()


@pytest.mark.parametrize("source", ["lm_studio", "ollama", "added", "bough"])
def test_models_elsewhere_stay(tmp_path: Path, source: Source) -> None:
    folder = _folder(tmp_path / "elsewhere" / "a")
    with pytest.raises(RemovalError, match="Delete it there"):
        remove(_model(folder, source), models=tmp_path / "models", cache=tmp_path / "hub")
    assert folder.exists()


def test_bough_s_folder_itself_stays(tmp_path: Path) -> None:
    models = _folder(tmp_path / "models")
    with pytest.raises(RemovalError):
        remove(_model(models), models=models, cache=tmp_path / "hub")
    assert models.exists()
