"""Messages between a process that fetches or converts a model and the queue that started it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from app.catalog.entry import LocalGguf, RemoteModel
from worker.sentence import SentenceParts

Phase: TypeAlias = Literal["fetching", "checking", "converting"]
"""`checking`: the bytes that were here already are compared with their hashes."""


class FetchOrder(Struct, frozen=True, kw_only=True):
    """A process's work. It holds no token."""

    model: RemoteModel | LocalGguf
    endpoint: str
    cache: Path
    """The Hugging Face cache."""
    folder: Path
    """The job's own folder: a GGUF file lies here until it is converted."""
    models: Path
    """Bough's own models."""
    target: Path | None = None
    """The model folder that an earlier process began to make of a GGUF file; None if none did."""
    stall_s: float = 20.0
    """After how long without a byte a connection counts as cut."""
    first_wait_s: float = 1.0
    """The pause before the second try; it doubles with each further one that brings no byte."""
    may_use_xet: bool = True


class Planned(Struct, frozen=True, tag=True):
    """The files are known."""

    model: RemoteModel


class Began(Struct, frozen=True, tag=True):
    """The conversion of a GGUF file has begun, or goes on."""

    target: str
    """The model folder that it becomes."""


class Progressed(Struct, frozen=True, tag=True):
    phase: Phase
    num_bytes: int
    """The bytes that were fetched or converted."""
    total_bytes: int


class Waiting(Struct, frozen=True, tag=True):
    """A connection failed and is tried again."""

    why: SentenceParts
    seconds: float


class Alive(Struct, frozen=True, tag=True):
    """Sent each second: the process runs."""


class Landed(Struct, frozen=True, tag=True):
    name: str
    """The name that `load_model` takes."""
    path: str


class FetchFailed(Struct, frozen=True, tag=True):
    kind: str
    why: SentenceParts


FetchEvent: TypeAlias = Planned | Began | Progressed | Waiting | Alive | Landed | FetchFailed
