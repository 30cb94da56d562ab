"""Stores the memory and the speeds that were measured with each model on this machine, in a small file."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.catalog.entry import KvBits, Memory, Shape
from app.model.own_files import LatestWriter, make_folder, set_aside
from app.model.settings import write_atomically
from worker.regular_file import read_regular
from worker.sentence import Sentence

_log = logging.getLogger(__name__)

_MAX_BYTES = 1 << 20
_MAX_MODELS = 200
_MIN_PROMPT = 64
_MIN_ANSWER = 16
"""Prompts and answers with fewer tokens than this are too short to measure the speed."""
_MIN_PEAK_TOKENS = 128


class Measured(Struct, frozen=True, kw_only=True):
    """The measurements of one model. None means that a value was not measured."""

    weights_bytes: int = 0
    """The size of the weights in memory."""
    peak_bytes: int | None = None
    """The maximum that all arrays took during the first answer after loading."""
    peak_tokens: int = 0
    """The number of tokens in the prompt and the answer of that measurement."""
    peak_kv_bits: KvBits = 16
    """The precision of the cache in that measurement."""
    prompt_tokens_per_s: float | None = None
    answer_tokens_per_s: float | None = None

    def extra_bytes(self, shape: Shape, memory: Memory) -> int:
        """Return how many bytes more (or less) answers took than `fit.py` estimates; 0 if that was not measured."""
        from app.catalog.fit import extra_of

        if self.peak_bytes is None:
            return 0
        return extra_of(
            shape,
            memory,
            self.peak_bytes,
            num_tokens=self.peak_tokens,
            kv_bits=self.peak_kv_bits,
            weights_bytes=self.weights_bytes,
        )


class Answered(Struct, frozen=True, kw_only=True):
    """A worker's report about an answer that has ended."""

    is_first: bool
    """Whether this is the first answer since the model was loaded, so that nothing else was in memory."""
    prefilled_tokens: int
    num_tokens: int
    """The number of tokens in the prompt and the answer."""
    generated_tokens: int
    prefill_ms: float
    answer_tokens_per_s: float
    peak_bytes: int
    kv_bits: KvBits = 16


class Measurements:
    """The measurements of all models, by their names for `load_model`. No errors are raised."""

    def __init__(self, file: Path | None, report: Callable[[Sentence], None] = lambda _: None) -> None:
        """A `file` of None keeps the measurements only until Bough ends.

        `report` is called, in any thread, if the file is damaged.
        """
        self._file = file
        self._report = report
        self._known: dict[str, Measured] | None = None
        """The measurements by model; None before the file was read."""
        self._writer = LatestWriter(self._write)

    def close(self) -> None:
        """Wait until everything is written."""
        self._writer.finish()

    def of(self, name: str) -> Measured:
        return self._all.get(name, Measured())

    def note_loaded(self, name: str, weights_bytes: int) -> None:
        """Note the size of a model that was loaded. If the size has changed, its other measurements are dropped."""
        if self.of(name).weights_bytes != weights_bytes:
            self._set(name, Measured(weights_bytes=weights_bytes))

    def note_answer(self, name: str, answer: Answered) -> None:
        """Note an answer of a model. The speeds are running averages in which the last answer counts half."""
        found = self.of(name)
        if answer.prefilled_tokens >= _MIN_PROMPT and answer.prefill_ms > 0:
            speed = 1000 * answer.prefilled_tokens / answer.prefill_ms
            found = replace(found, prompt_tokens_per_s=_average(found.prompt_tokens_per_s, speed))
        if answer.generated_tokens >= _MIN_ANSWER and answer.answer_tokens_per_s > 0:
            speed = answer.answer_tokens_per_s
            found = replace(found, answer_tokens_per_s=_average(found.answer_tokens_per_s, speed))
        if answer.is_first and answer.peak_bytes and answer.num_tokens >= max(_MIN_PEAK_TOKENS, found.peak_tokens):
            found = replace(
                found, peak_bytes=answer.peak_bytes, peak_tokens=answer.num_tokens, peak_kv_bits=answer.kv_bits
            )
        self._set(name, found)

    @property
    def _all(self) -> dict[str, Measured]:
        if self._known is None:
            self._known = {} if self._file is None else self._read(self._file)
        return self._known

    def _read(self, file: Path) -> dict[str, Measured]:
        try:
            return msgspec.json.decode(read_regular(file, _MAX_BYTES), type=dict[str, Measured])
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError) as error:
            self._report(
                Sentence(
                    "The measured memory and speeds of your models can't be read ({error}). They are measured again. "
                    "The file is kept as {file}.",
                    error=error,
                    file=set_aside(file) or file,
                )
            )
        return {}

    def _set(self, name: str, measured: Measured) -> None:
        known = self._all
        if known.get(name) == measured:
            return
        known.pop(name, None)
        known[name] = measured
        for oldest in list(known)[:-_MAX_MODELS]:
            del known[oldest]
        if self._file is not None:
            self._writer.put(dict(known))

    def _write(self, known: dict[str, Measured]) -> None:
        if self._file is None:
            return
        try:
            make_folder(self._file.parent)
            write_atomically(self._file, msgspec.json.encode(known), is_own=True, waits=False)
        except (OSError, UnicodeError) as error:
            # The measurements are used until Bough ends, and made again later.
            _log.warning("%s could not be written: %s", self._file, error)


def _average(before: float | None, now: float) -> float:
    return now if before is None else (before + now) / 2
