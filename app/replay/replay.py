"""Replay of one answer from its record, as commands to and events from the worker. Independent of Qt and processes.

Each token is sampled again after the stored tokens before it, with the same seed. Samples are functions of logits, seed
and position, so with the same weights, libraries and KV cache bits all tokens are the same. Where one differs, the
stored token is used instead and the replay continues after it. Hooks may depend on everything before, so an answer
with hooks is replayed in one run, up to the first token that differs.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct, structs

from app.answers.prompt import generate, without_oldest
from app.model.endpoints import EndpointModel
from app.model.message import ORIGINS, Earlier, Message, Record, Sampling
from app.replay.verdict import DRAWN, Difference, Verdict, changes, rounding, undrawn
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
from worker.sentence import Sentence

_MAX_DIFFERENCES = 16
"""After this many differences the rest is not compared: it is another answer."""
_NUM_TOP = 10
"""The number of alternatives requested for each token, to compare the probabilities of stored and new token."""
_NUM_EXTRA_TO_END = 64
"""The maximum number of further tokens in which the end of the answer is expected."""
_NUM_EXTRA_FOR_TEXT = 3
"""The maximum number of further tokens to complete a character, because the worker reports only whole characters."""
_ENDINGS = {"eos", "stop", "constraint", "hook"}


def why_not_replayable(message: Message) -> Sentence | None:
    """Return why an answer can't be replayed; None if it can."""
    if message.role != "assistant" or not message.text:
        return Sentence("This is not an answer of a model.")
    if message.record is not None and EndpointModel.parse(message.record.model) is not None:
        return Sentence("A server wrote this answer. Choose its model in the window, and run the answer again there.")
    if message.record is None or not message.record.token_ids:
        return Sentence(
            "The tokens of this answer are unknown: it was imported, edited, or cut by an older version of Bough."
        )
    if message.record.origins and len(message.record.origins) != len(message.record.token_ids):
        return Sentence("The record of this answer is damaged: it does not say where all tokens come from.")
    return None


class Run(Struct, frozen=True):
    """A range of tokens that were sampled with one seed and one set of sampling parameters."""

    begin: int
    end: int
    seed: int | None
    sampling: Sampling
    is_last: bool


def runs_of(record: Record) -> list[Run]:
    """Return the runs of a record. The last run is empty if only the end of the answer can be compared."""
    num_ids = len(record.token_ids)
    # The last tokens were tokenized again after sampling, so only their text can be compared.
    num_whole = len(record.origins.rstrip(ORIGINS["recut"])) if record.origins else num_ids
    last = Earlier(end=num_whole, seed=record.seed, sampling=record.sampling)
    runs: list[Run] = []
    begin = 0
    for part in (*record.earlier, last):
        end = min(part.end, num_whole)
        place = begin
        while place < end:
            start = place
            while place < end and (not record.origins or record.origins[place] in DRAWN):
                place += 1
            if place > start:
                runs.append(Run(start, place, part.seed, part.sampling, False))
            else:
                place += 1
        begin = max(begin, end)
    last_begin = record.earlier[-1].end if record.earlier else 0
    has_none = not runs or runs[-1].end < num_whole or last_begin >= num_whole
    if num_whole < num_ids and has_none:
        runs.append(Run(num_whole, num_whole, last.seed, last.sampling, False))
    if runs and runs[-1].end == num_whole:
        runs[-1] = structs.replace(runs[-1], is_last=True)
    return runs


