"""`bough import`: what came of it, or with `--plan` what would."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import msgspec

from app.model.imports.importing import Progress, Summary, imported, planned
from app.model.store import Store
from app.model.typed_text import clean
from app.places import Places
from app.shell.terminal import complain, finished, say, say_json


def import_files(store: Store, chosen: argparse.Namespace) -> int:
    """Import them; return the exit code."""
    return _report(finished(imported(store, chosen.files), _import_line), chosen)


def plan_import(chosen: argparse.Namespace, places: Places) -> int:
    """Say what that would bring; return the exit code."""
    return _report(finished(_planned(chosen, places), _import_line), chosen)


def _planned(chosen: argparse.Namespace, places: Places) -> Generator[Progress, None, Summary]:
    """What an import would bring; where there are no conversations yet, into none."""
    if places.store.exists():
        with contextlib.closing(Store(places.store, read_only_because="A plan only reads.")) as store:
            return (yield from planned(store, chosen.files))
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Store(Places.under(Path(folder)).store)) as store:
        return (yield from planned(store, chosen.files))


def _report(summary: Summary, chosen: argparse.Namespace) -> int:
    if chosen.json:
        # Names of files and titles may have halves of characters, which JSON can't.
        problems = [{"where": clean(where), "why": clean(why)} for where, why in summary.problems]
        twins = [twin._asdict() for twin in summary.twins]
        say_json({**msgspec.structs.asdict(summary), "problems": problems, "twins": twins})
    else:
        for line in _told(summary, is_plan=chosen.plan):
            say(line)
    for problem in summary.problems:
        complain(f"{problem.where}: {problem.why}.")
    if summary.num_more_problems:
        complain(f"… and {summary.num_more_problems:,} more that can't be imported.")
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
