"""Which stretches of an answer's tokens were drawn in one go, and with what; it draws nothing."""

from __future__ import annotations

from msgspec import Struct, structs

from app.model.message import ORIGINS, Earlier, Record, Sampling

DRAWN = frozenset(ORIGINS[origin] for origin in ("sampled", "forced", "draft"))
"""Tokens that come again where everything is as it was. Those at a seam depend on the text around it."""


class Run(Struct, frozen=True):
    """A stretch of ids that one seed drew."""

    begin: int
    end: int
    seed: int | None
    sampling: Sampling
    is_last: bool


def runs_of(record: Record) -> list[Run]:
    """The stretches of a record's ids that were drawn in one go; the last may be nothing but an end."""
    num_ids = len(record.token_ids)
    # What was cut anew at the end was drawn as other tokens: only its text can be compared.
    num_whole = len(record.origins.rstrip(ORIGINS["recut"])) if record.origins else num_ids
    last = Earlier(end=num_whole, seed=record.seed, sampling=record.sampling)
    runs: list[Run] = []
    begin = 0
    for part in (*record.earlier, last):
        end = min(part.end, num_whole)
        place = begin
        while place < end:
            start = place
            while place < end and (not record.origins or record.origins[place] in DRAWN):
                place += 1
            if place > start:
                runs.append(Run(start, place, part.seed, part.sampling, False))
            else:
                place += 1
        begin = max(begin, end)
    last_begin = record.earlier[-1].end if record.earlier else 0
    has_none = not runs or runs[-1].end < num_whole or last_begin >= num_whole
    if num_whole < num_ids and has_none:
        runs.append(Run(num_whole, num_whole, last.seed, last.sampling, False))
    if runs and runs[-1].end == num_whole:
        runs[-1] = structs.replace(runs[-1], is_last=True)
    return runs
