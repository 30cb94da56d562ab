"""Writes the licences and the metadata of all packages in a bundle: notices.py INPUTS (in the build's environment)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_TEXTS = re.compile(r"(^|/)(licen[sc]e|copying|notice|authors)[^/]*$", re.IGNORECASE)
_RULE = "=" * 100


def main() -> int:
    inputs = Path(sys.argv[1])
    found = distributions("bough", ["cpu"] if sys.platform == "linux" else [])
    for each in found:
        _keep_metadata(each, inputs)
    resources = inputs / "resources"
    resources.mkdir(parents=True, exist_ok=True)
    (resources / "licences.txt").write_text("\n".join(_notices(found)) + "\n", encoding="utf-8")
    return 0


def distributions(name: str, extras: Sequence[str]) -> list[Distribution]:
    """Return an installed package and all packages that it needs here, by name. `extras`: its extras."""
    found: dict[str, Distribution] = {}
    wanted, seen = [(name, tuple(extras))], set[tuple[str, tuple[str, ...]]]()
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
    yield "Bough's bundle contains these programs and libraries. Their licences follow, in this order."
    yield ""
    for package in packages:
        yield f"{package.name} {package.version}: {licence_of(package)}"
    for package in packages:
        yield from ("", _RULE, f"{package.name} {package.version}", f"Licence: {licence_of(package)}")
        page = package.metadata.get("Home-page") or next(iter(package.metadata.get_all("Project-URL") or []), "")
        if page:
            yield f"Source: {page.rpartition(', ')[2]}"
        yield _RULE
        for file in sorted(package.files or [], key=str):
            if ".dist-info/" in str(file) and _TEXTS.search(str(file)):
                yield from ("", file.locate().read_text("utf-8", "replace").strip())


def licence_of(package: Distribution) -> str:
    """Return the licence that a package's metadata state, in one line."""
    head = package.metadata
    stated = head.get("License-Expression") or head.get("License") or ""
    if stated and "\n" not in stated:
        return stated
    classes = [line for line in head.get_all("Classifier") or [] if line.startswith("License ::")]
    return ", ".join(line.rpartition(" :: ")[2] for line in classes) or stated.strip().partition("\n")[0] or "see below"


if __name__ == "__main__":
    sys.exit(main())
