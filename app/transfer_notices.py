"""Posts notices about finished and failed downloads and conversions while no Models window is open to show them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.answers.model_session import ModelSession
from app.notices import ChatWith, Notice, Notices, OpenModels, ResumeTransfers
from app.supply.transfers import Transfer, Transfers
from worker.sentence import Sentence, joined


class TransferNotices(QObject):
    """Keeps at most one notice each about finished, failed and interrupted downloads and conversions."""

    def __init__(
        self, transfers: Transfers, notices: Notices, session: ModelSession, is_followed: Callable[[str], bool]
    ) -> None:
        """`is_followed` returns whether another part of the window shows the transfer with this key."""
        super().__init__()
        self._transfers, self._notices, self._session = transfers, notices, session
        self._is_followed = is_followed
        self._num_windows = 0
        """The number of open Models windows."""
        self._titles: dict[str, str] = {}
        self._finished: dict[str, Sentence] = {}
        """The sentences about finished models in the current notice, by the models' names for `load_model`."""
        self._failures: dict[str, Sentence] = {}
        """The failures in the present notice, by the transfer's key."""
        self._seen: set[str] = set()
        """The keys of all transfers whose failure was noticed."""
        self._interrupted: tuple[str, ...] = ()
        """The keys of the interrupted transfers in the present notice."""
        self._on_changed(is_start=True)
        transfers.landed.connect(self._on_landed)
        transfers.changed.connect(self._on_changed)
        session.changed.connect(self._on_session)

    def watch(self, window: QObject) -> None:
        """Post no notices while this Models window exists, because it shows all transfers."""
        self._num_windows += 1
        self._finished.clear()
        self._failures.clear()
        self._notices.end("arrival")
        self._notices.end("transfer")
        window.destroyed.connect(self._on_window_closed)

    def _on_window_closed(self) -> None:
        self._num_windows -= 1

    def _on_landed(self, key: str, name: str) -> None:
        if self._num_windows or self._is_followed(key):
            return
        self._finished[name] = Sentence("{model} can be used now.", model=self._titles.get(key) or name)
        self._report_finished()

    def _report_finished(self) -> None:
        action = ChatWith(next(iter(self._finished))) if len(self._finished) == 1 else OpenModels()
        self._notices.post(Notice(joined(self._finished.values(), "\n"), action=action, cause="arrival"))

    def _on_session(self) -> None:
        if self._finished.pop(self._session.name, None) is None:
            return
        if self._finished:
            self._report_finished()
        else:
            self._notices.end("arrival")

    def _report_interrupted(self) -> None:
        found = self._transfers.interrupted
        keys = tuple(one.key for one in found)
        if keys == self._interrupted:
            return
        self._interrupted = keys
        if not found:
            self._notices.end("interrupted")
            return
        if len(found) == 1:
            text = _interruption(found[0])
        else:
            text = Sentence(
                "{num_models} downloads or conversions were not finished when Bough closed. "
                "The finished parts are kept.",
                num_models=len(found),
            )
        self._notices.post(Notice(text, action=ResumeTransfers(keys), cause="interrupted"))

    def _on_changed(self, *, is_start: bool = False) -> None:
        self._report_interrupted()
        all_ = self._transfers.all
        self._titles.update((one.key, one.title) for one in all_)
        failed = {
            one.key: (one.title, one.failure) for one in all_ if one.state == "failed" and one.failure is not None
        }
        before = self._failures
        self._failures = {key: failure for key, failure in before.items() if key in failed}
        for key, (title, why) in failed.items():
            if key not in self._seen and not (is_start or self._num_windows or self._is_followed(key)):
                self._failures[key] = Sentence(
                    "{model} could not be downloaded or converted: {why}", model=title, why=why
                )
        self._seen = set(failed)
        if self._failures == before:
            return
        if self._failures:
            text = joined(self._failures.values(), "\n")
            self._notices.post(Notice(text, "warning", action=OpenModels(), cause="transfer"))
        else:
            self._notices.end("transfer")


def _interruption(one: Transfer) -> Sentence:
    if one.source is None:
        return Sentence(
            "The download of {model} was not finished when Bough closed. The finished part is kept.", model=one.title
        )
    return Sentence(
        "The conversion of {model} was not finished when Bough closed. The finished part is kept.", model=one.title
    )
