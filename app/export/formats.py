"""All formats that conversations can be exported in, by their names; each writes its file whole or not at all."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from app.model.exports.bough_file import bough_file
from app.model.exports.fine_tuning import openai_records, preference_records, sharegpt_records
from app.model.exports.format_names import ONE_FILE, Format
from app.model.exports.html import html
from app.model.exports.markdown import markdown
from app.model.exports.part import Options, Part
from app.model.exports.plain_text import plain_text
from app.model.exports.writing import Piece, Progress, written

_TEXTS = {"md": markdown, "html": html, "txt": plain_text}
_RECORDS = {"openai-jsonl": openai_records, "sharegpt-jsonl": sharegpt_records, "preference-jsonl": preference_records}


class Share(NamedTuple):
    """How far an export of several conversations is."""

    conversations: int
    of: int


def export(part: Part, format_: Format, path: Path, options: Options) -> Generator[Progress]:
    """Write one conversation, or what is chosen of it; yield how far that is.

    Who closes the generator early leaves what was at `path`. Raises `OSError`. PDF and ODT need a `QGuiApplication`.
    """
    if format_ == "pdf":
        from app.export.pdf import pdf

        return pdf(part, options, path)
    if format_ == "odt":
        from app.export.odt import odt

        return odt(part, options, path)
    return written(path, _pieces([part], format_, options), len(part.messages))


def export_together(
    parts: Iterable[Part], num_parts: int, format_: Format, path: Path, options: Options
) -> Generator[Share]:
    """Write many conversations into one file of a format that can hold them; yield how far that is.

    Each conversation is read when its turn comes. Raises `OSError`.
    """
    if format_ not in ONE_FILE:
        raise ValueError(f"{format_} holds one conversation a file")
    begun = 0

    def counted() -> Iterator[Part]:
        nonlocal begun
        for part in parts:
            yield part
            begun += 1

    for _ in written(path, _pieces(counted(), format_, options), 0):
        yield Share(begun, num_parts)
    yield Share(num_parts, num_parts)


def begun_text(part: Part, format_: Format, options: Options, num_characters: int) -> tuple[str, bool]:
    """Return how a file of text begins, and whether that is all of it."""
    begun = ""
    for piece in _pieces([part], format_, options):
        if len(begun) >= num_characters:
            return begun, False
        begun += piece.text
    return begun, True


def _pieces(parts: Iterable[Part], format_: Format, options: Options) -> Iterator[Piece]:
    if format_ == "bough":
        yield from bough_file(parts)
        return
    one = _RECORDS[format_] if format_ in _RECORDS else _TEXTS[format_]
    for part in parts:
        yield from one(part, options)
