"""Turns messages into prompt ids with the model's own chat template. The ids never depend on the prompt cache.

A turn that the model generated keeps its ids if the rendered text still contains it unchanged. So does an answer whose
reasoning the template drops. All other text is tokenized separately between those turns, so that later turns never
change earlier ids. The user can't forge a turn: a control token typed in a message is encoded as plain text.
"""

from __future__ import annotations

import re
import textwrap
from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jinja2 import TemplateError
from tokenizers import Tokenizer

from worker.errors import BadRequestError, WorkerError
from worker.protocol import Message, Tool
from worker.sentence import Sentence, verbatim
from worker.templates.changes import changed, left_out, with_number
from worker.templates.memo import Memo
from worker.templates.rendering import Render, TimeTexts, fold_system, no_time_texts
from worker.templates.tool_messages import ToolStyle, described
from worker.templates.turn import PRIVATE, Marks, Span, Turn, Turns, texts_of
from worker.templates.written_turns import Place, WrittenTurns
from worker.text.control_tokens import pattern_of
from worker.text.tokenizing import plain_ids
from worker.text.vocabulary import Vocabulary
from worker.trial import StoppedError
from worker.values import ReasoningMarks

# Parameters of transformers' `apply_chat_template` that are not options of a template.
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

_BYTES_PER_ID = 4
_MAX_PROMPT_BYTES = 64 << 20
"""Memory for whole prompts: enough for a hundred branches of 160,000 tokens."""
_MAX_PIECE_BYTES = 16 << 20
_BYTES_PER_TURN = 16
_MAX_BEFORES_CHARS = 16 << 20
"""Memory for prompts before generated turns: enough for a hundred tool calls after 160,000 characters each."""
_MAX_CHECKED_TURNS = 1 << 16


class _Given(NamedTuple):
    """The arguments of a template besides messages."""

    options: Mapping[str, Any]
    tools: list[dict[str, Any]]


_Spans = dict[int, Span]
"""The marked span of each turn, by the turn's index."""


class _Prompt(NamedTuple):
    ids: array[int]
    left_out: tuple[Sentence, ...]
    opens_reasoning: bool


