"""Random actions on a page: it always shows the visible branch in order and without gaps."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QApplication

from app.ui.transcript.transcript import Transcript
from tests.app.desk import Desk

_NUM_STEPS = 80
_BETWEEN_PX = 4
_ANSWER = "# An answer\n\n- with\n- a list\n\n```\ncode\n```\n\n"


def _check(desk: Desk, transcript: Transcript) -> None:
    """Assert that all visible messages have views with their text, in order and in place, without gaps."""
    path = {message.id: message for message in desk.controller.shown.path}
    assert list(transcript.message_ids) == list(path)
    views, height = transcript.views, transcript.viewport().height()
    ids = [view.message.id for view in views]
    indexes = [list(path).index(message_id) for message_id in ids]
    assert indexes == sorted(indexes)
    seen = [view for view in views if view.y() < height and view.geometry().bottom() >= 0]
    for above, below in itertools.pairwise(seen):
        assert below.y() == above.geometry().bottom() + 1 + _BETWEEN_PX
    if not path:
        return
    if seen:
        first, last = (list(path).index(view.message.id) for view in (seen[0], seen[-1]))
        assert [view.message.id for view in seen] == list(path)[first : last + 1]
        # A gap is allowed only above the first message and below the last.
        assert seen[0].y() <= _BETWEEN_PX or first == 0
        assert seen[-1].geometry().bottom() >= height - 1 - _BETWEEN_PX or last == len(path) - 1
    for view in seen:
        assert view.isVisible()
        message = path[view.message.id]
        view.render_appended()
        assert view.text.content == message.text
        assert tuple(view.shown.siblings) == tuple(desk.controller.shown.siblings(message.id))
    bar = transcript.verticalScrollBar()
    assert 0 <= bar.value() <= bar.maximum()


@pytest.mark.parametrize("seed", range(2))
def test_the_page_shows_the_branch_after_random_actions(desk: Desk, transcript: Transcript, seed: int) -> None:
    draw = random.Random(seed)
    controller, bar = desk.controller, transcript.verticalScrollBar()

    def any_id(role: str) -> int | None:
        ids = [message.id for message in controller.shown.path if message.role == role]
        return draw.choice(ids) if ids else None

    def with_any(role: str, act: Callable[[int], object]) -> None:
        message_id = any_id(role)
        if message_id is not None and controller.shown.streaming_message is None:
            act(message_id)

    def answer() -> None:
        if controller.shown.streaming_message is not None:
            request = desk.link.asked[-1]
            text = _ANSWER * draw.randint(0, 3) + "word " * draw.randint(0, 400)
            if draw.random() < 0.7:
                desk.link.chunk(request, text[: len(text) // 2])
                QApplication.processEvents()
            desk.link.chunk(request, text[len(text) // 2 :])
            desk.link.finished(request, text)

    def go_anywhere() -> None:
        opened = controller.shown.opened
        if opened is not None and controller.shown.streaming_message is None:
            controller.shown.go_to(
                draw.choice([message.id for message in opened.tree.messages if message.role != "root"])
            )

    deeds: list[Callable[[], object]] = [
        lambda: controller.shown.streaming_message is None and controller.send("A question " * draw.randint(1, 200)),
        lambda: with_any("assistant", controller.regenerate),
        lambda: with_any("user", lambda at: controller.edit(at, "Another question " * draw.randint(1, 60))),
        lambda: with_any("assistant", lambda at: controller.replace(at, _ANSWER * draw.randint(1, 3))),
        lambda: with_any("user", lambda at: transcript.step_sibling(at, draw.choice((-1, 1)))),
        lambda: with_any("assistant", lambda at: transcript.step_sibling(at, draw.choice((-1, 1)))),
        lambda: with_any("user", lambda at: controller.can_prune(at) and controller.prune(at)),
        lambda: with_any("assistant", transcript.focus),
        lambda: controller.shown.streaming_message is None and controller.undo(),
        lambda: controller.shown.streaming_message is None and controller.redo(),
        lambda: bar.setValue(draw.randint(0, bar.maximum())),
        lambda: bar.setValue(bar.value() + draw.randint(-300, 300)),
        lambda: transcript.resize(draw.randint(300, 1000), draw.randint(200, 900)),
        lambda: draw.random() < 0.1 and controller.shown.new_conversation(),
        lambda: transcript.walk(draw.choice((-1, 1))),
        go_anywhere,
        QApplication.processEvents,
    ]
    for _ in range(_NUM_STEPS):
        draw.choice(deeds)()
        _check(desk, transcript)
        answer()
        _check(desk, transcript)
    assert len(desk.link.asked) > 5
