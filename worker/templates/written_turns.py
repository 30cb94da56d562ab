"""Finds where a prompt renders generated turns with reasoning or tool calls, so that they keep their ids.

A rendered turn counts as the generated one if both have the same parts: their tool calls are equal as JSON values, and
their texts are equal except for white space around them. So different spacing in JSON does not matter. If the template
drops a part of a turn, the turn keeps at most the ids after its reasoning.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from worker.templates.turn import Span, Written, ids_between
from worker.text.control_tokens import pattern_of
from worker.text.vocabulary import Vocabulary
from worker.tools.forms import Form
from worker.tools.turn_parts import CallBroken, Content, Part, Reasoning, calls_in, parts_of, same_json
from worker.values import ReasoningMarks

_NEXT_MESSAGE = "<|start|>assistant"
"""gpt-oss generates this text between two messages; before the first one, the template writes it."""
_MAX_ENDS = 40
"""The most places that are tried as the end of the rendered turn."""


class Place(NamedTuple):
    """The range of a generated turn in a prompt's text."""

    start: int
    end: int
    span: Span


class _Meaning(NamedTuple):
    """The parts of a turn in the form in which turns are compared."""

    reasoning: str
    content: str
    calls: tuple[str, ...]


@dataclass(frozen=True)
class WrittenTurns:
    """Finds generated turns in the prompts of one model."""

    form: Form
    reasoning: ReasoningMarks | None
    vocabulary: Vocabulary
    control_texts: Collection[str]
    eos_texts: Collection[str]

    def place(
        self, written: Written, prompt: str, before: str, schemas: Mapping[str, Mapping[str, Any]]
    ) -> Place | None:
        """Return where `written` is in `prompt`; None if it is missing or changed.

        `before`: the prompt that the model continued, as it was rendered. `schemas`: the tools' parameters by name.
        """
        marks = self.reasoning
        opens = marks is not None and before.rstrip().endswith(marks.begin)
        meaning = self._meaning(written.text, schemas, opens=opens)
        if meaning is None:
            return None
        if prompt.startswith(before):
            end = self._end(prompt, len(before), written.text, meaning, schemas, opens=opens)
            if end is not None:
                return Place(len(before), end, _span(written.text, written.ids))
        return self._place_of_answer(written, meaning, prompt, before, schemas)

    def _place_of_answer(
        self,
        written: Written,
        meaning: _Meaning,
        prompt: str,
        before: str,
        schemas: Mapping[str, Mapping[str, Any]],
    ) -> Place | None:
        """Find the answer's text after its reasoning in the prompt, for templates that drop or change the reasoning."""
        marks = self.reasoning
        if marks is None:
            return None
        head = before
        if before.rstrip().endswith((marks.begin, marks.end)):
            head = before[: before.rfind(marks.begin)]
        if not prompt.startswith(head):
            return None
        block = re.compile(rf"\s*{re.escape(marks.begin)}.*?{re.escape(marks.end)}", re.DOTALL)
        shown = block.match(prompt, len(head))
        start = len(head) if shown is None else shown.end()
        start += len(prompt[start:]) - len(prompt[start:].lstrip())
        text = written.text
        first = text.rfind(marks.end) + len(marks.end) if marks.end in text else 0
        first += len(text[first:]) - len(text[first:].lstrip())
        first += len(_NEXT_MESSAGE) if text.startswith(_NEXT_MESSAGE, first) else 0
        ids = ids_between(self.vocabulary, written.ids, text, first, len(text))
        if ids is None:
            return None
        meaning = meaning._replace(reasoning="")
        end = self._end(prompt, start, text[first:], meaning, schemas, opens=False)
        return None if end is None else Place(start, end, _span(text[first:], array("I", ids)))

    def _end(
        self,
        prompt: str,
        start: int,
        text: str,
        meaning: _Meaning,
        schemas: Mapping[str, Mapping[str, Any]],
        *,
        opens: bool,
    ) -> int | None:
        """Return where the turn that begins at `start` ends; None if no text from there on has the same parts."""
        stripped = text.rstrip()
        if stripped and prompt.startswith(stripped, start):
            after = prompt[start + len(stripped) :].lstrip()
            if not after or any(after.startswith(control) for control in self.control_texts):
                return start + len(stripped)
        ends: list[int] = []
        marker = self.form.end
        if marker and stripped.endswith(marker):
            # As many sections end here as in the written turn.
            end = start
            for _ in range(text.count(marker)):
                end = prompt.find(marker, end) + len(marker) if prompt.find(marker, end) >= 0 else len(prompt)
            ends.append(end)
        for texts in (self.eos_texts, self.control_texts):
            pattern = re.compile(pattern_of(texts))
            for number, found in enumerate(pattern.finditer(prompt, start)):
                if number >= _MAX_ENDS:
                    break
                ends.append(found.start())
                if texts is self.eos_texts:
                    break
        for end in dict.fromkeys([*ends, len(prompt)]):
            rendered = prompt[start:end].rstrip()
            if rendered and self._meaning(rendered, schemas, opens=opens) == meaning:
                return self._past_marker(prompt, start + len(rendered), stripped)
        return None

    def _past_marker(self, prompt: str, end: int, written: str) -> int:
        """Return the position after the marker that ends the last section, if the generated turn has it, too."""
        marker = self.form.end
        if not marker or not written.endswith(marker) or prompt[:end].endswith(marker):
            return end
        rest = prompt[end:].lstrip()
        return len(prompt) - len(rest) + len(marker) if rest.startswith(marker) else end

    def _meaning(self, text: str, schemas: Mapping[str, Mapping[str, Any]], *, opens: bool) -> _Meaning | None:
        """Return the parts of a turn in the form in which turns are compared; None if it has a broken call."""
        parts = parts_of(text, self.form, self.reasoning, schemas, starts_in_reasoning=opens)
        if any(isinstance(part, CallBroken) for part in parts):
            return None
        return _Meaning(
            "".join(part.text for part in parts if isinstance(part, Reasoning)).strip(),
            "".join(part.text for part in parts if isinstance(part, Content)).strip(),
            tuple(_calls(parts)),
        )


def _calls(parts: Sequence[Part]) -> list[str]:
    """Return each call's name and arguments as one text, which is the same for equal JSON values."""
    return [f"{call.name} {json.dumps(same_json(call.arguments), sort_keys=True)}" for call in calls_in(parts)]


def _span(text: str, ids: array[int]) -> Span:
    return Span(start=0, end=len(text), text=text, ids=ids, spaced_ids=None)
