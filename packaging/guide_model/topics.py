"""The answers of the guide's next training, one topic a heading: reads `topics/*.md`.

A topic is one thing that people ask, with its title as a question, and three wordings of its answer. Every wording
contains all facts of the topic, which `fact:` lines give as regular expressions. `action:` names the menu entry that
the window can offer as a button. `de:` lines are wordings in German. They name menus and keys in English, and
`in_german` translates these names. Headings of the second level are follow-ups: `## back` under `# edit` is
`edit/back`. Independent of tokens, models and the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "topics"

_NAME = re.compile(r"\*\*(.+?)\*\*|(?<!\*)\*([^*]+)\*(?!\*)")
_KEY = re.compile(r"`([^`]+)`")
_GERMAN_KEYS = {"Ctrl": "Strg", "Shift": "Umschalt", "Del": "Entf", "Delete": "Entf", "Backspace": "Rücktaste"} | {
    "Up": "Oben", "Down": "Unten", "Left": "Links", "Right": "Rechts"
}  # fmt: skip


class TopicsError(ValueError):
    """A line of a topic's file that can't be read; the text names the file and the line."""


@dataclass
class Topic:
    """One thing that people ask."""

    id: str
    title: str
    """The topic as a question, for a button."""
    facts: list[str] = field(default_factory=list[str])
    """Regular expressions, each of which every wording must contain."""
    action: str = ""
    """A menu and its entry, as `View → Tree`. Empty means no button."""
    wordings: list[str] = field(default_factory=list[str])
    german: list[str] = field(default_factory=list[str])
    follow_ups: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The wordings of each follow-up, by its kind."""


def read_topics(folder: Path = FOLDER) -> dict[str, Topic]:
    """Read all topics, in the order of the files. Raises TopicsError and OSError."""
    topics: dict[str, Topic] = {}
    for path in sorted(folder.glob("*.md")):
        topic: Topic | None = None
        into: list[str] = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := re.fullmatch(r"# (\w+): (.+)", line):
                topic = Topic(id=match[1], title=match[2])
                if topic.id in topics:
                    raise TopicsError(f"{path.name}, line {number}: {topic.id} has a second heading.")
                topics[topic.id] = topic
                into = topic.wordings
            elif topic is None or not line.strip():
                if line.strip():
                    raise TopicsError(f"{path.name}, line {number}: no topic comes before this line.")
            elif match := re.fullmatch(r"## (\w+)", line):
                into = topic.follow_ups.setdefault(match[1], [])
            elif match := re.fullmatch(r"- (.+)", line):
                into.append(match[1])
            elif match := re.fullmatch(r"(fact|action|de): (.+)", line):
                _add(topic, match[1], match[2])
            else:
                raise TopicsError(f"{path.name}, line {number}: {line!r} is neither a heading nor a wording.")
    return topics


def _add(topic: Topic, kind: str, text: str) -> None:
    if kind == "fact":
        topic.facts.append(text)
    elif kind == "de":
        topic.german.append(text)
    else:
        topic.action = text


def in_german(wording: str, translations: Mapping[str, str]) -> str:
    """Return a German wording with its menus, entries and keys in German.

    `translations`: the German text of each English one in the window, without `&`. Raises KeyError with a name that the
    window does not have in German.
    """

    def name(match: re.Match[str]) -> str:
        mark = "**" if match[1] else "*"
        parts = (match[1] or match[2]).split(" → ")
        return mark + " → ".join(translations[part] for part in parts) + mark

    def key(match: re.Match[str]) -> str:
        parts = re.split(r"\+(?=.)", match[1])
        return "`" + "+".join(_GERMAN_KEYS.get(part, part) for part in parts) + "`"

    return _KEY.sub(key, _NAME.sub(name, wording))
