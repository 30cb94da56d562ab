"""The command line of the worker without the app (`python -m worker`, `bough-worker`): `--stdio` and `chat`."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
from pathlib import Path

import platformdirs

from worker.printable import print_printable_text
from worker.surroundings import has_folder, program_version, restore_library_path
from worker.trial import serve_if_asked


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="bough-worker", description="Bough's worker without its window.")
    made.add_argument("--version", action="store_true", help="print the version")
    made.add_argument("--stdio", action="store_true", help="read commands and write events, a JSON object a line")
    made.add_argument(
        "--cache-folder",
        type=Path,
        default=platformdirs.user_cache_path("bough", appauthor=False) / "prompt-cache",
        help="where --stdio keeps the prompt cache on disk (default: %(default)s)",
    )
    made.add_argument(
        "--hooks-folder",
        type=Path,
        default=platformdirs.user_config_path("bough", appauthor=False) / "hooks",
        help="the folder of your own hooks, each a Python file (default: %(default)s)",
    )
    made.add_argument(
        "--hook-patience-s",
        type=float,
        default=5.0,
        help="the worker exits if a hook takes longer than this many seconds (default: %(default)s)",
    )
    commands = made.add_subparsers(dest="command")
    chat = commands.add_parser("chat", help="a small chat in the terminal")
    chat.add_argument(
        "--model", default="guide", help='a model\'s folder or name, or "starter" (default: the built-in guide)'
    )
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    multiprocessing.freeze_support()
    restore_library_path()
    serve_if_asked()
    print_printable_text()
    if not has_folder():
        print("bough: the folder in which you started this is gone. Start it in another one.", file=sys.stderr)  # noqa: T201
        return 2
    made = parser()
    chosen = made.parse_args(arguments)
    if chosen.version:
        print(f"bough-worker {program_version()}")  # noqa: T201
        return 0
    logging.basicConfig(format="worker: %(levelname)s %(name)s: %(message)s")
    if chosen.stdio:
        from worker import stdio
        from worker.logs import logging_to

        try:
            with logging_to(None, "worker"):
                return stdio.serve(chosen.cache_folder, chosen.hooks_folder, chosen.hook_patience_s)
        except KeyboardInterrupt:  # before the server runs
            return 130
    if chosen.command == "chat":
        from worker.chat import chat as run_chat

        return run_chat(chosen.model)
    made.print_help(sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
