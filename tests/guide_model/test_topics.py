"""The answers of the guide's next training: each wording has its facts, and what they name is in the program."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from grammar import parse, sections
from topics import FOLDER, Topic, TopicsError, in_german, read_topics

from app.command_line import SHELL_COMMANDS
from app.ui.menus import MENUS, Entry, Submenu
from tests.driver import ROOT

_MAX_WORDS = 60
_KEY = re.compile(r"(?:(?:Ctrl|Shift|Alt|Cmd)(?:\+(?=.)|$))*(?:[A-Z]|F\d+|Esc|Enter|Up|Down|Left|Right|Del|\W)?")
_KEYS_OF_EDITORS = {"Enter", "Shift+Enter", "Ctrl+Enter", "Ctrl+Shift+Enter", "Up", "Ctrl", "Cmd", "Alt", "Cmd+Z"}
_NOT_IN_MENUS = {"Undo", "Restart", "Copy", "Settings", "Stop", "Continue", "Go on with this", "Keep only this"}
"""Names of buttons."""
_EXAMPLES = {
    *("Answer in short sentences", "story", "code", "Happy ending", "Settings → Data controls"),
    *("banned phrases", "no repeats", "uncertain pause", "Kept", "read", "kept"),
    *("would read 84 tokens · about 0.3 s", "was deleted"),
}
"""Words in italics that are no texts of the window."""


@pytest.fixture(scope="module")
def topics() -> dict[str, Topic]:
    return read_topics()


def test_every_topic_has_three_wordings_with_all_its_facts(topics: dict[str, Topic]):
    assert len(topics) >= 100
    for topic in topics.values():
        assert len(set(topic.wordings)) >= 3, topic.id
        assert topic.facts, topic.id
        for fact in topic.facts:
            for wording in topic.wordings:
                assert re.search(fact, wording), (topic.id, fact, wording)


def test_every_topic_has_follow_ups_of_two_wordings(topics: dict[str, Topic]):
    for topic in topics.values():
        assert "more" in topic.follow_ups, topic.id
        for kind, wordings in topic.follow_ups.items():
            assert len(set(wordings)) >= 2, (topic.id, kind)


def test_questions_are_asked_of_topics_that_exist_and_german_ones_of_those_with_german(topics: dict[str, Topic]):
    num_patterns: dict[str, int] = {}
    for heading, line in sections(FOLDER / "questions.txt"):
        assert parse(line)
        num_patterns[heading] = num_patterns.get(heading, 0) + 1
    asked = {heading.removeprefix("de/") for heading in num_patterns}
    assert asked <= topics.keys()
    assert {topic.id for topic in topics.values() if topic.german} == {
        heading.removeprefix("de/") for heading in num_patterns if heading.startswith("de/")
    }


def test_no_topic_says_the_same_twice_and_no_answer_is_long(topics: dict[str, Topic]):
    for topic in topics.values():
        answers = [*topic.wordings, *(wording for wordings in topic.follow_ups.values() for wording in wordings)]
        assert len(set(answers)) == len(answers), topic.id
        assert [answer for answer in answers if len(answer.split()) > _MAX_WORDS] == []


def test_menus_and_buttons_in_answers_are_in_the_window(topics: dict[str, Topic]):
    entries = _entries()
    everywhere = set[str]().union(*entries.values())
    for topic_id, answer in _answers(topics):
        for name in re.findall(r"\*\*(.+?)\*\*", answer):
            menu, arrow, entry = name.partition(" → ")
            if arrow:
                assert entry in entries[menu], (topic_id, name)
            else:
                assert name in everywhere | entries.keys() | _NOT_IN_MENUS, (topic_id, name)


def test_keys_in_answers_are_in_the_window(topics: dict[str, Topic]):
    keys = _KEYS_OF_EDITORS.union(*({entry.key, entry.letter} for _, entries in MENUS for entry in _flat(entries)))
    for topic_id, answer in _answers(topics):
        for name in re.findall(r"`(.+?)`", answer):
            if _KEY.fullmatch(name):
                assert name in keys, (topic_id, name)


def test_names_in_italics_are_in_the_window(topics: dict[str, Topic]):
    texts = _german()
    for topic_id, answer in _answers(topics):
        for name in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", answer):
            assert name in texts or name in _EXAMPLES or name.endswith("."), (topic_id, name)


def test_a_menu_entry_stands_before_its_own_key(topics: dict[str, Topic]):
    keys = {entry.text: {entry.key, entry.letter} for _, entries in MENUS for entry in _flat(entries)}
    pairs = [
        (name, key)
        for _, answer in _answers(topics)
        for name, key in re.findall(r"\*\*(?:\w+ → )?([^*→]+)\*\* \(`([^`]+)`\)", answer)
    ]
    assert len(pairs) > 100
    assert [(name, key) for name, key in pairs if key not in keys[name]] == []


def test_actions_are_menu_entries(topics: dict[str, Topic]):
    entries = _entries()
    for topic in topics.values():
        if topic.action:
            menu, _, entry = topic.action.partition(" → ")
            assert entry in entries[menu], topic.id


def test_shell_commands_in_answers_exist(topics: dict[str, Topic]):
    for topic_id, answer in _answers(topics):
        for command in re.findall(r"`bough ([a-z]+)", answer):
            assert command in SHELL_COMMANDS | {"tour"}, (topic_id, command)


def test_documents_in_answers_exist(topics: dict[str, Topic]):
    for topic_id, answer in _answers(topics):
        for path in re.findall(r"`(docs/[^`]+)`", answer):
            assert (ROOT / path).is_file(), (topic_id, path)


def test_german_answers_name_the_menus_of_the_german_window(topics: dict[str, Topic]):
    translations = _german()
    german = [in_german(wording, translations) for topic in topics.values() for wording in topic.german]
    assert sum(bool(topic.german) for topic in topics.values()) >= 30
    assert "Drücke `Strg+Z`, oder wähle **Bearbeiten → Rückgängig**" in " ".join(german)
    assert not any("Ctrl" in wording for wording in german)


def test_a_german_answer_with_a_name_that_the_window_lacks_is_refused():
    with pytest.raises(KeyError, match="Telepathy"):
        in_german("Wähle **File → Telepathy**.", {"File": "Datei"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- an answer", "line 1: no topic comes before"),
        ("# a: A?\n- one\nnonsense", "line 3: 'nonsense' is neither"),
        ("# a: A?\n# a: B?", "line 2: a has a second heading"),
    ],
)
def test_a_wrong_line_is_named(text: str, says: str, tmp_path: Path):
    (tmp_path / "some.md").write_text(text, encoding="utf-8")
    with pytest.raises(TopicsError, match=re.escape(f"some.md, {says}")):
        read_topics(tmp_path)


def _answers(topics: dict[str, Topic]) -> list[tuple[str, str]]:
    """Return each English answer with the id of its topic or follow-up."""
    return [
        (answer_id, answer)
        for topic in topics.values()
        for answer_id, answers in [
            (topic.id, topic.wordings),
            *((f"{topic.id}/{kind}", wordings) for kind, wordings in topic.follow_ups.items()),
        ]
        for answer in answers
    ]


def _german() -> dict[str, str]:
    """Return the German text of each English one, without the marks of menu letters."""
    tree = ET.parse(ROOT / "resources" / "translations" / "bough_de.ts")  # noqa: S314 (our own file)
    return {
        (message.findtext("source") or "").replace("&", ""): (message.findtext("translation") or "").replace("&", "")
        for message in tree.iter("message")
    }


def _flat(entries: tuple[Entry | Submenu, ...]) -> list[Entry]:
    return [each for entry in entries for each in (entry.entries if isinstance(entry, Submenu) else (entry,))]


def _entries() -> dict[str, set[str]]:
    """Return the texts in each menu, including those of its submenus."""
    return {
        title.replace("&", ""): {entry.text for entry in _flat(entries)}
        | {entry.title for entry in entries if isinstance(entry, Submenu)}
        for title, entries in MENUS
    }
