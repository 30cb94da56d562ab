"""Sampling settings for tests."""

from __future__ import annotations

import msgspec

from app.model.message import Sampling
from app.program import Program


def set_sampling(program: Program, sampling: Sampling) -> None:
    """Set the sampling of conversations that have no settings of their own."""
    program.set_default_generation(msgspec.structs.replace(program.settings.generation, sampling=sampling))
