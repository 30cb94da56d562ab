"""The training corpus of the guide model: its size, its repeatability, and its agreement with the program."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from corpus import UNKNOWN, Corpus, first_words, topic_of
from grammar import PatternError, expand, parse, read_words

from tests.named import entries, keys, keys_named, num_pairs, wrong_pairs

_DYNAMIC = {"Guide"}  # An entry that the window adds to the Models menu.
_FORMER = {"Go on from here", "G", "Move to folder…"}  # Until the guide is trained again.
_BUTTONS = {
    *("Stop", "Undo", "Continue", "Copy", "Edit", "Fork", "Regenerate", "New conversation"),
    *("Replace", "Go on with this", "Keep only this", "Settings", "Search"),
}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus()


def test_the_corpus_has_enough_topics_wordings_and_answers(corpus: Corpus):
    assert len(corpus.topics) >= 40
    num_patterns = dict.fromkeys(corpus.topics, 0)
    for answer_id, _ in corpus.questions():
        if answer_id in num_patterns:
            num_patterns[answer_id] += 1
    assert min(num_patterns.values()) >= 100
    assert all(len(set(corpus.answers[topic])) == 4 for topic in corpus.topics)


def test_every_wording_has_an_answer(corpus: Corpus):
    kinds = {answer_id.partition("/")[2] for answer_id in corpus.answers}
    for answer_id, _ in corpus.questions():
        topic, _, kind = answer_id.partition("/")
        assert answer_id in corpus.answers or (topic == "any" and kind in kinds), answer_id


def test_no_two_answers_are_the_same(corpus: Corpus):
    answers = [answer for written in corpus.answers.values() for answer in written]
    assert len(set(answers)) == len(answers)


def test_the_first_word_of_an_answer_identifies_its_topic(corpus: Corpus):
    topics: dict[str, set[str]] = {}
    for answer_id, answers in corpus.answers.items():
        for answer in answers:
            beginning = re.match(r"\w+", answer)
            assert beginning, answer
            topics.setdefault(beginning[0], set()).add(topic_of(answer_id))
    assert set(topics) == set(first_words(corpus))
    assert {word: found for word, found in topics.items() if len(found) > 1} == {}


def test_menus_named_in_answers_exist(corpus: Corpus):
    menus = entries()
    for answer in _all_answers(corpus):
        for name in re.findall(r"\*\*(.+?)\*\*", answer):
            menu, arrow, entry = name.partition(" → ")
            if arrow:
                assert menu in menus, answer
                assert entry in menus[menu] | _DYNAMIC | _FORMER, answer
            elif name != "bold":
                assert name in _BUTTONS | _DYNAMIC | menus.keys() | set[str]().union(*menus.values()), answer


def test_keys_named_in_answers_exist(corpus: Corpus):
    named = set[str]().union(*map(keys_named, _all_answers(corpus)))
    assert len(named) > 15
    assert named - keys() - _FORMER == set()


def test_a_menu_entry_and_its_key_named_in_an_answer_match(corpus: Corpus):
    answers = _all_answers(corpus)
    assert {answer: wrong for answer in answers if (wrong := wrong_pairs(answer, _FORMER))} == {}
    assert sum(map(num_pairs, answers)) > 10


def test_sampling_conversations_is_repeatable(corpus: Corpus):
    one, other = ([corpus.sample_conversation(3, rng) for _ in range(50)] for rng in (Random(7), Random(7)))
    assert one == other


def test_a_conversation_has_changes_of_topic_and_follow_up_questions(corpus: Corpus):
    rng = Random(1)
    sampled = [corpus.sample_conversation(4, rng) for _ in range(100)]
    follow_ups = sum("/" in turn.answer_id for conversation in sampled for turn in conversation.turns)
    assert 50 < follow_ups < 300
    assert all("/" not in conversation.turns[0].answer_id for conversation in sampled)
    assert any(turn.answer_id == UNKNOWN for conversation in sampled for turn in conversation.turns)


@pytest.mark.parametrize(
    ("pattern", "sentences"),
    [
        ("plain", {"plain"}),
        (
            "how do I (edit|change) [the text]",
            {f"how do I {verb}{end}" for verb in ("edit", "change") for end in ("", " the text")},
        ),
        ("{colour}s?", {"reds?", "dark blues?"}),
        (r"a \(b\) [c|d]?", {"a (b)?", "a (b) c?", "a (b) d?"}),
        ("(a|[b|c] d)", {"a", "b d", "c d", "d"}),
    ],
)
def test_a_pattern_expands_to_its_sentences(pattern: str, sentences: set[str], tmp_path: Path):
    (tmp_path / "words.txt").write_text("# colour\nred | dark blue\n", encoding="utf-8")
    words = read_words(tmp_path / "words.txt")
    rng = Random(0)
    assert {expand(parse(pattern), words, rng) for _ in range(200)} == sentences


@pytest.mark.parametrize("pattern", ["(a", "a)", "[a", "a]", "{a", "(a]", "a}"])
def test_unbalanced_brackets_are_an_error(pattern: str):
    with pytest.raises(PatternError, match=re.escape(pattern)):
        parse(pattern)


def _all_answers(corpus: Corpus) -> list[str]:
    return [answer for written in corpus.answers.values() for answer in written]