class Replay:
    """The replay of one answer.

    The caller sends the commands that `start` and `take` return to the worker, and passes its events to `take`.
    """

    def __init__(self, message: Message, prompt: Sequence[Message], loaded: ModelLoaded, kv_bits: int | None) -> None:
        """`message` must be replayable (see `why_not_replayable`); `prompt` holds the messages before it."""
        assert message.record is not None
        self.verdict: Verdict | None = None
        """The result; None until the replay has ended."""
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
        self._num_requests = 0
        self._request_id = ""
        self._begin = self._place = 0
        """The positions of the request's first token and of its next token."""
        self._tokens: list[Token] = []
        self._text = ""
        self._is_cancelled = False

    @property
    def progress(self) -> float:
        """The fraction of the answer that is done, from 0 to 1."""
        return 1.0 if self.verdict is not None else self._place / max(len(self._ids), 1)

    def start(self) -> Command:
        """Return the first command."""
        return Tokenize(request_id=self._next_id(), token_ids=list(self._ids))

    def stop(self) -> Command:
        """Stop the replay; return the command that cancels the current request."""
        self._end(Sentence("The run was stopped."))
        return Cancel(request_id=f"{self._request_id}-stop", target=self._request_id)

    def take(self, event: Event) -> list[Command]:
        """Handle an event of the worker, which may belong to another request; return the next commands."""
        if self.verdict is not None or event.request_id != self._request_id:
            return []
        match event:
            case Tokenized():
                self._pieces = event.pieces
                # An interrupted answer may have tokens whose text was not shown yet.
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
        self._num_requests += 1
        self._request_id = f"replay-{self._message.id}-{self._num_requests}"
        return self._request_id

    def _next_run(self) -> list[Command]:
        """Start the next run whose seed is known."""
        while self._runs:
            if self._runs[0].seed is not None or self._runs[0].sampling.temperature == 0:
                return self._ask(self._runs[0].begin)
            run = self._runs.pop(0)
            self._remark(
                Sentence("The seed of the tokens {first} to {last} is unknown.", first=run.begin + 1, last=run.end)
            )
        self._end()
        return []

    def _ask(self, begin: int) -> list[Command]:
        """Request the rest of the current run, after the stored tokens before `begin`."""
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
                max_tokens=run.end - begin + (_NUM_EXTRA_TO_END if is_ending else _NUM_EXTRA_FOR_TEXT),
                hooks=list(self._hooks),
                hook_options={name: given for name, given in command.hook_options.items() if name in self._hooks},
                top_logprobs=max(self._record.top_logprobs, _NUM_TOP),
            )
        ]

    def _chunk(self, event: Chunk) -> list[Command]:
        self._tokens += event.tokens
        self._text += event.text
        # A hook may retract tokens later.
        if self._is_in_one_go or self._is_cancelled:
            return []
        if self._compare(self._tokens[self._place - self._begin :]) or self._is_beyond():
            self._is_cancelled = True
            return [Cancel(request_id=f"{self._request_id}-cancel", target=self._request_id)]
        return []

    def _compare(self, tokens: Sequence[Token]) -> bool:
        """Compare the next tokens with the stored ones; return whether one differs."""
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
        """Return whether the new answer continued where the stored answer ended."""
        run = self._runs[0]
        extra = self._tokens[run.end - self._begin :]
        # An answer that ends at a stop string has tokens beyond its text.
        if not extra or not run.is_last or self._record.reason not in _ENDINGS - {"stop"}:
            return False
        self._differ(run.end, extra[0])
        return True

    @property
    def _is_in_one_go(self) -> bool:
        """Whether the replay can't continue after a token that differs."""
        constraint = self._record.constraint
        return bool(self._hooks) or (constraint is not None and constraint.covers == "new")

    def _differ(self, place: int, token: Token | None) -> None:
        stored = self._ids[place] if place < len(self._ids) else None
        alternatives = {other.id: other for other in token.top} if token is not None else {}
        recorded = self._record.logprobs
        stored_now = None if stored is None else alternatives.get(stored)
        drawn = None if token is None else alternatives.get(token.id)
        self._differences.append(
            Difference(
                place=place,
                stored_id=stored,
                drawn_id=None if token is None else token.id,
                stored_text=self._pieces[place] if place < len(self._pieces) else "",
                drawn_text="" if drawn is None else drawn.text,
                stored_logprob=None if stored_now is None else stored_now.logprob,
                drawn_logprob=None if token is None else token.logprob,
                recorded_logprob=recorded[place] if place < len(recorded) else None,
            )
        )

    def _finished(self, event: Finished) -> list[Command]:
        run = self._runs[0]
        self._compare_prompt(event)
        self._compare_chunks(event)
        is_other = self._compare(self._tokens) if self._is_in_one_go else self._is_cancelled
        if not is_other and self._place < run.end:
            if event.choices[0].reason == "length":
                self._remark(Sentence("The model's context ends at token {position}.", position=self._place))
                self._end()
                return []
            # The replay ended where the stored answer continues.
            self._num_compared += 1
            self._differ(self._place, None)
            self._place += 1
            is_other = True
        elif not is_other and run.is_last:
            self._compare_end(event)
        if is_other and (self._is_in_one_go or len(self._differences) >= _MAX_DIFFERENCES):
            self._remark(Sentence("The tokens after token {position} were not compared.", position=self._place))
            self._end()
            return []
        if is_other and self._place < run.end:
            return self._ask(self._place)
        self._runs.pop(0)
        return self._next_run()

    def _compare_prompt(self, event: Finished) -> None:
        """Compare the prompt's length. If the lengths differ, all positions differ."""
        if self._prompt_tokens is not None or not event.usage.prompt_tokens:
            return
        self._prompt_tokens = event.usage.prompt_tokens - self._begin
        begin = max((part.end for part in self._record.earlier if not part.has_forked), default=0)
        before = self._record.figures.prompt_tokens - begin
        if self._record.figures.prompt_tokens and not self._has_healed and before != self._prompt_tokens:
            self._add_reason(
                Sentence(
                    "The prompt has {num_tokens} tokens now and had {num_before} before: a message above the answer, "
                    "the chat template, or its options have changed.",
                    num_tokens=self._prompt_tokens,
                    num_before=before,
                )
            )

    def _compare_chunks(self, event: Finished) -> None:
        """Compare the sizes of the prompt's chunks. With other chunks, a model rounds differently."""
        now, before = event.usage.chunk_tokens, self._record.chunk_tokens
        if now and before and now != before and event.usage.prompt_tokens > min(now, before):
            self._add_reason(
                Sentence(
                    "The prompt is read in chunks of {num_tokens} tokens now and was read in chunks of {num_before} "
                    "before, which rounds differently.",
                    num_tokens=now,
                    num_before=before,
                )
            )

    @property
    def _has_healed(self) -> bool:
        return bool(set(self._record.origins) - DRAWN)

    def _compare_end(self, event: Finished) -> None:
        choice = event.choices[0]
        reason = self._record.reason
        if reason not in _ENDINGS or self._differences:
            return
        self._is_end_compared = True
        if choice.reason != reason or not self._message.text.endswith(self._text):
            self._differ(len(self._ids), None)
            self._remark(
                Sentence(
                    "It ended with “{reason}” now and with “{before}” before.", reason=choice.reason, before=reason
                )
            )

    def _failed(self, event: Failed) -> list[Command]:
        if self._hooks and event.kind in {"hook_failed", "bad_request"}:
            names = ", ".join(self._hooks)
            self._add_reason(
                Sentence(
                    "Its hooks ({names}) can't be used as before, so it was sampled without them: {error}",
                    names=names,
                    error=event.sentence,
                )
            )
            self._hooks = ()
            return self._ask(self._begin)
        self._end(event.sentence)
        return []

    def _add_reason(self, reason: Sentence) -> None:
        if reason not in self._reasons:
            self._reasons.append(reason)

    def _remark(self, remark: Sentence) -> None:
        if remark not in self._remarks:
            self._remarks.append(remark)

    def _end(self, error: Sentence | None = None) -> None:
        if self._differences and not self._reasons:
            self._add_reason(rounding(self._differences[0], self._record))
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
