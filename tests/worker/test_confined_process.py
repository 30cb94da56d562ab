"""The worker that the app starts is confined, and the session says so in a sentence."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.answers.model_session import how_confined
from tests.driver import PATIENCE_S
from worker.process import WorkerClient
from worker.protocol import Confinement, LoadModel, ModelLoaded


@pytest.mark.skipif(sys.platform != "linux", reason="Confined on Linux only")
def test_the_process_of_the_app_is_confined(tmp_path: Path):
    client = WorkerClient(tmp_path / "new" / "cache")
    try:
        client.send(LoadModel(request_id=1, model="guide"))
        event = None
        while not isinstance(event, ModelLoaded):
            assert client.poll(PATIENCE_S)
            event = client.receive()
    finally:
        client.stop()
    if event.confinement.why_not:
        pytest.skip(f"This system does not confine it: {event.confinement.why_not}")
    assert event.confinement == Confinement(network=True, files=True)
    assert (tmp_path / "new" / "cache").is_dir()


def test_each_state_has_its_sentence():
    reasons = ("switched_off", "gpu", "hooks", "unsupported")
    states = [Confinement(network=True, files=True), *(Confinement(why_not=reason) for reason in reasons)]
    states += [Confinement(network=n, files=not n, why_not=why) for n in (True, False) for why in reasons[2:]]
    assert len({how_confined(state) for state in states}) == len(states) == 9
