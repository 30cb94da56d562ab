"""The parser for the command line of `bough`. Imports only small modules."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.model.exports.files import FORMATS

SHELL_COMMANDS = frozenset({"import", "export", "search", "list", "replay", "models", "serve", "doctor", "move"})
"""The commands that work without a window."""
_COMMANDS = SHELL_COMMANDS | {"open", "tour"}


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the command line. Files without a command are to be opened: `bough FILE…`."""
    made = parser()
    # The first argument that belongs to no option.
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] == "--data-dir" else 1
    if at < len(arguments) and arguments[at] not in _COMMANDS:
        named = Path(arguments[at])
        if named.suffix or len(named.parts) > 1 or named.exists():
            arguments = [*arguments[:at], "open", *arguments[at:]]
    return made.parse_args(arguments)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="bough", description="A chat program in which a conversation is a tree.")
    made.add_argument("--version", action="store_true", help="print the version")
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
    show_files = commands.add_parser("open", parents=[data_dir], help="open files in the window, as `bough FILE…`")
    show_files.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="conversations to import, models, or files to attach"
    )
    take = commands.add_parser("import", parents=[data_dir], help="import conversations from files")
    take.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a file, a folder or an archive (.zip)")
    take.add_argument("--plan", action="store_true", help="only report what would be imported")
    take.add_argument("--copies", action="store_true", help="also import what is in Bough already, as copies")
    take.add_argument("--json", action="store_true", help="print the report as JSON")
    give = commands.add_parser("export", parents=[data_dir], help="write conversations to files")
    which = give.add_mutually_exclusive_group(required=True)
    which.add_argument("--all", action="store_true", help="every conversation")
    which.add_argument("--conversation", action="append", metavar="NAME", help="a name or id; repeatable")
    give.add_argument("--format", required=True, type=_format, choices=FORMATS)
    give.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder for the files")
    give.add_argument(
        "--lines",
        choices=("chat", "completion", "preference"),
        default="chat",
        help="the lines of a folder for training (mlx-lm, trl, axolotl): branches, branches whose last answer is "
        "separate, or pairs of answers",
    )
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
    again.add_argument(
        "--model", help='a name or folder, or "starter": the model to use instead of the one that wrote the answers'
    )
    again.add_argument("--json", action="store_true", help="print JSON")
    models = commands.add_parser("models", parents=[data_dir], help="list, search, fetch, import and remove models")
    _add_models_commands(models, data_dir)
    move = commands.add_parser("move", parents=[data_dir], help="take everything to another computer in one file")
    _add_move_commands(move, data_dir)
    doctor = commands.add_parser(
        "doctor", parents=[data_dir], help="check this installation and the files; changes nothing"
    )
    doctor.add_argument("--json", action="store_true", help="print JSON")
    _add_serve(commands.add_parser("serve", parents=[data_dir], help="answer other programs with a model"))
    return made


def _add_serve(serve: argparse.ArgumentParser) -> None:
    serve.description = "Answer other programs through OpenAI's and Anthropic's APIs, until Ctrl+C."
    serve.epilog = (
        "Each request brings a key: that of the variable BOUGH_API_KEY, else the one in the system's keyring, else one "
        "that is made for this start and printed. --allow-host, --allow-origin, --alias and --drop may be repeated."
    )
    serve.add_argument(
        "--model", metavar="NAME", help="a name, path, repository or title; without it, the model that the window uses"
    )
    serve.add_argument("--port", metavar="N", type=int, default=2684, help="2684 without it; 0 takes any free port")
    serve.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="127.0.0.1 without it: programs on this computer alone",
    )
    serve.add_argument("--allow-load", action="store_true", help="let requests load other models")
    serve.add_argument(
        "--keep",
        action="store_true",
        help='keep the requests as conversations, in the folder "Local API" of Bough\'s list',
    )
    serve.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name of this computer by which requests may reach it",
    )
    serve.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="let web pages of this origin send requests"
    )
    serve.add_argument(
        "--alias",
        action="append",
        default=[],
        metavar="PATTERN",
        help='answer with the loaded model where a request names a model like this, for example "claude-*"',
    )
    serve.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave what this regular expression matches out of system texts and first messages, such as a date that "
        "changes with each request, so that what follows it is not read again",
    )


def _add_move_commands(move: argparse.ArgumentParser, data_dir: argparse.ArgumentParser) -> None:
    commands = move.add_subparsers(dest="move_command", required=True, metavar="COMMAND")
    out = commands.add_parser("out", parents=[data_dir], help="write conversations, settings and hooks into a file")
    out.add_argument("file", type=Path, metavar="FILE", help="the new file")
    into = commands.add_parser("in", parents=[data_dir], help="read such a file; nothing that is here is overwritten")
    into.add_argument("file", type=Path, metavar="FILE", help="a file of `bough move out`")
    into.add_argument("--no-hooks", action="store_true", help="leave out the hooks in the file")


def _add_models_commands(models: argparse.ArgumentParser, data_dir: argparse.ArgumentParser) -> None:
    as_json = argparse.ArgumentParser(add_help=False, parents=[data_dir])
    as_json.add_argument("--json", action="store_true", help="print JSON")
    commands = models.add_subparsers(dest="models_command", required=True, metavar="COMMAND")
    commands.add_parser("list", parents=[as_json], help="list the models on this computer, also other programs'")
    search = commands.add_parser("search", parents=[as_json], help="search the hub")
    search.add_argument(
        "words", nargs="*", metavar="WORD", help="parts of a name; without any, the most downloaded ones"
    )
    fetch = commands.add_parser("fetch", parents=[as_json], help="download a model from the hub")
    fetch.add_argument("name", metavar="NAME", help="owner/name, or owner/name:file.gguf")
    fetch.add_argument("--anyway", action="store_true", help="download it even if it does not fit into memory")
    take = commands.add_parser("import", parents=[as_json], help="make a model of a GGUF file")
    take.add_argument("file", type=Path, metavar="FILE", help="a GGUF file, one part of a split one, or a folder")
    check = commands.add_parser("check", parents=[as_json], help="check a model's files, and try it")
    check.add_argument("name", metavar="NAME", help="a name, path, repository or title from the list")
    remove = commands.add_parser(
        "remove", parents=[as_json], help="remove a model from Bough's folder or the hub's cache"
    )
    remove.add_argument("name", metavar="NAME", help="a name, path, repository or title from the list")
    remove.add_argument("--yes", action="store_true", help="do not ask")


def _format(name: str) -> str:
    if name.casefold() == "odt":
        raise argparse.ArgumentTypeError(
            "Bough no longer writes OpenDocument files. Nothing was exported. Use “docx”: LibreOffice and Word open it."
        )
    return name
