"""The record of how an answer was made, with a real worker."""

from __future__ import annotations

import importlib.metadata

from pytestqt.qtbot import QtBot

from app.model.message import Constraint, Message, Record, Sampling
from tests.end_to_end.conftest import OpenBough
from tests.waiting import PATIENCE_MS


def test_an_answer_keeps_its_full_record(open_bough: OpenBough, qtbot: QtBot) -> None:
    application = open_bough(max_tokens=5)
    controller, store = application.controller, application.store
    qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)

    def ended() -> Message:
        qtbot.waitUntil(lambda: controller.shown.streaming_message is None, timeout=PATIENCE_MS)
        return controller.shown.path[-1]

    controller.send("What is a branch?")
    cut = ended()
    assert (cut.state, cut.record and cut.record.reason) == ("cut", "length")
    controller.continue_answer(cut.id)
    record = ended().record
    assert record is not None
    assert record.model == "guide"
    assert len(record.model_identity) == 64
    assert record.versions["mlx"] == importlib.metadata.version("mlx")
    assert record.chunk_tokens == 512
    assert record.sampling.max_tokens == 5
    assert (len(record.token_ids), record.origins) == (10, "s" * 10)
    assert record.logprobs == ()
    assert isinstance(record.seed, int)
    assert record.figures.new_tokens == 5
    assert record.figures.first_word_ms > 0
    assert record.ended_ms > 0

    # The window does not offer these yet.
    asked = Record(
        model="guide",
        sampling=Sampling(temperature=0.0),
        constraint=Constraint(kind="regex", value="(branch|leaf){3} end"),
        top_logprobs=2,
    )
    conversation = controller.shown.conversation
    assert conversation is not None
    question = store.add(conversation.id, controller.shown.path[-1].id, "user", "u2")
    answer = store.add(conversation.id, question.id, "assistant", "", state="streaming", record=asked)
    ends: list[Message] = []
    application.answers.ended.connect(ends.append)
    application.answers.ask([answer], [*controller.shown.path, question], conversation.id)
    qtbot.waitUntil(lambda: bool(ends), timeout=PATIENCE_MS)
    stored = store.messages.shown_by(conversation.id)[-1]
    assert stored == ends[0]
    assert stored.text.endswith(" end")
    record = stored.record
    assert record is not None
    assert (record.reason, record.constraint) == ("constraint", asked.constraint)
    assert len(record.logprobs) == len(record.alternatives) == len(record.origins) == len(record.token_ids)
    assert set(record.origins) <= {"s", "f"}
    assert "s" in record.origins
    for place, origin in enumerate(record.origins):
        if origin == "s":
            assert record.logprobs[place] is not None
            assert len(record.alternatives[place]) == 2
