"""The command line of `bough`: its parser. Imports nothing large."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.model.exports.files import FORMATS

SHELL_COMMANDS = frozenset({"import", "export", "search", "list", "replay"})
"""The commands that work without a window."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="bough", description="A chat program in which a conversation is a tree.")
    made.add_argument("--data-dir", type=Path, help="keep conversations and settings in this folder")
    made.add_argument(
        "--safe-mode",
        action="store_true",
        help="open the window with default settings, without your hooks, drafts, window places and cache on disk",
    )
    commands = made.add_subparsers(dest="command")
    tour = commands.add_parser("tour", help="play through Bough's main features and save pictures")
    tour.add_argument("--out", type=Path, required=True, help="the folder for pictures, transcript and tour.json")
    tour.add_argument("--theme", choices=("light", "dark"), default="light")
    # The option is also allowed after the command.
    data_dir = argparse.ArgumentParser(add_help=False)
    data_dir.add_argument("--data-dir", type=Path, default=argparse.SUPPRESS, help="the folder of the conversations")
    take = commands.add_parser("import", parents=[data_dir], help="import conversations from files")
    take.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a file, a folder or an archive (.zip)")
    take.add_argument("--plan", action="store_true", help="only report what would be imported")
    take.add_argument("--json", action="store_true", help="print the report as JSON")
    give = commands.add_parser("export", parents=[data_dir], help="write conversations to files")
    which = give.add_mutually_exclusive_group(required=True)
    which.add_argument("--all", action="store_true", help="every conversation")
    which.add_argument("--conversation", action="append", metavar="NAME", help="a name or id; repeatable")
    give.add_argument("--format", required=True, choices=FORMATS)
    give.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder for the files")
    give.add_argument("--branch", action="store_true", help="only the visible branch, not the whole tree")
    give.add_argument("--no-reasoning", action="store_true", help="leave out the models' reasoning")
    give.add_argument("--no-system-prompts", action="store_true", help="leave out system prompts")
    give.add_argument("--statistics", action="store_true", help="add each answer's settings, token counts and times")
    give.add_argument("--colours", choices=("light", "dark", "both"), default="both", help="the colours of HTML")
    find = commands.add_parser("search", parents=[data_dir], help="find messages by their words")
    find.add_argument(
        "words",
        nargs="+",
        metavar="WORD",
        help='words, of which the last may be incomplete; "a phrase"; begin*; from:you, from:answer, from:system, '
        "model:NAME, is:starred, is:pinned, after:2026-01-31, before:2026-03-01",
    )
    find.add_argument("--json", action="store_true", help="print JSON")
    show = commands.add_parser("list", parents=[data_dir], help="list the conversations, the last used first")
    show.add_argument("--json", action="store_true", help="print JSON")
    again = commands.add_parser("replay", parents=[data_dir], help="run answers again and report whether they match")
    again.add_argument("conversations", nargs="*", metavar="NAME", help="a conversation with its visible answers")
    again.add_argument("--message", action="append", type=int, default=[], metavar="ID", help="one answer")
    again.add_argument("--model", help="the model to use instead of the one that wrote the answers")
    again.add_argument("--json", action="store_true", help="print JSON")
    return made
