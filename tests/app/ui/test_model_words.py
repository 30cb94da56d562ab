"""The words of the Models window for a model, a transfer and figures."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from app.catalog.entry import Fit, LocalModel, Memory, Need, RemoteModel, Source, Verdict
from app.catalog.hub_error import HubError
from app.catalog.measured import Measured
from app.supply.transfers import Transfer
from app.ui.models.entry import (
    Entry,
    duration_text,
    fit_word,
    good_for,
    main_action,
    parameters_text,
    quantization_text,
    short_tokens,
    source_text,
    speeds_text,
    transfer_text,
)
from worker.sentence import Sentence

_HERE = LocalModel(name="a", title="A", path=Path("a"), source="bough", format="mlx", num_bytes=1)
_GGUF = LocalModel(name="b", title="B", path=Path("b"), source="hub", format="gguf", num_bytes=1)
_REMOTE = RemoteModel(repo="owner/c", num_downloads=1234)
_DAMAGED = Sentence("It is damaged.")


def _fit(verdict: Verdict) -> Fit:
    need = Need(weights_bytes=1, kv_bytes=1, overhead_bytes=1, context_length=1)
    memory = Memory(total_bytes=2, available_bytes=2)
    return Fit(verdict=verdict, need=need, memory=memory, sentence=_DAMAGED)


@pytest.mark.parametrize(
    ("transfer", "text", "word"),
    [
        (Transfer("", "", "queued"), "", "waiting"),
        (Transfer("", "", "queued", num_ahead=2), "2 ahead", "waiting"),
        (Transfer("", "", "paused", num_bytes=512_000, total_bytes=1_024_000), "500 KiB of 1,000 KiB", "paused"),
        (Transfer("", "", "failed"), "", "failed"),
        (Transfer("", "", "running"), "", ""),
        (Transfer("", "", "running", phase="checking"), "being checked", ""),
        (Transfer("", "", "running", phase="converting"), "being converted", ""),
        (Transfer("", "", "running", waiting=_DAMAGED), "no connection", ""),
        (Transfer("", "", "running", bytes_per_s=2e6, seconds_left=7200), "2 MiB/s · 2.0 h left", ""),
    ],
)
def test_the_words_of_a_transfer(transfer: Transfer, text: str, word: str):
    assert transfer_text(transfer).replace("\N{NO-BREAK SPACE}", " ") == text
    row = Entry("key", None, transfer=transfer).row
    assert (row.word, row.detail) == (word, transfer_text(transfer))


@pytest.mark.parametrize(
    ("entry", "action"),
    [
        (Entry("", None), None),
        (Entry("", _HERE), "chat"),
        (Entry("", _HERE, presence="loading"), "cancel_load"),
        (Entry("", _HERE, fit=_fit("too_big")), None),
        (Entry("", _HERE, fit=_fit("too_big"), can_free=True), "free_memory"),
        (Entry("", _HERE, fit=_fit("too_big"), presence="loaded"), "chat"),
        (Entry("", _GGUF, fit=_fit("tight")), "convert"),
        (Entry("", _REMOTE, fit=_fit("fits")), "download"),
        (Entry("", _REMOTE, fit=_fit("too_big")), None),
        (Entry("", _REMOTE, failure=HubError(_DAMAGED, "unreachable")), "ask_again"),
        (Entry("", _REMOTE, transfer=Transfer("", "", "running")), "pause"),
        (Entry("", _REMOTE, transfer=Transfer("", "", "failed")), "resume"),
    ],
)
def test_the_main_action(entry: Entry, action: str | None):
    assert main_action(entry) == action


def test_the_problem_and_the_detail_of_an_entry():
    assert Entry("", None).problem is None
    assert (Entry("", None).title, Entry("", None).detail, good_for(Entry("", None))) == ("", "", "")
    assert Entry("", _REMOTE, failure=HubError(_DAMAGED, "unreachable")).problem == _DAMAGED
    assert Entry("", _REMOTE, transfer=Transfer("", "", "failed", failure=_DAMAGED)).problem == _DAMAGED
    assert Entry("", _REMOTE).detail == "1,234 downloads"
    assert Entry("", RemoteModel(repo="owner/c", gguf="a.gguf", title="C a")).title == "c"


@pytest.mark.parametrize(
    ("billions", "begins"),
    [(0, ""), (0.5, "Very small:"), (1, "Small:"), (4, "Medium:"), (8, "Large:"), (70, "Very large:")],
)
def test_the_use_of_a_model_by_its_size(billions: float, begins: str):
    model = RemoteModel(repo="owner/c", num_parameters=round(billions * 1e9))
    text = good_for(Entry("", model))
    assert text.startswith(begins)
    assert bool(text) == bool(begins)
    assert good_for(Entry("", _GGUF)).startswith("A GGUF file.")


def test_figures_as_text():
    assert [duration_text(seconds) for seconds in (0.2, 99, 100, 5000, 7200)] == [
        "1 s",
        "99 s",
        "2 min",
        "83 min",
        "2.0 h",
    ]
    assert [short_tokens(number) for number in (1000, 8192, 100_000)] == ["1,000", "8k", "100k"]
    assert [quantization_text(text) for text in ("4 bits", "Q4_K_M")] == ["4 bits", "Q4_K_M"]
    assert [parameters_text(number) for number in (135_000_000, 1_500_000_000, 70_000_000_000)] == [
        "135 million",
        "1.5 billion",
        "70 billion",
    ]
    assert speeds_text(Measured()) == ""
    assert speeds_text(Measured(prompt_tokens_per_s=100.0, answer_tokens_per_s=5.0)).startswith("reads 100")
    assert [fit_word(_fit(verdict))[0] for verdict in ("fits", "tight", "too_big")] == ["fits", "tight", "too big"]
    assert fit_word(None)[0] == ""
    assert len({source_text(source) for source in get_args(Source)}) == len(get_args(Source))
