"""Makes a Debian package and an archive of the folder: linux_packages.py FOLDER WORK DIST (in the build's environment).

The package adds what a desktop shows of a program: its entry, icons, the types of its files, a description for software
centres, and manual pages.
"""

# argparse has no public way to its options.
# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from contents import linked_libraries

HERE = Path(__file__).resolve().parent
STATIC = HERE / "linux"
_PNG_SIZES = (16, 32, 48, 64, 128, 256)
_WAYLAND_LIBRARIES = (("client", 0), ("cursor", 0), ("egl", 1))
_MAINTAINER = "The Bough authors <bough@localhost>"
_LIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libresolv.so.2"}
_WAYLAND = {f"libwayland-{name}.so.{number}": f"libwayland-{name}{number}" for name, number in _WAYLAND_LIBRARIES}
"""The packages of libraries that may be missing on the computer where the package is built."""
_DESCRIPTION = """chat with local models; every conversation is a tree
 Edit, regenerate, fork or continue any message: nothing is overwritten, and
 each version stays a branch of the conversation's tree. A branch that you
 return to goes on at once, because nothing is read twice.
 .
 Everything is inside: Python, Qt, MLX with a fast BLAS, and a small model."""


def main() -> int:
    folder, work, dist = map(Path, sys.argv[1:])
    epoch, program_version = int(os.environ["SOURCE_DATE_EPOCH"]), version("bough")
    root = work / "package"
    shutil.rmtree(root, ignore_errors=True)
    usr = root / "usr"
    # Hard links instead of another copy of 450 MB.
    shutil.copytree(folder, usr / "lib" / "bough", symlinks=True, copy_function=os.link)
    (usr / "bin").mkdir()
    for name in ("bough", "bough-worker"):
        (usr / "bin" / name).symlink_to(f"../lib/bough/{name}")
    add_desktop_files(usr / "share", program_version, epoch)
    doc = usr / "share" / "doc" / "bough"
    doc.mkdir(parents=True)
    licence = (HERE.parent.parent / "LICENSE").read_text(encoding="utf-8")
    (doc / "copyright").write_text(
        f"{licence}\nThe licences of all programs and libraries inside: /usr/lib/bough/licences.txt\n", encoding="utf-8"
    )
    changes = (HERE.parent.parent / "CHANGELOG.md").read_bytes()
    (doc / "changelog.gz").write_bytes(gzip.compress(changes, mtime=epoch))
    _write_control(root, debian_version(program_version))
    for path in [root, *sorted(root.rglob("*"))]:
        if not path.is_symlink() and path.is_dir():
            path.chmod(0o755)
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    package = dist / f"bough_{debian_version(program_version)}_{_architecture()}.deb"
    print(f"Making {package.name} …", flush=True)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(package)], check=True)
    _make_archive(folder, dist / f"bough-{program_version}-{_architecture()}.tar.xz", epoch)
    return 0


def debian_version(program_version: str) -> str:
    """Return a version as Debian orders versions: `1.2.3.dev4` comes before `1.2.3`."""
    public, plus, commit = program_version.partition("+")
    return re.sub(r"\.?(dev|a|b|rc)(?=\d)", r"~\1", public) + plus + commit


# --- the package ----------------------------------------------------------------------------------------------------


