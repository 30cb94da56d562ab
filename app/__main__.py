"""The command `bough` (or `python -m app`): opens the window, plays the tour, or runs a shell command.

A spawned worker process imports this file, too, so large imports are inside functions.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from PySide6.QtWidgets import QApplication

    from app.care.crash_reports import CrashReports
    from app.care.log_file import LogFile
    from app.notices import Notice
    from app.places import Places


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    # In a bundle the worker and its trial process run this program; without these calls they would open a window.
    multiprocessing.freeze_support()
    from worker.surroundings import is_bundle, open_missing_streams, program_version, restore_library_path

    restore_library_path()
    if is_bundle():
        from worker.trial import serve_if_asked

        serve_if_asked()
    from app.command_line import parse
    from worker.printable import print_printable_text

    open_missing_streams()
    print_printable_text()
    chosen = parse(sys.argv[1:] if arguments is None else arguments)
    if chosen.version:
        print(f"bough {program_version()}")  # noqa: T201
        return 0
    try:
        return _run(chosen)
    except ImportError as error:
        # Linux reports a missing library of a Qt module with these words.
        if "cannot open shared object file" not in str(error):
            raise
        print(  # noqa: T201
            f"bough: a system library that Qt needs is missing ({error}). Install it, then start Bough again; "
            "packaging/system_libraries.sh in Bough's source names all of them.",
            file=sys.stderr,
        )
        return 1


def _run(chosen: argparse.Namespace) -> int:
    from app.command_line import SHELL_COMMANDS

    if chosen.safe_mode and chosen.command not in {None, "open"}:
        print(f"bough: --safe-mode is for the window; leave it out with `bough {chosen.command}`.", file=sys.stderr)  # noqa: T201
        return 2
    if chosen.command in SHELL_COMMANDS:
        from app.shell.run import run

        return run(chosen, _places(chosen.data_dir, is_written=chosen.command != "doctor"))
    from app.display import has_display, named_displays

    if chosen.command == "tour":
        if not has_display():
            os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        from app.qt_runtime import restore_import

        restore_import()
        from app.catalog.starter import find_starter
        from app.tour.play import play_tour

        return play_tour(chosen.out, chosen.theme, starter=find_starter(_places(chosen.data_dir).models))
    if not has_display():
        dead = named_displays()
        print(  # noqa: T201
            "Bough needs a display to open its window, and "
            f"{f'nothing answers at {dead}' if dead else 'there is none here'}. "
            "`bough tour --out DIR` runs without one; `bough-worker chat` is a chat in the terminal.",
            file=sys.stderr,
        )
        return 1
    files = [file.absolute() for file in chosen.files] if chosen.command == "open" else []
    return open_window(chosen.data_dir, files, is_safe=chosen.safe_mode)


def _places(data_dir: Path | None, *, is_written: bool = True) -> Places:
    """Return the user's folders, or those below `data_dir`.

    A bundle's first start puts the starter there, unless they must not be written.
    """
    from app.places import Places
    from worker.surroundings import is_bundle

    places = Places.of_user() if data_dir is None else Places.under(data_dir)
    if is_bundle() and is_written:
        from app.catalog.starter import bring_starter

        try:
            bring_starter(places.models)
        except OSError as error:
            print(  # noqa: T201
                f"bough: SmolLM2, the small model that comes with Bough, can't be copied to {places.models} "
                f"({error.strerror or error}). Bough works without it and tries again at the next start.",
                file=sys.stderr,
            )
    return places


def open_window(data_dir: Path | None, files: Sequence[Path] = (), *, is_safe: bool = False) -> int:
    """Run the window, which opens `files`; return the exit code. After a backup is restored, the window opens again."""
    from app.qt_runtime import restore_import

    restore_import()
    from app.application import make_qt_application
    from app.care.crash_reports import CrashReports

    # Ctrl+C in the terminal ends the program. Python could not handle the signal during Qt's event loop.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    qt_application = make_qt_application(sys.argv[:1])
    qt_application.open_files(files)
    places = _places(data_dir)
    reports = CrashReports(places.reports)
    reports.begin()
    try:
        return _run_windows(qt_application, places, reports, is_safe=is_safe)
    except Exception as error:
        reports.note(error)
        raise
    finally:
        reports.end()


def _run_windows(qt_application: QApplication, places: Places, reports: CrashReports, *, is_safe: bool) -> int:
    """Run the windows, again after a backup is restored. Return the exit code."""
    from app.application import Application
    from app.model.database import StoreError
    from app.sentences import translated

    notice = None
    log: LogFile | None = None

    def begin_log() -> None:
        # Its imports take time, so they come after the first paint.
        nonlocal log
        from app.care.log_file import LogFile

        reports.add_facts()
        log = log or LogFile(places.logs, "bough.log")

    while True:
        try:
            application = Application(places, is_safe=is_safe, begin_log=begin_log)
        except StoreError as error:
            print(f"bough: {error}", file=sys.stderr)  # noqa: T201
            from PySide6.QtWidgets import QMessageBox

            QMessageBox.critical(None, "Bough", translated(error.sentence))
            return 1
        if notice is not None:
            application.program.notices.post(notice)
        application.windows.show()
        code = qt_application.exec()
        application.close()
        if application.backup_to_restore is not None:
            notice = _put_back(places.store, application.backup_to_restore)
        elif application.starts_again:
            notice = None
        else:
            if log is not None:
                log.close()
            return code


def _put_back(store: Path, backup: Path) -> Notice:
    """Replace the store, which must be closed, by a backup. Return a notice that says whether that worked."""
    from app.care.moving import forget, is_moved
    from app.model.database import StoreError
    from app.model.restoring import restore
    from app.notices import Notice
    from worker.sentence import Sentence

    try:
        kept = restore(store, backup)
    except StoreError as error:
        return Notice(error.sentence, "danger")
    finally:
        forget(backup)
    if is_moved(backup):
        return Notice(Sentence("The conversations of the other computer are here now."))
    return Notice(
        Sentence(
            "The backup {backup} is restored. The previous conversations are kept in {file}.",
            backup=backup.name,
            file=kept,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
