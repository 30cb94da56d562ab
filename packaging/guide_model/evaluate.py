"""Plays a set of conversations with the guide model and counts right answers.

    python packaging/guide_model/evaluate.py --misses

Each line of the set is `{"turns": ["first question", ...], "topic": "edit", "kind": "topic"}`. `kind` is topic,
unknown, follow_up or change, and `topic` is the topic of the last turn. The model itself answers each turn. An answer
is right if it exactly equals an answer written for the topic or one of its follow-ups.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from worker import blas

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
blas.preload()

import mlx.core as mx
from corpus import read_answers, topic_of
from mlx_lm import load
from mlx_lm.models.cache import make_prompt_cache

HERE = Path(__file__).parent
MAX_TOKENS = 160
NUM_SAMPLES = 4
LABELS = {
    "topic": "right topic",
    "unknown": "unknown recognized",
    "follow_up": "follow-ups",
    "change": "changes of topic",
}


@dataclass(frozen=True)
class Case:
    """A conversation of the set, and the expected topic of its last answer."""

    turns: list[str]
    topic: str
    kind: str


def read_cases(path: Path) -> list[Case]:
    """Read a set with one JSON object per line."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Case(row["turns"], row["topic"], row["kind"]) for row in rows]


class Player:
    """A model with its tokenizer, which answers one conversation at a time."""

    def __init__(self, folder: Path) -> None:
        self._model, self._tokenizer = cast(tuple[Any, Any], load(str(folder)))
        self._model.set_dtype(mx.float32)  # fastest on a CPU, with the same answers

    def prompt(self, messages: list[dict[str, str]]) -> list[int]:
        """Return the ids of a conversation, up to the start of the next answer."""
        return list(self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))

    def answers(self, prompt: list[int], temperature: float = 0.0, num_answers: int = 1) -> list[str]:
        """Return several answers to one prompt. With temperature 0, sampling is greedy."""
        cache = make_prompt_cache(self._model)
        tokens = mx.array([prompt] * num_answers)
        written: list[list[int]] = [[] for _ in range(num_answers)]
        running = set(range(num_answers))
        for _ in range(MAX_TOKENS):
            logits = self._model(tokens, cache=cache)[:, -1, :]
            sampled = mx.random.categorical(logits / temperature) if temperature else mx.argmax(logits, axis=-1)
            for row, token in enumerate(cast(list[int], sampled.tolist())):
                if token in self._tokenizer.eos_token_ids:
                    running.discard(row)
                elif row in running:
                    written[row].append(token)
            if not running:
                break
            tokens = sampled[:, None]
        return [self._tokenizer.decode(ids) for ids in written]


@dataclass
class Outcome:
    """The result of one case."""

    case: Case
    answer: str
    answer_id: str | None
    samples: list[str]

    @property
    def right(self) -> bool:
        """Whether the answer was written for the expected topic."""
        return self.answer_id is not None and topic_of(self.answer_id) == self.case.topic


def play(player: Player, case: Case, ids_by_answer: dict[str, str], system: str) -> Outcome:
    """Play a conversation greedily, and also sample its last answer several times."""
    messages = [{"role": "system", "content": system}]
    prompt: list[int] = []
    answer = ""
    for question in case.turns:
        messages.append({"role": "user", "content": question})
        prompt = player.prompt(messages)
        answer = player.answers(prompt)[0]
        messages.append({"role": "assistant", "content": answer})
    samples = player.answers(prompt, temperature=0.8, num_answers=NUM_SAMPLES)
    return Outcome(case, answer, ids_by_answer.get(answer), samples)


def percent(part: int, whole: int) -> float:
    """Return the percentage with one decimal. If `whole` is 0, return 100."""
    return round(100 * part / whole, 1) if whole else 100.0


def summarize(outcomes: Sequence[Outcome], ids_by_answer: dict[str, str]) -> dict[str, float | int]:
    """Return the figures for accuracy.json. Shares are percentages."""
    kinds = Counter(outcome.case.kind for outcome in outcomes)
    right = Counter(outcome.case.kind for outcome in outcomes if outcome.right)
    figures: dict[str, float | int] = {"questions": len(outcomes)}
    for kind, label in LABELS.items():
        if kinds[kind]:
            figures[label] = percent(right[kind], kinds[kind])
    exact = sum(outcome.answer_id is not None for outcome in outcomes)
    samples = [sample for outcome in outcomes for sample in outcome.samples]
    figures["word for word, temperature 0"] = percent(exact, len(outcomes))
    figures["word for word, temperature 0.8"] = percent(
        sum(sample in ids_by_answer for sample in samples), len(samples)
    )
    distinct = sum(len(set(outcome.samples)) for outcome in outcomes)
    figures[f"distinct answers of {NUM_SAMPLES}, temperature 0.8"] = round(distinct / len(outcomes), 2)
    return figures


def main() -> None:
    """Play the set, print the figures and misses, and store the figures next to the set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("resources/guide"))
    parser.add_argument("--set", type=Path, default=HERE / "blind.jsonl", help="the questions, as JSONL")
    parser.add_argument("--out", type=Path, help="where to store the figures (default: accuracy.json next to the set)")
    parser.add_argument("--system", default="", help="a system prompt for every conversation")
    parser.add_argument("--misses", action="store_true", help="print every question that was answered wrongly")
    options = parser.parse_args()

    mx.set_default_device(mx.Device(mx.cpu))
    mx.random.seed(1)
    ids_by_answer = {answer: answer_id for answer_id, answers in read_answers().items() for answer in answers}
    player = Player(options.model)
    outcomes = [play(player, case, ids_by_answer, options.system) for case in read_cases(options.set)]
    figures = summarize(outcomes, ids_by_answer)
    if options.misses:
        wrong: dict[str, list[str]] = defaultdict(list)
        for outcome in outcomes:
            if not outcome.right:
                found = outcome.answer_id or f"not a written answer: {outcome.answer}"
                wrong[outcome.case.topic].append(f"{' → '.join(outcome.case.turns)}  [{found}]")
        for topic, lines in wrong.items():
            print(f"{topic}:", *lines, sep="\n  ")
    for label, figure in figures.items():
        print(f"{label:40} {figure}")
    out = options.out or options.set.with_name("accuracy.json")
    out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
