"""Measurements are kept by model, and correct estimates."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from app.catalog.entry import Asked, LayerMemory, Memory, Shape, Shortage
from app.catalog.fit import extra_of, need, refusal, wasted_bytes
from app.catalog.measured import Answered, Measured, Measurements
from app.catalog.shortage import Loaded, shortage

GIB = 1 << 30
SHAPE = Shape(
    float_numbers=500_000_000,
    float_bytes=1_000_000_000,
    layers=(LayerMemory(num_layers=24, numbers_per_token=1024),),
    vocab_size=50_000,
    hidden_size=1024,
    intermediate_size=4096,
    num_heads=16,
)
CPU = Memory(total_bytes=8 * GIB, available_bytes=6 * GIB)


def answered(**changes: object) -> Answered:
    values: dict[str, object] = {
        "is_first": True,
        "prefilled_tokens": 900,
        "num_tokens": 1000,
        "generated_tokens": 100,
        "prefill_ms": 9000.0,
        "answer_tokens_per_s": 10.0,
        "peak_bytes": 3 * GIB,
    }
    return Answered(**(values | changes))  # pyright: ignore[reportArgumentType]


def test_measurements_are_kept(tmp_path: Path):
    file = tmp_path / "data" / "measured.json"
    measurements = Measurements(file)
    assert measurements.of("a") == Measured()
    measurements.note_loaded("a", 2 * GIB)
    measurements.note_answer("a", answered())
    measurements.note_answer("a", answered(is_first=False, peak_bytes=7 * GIB, answer_tokens_per_s=20.0))
    measurements.close()
    found = Measurements(file).of("a")
    assert (found.weights_bytes, found.peak_bytes, found.peak_tokens) == (2 * GIB, 3 * GIB, 1000)
    assert (found.prompt_tokens_per_s, found.answer_tokens_per_s) == (100.0, 15.0)
    # Weights of another size are another model.
    measurements.note_loaded("a", GIB)
    assert measurements.of("a") == Measured(weights_bytes=GIB)


def test_short_answers_do_not_measure_speeds(tmp_path: Path):
    measurements = Measurements(tmp_path / "measured.json")
    measurements.note_answer("a", answered(prefilled_tokens=10, generated_tokens=3, num_tokens=13))
    assert measurements.of("a") == Measured()


def test_a_damaged_file_is_ignored(tmp_path: Path):
    file = tmp_path / "measured.json"
    for text in ("", "[]", '{"a": 3}', "{" * 100_000):
        file.write_text(text)
        assert Measurements(file).of("a") == Measured()
    measurements = Measurements(tmp_path / "file" / "measured.json")
    (tmp_path / "file").write_text("")
    measurements.note_loaded("a", 1)
    measurements.close()
    assert measurements.of("a").weights_bytes == 1


def test_only_the_last_models_are_kept(tmp_path: Path):
    measurements = Measurements(tmp_path / "measured.json")
    for number in range(250):
        measurements.note_loaded(str(number), 1)
    measurements.close()
    assert measurements.of("0") == Measured()
    assert measurements.of("249").weights_bytes == 1


def test_the_estimate_meets_the_measurement():
    estimated = need(SHAPE, CPU, context_length=1000)
    for difference in (-100_000_000, 0, 300_000_000):
        besides = need(Shape(vocab_size=50_000), CPU, context_length=1).total_bytes + wasted_bytes(SHAPE, CPU, 1000)
        arrays = estimated.total_bytes - besides
        extra = extra_of(SHAPE, CPU, arrays + difference, num_tokens=1000)
        corrected = need(SHAPE, CPU, context_length=1000, extra_bytes=extra)
        assert abs(corrected.total_bytes - estimated.total_bytes - difference) < 10_000_000


def _shortage(asked: Asked, memory: Memory, shape: Shape = SHAPE, extra_bytes: int = 0) -> Shortage | None:
    loaded = Loaded(shape=shape, weights_bytes=GIB, context_length=131_072, extra_bytes=extra_bytes)
    return shortage(loaded, memory, asked)


def _said(asked: Asked, memory: Memory, extra_bytes: int = 0) -> tuple[bool, str]:
    found = _shortage(asked, memory, extra_bytes=extra_bytes)
    assert found is not None
    return found.is_too_large, str(found.sentence)


def test_answers_for_which_memory_is_not_free():
    free = Memory(total_bytes=8 * GIB, available_bytes=GIB)
    assert _shortage(Asked(num_tokens=1000), free) is None
    is_too_large, text = _said(Asked(num_tokens=20_000), free)
    assert not is_too_large
    assert "20,000 tokens, answer included, take" in text
    assert "Closing other programs may help." in text or "With a cache of" in text
    # The tokens that were read before take no more memory, but the scores of a chunk do.
    assert _shortage(Asked(num_tokens=8000, num_kept=7900), free) is None
    assert "8 answers at once" in _said(Asked(num_tokens=4000, num_answers=8), free)[1]
    # It fits by the formula, but this model took more when it was measured.
    assert _shortage(Asked(num_tokens=1000), free, extra_bytes=GIB) is not None


def test_a_suggestion_that_would_fit_does_fit():
    free, none_free = Memory(total_bytes=8 * GIB, available_bytes=GIB), Memory(total_bytes=3 * GIB, available_bytes=GIB)
    for memory in (free, none_free):
        for asked in (Asked(num_tokens=100_000), Asked(num_tokens=6000, num_answers=16)):
            _, text = _said(asked, memory)
            fewer, shorter = (re.search(rf"([\d,]+) {words} would fit", text) for words in ("at once", "tokens"))
            assert fewer or shorter
            if fewer:
                asked = replace(asked, num_answers=int(fewer[1].replace(",", "")))
            if shorter:
                asked = replace(asked, num_tokens=int(shorter[1].replace(",", "")), num_answers=1)
            found = _shortage(asked, memory)
            assert found is None or not found.is_too_large
    assert _said(Asked(num_tokens=100_000), none_free)[0]


def test_refusals():
    assert refusal(SHAPE, CPU, context_length=8192) is None
    small = Memory(total_bytes=GIB, available_bytes=GIB // 2)
    why = str(refusal(SHAPE, small, context_length=8192))
    assert "takes 2." in why
    assert "It was not loaded." in why
    assert "weights" in why
    # Other programs do not count: they could be closed.
    assert refusal(SHAPE, Memory(total_bytes=8 * GIB, available_bytes=1), context_length=8192) is None
