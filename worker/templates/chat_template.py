"""Messages as prompt ids, by the model's own chat template; what is cached plays no part in it.

A turn that the model wrote keeps the ids it wrote wherever the rendering still says the same text, and so does an
answer whose reasoning the template drops; all other text is tokenized afresh, between those turns, so that later turns
never change earlier ids. What a person typed can't forge a turn: a control token in a message is spelled as plain
text. What was worked out once is remembered by all that it depends on.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError
from tokenizers import Tokenizer

from worker.errors import BadRequestError
from worker.protocol import Message
from worker.sentence import Sentence, verbatim
from worker.templates.memo import Memo
from worker.templates.rendering import Moment, Render, fold_system, timeless
from worker.templates.turn import PRIVATE, Marks, Span, Turn, Turns
from worker.text.control_tokens import pattern_of
from worker.text.vocabulary import Vocabulary

# Of transformers' `apply_chat_template`, what is no option of a template.
_RESERVED_OPTIONS = {
    "add_generation_prompt",
    "chat_template",
    "continue_final_message",
    "conversation",
    "max_length",
    "messages",
    "padding",
    "return_assistant_tokens_mask",
    "return_dict",
    "return_tensors",
    "sanitize_control_tokens",
    "tokenize",
    "tokenizer_kwargs",
    "truncation",
}

_BYTES_AN_ID = 4
_MOST_PROMPT_BYTES = 64 << 20
"""Of whole prompts: those of a hundred nodes of a tree of 160,000 tokens."""
_MOST_STRETCH_BYTES = 16 << 20
_BYTES_A_TURN = 16

_Spans = dict[int, Span]
"""What is marked of which turn."""


class ChatTemplate:
    """Renders messages and tokenizes the result."""

    def __init__(self, render: Render, tokenizer: Tokenizer, vocabulary: Vocabulary, moment: Moment = timeless) -> None:
        self._render_text = render
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._moment = moment
        self._control_token = re.compile(f"({pattern_of(vocabulary.control_texts)})")
        # What stands for text that the tokenizer has no token for; no text is written as it.
        self._unknown_ids = vocabulary.control_ids & set(self._plain_ids("\U0010fffd"))
        self._turns = Turns(vocabulary)
        self._prompts: Memo[tuple[object, ...], array[int]] = Memo(_MOST_PROMPT_BYTES)
        self._stretches: Memo[tuple[str, str, bool], array[int]] = Memo(_MOST_STRETCH_BYTES)

    def prompt_ids(self, messages: Sequence[Message], options: Mapping[str, Any]) -> list[int]:
        """Return the ids of a prompt that asks for the next answer. Raises `BadRequestError`."""
        return self.ids_of(self.turns(messages), options).tolist()

    def turns(self, messages: Sequence[Message]) -> tuple[Turn, ...]:
        """Return messages as `ids_of` takes them: what many prompts share is looked through once."""
        return self._turns.of(messages)

    def ids_of(self, turns: tuple[Turn, ...], options: Mapping[str, Any]) -> array[int]:
        """Return the ids of a prompt that asks for the next answer; nobody may change them.

        Raises `BadRequestError`.
        """
        if not turns:
            raise BadRequestError(Sentence("`messages` is empty. Send at least one message."))
        moment = self._moment()
        key = (turns, _as_text(options), moment)
        known = self._prompts.get(key)
        if known is not None:
            return known
        reserved = sorted(_RESERVED_OPTIONS & options.keys())
        if reserved:
            raise BadRequestError(verbatim(f"`template_options` must not contain `{reserved[0]}`. Remove it."))
        marks = _marks(turns)
        text, spans = self._render_with_spans(turns, options, marks)
        ids = self._ids(self._broken_at_seams(text, spans, turns, options, marks), list(spans.values()), marks)
        if moment is not None and moment == self._moment():
            self._prompts.put(key, ids, _BYTES_AN_ID * len(ids) + _BYTES_A_TURN * len(turns) + 500)
        return ids

    def _render_with_spans(self, turns: Sequence[Turn], options: Mapping[str, Any], marks: Marks) -> tuple[str, _Spans]:
        """Render with marks around what the model wrote; return the text and the spans it says word for word."""
        plain = self._render(turns, options, marks, {})
        spans = {index: turn.whole for index, turn in enumerate(turns) if turn.whole is not None}
        if not spans:
            return plain, spans
        marked = self._render(turns, options, marks, spans)
        if _says(marked, plain, marks, spans):
            return marked, spans
        # The template changes some turns: it drops their reasoning, or trims all of them.
        whole = _said_spans(marked, marks, spans)
        answers = {index: turn.answer for index, turn in enumerate(turns) if turn.answer is not None}
        spans = dict(sorted((answers | whole).items()))
        marked = self._render(turns, options, marks, spans)
        if _says(marked, plain, marks, spans):
            return marked, spans
        said = _said_spans(marked, marks, spans)
        trimmed = {index: turns[index].trimmed for index, span in said.items() if span is turns[index].whole}
        without = {index: span for index, span in said.items() if trimmed.get(index) is None}
        for spans in (said | {index: span for index, span in trimmed.items() if span is not None}, without):
            marked = self._render(turns, options, marks, spans)
            if _says(marked, plain, marks, spans):
                return marked, spans
        return plain, {}

    def _broken_at_seams(
        self, text: str, spans: _Spans, turns: Sequence[Turn], options: Mapping[str, Any], marks: Marks
    ) -> str:
        """Break the control tokens that a message makes with what stands beside it: the template, another message."""
        if not any(turn.edges for turn in turns):
            return text
        broken = self._render(turns, options, marks, spans, at_edges=True)
        is_same = self._control_token.findall(broken) == self._control_token.findall(text)
        return text if is_same else broken

    def _render(
        self, turns: Sequence[Turn], options: Mapping[str, Any], marks: Marks, spans: _Spans, *, at_edges: bool = False
    ) -> str:
        rendered = [turn.rendered(marks, spans.get(index), at_edges=at_edges) for index, turn in enumerate(turns)]
        try:
            return _unicode(self._render_text(rendered, options))
        except TemplateError as error:
            folded = fold_system(rendered)
            if folded is not None:
                with contextlib.suppress(Exception):
                    return _unicode(self._render_text(folded, options))
            sentence = Sentence("The model's chat template rejects these messages: {error}.", error=_short(error))
            raise BadRequestError(sentence) from error
        except Exception as error:
            # A template is a program that came with the model; whatever it raises is its own.
            sentence = Sentence("The model's chat template fails with these messages: {error}.", error=_short(error))
            raise BadRequestError(sentence) from error

    def _ids(self, text: str, spans: Sequence[Span], marks: Marks) -> array[int]:
        """Tokenize rendered text; the n-th marked stretch is the n-th of `spans`.

        Each span is tokenized by itself, as it came to be: behind a prompt that ended before it.
        """
        pieces = re.split(f"[{marks.begin}{marks.end}]", text)
        # Some templates put a space before each turn that no prompt for an answer ends with: it is the turn's own, and
        # what the model wrote begins with it.
        has_space = not text.endswith(" ")
        ids = array("I")
        for index, span in enumerate(spans):
            before, said = pieces[2 * index : 2 * index + 2]
            own = span.ids
            if has_space and before.endswith(" "):
                if said.startswith(" "):
                    before = before[:-1]
                elif own is None or span.spaced_ids is not None:
                    before, said, own = before[:-1], f" {said}", span.spaced_ids
            ids += self._encode(before, marks, at_start=index == 0)
            ids += self._encode(said, marks, at_start=False) if own is None else own
        ids += self._encode(pieces[-1], marks, at_start=not spans)
        return ids

    def _encode(self, text: str, marks: Marks, *, at_start: bool) -> array[int]:
        """Tokenize as the model's tokenizer does it, but for what was typed as a control token."""
        key = (text, marks.broken, at_start)
        ids = self._stretches.get(key)
        if ids is None:
            ids = array("I", self._encode_afresh(text, marks, at_start=at_start))
            self._stretches.put(key, ids, 2 * len(text) + _BYTES_AN_ID * len(ids) + 300)
        return ids

    def _encode_afresh(self, text: str, marks: Marks, *, at_start: bool) -> list[int]:
        """Tokenize one stretch, without a look at what is known.

        A stretch between control tokens in which one was typed is spelled as plain text, and so is one that goes
        on from a turn: nothing is prepended in the middle of a prompt.
        """
        ids: list[int] = []
        plain = ""
        for index, stretch in enumerate(self._control_token.split(text)):
            if marks.broken in stretch or (stretch and index == 0 and not at_start):
                ids += self._encode_freely(plain)
                ids += self._vocabulary.encode(stretch.replace(marks.broken, ""))
                plain = ""
            else:
                plain += stretch
        return ids + self._encode_freely(plain)

    def _encode_freely(self, text: str) -> list[int]:
        ids = self._plain_ids(text)
        stretches = self._control_token.split(text)
        controls = [self._vocabulary.control_texts[control] for control in stretches[1::2]]
        found = [token_id for token_id in ids if token_id in self._vocabulary.control_ids - self._unknown_ids]
        if found == controls and max(ids, default=0) < len(self._vocabulary):
            return ids
        # A normalizer made a control token of what is none as it was typed (wide letters, capitals), or the
        # tokenizer has tokens that the model has not.
        parts = [self._vocabulary.encode(stretch) for stretch in stretches[::2]]
        return parts[0] + [
            token_id for control, part in zip(controls, parts[1:], strict=True) for token_id in (control, *part)
        ]

    def _plain_ids(self, text: str) -> list[int]:
        # Other than `encode`, a batch lets other threads run meanwhile; megabytes take seconds.
        return self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids if text else []


