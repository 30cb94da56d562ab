"""Answers that continue from inside another one: with another token at some position, or from a text position."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import structs

from app.answers.sessions import ModelInUse
from app.conversation.preparation import Preparation
from app.conversation.shown_conversation import ShownConversation
from app.model.message import ORIGINS, Figures, Message, MessageId, Record, without_tokens
from app.model.token_pieces import token_pieces, with_first_tokens
from app.notices import Notice
from app.program import Program
from worker.sentence import Sentence

_REPLACEMENT = "\ufffd"
"""Stands for bytes that are not a whole character."""


class Beginning(NamedTuple):
    """The text that a new answer begins with, and the record of its tokens."""

    text: str
    record: Record
    is_whole: bool = False
    """Whether the answer ends there, because the chosen token ends a turn."""


class TokenForks:
    """Adds these answers as siblings of the original; the controller owns it."""

    def __init__(self, program: Program, preparation: Preparation, shown: ShownConversation, model: ModelInUse) -> None:
        self._program = program
        self._preparation = preparation
        self._shown = shown
        self._model = model

    def fork_at_token(self, message_id: MessageId, token_index: int, token_id: int) -> None:
        """Add an answer that has another token at `token_index` and the same tokens before it."""
        message = self._shown.message(message_id)
        beginning = None if self._is_by_another_model(message) else at_token(message, token_index, token_id)
        if beginning is None:
            self._program.notices.post(
                Notice(
                    Sentence(
                        "The answer can't continue from this token: another model wrote it, or the token is only "
                        "a part of a character. Nothing was changed. "
                        "Load the model that wrote the answer, or choose the token before."
                    )
                )
            )
        else:
            self._add(message, beginning, "Fork at token")

    def fork_at_position(self, message_id: MessageId, num_chars: int) -> None:
        """Add an answer that begins with the first characters of this one and continues in another way."""
        message = self._shown.message(message_id)
        beginning = at_position(message, num_chars)
        if beginning is None:
            self._program.notices.post(
                Notice(Sentence("Put the cursor into an answer, after the words that you want to keep."))
            )
        else:
            self._add(message, beginning, "Go on from here")

    def beginning_at(self, message_id: MessageId, num_chars: int) -> Message | None:
        """Return the answer that `fork_at_position` would continue, before its continuation; None if it adds none."""
        message = self._shown.message(message_id)
        beginning = at_position(message, num_chars)
        if beginning is None or not self._can_fork(message):
            return None
        record = self._preparation.record_to_continue(self._known(message, beginning))
        return Message(id=0, parent_id=message.parent_id, role="assistant", text=beginning.text, record=record)

    def _is_by_another_model(self, message: Message) -> bool:
        return message.record is None or message.record.model != self._model.name

    def _can_fork(self, message: Message) -> bool:
        is_streaming = self._shown.is_streaming(message.id)
        return message.role == "assistant" and message.parent_id is not None and not is_streaming

    def _known(self, message: Message, beginning: Beginning) -> Record:
        """Return the record of a beginning; without its tokens if another model wrote them."""
        return without_tokens(beginning.record) if self._is_by_another_model(message) else beginning.record

    def _add(self, message: Message, beginning: Beginning, name: str) -> None:
        if not self._can_fork(message):
            return
        assert message.parent_id is not None
        known = self._known(message, beginning)
        opened = self._shown.require_open()
        with self._program.notices.report_store_errors(), self._shown.step(name):
            if beginning.is_whole:
                opened.add(message.parent_id, "assistant", beginning.text, record=known)
            else:
                record = self._preparation.record_to_continue(known)
                added = opened.add(message.parent_id, "assistant", beginning.text, state="streaming", record=record)
                self._program.answers.ask([added], opened.lineage(added.id)[:-1], opened.conversation.id)
            self._shown.announce_growth()


def at_token(message: Message, token_index: int, token_id: int) -> Beginning | None:
    """Return the beginning of an answer with another token at `token_index`; None if that is not possible.

    It is not possible inside a character: the tokens before spell no text yet, and another token may not complete it.
    """
    record = message.record
    pieces = token_pieces(message)
    if record is None or not 0 <= token_index < len(pieces):
        return None
    piece = pieces[token_index]
    chosen = next((other for other in piece.choices if other.id == token_id), None)
    if chosen is None or _begins_inside(message, token_index):
        return None
    kept = with_first_tokens(record, token_index)
    if not chosen.text:
        return Beginning(message.text[: piece.start], structs.replace(_unended(kept), reason="eos"), is_whole=True)
    # The first bytes of a character are shown once the model has written the others.
    shown = chosen.text.rstrip(_REPLACEMENT)
    if _REPLACEMENT in shown:
        return None
    return Beginning(
        message.text[: piece.start] + shown,
        _unended(
            structs.replace(
                kept,
                token_ids=(*kept.token_ids, token_id),
                token_chars=(*kept.token_chars, len(shown)),
                origins=(kept.origins or ORIGINS["given"] * token_index) + ORIGINS["chosen"],
                logprobs=(*kept.logprobs, chosen.logprob) if record.logprobs else (),
                alternatives=(*kept.alternatives, piece.alternatives) if record.alternatives else (),
            )
        ),
    )


def at_position(message: Message, num_chars: int) -> Beginning | None:
    """Return the first characters of an answer as the beginning of another one; None if they are blank."""
    text = message.text[:num_chars]
    if not text.strip():
        return None
    record = message.record or Record()
    whole = [piece for piece in token_pieces(message) if piece.end <= num_chars]
    kept = with_first_tokens(record, len(whole)) if whole else without_tokens(record)
    return Beginning(text, _unended(kept))


def _begins_inside(message: Message, token_index: int) -> bool:
    """Whether a token continues a character that the token before it began."""
    chars = message.record.token_chars if message.record is not None else ()
    if token_index > 0 and chars[token_index - 1] == 0:
        return True
    piece = token_pieces(message)[token_index]
    own = next((other.text for other in piece.alternatives if other.id == piece.id), "")
    return own.startswith(_REPLACEMENT) and chars[token_index] > 0


def _unended(record: Record) -> Record:
    return structs.replace(
        record,
        reason=None,
        stop=None,
        error=None,
        error_parts=None,
        ended_ms=0,
        hook_records=(),
        figures=Figures(),
        sent=None,
    )
