"""Reports a worker that is stuck, and kills a worker that does not carry out what the user wants.

The worker's heartbeats say what it is doing. Time counts only while this process itself runs: a worker does not look
stuck because the computer slept or the window was blocked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import assert_never

from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.answers import Answers
from app.answers.model_session import ModelSession
from app.model.message import MessageId
from worker.protocol import Activity, Heartbeat
from worker.sentence import Sentence, verbatim

TICK_MS = 500
_MAX_TICK_S = 0.75
"""If more time than this passes between two checks, only this much is counted."""
SILENCE_S = 2.0
_STARTING_SILENCE_S = 15.0
"""The silence that is allowed while a process starts: loading libraries may block all of it."""
_BUSY_SILENCE_S = 6.0
_BUSY_S = 60.0
"""For this time after a stuck worker has recovered, only a longer silence is reported: the computer may be busy."""
OBEDIENCE_S = 3.0
"""A worker that has not carried out a stop or a load for this time is killed."""
_MIN_COMPUTING_S = 30.0
_UNUSUAL = 5
"""A step takes unusually long if it takes this many times as long as the longest step before."""
_PATIENCE_S: dict[Activity, float] = {
    "starting": 60,
    "idle": float("inf"),
    "loading": 60,
    "template": 5,
    "constraint": 10,
    "reading": _MIN_COMPUTING_S,
    "decoding": _MIN_COMPUTING_S,
    "hook": 3,
    "saving": 30,
}
"""How long each activity may take before the worker is reported as stuck, in seconds."""


class WorkerWatch(QObject):
    """Watches the worker of a session, while there is one."""

    got_stuck = Signal(object)
    """A `Sentence` that says what the worker was doing, and since when."""
    recovered = Signal()
    """The worker responds again, or a new worker has replaced it."""

    def __init__(self, session: ModelSession, answers: Answers, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self.session = session
        self._answers = answers
        self._now_s = 0.0
        """The time for which the worker has been watched, in seconds. All other times refer to it."""
        self._looked_s = clock()
        self._pid: int | None = None
        self._heartbeat: Heartbeat | None = None
        self._heard_s = 0.0
        self._recovered_s = -_BUSY_S
        """When a worker that was reported as stuck last recovered by itself."""
        self._stops: dict[MessageId, float] = {}
        """The answers that the user has stopped, with the time of the stop."""
        self._load_s: float | None = None
        """When the user chose another model; None once the worker has begun to load it."""
        self._reported: Activity | None = None
        """The activity in which the worker is reported to be stuck; None if it is not."""
        answers.stopping.connect(self._on_stopping)
        session.chosen.connect(self._on_chosen)
        self.timer = QTimer(self)
        self.timer.setInterval(TICK_MS)
        self.timer.timeout.connect(self.look)
        self.timer.start()

    @property
    def is_stuck(self) -> bool:
        """Whether the worker is reported as stuck."""
        return self._reported is not None

    def look(self) -> None:
        """Check the worker. The timer calls this twice a second."""
        looked_s = self._clock()
        self._now_s += min(looked_s - self._looked_s, _MAX_TICK_S)
        self._looked_s = looked_s
        link = self.session.link
        if link.pid != self._pid:
            self._recovered_s = -_BUSY_S
        elif self._reported is not None and link.heartbeat is not self._heartbeat:
            self._recovered_s = self._now_s
        if (link.heartbeat, link.pid) != (self._heartbeat, self._pid):
            self._heartbeat, self._pid, self._heard_s = link.heartbeat, link.pid, self._now_s
        if not link.is_started:
            self._stops.clear()
            self._load_s = None
            self._report(None)
            return
        self._enforce_stops()
        self._enforce_load()
        self._report(self._problem())

    # --- reports -------------------------------------------------------------------------------------------

    def _problem(self) -> tuple[Activity, Sentence] | None:
        """Return the activity in which the worker is stuck, and a sentence for the user; None if it is not stuck."""
        silent_s, heartbeat = self._now_s - self._heard_s, self._heartbeat
        activity: Activity = "starting" if heartbeat is None else heartbeat.activity
        if silent_s > self._patience_with_silence_s(activity):
            sentence = Sentence(
                "The model process has not responded since {time}. Last report: {activity}. "
                "Wait, or restart it: the model is then loaded again, and the text so far is kept.",
                time=_clock_time(silent_s),
                activity=described(heartbeat),
            )
            return activity, sentence
        if heartbeat is not None and heartbeat.lasted_s > _patience_s(heartbeat):
            sentence = Sentence(
                "The model process takes unusually long. Since {time}: {activity}. "
                "Wait, or restart it: the model is then loaded again, and the text so far is kept.",
                time=_clock_time(silent_s + heartbeat.lasted_s),
                activity=described(heartbeat),
            )
            return activity, sentence
        return None

    def _patience_with_silence_s(self, activity: Activity) -> float:
        if activity == "starting":
            return _STARTING_SILENCE_S
        return _BUSY_SILENCE_S if self._now_s - self._recovered_s < _BUSY_S else SILENCE_S

    def _report(self, problem: tuple[Activity, Sentence] | None) -> None:
        activity = None if problem is None else problem[0]
        before, self._reported = self._reported, activity
        if problem is not None and activity != before:
            self.got_stuck.emit(problem[1])
        elif problem is None and before is not None:
            self.recovered.emit()

    # --- what the user wants -------------------------------------------------------------------------------

    def _on_stopping(self, message_id: MessageId) -> None:
        if not self._answers.is_written_by(message_id, self.session):
            return
        self._stops.setdefault(message_id, self._now_s)

    def _on_chosen(self) -> None:
        self._load_s = self._now_s

    def _enforce_stops(self) -> None:
        """End answers that the worker does not stop, unless the worker is just slow (see `_is_just_slow`)."""
        self._stops = {id_: at_s for id_, at_s in self._stops.items() if self._answers.is_streaming(id_)}
        overdue = [id_ for id_, at_s in self._stops.items() if self._now_s - at_s >= OBEDIENCE_S]
        if not overdue:
            return
        if self._is_just_slow:
            for message_id in overdue:
                self._answers.give_up(message_id)
        else:
            self._restart(Sentence("The model process did not stop within {num} seconds.", num=round(OBEDIENCE_S)))

    def _enforce_load(self) -> None:
        """Kill a worker that does not begin to load the chosen model. Its current work is no longer needed."""
        if self._load_s is None or self.session.is_load_begun:
            self._load_s = None
        elif self._heartbeat is None or self._heartbeat.activity == "starting":
            # A new process would not start sooner.
            self._load_s = self._now_s
        elif self._now_s - self._load_s >= OBEDIENCE_S:
            self._restart(Sentence("The model process was ended because it did not begin to load the other model."))

    @property
    def _is_just_slow(self) -> bool:
        """Whether the worker responds, and its current step will end by itself: it computes, or loads a model."""
        heartbeat = self._heartbeat
        if heartbeat is None or self._now_s - self._heard_s > SILENCE_S:
            return False
        match heartbeat.activity:
            case "starting" | "loading" | "saving" | "reading" | "decoding":
                return heartbeat.lasted_s < _patience_s(heartbeat)
            case "idle" | "template" | "constraint" | "hook":
                return False
        assert_never(heartbeat.activity)

    def _restart(self, why: Sentence) -> None:
        self._stops.clear()
        self._load_s = None
        self.session.restart(Sentence("{why} Last report: {activity}.", why=why, activity=described(self._heartbeat)))


def _patience_s(heartbeat: Heartbeat) -> float:
    return max(_PATIENCE_S[heartbeat.activity], _UNUSUAL * heartbeat.usual_s)


def _clock_time(ago_s: float) -> str:
    return f"{datetime.now().astimezone() - timedelta(seconds=ago_s):%H:%M:%S}"


def _stage(stage: str) -> Sentence:
    match stage:
        case "building the model":
            return Sentence("building the model")
        case "reading the weights":
            return Sentence("reading the weights")
        case "warming up":
            return Sentence("warming up")
        case _:
            return verbatim(stage)


def described(heartbeat: Heartbeat | None) -> Sentence:
    """Describe what the worker is doing, in a few words."""
    if heartbeat is None:
        return Sentence("starting")
    match heartbeat.activity:
        case "starting":
            return Sentence("starting")
        case "idle":
            return Sentence("waiting for a message")
        case "loading" if heartbeat.detail:
            return Sentence("loading the model ({stage})", stage=_stage(heartbeat.detail))
        case "loading":
            return Sentence("loading the model")
        case "template":
            return Sentence("applying the chat template")
        case "constraint":
            return Sentence("preparing the answer format")
        case "reading":
            return Sentence("reading the prompt ({done} of {total} tokens)", done=heartbeat.done, total=heartbeat.total)
        case "decoding":
            return Sentence("computing the next token")
        case "hook":
            return Sentence("running the hook “{hook}”", hook=heartbeat.detail)
        case "saving":
            return Sentence("saving its cache to disk")
    assert_never(heartbeat.activity)
