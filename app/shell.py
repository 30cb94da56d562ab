"""Conversations from the shell: `bough import`, `export`, `search`, `list`, `replay`; no window.

What was asked for goes to standard output, what did not go well to standard error, a line each. 0 is returned only if
all went well.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from app.export.formats import export, export_together
from app.model.database import StoreError
from app.model.exports import writing
from app.model.exports.format_names import NEEDS_QT, ONE_FILE, Format, suffix
from app.model.exports.names import file_name
from app.model.exports.part import Options, Part, branch, whole_tree
from app.model.imports.importing import Progress, Summary, imported, planned
from app.model.message import Conversation, Message, MessageId
from app.model.search import Hit
from app.model.search_words import understood
from app.model.store import Store
from app.model.typed_text import clean
from app.places import Places

if TYPE_CHECKING:
    from io import TextIOWrapper

_CANCELLED = 130
_MAX_HITS = 100
_MAX_ID = 2**63 - 1
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "\ufffd")
"""What moves a terminal's cursor, or worse."""

_P = TypeVar("_P")
_R = TypeVar("_R")


class _FailedError(Exception):
    """Nothing can be done; its text is the line that says why."""


def run(chosen: argparse.Namespace, places: Places) -> int:
    """Run one of the commands; return the exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    # What a terminal has no letters for is no reason to stop; names of files go out as they came in.
    is_utf8 = sys.stdout.encoding.lower() == "utf-8"
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="surrogateescape" if is_utf8 else "backslashreplace")
    try:
        if chosen.command == "import" and chosen.plan:
            return _report(_finished(_planned(chosen, places), _import_line), chosen)
        with contextlib.closing(_store(places, is_written=chosen.command == "import")) as store:
            code = _done(store, chosen, places)
            sys.stdout.flush()
            return 1 if store.why_read_only else code
    except (StoreError, _FailedError) as error:
        _complain(str(error))
        return 1
    except KeyboardInterrupt:
        _complain("Cancelled. What was begun was taken back.")
        return _CANCELLED
    except OSError as error:
        # Whoever reads may have seen enough.
        if not isinstance(error, BrokenPipeError):
            _complain(f"{error.filename or 'The answer'} could not be written ({error.strerror or error}).")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _done(store: Store, chosen: argparse.Namespace, places: Places) -> int:
    match chosen.command:
        case "import":
            return _import(store, chosen)
        case "export":
            return _export(store, chosen)
        case "search":
            return _search(store, chosen.words, as_json=chosen.json)
        case "replay":
            return _replay(store, chosen, places)
        case _:
            return _list(store, as_json=chosen.json)


def _planned(chosen: argparse.Namespace, places: Places) -> Generator[Progress, None, Summary]:
    """What an import would bring; where there are no conversations yet, into none."""
    if places.store.exists():
        with contextlib.closing(Store(places.store, read_only_because="A plan only reads.")) as store:
            return (yield from planned(store, chosen.files))
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Store(Places.under(Path(folder)).store)) as store:
        return (yield from planned(store, chosen.files))


def _store(places: Places, *, is_written: bool) -> Store:
    """Open the conversations; what can't be written can still be read, and why is told."""
    if not is_written and not places.store.exists():
        raise _FailedError(f"There are no conversations in {places.data}. Name another folder with --data-dir.")
    try:
        return Store(places.store)
    except StoreError as error:
        if is_written:
            raise
        store = Store(places.store, read_only_because=str(error))
        _complain(store.why_read_only)
        return store


# --- import --------------------------------------------------------------------------------------------------


def _import(store: Store, chosen: argparse.Namespace) -> int:
    return _report(_finished(imported(store, chosen.files), _import_line), chosen)


def _report(summary: Summary, chosen: argparse.Namespace) -> int:
    if chosen.json:
        # Names of files and titles may have halves of characters, which JSON can't.
        problems = [{"where": clean(where), "why": clean(why)} for where, why in summary.problems]
        twins = [twin._asdict() for twin in summary.twins]
        _say_json({**msgspec.structs.asdict(summary), "problems": problems, "twins": twins})
    else:
        for line in _told(summary, is_plan=chosen.plan):
            _say(line)
    for problem in summary.problems:
        _complain(f"{problem.where}: {problem.why}.")
    if summary.num_more_problems:
        _complain(f"… and {summary.num_more_problems:,} more that can't be imported.")
    return 1 if summary.problems else 0


