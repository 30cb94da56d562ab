"""The corpus of the guide model: reads the written questions and answers and samples conversations from them.

`corpus/answers/*.md` contains the answers, each under the id of its topic or follow-up (`edit`, `edit/old`).
`corpus/questions/*.txt` contains patterns for the questions under the same ids. The patterns under `# any/old` fit
follow-ups of any topic. Independent of tokens and models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from grammar import Choice, expand, num_expansions, parse, read_words, sections
from noise import add_typing_noise

HERE = Path(__file__).parent / "corpus"
UNKNOWN = "unknown"
_GENERIC = "any"
_FALLBACK = "more"


@dataclass(frozen=True)
class Turn:
    """One question and its answer. `answer_id` is a topic or `topic/follow_up`."""

    question: str
    answer: str
    answer_id: str


@dataclass(frozen=True)
class Conversation:
    """A conversation to train on: a system prompt (often empty) and the turns."""

    system: str
    turns: tuple[Turn, ...]


def topic_of(answer_id: str) -> str:
    """Return the topic an answer belongs to: `edit` for `edit/old`."""
    return answer_id.partition("/")[0]


def read_answers(folder: Path = HERE / "answers") -> dict[str, list[str]]:
    """Read the answers of every topic and follow-up, in the order written."""
    answers: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.md")):
        for answer_id, line in sections(path):
            answers.setdefault(answer_id, []).append(line.removeprefix("- "))
    return answers


def read_synonyms(path: Path) -> dict[str, tuple[str, ...]]:
    """Read lines of synonyms: the first word of a line may be replaced by each of the others."""
    lines = (line.split("|") for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return {first.strip(): tuple(word.strip() for word in others) for first, *others in lines}


@dataclass
class Patterns:
    """The patterns of one id. Patterns that expand to many sentences are sampled more often."""

    trees: list[Choice] = field(default_factory=list[Choice])
    weights: list[float] = field(default_factory=list[float])

    def add(self, tree: Choice, num_sentences: int) -> None:
        """Add a pattern."""
        self.trees.append(tree)
        self.weights.append(min(num_sentences, 100_000) ** 0.25)

    def sample(self, rng: Random) -> Choice:
        """Sample a pattern."""
        return rng.choices(self.trees, self.weights)[0]


class Corpus:
    """All questions and answers, and the conversations sampled from them."""

    def __init__(self, folder: Path = HERE) -> None:
        self.answers = read_answers(folder / "answers")
        self.words = read_words(folder / "words.txt") | read_words(folder / "world.txt")
        self._synonyms = read_synonyms(folder / "synonyms.txt")
        self._patterns: dict[str, Patterns] = {}
        for path in sorted((folder / "questions").glob("*.txt")):
            for heading, line in sections(path):
                tree = parse(line)
                self._patterns.setdefault(heading, Patterns()).add(tree, num_expansions(tree, self.words))
        self.topics = [answer_id for answer_id in self.answers if "/" not in answer_id]
        self._topic_weights = [_TOPIC_WEIGHTS.get(topic, 1.0) for topic in self.topics]
        self._generic_kinds = sorted(
            {name.partition("/")[2] for name in self._patterns if name.startswith(f"{_GENERIC}/")}
        )

    def questions(self) -> Iterator[tuple[str, Choice]]:
        """Yield every pattern with the id of its answers (`any/…` for follow-ups that fit any topic)."""
        for answer_id, patterns in self._patterns.items():
            for tree in patterns.trees:
                yield answer_id, tree

    def sample_question(self, answer_id: str, rng: Random) -> str:
        """Sample a question for the answers with this id, without typing errors."""
        question = expand(self._patterns[answer_id].sample(rng), self.words, rng)
        return self._vary(question, rng) if rng.random() < 0.3 else question

    def sample_topic(self, rng: Random) -> str:
        """Sample a topic. `unknown` is the most frequent one, because its questions vary most."""
        return rng.choices(self.topics, self._topic_weights)[0]

    def sample_turn(self, topic: str, rng: Random, *, turning: bool = False) -> Turn:
        """Sample a first question on a topic with one of its answers.

        With `turning`, the question may mention that it changes the topic.
        """
        question = self.sample_question(topic, rng)
        if turning and rng.random() < 0.4:
            question = f"{expand(self.words['turning'], self.words, rng)} {question}"
        return Turn(self._add_context(question, rng), rng.choice(self.answers[topic]), topic)

    def sample_follow_up(self, topic: str, rng: Random) -> Turn | None:
        """Sample a follow-up question on this topic. Return None if the topic has no follow-ups."""
        own = [answer_id for answer_id in self.answers if answer_id.startswith(f"{topic}/")]
        if not own:
            return None
        special = [answer_id for answer_id in own if answer_id in self._patterns]
        if special and rng.random() < len(special) / (len(special) + len(own)):
            answer_id = rng.choice(special)
            question = self.sample_question(answer_id, rng)
        else:
            kind = rng.choice(self._generic_kinds)
            question = self.sample_question(f"{_GENERIC}/{kind}", rng)
            answer_id = f"{topic}/{kind}"
            if answer_id not in self.answers:
                answer_id = f"{topic}/{_FALLBACK}"
            if answer_id not in self.answers:
                return None
        return Turn(add_typing_noise(question, rng), rng.choice(self.answers[answer_id]), answer_id)

    def sample_conversation(self, num_turns: int, rng: Random, follow_up: float = 0.45) -> Conversation:
        """Sample a conversation. Each turn after the first is a follow-up with probability `follow_up`."""
        turns: list[Turn] = []
        for _ in range(num_turns):
            turn = None
            if turns and rng.random() < follow_up:
                turn = self.sample_follow_up(topic_of(turns[-1].answer_id), rng)
            turns.append(turn or self.sample_turn(self.sample_topic(rng), rng, turning=bool(turns)))
        return Conversation(self._sample_system(rng), tuple(turns))

    def _vary(self, question: str, rng: Random) -> str:
        """Replace some words with synonyms."""
        return re.sub(
            r"[a-z]+",
            lambda word: rng.choice(self._synonyms.get(word[0], (word[0],))) if rng.random() < 0.5 else word[0],
            question,
        )

    def _sample_system(self, rng: Random) -> str:
        return expand(self.words["system"], self.words, rng) if rng.random() < 0.15 else ""

    def _add_context(self, question: str, rng: Random) -> str:
        """Add politeness, context and typing errors to a question."""
        if rng.random() < 0.12:
            question = f"{expand(self.words['before'], self.words, rng)} {question}"
        if rng.random() < 0.07:
            ending = expand(self.words["after"], self.words, rng)
            question = question.rstrip("?. ") + ("" if ending[0] in ",.?!" else " ") + ending
        return add_typing_noise(question, rng)


_TOPIC_WEIGHTS = {UNKNOWN: 76.0, "greeting": 0.5, "thanks_bye": 0.5}


def first_words(corpus: Corpus) -> list[str]:
    """Return the first words of all answers. Different topics never share a first word."""
    beginnings = (re.match(r"\w+", answer) for answers in corpus.answers.values() for answer in answers)
    return sorted({beginning[0] for beginning in beginnings if beginning})


def tokenizer_texts(corpus: Corpus, num_conversations: int, seed: int) -> Sequence[str]:
    """Return texts for training the tokenizer: all answers, and questions of sampled conversations."""
    rng = Random(seed)
    texts = [answer for answers in corpus.answers.values() for answer in answers]
    for _ in range(num_conversations):
        texts.extend(turn.question for turn in corpus.sample_conversation(2, rng).turns)
    return texts
