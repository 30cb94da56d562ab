"""Models are found in the folders of Bough and other programs, in their real layouts."""

from __future__ import annotations

from pathlib import Path

from app.catalog.on_disk import find_models, usual_roots
from tests.models import byte_level_tokenizer, write_random_llama

REVISION = "0123456789abcdef0123456789abcdef01234567"


def write_hub_model(cache: Path, repo: str) -> Path:
    """Write a model as huggingface_hub lays it out: blobs, and links to them in a snapshot."""
    folder = cache / f"models--{repo.replace('/', '--')}"
    snapshot = folder / "snapshots" / REVISION
    write_random_llama(snapshot, byte_level_tokenizer())
    (folder / "blobs").mkdir()
    for number, file in enumerate(sorted(snapshot.iterdir())):
        file.rename(folder / "blobs" / f"{number:040x}")
        file.symlink_to(Path("../../blobs") / f"{number:040x}")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(REVISION)
    return snapshot


def test_models_of_bough_and_of_the_hub(tmp_path: Path):
    own = tmp_path / "models"
    write_random_llama(own / "owner" / "little", byte_level_tokenizer())
    snapshot = write_hub_model(tmp_path / "hf" / "hub", "owner/name")
    roots = usual_roots(own, environment={"HF_HOME": str(tmp_path / "hf")}, home=tmp_path)
    little, cached = find_models(roots)
    assert (little.name, little.title, little.source) == (str(own / "owner" / "little"), "little", "bough")
    assert (cached.name, cached.title, cached.path, cached.source) == ("owner/name", "name", snapshot, "hub")
    assert {little.problem, cached.problem} == {None}
    assert {little.architecture, cached.architecture} == {"llama"}
