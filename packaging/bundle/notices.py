"""Collects the licences of everything in a bundle from what is installed. Runs in the build's environment.

notices.py INPUTS writes the licences and the metadata of Python and of all packages; notices.py --system LIBRARIES FILE
adds those of the system's libraries to the file. LIBRARIES is a JSON list of their paths.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_TEXTS = re.compile(r"(^|/)(licen[sc]e|copying|notice|authors)[^/]*$", re.IGNORECASE)
_RULE = "=" * 100
_HEAD = """
This file lists all programs and libraries in Bough's bundle, and has their licences, in this order.

Bough uses Qt, PySide6 and Shiboken under the GNU Lesser General Public License, version 3. They are separate files, in
the folders PySide6 and shiboken6, and you may replace them by other versions with the same interface: docs/bundle.md in
Bough's source says how. You may change these libraries for your own use, and examine the program to find errors in such
changes. Their source is at https://download.qt.io/official_releases/QtForPython/ and
https://download.qt.io/official_releases/qt/.
"""


def main() -> int:
    if sys.argv[1] == "--system":
        libraries, file = map(Path, sys.argv[2:])
        with file.open("a", encoding="utf-8") as notices:
            notices.write("\n".join(_system_notices(json.loads(libraries.read_text(encoding="utf-8")))) + "\n")
        return 0
    inputs = Path(sys.argv[1])
    found = distributions("bough")
    for each in found:
        _keep_metadata(each, inputs)
    resources = inputs / "resources"
    resources.mkdir(parents=True, exist_ok=True)
    (resources / "licences.txt").write_text("\n".join(_notices(found)) + "\n", encoding="utf-8")
    return 0


def distributions(name: str) -> list[Distribution]:
    """Return an installed package and all packages that it needs here, by name."""
    found: dict[str, Distribution] = {}
    wanted, seen = [(name, tuple[str, ...]())], set[tuple[str, tuple[str, ...]]]()
    while wanted:
        name, asked = wanted.pop()
        if (name, asked) in seen:
            continue
        seen.add((name, asked))
        try:
            each = found.setdefault(canonicalize_name(name), distribution(name))
        except PackageNotFoundError:
            continue  # an optional one
        for text in each.requires or []:
            needs = Requirement(text)
            if needs.marker is None or any(needs.marker.evaluate({"extra": extra}) for extra in ("", *asked)):
                wanted.append((needs.name, tuple(sorted(needs.extras))))
    return [found[key] for key in sorted(found)]


def _keep_metadata(package: Distribution, inputs: Path) -> None:
    """Keep what programs ask for: the metadata, entry points, and which modules belong to the package."""
    folder = inputs / f"{package.name.replace('-', '_').lower()}-{package.version}.dist-info"
    folder.mkdir()
    # Without the long description.
    head = (package.read_text("METADATA") or "").partition("\n\n")[0]
    (folder / "METADATA").write_text(head + "\n", encoding="utf-8")
    if (entries := package.read_text("entry_points.txt")) is not None:
        (folder / "entry_points.txt").write_text(entries, encoding="utf-8")
    modules = {file.parts[0].partition(".")[0] for file in package.files or [] if _is_of_module(file.parts[0])}
    (folder / "top_level.txt").write_text("".join(f"{module}\n" for module in sorted(modules)), encoding="utf-8")


def _is_of_module(part: str) -> bool:
    return not part.endswith((".dist-info", ".libs", ".data", ".pth")) and part not in {"..", "__pycache__"}


def _notices(packages: Sequence[Distribution]) -> Iterator[str]:
    """Yield the lines of the file with all licences."""
    yield from _HEAD.strip().splitlines()
    yield ""
    python = f"Python {sys.version.split()[0]}"
    yield f"{python}: PSF-2.0"
    for package in packages:
        yield f"{package.name} {package.version}: {licence_of(package)}"
    yield "SmolLM2-135M-Instruct, a language model by Hugging Face: Apache-2.0"
    yield from ("", _RULE, python, _RULE, "")
    yield (Path(sysconfig.get_path("stdlib")) / "LICENSE.txt").read_text("utf-8", "replace").strip()
    bootloader = distribution("pyinstaller")
    yield from ("", _RULE, f"The start of the program comes from PyInstaller {bootloader.version}", _RULE)
    yield from _texts(bootloader)
    for package in packages:
        yield from ("", _RULE, f"{package.name} {package.version}", f"Licence: {licence_of(package)}")
        if page := _stated(package, "Home-page") or _stated(package, "Project-URL"):
            yield f"Source: {page.rpartition(', ')[2]}"
        yield _RULE
        yield from _texts(package)
    for name in ("LGPL-3.0", "GPL-3.0"):
        yield from ("", _RULE, f"Qt, PySide6 and Shiboken: {name}", _RULE, "")
        yield (Path(__file__).parent / "licences" / f"{name}.txt").read_text(encoding="utf-8").strip()


def _texts(package: Distribution) -> Iterator[str]:
    for file in sorted(package.files or [], key=str):
        if ".dist-info/" in str(file) and _TEXTS.search(str(file)):
            yield from ("", Path(str(file.locate())).read_text("utf-8", "replace").strip())


def _system_notices(libraries: Sequence[str]) -> Iterator[str]:
    """Yield the lines about the libraries of a Debian system. `libraries`: the paths of all of the bundle."""
    owners = sorted({owner for path in libraries if (owner := _owner(path))})
    named = set[str]()
    for owner in owners:
        state = subprocess.run(["dpkg-query", "-W", owner], capture_output=True, text=True, check=True).stdout.split()
        name = owner.partition(":")[0]
        text = (Path("/usr/share/doc") / name / "copyright").read_text("utf-8", "replace").strip()
        yield from ("", _RULE, f"{name} {state[1]}, a library of Debian", _RULE, "", text)
        named.update(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text))
    for name in sorted(named):
        file = Path("/usr/share/common-licenses") / name
        if file.is_file():
            yield from ("", _RULE, f"{name}, which the notices above name", _RULE, "")
            yield file.read_text("utf-8", "replace").strip()


def _owner(path: str) -> str:
    """Return the Debian package that has installed a file; empty if none has, as for files of an environment."""
    if Path(path).is_relative_to(sys.prefix) or Path(path).is_relative_to(sys.base_prefix):
        return ""
    found = Path(path).resolve()
    # The package may have installed it under the other one of these names.
    for name in (str(found), str(found).removeprefix("/usr"), f"/usr{found}"):
        done = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.partition(": ")[0].partition(",")[0]
    return ""


def licence_of(package: Distribution) -> str:
    """Return the licence that a package's metadata state, in one line."""
    stated = _stated(package, "License-Expression") or _stated(package, "License")
    if stated and "\n" not in stated:
        return stated
    classes = [line for line in package.metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    return ", ".join(line.rpartition(" :: ")[2] for line in classes) or stated.strip().partition("\n")[0] or "see below"


def _stated(package: Distribution, field: str) -> str:
    """Return the first value of a field of the metadata; empty if there is none."""
    return next(iter(package.metadata.get_all(field) or []), "")


if __name__ == "__main__":
    sys.exit(main())
