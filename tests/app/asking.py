"""How a test has answers drawn."""

from __future__ import annotations

import msgspec

from app.model.message import Sampling
from app.program import Program


def set_sampling(program: Program, sampling: Sampling) -> None:
    """Say how conversations draw that say nothing else."""
    program.set_asking(msgspec.structs.replace(program.settings.asking, sampling=sampling))
