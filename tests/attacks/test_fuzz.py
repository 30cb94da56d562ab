"""Random attacks on the worker: protocol lines and model folders. The long runs print their figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.attacks.folder_fuzz import fuzz_folders
from tests.attacks.protocol_fuzz import fuzz_protocol
from tests.attacks.victim import LIMIT_S
from tests.long import in_long_runs
from tests.models import byte_level_tokenizer, write_random_llama

_CONTEXT_LENGTH = 96


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a short context, so that no answer is long."""
    folder = write_random_llama(tmp_path_factory.mktemp("models") / "small", byte_level_tokenizer(), hidden_size=32)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": _CONTEXT_LENGTH}))
    return folder


@pytest.mark.timeout(24 * 3600)
@pytest.mark.parametrize(("num_lines", "seed"), [(300, 0), *in_long_runs([(100_000, 1)])])
def test_every_protocol_line_gets_one_terminal_event(small_model: Path, num_lines: int, seed: int) -> None:
    figures = fuzz_protocol(small_model, num_lines, seed)
    print(figures)
    assert figures.faults == []


@pytest.mark.timeout(24 * 3600)
@pytest.mark.parametrize(("num_folders", "seed"), [(20, 0), *in_long_runs([(2000, 1)])])
def test_every_changed_model_folder_is_loaded_or_refused(num_folders: int, seed: int) -> None:
    figures = fuzz_folders(num_folders, seed, limit_s=LIMIT_S)
    print(figures)
    assert figures.faults == []
