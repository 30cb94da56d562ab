"""One command of the shell, from its words to its exit code; what each does is in a module of its own.

What was asked for goes to standard output, what did not go well to standard error, a line each. 0 is returned only if
all went well.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, cast

from app.model.database import StoreError
from app.model.store import Store
from app.places import Places
from app.shell.export_command import export_conversations
from app.shell.find_commands import list_conversations, search
from app.shell.import_command import import_files, plan_import
from app.shell.terminal import FailedError, complain

if TYPE_CHECKING:
    from io import TextIOWrapper

_CANCELLED = 130


def run(chosen: argparse.Namespace, places: Places) -> int:
    """Run one of the commands; return the exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    # What a terminal has no letters for is no reason to stop; names of files go out as they came in.
    is_utf8 = sys.stdout.encoding.lower() == "utf-8"
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="surrogateescape" if is_utf8 else "backslashreplace")
    try:
        if chosen.command == "import" and chosen.plan:
            return plan_import(chosen, places)
        with contextlib.closing(_store(places, is_written=chosen.command == "import")) as store:
            code = _done(store, chosen, places)
            sys.stdout.flush()
            return 1 if store.why_read_only else code
    except (StoreError, FailedError) as error:
        complain(str(error))
        return 1
    except KeyboardInterrupt:
        complain("Cancelled. What was begun was taken back.")
        return _CANCELLED
    except OSError as error:
        # Whoever reads may have seen enough.
        if not isinstance(error, BrokenPipeError):
            complain(f"{error.filename or 'The answer'} could not be written ({error.strerror or error}).")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _done(store: Store, chosen: argparse.Namespace, places: Places) -> int:
    match chosen.command:
        case "import":
            return import_files(store, chosen)
        case "export":
            return export_conversations(store, chosen)
        case "search":
            return search(store, chosen.words, as_json=chosen.json)
        case "replay":
            # What talks to a worker is imported by those alone who need one.
            from app.shell.replay_command import replay

            return replay(store, chosen, places)
        case _:
            return list_conversations(store, as_json=chosen.json)


def _store(places: Places, *, is_written: bool) -> Store:
    """Open the conversations; what can't be written can still be read, and why is told."""
    if not is_written and not places.store.exists():
        raise FailedError(f"There are no conversations in {places.data}. Name another folder with --data-dir.")
    try:
        return Store(places.store)
    except StoreError as error:
        if is_written:
            raise
        store = Store(places.store, read_only_because=str(error))
        complain(store.why_read_only)
        return store


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