def _import_line(progress: Progress) -> str:
    share = f"{progress.done_bytes / progress.total_bytes:.0%}, " if progress.total_bytes else ""
    return f"{share}{progress.num_conversations:,} conversations, {progress.num_messages:,} messages"


def _told(summary: Summary, *, is_plan: bool) -> Iterator[str]:
    what = f"{_counted(summary.num_conversations, 'conversation')} with {_counted(summary.num_messages, 'message')}"
    programs = ", ".join(f"{program}: {number:,}" for program, number in sorted(summary.programs.items()))
    branches = f" in {_counted(summary.num_branches, 'branch', 'branches')}" if summary.num_branches else ""
    done = "would be" if is_plan else "was" if summary.num_conversations == 1 else "were"
    yield f"{what}{branches} {done} imported{f' ({programs})' if programs else ''}."
    if summary.twins:
        verb = "is" if len(summary.twins) == 1 else "are"
        yield f"{_counted(len(summary.twins), 'conversation')} {verb} here already and {verb} left out."
    for remark, number in sorted(summary.remarks.items()):
        yield f"{number:,} {remark}."


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


# --- export --------------------------------------------------------------------------------------------------


def _export(store: Store, chosen: argparse.Namespace) -> int:
    format_: Format = chosen.format
    options = Options(
        reasoning=not chosen.no_reasoning,
        system_prompts=not chosen.no_system_prompts,
        statistics=chosen.statistics,
        scheme=chosen.colours,
    )
    conversations, missing = _chosen(store, None if chosen.all else chosen.conversation)
    for name in missing:
        _complain(f"There is no conversation “{name}”.")
    if missing and not conversations:
        return 1
    out: Path = chosen.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _FailedError(f"{out} can't be made ({error.strerror}). Name another folder.") from error
    if format_ in NEEDS_QT:
        _make_qt_application()
    num_failed = len(missing)
    taken: set[str] = set()
    if format_ in ONE_FILE:
        name = "Conversations" if len(conversations) != 1 else conversations[0].name
        path = out / file_name(name, suffix(format_), taken)
        parts = (_part(store, conversation, only_branch=chosen.branch) for conversation in conversations)
        work = export_together(parts, len(conversations), format_, path, options)
        num_failed += _written(path, work, lambda share: f"{share.conversations:,} of {share.of:,} conversations")
    else:
        for conversation in conversations:
            path = out / file_name(conversation.name, suffix(format_), taken)
            work = _exported(store, conversation, path, format_, options, only_branch=chosen.branch)
            num_failed += _written(path, work, _export_line)
    return 1 if num_failed else 0


def _exported(
    store: Store, conversation: Conversation, path: Path, format_: Format, options: Options, *, only_branch: bool
) -> Generator[writing.Progress]:
    yield from export(_part(store, conversation, only_branch=only_branch), format_, path, options)


def _export_line(progress: writing.Progress) -> str:
    return f"{progress.done:,} of {progress.total:,} messages"


def _written(path: Path, work: Generator[_P], line: Callable[[_P], str]) -> int:
    """Write a file and say so; return how many could not be written."""
    try:
        _finished(work, line)
    except OSError as error:
        _complain(f"{path} could not be written ({error.strerror or error}). What was there is as it was.")
        return 1
    except Exception as error:  # noqa: BLE001 (whatever it is, the other conversations must go out)
        why = str(error) if isinstance(error, StoreError) else f"{type(error).__name__}: {error}"
        _complain(f"{path} could not be written ({why}). What was there is as it was.")
        return 1
    _say(str(path))
    return 0


def _part(store: Store, conversation: Conversation, *, only_branch: bool) -> Part:
    return branch(store, conversation.id) if only_branch else whole_tree(store, conversation.id)


def _chosen(store: Store, names: Sequence[str] | None) -> tuple[list[Conversation], list[str]]:
    """Return the conversations that are meant, and the names that are nobody's."""
    there = sorted(store.conversations(), key=lambda conversation: conversation.id)
    if names is None:
        return there, []
    found: dict[int, Conversation] = {}
    missing: list[str] = []
    for name in names:
        meant = [conversation for conversation in there if conversation.name == name]
        meant = meant or [conversation for conversation in there if str(conversation.id) == name]
        found |= {conversation.id: conversation for conversation in meant}
        if not meant:
            missing.append(name)
    return list(found.values()), missing


def _make_qt_application() -> None:
    # No window is opened, so no display is needed.
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtGui import QGuiApplication

    if QGuiApplication.instance() is None:
        _kept.append(QGuiApplication([]))


_kept: list[object] = []
"""Qt's application lives as long as the program."""


