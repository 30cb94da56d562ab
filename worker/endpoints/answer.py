"""One answer of a server as it grows: turns the pieces that the server sends into text that can be shown."""

from __future__ import annotations

import codecs
import contextlib
import json
import time
from collections.abc import Sequence
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from worker.endpoints.body import THINK, THINK_END, without_thought
from worker.endpoints.events import Object, excerpt
from worker.errors import EndpointError
from worker.protocol import Choice, FinishReason
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
    def kept_tokens(self) -> int:
        details = self.prompt_tokens_details
        return (details and details.cached_tokens) or self.cached_tokens or self.prompt_cache_hit_tokens or 0


class _Event(Struct):
    choices: list[_Choice] | None = None
    usage: object = None
    error: object = None


class Answer:
    """The text of one answer. It is shown as soon as it can't become part of a stop string any more."""

    def __init__(self, name: str, stops: Sequence[str], seed: int, given: str = "") -> None:
        """`name` is the server's name in sentences. `seed` was sent to it. `given` is the beginning of the answer."""
        self._name = name
        self._seed = seed
        self._stream = TextStream(StopStrings(stops), given.encode())
        # Some servers send the two halves of a character beyond the 16-bit ones in two events.
        self._decoder = codecs.getincrementaldecoder("utf-16-le")("replace")
        self._shown: list[str] = []
        self._is_thinking = False
        self._has_answer = bool(given)
        """Whether the text after the reasoning has begun."""
        self.reason: FinishReason | None = None
        """Why the answer ended; None while the server may go on."""
        self.prompt_tokens = self.cached_tokens = self.new_tokens = 0
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
            self.cached_tokens = usage.kept_tokens or self.cached_tokens
        return "".join(self._take_choice(choice) for choice in (read.choices or ())[:1])

    def _take_choice(self, choice: _Choice) -> str:
        if self.reason is not None:
            # The answer has ended, but some servers still send an empty piece.
            return ""
        delta = choice.delta or choice.message or _Delta()
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
        begin = "" if self._is_thinking else THINK
        self._is_thinking = True
        return self._push(begin + text, may_stop=False)

    def _write(self, text: str) -> str:
        if not text:
            return ""
        shown = self._push(THINK_END, may_stop=False) if self._is_thinking else ""
        self._is_thinking, self._has_answer = False, True
        return shown + self._push(text)

    def _push(self, text: str, *, may_stop: bool = True) -> str:
        self.last_s = time.perf_counter()
        self.first_s = self.first_s or self.last_s
        whole = self._decoder.decode(text.encode("utf-16-le", "surrogatepass"))
        shown = self._stream.push(whole.encode(), may_stop=may_stop)
        self._shown.append(shown)
        if self._stream.stop is not None:
            self.reason = "stop"
        return shown

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
        shown = self._push(THINK_END.rstrip(), may_stop=False) if self._is_thinking else ""
        rest = self._decoder.decode(b"", final=True)
        if rest:
            shown += self._stream.push(rest.encode())
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


def _text_of(error: object) -> str:
    while isinstance(error, dict):
        error = error.get("message") or error.get("error") or error.get("code") or ""
    return str(error)
