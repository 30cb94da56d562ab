"""Downloads one file over HTTP or Xet, resumes a partial download, and checks the file's hash."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app.catalog.entry import RemoteFile
from app.catalog.hub_error import HubError, http_error, offline, refused, unreachable
from app.catalog.hub_folder import Place
from worker.sentence import Sentence

_log = logging.getLogger(__name__)

_MAX_TRIES = 6
"""The download fails after this many connections in a row that bring no byte."""
_MAX_WAIT_S = 30.0
_MAX_ASKED_WAIT_S = 300.0
"""If a server asks for a longer pause, the download fails with a sentence about it, and the user decides."""
_CHECK_BYTES = 1 << 20
_XET_LIMITS = {
    "telemetry.enabled": False,
    "client.retry_max_attempts": 2,
    "client.retry_base_delay": "500ms",
    "client.retry_max_duration": "20s",
    "client.connect_timeout": "10s",
    "reconstruction.download_buffer_size": 128 << 20,
    "reconstruction.download_buffer_perfile_size": 128 << 20,
    "reconstruction.download_buffer_limit": 256 << 20,
    "reconstruction.min_prefetch_buffer": 64 << 20,
}
"""Settings for hf_xet, which by default waits for minutes, keeps gigabytes in memory, and reports its usage."""


class WrongBytesError(Exception):
    """The content of a file does not match its hash."""


class _NotInXetError(Exception):
    """The hub offers a file only over HTTP."""


@dataclass
class Connection:
    """The settings with which a process connects to the hub. Several files may be downloaded with them at once."""

    endpoint: str
    token: str | None
    stall_s: float
    first_wait_s: float
    wait: Callable[[Sentence, float], None]
    """Reports a temporary failure, and waits for this many seconds."""
    use_xet: bool = True
    """Whether to use Xet. False after Xet's first failure."""

    def headers(self) -> dict[str, str]:
        from huggingface_hub.utils import build_hf_headers

        return build_hf_headers(token=self.token, library_name="bough")

    def address(self, repo: str, revision: str, file: RemoteFile) -> str:
        from huggingface_hub import hf_hub_url

        return hf_hub_url(repo, file.path, revision=revision or "main", endpoint=self.endpoint)


