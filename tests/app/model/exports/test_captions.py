"""Captions of exported messages."""

from __future__ import annotations

from html import escape

import pytest

from app.model.exports.captions import ending, marks, statistics
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.html import html
from app.model.exports.markdown import escaped, markdown
from app.model.exports.plain_text import plain_text
from app.model.message import Constraint, Conversation, Figures, Message, Record, Sampling, State


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


@pytest.mark.parametrize("error", [None, "No room <here>."])
@pytest.mark.parametrize(
    ("state", "said"), [("stopped", "stopped before its end"), ("cut", "cut off"), ("failed", "failed")]
)
def test_every_readable_text_says_how_answers_ended_and_what_branches_are_called(
    state: State, said: str, error: str | None
) -> None:
    record = Record(error=error)
    messages = [
        Message(id=1, parent_id=None, role="user", text="Why?"),
        Message(id=2, parent_id=1, role="assistant", text="So.", state=state, record=record, starred_ms=0),
        Message(id=3, parent_id=1, role="assistant", text="Or so.", state=state, record=record, name="Plan <B>"),
    ]
    assert said in ending(messages[1])
    assert (error or "") in ending(messages[1])
    assert (marks(messages[1]), marks(messages[2])) == ("Starred", "Branch “Plan <B>”")
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    excerpt = Excerpt(conversation, messages, {}, messages[:2])
    for format_, shown in ((plain_text, str), (html, escape), (markdown, escaped)):
        text = "".join(piece.text for piece in format_(excerpt, Options()))
        assert text.count(shown(ending(messages[1]))) == 2
        assert shown("Branch 2 “Plan <B>”") in text or f"Another branch <bdi>{escape('“Plan <B>”')}</bdi>" in text
        assert shown(marks(messages[2])) in text
        assert "Starred" in text