class ChatTemplate:
    """Renders messages, and tokenizes the result."""

    def __init__(
        self,
        render: Render,
        tokenizer: Tokenizer,
        vocabulary: Vocabulary,
        time_texts: TimeTexts = no_time_texts,
        style: ToolStyle | None = None,
    ) -> None:
        """`style`: how the template accepts tools; None means that it does not support tools."""
        self.style = style or ToolStyle()
        self._render_text = render
        self._tokenizer = tokenizer
        self._vocabulary = vocabulary
        self._time_texts = time_texts
        self._control_token = re.compile(f"({pattern_of(vocabulary.control_texts)})")
        # Ids for unknown text. No text is encoded as one of them.
        self._unknown_ids = vocabulary.control_ids & set(self._plain_ids("\U0010fffd"))
        self._turns = Turns(vocabulary)
        self._prompts: Memo[tuple[object, ...], _Prompt] = Memo(_MAX_PROMPT_BYTES)
        self._changes: Memo[Turn, tuple[Sentence, ...]] = Memo(_MAX_CHECKED_TURNS)
        self._befores: Memo[tuple[object, ...], str] = Memo(_MAX_BEFORES_CHARS)
        self._written_turns = WrittenTurns(
            self.style.form,
            self.style.reasoning,
            vocabulary,
            list(vocabulary.control_texts),
            [text for text, token_id in vocabulary.control_texts.items() if token_id in vocabulary.eos_ids],
        )
        self._pieces: Memo[tuple[str, str, bool], array[int]] = Memo(_MAX_PIECE_BYTES)

    def prompt_ids(
        self, messages: Sequence[Message], options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> list[int]:
        """Return the ids of a prompt, up to the next answer. Raises the errors of `ids_of`."""
        return self.ids_of(self.turns(messages), options, tools).tolist()

    def turns(self, messages: Sequence[Message]) -> tuple[Turn, ...]:
        """Prepare messages for `ids_of`. Messages that several prompts share are prepared once."""
        return self._turns.of(messages)

    def ids_of(self, turns: tuple[Turn, ...], options: Mapping[str, Any], tools: Sequence[Tool] = ()) -> array[int]:
        """Return the ids of a prompt, up to the next answer. The caller must not change them.

        Raises `BadRequestError` for messages that the template rejects, `ModelInvalidError` if the template exceeds a
        limit, and `StoppedError` if the caller stopped waiting.
        """
        return self._prompt(turns, options, tools).ids

    def opens_reasoning(self, turns: tuple[Turn, ...], options: Mapping[str, Any], tools: Sequence[Tool] = ()) -> bool:
        """Return whether a prompt ends inside reasoning, which the answer continues. Raises the errors of `ids_of`."""
        return self._prompt(turns, options, tools).opens_reasoning

    def changes(
        self, turns: tuple[Turn, ...], options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> list[Sentence]:
        """Return sentences about messages that the model's files leave out or change; usually none.

        Raises as `ids_of`.
        """
        found = list(self._prompt(turns, options, tools).left_out)
        if tools and self.style.is_plain:
            found.append(
                Sentence(
                    "The chat template of this model has no place for tools, so Bough described them in the system "
                    "prompt. The model may call them less well."
                )
            )
        for turn in turns:
            known = self._changes.get(turn)
            if known is None:
                # Answers keep the ids that the model generated.
                spelled = None if turn.role == "assistant" else self._vocabulary.text_of(self._known(turn.text))
                sentence = None if spelled is None else changed(turn.text, spelled)
                known = () if sentence is None else (sentence,)
                self._changes.put(turn, known, 1)
            found += known
        return list(dict.fromkeys(found))

    def _known(self, text: str) -> list[int]:
        """Tokenize a text as part of a prompt. Ids for unknown text are left out."""
        ids = self._plain_ids(text)
        if max(ids, default=0) >= len(self._vocabulary):
            ids = self._vocabulary.encode(text)
        return [token_id for token_id in ids if token_id not in self._unknown_ids]

    def _prompt(self, turns: tuple[Turn, ...], options: Mapping[str, Any], tools: Sequence[Tool] = ()) -> _Prompt:
        if not turns:
            raise BadRequestError(Sentence("`messages` is empty. Send at least one message."))
        time_texts = self._time_texts()
        known_tools = [described(tool) for tool in tools]
        key = (turns, _as_text(options), _as_text({"tools": known_tools}) if tools else "", time_texts)
        known = self._prompts.get(key)
        if known is not None:
            return known
        reserved = sorted(_RESERVED_OPTIONS & options.keys())
        if reserved:
            raise BadRequestError(verbatim(f"`template_options` must not contain `{reserved[0]}`. Remove it."))
        marks = _marks(turns, known_tools)
        if self._turns.typed.are_in(known_tools):
            known_tools = self._turns.typed.split(known_tools, marks)
        given = _Given(options, known_tools)
        text, spans = self._render_with_spans(turns, given, marks)
        split = self._split_at_edges(text, spans, turns, given, marks)
        marked, spans = self._with_written(split, spans, turns, given, marks)
        ids = self._ids(marked, list(spans.values()), marks)
        plain = text.replace(marks.begin, "").replace(marks.end, "")
        numbered = [self._numbered(turns, given, marks, at_end=at_end) for at_end in (False, True)]
        prompt = _Prompt(ids, left_out(turns, marks, plain, numbered), _opens(plain, self.style.reasoning))
        if time_texts is not None and time_texts == self._time_texts():
            self._prompts.put(key, prompt, _BYTES_PER_ID * len(ids) + _BYTES_PER_TURN * len(turns) + 500)
        return prompt

    def _render_with_spans(self, turns: Sequence[Turn], given: _Given, marks: Marks) -> tuple[str, _Spans]:
        """Render with marks around generated turns. Return the text, and the spans that it contains unchanged."""
        plain = self._render(turns, given, marks, {})
        spans = {index: turn.whole for index, turn in enumerate(turns) if turn.whole is not None}
        if not spans:
            return plain, spans
        marked = self._render(turns, given, marks, spans)
        if _contains(marked, plain, marks, spans):
            return marked, spans
        # The template changes some turns: it drops their reasoning, or white space around them.
        whole = _unchanged_spans(marked, marks, spans)
        answers = {index: turn.answer for index, turn in enumerate(turns) if turn.answer is not None}
        spans = dict(sorted((answers | whole).items()))
        marked = self._render(turns, given, marks, spans)
        if _contains(marked, plain, marks, spans):
            return marked, spans
        unchanged = _unchanged_spans(marked, marks, spans)
        trimmed = {index: turns[index].trimmed for index, span in unchanged.items() if span is turns[index].whole}
        without = {index: span for index, span in unchanged.items() if trimmed.get(index) is None}
        for spans in (unchanged | {index: span for index, span in trimmed.items() if span is not None}, without):
            marked = self._render(turns, given, marks, spans)
            if _contains(marked, plain, marks, spans):
                return marked, spans
        return plain, {}

    def _with_written(
        self, text: str, spans: _Spans, turns: tuple[Turn, ...], given: _Given, marks: Marks
    ) -> tuple[str, _Spans]:
        """Mark the generated turns with reasoning or tool calls where the prompt renders them."""
        indices = [index for index, turn in enumerate(turns) if turn.written is not None]
        if not indices:
            return text, spans
        plain = marks.removed_from(text)
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in given.tools}
        places: dict[int, Place] = {}
        reached = 0
        for index in indices:
            written = turns[index].written
            assert written is not None
            before = self._rendered_before(turns[:index], given, marks)
            place = None if before is None else self._written_turns.place(written, plain, before, schemas)
            if place is not None and place.start >= reached:
                places[index], reached = place, place.end
        return _with_marks(text, places, marks), dict(
            sorted((spans | {index: place.span for index, place in places.items()}).items())
        )

    def _rendered_before(self, turns: tuple[Turn, ...], given: _Given, marks: Marks) -> str | None:
        """Return the prompt before a turn, without marks; None if the template can't render it."""
        key = (turns, _as_text(given.options), _as_text({"tools": given.tools}), self._time_texts())
        known = self._befores.get(key)
        if known is None:
            try:
                known = marks.removed_from(self._render(turns, given, marks, {}))
            except BadRequestError:
                return None
            self._befores.put(key, known, len(known) + 500)
        return known

    def _split_at_edges(self, text: str, spans: _Spans, turns: Sequence[Turn], given: _Given, marks: Marks) -> str:
        """Split control tokens of which one part is in a message and the rest in the template or another message."""
        if not any(turn.edges for turn in turns):
            return text
        split = self._render(turns, given, marks, spans, at_edges=True)
        is_same = self._control_token.findall(split) == self._control_token.findall(text)
        return text if is_same else split

    def _render(
        self, turns: Sequence[Turn], given: _Given, marks: Marks, spans: _Spans, *, at_edges: bool = False
    ) -> str:
        controls = self._turns.typed
        messages = [
            turn.rendered(marks, spans.get(index), controls, at_edges=at_edges) for index, turn in enumerate(turns)
        ]
        return self._written(messages, given)

    def _numbered(self, turns: Sequence[Turn], given: _Given, marks: Marks, *, at_end: bool) -> str | None:
        """Render with the number of each turn in its text. Return None if the template fails on this."""
        messages = [with_number(turn, index, marks, at_end=at_end) for index, turn in enumerate(turns)]
        try:
            return self._written(messages, given)
        except BadRequestError:
            return None

    def _written(self, messages: list[dict[str, Any]], given: _Given) -> str:
        """Return the messages as the template renders them. Raises the errors of `ids_of`."""
        rendered = self.style.messages(messages, given.tools)
        options = {**given.options, "tools": given.tools} if given.tools and not self.style.is_plain else given.options
        try:
            return _unicode(self._render_text(rendered, options))
        except (WorkerError, StoppedError):
            raise
        except TemplateError as error:
            folded = fold_system(rendered)
            if folded is not None:
                try:
                    return _unicode(self._render_text(folded, options))
                except (WorkerError, StoppedError):
                    raise
                except Exception:  # noqa: BLE001, S110 (see below; the first failure is the one to report)
                    pass
            sentence = Sentence("The model's chat template rejects these messages: {error}.", error=_short(error))
            raise BadRequestError(sentence) from error
        except Exception as error:
            # The model's template is a program, which may raise anything.
            sentence = Sentence("The model's chat template fails with these messages: {error}.", error=_short(error))
            raise BadRequestError(sentence) from error

    def _ids(self, text: str, spans: Sequence[Span], marks: Marks) -> array[int]:
        """Tokenize rendered text. Its n-th marked piece is the n-th of `spans`.

        Each span is tokenized separately, because the model generated it after a prompt that ended before it.
        """
        pieces = re.split(f"[{marks.begin}{marks.end}]", text)
        # Some templates put a space before each answer, but not at the end of a prompt. The model writes this space, so
        # it belongs to the answer.
        has_space = not text.endswith(" ")
        ids = array("I")
        for index, span in enumerate(spans):
            before, answer = pieces[2 * index : 2 * index + 2]
            own = span.ids
            if has_space and before.endswith(" "):
                if answer.startswith(" "):
                    before = before[:-1]
                elif own is None or span.spaced_ids is not None:
                    before, answer, own = before[:-1], f" {answer}", span.spaced_ids
            ids += self._encode(before, marks, at_start=index == 0)
            ids += self._encode(answer, marks, at_start=False) if own is None else own
        ids += self._encode(pieces[-1], marks, at_start=not spans)
        return ids

    def _encode(self, text: str, marks: Marks, *, at_start: bool) -> array[int]:
        """Tokenize a piece as the model's tokenizer does, except for typed control tokens."""
        key = (text, marks.split, at_start)
        ids = self._pieces.get(key)
        if ids is None:
            ids = array("I", self._encode_new(text, marks, at_start=at_start))
            self._pieces.put(key, ids, 2 * len(text) + _BYTES_PER_ID * len(ids) + 300)
        return ids

    def _encode_new(self, text: str, marks: Marks, *, at_start: bool) -> list[int]:
        """Tokenize a piece that is not in the memo.

        Text between two control tokens is encoded as plain text if it contains a typed control token, or follows a
        span: no space may be prepended in the middle of a prompt.
        """
        ids: list[int] = []
        plain = ""
        for index, part in enumerate(self._control_token.split(text)):
            if marks.split in part or (part and index == 0 and not at_start):
                ids += self._encode_template(plain)
                ids += self._vocabulary.encode(part.replace(marks.split, ""))
                plain = ""
            else:
                plain += part
        return ids + self._encode_template(plain)

    def _encode_template(self, text: str) -> list[int]:
        """Tokenize text in which all control tokens are the template's own."""
        ids = self._plain_ids(text)
        parts = self._control_token.split(text)
        controls = [self._vocabulary.control_texts[control] for control in parts[1::2]]
        known = self._vocabulary.control_ids - self._unknown_ids
        found = [token_id for token_id in ids if token_id in known]
        if found == controls and max(ids, default=0) < len(self._vocabulary):
            return ids
        # A normalizer turned other text into a control token (full-width letters, capitals), or the tokenizer has
        # tokens that the model lacks.
        first, *others = (self._vocabulary.encode(part) for part in parts[::2])
        return first + [
            token_id for control, encoded in zip(controls, others, strict=True) for token_id in (control, *encoded)
        ]

    def _plain_ids(self, text: str) -> list[int]:
        return plain_ids(self._tokenizer, text, patience=self._vocabulary.patience) if text else []


def _as_text(options: Mapping[str, Any]) -> str:
    try:
        return repr(options) if options else ""
    except RecursionError:
        raise BadRequestError(verbatim("`template_options` is nested too deeply. Send it flat.")) from None


def _with_marks(text: str, places: Mapping[int, Place], marks: Marks) -> str:
    """Return marked text with marks around more places, whose positions do not count marks."""
    inserted = sorted(
        [(place.start, 1, marks.begin) for place in places.values()]
        + [(place.end, 0, marks.end) for place in places.values()]
    )
    pieces: list[str] = []
    all_marks = re.compile(f"[{marks.split}{marks.begin}{marks.end}]")
    num_plain = done = 0
    for position, _, mark in inserted:
        # Advance to the position, past the marks before it.
        while num_plain < position:
            found = all_marks.search(text, done)
            left = position - num_plain
            plain_end = len(text) if found is None else found.start()
            step = min(left, plain_end - done)
            pieces.append(text[done : done + step])
            done, num_plain = done + step, num_plain + step
            if num_plain < position and found is not None:
                pieces.append(found[0])
                done = found.end()
        pieces.append(mark)
    return "".join([*pieces, text[done:]])


def _opens(text: str, marks: ReasoningMarks | None) -> bool:
    """Return whether a rendered prompt ends inside reasoning."""
    return marks is not None and text.rstrip().endswith(marks.begin)


def _marks(turns: Sequence[Turn], tools: Sequence[Any] = ()) -> Marks:
    used = frozenset[str]().union(*(turn.private for turn in turns if turn.private))
    if tools:
        used |= set[str]().union(*texts_of(tools)) & set(PRIVATE)
    free = [mark for mark in PRIVATE if mark not in used] if used else PRIVATE
    if len(free) < 3:
        raise BadRequestError(
            Sentence("The messages contain too many private-use characters (U+F500 to U+F5FF). Remove some of them.")
        )
    return Marks(*free[:3])


def _marked_texts(marked: str, marks: Marks) -> list[str]:
    """Return the texts between begin and end marks."""
    texts = re.findall(f"{marks.begin}([^{marks.begin}{marks.end}]*){marks.end}", marked)
    return [text.replace(marks.split, "") for text in texts]


def _contains(marked: str, plain: str, marks: Marks, spans: _Spans) -> bool:
    """Return whether `marked` is `plain` with marks around exactly these spans."""
    if marked.replace(marks.begin, "").replace(marks.end, "") != plain:
        return False
    return _marked_texts(marked, marks) == [span.text for span in spans.values()]


def _unchanged_spans(marked: str, marks: Marks, spans: _Spans) -> _Spans:
    """Return the spans that are still whole, with both marks."""
    texts = deque(_marked_texts(marked, marks))
    found: _Spans = {}
    for index, span in spans.items():
        if texts and texts[0] == span.text:
            texts.popleft()
            found[index] = span
    return found


def _unicode(text: str) -> str:
    """Return `text`. Raises `UnicodeEncodeError` if a template wrote lone surrogates, which can't be tokenized."""
    text.encode()
    return text


def _short(error: Exception) -> str:
    return textwrap.shorten(str(error) or type(error).__name__, 300).rstrip(".")
