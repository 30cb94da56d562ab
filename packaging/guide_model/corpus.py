"""The corpus of the guide model: reads the written questions and answers and draws conversations from them.

`corpus/answers/*.md` holds the answers, each under the id of its topic or follow-up (`edit`, `edit/old`);
`corpus/questions/*.txt` holds patterns for the questions under the same ids; under `# any/old` stand wordings of a
follow-up that fit any topic. It knows nothing of tokens or models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from grammar import Choice, expand, num_expansions, parse, read_words, sections
from noise import roughen

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
    """What is trained on, or played: a system prompt (often none) and its turns."""

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
    """Patterns of one id; one that stands for many sentences is drawn more often."""

    trees: list[Choice] = field(default_factory=list[Choice])
    weights: list[float] = field(default_factory=list[float])

    def add(self, tree: Choice, num_sentences: int) -> None:
        """Take in one more pattern."""
        self.trees.append(tree)
        self.weights.append(min(num_sentences, 100_000) ** 0.25)

    def draw(self, rng: Random) -> Choice:
        """Draw one pattern."""
        return rng.choices(self.trees, self.weights)[0]


class Corpus:
    """All questions and answers, and a source of conversations."""

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
        self._kinds = sorted({name.partition("/")[2] for name in self._patterns if name.startswith(f"{_GENERIC}/")})

    def questions(self) -> Iterator[tuple[str, Choice]]:
        """Yield every pattern with the id of its answers (`any/…` for follow-ups that fit any topic)."""
        for answer_id, patterns in self._patterns.items():
            for tree in patterns.trees:
                yield answer_id, tree

    def draw_question(self, answer_id: str, rng: Random) -> str:
        """Draw a clean wording of a question that the answers of this id answer."""
        question = expand(self._patterns[answer_id].draw(rng), self.words, rng)
        return self._vary(question, rng) if rng.random() < 0.3 else question

    def draw_topic(self, rng: Random) -> str:
        """Draw a topic; `unknown` is the most frequent, as its questions differ most."""
        return rng.choices(self.topics, self._topic_weights)[0]

    def draw_turn(self, topic: str, rng: Random, *, turning: bool = False) -> Turn:
        """Draw a first question of a topic with one of its answers; one that turns from another topic may say so."""
        question = self.draw_question(topic, rng)
        if turning and rng.random() < 0.4:
            question = f"{expand(self.words['turning'], self.words, rng)} {question}"
        return Turn(self._dress(question, rng), rng.choice(self.answers[topic]), topic)

    def draw_follow_up(self, topic: str, rng: Random) -> Turn | None:
        """Draw a question that makes sense only after one of this topic, or None where the topic has none."""
        own = [answer_id for answer_id in self.answers if answer_id.startswith(f"{topic}/")]
        if not own:
            return None
        special = [answer_id for answer_id in own if answer_id in self._patterns]
        if special and rng.random() < len(special) / (len(special) + len(own)):
            answer_id = rng.choice(special)
            question = self.draw_question(answer_id, rng)
        else:
            kind = rng.choice(self._kinds)
            question = self.draw_question(f"{_GENERIC}/{kind}", rng)
            answer_id = f"{topic}/{kind}"
            if answer_id not in self.answers:
                answer_id = f"{topic}/{_FALLBACK}"
            if answer_id not in self.answers:
                return None
        return Turn(roughen(question, rng), rng.choice(self.answers[answer_id]), answer_id)

    def draw_conversation(self, num_turns: int, rng: Random, follow_up: float = 0.45) -> Conversation:
        """Draw a conversation of `num_turns` turns; each one after the first is a follow-up with chance `follow_up`."""
        turns: list[Turn] = []
        for _ in range(num_turns):
            turn = None
            if turns and rng.random() < follow_up:
                turn = self.draw_follow_up(topic_of(turns[-1].answer_id), rng)
            turns.append(turn or self.draw_turn(self.draw_topic(rng), rng, turning=bool(turns)))
        return Conversation(self._draw_system(rng), tuple(turns))

    def _vary(self, question: str, rng: Random) -> str:
        """Put synonyms in the place of some words."""
        return re.sub(
            r"[a-z]+",
            lambda word: rng.choice(self._synonyms.get(word[0], (word[0],))) if rng.random() < 0.5 else word[0],
            question,
        )

    def _draw_system(self, rng: Random) -> str:
        return expand(self.words["system"], self.words, rng) if rng.random() < 0.15 else ""

    def _dress(self, question: str, rng: Random) -> str:
        """Put politeness, circumstances and noise around a question."""
        if rng.random() < 0.12:
            question = f"{expand(self.words['before'], self.words, rng)} {question}"
        if rng.random() < 0.07:
            ending = expand(self.words["after"], self.words, rng)
            question = question.rstrip("?. ") + ("" if ending[0] in ",.?!" else " ") + ending
        return roughen(question, rng)


_TOPIC_WEIGHTS = {UNKNOWN: 76.0, "greeting": 0.5, "thanks_bye": 0.5}


def first_words(corpus: Corpus) -> list[str]:
    """Return the words that answers begin with. Topics share none: the first word settles what an answer is about."""
    beginnings = (re.match(r"\w+", answer) for answers in corpus.answers.values() for answer in answers)
    return sorted({beginning[0] for beginning in beginnings if beginning})


def all_texts(corpus: Corpus, num_conversations: int, seed: int) -> Sequence[str]:
    """Return texts that show how questions and answers are written, for training a tokenizer."""
    rng = Random(seed)
    texts = [answer for answers in corpus.answers.values() for answer in answers]
    for _ in range(num_conversations):
        texts.extend(turn.question for turn in corpus.draw_conversation(2, rng).turns)
    return texts
