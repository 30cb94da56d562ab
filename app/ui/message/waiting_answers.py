"""The line below an answer that has no text yet: its model is being loaded, it waits, or its prompt is processed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.answers.model_session import ModelSession
from app.conversation.controller import Controller
from app.model.message import Message, MessageId, Record
from app.numbers import counted
from app.ui.header import model_label, stage_text
from app.ui.message.shown_message import ShownMessage

if TYPE_CHECKING:
    from app.answers.answer_stream import Reading
    from app.ui.message.message_view import MessageView

_SHOW_WAITING_MS = 100
"""The time until a line says what an answer waits for, and the time between two updates of the line."""


class WaitingAnswers(QObject):
    """Shows these lines on one page. They appear `_SHOW_WAITING_MS` after the request, and are then kept up to date."""

    def __init__(
        self,
        controller: Controller,
        page: QObject,
        *,
        messages: Callable[[], Sequence[Message]],
        view: Callable[[MessageId], MessageView | None],
        shown: Callable[[MessageId], ShownMessage],
    ) -> None:
        """`messages` are those of the page, from the top. A follow-up may wait for an answer above it."""
        super().__init__(page)
        self._controller = controller
        self._messages = messages
        self._view = view
        self._shown_message = shown
        self._readings: dict[MessageId, Reading] = {}
        """How much of the prompt has been processed, for each answer without text."""
        self._timer = QTimer(self, singleShot=True, interval=_SHOW_WAITING_MS)
        self._timer.timeout.connect(self._update)
        controller.shown.branch_changed.connect(self.start)
        controller.shown.reading.connect(self._on_reading)
        controller.program.answers.stopping.connect(self._show_stopping)
        controller.program.answers.ended.connect(self._on_ended)

    def start(self) -> None:
        """Start to show the lines if any answer on the page has no text yet."""
        if not self._timer.isActive() and self._waiting():
            self._timer.start()

    def _waiting(self) -> list[Message]:
        if not self._controller.program.answers.has_pending:
            return []
        return [message for message in self._messages() if self._controller.shown.is_without_new_text(message.id)]

    def _on_reading(self, message_id: MessageId, reading: Reading) -> None:
        self._readings[message_id] = reading

    def _on_ended(self, message: Message) -> None:
        self._readings.pop(message.id, None)

    def _show_stopping(self, message_id: MessageId) -> None:
        view = self._view(message_id)
        if view is not None:
            view.show_stopping()

    def _update(self) -> None:
        waiting = self._waiting()
        for message in waiting:
            view = self._view(message.id)
            if view is not None:
                self._show(view, message)
                if view.shown.is_queued != self._controller.shown.is_queued(message.id):
                    view.show_message(self._shown_message(message.id))
        if waiting:
            self._timer.start()

    def _show(self, view: MessageView, waiting: Message) -> None:
        session, model = self._session_of(waiting), _model_of(waiting)
        reading = self._readings.get(waiting.id)
        shown = self._controller.shown
        name = shown.waits_for(waiting.id)
        above = next((message for message in self._messages() if shown.is_streaming(message.id)), waiting)
        is_below_another = above.id != waiting.id and above.parent_id != waiting.parent_id
        other = self._model_before(waiting)
        hosts = self._controller.program.hosts_of([model])
        asked_for_s = self._controller.program.answers.asked_for_s(waiting.id)
        if self._controller.program.answers.is_stopping(waiting.id):
            view.show_stopping()
        elif session.state == "loading" and session.name == model:
            text = self.tr("loading {model}: {stage}").format(model=model_label(model), stage=stage_text(session.stage))
            view.show_waiting(text, session.fraction)
        elif shown.is_queued(waiting.id) and other is not None:
            is_loaded = session.name == model
            text = self.tr("waiting for {other} to answer, then loading {model}")
            text = self.tr("waiting for {other} to answer") if is_loaded else text
            view.show_waiting(text.format(other=model_label(other), model=model_label(model)))
        elif is_below_another and shown.is_queued(waiting.id):
            view.show_waiting(self.tr("waiting for the answer above"))
        elif self._controller.program.answers.waits_for_disk(waiting.id):
            view.show_waiting(self.tr("waiting until your message is on the disk"))
        elif hosts and asked_for_s is not None:
            text = self.tr("waiting for {host}, {seconds} s")
            view.show_waiting(text.format(host=hosts[0], seconds=counted(int(asked_for_s))))
        elif reading is not None:
            view.show_reading(reading)
        elif name is None:
            view.show_waiting(self.tr("preparing the prompt"))
        elif session.name != model:
            text = self.tr("waiting for the answer in “{name}”, then loading {model}")
            view.show_waiting(text.format(name=name, model=model_label(model)))
        else:
            view.show_waiting(self.tr("waiting for the answer in “{name}”").format(name=name))

    def _model_before(self, waiting: Message) -> str | None:
        """Return the model that answers the same question before this one; None if there is none."""
        shown = self._controller.shown
        turns = self._controller.program.sessions.taking_turns_with(self._session_of(waiting))
        for sibling in shown.siblings(waiting.id):
            message = shown.message(sibling)
            session, model = self._session_of(message), _model_of(message)
            if session in turns and session.name == model != _model_of(waiting) and shown.is_streaming(sibling):
                return model
        return None

    def _session_of(self, waiting: Message) -> ModelSession:
        return self._controller.program.sessions.of(_model_of(waiting))


def _model_of(message: Message) -> str:
    return (message.record or Record()).model
