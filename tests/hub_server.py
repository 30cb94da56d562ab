"""A real HTTP server on loopback that speaks the hub's API as huggingface_hub and hf_xet use it, with faults on demand.

The hub (listing, details, HEAD and GET of files, tokens for Xet) and the storage behind it (large files, Xet's chunks)
have different ports, as they have different hosts in reality: what is meant for one must not be sent to the other.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

from typing_extensions import override

from tests.faulty_server import FaultyServer, Listener, SilentHandler

_PIECE_BYTES = 1 << 16
_XET_CHUNK_BYTES = 1 << 16
_XET_HASH = "ab" * 32
"""The name of each stored block: hf_xet does not check it."""


@dataclass(frozen=True)
class Fault:
    """A failure of one request."""

    kind: Literal["status", "cut", "stall", "wrong", "whole"]
    """`cut`: the connection ends; `stall`: nothing more comes; `wrong`: one byte differs; `whole`: no range is kept."""
    after_bytes: int = 0
    """How many bytes of the body are sent before a cut or a stall; or the position of a wrong byte."""
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b'{"error": "The server failed."}'


@dataclass
class Repository:
    """A repository with one commit."""

    id: str
    files: Mapping[str, bytes | Path] = field(default_factory=dict[str, bytes | Path])
    """Large files (LFS) are those whose names end in .safetensors, .gguf or .model, and tokenizer.json."""
    tags: tuple[str, ...] = ()
    downloads: int = 0
    modified: str = "2026-05-01T10:00:00.000Z"
    gated: Literal["auto", "manual", False] = False
    is_private: bool = False
    expand: dict[str, Any] = field(default_factory=dict)
    """More fields of the listing, such as `gguf` and `safetensors`."""
    has_xet: bool = False
    """Whether large files are offered through Xet, too."""

    @property
    def commit(self) -> str:
        names = sorted((path, _content(content).git_id) for path, content in self.files.items())
        return hashlib.sha1(repr((self.id, names)).encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Request:
    """A request that the server received."""

    method: str
    path: str
    headers: Mapping[str, str]


class _Content:
    """The content of a file, and its hashes."""

    def __init__(self, source: bytes | Path) -> None:
        self.source = source
        self.num_bytes = len(source) if isinstance(source, bytes) else source.stat().st_size
        git = hashlib.sha1(f"blob {self.num_bytes}\0".encode(), usedforsecurity=False)
        sha256 = hashlib.sha256()
        for piece in self.pieces(0, self.num_bytes):
            git.update(piece)
            sha256.update(piece)
        self.git_id, self.sha256 = git.hexdigest(), sha256.hexdigest()

    def pieces(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the bytes from `start` to `end`."""
        if isinstance(self.source, bytes):
            yield from (self.source[at : min(at + _PIECE_BYTES, end)] for at in range(start, end, _PIECE_BYTES))
            return
        with self.source.open("rb") as file:
            file.seek(start)
            for at in range(start, end, _PIECE_BYTES):
                yield file.read(min(_PIECE_BYTES, end - at))

    def xet_chunks(self) -> list[bytes]:
        data = b"".join(self.pieces(0, self.num_bytes))
        return [data[at : at + _XET_CHUNK_BYTES] for at in range(0, len(data), _XET_CHUNK_BYTES)]


_contents: dict[bytes | Path, _Content] = {}


def _content(source: bytes | Path) -> _Content:
    if source not in _contents:
        _contents[source] = _Content(source)
    return _contents[source]


def is_large(path: str) -> bool:
    """Return whether the hub would store a file of this name outside of git."""
    return path.endswith((".safetensors", ".gguf", ".model")) or path == "tokenizer.json"


class HubServer(FaultyServer[Request, Fault]):
    """A hub. Use it in a `with` statement."""

    def __init__(self) -> None:
        super().__init__()
        self.repositories: dict[str, Repository] = {}
        self.token = "hf_right"
        """The token that opens gated and private repositories."""
        self.page_size = 100
        self.bytes_per_s: float | None = None
        """The speed of large files; None means as fast as possible."""
        self.released = threading.Event()
        """Ends all stalls."""
        self._hub, self._storage = _Listener(self, _HubHandler), _Listener(self, _StorageHandler)

    def __enter__(self) -> Self:
        for listener in (self._hub, self._storage):
            threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        for listener in (self._hub, self._storage):
            listener.shutdown()
            listener.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._hub.server_port}"

    @property
    def storage_url(self) -> str:
        return f"http://localhost:{self._storage.server_port}"

    def add(self, repository: Repository) -> Repository:
        self.repositories[repository.id] = repository
        return repository


