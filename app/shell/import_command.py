"""`bough import`: imports conversations and reports what was imported; with `--plan`, what would be imported."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import msgspec

from app.model.imports.importing import Progress, Summary, import_files, plan_import
from app.model.store import Store
from app.model.text import clean
from app.places import Places
from app.shell.terminal import print_error, print_json, print_line, run_to_end
from worker.sentence import verbatim

_MAX_TWINS = 50
"""How many conversations that were left out are listed."""


def run_import(store: Store, chosen: argparse.Namespace) -> int:
    """Import the files; return the exit code."""
    return _report(run_to_end(import_files(store, chosen.files, with_twins=chosen.copies), _progress_line), chosen)


def run_plan(chosen: argparse.Namespace, places: Places) -> int:
    """Report what an import would do; return the exit code."""
    return _report(run_to_end(_plan(chosen, places), _progress_line), chosen)


def _plan(chosen: argparse.Namespace, places: Places) -> Generator[Progress, None, Summary]:
    """Plan an import into the store, or into an empty store if there is none yet."""
    if places.store.exists():
        with contextlib.closing(Store(places.store, read_only_because=verbatim("A plan only reads."))) as store:
            return (yield from plan_import(store, chosen.files, with_twins=chosen.copies))
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Store(Places.under(Path(folder)).store)) as store:
        return (yield from plan_import(store, chosen.files, with_twins=chosen.copies))


def _report(summary: Summary, chosen: argparse.Namespace) -> int:
    if chosen.json:
        # File names and titles may contain lone surrogates, which JSON can't.
        problems = [{"where": clean(where), "why": clean(why)} for where, why in summary.problems]
        twins = [twin._asdict() for twin in summary.twins]
        updates = [update._asdict() for update in summary.updates]
        print_json({**msgspec.structs.asdict(summary), "problems": problems, "twins": twins, "updates": updates})
    else:
        for line in _lines(summary, is_plan=chosen.plan):
            print_line(line)
    for problem in summary.problems:
        print_error(f"{problem.where}: {problem.why}.")
    if summary.num_more_problems:
        print_error(f"… and {summary.num_more_problems:,} more that can't be imported.")
    return 1 if summary.problems else 0


def _progress_line(progress: Progress) -> str:
    share = f"{progress.done_bytes / progress.total_bytes:.0%}, " if progress.total_bytes else ""
    return f"{share}{progress.num_conversations:,} conversations, {progress.num_messages:,} messages"


def _lines(summary: Summary, *, is_plan: bool) -> Iterator[str]:
    content = f"{_counted(summary.num_conversations, 'conversation')} with {_counted(summary.num_messages, 'message')}"
    programs = ", ".join(f"{program}: {number:,}" for program, number in sorted(summary.programs.items()))
    branches = f" in {_counted(summary.num_branches, 'branch', 'branches')}" if summary.num_branches else ""
    done = "would be" if is_plan else "was" if summary.num_conversations == 1 else "were"
    yield f"{content}{branches} {done} imported{f' ({programs})' if programs else ''}."
    if summary.updates:
        num_messages = sum(update.num_messages for update in summary.updates)
        gained = "would gain" if is_plan else "gained"
        conversations = _counted(len(summary.updates), "conversation")
        yield f"{conversations} here {gained} what is new in the file ({_counted(num_messages, 'message')})."
    if summary.twins:
        is_here, is_left_out = ("is", "was") if len(summary.twins) == 1 else ("are", "were")
        if is_plan:
            is_left_out = "would be"
        count = _counted(len(summary.twins), "conversation")
        yield f"{count} {is_here} here already and {is_left_out} left out; --copies imports copies:"
        yield from (f"  {twin.name}" for twin in summary.twins[:_MAX_TWINS])
        if len(summary.twins) > _MAX_TWINS:
            yield f"  … and {len(summary.twins) - _MAX_TWINS:,} more; --json lists all."
    for remark, number in sorted(summary.remarks.items()):
        yield f"{number:,} {remark}."


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
