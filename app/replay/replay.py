"""An answer run again from its record, and what came of it: a talk with the worker; neither Qt nor a process.

Each token is drawn again behind the stored ids before it, with the same seed. Draws are functions of logits, seed and
place, so with the same weights, libraries and way of keeping what was read all of them come again; where one does not,
the stored token is put in its place and the run goes on from there. What hooks did can't be parted so: with them an
answer is drawn in one go, up to the first token that is another.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import structs

from app.answers.prompt import generate, without_oldest
from app.model.message import Message
from app.replay.runs import DRAWN, runs_of
from app.replay.verdict import Difference, Verdict, changes, rounding, undrawn
from worker.protocol import (
    Cancel,
    Chunk,
    Command,
    Continuation,
    Event,
    Failed,
    Finished,
    ModelLoaded,
    Retract,
    Token,
    Tokenize,
    Tokenized,
)

_MAX_DIFFERENCES = 16
"""After so many the answer is another one; it is not followed further."""
_NUM_TOP = 10
"""Alternatives that are asked for, to tell how near two tokens were."""
_ROOM = 64
"""Tokens behind the last one in which what ended the answer may come again."""
_REST = 3
"""Tokens behind the last one with which a character that begins there is whole; halves of one are not told."""
_ENDINGS = {"eos", "stop", "constraint", "hook"}


def refused(message: Message) -> str | None:
    """Return why an answer can't be run again, if so, as a sentence."""
    if message.role != "assistant" or not message.text:
        return "This is no answer of a model."
    if message.record is None or not message.record.token_ids:
        return "Of this answer no tokens are known: it was imported, edited, or cut by an older Bough."
    if message.record.origins and len(message.record.origins) != len(message.record.token_ids):
        return "The record of this answer is damaged: not of all its tokens it says how they came."
    return None


