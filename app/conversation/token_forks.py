"""New answers that continue another answer: with another token, from a position in its text, or from its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import structs

from app.answers.sessions import ModelInUse
from app.conversation.preparation import Preparation
from app.conversation.shown_conversation import ShownConversation
from app.model.message import ORIGINS, Figures, Message, MessageId, Record, is_part, without_tokens
from app.model.token_pieces import token_pieces, with_first_tokens
from app.notices import Notice
from app.program import Program
from worker.sentence import Sentence

_REPLACEMENT = "\ufffd"
"""The replacement for bytes that are not a whole character."""


class Beginning(NamedTuple):
    """The text with which a new answer begins, and the record of its tokens."""

    text: str
    record: Record
    is_whole: bool = False
    """Whether the answer ends after this text, because the chosen token ends a turn."""


class TokenForks:
    """Adds such answers as siblings of the original answer. Owned by the controller."""

    def __init__(
        self,
        program: Program,
        preparation: Preparation,
        shown: ShownConversation,
        model: ModelInUse,
        is_refused: Callable[[Sequence[Message], str], bool],
    ) -> None:
        """`is_refused` gets a prompt and the beginning of an answer, and returns whether it can't fit into memory."""
        self._is_refused = is_refused
        self._program = program
        self._preparation = preparation
        self._shown = shown
        self._model = model

    def fork_at_token(self, message_id: MessageId, token_index: int, token_id: int) -> None:
        """Add an answer that has another token at `token_index` and the same tokens before it."""
        message = self._shown.message(message_id)
        if not self._model.can("continue"):
            self._program.notices.post(
                Notice(
                    Sentence(
                        "The server of this model does not continue a given answer, so another token can't be chosen. "
                        "Nothing was changed. Ask again for another answer, or choose another model."
                    )
                )
            )
            return
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

    def continue_with(self, message_id: MessageId, text: str) -> None:
        """Add a sibling of an answer that begins with `text`, and let the model continue it.

        Does nothing if `text` is blank.
        """
        message = self._shown.message(message_id)
        if text.strip() and self._can_fork(message):
            self._add(message, Beginning(text, self._known_record(message, text)), "Continue")

    def beginning(self, message_id: MessageId, num_chars: int | None = None) -> Message | None:
        """Return the unfinished answer that would be continued after the first `num_chars` characters of an answer.

        A `num_chars` of None means all characters. Return None if the answer can't be continued there.
        """
        message = self._shown.message(message_id)
        text = message.text[:num_chars]
        if not text.strip() or not self._can_fork(message):
            return None
        record = self._preparation.record_to_continue(self._known_record(message, text))
        record = structs.replace(record, is_part=is_part(message))
        return Message(id=0, parent_id=message.parent_id, role="assistant", text=text, record=record)

    def record_at_end(self, message: Message) -> Record:
        """Return the record with which an answer would be continued from its end."""
        return self._preparation.record_to_continue(self._known_record(message, message.text))

    def _is_by_another_model(self, message: Message) -> bool:
        return message.record is None or message.record.model != self._model.name

    def _can_fork(self, message: Message) -> bool:
        is_streaming = self._shown.is_streaming(message.id)
        is_possible = message.role == "assistant" and message.parent_id is not None and not is_streaming
        return is_possible and self._model.can("continue")

    def _known_record(self, message: Message, text: str) -> Record:
        """Return the record of the beginning of an answer, with the tokens that the model has already processed.

        An edited answer gets the tokens of the version with which it shares its beginning, so that they are not
        processed again.
        """
        own = message.record
        if own is not None and message.text == text and own.num_tokens and own.model == self._model.name:
            return _unended(own)
        versions = [self._shown.message(other) for other in self._shown.siblings(message.id)]
        return known_tokens(text, own, [other for other in versions if not self._is_by_another_model(other)])

    def _add(self, message: Message, beginning: Beginning, name: str) -> None:
        if not self._can_fork(message):
            return
        assert message.parent_id is not None
        record = structs.replace(beginning.record, is_part=is_part(message))
        beginning = beginning._replace(record=record)
        opened = self._shown.require_open()
        if not beginning.is_whole and self._is_refused(opened.lineage(message.parent_id), beginning.text):
            return
        with self._program.notices.report_store_errors(), self._shown.step(name):
            parent_id = opened.begin_version(message.id)
            if beginning.is_whole:
                opened.add(parent_id, "assistant", beginning.text, record=beginning.record)
            else:
                record = self._preparation.record_to_continue(beginning.record)
                added = opened.add(parent_id, "assistant", beginning.text, state="streaming", record=record)
                self._program.answers.ask([added], opened.lineage(added.id)[:-1], opened.conversation.id)
            self._shown.announce_growth()


def at_token(message: Message, token_index: int, token_id: int) -> Beginning | None:
    """Return the beginning of an answer with another token at `token_index`; None if that is not possible.

    It is not possible inside a character, because the other token may not complete the character.
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
                token_ids=(*kept.token_ids, token_id) if token_id >= 0 else (),
                token_chars=(*kept.token_chars, len(shown)),
                origins=(kept.origins or ORIGINS["given"] * token_index) + ORIGINS["chosen"],
                logprobs=(*kept.logprobs, chosen.logprob) if record.logprobs else (),
                alternatives=(*kept.alternatives, piece.alternatives) if record.alternatives else (),
            )
        ),
    )


def known_tokens(text: str, own: Record | None, versions: Sequence[Message]) -> Record:
    """Return the record of a text with which an answer begins, with as many tokens as the versions have for it.

    `own` is the record of the answer, whose prompt and format are kept; None if the user wrote the answer.
    """
    longest, num_known = next((version.record for version in versions if version.record is not None), None), 0
    for version in versions:
        num_same = _num_same(text, version.text)
        whole = [piece for piece in token_pieces(version) if piece.end <= num_same]
        if len(whole) > num_known:
            longest, num_known = version.record, len(whole)
    if longest is None or (own is not None and not num_known):
        return _unended(without_tokens(own or Record()))
    known = with_first_tokens(longest, num_known) if num_known else without_tokens(longest)
    if own is not None:
        known = structs.replace(known, constraint=own.constraint, template_options=own.template_options)
    return _unended(known)


def _num_same(one: str, other: str) -> int:
    """Return the number of characters at the beginning that two texts have in common."""
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        return shorter
    return next(number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)


def _begins_inside(message: Message, token_index: int) -> bool:
    """Return whether a token is in the middle of a character that an earlier token began."""
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
