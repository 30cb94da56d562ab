"""One answer of a server as it grows: turns the pieces that the server sends into text that can be shown."""

from __future__ import annotations

import codecs
import contextlib
import json
import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from worker.endpoints.body import THINK, THINK_END, without_thought
from worker.endpoints.events import Object, excerpt
from worker.errors import EndpointError
from worker.protocol import Alternative, Choice, FinishReason, Token
from worker.sentence import Sentence
from worker.text.stop_strings import StopStrings
from worker.text.text_stream import TextStream

MAX_CHARS = 32 << 20
"""The longest answer that is read."""


class _Delta(Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    thinking: str | None = None
    refusal: str | None = None

    @property
    def thought(self) -> str:
        return self.reasoning_content or self.reasoning or self.thinking or ""


class _Choice(Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: object = None
    logprobs: object = None


class _Logprob(Struct):
    """A token as a server describes it. `bytes` are more exact than `token`, but not all servers give them."""

    token: str = ""
    logprob: float | None = None
    bytes: list[Annotated[int, Meta(ge=0, le=255)]] | None = None

    @property
    def data(self) -> bytes:
        return self.token.encode("utf-8", "replace") if self.bytes is None else bytes(self.bytes)

    @property
    def log_probability(self) -> float | None:
        """None if it is not known, or so low that the server writes no number."""
        number = self.logprob
        return min(0.0, number) if number is not None and math.isfinite(number) and number > _LOWEST else None


class _Written(_Logprob):
    top_logprobs: list[_Logprob] | None = None


class _Logprobs(Struct):
    content: list[_Written] | None = None


_LOWEST = -9998.0
"""Servers write -9999 in place of minus infinity, which JSON does not have."""
_ENDS = frozenset(
    {
        *("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "<|end_of_turn|>", "<|eom_id|>"),
        *("<end_of_turn>", "<turn|>", "<|return|>", "<|endofturn|>", "<|END_OF_TURN_TOKEN|>", "<eos>", "</s>", "[EOS]"),
        "<｜end▁of▁sentence｜>",
    }
)
"""Tokens that end an answer, as servers spell them. They have no text of their own."""


class _Piece(Struct):
    """Bytes of a token that the text has not reached yet."""

    data: bytes
    logprob: float | None
    top: list[Alternative]


_Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]


class _PromptDetails(Struct):
    cached_tokens: _Count | None = None


class _Usage(Struct):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    prompt_tokens_details: _PromptDetails | None = None
    # Some servers report them here.
    cached_tokens: _Count | None = None
    prompt_cache_hit_tokens: _Count | None = None

    @property
    def kept_tokens(self) -> int | None:
        """How much of the prompt the server had kept; None if it does not report it."""
        details = None if self.prompt_tokens_details is None else self.prompt_tokens_details.cached_tokens
        found = (details, self.cached_tokens, self.prompt_cache_hit_tokens)
        return next((number for number in found if number is not None), None)


class _Event(Struct):
    choices: list[_Choice] | None = None
    usage: object = None
    error: object = None


class Answer:
    """The text of one answer. It is shown as soon as it can't become part of a stop string any more."""

    def __init__(
        self, name: str, stops: Sequence[str], seed: int, given: str = "", *, wants_tokens: bool = False
    ) -> None:
        """`name` is the server's name in sentences. `seed` was sent to it. `given` is the beginning of the answer.

        `wants_tokens`: whether the server was asked to describe tokens.
        """
        self._name = name
        self._seed = seed
        self._wants_tokens = wants_tokens
        self._stream = TextStream(StopStrings(stops), given.encode())
        # Some servers send the two halves of a character beyond the 16-bit ones in two events.
        self._decoder = codecs.getincrementaldecoder("utf-16-le")("replace")
        self._shown: list[str] = []
        self._is_thinking = False
        self._has_answer = bool(given)
        """Whether the text after the reasoning has begun."""
        self.reason: FinishReason | None = None
        """Why the answer ended; None while the server may go on."""
        self._pieces: deque[_Piece] = deque()
        """The next tokens, whose text has not come yet."""
        self._tokens: list[Token] = []
        """The tokens of the text since `take_tokens`, also of text that is held back."""
        self.prompt_tokens = self.new_tokens = 0
        self.cached_tokens: int | None = None
        """How much of the prompt the server had kept; None if it has not reported it."""
        self.first_s = self.last_s = 0.0
        """The times of the first and the last piece by `time.perf_counter`; 0 before the first one."""

    def take(self, event: Object) -> str:
        """Add an event. Return the text that can be shown now. Raises `EndpointError`."""
        try:
            read = msgspec.convert(event, _Event, strict=False)
        except msgspec.ValidationError as error:
            raise EndpointError(
                Sentence(
                    "{server} sent an event that can't be read ({error}). The text so far is kept. Check whether "
                    "the server supports OpenAI's API.",
                    server=self._name,
                    error=str(error),
                )
            ) from None
        if read.error:
            raise EndpointError(
                Sentence(
                    "{server} reported an error in the middle of the answer: {text}. The text so far is kept. Ask "
                    "again.",
                    server=self._name,
                    text=excerpt(_text_of(read.error)),
                )
            )
        # Figures that can't be read are ignored, because the text matters more.
        with contextlib.suppress(msgspec.ValidationError):
            usage = msgspec.convert(read.usage or {}, _Usage, strict=False)
            self.prompt_tokens = usage.prompt_tokens or self.prompt_tokens
            self.new_tokens = usage.completion_tokens or self.new_tokens
            self.cached_tokens = self.cached_tokens if usage.kept_tokens is None else usage.kept_tokens
        return "".join(self._take_choice(choice) for choice in (read.choices or ())[:1])

    def _take_choice(self, choice: _Choice) -> str:
        if self.reason is not None:
            # The answer has ended, but some servers still send an empty piece.
            return ""
        delta = choice.delta or choice.message or _Delta()
        if self._wants_tokens:
            self._pieces += _pieces_of(choice.logprobs)
        shown = self._think(delta.thought) + self._write(delta.content or delta.refusal or "")
        if self._stream.stop is None and choice.finish_reason:
            shown += self._end(choice.finish_reason)
        if self._stream.num_shown > MAX_CHARS:
            raise EndpointError(
                Sentence(
                    "{server} does not end its answer, so Bough stopped reading. The text so far is kept. Set a "
                    "limit for the length of answers, then ask again.",
                    server=self._name,
                )
            )
        return shown

    def _think(self, text: str) -> str:
        if not text or self._has_answer:
            return ""
        begin = "" if self._is_thinking else self._mark(THINK)
        self._is_thinking = True
        return begin + self._push(text, may_stop=False)

    def _write(self, text: str) -> str:
        if not text:
            return ""
        shown = self._mark(THINK_END) if self._is_thinking else ""
        self._is_thinking, self._has_answer = False, True
        return shown + self._push(text)

    def _mark(self, text: str) -> str:
        """Add a text that the model did not write."""
        return self._place(text.encode(), _Piece(b"", None, []), may_stop=False)

    def _push(self, text: str, *, may_stop: bool = True) -> str:
        self.last_s = time.perf_counter()
        self.first_s = self.first_s or self.last_s
        whole = self._decoder.decode(text.encode("utf-16-le", "surrogatepass"))
        return self._spell(whole.encode(), may_stop=may_stop)

    def _spell(self, data: bytes, *, may_stop: bool) -> str:
        """Add text. The tokens that spell it are those that the server describes, as far as that is true."""
        shown = ""
        while data and self._stream.stop is None:
            piece, num_bytes = self._next_piece(data)
            shown += self._place(data[:num_bytes], piece, may_stop=may_stop)
            data = data[num_bytes:]
        return shown

    def _next_piece(self, data: bytes) -> tuple[_Piece, int]:
        """Return the token with which a text begins, and how many bytes of the text it spells."""
        unknown = _Piece(b"", None, [])
        for number, piece in enumerate(self._pieces):
            begin = data.find(piece.data) if piece.data else -1
            is_longer = begin < 0 and piece.data.startswith(data)
            if begin < 0 and not is_longer:
                # Tokens without text come between others, such as those that end a model's reasoning.
                continue
            for _ in range(number + (begin <= 0)):
                self._pieces.popleft()
            if is_longer:
                # The server holds back the rest of this token's text.
                self._pieces.appendleft(_Piece(piece.data[len(data) :], None, []))
                return piece, len(data)
            return (unknown, begin) if begin else (piece, len(piece.data))
        self._pieces.clear()
        return unknown, len(data)

    def _place(self, data: bytes, piece: _Piece, *, may_stop: bool) -> str:
        shown = self._stream.push(data, may_stop=may_stop)
        self._shown.append(shown)
        if self._wants_tokens:
            self._tokens.append(
                Token(id=-1, logprob=piece.logprob, top=piece.top, num_chars=self._stream.num_completed)
            )
        if self._stream.stop is not None:
            self.reason = "stop"
        return shown

    def take_tokens(self) -> list[Token]:
        """Return the tokens since the last call; none if the server was not asked to describe them."""
        found, self._tokens = self._tokens, []
        return found

    def _end(self, reason: object) -> str:
        if reason == "content_filter":
            raise EndpointError(
                Sentence(
                    "A filter of {server} ended this answer. The text so far is kept. Change the question, or "
                    "choose another model.",
                    server=self._name,
                )
            )
        if reason == "error":
            raise EndpointError(
                Sentence(
                    "{server} ended this answer because of an error, without saying which. The text so far is kept. "
                    "Ask again.",
                    server=self._name,
                )
            )
        return self.end("length" if reason in ("length", "max_tokens") else "eos")

    def end(self, reason: FinishReason) -> str:
        """End the answer. Return the text that was held back. Does nothing if it has ended."""
        if self.reason is not None:
            return ""
        self.reason = reason
        shown = self._mark(THINK_END.rstrip()) if self._is_thinking else ""
        rest = self._decoder.decode(b"", final=True)
        if rest:
            shown += self._spell(rest.encode(), may_stop=True)
        shown_last = self._stream.finish()
        self._shown.append(shown_last)
        return shown + shown_last

    @property
    def is_json(self) -> bool:
        """Whether the text after the reasoning is JSON."""
        try:
            json.loads(without_thought("".join(self._shown)))
        except (ValueError, RecursionError):
            return False
        return True

    def choice(self) -> Choice:
        """Return the finished answer."""
        assert self.reason is not None
        return Choice(
            text="".join(self._shown),
            token_ids=[],
            num_recut=0,
            seed=self._seed,
            reason=self.reason,
            stop=self._stream.stop,
        )


def _pieces_of(logprobs: object) -> Iterator[_Piece]:
    """Yield the tokens that a piece of an answer describes; none if they can't be read, because the text counts."""
    try:
        read = msgspec.convert(logprobs or {}, _Logprobs, strict=False)
    except msgspec.ValidationError:
        return
    for written in read.content or ():
        data = written.data
        others = [other for other in written.top_logprobs or () if other.data != data]
        top = [Alternative(id=-1, text=_shown(written), logprob=written.log_probability)]
        top += [
            Alternative(id=-2 - number, text=_shown(other), logprob=other.log_probability)
            for number, other in enumerate(others)
        ]
        top.sort(key=lambda other: math.inf if other.logprob is None else -other.logprob)
        yield _Piece(data, written.log_probability, top if others else [])


def _shown(token: _Logprob) -> str:
    """Return the text that a token adds to an answer."""
    text = token.data.decode("utf-8", "replace")
    return "" if text in _ENDS else text


def _text_of(error: object) -> str:
    while isinstance(error, dict):
        error = error.get("message") or error.get("error") or error.get("code") or ""
    return str(error)
