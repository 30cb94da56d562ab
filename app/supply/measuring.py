"""Stores the memory and the speeds of models, as their workers report them."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.answers.model_session import ModelSession
from app.catalog.measured import Answered, Measurements
from worker.protocol import Event, Finished


class Measuring(QObject):
    """Passes the reports of a session to `measurements`."""

    def __init__(self, session: ModelSession, measurements: Measurements) -> None:
        super().__init__()
        self._session = session
        self._measurements = measurements
        self._is_fresh = False
        """Whether no answer has been generated since the model was loaded."""
        self._is_ready = False
        session.changed.connect(self._on_changed)
        session.received.connect(self._on_event)

    def _on_changed(self) -> None:
        is_ready = self._session.state == "ready"
        if is_ready and not self._is_ready and self._session.info is not None:
            self._is_fresh = True
            self._measurements.note_loaded(self._session.name, self._session.info.weights_bytes)
        self._is_ready = is_ready

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Finished) or not self._is_ready:
            return
        usage, timing = event.usage, event.timing
        is_first, self._is_fresh = self._is_fresh and len(event.choices) == 1, False
        self._measurements.note_answer(
            self._session.name,
            Answered(
                is_first=is_first and not usage.cached_tokens,
                prefilled_tokens=usage.prefilled_tokens,
                num_tokens=usage.prompt_tokens + usage.generated_tokens,
                generated_tokens=usage.generated_tokens,
                prefill_ms=timing.prefill_ms,
                answer_tokens_per_s=timing.decode_tokens_per_s,
                peak_bytes=usage.peak_memory_bytes,
                kv_bits=self._session.kv_bits or 16,  # pyright: ignore[reportArgumentType]
            ),
        )
