"""Runs a shell command and returns its exit code.

Results go to standard output; each problem is a line on standard error. The exit code is 0 only if there was none.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, cast

from app.model.backups import Backups
from app.model.database import LostError, StoreError
from app.model.store import Store
from app.places import Places
from app.shell.export_command import export_conversations
from app.shell.find_commands import list_conversations, search
from app.shell.import_command import run_import, run_plan
from app.shell.terminal import FailedError, print_error
from worker.sentence import Sentence, verbatim

if TYPE_CHECKING:
    from io import TextIOWrapper

_CANCELLED = 130


def run(chosen: argparse.Namespace, places: Places) -> int:
    """Run one of the commands; return the exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    # A character that the terminal's encoding lacks must not stop the command.
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    try:
        if chosen.command == "doctor":
            # Only this command starts Qt and MLX.
            from app.shell.doctor_command import doctor

            return doctor(chosen, places)
        if chosen.command == "move":
            # Imported here, because it is rarely needed.
            from app.shell.move_command import move

            return move(chosen, places)
        if chosen.command == "models":
            # Only this command needs the hub.
            from app.shell.models_command import run_models

            return run_models(chosen, places)
        if chosen.command == "serve":
            # Only this command needs a server.
            from app.shell.serve_command import serve

            return serve(chosen, places)
        _check_store(places)
        if chosen.command == "import" and chosen.plan:
            return run_plan(chosen, places)
        with contextlib.closing(_store(places, is_written=chosen.command == "import")) as store:
            code = _run_with_store(store, chosen, places)
            sys.stdout.flush()
            return 1 if store.why_read_only else code
    except StoreError as error:
        print_error(_sentence_of(error))
        return 1
    except FailedError as error:
        print_error(str(error))
        return 1
    except KeyboardInterrupt:
        print_error("Cancelled. All changes were undone.")
        return _CANCELLED
    except OSError as error:
        # A reader like `head` may close the pipe early.
        if not isinstance(error, BrokenPipeError):
            print_error(f"{error.filename or 'The output'} could not be written ({error.strerror or error}).")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run_with_store(store: Store, chosen: argparse.Namespace, places: Places) -> int:
    match chosen.command:
        case "import":
            return run_import(store, chosen)
        case "export":
            return export_conversations(store, chosen, places)
        case "search":
            return search(store, chosen.words, as_json=chosen.json)
        case "replay":
            # Only this command needs the worker's client.
            from app.shell.replay_command import replay

            return replay(store, chosen, places)
        case _:
            return list_conversations(store, as_json=chosen.json)


def _check_store(places: Places) -> None:
    """Raise `FailedError` if reading the store would never end."""
    if places.store.exists() and not places.store.is_file():
        raise FailedError(f"{places.store} is not a file. Name another folder with --data-dir.")


def _store(places: Places, *, is_written: bool) -> Store:
    """Open the store. If it can't be written, open it read-only and print why."""
    if not is_written and not places.store.exists() and not Backups(places.store).files():
        raise FailedError(f"There are no conversations in {places.data}. Name another folder with --data-dir.")
    try:
        return Store(places.store)
    except StoreError as error:
        if is_written:
            raise
        store = Store(places.store, read_only_because=_sentence_of(error))
        print_error(store.why_read_only or str(error))
        return store


def _sentence_of(error: StoreError) -> Sentence:
    """Return the sentence of an error for a terminal, where it can't refer to menus."""
    if not isinstance(error, LostError):
        return error.sentence
    # A command notices a loss only by the backups.
    return verbatim(
        f"The conversations are gone from {error.path}, although you did not delete them. Nothing was changed. "
        "To restore a backup, run `bough` without a command and choose Backups in the menu File."
    )


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