class Replay:
    """One answer on its way. Send what `start` and `take` return, and hand every event to `take`."""

    def __init__(self, message: Message, prompt: Sequence[Message], loaded: ModelLoaded, kv_bits: int | None) -> None:
        """`message` has tokens (see `refused`); `prompt` are the messages before it, `loaded` the model that runs."""
        assert message.record is not None
        self.verdict: Verdict | None = None
        """Once it is over."""
        self._message = message
        self._record = message.record
        self._prompt = without_oldest(prompt, message.record.figures.left_out_messages)
        self._ids = message.record.token_ids
        self._reasons = changes(message.record, loaded, kv_bits)
        self._remarks = undrawn(message.record)
        self._pieces: Sequence[str] = ()
        self._is_text_spelled: bool | None = None
        self._hooks = message.record.hooks
        self._runs = runs_of(message.record)
        self._differences: list[Difference] = []
        self._num_compared = 0
        self._is_end_compared = False
        self._prompt_tokens: int | None = None
        self._num_asked = 0
        self._request_id = ""
        self._begin = self._place = 0
        """Where the request began, and the place of the next token that it draws."""
        self._tokens: list[Token] = []
        self._text = ""
        self._is_cancelled = False

    @property
    def done(self) -> float:
        """How much of it is done, 0…1."""
        return 1.0 if self.verdict is not None else self._place / max(len(self._ids), 1)

    def start(self) -> Command:
        """Return the first command."""
        return Tokenize(request_id=self._next_id(), token_ids=list(self._ids))

    def stop(self) -> Command:
        """Give it up; return what ends the request under way."""
        self._end("It was stopped.")
        return Cancel(request_id=f"{self._request_id}-stop", target=self._request_id)

    def take(self, event: Event) -> list[Command]:
        """Take an event of the worker, whoever's it is; return what to send next."""
        if self.verdict is not None or event.request_id != self._request_id:
            return []
        match event:
            case Tokenized():
                self._pieces = event.pieces
                # What broke off may have tokens whose text was not told yet.
                self._is_text_spelled = event.text == self._message.text or (
                    self._record.reason is None and event.text.startswith(self._message.text)
                )
                return self._next_run()
            case Chunk() if event.choice == 0:
                return self._chunk(event)
            case Retract() if event.choice == 0:
                del self._tokens[len(self._tokens) - event.num_tokens :]
                return []
            case Finished():
                return self._finished(event)
            case Failed():
                return self._failed(event)
            case _:
                return []

    # --- inside --------------------------------------------------------------------------------------------

    def _next_id(self) -> str:
        self._num_asked += 1
        self._request_id = f"replay-{self._message.id}-{self._num_asked}"
        return self._request_id

    def _next_run(self) -> list[Command]:
        """Begin the stretch that comes next."""
        while self._runs:
            if self._runs[0].seed is not None or self._runs[0].sampling.temperature == 0:
                return self._ask(self._runs[0].begin)
            run = self._runs.pop(0)
            self._remark(f"The seed of tokens {run.begin + 1:,} to {run.end:,} is not known.")
        self._end()
        return []

    def _ask(self, begin: int) -> list[Command]:
        """Draw what is left of a stretch again, behind the stored ids before it."""
        run = self._runs[0]
        self._begin = self._place = begin
        self._tokens, self._text, self._is_cancelled = [], "", False
        is_ending = run.is_last and self._record.reason in _ENDINGS
        record = structs.replace(self._record, sampling=run.sampling, overflow="fail")
        bare = structs.replace(self._message, text="", record=record)
        command = generate(self._next_id(), bare, self._prompt)
        return [
            msgspec.structs.replace(
                command,
                sampling=msgspec.structs.replace(command.sampling, seed=run.seed),
                continuation=Continuation(token_ids=list(self._ids[:begin])) if begin else None,
                max_tokens=run.end - begin + (_ROOM if is_ending else _REST),
                hooks=list(self._hooks),
                hook_options={name: given for name, given in command.hook_options.items() if name in self._hooks},
                top_logprobs=max(self._record.top_logprobs, _NUM_TOP),
            )
        ]

    def _chunk(self, event: Chunk) -> list[Command]:
        self._tokens += event.tokens
        self._text += event.text
        # A hook may take back what it has let through.
        if self._is_in_one_go or self._is_cancelled:
            return []
        if self._compare(self._tokens[self._place - self._begin :]) or self._is_beyond():
            self._is_cancelled = True
            return [Cancel(request_id=f"{self._request_id}-cancel", target=self._request_id)]
        return []

    def _compare(self, tokens: Sequence[Token]) -> bool:
        """Compare the next tokens with those that are stored; return whether one was another."""
        end = self._runs[0].end
        for token in tokens:
            if self._place >= end:
                return False
            self._place += 1
            self._num_compared += 1
            if token.id != self._ids[self._place - 1]:
                self._differ(self._place - 1, token)
                return True
        return False

    def _is_beyond(self) -> bool:
        """Whether the answer went on where it ended."""
        run = self._runs[0]
        over = self._tokens[run.end - self._begin :]
        # What ends in a stop string has tokens that are no text of it.
        if not over or not run.is_last or self._record.reason not in _ENDINGS - {"stop"}:
            return False
        self._differ(run.end, over[0])
        return True

    @property
    def _is_in_one_go(self) -> bool:
        """Whether a part can't be gone on with behind a token that was drawn otherwise."""
        constraint = self._record.constraint
        return bool(self._hooks) or (constraint is not None and constraint.covers == "new")

    def _differ(self, place: int, token: Token | None) -> None:
        stored = self._ids[place] if place < len(self._ids) else None
        near = {other.id: other for other in token.top} if token is not None else {}
        recorded = self._record.logprobs
        there = None if stored is None else near.get(stored)
        here = None if token is None else near.get(token.id)
        self._differences.append(
            Difference(
                place=place,
                stored_id=stored,
                drawn_id=None if token is None else token.id,
                stored_text=self._pieces[place] if place < len(self._pieces) else "",
                drawn_text="" if here is None else here.text,
                stored_logprob=None if there is None else there.logprob,
                drawn_logprob=None if token is None else token.logprob,
                recorded_logprob=recorded[place] if place < len(recorded) else None,
            )
        )

    def _finished(self, event: Finished) -> list[Command]:
        run = self._runs[0]
        self._look_at_prompt(event)
        is_other = self._compare(self._tokens) if self._is_in_one_go else self._is_cancelled
        if not is_other and self._place < run.end:
            if event.choices[0].reason == "length":
                self._remark(f"The model's context ends at token {self._place:,}.")
                self._end()
                return []
            # It ended where it went on.
            self._num_compared += 1
            self._differ(self._place, None)
            self._place += 1
            is_other = True
        elif not is_other and run.is_last:
            self._look_at_end(event)
        if is_other and (self._is_in_one_go or len(self._differences) >= _MAX_DIFFERENCES):
            self._remark(f"What comes after token {self._place:,} was not compared.")
            self._end()
            return []
        if is_other and self._place < run.end:
            return self._ask(self._place)
        self._runs.pop(0)
        return self._next_run()

    def _look_at_prompt(self, event: Finished) -> None:
        """Where what the model read is of another length, all places are others."""
        if self._prompt_tokens is not None or not event.usage.prompt_tokens:
            return
        self._prompt_tokens = event.usage.prompt_tokens - self._begin
        begin = max((part.end for part in self._record.earlier if not part.has_forked), default=0)
        before = self._record.figures.prompt_tokens - begin
        if self._record.figures.prompt_tokens and not self._has_healed and before != self._prompt_tokens:
            self._say(
                f"What it answers has {self._prompt_tokens:,} tokens and had {before:,}: a message above it, the chat "
                "template or what that is given is another."
            )

    @property
    def _has_healed(self) -> bool:
        return bool(set(self._record.origins) - DRAWN)

    def _look_at_end(self, event: Finished) -> None:
        choice = event.choices[0]
        reason = self._record.reason
        if reason not in _ENDINGS or self._differences:
            return
        self._is_end_compared = True
        if choice.reason != reason or not self._message.text.endswith(self._text):
            self._differ(len(self._ids), None)
            self._remark(f"It ended by {choice.reason}, and then by {reason}.")

    def _failed(self, event: Failed) -> list[Command]:
        if self._hooks and event.kind in {"hook_failed", "bad_request"}:
            names = ", ".join(self._hooks)
            self._say(f"Its hooks ({names}) can't be used as they were, so it was drawn without: {event.message}")
            self._hooks = ()
            return self._ask(self._begin)
        self._end(event.message)
        return []

    def _say(self, reason: str) -> None:
        if reason not in self._reasons:
            self._reasons.append(reason)

    def _remark(self, remark: str) -> None:
        if remark not in self._remarks:
            self._remarks.append(remark)

    def _end(self, error: str | None = None) -> None:
        if self._differences and not self._reasons:
            self._say(rounding(self._differences[0], self._record))
        self.verdict = Verdict(
            message_id=self._message.id,
            model=self._record.model,
            matched=error is None
            and not self._differences
            and self._is_text_spelled is not False
            and (self._num_compared > 0 or self._is_end_compared),
            num_tokens=len(self._ids),
            num_compared=self._num_compared,
            is_text_spelled=self._is_text_spelled,
            differences=tuple(self._differences),
            reasons=tuple(self._reasons),
            remarks=tuple(self._remarks),
            error=error,
        )
