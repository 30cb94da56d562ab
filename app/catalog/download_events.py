"""Messages between the queue of downloads and the process that it starts to download or convert a model."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from app.catalog.entry import LocalGguf, RemoteModel
from worker.sentence import SentenceParts

Phase: TypeAlias = Literal["downloading", "checking", "converting"]
"""`checking` means that bytes from an earlier attempt are compared with their hashes."""


class DownloadOrder(Struct, frozen=True, kw_only=True):
    """The work for a process. It never contains the user's token."""

    model: RemoteModel | LocalGguf
    endpoint: str
    cache: Path
    """The folder of the Hugging Face cache."""
    folder: Path
    """The folder of this job, in which a GGUF file is kept until it is converted."""
    models: Path
    """The folder of Bough's own models."""
    target: Path | None = None
    """The model folder to which an earlier process began to convert the GGUF file; None if there is none."""
    stall_s: float = 20.0
    """A connection that has brought no byte for this time counts as lost."""
    first_wait_s: float = 1.0
    """The pause before the second attempt. It doubles with each further attempt that brings no byte."""
    may_use_xet: bool = True


class Planned(Struct, frozen=True, tag=True):
    """The list of files to download is known."""

    model: RemoteModel


class Began(Struct, frozen=True, tag=True):
    """The conversion of a GGUF file has started or resumed."""

    target: str
    """The model folder that the conversion makes."""


class Progressed(Struct, frozen=True, tag=True):
    phase: Phase
    num_bytes: int
    """The number of bytes that have been downloaded or converted."""
    total_bytes: int


class Waiting(Struct, frozen=True, tag=True):
    """A connection has failed, and will be tried again."""

    why: SentenceParts
    seconds: float


class Alive(Struct, frozen=True, tag=True):
    """Sent every second while the process runs."""


class Landed(Struct, frozen=True, tag=True):
    name: str
    """The name that `load_model` takes."""
    path: str


class DownloadFailed(Struct, frozen=True, tag=True):
    kind: str
    why: SentenceParts


DownloadEvent: TypeAlias = Planned | Began | Progressed | Waiting | Alive | Landed | DownloadFailed