class _Listener(Listener):
    def __init__(self, hub: HubServer, handler: type[_Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.hub = hub


class _Handler(SilentHandler):
    def answer(self, path: str, query: Mapping[str, list[str]]) -> None:
        raise NotImplementedError

    @property
    def hub(self) -> HubServer:
        listener = self.server
        assert isinstance(listener, _Listener)
        return listener.hub

    @override
    def serve(self) -> None:
        self.fault = self.hub.note(Request(self.command, self.path, dict(self.headers.items())))
        if self.fault is not None and self.fault.kind == "status":
            self.send(self.fault.status, self.fault.body, self.fault.headers)
            return
        address = urlsplit(self.path)
        self.answer(unquote(address.path), parse_qs(address.query))

    def send_json(self, value: object, headers: Mapping[str, str] | None = None) -> None:
        self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    def send_error_code(self, status: int, code: str, message: str) -> None:
        """Send an error as the hub sends it: the code in a header, the message in a header and in the body."""
        headers = {"X-Error-Code": code, "X-Error-Message": message} if code else {"X-Error-Message": message}
        self.send(status, json.dumps({"error": message}).encode(), headers)

    def send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.begin(status, len(body), headers)
        self.write_body(iter([body]))

    def begin(self, status: int, num_bytes: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(num_bytes), **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def write_body(self, pieces: Iterator[bytes]) -> None:
        if self.command == "HEAD":
            return
        fault, num_sent, began = self.fault, 0, time.monotonic()
        for piece in pieces:
            if fault is not None and num_sent + len(piece) > fault.after_bytes:
                if fault.kind in {"cut", "stall"}:
                    self.wfile.write(piece[: fault.after_bytes - num_sent])
                    if fault.kind == "stall":
                        self.hub.released.wait()
                    self._cut()
                    return
                if fault.kind == "wrong":
                    at = fault.after_bytes - num_sent
                    piece = piece[:at] + bytes([piece[at] ^ 1]) + piece[at + 1 :]
                    fault = None
            self.wfile.write(piece)
            num_sent += len(piece)
            if self.hub.bytes_per_s is not None and isinstance(self, _StorageHandler):
                self.hub.released.wait(max(0.0, began + num_sent / self.hub.bytes_per_s - time.monotonic()))

    def _cut(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def send_file(self, content: _Content, headers: Mapping[str, str]) -> None:
        """Send a file, or the requested range of it."""
        start, end = 0, content.num_bytes
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None or (self.fault is not None and self.fault.kind == "whole"):
            self.begin(200, end, {"Accept-Ranges": "bytes", **headers})
        else:
            start = int(wanted[1])
            end = min(end, int(wanted[2]) + 1) if wanted[2] else end
            if start >= content.num_bytes:
                self.send(416, b"", {"Content-Range": f"bytes */{content.num_bytes}"})
                return
            self.begin(206, end - start, {"Content-Range": f"bytes {start}-{end - 1}/{content.num_bytes}", **headers})
        source = content.source
        if isinstance(source, Path) and self.command == "GET" and self.fault is None and self.hub.bytes_per_s is None:
            with source.open("rb") as file:
                self.connection.sendfile(file, start, end - start)
        else:
            self.write_body(content.pieces(start, end))


class _HubHandler(_Handler):
    """huggingface.co: the API, and small files."""

    def answer(self, path: str, query: Mapping[str, list[str]]) -> None:
        if path == "/api/models":
            self._list(query)
        elif named := re.fullmatch(r"/api/models/([^/]+/[^/]+)/xet-read-token/.*", path):
            if self._may_read(named[1]):
                self._send_xet_token()
        elif named := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/.*", path):
            if self._exists(named[1]):
                self._send_tree(self.hub.repositories[named[1]])
        elif named := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            if self._exists(named[1]):
                self._describe(self.hub.repositories[named[1]], query)
        elif named := re.fullmatch(
            r"(/api/resolve-cache/models)?/([^/]+/[^/]+)(?:/resolve/[^/]+|/[0-9a-f]{40})/(.+)", path
        ):
            if self._may_read(named[2]):
                self._resolve(self.hub.repositories[named[2]], named[3], is_cached=named[1] is not None)
        else:
            self.send_error_code(404, "", "Not found")

    @property
    def _has_token(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {self.hub.token}"

    def _exists(self, repo: str) -> bool:
        """Answer as the hub does for what is missing or hidden: without a token, it does not say which."""
        repository = self.hub.repositories.get(repo)
        if self.headers.get("Authorization") is not None and not self._has_token:
            self.send_error_code(401, "", "Invalid credentials in Authorization header")
        elif repository is None or (repository.is_private and not self._has_token):
            if self._has_token:
                self.send_error_code(404, "RepoNotFound", "Repository not found")
            else:
                self.send_error_code(401, "RepoNotFound", "Invalid username or password.")
        else:
            return True
        return False

    def _may_read(self, repo: str) -> bool:
        if not self._exists(repo):
            return False
        if self.hub.repositories[repo].gated and not self._has_token:
            message = f"Access to model {repo} is restricted. You must have access to it and be authenticated."
            self.send_error_code(401, "GatedRepo", message)
            return False
        return True

    def _list(self, query: Mapping[str, list[str]]) -> None:
        words = " ".join(query.get("search", [])).lower().split()
        author = query.get("author", [""])[0]
        hits = [
            repository
            for repository in self.hub.repositories.values()
            if not repository.is_private
            and all(word in repository.id.lower() for word in words)
            and (not author or repository.id.startswith(f"{author}/"))
            and set(query.get("filter", [])) <= set(repository.tags)
        ]
        hits.sort(key=lambda repository: -repository.downloads)
        size = min(int(query.get("limit", ["1000"])[0]), self.hub.page_size)
        begin = int(query.get("cursor", ["0"])[0])
        headers = dict[str, str]()
        if begin + size < len(hits):
            rest = "&".join(f"{name}={quote(v)}" for name, values in query.items() if name != "cursor" for v in values)
            headers["Link"] = f'<{self.hub.url}/api/models?{rest}&cursor={begin + size}>; rel="next"'
        fields = set(query.get("expand", []))
        page = [self._fields(repository, fields) for repository in hits[begin : begin + size]]
        self.send_json(page, headers)

    def _fields(self, repository: Repository, wanted: set[str]) -> dict[str, Any]:
        known: dict[str, Any] = {
            "sha": repository.commit,
            "lastModified": repository.modified,
            "gated": repository.gated,
            "private": repository.is_private,
            "downloads": repository.downloads,
            "tags": list(repository.tags),
            **repository.expand,
        }
        found = {name: value for name, value in known.items() if not wanted or name in wanted}
        return {"_id": "0" * 24, "id": repository.id, "modelId": repository.id, **found}

    def _describe(self, repository: Repository, query: Mapping[str, list[str]]) -> None:
        fields = self._fields(repository, set(query.get("expand", [])))
        siblings: list[dict[str, Any]] = []
        for path, source in sorted(repository.files.items()):
            sibling: dict[str, Any] = {"rfilename": path}
            if "blobs" in query:
                content = _content(source)
                sibling |= {"size": content.num_bytes, "blobId": content.git_id}
                if is_large(path):
                    sibling["lfs"] = {"sha256": content.sha256, "size": content.num_bytes, "pointerSize": 134}
            siblings.append(sibling)
        self.send_json({**fields, "siblings": siblings})

    def _send_tree(self, repository: Repository) -> None:
        entries: list[dict[str, Any]] = []
        for path, source in sorted(repository.files.items()):
            content = _content(source)
            entry: dict[str, Any] = {"type": "file", "path": path, "size": content.num_bytes, "oid": content.git_id}
            if is_large(path):
                entry["lfs"] = {"oid": content.sha256, "size": content.num_bytes, "pointerSize": 134}
            entries.append(entry)
        self.send_json(entries)

    def _resolve(self, repository: Repository, path: str, *, is_cached: bool) -> None:
        if path not in repository.files:
            self.send_error_code(404, "EntryNotFound", "Entry not found")
            return
        content = _content(repository.files[path])
        headers = {"X-Repo-Commit": repository.commit}
        if not is_large(path):
            if not is_cached:  # the hub sends small files from its cache
                place = f"/api/resolve-cache/models/{repository.id}/{repository.commit}/{quote(path)}"
                self.send(307, b"", {"Location": place, "ETag": f'"{content.git_id}"', **headers})
            elif "gzip" in self.headers.get("Accept-Encoding", "") and self.command == "GET":
                packed = gzip.compress(b"".join(content.pieces(0, content.num_bytes)))
                self.send(200, packed, {"Content-Encoding": "gzip", "ETag": f'W/"{content.git_id}"', **headers})
            else:
                self.send_file(content, {"ETag": f'"{content.git_id}"', **headers})
            return
        headers |= {
            "X-Linked-Size": str(content.num_bytes),
            "X-Linked-Etag": f'"{content.sha256}"',
            "Location": f"{self.hub.storage_url}/{repository.id}/{quote(path)}?signature=1",
        }
        if repository.has_xet:
            route = f"{self.hub.url}/api/models/{repository.id}/xet-read-token/{repository.commit}"
            headers |= {"X-Xet-Hash": content.sha256, "Link": f'<{route}>; rel="xet-auth"'}
        self.send(302, b"Found. Redirecting", headers)

    def _send_xet_token(self) -> None:
        end_s = int(time.time()) + 3600
        token = {"accessToken": "xet", "exp": end_s, "casUrl": self.hub.storage_url}
        headers = {
            "X-Xet-Cas-Url": self.hub.storage_url,
            "X-Xet-Access-Token": "xet",
            "X-Xet-Token-Expiration": str(end_s),
        }
        self.send_json(token, headers)


class _StorageHandler(_Handler):
    """The hosts behind the hub: large files by signed addresses, and Xet's server of chunks."""

    def answer(self, path: str, query: Mapping[str, list[str]]) -> None:
        # A signed address is refused with another authorization beside it.
        if self.headers.get("Authorization") not in {None, "Bearer xet"}:
            self.send(400, b"Only one auth mechanism allowed", {})
        elif asked := re.fullmatch(r"/v1/reconstructions/([0-9a-f]{64})", path):
            self._send_plan(self._by_hash(asked[1]), asked[1])
        elif asked := re.fullmatch(r"/chunks/([0-9a-f]{64})", path):
            self._send_chunks(self._by_hash(asked[1]))
        elif path.startswith("/v2/"):
            self.send(404, b"", {})  # hf_xet then asks in the way of version 1
        elif named := re.fullmatch(r"/([^/]+/[^/]+)/(.+)", path):
            repository = self.hub.repositories.get(named[1])
            if repository is None or named[2] not in repository.files or "signature" not in query:
                self.send(403, b"", {})
            else:
                content = _content(repository.files[named[2]])
                self.send_file(content, {"ETag": f'"{content.sha256[:32]}"'})
        else:
            self.send(404, b"", {})

    def _by_hash(self, sha256: str) -> _Content:
        sources = (source for repository in self.hub.repositories.values() for source in repository.files.values())
        return next(content for content in map(_content, sources) if content.sha256 == sha256)

    def _send_plan(self, content: _Content, sha256: str) -> None:
        """Send a list of the chunks that make up the requested range, with their addresses."""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", f"bytes=0-{content.num_bytes - 1}"))
        assert wanted is not None
        start, end = int(wanted[1]), min(int(wanted[2]) + 1, content.num_bytes)
        if start >= content.num_bytes:
            self.send(416, b"", {})
            return
        sizes = [len(chunk) for chunk in content.xet_chunks()]
        first, last = start // _XET_CHUNK_BYTES, -(-end // _XET_CHUNK_BYTES)
        chunks = {"start": first, "end": last}
        place = {"start": sum(sizes[:first]) + 8 * first, "end": sum(sizes[:last]) + 8 * last - 1}
        term = {"hash": _XET_HASH, "unpacked_length": sum(sizes[first:last]), "range": chunks}
        where = {"range": chunks, "url": f"{self.hub.storage_url}/chunks/{sha256}", "url_range": place}
        self.send_json(
            {
                "offset_into_first_range": start - first * _XET_CHUNK_BYTES,
                "terms": [term],
                "fetch_info": {_XET_HASH: [where]},
            }
        )

    def _send_chunks(self, content: _Content) -> None:
        """Send a range of a stored block: chunks that are not compressed, each behind its header."""
        headers = (len(chunk).to_bytes(3, "little") for chunk in content.xet_chunks())
        block = b"".join(
            b"\0" + size + b"\0" + size + chunk for size, chunk in zip(headers, content.xet_chunks(), strict=True)
        )
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        assert wanted is not None
        body = block[int(wanted[1]) : int(wanted[2]) + 1]
        self.begin(206, len(body), {})
        self.write_body(body[at : at + _PIECE_BYTES] for at in range(0, len(body), _PIECE_BYTES))
