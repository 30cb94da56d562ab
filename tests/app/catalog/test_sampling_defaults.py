"""The sampling that models suggest: used, and left out where it makes no sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.catalog.sampling_defaults import SamplingDefaults, sampling_defaults
from app.model.message import Sampling


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps({"temperature": 0.6, "top_p": 0.95, "top_k": 20}), Sampling(temperature=0.6, top_p=0.95, top_k=20)),
        (json.dumps({"do_sample": False, "temperature": 0.6}), Sampling(temperature=0.0)),
        (json.dumps({"temperature": -1, "top_p": 7, "top_k": 1.5, "min_p": True}), Sampling()),
        (json.dumps({"temperature": "hot", "repetition_penalty": 1.1}), Sampling(repetition_penalty=1.1)),
        ("[]", Sampling()),
        ("{", Sampling()),
    ],
)
def test_what_a_file_suggests(tmp_path: Path, text: str, expected: Sampling) -> None:
    (tmp_path / "generation_config.json").write_text(text)
    assert sampling_defaults(str(tmp_path)).applied_to(Sampling()) == expected


@pytest.mark.parametrize("name", ["guide", "no/such", "../..", "a/b/c", ""])
def test_names_without_a_folder_suggest_nothing(name: str) -> None:
    assert sampling_defaults(name) == SamplingDefaults()


def test_a_model_in_the_hub_cache_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--someone--model"
    (repository / "snapshots" / "abc123").mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc123")
    (repository / "snapshots" / "abc123" / "generation_config.json").write_text('{"temperature": 0.3}')
    assert sampling_defaults("someone/model") == SamplingDefaults(temperature=0.3)
