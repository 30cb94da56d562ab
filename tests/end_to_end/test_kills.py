"""App, worker or both are killed at any moment: at most a quarter of a second of streamed text is lost."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.end_to_end.kills import Kills, kill_often, write_talkative_model
from tests.long import in_long_runs

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Only Linux reports the end of other processes' children"
)

_NUM_KILLS = 100


@pytest.mark.parametrize("whoms", [("app", "worker"), *in_long_runs([(("both", "app", "worker"),)])], ids="-".join)
def test_whichever_process_is_killed_no_shown_text_is_lost(tmp_path: Path, whoms: tuple[str, ...]) -> None:
    kills = Kills(tmp_path, write_talkative_model(tmp_path / "talkative"), random.Random(1))
    for whom in whoms:
        kills.kill(whom)
    assert len(kills.losses) == len(whoms)


@pytest.mark.long
@pytest.mark.timeout(24 * 3600)
def test_after_a_hundred_kills_every_stored_answer_is_right(tmp_path: Path) -> None:
    assert kill_often(tmp_path, _NUM_KILLS, seed=2).num_continued > _NUM_KILLS / 10
