"""News of releases: asks the feed of this build for the newest version. Nothing else is sent, and nothing is installed.

The feed's address is a setting of the build: the text of `resources/release_feed.txt`. A build without this file never
asks. The feed answers as the APIs of GitHub, Gitea and Forgejo do at `/repos/OWNER/NAME/releases/latest`.
"""

from __future__ import annotations

import http.client
import importlib.resources
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from packaging.version import InvalidVersion, Version
from worker.sentence import Sentence, SentenceError

_FILE = "release_feed.txt"
_TIMEOUT_S = 15.0
_MAX_BYTES = 1 << 20


class FeedError(SentenceError):
    """The feed can't be asked, or its answer can't be read."""


class Release(NamedTuple):
    """A release, and its page on the web."""

    version: str
    page: str


class _Answer(Struct):
    tag_name: str
    html_url: str
    draft: bool = False
    prerelease: bool = False


def feed_address(folder: Path | None = None) -> str:
    """Return the address of the feed; empty if this build has none. `folder`: the resources; None: Bough's."""
    folder = folder or Path(str(importlib.resources.files("resources")))
    try:
        address = (folder / _FILE).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
    return address if _is_web_address(address) else ""


def host_of(address: str) -> str:
    """Return the host in an address, which users read."""
    return urlsplit(address).hostname or ""


def newest(address: str) -> Release | None:
    """Ask a feed for the newest release; None if there is none yet. This may take many seconds. Raises `FeedError`."""
    headers = {"Accept": "application/json", "User-Agent": "Bough"}
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 (checked)
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:  # noqa: S310 (checked)
            data = reply.read(_MAX_BYTES)
    except urllib.error.HTTPError as error:
        error.close()
        why = Sentence("The release feed answered with the status {status}.", status=str(error.code))
        raise FeedError(why) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise FeedError(Sentence("The release feed can't be reached ({error}).", error=error)) from error
    try:
        answer = msgspec.json.decode(data, type=_Answer)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise FeedError(Sentence("The answer of the release feed can't be read ({error}).", error=error)) from error
    if answer.draft or answer.prerelease or not _is_web_address(answer.html_url):
        return None
    return Release(answer.tag_name.removeprefix("v"), answer.html_url)


def is_newer(version: str, present: str) -> bool:
    """Return whether a version comes after the present one. Versions that can't be compared do not."""
    try:
        return Version(version) > Version(present)
    except InvalidVersion:
        return False


def _is_web_address(address: str) -> bool:
    try:
        found = urlsplit(address)
    except ValueError:
        return False
    return found.scheme in {"http", "https"} and bool(found.hostname)
