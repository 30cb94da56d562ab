"""Captions of exported messages."""

from __future__ import annotations

from app.model.exports.captions import statistics
from app.model.message import Constraint, Figures, Message, Record, Sampling


def _statistics(record: Record | None) -> str:
    return statistics(Message(id=1, parent_id=None, role="assistant", text="a", record=record))


def test_the_known_settings_of_an_answer_are_listed() -> None:
    sampling = Sampling(temperature=0.5, top_k=40, min_p=0.05, repetition_penalty=1.1, max_tokens=1000, stop=("\n\n",))
    record = Record(
        sampling=sampling,
        seed=7,
        constraint=Constraint(kind="json_schema", value={}),
        hooks=("no_repeats",),
        kv_bits=8,
        figures=Figures(new_tokens=3, tokens_per_s=12.25, memory_bytes=312 << 20),
    )
    assert _statistics(record) == (
        "temperature 0.5 · top-p 1 · top-k 40 · min-p 0.05 · repetition penalty 1.1 · at most 1,000 tokens · "
        'stop strings "\\n\\n" · answer format: json schema · hooks: no_repeats · cache in 8 bits · seed 7 · '
        "3 tokens written · 12.2 tokens/s · 312 MiB memory"
    )
    # Exports of other programs name the model but not the temperature.
    assert _statistics(Record(model="gpt-5")) == ""
    assert _statistics(None) == ""