def _write_control(root: Path, package_version: str) -> None:
    control = root / "DEBIAN"
    control.mkdir()
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    kibibytes = sum(-(-path.stat().st_size // 1024) for path in files)
    depends, recommends = _needed_packages(root / "usr" / "lib" / "bough")
    fields = {
        "Package": "bough",
        "Version": package_version,
        "Architecture": _architecture(),
        "Maintainer": _MAINTAINER,
        "Installed-Size": str(kibibytes),
        "Depends": depends,
        "Recommends": ", ".join(filter(None, (recommends, "xdg-desktop-portal", "xdg-utils"))),
        "Section": "utils",
        "Priority": "optional",
        "Description": _DESCRIPTION,
    }
    lines = [f"{name}: {value}\n" for name, value in fields.items()]
    (control / "control").write_text("".join(lines), encoding="utf-8")


def _needed_packages(folder: Path) -> tuple[str, str]:
    """Return what the programs in a folder need of the system, and what only printing needs, as lists of packages."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink() and _is_elf(path)]
    inside = {path.name for path in folder.rglob("*.so*")}
    needs: dict[bool, set[str]] = {False: set(), True: set()}
    for path in files:
        is_printing = path.parent.name == "printsupport"
        needs[is_printing] |= {name for name in linked_libraries(str(path)) if name not in inside}
    known = _packages_by_library()
    libc = f"libc6 (>= {_newest_libc(files)})"
    found: dict[bool, set[str]] = {False: set(), True: set()}
    for is_printing, names in needs.items():
        for name in names:
            package = libc if name in _LIBC or name.startswith("ld-linux") else known.get(name, _WAYLAND.get(name))
            if package is None:
                raise SystemExit(f"No package of this system has {name}. Install it, then build again.")
            found[is_printing].add(package)
    return ", ".join(sorted(found[False])), ", ".join(sorted(found[True] - found[False]))


def _packages_by_library() -> dict[str, str]:
    """Return the dependency of each library of this system, by the library's name, as its package states it."""
    found: dict[str, str] = {}
    for file in sorted(Path("/var/lib/dpkg/info").glob("*.shlibs")):
        for line in file.read_text(encoding="utf-8").splitlines():
            words = line.split(maxsplit=2)
            if len(words) == 3 and not words[0].endswith(":"):
                name, number, dependency = words
                found[f"{name}.so.{number}"] = found[f"{name}-{number}.so"] = dependency
    return found


def _newest_libc(files: Sequence[Path]) -> str:
    """Return the version of the C library that these binaries need."""
    command = ["objdump", "-T", *map(str, files)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return max(set(re.findall(r"\(?GLIBC_([\d.]+)\)?", told)), key=lambda text: [int(part) for part in text.split(".")])


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _architecture() -> str:
    return subprocess.run(
        ["dpkg", "--print-architecture"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


# --- the archive ----------------------------------------------------------------------------------------------------


def _make_archive(folder: Path, archive: Path, epoch: int) -> None:
    print(f"Making {archive.name} …", flush=True)
    command = ["tar", "--sort=name", f"--mtime=@{epoch}", "--owner=0", "--group=0", "--numeric-owner"]
    command += ["--format=gnu", f"--use-compress-program=xz -6 -T{os.cpu_count() or 1}", "-C", str(folder.parent)]
    subprocess.run([*command, "-cf", str(archive), folder.name], check=True)


# --- what a desktop shows -------------------------------------------------------------------------------------------


def add_desktop_files(share: Path, program_version: str, epoch: int) -> None:
    """Write the desktop entry, icons, types of files, description and manual pages into a folder like /usr/share."""
    for place, name in (("applications", "bough.desktop"), ("mime/packages", "bough.xml")):
        (share / place).mkdir(parents=True)
        shutil.copyfile(STATIC / name, share / place / name)
    (share / "metainfo").mkdir()
    (share / "metainfo" / "bough.metainfo.xml").write_text(description(program_version, epoch), encoding="utf-8")
    icons = share / "icons" / "hicolor"
    program_icon = HERE.parent.parent / "resources" / "icons" / "bough.svg"
    _add_icon(program_icon, icons, "apps")
    for icon in sorted(STATIC.glob("*.svg")):
        _add_icon(icon, icons, "mimetypes")
    pages = share / "man" / "man1"
    pages.mkdir(parents=True)
    for name, text in manual_pages(program_version, epoch).items():
        (pages / f"{name}.1.gz").write_bytes(gzip.compress(text.encode(), mtime=epoch))


def description(program_version: str, epoch: int) -> str:
    """Return the description for software centres, with the version and its day."""
    text = (STATIC / "bough.metainfo.xml").read_text(encoding="utf-8")
    return text.replace("@VERSION@", program_version).replace("@DATE@", _day(epoch))


def _add_icon(icon: Path, icons: Path, kind: str) -> None:
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    (icons / "scalable" / kind).mkdir(parents=True, exist_ok=True)
    shutil.copyfile(icon, icons / "scalable" / kind / icon.name)
    renderer = QSvgRenderer(str(icon))
    for size in _PNG_SIZES:
        picture = QImage(size, size, QImage.Format.Format_ARGB32)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        renderer.render(painter)
        painter.end()
        place = icons / f"{size}x{size}" / kind
        place.mkdir(parents=True, exist_ok=True)
        picture.save(str(place / f"{icon.stem}.png"))


def manual_pages(program_version: str, epoch: int) -> dict[str, str]:
    """Return the manual pages of all commands, by name, in the language of `man`."""
    from app.command_line import parser
    from worker.__main__ import parser as worker_parser

    made = {}
    for each, other in ((parser(), "bough-worker"), (worker_parser(), "bough")):
        lines = [
            f'.TH {each.prog.upper()} 1 "{_day(epoch)}" "Bough {program_version}" "User Commands"',
            # Long names of choices can't be set in justified lines.
            ".ad l",
            ".SH NAME",
            f"{_plain(each.prog)} \\- {_plain((each.description or '').rstrip('.'))}",
            ".SH SYNOPSIS",
            f".B {_plain(each.prog)}",
            _plain(_usage(each)),
            ".SH OPTIONS",
            *_options(each),
            *_commands(each, ".SH COMMANDS"),
            ".SH FILES",
            *(".TP", ".I ~/.local/share/bough", "Conversations and models."),
            *(".TP", ".I ~/.config/bough", "Settings, and hooks in the folder hooks."),
            *(".TP", ".I ~/.cache/bough", "What can be computed again."),
            ".SH SEE ALSO",
            f".BR {_plain(other)} (1)",
        ]
        made[each.prog] = "\n".join(lines) + "\n"
    return made


def _commands(parser: argparse.ArgumentParser, heading: str) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            if heading:
                yield heading
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield f".SS {_plain(command.prog)} {_plain(_usage(command))}"
                text = helps.get(name, "")
                yield _plain(f"{text[:1].upper()}{text[1:]}.")
                yield from _options(command)
                if command.epilog:
                    yield ".PP"
                    yield _plain(command.epilog)
                yield from _commands(command, "")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            continue
        value = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
        if action.choices and action.metavar is None:
            value = "|".join(map(str, action.choices))
        names = ", ".join(f"\\fB{_plain(name)}\\fR" for name in action.option_strings)
        yield ".TP"
        yield f"{names} \\fI{_plain(value)}\\fR".strip() if value else names
        # The names of folders in the home of who builds this are no help to anybody.
        text = action.help or ""
        if isinstance(action.default, Path):
            text = text.replace(" (default: %(default)s)", "")
        yield _plain(text % {"default": action.default, "prog": parser.prog})


def _usage(parser: argparse.ArgumentParser) -> str:
    words = " ".join(parser.format_usage().split()).removeprefix("usage: ").removeprefix(parser.prog).strip()
    return words.removeprefix("[-h]").strip()


def _plain(text: str) -> str:
    """Return a text that `man` shows as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped)


def _day(epoch: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(epoch))


if __name__ == "__main__":
    sys.exit(main())
