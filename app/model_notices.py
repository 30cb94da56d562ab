"""Posts notices about loading models and about problems of the worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from app.answers.answers import Answers
from app.answers.model_session import Crash, ModelSession
from app.answers.sessions import Sessions
from app.answers.worker_watch import WorkerWatch, described
from app.care.crash_reports import CrashReports
from app.catalog.chat_templates import ChatTemplates
from app.notices import AskGuide, Notice, Notices, OpenMemorySettings, RestartWorker, ShowReport, UsePlainTemplate
from app.settings_of_models import SettingsOfModels
from worker.sentence import Sentence


class ModelNotices(QObject):
    """Posts the notices about models and workers, and ends those about a model that is no longer loaded."""

    def __init__(
        self,
        sessions: Sessions,
        answers: Answers,
        notices: Notices,
        watches: Sequence[WorkerWatch],
        templates: ChatTemplates,
        of_models: SettingsOfModels,
        reports: CrashReports | None,
    ) -> None:
        """`reports`: the folder for reports of workers that ended unexpectedly; None if none are kept."""
        super().__init__()
        self._sessions, self._session, self._answers = sessions, sessions.chosen, answers
        self._notices, self._templates, self._of_models = notices, templates, of_models
        self._reports = reports
        self._report: tuple[Sentence, Path] | None = None
        """The report of a worker that died, which was not offered yet, and a phrase that says how it ended."""
        self._without_template: set[str] = set()
        """Models without a template for which a plain one was offered."""
        self._shown_model: tuple[str, str] = ("", "")
        """The model and the draft model that the present notices are about."""
        self._ready_model = ""
        """The last model that was ready to answer."""
        self._session.changed.connect(self._on_changed)
        self._session.load_failed.connect(self._on_load_failed)
        for watch in watches:
            watch.got_stuck.connect(partial(self._on_worker_stuck, watch.session))
            watch.recovered.connect(self._on_worker_recovered)
        for one in sessions.all:
            one.worker_died.connect(partial(self._on_worker_died, one))
            one.changed.connect(self._end_fresh_worker)
            one.draft_refused.connect(self._on_draft_refused)
            one.noticed.connect(self._on_model_noticed)
            one.precision_refused.connect(self._on_precision_refused)

    def end_offer_of_template(self, name: str) -> None:
        """End the offer of a plain template for a model, because the user has decided about it."""
        self._without_template.add(name)
        self._notices.end("template")

    def _on_changed(self) -> None:
        self._end_notices_of_models()
        if self._session.state == "ready":
            self._offer_template()

    def _end_fresh_worker(self) -> None:
        if all(session.state != "loading" for session in (self._session, self._sessions.guide)):
            self._notices.end("fresh_worker")
            report, self._report = self._report, None
            if report is not None:
                how, path = report
                text = Sentence(
                    "The model process stopped unexpectedly ({how}). There is a report on this computer; it was not "
                    "sent to anyone.",
                    how=how,
                )
                self._notices.post(Notice(text, action=ShowReport(path)))

    def _end_notices_of_models(self) -> None:
        """End the notices about models other than the present one."""
        name, draft = self._session.name, self._session.draft
        if name != self._shown_model[0]:
            for cause in ("template", "odd_model", "precision"):
                self._notices.end(cause)
        if (name, draft) != self._shown_model:
            self._notices.end("draft")
        self._shown_model = (name, draft)
        if self._session.state == "ready" and name != self._ready_model:
            # After a failed load, the model before it may be loaded again. The notice stays then.
            self._ready_model = name
            self._notices.end("model")

    def _offer_template(self) -> None:
        """Offer a plain template for a model without one, once."""
        info, name = self._session.info, self._session.name
        if info is None or info.has_template or name in self._without_template or self._templates.of(name) is not None:
            return
        self._without_template.add(name)
        self._notices.post(
            Notice(
                Sentence(
                    "This model has no chat template, so messages reach it as plain text: it may continue the text "
                    "instead of answering. A plain template marks who says what, and where a message ends."
                ),
                action=UsePlainTemplate(name),
                cause="template",
            )
        )

    def _on_worker_stuck(self, session: ModelSession, what: Sentence) -> None:
        self._notices.post(
            Notice(what, "warning", action=RestartWorker(self._sessions.kind_of(session)), cause="worker")
        )

    def _on_worker_recovered(self) -> None:
        self._notices.end("worker")

    def _on_worker_died(self, session: ModelSession, what: Sentence) -> None:
        action = self._reported(session)
        error = Sentence("{what_happened} The text so far is kept.", what_happened=what)
        # The answers that it wrote say so themselves.
        was_answering = self._answers.interrupt(session, error)
        if session.state == "loading" and not was_answering:
            text = Sentence("{error} The model is being loaded again; your next message will be answered.", error=error)
            self._notices.post(Notice(text, "warning", action=action, cause="fresh_worker"))

    def _reported(self, session: ModelSession) -> ShowReport | None:
        """Write a report about the worker that has died. Return an action that shows it; None if there is none."""
        crash, session.last_crash = session.last_crash, None
        if crash is None or self._reports is None:
            return None
        path = self._reports.write(
            Sentence("The model process stopped unexpectedly ({how}).", how=crash.how), _lines(crash)
        )
        if path is None:
            return None
        self._report = crash.how, path
        return ShowReport(path)

    def _on_load_failed(self, why: Sentence) -> None:
        self._notices.post(Notice(why, "danger", action=AskGuide(), cause="model"))

    def _on_model_noticed(self, what: Sentence) -> None:
        self._notices.post(Notice(what, "warning", cause="odd_model"))

    def _on_draft_refused(self, why: Sentence) -> None:
        self._notices.post(Notice(why, "warning", cause="draft"))

    def _on_precision_refused(self, num_bits: int) -> None:
        if self._of_models.of(self._session.name).kv_bits is not None:
            text = Sentence(
                "This model does not support a {num_bits}-bit cache, so it uses full precision. The answers are as "
                "good, but they take more memory. To avoid this message, choose “Full precision” on its page (Models).",
                num_bits=num_bits,
            )
            self._notices.post(Notice(text, "warning", cause="precision"))
            return
        self._notices.post(
            Notice(
                Sentence(
                    "This model does not support a {num_bits}-bit cache, so it uses full precision. The answers are as "
                    "good, but they take more memory. To avoid this message, choose “Full precision” in the settings.",
                    num_bits=num_bits,
                ),
                "warning",
                action=OpenMemorySettings(),
                cause="precision",
            )
        )


def _lines(crash: Crash) -> Iterator[str]:
    """Yield the lines of a report: what the process was doing, its model and libraries, and the end of its log."""
    heartbeat = crash.end.heartbeat
    lasted = "" if heartbeat is None else f", for {heartbeat.lasted_s:.1f} s"
    yield f"It was {described(heartbeat)}{lasted}."
    # Without the folders on this computer.
    yield f"Model: {Path(crash.model).name}"
    if crash.draft:
        yield f"Draft model: {Path(crash.draft).name}"
    yield from (f"{name} {version}" for name, version in crash.versions.items())
    yield ""
    yield "Its last lines:" if crash.end.last_words else "It printed nothing."
    yield from crash.end.last_words
