"""When a worker counts as stuck, and when it is ended. The test is the worker and the clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.answers.worker_watch import WorkerWatch
from tests.app.desk import Desk
from worker.protocol import Activity, Heartbeat

pytestmark = pytest.mark.usefixtures("nothing_leaks")


class _Watched:
    """A desk with a watch that looks when the test wants it to."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.now_s = 0.0
        self._num_beats = 0
        self.watch = WorkerWatch(desk.session, desk.answers, lambda: self.now_s)
        self.watch.timer.stop()
        self.told: list[str] = []
        self.watch.got_stuck.connect(self.told.append)
        self.watch.recovered.connect(lambda: self.told.append("recovered"))
        self.beat("idle")

    def beat(self, activity: Activity, lasted_s: float = 0.0, usual_s: float = 0.0) -> None:
        self._num_beats += 1
        self.desk.link.last_heartbeat = Heartbeat(activity, lasted_s, usual_s, "", self._num_beats, 1000)
        self.watch.look()

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(2 * seconds)):
            self.now_s += 0.5
            self.watch.look()

    def work(self, activity: Activity, seconds: float, usual_s: float = 0.0) -> None:
        """Let time pass in which the worker is in one step, and says so."""
        for half in range(round(2 * seconds)):
            self.now_s += 0.5
            self.beat(activity, half / 2, usual_s)


@pytest.fixture
def watched(desk: Desk) -> _Watched:
    return _Watched(desk)


def test_silence_is_reported_once_and_the_report_ends_when_the_worker_continues(watched: _Watched) -> None:
    watched.pass_time(2)
    assert watched.told == []
    watched.pass_time(8)
    (told,) = watched.told
    assert "has not responded since" in told
    assert "Last report: waiting for a message" in told
    watched.beat("idle")
    assert watched.told == [told, "recovered"]
    watched.work("idle", 1000)
    assert len(watched.told) == 2


def test_the_report_does_not_flap_on_a_busy_machine(watched: _Watched) -> None:
    for _ in range(10):
        watched.pass_time(4)
        watched.beat("decoding")
    assert len(watched.told) == 2
    # The machine does not stay busy.
    watched.work("decoding", 70)
    watched.pass_time(4)
    assert len(watched.told) == 3


def test_a_machine_that_slept_and_a_window_that_was_blocked_report_nothing(watched: _Watched) -> None:
    for _ in range(20):
        watched.now_s += 3600
        watched.watch.look()
        watched.beat("decoding", lasted_s=0.1)
    assert watched.told == []


@pytest.mark.parametrize(
    ("activity", "usual_s", "quiet_s", "told_s"),
    [("template", 0, 4, 8), ("reading", 0, 28, 35), ("reading", 20, 95, 110), ("loading", 0, 55, 65)],
)
def test_a_step_far_beyond_its_usual_time_is_reported_while_the_worker_lives(
    watched: _Watched, activity: Activity, usual_s: float, quiet_s: float, told_s: float
) -> None:
    watched.work(activity, quiet_s, usual_s)
    assert watched.told == []
    watched.work(activity, told_s, usual_s)
    (told,) = watched.told
    assert "unusually long" in told
    watched.beat("idle")
    assert watched.told[1:] == ["recovered"]
    assert watched.desk.link.num_started == 1


@pytest.mark.parametrize("activity", ["reading", "decoding", "loading"])
def test_a_slow_step_of_a_large_model_is_not_reported_as_stuck_and_the_worker_is_not_killed(
    watched: _Watched, activity: Activity
) -> None:
    desk = watched.desk
    desk.controller.send("Why?")
    watched.work(activity, 700, usual_s=150)
    assert watched.told == []
    # Beyond what such steps took before, it is reported. Only the user ends it.
    watched.work(activity, 2000, usual_s=150)
    (told,) = watched.told
    assert "Wait, or restart it" in told
    assert desk.link.num_started == 1
    assert not desk.link.cancelled
    assert desk.answer("Because.").text == "Because."


def test_stop_restarts_a_silent_worker_after_3_seconds(watched: _Watched) -> None:
    desk = watched.desk
    desk.controller.send("Why?")
    desk.link.chunk(desk.link.asked[-1], "Because")
    watched.beat("decoding")
    desk.controller.stop()
    answer = desk.controller.shown.path[-1]
    assert desk.answers.is_stopping(answer.id)
    watched.pass_time(2.5)
    assert desk.link.num_started == 1
    watched.pass_time(1)
    assert desk.link.num_started == 2
    assert desk.link.loads[-1].model == "guide"
    stored = desk.stored(answer)
    assert (stored.state, stored.text) == ("stopped", "Because")
    assert stored.record is not None
    assert "did not stop within 3 seconds. Last report: computing the next token." in str(stored.record.error)
    assert not desk.notices


@pytest.mark.parametrize("activity", ["reading", "decoding", "loading"])
def test_stop_ends_an_answer_after_3_seconds_without_a_restart_if_the_worker_is_just_slow(
    watched: _Watched, activity: Activity
) -> None:
    desk = watched.desk
    desk.controller.send("Why?")
    desk.link.chunk(desk.link.asked[-1], "Because")
    request = desk.link.asked[-1]
    desk.controller.stop()
    answer = desk.controller.shown.path[-1]
    watched.work(activity, 10)
    stored = desk.stored(answer)
    assert (stored.state, stored.text) == ("stopped", "Because")
    assert stored.record is not None
    assert stored.record.error is None
    assert desk.link.num_started == 1
    # The worker stops it later.
    desk.link.chunk(request, " so")
    desk.link.finished(request, "Because so", "cancelled")
    assert desk.stored(answer) == stored


@pytest.mark.parametrize("activity", ["template", "constraint", "hook"])
def test_stop_ends_a_worker_in_a_step_other_than_computing(watched: _Watched, activity: Activity) -> None:
    desk = watched.desk
    desk.controller.send("Why?")
    desk.controller.stop()
    watched.work(activity, 10)
    assert desk.link.num_started == 2


def test_another_model_is_loaded_in_a_fresh_worker_if_the_old_one_does_not_begin_within_3_seconds(
    watched: _Watched,
) -> None:
    desk = watched.desk
    desk.program.load_model("another")
    watched.work("loading", 4)
    assert desk.link.num_started == 2
    assert [load.model for load in desk.link.loads[-2:]] == ["another", "another"]
    # A process that starts is given time, and one that has begun, too.
    watched.work("starting", 50)
    desk.link.loaded()
    watched.work("loading", 50)
    assert desk.link.num_started == 2


def test_a_changed_draft_model_waits_for_running_answers(watched: _Watched) -> None:
    watched.desk.controller.send("Why?")
    watched.desk.program.set_draft_model("small")
    watched.work("decoding", 20)
    assert watched.desk.link.num_started == 1


def test_the_user_restarts_a_worker_and_it_does_not_count_as_dead(watched: _Watched, tmp_path: Path) -> None:
    desk = watched.desk
    for number in range(5):
        desk.program.restart_worker()
        assert desk.link.num_started == number + 2
    assert desk.session.state == "loading"
