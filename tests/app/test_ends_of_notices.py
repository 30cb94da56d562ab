"""Every notice about a lasting state ends when that state ends, by what really ends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import get_args

import pytest
from pytestqt.qtbot import QtBot

from app.model.database import StoreError
from app.notices import Cause
from tests.app.desk import Desk
from worker.sentence import Sentence, verbatim

_WHY = verbatim("It is so.")


@dataclass(frozen=True)
class _Row:
    cause: Cause
    begin: Callable[[Desk], object]
    goes_on: Callable[[Desk], object]
    """Something else happens; the notice stays."""
    end: Callable[[Desk], object]


def _nothing(_desk: Desk) -> None:
    pass


def _load(desk: Desk, name: str, draft: str = "") -> None:
    desk.session.load(name, draft=draft)
    desk.link.loaded()


def _fail_to_load(desk: Desk, *, still_loaded: bool) -> None:
    desk.session.load("missing")
    desk.link.load_failed(still_loaded=still_loaded)


def _fail_to_write(desk: Desk) -> None:
    with desk.program.notices.report_store_errors():
        raise StoreError(Sentence("The conversations can't be written. Nothing was changed."))


def _read(desk: Desk) -> None:
    assert desk.program.conversations.all == []


def _write(desk: Desk) -> None:
    with desk.program.notices.report_store_errors():
        desk.program.store.create_conversation("A name", "", "A question")


def _die_while_loading(desk: Desk) -> None:
    desk.link.die()


def _load_without_template(desk: Desk) -> None:
    desk.session.load("plain")
    desk.link.loaded(has_template=False)


def _load_odd(desk: Desk) -> None:
    desk.session.load("odd")
    desk.link.loaded(notices=[Sentence("Some weights of this model are damaged.")])


def _refuse_draft(desk: Desk) -> None:
    desk.session.load("big", draft="small")
    desk.link.loaded(draft_refused="They have other words.")


def _refuse_precision(desk: Desk) -> None:
    desk.session.precision_refused.emit(4)


_LOADS: list[_Row] = [
    _Row("model", partial(_fail_to_load, still_loaded=True), _nothing, partial(_load, name="another")),
    # The model before it is loaded again by itself.
    _Row(
        "model", partial(_fail_to_load, still_loaded=False), lambda desk: desk.link.loaded(), partial(_load, name="c")
    ),
    _Row("fresh_worker", _die_while_loading, _nothing, lambda desk: desk.link.loaded()),
    _Row("template", _load_without_template, _nothing, partial(_load, name="another")),
    _Row("odd_model", _load_odd, _nothing, partial(_load, name="another")),
    _Row("draft", _refuse_draft, _nothing, partial(_load, name="big", draft="other")),
    _Row("precision", _refuse_precision, _nothing, partial(_load, name="another")),
]
_OTHERS: list[_Row] = [
    _Row("writing", _fail_to_write, _read, _write),
    # Text that waited is written by itself, without another action of the user.
    _Row("writing", _fail_to_write, _nothing, lambda desk: desk.program.report_saved()),
    _Row(
        "saving",
        lambda desk: desk.program.report_unsaved(_WHY),
        _nothing,
        lambda desk: desk.program.report_saved(),
    ),
    _Row(
        "worker",
        lambda desk: desk.program.worker_watches[0].got_stuck.emit(_WHY),
        _nothing,
        lambda desk: desk.program.worker_watches[0].recovered.emit(),
    ),
    _Row(
        "settings",
        lambda desk: desk.program.preferences.not_saved.emit(_WHY),
        _nothing,
        lambda desk: desk.program.preferences.saved_again.emit(),
    ),
]
_ELSEWHERE: set[Cause] = {"store", "files", "drafts", "local_api", "arrival", "transfer", "interrupted", "crash"}
"""The first three hold as long as the program runs; the others have tests of their own."""


@pytest.mark.parametrize("row", [*_LOADS, *_OTHERS], ids=lambda row: row.cause)
def test_a_notice_ends_with_its_cause(desk: Desk, qtbot: QtBot, row: _Row) -> None:
    _load(desk, "first")
    ended: list[str] = []
    desk.program.notices.ended.connect(ended.append)
    row.begin(desk)
    row.goes_on(desk)
    assert row.cause in {notice.cause for notice in desk.program.notices.lasting}
    assert row.cause not in ended
    row.end(desk)
    assert row.cause not in {notice.cause for notice in desk.program.notices.lasting}
    assert row.cause in ended


def test_the_table_has_every_cause() -> None:
    assert {row.cause for row in (*_LOADS, *_OTHERS)} | _ELSEWHERE == set(get_args(Cause))
