"""Random attacks: protocol lines, model folders, stores and imports. The long runs print their figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.file_fuzz import fuzz_imports, fuzz_stores
from tests.attacks.folder_fuzz import fuzz_folders
from tests.attacks.protocol_fuzz import fuzz_protocol, write_small_model
from tests.attacks.victim import LIMIT_S
from tests.long import in_long_runs


@pytest.mark.timeout(24 * 3600)
@pytest.mark.parametrize(("num_lines", "seed"), [(150, 0), *in_long_runs([(30_000, 1)])])
def test_every_protocol_line_gets_one_terminal_event(tmp_path: Path, num_lines: int, seed: int) -> None:
    figures = fuzz_protocol(write_small_model(tmp_path / "model"), num_lines, seed)
    print(figures)
    assert figures.faults == []


@pytest.mark.timeout(24 * 3600)
@pytest.mark.parametrize(("num_folders", "seed"), [(8, 0), *in_long_runs([(2000, 1)])])
def test_every_changed_model_folder_is_loaded_or_refused(num_folders: int, seed: int) -> None:
    figures = fuzz_folders(num_folders, seed, limit_s=LIMIT_S)
    print(figures)
    assert figures.faults == []


@pytest.mark.timeout(24 * 3600)
@pytest.mark.parametrize(("num_stores", "seed"), [(8, 0), *in_long_runs([(2000, 1)])])
def test_every_changed_store_is_opened_or_left_as_it_is(num_stores: int, seed: int) -> None:
    figures = fuzz_stores(num_stores, seed)
    print(figures)
    assert figures.faults == []


@pytest.mark.timeout(24 * 3600)
@pytest.mark.parametrize(("num_files", "seed"), [(40, 0), *in_long_runs([(20_000, 1)])])
def test_every_changed_file_is_imported_or_reported(num_files: int, seed: int) -> None:
    figures = fuzz_imports(num_files, seed)
    print(figures)
    assert figures.faults == []
