"""Models that were on their way when Bough ended: a notice says so at the start, and goes with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.catalog.download_jobs import Download, DownloadJobs, id_of
from app.catalog.entry import LocalGguf, RemoteModel
from app.notices import ResumeTransfers
from app.places import Places
from tests.app.desk import Desk

pytestmark = pytest.mark.usefixtures("nothing_leaks")

ONE, TWO, HELD = (RemoteModel(repo=f"someone/{name}", title=name) for name in ("One", "Two", "Held"))


def _interrupt(desk: Desk, *models: RemoteModel | LocalGguf) -> None:
    jobs = DownloadJobs(Places.under(desk.program.models_folder.parent))
    jobs.save([Download(id=id_of(model), model=model, is_held=model is HELD) for model in models])


def _said(desk: Desk) -> list[tuple[str, object]]:
    return [(str(each.text), each.action) for each in desk.program.notices.lasting if each.cause == "interrupted"]


def test_interrupted_transfers_are_reported_except_those_that_the_user_paused(desk: Desk) -> None:
    _interrupt(desk, ONE, HELD, TWO)
    desk.program.supply.report_interrupted_transfers()
    keys = (id_of(ONE), id_of(TWO))
    text = "2 downloads or conversions were not finished when Bough closed. The finished parts are kept."
    assert _said(desk) == [(text, ResumeTransfers(keys))]
    desk.program.supply.transfers.cancel(keys[0])
    text = "The download of Two was not finished when Bough closed. The finished part is kept."
    assert _said(desk) == [(text, ResumeTransfers(keys[1:]))]
    desk.program.supply.transfers.cancel(keys[1])
    assert _said(desk) == []
    assert [one.title for one in desk.program.supply.transfers.all] == ["Held"]


def test_an_interrupted_conversion_is_named_as_one(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.touch()
    _interrupt(desk, LocalGguf(path=file, title="Four", num_bytes=0))
    desk.program.supply.report_interrupted_transfers()
    text = "The conversion of Four was not finished when Bough closed. The finished part is kept."
    assert [said for said, _ in _said(desk)] == [text]


@pytest.mark.parametrize("models", [(), (HELD,)])
def test_without_interrupted_transfers_there_is_no_notice(desk: Desk, models: tuple[RemoteModel, ...]) -> None:
    _interrupt(desk, *models)
    desk.program.supply.report_interrupted_transfers()
    assert _said(desk) == []