# --- search and list -----------------------------------------------------------------------------------------


def _search(store: Store, words: Sequence[str], *, as_json: bool) -> int:
    # The shell has taken the quotes away from what was meant as one.
    asked = understood(" ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words))
    hits = store.search(asked.words, asked.filters, limit=_MAX_HITS)
    if as_json:
        _say_json([_hit(hit) for hit in hits])
    else:
        for hit in hits:
            version = f" · version {hit.version} of {hit.num_versions}" if hit.num_versions > 1 else ""
            _say(_one_line(f"{hit.conversation.name} · {hit.message.role}{version} · {hit.excerpt}"))
    return 0


def _hit(hit: Hit) -> dict[str, Any]:
    """As docs/shell.md has it."""
    message = hit.message
    return {
        "conversation_id": hit.conversation.id,
        "conversation": hit.conversation.name,
        "message_id": message.id,
        "path": hit.path,
        "version": hit.version,
        "num_versions": hit.num_versions,
        "role": message.role,
        "model": None if message.record is None else message.record.model,
        "created_ms": message.created_ms,
        "starred_ms": message.starred_ms,
        "pinned_ms": message.pinned_ms,
        "excerpt": hit.excerpt,
        "marks": hit.marks,
        "text": message.text,
    }


def _list(store: Store, *, as_json: bool) -> int:
    conversations = store.conversations()
    if as_json:
        _say_json(conversations)
    else:
        for conversation in conversations:
            _say(f"{conversation.id}\t{_one_line(conversation.name)}")
    return 0


# --- replay --------------------------------------------------------------------------------------------------


def _replay(store: Store, chosen: argparse.Namespace, places: Places) -> int:
    # What talks to a worker is imported by those alone who need one.
    from app.run_again import Asked, run_again
    from app.verdict import Verdict, told

    if not chosen.conversations and not chosen.message:
        raise _FailedError("Name a conversation, or an answer with --message.")
    conversations, missing = _chosen(store, chosen.conversations)
    asked: dict[MessageId, Asked] = {}
    for conversation in conversations:
        path = branch(store, conversation.id).path
        asked |= {message.id: Asked(message, path[:place]) for place, message in enumerate(path) if _is_answer(message)}
    problems = [f"There is no conversation “{name}”." for name in missing]
    for message_id in chosen.message:
        line = store.lineage(message_id) if abs(message_id) <= _MAX_ID else []
        if line:
            asked[message_id] = Asked(line[-1], line[:-1])
        else:
            problems.append(f"There is no message {message_id}.")
    verdicts: list[Verdict] = []

    def work() -> Generator[str]:
        for step in run_again(list(asked.values()), model=chosen.model, hooks_folder=places.config / "hooks"):
            if isinstance(step, Verdict):
                verdicts.append(step)
                if not chosen.json:
                    _say(f"Message {step.message_id} ({step.model or 'no model'}): {' '.join(told(step))}")
            else:
                yield f"answer {step.answer:,} of {step.of:,}, {step.done:.0%}"

    _finished(work(), str)
    if chosen.json:
        _say_json(verdicts)
    for problem in problems:
        _complain(problem)
    for verdict in verdicts:
        if not verdict.matched:
            outcome, *rest = told(verdict)
            is_other_text = verdict.is_text_spelled is False and verdict.error is None and not verdict.differences
            _complain(f"Message {verdict.message_id}: {rest[0] if is_other_text else outcome}")
    return 0 if not problems and verdicts and all(verdict.matched for verdict in verdicts) else 1


def _is_answer(message: Message) -> bool:
    return message.role == "assistant" and bool(message.text)


# --- talking -------------------------------------------------------------------------------------------------


def _finished(work: Generator[_P, None, _R], line: Callable[[_P], str]) -> _R:
    """Run something to its end, and say on a terminal how far it is."""
    is_seen = sys.stderr.isatty()
    try:
        while True:
            progress = next(work)
            if is_seen:
                sys.stderr.write(f"\r\x1b[K{line(progress)}")
                sys.stderr.flush()
    except StopIteration as end:
        return end.value
    finally:
        work.close()
        if is_seen:
            sys.stderr.write("\r\x1b[K")


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _one_line(text: str) -> str:
    return " ".join(text.split()).translate(_CONTROLS)


def _say(line: str) -> None:
    print(line)  # noqa: T201


def _say_json(value: Any) -> None:
    # JSON is UTF-8, whatever a terminal takes.
    sys.stdout.flush()
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def _complain(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201
