"""Estimates whether an answer of a loaded model fits into memory, and what would. Pure functions, as in `fit.py`."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from app.catalog.entry import Asked, KvBits, Memory, Shape, Shortage
from app.catalog.fit import answering_bytes, kv_bytes, process_bytes, wasted_bytes
from worker.sentence import Sentence, joined

_STEP = 256
_MIN_PROMPT = 512


class Loaded(Struct, frozen=True, kw_only=True):
    """The facts about a loaded model that determine how much memory its answers need."""

    shape: Shape
    weights_bytes: int
    """The size of the weights in memory."""
    context_length: int
    kv_bits: KvBits = 16
    extra_bytes: int = 0
    """How many bytes more (or less) than estimated its answers took, see `fit.extra_of`."""


def shortage(model: Loaded, memory: Memory, asked: Asked) -> Shortage | None:
    """Return why an answer would not fit into memory; None if it fits.

    `memory` is the state now, in which the model and its cache already take memory.
    """
    needed = _more_bytes(model, memory, asked)
    if needed <= memory.available_bytes:
        return None
    is_too_large = _whole_bytes(model, memory, asked) > memory.total_bytes
    if asked.num_answers > 1 and is_too_large:
        numbers = Sentence(
            "{num_answers} answers at once take {need_bytes} of memory with the model, but models can use only "
            "{total_bytes} here.",
            num_answers=asked.num_answers,
            need_bytes=_whole_bytes(model, memory, asked),
            total_bytes=memory.total_bytes,
        )
    elif is_too_large:
        numbers = Sentence(
            "{num_tokens} tokens, answer included, take {need_bytes} of memory with the model, but models can use "
            "only {total_bytes} here.",
            num_tokens=asked.num_tokens,
            need_bytes=_whole_bytes(model, memory, asked),
            total_bytes=memory.total_bytes,
        )
    elif asked.num_answers > 1:
        numbers = Sentence(
            "{num_answers} answers at once take {need_bytes} more memory, but only {available_bytes} are free.",
            num_answers=asked.num_answers,
            need_bytes=needed,
            available_bytes=memory.available_bytes,
        )
    else:
        numbers = Sentence(
            "{num_tokens} tokens, answer included, take {need_bytes} more memory, but only {available_bytes} are free.",
            num_tokens=asked.num_tokens,
            need_bytes=needed,
            available_bytes=memory.available_bytes,
        )
    return Shortage(sentence=joined([numbers, *_advice(model, memory, asked, is_too_large)]), is_too_large=is_too_large)


def _more_bytes(model: Loaded, memory: Memory, asked: Asked) -> int:
    """Return the bytes that the answer needs in addition to what is in memory already."""
    here = kv_bytes(model.shape, memory, asked.num_kept, model.kv_bits) if asked.num_kept else 0
    return _answering_bytes(model, memory, asked) - here


def _whole_bytes(model: Loaded, memory: Memory, asked: Asked) -> int:
    """Return the bytes that the model and the answer need together if nothing else is cached."""
    return model.weights_bytes + process_bytes(model.shape) + _answering_bytes(model, memory, asked)


def _answering_bytes(model: Loaded, memory: Memory, asked: Asked) -> int:
    arrays = answering_bytes(model.shape, memory, asked.num_tokens, model.kv_bits, asked.num_answers)
    return arrays + wasted_bytes(model.shape, memory, asked.num_tokens, model.kv_bits) + model.extra_bytes


def _advice(model: Loaded, memory: Memory, asked: Asked, is_too_large: bool) -> Iterator[Sentence]:
    def fits(model: Loaded, asked: Asked) -> bool:
        if is_too_large:
            return _whole_bytes(model, memory, asked) <= memory.total_bytes
        return _more_bytes(model, memory, asked) <= memory.available_bytes

    def with_answers(number: int) -> Asked:
        return Asked(num_tokens=asked.num_tokens, num_kept=asked.num_kept, num_answers=number)

    fewer = next((number for number in range(asked.num_answers - 1, 0, -1) if fits(model, with_answers(number))), 0)
    if fewer:
        yield Sentence("{num_answers} at once would fit.", num_answers=fewer)
        return
    length = asked.num_tokens // _STEP * _STEP
    while length >= _MIN_PROMPT and not fits(
        model, Asked(num_tokens=length, num_kept=min(asked.num_kept, length), num_answers=1)
    ):
        length -= _STEP
    if length >= _MIN_PROMPT:
        yield Sentence("{num_tokens} tokens would fit.", num_tokens=length)
    for bits in (8, 4):
        if bits < model.kv_bits:
            quantized = Loaded(
                shape=model.shape,
                weights_bytes=model.weights_bytes,
                context_length=model.context_length,
                kv_bits=bits,
                extra_bytes=model.extra_bytes,
            )
            if fits(quantized, with_answers(1)):
                yield Sentence(
                    "With a cache of {num_bits} bits (on the model's page), all of it would fit.", num_bits=bits
                )
                return
    if not is_too_large:
        yield Sentence("Closing other programs may help.")
    elif length < _MIN_PROMPT:
        yield Sentence("Choose a smaller model, or a version of it with fewer bits.")
