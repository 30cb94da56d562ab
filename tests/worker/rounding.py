"""Comparison of answers within rounding: other shapes and kernels change the last bits of logits."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
from msgspec.structs import replace

from worker.language_model import LanguageModel
from worker.protocol import Choice, Generate
from worker.requests.prompts import Prompts
from worker.requests.request import Request, Ticket

_NOISE = 2e-3
"""In standard deviations of the logits: far more than rounding, far less than the effect of a wrong position."""
_NUM_DRAWS = 40


def request_of(model: LanguageModel, command: Generate) -> Request:
    return Request(command, Ticket(command.request_id), Prompts(model), model)


def is_close(
    model: LanguageModel, command: Generate, one: Sequence[int], other: Sequence[int], choice: int = 0
) -> bool:
    """Return whether a small change of the logits explains the first tokens that differ.

    If one answer is the beginning of the other, that is the token after it.
    """
    position = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    request = request_of(model, command)
    sampler = request._samplers[choice]  # pyright: ignore[reportPrivateUsage]
    sequence = request.sequence + list(one[:position])
    mask = None
    if command.constraint is not None:
        constraint = model.constraints.new(command.constraint)
        assert constraint.consume(one[:position])
        mask = mx.array(constraint.mask().tolist())
    logits = model.forward(mx.array([sequence]), model.new_layers())
    sampled: set[int] = set()
    for number in range(_NUM_DRAWS):
        noise = mx.random.normal(logits.shape, key=mx.random.key(number)) * mx.std(logits) * _NOISE
        token = sampler.draw(logits + noise, sampler.recent(sequence), len(sequence), mask=mask)
        sampled.add(int(token.item()))  # pyright: ignore[reportArgumentType]
    return len(sampled) > 1


def agree(model: LanguageModel, command: Generate, one: Sequence[Choice], other: Sequence[Choice]) -> bool:
    """Return whether all choices are equal except for seeds, or first differ at a token that rounding decides."""
    return len(one) == len(other) and all(
        first == replace(second, seed=first.seed) or is_close(model, command, first.token_ids, second.token_ids, choice)
        for choice, (first, second) in enumerate(zip(one, other, strict=True))
    )
