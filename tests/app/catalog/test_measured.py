"""Measurements are kept by model, and correct estimates."""

from __future__ import annotations

from pathlib import Path

from app.catalog.entry import LayerMemory, Memory, Shape
from app.catalog.fit import extra_of, need, refusal, warning
from app.catalog.measured import Answered, Measured, Measurements

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
    found = Measurements(file).of("a")
    assert (found.weights_bytes, found.peak_bytes, found.peak_tokens) == (2 * GIB, 3 * GIB, 1000)
    assert (found.prompt_tokens_per_s, found.answer_tokens_per_s) == (100.0, 15.0)
    # Weights of another size are another model.
    measurements.note_loaded("a", GIB)
    assert measurements.of("a") == Measured(weights_bytes=GIB)


def test_short_answers_tell_nothing_of_speeds(tmp_path: Path):
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
    assert measurements.of("a").weights_bytes == 1


def test_only_the_last_models_are_kept(tmp_path: Path):
    measurements = Measurements(tmp_path / "measured.json")
    for number in range(250):
        measurements.note_loaded(str(number), 1)
    assert measurements.of("0") == Measured()
    assert measurements.of("249").weights_bytes == 1


def test_the_estimate_meets_the_measurement():
    estimated = need(SHAPE, CPU, context_length=1000)
    for difference in (-100_000_000, 0, 300_000_000):
        arrays = estimated.total_bytes - need(Shape(vocab_size=50_000), CPU, context_length=1).total_bytes
        extra = extra_of(SHAPE, CPU, arrays + difference, num_tokens=1000)
        corrected = need(SHAPE, CPU, context_length=1000, extra_bytes=extra)
        assert abs(corrected.total_bytes - estimated.total_bytes - difference) < 10_000_000


def test_warnings_before_answers():
    free = Memory(total_bytes=8 * GIB, available_bytes=GIB)
    assert warning(SHAPE, free, num_tokens=1000) is None
    assert "To read these 20,000 tokens" in str(warning(SHAPE, free, num_tokens=20_000))
    # The tokens that were read before take no more memory, but the scores of a chunk do.
    assert warning(SHAPE, free, num_tokens=8000, num_kept=7900) is None
    assert "8 answers at once" in str(warning(SHAPE, free, num_tokens=4000, num_answers=8))


def test_refusals():
    assert refusal(SHAPE, CPU, context_length=8192) is None
    small = Memory(total_bytes=GIB, available_bytes=GIB // 2)
    why = str(refusal(SHAPE, small, context_length=8192))
    assert "takes 2." in why
    assert "It was not loaded." in why
    assert "weights" in why
    # Other programs do not count: they could be closed.
    assert refusal(SHAPE, Memory(total_bytes=8 * GIB, available_bytes=1), context_length=8192) is None
