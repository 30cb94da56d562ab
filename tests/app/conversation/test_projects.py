"""The common beginning of a project's conversations is read once for all of them, with every kind of cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.architectures import small_gemma3, small_lfm2, small_llama, write_random_model
from tests.driver import StdioWorker
from tests.long import in_long_runs
from tests.models import byte_level_tokenizer
from tests.projects import read


@pytest.mark.parametrize("config", [small_lfm2(), *in_long_runs([small_llama(600), small_gemma3()])])
def test_ten_conversations_read_the_project_once_and_plan_says_so(tmp_path: Path, config: dict[str, Any]) -> None:
    model = write_random_model(tmp_path / "model", byte_level_tokenizer(), config)
    model_type = config["model_type"]
    with StdioWorker() as worker:
        worker.load(model)
        reading = read(worker, tmp_path, 400)
    assert reading.project > 300
    # Where a state can't be trimmed, the few tokens between two boundaries are read again.
    slack = 0 if model_type == "llama" else reading.num_ideal // 20
    assert reading.num_ideal <= reading.num_read <= reading.num_ideal + slack
    first, *others = reading.planned
    assert first[0] == 0
    assert all(num_kept >= reading.project - 8 for num_kept, _ in others)
