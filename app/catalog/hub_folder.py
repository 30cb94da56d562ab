"""The folder of a repository in the Hugging Face cache: `blobs/<hash>`, `snapshots/<commit>/<path>` and `refs/main`.

Models in MLX format are downloaded into this cache and not into a folder of Bough's own. So other programs find them,
`load_model` loads them by the repository's name, and nothing is downloaded twice. The layout is documented by
huggingface_hub, whose own downloads can't be resumed after their process has ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from app.catalog.entry import RemoteFile, RemoteModel
from worker.regular_file import read_regular

_MAX_REVISION_BYTES = 1 << 10
_PART = ".bough.incomplete"
"""huggingface_hub's own unfinished files end in `.incomplete`, too."""


@dataclass(frozen=True)
class Place:
    """The paths of a file: `part` during the download, `final` once it is complete."""

    file: RemoteFile
    part: Path
    final: Path

    @property
    def num_bytes(self) -> int:
        """The number of bytes that have been downloaded."""
        for path in (self.final, self.part):
            with contextlib.suppress(OSError):
                return min(path.stat().st_size, self.file.num_bytes)
        return 0


def main_revision(repository: Path) -> str:
    """Return the commit of the branch `main` in a repository's folder.

    Raises `OSError` or `ValueError` if there is no such commit or it can't be read.
    """
    return read_regular(repository / "refs" / "main", _MAX_REVISION_BYTES).decode("ascii").strip()


def places(model: RemoteModel, cache: Path, folder: Path) -> list[Place]:
    """Return the paths of a model's files. Files with the same content have the same paths.

    `cache` is the Hugging Face cache, for MLX models. `folder` is the folder of the job, for GGUF files.
    """
    found: dict[Path, Place] = {}
    in_hub = HubFolder(model.repo, cache, model.revision)
    for file in model.files:
        if model.format == "mlx":
            place = Place(file, in_hub.part(file), in_hub.blob(file))
        else:
            final = folder / "files" / file.path
            place = Place(file, final.with_name(f"{final.name}{_PART}"), final)
        found.setdefault(place.final, place)
    return list(found.values())


class HubFolder:
    """The folder of one repository."""

    def __init__(self, repo: str, cache: Path, revision: str = "") -> None:
        """`revision` is the commit whose files to use."""
        self._revision = revision
        name = f"models--{repo.replace('/', '--')}"
        self.path = cache / name
        self.lock = cache / ".locks" / name / "bough.lock"

    def blob(self, file: RemoteFile) -> Path:
        """Return the path of a file's content."""
        name = file.sha256 or file.blob_id
        if not name:  # some mirrors name no hashes
            import hashlib

            name = hashlib.sha256(f"{self._revision}/{file.path}".encode()).hexdigest()[:40]
        return self.path / "blobs" / name

    def part(self, file: RemoteFile) -> Path:
        """Return the path of a file's content during the download."""
        blob = self.blob(file)
        return blob.with_name(blob.name + _PART)

    @property
    def snapshot(self) -> Path:
        """The folder with all files of the commit."""
        return self.path / "snapshots" / self._revision

    def publish(self, files: Iterable[RemoteFile]) -> Path:
        """Make downloaded files visible as the repository's newest commit; return their folder. Raises `OSError`.

        The files appear in an order in which no program takes the folder for a complete model too early: config.json
        is the last file, and the name of the commit follows.
        """
        folder = self.snapshot
        for file in sorted(files, key=lambda file: (file.path == "config.json", file.path)):
            _link(self.blob(file), folder / file.path)
        main = self.path / "refs" / "main"
        main.parent.mkdir(parents=True, exist_ok=True)
        new = main.with_name(".main.bough")
        new.write_text(self._revision, encoding="utf-8")
        new.replace(main)
        return folder

    def discard(self, files: Iterable[RemoteFile]) -> int:
        """Remove the unfinished and unused files of a cancelled download; return the number of bytes freed."""
        freed = 0
        used = {path.resolve() for path in self.path.glob("snapshots/**/*") if path.is_symlink()}
        for file in files:
            for path in (self.part(file), self.blob(file)):
                if path.resolve() in used:
                    continue
                with contextlib.suppress(OSError):
                    num_bytes = path.stat().st_size
                    path.unlink()
                    freed += num_bytes
        for folder in (self.path / "blobs", self.path):
            with contextlib.suppress(OSError):
                folder.rmdir()
        shutil.rmtree(self.lock.parent, ignore_errors=True) if not self.path.exists() else None
        return freed


def _link(blob: Path, path: Path) -> None:
    """Link a path in a snapshot to a blob, or move the blob there if the file system has no links."""
    with contextlib.suppress(OSError):
        if path.samefile(blob):
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.bough")
    new.unlink(missing_ok=True)
    try:
        new.symlink_to(os.path.relpath(blob, path.parent))
    except OSError:
        if not blob.exists():
            raise
        blob.replace(path)
        return
    new.replace(path)