class Transfer:
    """Downloads one file to its place. The file gets its final name only once it is complete and its hash is right."""

    def __init__(self, connection: Connection, repo: str, revision: str, place: Place) -> None:
        self._connection = connection
        self._repo = repo
        self._address = connection.address(repo, revision, place.file)
        self._file = place.file
        self._part = place.part
        self._final = place.final
        self.num_bytes = 0
        """The number of bytes that have been downloaded."""

    def run(self) -> None:
        """Download the file unless it exists. Raises `HubError` or `OSError` if that fails."""
        if self._final.is_file() and self._final.stat().st_size == self._file.num_bytes:
            self.num_bytes = self._file.num_bytes
            return
        self._part.parent.mkdir(parents=True, exist_ok=True)
        for is_last in (False, True):
            try:
                self._download(use_xet=not is_last)
                break
            except OSError as error:
                # A full disk does not say which file it refused.
                error.filename = error.filename or self._file.path
                raise
            except WrongBytesError:
                self._part.unlink(missing_ok=True)
                self.num_bytes = 0
                if is_last:
                    raise self._wrong() from None
                _log.warning("%s came damaged and is downloaded again", self._file.path)
        self._part.replace(self._final)

    def _download(self, *, use_xet: bool) -> None:
        """Download the missing bytes, and check the hash of the file. Raises `WrongBytesError` if it does not match."""
        with self._part.open("ab", buffering=0) as out, closing(_Check(self._part, self._file)) as check:
            self.num_bytes = check.available_bytes = out.tell()
            num_failures = 0
            while self.num_bytes < self._file.num_bytes:
                before = self.num_bytes
                try:
                    self._take(self._pieces(before, use_xet=use_xet), out.write, check)
                except HubError as error:
                    num_failures = 0 if self.num_bytes > before else num_failures + 1
                    self._pause(error, num_failures)
            if self.num_bytes > self._file.num_bytes or not check.is_right():
                raise WrongBytesError
            # After a power failure, a file must not have its final name without its bytes.
            os.fsync(out.fileno())

    def _take(self, pieces: Iterator[bytes], write: Callable[[memoryview], int | None], check: _Check) -> None:
        for piece in pieces:
            view = memoryview(piece)
            while view:
                view = view[write(view) or 0 :]
            self.num_bytes += len(piece)
            check.available_bytes = self.num_bytes
            if self.num_bytes > self._file.num_bytes:
                raise WrongBytesError
        if self.num_bytes < self._file.num_bytes:
            raise unreachable(self._connection.endpoint, ConnectionError("the connection ended too early"))

    def _pause(self, error: HubError, num_failures: int) -> None:
        """Wait before the next attempt. Raise `error` if no further attempt would help."""
        wait_s = error.wait_s
        if wait_s is None:
            wait_s = min(_MAX_WAIT_S, self._connection.first_wait_s * 2 ** max(0, num_failures - 1))
        if not error.may_pass or num_failures >= _MAX_TRIES or wait_s > _MAX_ASKED_WAIT_S:
            raise error
        self._connection.wait(error.sentence, wait_s)

    def _pieces(self, offset: int, *, use_xet: bool) -> Iterator[bytes]:
        """Yield the file's content from `offset` on, in pieces. Raises `HubError`."""
        if use_xet and self._connection.use_xet and self._file.sha256:
            try:
                yield from xet_pieces(self._connection, self._address, offset)
            except _NotInXetError:
                pass
            except BaseException as error:
                if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                    raise
                # After any failure of Xet, HTTP may still work, and failures of HTTP have sentences.
                _log.info("Xet failed (%s); HTTP is used from now on", type(error).__name__)
                self._connection.use_xet = False
            else:
                return
            offset = self.num_bytes
        yield from self._http_pieces(offset)

    def _http_pieces(self, offset: int) -> Iterator[bytes]:
        from huggingface_hub.errors import OfflineModeIsEnabled
        from huggingface_hub.utils import get_session

        connection = self._connection
        # Compressed bytes could not be continued.
        headers = {**connection.headers(), "Accept-Encoding": "identity"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
        try:
            # A large file is sent by another host; the HTTP library does not send the token there.
            with get_session().stream("GET", self._address, headers=headers, timeout=connection.stall_s) as answer:
                if answer.status_code == 416:  # the file here is longer than the hub's
                    raise WrongBytesError
                if answer.status_code >= 400:
                    has_token = "authorization" in headers
                    raise refused(
                        connection.endpoint, self._repo, answer.status_code, answer.headers, has_token=has_token
                    )
                begin = _begin_of(answer.headers.get("Content-Range", "")) if answer.status_code == 206 else 0
                if begin > offset:
                    raise WrongBytesError
                # Some proxies compress all the same.
                is_packed = answer.headers.get("Content-Encoding", "identity") != "identity"
                for piece in answer.iter_bytes() if is_packed else answer.iter_raw():
                    # A server without range requests sends the whole file again.
                    new = piece[max(0, offset - begin) :] if begin < offset else piece
                    begin += len(piece)
                    if new:
                        yield new
        except OfflineModeIsEnabled:
            raise offline() from None
        except (http_error(), ConnectionError) as error:
            raise unreachable(connection.endpoint, error) from error

    def _wrong(self) -> HubError:
        return HubError(
            Sentence(
                "{file} arrived damaged twice, so it was removed. The other files are kept. Try again later, or "
                "choose another model.",
                file=self._file.path,
            ),
            "invalid",
        )


def xet_pieces(connection: Connection, address: str, offset: int) -> Generator[bytes]:
    """Yield a file's content from `offset` on over Xet. Raises `_NotInXetError`, or any error of hf_xet."""
    # It has no stubs.
    from hf_xet import XetConfig, XetFileInfo, XetSession  # pyright: ignore[reportAttributeAccessIssue]
    from huggingface_hub import get_hf_file_metadata

    found = get_hf_file_metadata(
        address, token=connection.token, library_name="bough", timeout=connection.stall_s, endpoint=connection.endpoint
    )
    route = found.xet_file_data
    if route is None or not _is_same_site(route.refresh_route, connection.endpoint):
        raise _NotInXetError
    config = XetConfig()
    for name, value in {**_XET_LIMITS, "client.read_timeout": f"{round(connection.stall_s * 1000)}ms"}.items():
        try:
            config = config.with_config(name, value)
        except (ValueError, TypeError, KeyError):  # of another version
            continue
    headers = connection.headers()
    group = XetSession(config).new_download_stream_group(
        token_refresh_url=route.refresh_route,
        token_refresh_headers=headers,
        custom_headers={name: value for name, value in headers.items() if name != "authorization"},
    )
    yield from group.download_stream(XetFileInfo(route.file_hash, found.size), start=offset)


def _is_same_site(address: str, endpoint: str) -> bool:
    return urlsplit(address)[:2] == urlsplit(endpoint)[:2]


def _begin_of(content_range: str) -> int:
    """Return the first position in a header such as "bytes 100-199/200"."""
    found = re.match(r"bytes (\d+)-", content_range)
    if found is None:
        raise WrongBytesError
    return int(found[1])


class _Check:
    """Computes the hash of a file in a thread while the file is being downloaded."""

    def __init__(self, path: Path, file: RemoteFile) -> None:
        self._file = file
        self.available_bytes = 0
        """The number of bytes of the file that may be read."""
        self._hash: Any = hashlib.sha256()
        if file.blob_id:
            self._hash = hashlib.sha1(f"blob {file.num_bytes}\0".encode(), usedforsecurity=False)  # git's
        self._descriptor = os.open(path, os.O_RDONLY)
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="check", daemon=True)
        self._thread.start()

    def is_right(self) -> bool:
        """Wait until the whole file is read; return False if it has a known hash that does not match."""
        self._thread.join()
        return self._hash.hexdigest() in {self._file.sha256, self._file.blob_id} or not (
            self._file.sha256 or self._file.blob_id
        )

    def close(self) -> None:
        """End the thread."""
        self._is_closed.set()
        self._thread.join()
        os.close(self._descriptor)

    def _run(self) -> None:
        offset = 0
        buffer = bytearray(_CHECK_BYTES)
        while offset < self._file.num_bytes and not self._is_closed.is_set():
            available = min(self.available_bytes - offset, _CHECK_BYTES)
            if available < _CHECK_BYTES and self.available_bytes < self._file.num_bytes:
                self._is_closed.wait(0.005)
                continue
            num_read = os.preadv(self._descriptor, [memoryview(buffer)[:available]], offset)
            if num_read == 0:
                return
            self._hash.update(memoryview(buffer)[:num_read])
            offset += num_read