def _as_text(options: Mapping[str, Any]) -> str:
    try:
        return repr(options) if options else ""
    except RecursionError:
        raise BadRequestError(verbatim("`template_options` is nested too deeply. Send it flat.")) from None


def _marks(turns: Sequence[Turn]) -> Marks:
    used = frozenset[str]().union(*(turn.private for turn in turns if turn.private))
    free = [mark for mark in PRIVATE if mark not in used] if used else PRIVATE
    if len(free) < 3:
        raise BadRequestError(
            Sentence("The messages contain too many private-use characters (U+F500 to U+F5FF). Remove some of them.")
        )
    return Marks(*free[:3])


def _said(marked: str, marks: Marks) -> list[str]:
    """What stands between marks."""
    between = re.findall(f"{marks.begin}([^{marks.begin}{marks.end}]*){marks.end}", marked)
    return [text.replace(marks.broken, "") for text in between]


def _says(marked: str, plain: str, marks: Marks, spans: _Spans) -> bool:
    """Whether `marked` is `plain` but for its marks, and what stands between them are exactly these spans."""
    if marked.replace(marks.begin, "").replace(marks.end, "") != plain:
        return False
    return _said(marked, marks) == [span.text for span in spans.values()]


def _said_spans(marked: str, marks: Marks, spans: _Spans) -> _Spans:
    """Which spans stand whole between marks; others have lost one of theirs."""
    said = deque(_said(marked, marks))
    found: _Spans = {}
    for index, span in spans.items():
        if said and said[0] == span.text:
            said.popleft()
            found[index] = span
    return found


def _unicode(text: str) -> str:
    """Raise `UnicodeEncodeError` where a template wrote lone surrogates, which no tokenizer takes."""
    text.encode()
    return text


def _short(error: Exception) -> str:
    return textwrap.shorten(str(error) or type(error).__name__, 300).rstrip(".")
