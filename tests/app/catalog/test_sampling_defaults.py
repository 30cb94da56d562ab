"""The sampling that models suggest: used, and left out where it makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.catalog.sampling_defaults import SamplingDefaults, sampling_defaults
from app.model.message import Sampling


@pytest.mark.parametrize(
    ("text", "expected", "unused"),
    [
        ('{"temperature": 0.6, "top_p": 0.95, "top_k": 20.0}', Sampling(temperature=0.6, top_p=0.95, top_k=20), ()),
        ('{"do_sample": false, "temperature": 0.6, "top_k": null}', Sampling(temperature=0.0), ()),
        (
            '{"temperature": -1, "top_p": 7, "top_k": 1.5, "min_p": true}',
            Sampling(),
            ("temperature", "top_p", "top_k", "min_p"),
        ),
        ('{"temperature": "hot", "repetition_penalty": 1.1}', Sampling(repetition_penalty=1.1), ("temperature",)),
        ('{"temperature": NaN, "top_k": -5, "min_p": 0.1}', Sampling(min_p=0.1), ("temperature", "top_k")),
        ('{"temperature": 1e999, "top_k": 1e300}', Sampling(), ("temperature", "top_k")),
        ("[]", Sampling(), ("generation_config.json",)),
        ("{", Sampling(), ("generation_config.json",)),
    ],
)
def test_suggestions_of_a_file(tmp_path: Path, text: str, expected: Sampling, unused: tuple[str, ...]) -> None:
    (tmp_path / "generation_config.json").write_text(text)
    defaults = sampling_defaults(str(tmp_path))
    assert defaults.applied_to(Sampling()) == expected
    assert defaults.unused == unused


def test_senseless_suggestions_of_a_gguf_file_are_named_after_its_conversion(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text('{"top_k": 20}')
    (tmp_path / "bough.json").write_text('{"unused_sampling": ["min_p", 7, "<b>"]}')
    assert sampling_defaults(str(tmp_path)) == SamplingDefaults(top_k=20, unused=("min_p",))


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
