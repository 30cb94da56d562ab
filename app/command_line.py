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
    commands = made.add_subparsers(dest="command")
    tour = commands.add_parser("tour", help="let Bough play its main steps by itself, and write pictures")
    tour.add_argument("--out", type=Path, required=True, help="the folder for pictures, transcript and tour.json")
    tour.add_argument("--theme", choices=("light", "dark"), default="light")
    # The option is also allowed after the command.
    data_dir = argparse.ArgumentParser(add_help=False)
    data_dir.add_argument("--data-dir", type=Path, default=argparse.SUPPRESS, help="the folder of the conversations")
    take = commands.add_parser("import", parents=[data_dir], help="import conversations from files")
    take.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a file, a folder or an archive (.zip)")
    take.add_argument("--plan", action="store_true", help="only say what would be imported")
    take.add_argument("--json", action="store_true", help="say it as JSON")
    give = commands.add_parser("export", parents=[data_dir], help="write conversations to files")
    which = give.add_mutually_exclusive_group(required=True)
    which.add_argument("--all", action="store_true", help="every conversation")
    which.add_argument("--conversation", action="append", metavar="NAME", help="one of this name (or with this id)")
    give.add_argument("--format", required=True, choices=FORMATS)
    give.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder for the files")
    give.add_argument("--branch", action="store_true", help="only the branch that is shown, not the whole tree")
    give.add_argument("--no-reasoning", action="store_true", help="leave out what models thought")
    give.add_argument("--no-system-prompts", action="store_true", help="leave out system prompts")
    give.add_argument("--statistics", action="store_true", help="say how answers were drawn and what they cost")
    give.add_argument("--colours", choices=("light", "dark", "both"), default="both", help="of HTML")
    find = commands.add_parser("search", parents=[data_dir], help="find messages by their words")
    find.add_argument(
        "words",
        nargs="+",
        metavar="WORD",
        help='words, the last of which may go on; "a phrase"; begin*; from:you, from:answer, from:system, model:NAME, '
        "is:starred, is:pinned, after:2026-01-31, before:2026-03-01",
    )
    find.add_argument("--json", action="store_true", help="answer as JSON")
    show = commands.add_parser("list", parents=[data_dir], help="list the conversations, the last used first")
    show.add_argument("--json", action="store_true", help="answer as JSON")
    again = commands.add_parser("replay", parents=[data_dir], help="run answers again, and say whether they match")
    again.add_argument("conversations", nargs="*", metavar="NAME", help="the answers that this conversation shows")
    again.add_argument("--message", action="append", type=int, default=[], metavar="ID", help="one answer")
    again.add_argument("--model", help="the model that is to draw, if not the one that wrote")
    again.add_argument("--json", action="store_true", help="answer as JSON")
    return made
