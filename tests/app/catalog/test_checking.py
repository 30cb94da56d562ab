"""Checking a model's files by their hashes, and trying it in a real worker."""

from __future__ import annotations

import hashlib
import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path

from app.catalog.checking import Checked, Checking, check, summary
from app.catalog.entry import LocalModel


def _model(folder: Path) -> LocalModel:
    return LocalModel(name=str(folder), title="a", path=folder, source="hub", format="mlx", num_bytes=0)


def _check(model: LocalModel, meanwhile: Callable[[Checking], object] = lambda _: None) -> Checked:
    """Check a model. `meanwhile` is called with each progress."""
    checked: list[Checked] = []

    def steps() -> Iterator[Checking]:
        checked.append((yield from check(model)))

    for step in steps():
        meanwhile(step)
    return checked[0]


def _cached(folder: Path, name: str, content: bytes, *, is_git: bool = False) -> Path:
    """Put a file into a model's folder as the Hugging Face cache does: a link to a file that is named by its hash."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content) if is_git else hashlib.sha256(content)  # noqa: S324
    path = folder.parent / "blobs" / blob.hexdigest()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    folder.mkdir(exist_ok=True)
    (folder / name).symlink_to(path)
    return path


def test_a_changed_file_is_named_and_the_model_is_not_tried(tmp_path: Path) -> None:
    _cached(tmp_path / "model", "config.json", b"{}", is_git=True)
    changed = _cached(tmp_path / "model", "model.safetensors", b"weights")
    changed.write_bytes(b"weighty")
    (tmp_path / "model" / "notes.txt").write_text("A file without a known hash.")
    (tmp_path / "model" / "gone.txt").symlink_to(tmp_path / "nowhere")
    stages: list[str] = []
    checked = _check(_model(tmp_path / "model"), lambda step: stages.append(step.stage))
    assert (checked.num_hashed, checked.hashed_bytes, checked.is_whole, checked.is_loaded) == (1, 2, False, False)
    (problem,) = checked.problems
    assert (
        problem
        == f"{changed} is damaged: its content does not match its hash. Remove the model, and download it again."
    )
    assert set(stages) == {"checking the files"}


def test_a_file_that_disappears_during_the_check_is_reported(tmp_path: Path) -> None:
    _cached(tmp_path / "model", "a.json", b"{}", is_git=True)
    gone = _cached(tmp_path / "model", "b.json", b"[]", is_git=True)
    checked = _check(_model(tmp_path / "model"), lambda _: gone.unlink(missing_ok=True))
    assert (checked.num_hashed, checked.problems) == (1, (f"{gone} can't be read (No such file or directory).",))


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    checked = _check(_model(tmp_path / "nowhere"))
    assert (checked.num_hashed, checked.is_loaded) == (0, False)
    (problem,) = checked.problems
    assert str(tmp_path / "nowhere") in problem


def test_a_worker_that_dies_during_the_check_is_reported(random_llama: Path) -> None:
    others = multiprocessing.active_children()

    def kill(step: Checking) -> None:
        if step.stage == "loading the model":
            for worker in multiprocessing.active_children():
                if worker not in others:
                    worker.kill()

    checked = _check(_model(random_llama), kill)
    assert checked.problems == ("The model process stopped while it tried the model.",)


def test_the_summary_says_what_was_checked() -> None:
    checked = Checked(name="a", path=Path("a"))
    assert summary(checked) == "The file's header can be read."
    loaded = Checked(name="a", path=Path("a"), num_hashed=2, hashed_bytes=12, is_loaded=True)
    assert summary(loaded) == "Files whose content matches their hash: 2 (12 bytes). It loads and answers."
