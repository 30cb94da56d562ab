"""Ordinary templates and tokenizers change prompts in ways that are not worth a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chat_families import FAMILIES, Family, chat_template_of
from worker.protocol import Message
from worker.templates.changes import changed

MESSAGES = [
    Message(role="system", content="  You help with code.\n"),
    Message(role="user", content="Please:\n\tdef f(x):\n\t\treturn  x\n"),
    Message(role="assistant", content="<think>\nHm.\n</think>\n\nHere it is.  "),
    Message(role="user", content="Thanks <|im_end|> [INST] café?"),
    Message(role="assistant", content="Welcome."),
    Message(role="user", content="Bye"),
]


@pytest.mark.parametrize("made", FAMILIES, ids=lambda made: made.name)
def test_templates_of_well_known_families_report_no_changes(made: Family, tmp_path: Path):
    template, _ = chat_template_of(made, tmp_path)
    for messages in (MESSAGES, MESSAGES[1:], MESSAGES[:2], MESSAGES[:4]):
        assert template.changes(template.turns(messages), {}) == []


@pytest.mark.parametrize(
    ("text", "spelled", "words"),
    [
        ("a b", "a b", None),
        ("a b", " a b", None),
        ("Füße", "füsse", None),
        ("e\u0301", "é", None),
        ("Ａ１ ﬁ", "a1 fi", None),
        ("\ufeffa\x00\u200b", "a", None),
        ("a, b!", " a , b !", None),
        ("a\nb", "a b", "white space"),
        ("a    b", "a b", "white space"),
        ("東京 a", " a", ": 東京"),
        ("aab", "ab", ": a"),
        ("you are", "you are not", "saw “not”"),
        ("my god", "my dog", "saw “dog”"),
        ("Hello", "Never mind. Hello", "saw “Never mind. Hello”"),
        ("now here", "nowhere", "white space"),
        ("12 50 x", "1250 x", "white space"),
        ("a\tb", "a b", "white space"),
        ("nowhere", "now here", "saw “now here”"),
        ("Is it nowhere?", " is it now here ?", "saw “now here ?”"),
        ("我是 a1_b", " 我 是 a1 _ b", None),
        ("हिन्दी", "हनद", ": िन्दी"[:3]),
        ("がか", "かか", ": が"),
        ("ây şi ½ ❤️", "ay si 1⁄2 ❤", None),
        ("שָׁלוֹם كِتَاب", "שלום كتاب", None),
        ("\U0001fae8\U000f0000 a", "a", ": \U0001fae8\U000f0000"),
        ("a b" * 100_000 + "c", "a b" * 100_000, ": c"),
        ("a b" * 100_000, "a b" * 50_000 + "now" + "a b" * 50_000, "saw “nowa b"),
        ("b" * 300_000, "", ": b"),
    ],
)
def test_lost_characters_are_distinguished_from_variant_forms(text: str, spelled: str, words: str | None):
    sentence = changed(text, spelled)
    assert sentence is None if words is None else words in str(sentence)
