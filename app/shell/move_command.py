"""`bough move out FILE` and `bough move in FILE`: everything as one file for another computer."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from msgspec import structs

from app.care.moving import Moved, Step, forget, move_out, settle, unpacked
from app.model.imports.importing import Progress, Summary
from app.model.presence import Presence
from app.model.settings import read_settings, save_settings
from app.model.settings_file import add_hooks, keep_present, merged
from app.places import Places
from app.shell.terminal import FailedError, print_error, print_line, run_to_end
from worker.sentence import SentenceError


def move(chosen: argparse.Namespace, places: Places) -> int:
    """Write or read the file; return the exit code."""
    try:
        if chosen.move_command == "out":
            return _out(chosen.file, places)
        return _in(chosen.file, places, with_hooks=not chosen.no_hooks)
    except SentenceError as error:
        raise FailedError(str(error)) from error
    except OSError as error:
        reason = error.strerror or error
        raise FailedError(f"{error.filename or chosen.file} can't be used ({reason}). Nothing was changed.") from error


def _out(path: Path, places: Places) -> int:
    settings, _, why = read_settings(places.config / "settings.json")
    if why:
        raise FailedError(
            f"The settings can't be read ({why}). No file was written. Run `bough doctor` to find out more."
        )
    run_to_end(move_out(path, places.store, settings, places.config / "hooks"), _percent)
    print_line(f"All data except models and keys is in {path}. On the other computer, run: bough move in {path.name}")
    return 0


def _in(path: Path, places: Places, *, with_hooks: bool) -> int:
    _refuse_open(places)
    moved = run_to_end(unpacked(path, places.data), _percent)
    try:
        if moved.store is not None:
            _report(run_to_end(settle(places.store, moved.store), _share))
    finally:
        if moved.store is not None:
            forget(moved.store)
    return _take_settings(moved, places, with_hooks=with_hooks)


def _refuse_open(places: Places) -> None:
    """Refuse while Bough is open, because its window would write its own settings again."""
    if not places.store.exists():
        return
    with contextlib.closing(Presence(places.store.with_suffix(".lock"))) as presence, presence.alone() as is_alone:
        if not is_alone:
            raise FailedError("Bough is open. Nothing was changed. Close it, then try again.")


def _take_settings(moved: Moved, places: Places, *, with_hooks: bool) -> int:
    path = places.config / "settings.json"
    now, _, _ = read_settings(path)
    kept = keep_present(now, places.config) if path.exists() else None
    hooks = moved.settings.hooks if with_hooks else {}
    left_out = add_hooks(hooks, places.config / "hooks") if hooks else []
    changes, sentences = merged(
        now, moved.settings, [*left_out, *(name for name in moved.settings.hooks if name not in hooks)]
    )
    save_settings(path, structs.replace(now, **changes))
    print_line("The settings were imported." + (f" The old ones are saved in {kept}." if kept else ""))
    if hooks:
        print_line(f"Imported hooks (they run only when you turn them on): {', '.join(sorted(hooks))}.")
    for sentence in sentences:
        print_error(sentence)
    if left_out:
        print_error(f"Hooks with these names already exist and were not changed: {', '.join(left_out)}.")
    return 1 if sentences or left_out else 0


def _report(summary: Summary | None) -> None:
    if summary is None:
        print_line("All conversations were imported, with projects, trash and unsent texts.")
        return
    num_gained = sum(update.num_messages for update in summary.updates)
    print_line(
        f"{summary.num_conversations:,} conversations were added, {len(summary.updates):,} got {num_gained:,} new "
        f"messages, and {len(summary.twins):,} were already here. The trash and unsent texts were not imported."
    )


def _percent(step: Step) -> str:
    return f"{step.done / max(step.total, 1):.0%}"


def _share(progress: Progress) -> str:
    return f"{progress.done_bytes / max(progress.total_bytes, 1):.0%}"
