"""Sentences for the user: English text that can be translated where it is shown.

Failures and notices are written as `Sentence("There is no folder {folder}.", folder=path)`. The value is its English
text, so it can be logged, printed and compared like any text. It keeps the template and the fields, from which
`app.sentences` makes the same sentence in the user's language. `packaging/translations.py` collects the templates for
the translators, so they are literals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import LiteralString, final

from msgspec import Struct, UnsetType

_FIELD = re.compile(r"\{(\w+)\}")
_MAX_INT = 2**53
"""Every transport and every driver can read integers up to this one."""

_MIB = 1 << 20
_GIB = 1 << 30


class SentenceParts(Struct, frozen=True):
    """A sentence in the form in which it is sent and stored: `template` with names in braces, and their values.

    A name that ends in `_bytes` has an amount of memory or disk as its value.
    """

    template: str
    fields: dict[str, str | int | SentenceParts] = {}


@final
class Sentence(str):
    """A sentence, or a phrase that other sentences contain, in English. Several sentences can be one, see `joined`."""

    __slots__ = ("fields", "template")

    template: str
    fields: Mapping[str, str | int]
    """The values by their names in the template. A value may be a `Sentence`, too."""

    def __new__(cls, template: LiteralString, /, **fields: object) -> Sentence:
        """Fill in `template`. Integers are counts: give ids as strings, and amounts of bytes a name in `_bytes`."""
        return _sentence(template, {name: _value(value) for name, value in fields.items()})

    @property
    def parts(self) -> SentenceParts:
        """The sentence in the form in which it is sent and stored."""
        return SentenceParts(_sendable(self.template), {name: _part(value) for name, value in self.fields.items()})


class SentenceError(Exception):
    """An expected failure, with the sentence that the user reads."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence)
        self.sentence = sentence

    def append(self, sentence: Sentence) -> None:
        """Add a sentence at the end."""
        self.sentence = joined([self.sentence, sentence])
        self.args = (self.sentence,)


def _sentence(template: str, fields: Mapping[str, str | int]) -> Sentence:
    texts = {name: english(name, value) for name, value in fields.items()}
    sentence = str.__new__(Sentence, filled(template, texts))
    sentence.template = template
    sentence.fields = fields
    return sentence


def verbatim(text: str) -> Sentence:
    """Return text that has no translation, or is translated already."""
    return text if isinstance(text, Sentence) else _sentence("{text}", {"text": text})


def joined(sentences: Iterable[Sentence], separator: str = " ") -> Sentence:
    """Return several sentences as one."""
    fields = {f"sentence_{number}": sentence for number, sentence in enumerate(sentences)}
    return _sentence(separator.join(f"{{{name}}}" for name in fields), fields)


def received(text: str, parts: SentenceParts | UnsetType | None) -> Sentence:
    """Return a sentence that was sent or stored: by its parts, or as text where there are none."""
    if not isinstance(parts, SentenceParts) or not parts.template:
        return verbatim(text)
    fields = {
        name: received("", value) if isinstance(value, SentenceParts) else value for name, value in parts.fields.items()
    }
    return _sentence(parts.template, fields)


def filled(template: str, texts: Mapping[str, str]) -> str:
    """Fill a template with `texts`, by name. Braces around any other text are not changed."""
    return _FIELD.sub(lambda field: texts.get(field[1], field[0]), template)


def field_names(template: str) -> set[str]:
    """Return the names in a template."""
    return set(_FIELD.findall(template))


def english(name: str, value: str | int) -> str:
    """Return the value of a field as English text."""
    if isinstance(value, str):
        return value
    return size_text(value) if name.endswith("_bytes") else f"{value:,}"


def size_text(num_bytes: int) -> str:
    """Return a memory or disk size as English text, such as "3.2 GiB"."""
    number, num_decimals, unit = scaled_size(num_bytes)
    return f"{number:,.{num_decimals}f} {unit}"


def scaled_size(num_bytes: int) -> tuple[float, int, str]:
    """Scale a number of bytes to the most suitable unit. Return the number, how many decimals to show, and the unit."""
    # An amount that would be rounded up to a whole unit is given in that unit.
    if num_bytes >= 1023.5 * _MIB:
        size = num_bytes / _GIB
        return size, 0 if size >= 99.95 or size == int(size) else 1, "GiB"
    if num_bytes >= 1023.5 * 1024:
        return num_bytes / _MIB, 0, "MiB"
    return (num_bytes / 1024, 0, "KiB") if num_bytes >= 1024 else (num_bytes, 0, "bytes")


def _value(value: object) -> str | int:
    match value:
        case SentenceError():
            return value.sentence
        case bool() | str():
            return value
        case int() if abs(value) < _MAX_INT:
            return value
        case _:
            return str(value)


def _part(value: str | int) -> str | int | SentenceParts:
    match value:
        case Sentence():
            return value.parts
        case str():
            return _sendable(value)
        case _:
            return value


def _sendable(text: str) -> str:
    """Escape lone surrogates, which UTF-8 can't encode. A hook's text or a file name may contain them."""
    return text.encode("utf-8", "backslashreplace").decode()
