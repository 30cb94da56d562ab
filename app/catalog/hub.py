"""Searches the hub for models that Bough can use, and describes them. Each call waits for the network: use a thread.

huggingface_hub gives the connection (with its proxies, certificates and offline mode) and the headers with the token.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct, structs

from app.catalog import facts, gguf_facts
from app.catalog.entry import Format, RemoteFile, RemoteModel
from app.catalog.hub_error import HubError, http_error, invalid, offline, refused, unreachable
from app.catalog.tokens import Tokens
from worker.printable import one_line
from worker.sentence import Sentence, SentenceError

PAGE_SIZE = 30
TIMEOUT_S = 10.0
"""How long to wait for a connection, and for each piece of an answer. An answer may take twice as long."""
_MAX_CONFIG_BYTES = 8 << 20
_HEAD_BYTES = 1 << 18
"""The values at the beginning of a GGUF file, and sometimes a chat template, have a few thousand."""
_MAX_ANSWER_BYTES = 32 << 20
"""The details of repositories with thousands of files have a tenth of this."""
_FIRST_AUTHOR = "mlx-community"

_LISTED = ("downloads", "gated", "gguf", "lastModified", "safetensors", "sha", "tags")
_REPO = re.compile(r"(?!.*(?:\.\.|--))\w[\w.-]{0,95}/\w[\w.-]{0,95}", re.ASCII)
_MLX_BITS = re.compile(r"(?:^|[-_.])(\d)[-_]?bits?(?=[-_.]|$)", re.IGNORECASE)
_PART = re.compile(r"-(\d{5})-of-(\d{5})(?=\.gguf$)", re.IGNORECASE)
_BYTES_OF = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}
"""Of a number, by its name in safetensors; all others have one byte."""
_TEXTS = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.json")
_MORE_TEXTS = re.compile(
    r"(?:special_tokens_map|added_tokens|vocab|model\.safetensors\.index|processor_config|preprocessor_config)\.json"
    r"|merges\.txt|vocab\.txt|[\w.-]+\.(?:jinja|tiktoken)|(?:tokenizer|spiece|sentencepiece[\w.]*)\.model"
    r"|additional_chat_templates/[\w.-]+\.jinja|(?:LICEN[CS]E|NOTICE)[\w.-]*|README\.md",
    re.IGNORECASE | re.ASCII,
)
_WEIGHTS = re.compile(r"model[\w.-]*\.safetensors", re.ASCII)


class _Lfs(Struct):
    sha256: str
    size: int


class _Sibling(Struct):
    rfilename: str
    size: int | None = None
    blobId: str = ""  # noqa: N815 (the hub's name)
    lfs: _Lfs | None = None


class _Gguf(Struct):
    total: int | None = None
    architecture: str = ""
    context_length: int | None = None


class _Safetensors(Struct):
    parameters: dict[str, int] = {}


class _Repository(Struct):
    """A repository as the hub describes it; other fields are ignored."""

    id: str
    sha: str = ""
    downloads: int | None = None
    gated: str | bool = False
    lastModified: str = ""  # noqa: N815
    tags: list[str] = []
    gguf: _Gguf | None = None
    safetensors: _Safetensors | None = None
    siblings: list[_Sibling] = []


class Hits(Struct, frozen=True):
    """A page of a search."""

    models: tuple[RemoteModel, ...] = ()
    """Without their files. A GGUF repository is one hit, whatever it contains."""
    more: tuple[str, ...] = ()
    """Continues the search, see `Hub.search_more`; empty at the end."""


class Hub:
    """The hub that HF_ENDPOINT names, or huggingface.co."""

    def __init__(self, endpoint: str = "", tokens: Tokens | None = None, *, timeout_s: float = TIMEOUT_S) -> None:
        """`endpoint`: the address of another hub. `tokens`: None for those that huggingface_hub finds."""
        self.endpoint = (endpoint or os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
        self.tokens = tokens or Tokens(self.endpoint)
        self._timeout_s = timeout_s

    @property
    def is_offline(self) -> bool:
        """Whether a setting (HF_HUB_OFFLINE) forbids all requests."""
        names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
        return next((os.environ[name] for name in names if os.environ.get(name)), "").upper() in {
            "1", "ON", "YES", "TRUE",
        }  # fmt: skip

    def search(self, words: str) -> Hits:
        """Return the models whose repository's name contains all words, or the most fetched ones without words.

        Those of mlx-community come first, then other MLX models, then GGUF models; each kind by downloads.
        Raises `HubError`.
        """
        common: dict[str, Any] = {"sort": "downloads", "limit": PAGE_SIZE, "expand": list(_LISTED)}
        if words.strip():
            common["search"] = " ".join(words.split())[:200]
        # mlx-community also has other kinds of models, such as those of speech.
        searches = [
            {**common, "author": _FIRST_AUTHOR, "filter": ["mlx", "text-generation"]},
            {**common, "filter": ["mlx", "text-generation"]},
            {**common, "filter": ["gguf"]},
        ]
        return self._pages([(f"{self.endpoint}/api/models", search) for search in searches])

    def search_more(self, hits: Hits) -> Hits:
        """Return the next page of a search. Raises `HubError`."""
        return self._pages([(address, None) for address in hits.more])

    def details(self, repo: str, revision: str = "") -> tuple[RemoteModel, ...]:
        """Return the models in a repository, with the files to fetch: one in MLX format, or all its GGUF models.

        `revision`: a commit, a branch or a tag; empty for the newest commit. Raises `HubError`, also if there is none.
        """
        if not _REPO.fullmatch(repo):
            raise HubError(
                Sentence("“{repo}” does not name a repository. Enter it as owner/name.", repo=one_line(repo)[:200]),
                "gone",
            )
        address = f"{self.endpoint}/api/models/{repo}" + (f"/revision/{revision}" if revision else "")
        body, _ = self._get(address, {"blobs": "True"}, repo)
        try:
            described = msgspec.json.decode(body, type=_Repository)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise invalid(self.endpoint) from error
        if described.id.lower() != repo.lower():
            described.id = repo if not _REPO.fullmatch(described.id) else described.id
        models = _models(described)
        if not models:
            raise HubError(
                Sentence(
                    "{repo} contains no model that Bough can use: it needs config.json, a tokenizer and "
                    "model*.safetensors, or GGUF files. Choose another one.",
                    repo=repo,
                ),
                "invalid",
            )
        try:
            return self._with_facts(models)
        except HubError:  # as of gated models, whose files can't be read yet
            return models

    def _with_facts(self, models: tuple[RemoteModel, ...]) -> tuple[RemoteModel, ...]:
        """Add what the models' own files say. Raises `HubError`."""
        first = models[0]
        address = f"{self.endpoint}/{first.repo}/resolve/{first.revision or 'main'}"
        if first.format == "mlx":
            config, _ = self._get(f"{address}/config.json", None, first.repo, max_bytes=_MAX_CONFIG_BYTES)
            return (_with_config(first, config),)
        # All quantizations in a repository are of the same model.
        head, _ = self._get(f"{address}/{quote(first.gguf)}", None, first.repo, max_bytes=_HEAD_BYTES)
        return tuple(_with_head(models, head))

    def _pages(self, requests: Sequence[tuple[str, dict[str, Any] | None]]) -> Hits:
        if not requests:
            return Hits()
        # The requests wait for the same server at the same time.
        with ThreadPoolExecutor(len(requests), "hub") as threads:
            pages = list(threads.map(self._page, *zip(*requests, strict=True)))
        hits = {model.repo: model for models, _ in reversed(pages) for model in reversed(models)}
        order = {model.repo: None for models, _ in pages for model in models}
        return Hits(tuple(hits[repo] for repo in order), tuple(address for _, address in pages if address))

    def _page(self, address: str, parameters: dict[str, Any] | None) -> tuple[list[RemoteModel], str]:
        body, following = self._get(address, parameters)
        try:
            found = msgspec.json.decode(body, type=list[msgspec.Raw])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise invalid(self.endpoint) from error
        return [hit for raw in found if (hit := _hit(raw)) is not None], following

    def _get(
        self, address: str, parameters: Mapping[str, Any] | None, repo: str = "", *, max_bytes: int = 0
    ) -> tuple[bytes, str]:
        """Return an answer's body, and the address of the next page (empty without one). Raises `HubError`.

        `max_bytes`: so much of the body is enough; 0 means all.
        """
        if self.is_offline:
            raise offline()
        # Its import takes a third of a second.
        from huggingface_hub.errors import OfflineModeIsEnabled
        from huggingface_hub.utils import build_hf_headers, get_session

        headers = build_hf_headers(token=self.tokens.token, library_name="bough")
        if max_bytes:
            headers |= {"Range": f"bytes=0-{max_bytes - 1}", "Accept-Encoding": "identity"}
        end_s = time.monotonic() + 2 * self._timeout_s
        body = bytearray()
        try:
            session = get_session()
            with session.stream("GET", address, params=parameters, headers=headers, timeout=self._timeout_s) as answer:
                if answer.status_code >= 400:
                    has_token = "authorization" in headers
                    raise refused(self.endpoint, repo, answer.status_code, answer.headers, has_token=has_token)
                for piece in answer.iter_bytes():
                    body += piece
                    if max_bytes and len(body) >= max_bytes:
                        break
                    if len(body) > _MAX_ANSWER_BYTES:
                        raise invalid(self.endpoint)
                    if time.monotonic() > end_s:
                        raise unreachable(self.endpoint, TimeoutError())
                return bytes(body), self._next_address(answer.links)
        except OfflineModeIsEnabled:
            raise offline() from None
        except HubError:
            raise
        except (http_error(), OSError) as error:
            raise unreachable(self.endpoint, error) from error
        except ValueError as error:  # the address or the proxy is not one
            raise invalid(self.endpoint) from error

    def _next_address(self, links: Mapping[str | None, Mapping[str, str]]) -> str:
        """Return the address of the next page; empty if there is none, or if it leads away from the hub."""
        from huggingface_hub.utils import fix_hf_endpoint_in_url

        address = links.get("next", {}).get("url", "")
        # A mirror may repeat the addresses of huggingface.co.
        address = fix_hf_endpoint_in_url(address, self.endpoint)
        return address if urlsplit(address)[:2] == urlsplit(self.endpoint)[:2] else ""


def best_of(models: Sequence[RemoteModel]) -> RemoteModel:
    """Return the model of a repository that is fetched if the user chose none: of GGUF, the one nearest to 4 bits."""
    ranks = ("Q4_K_M", "Q4_K_S", "Q4_0", "Q4_1", "Q4_K_L", "Q5_K_M", "Q5_K_S", "Q8_0", "Q6_K", "BF16", "F16", "FP16")
    order = {name: rank for rank, name in enumerate(ranks)}
    return min(models, key=lambda model: order.get(model.quantization, len(ranks)))


def model_of_key(text: str) -> RemoteModel | None:
    """Return the model that a user names: "owner/name", "owner/name:file.gguf", or the address of its page.

    None if the text names none. Nothing is known of the model but its name.
    """
    path = re.sub(r"^https?://[^/]+/", "", text.strip()).rstrip("/")
    repo, _, gguf = path.partition(":")
    if named := re.match(r"([^/]+/[^/]+)/(?:tree|blob|resolve)/[^/]+/?(.*)$", path):
        repo, gguf = named[1], named[2] if named[2].lower().endswith(".gguf") else ""
    if not _REPO.fullmatch(repo):
        return None
    return RemoteModel(repo=repo, gguf=gguf, title=repo.rpartition("/")[2], format="gguf" if gguf else "mlx")


def _with_config(model: RemoteModel, text: bytes) -> RemoteModel:
    """Add what an MLX model's config.json says."""
    try:
        found = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return model
    architecture = facts.clean_name(found.get("model_type"))
    problem = None
    if found.get("model_file") is not None:
        problem = Sentence("This model needs its own program code, which Bough never runs. Choose another model.")
    elif not facts.is_supported(architecture):
        problem = Sentence(
            "Bough does not support models of the type {architecture}. Choose another model.",
            architecture=architecture or "?",
        )
    quantization = facts.quantization(found) or model.quantization
    return structs.replace(
        model,
        architecture=architecture,
        quantization=quantization,
        context_length=facts.context_length(found),
        shape=facts.shape_of(found),
        problem=problem,
    )


def _with_head(models: Sequence[RemoteModel], head: bytes) -> Iterator[RemoteModel]:
    """Add what the beginning of one of the GGUF files of a repository says to all its models."""
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        file.write(head)
        file.flush()
        for model in models:
            try:
                found = gguf_facts.read_facts(Path(file.name), model.num_bytes or 0, model.gguf)
            except (SentenceError, OSError, ValueError):
                found = None
            if found is None:
                yield model
                continue
            problem = None
            if not gguf_facts.is_convertible(found.architecture):
                problem = Sentence(
                    "Bough can't convert GGUF models of the architecture {architecture}. Choose another model.",
                    architecture=found.architecture or "?",
                )
            yield structs.replace(
                model,
                architecture=found.architecture,
                context_length=found.context_length,
                num_parameters=model.num_parameters or found.num_parameters,
                licence=model.licence or found.licence,
                shape=found.shape,
                problem=problem,
            )


def _hit(raw: msgspec.Raw) -> RemoteModel | None:
    """Return a hit; None if it is of no use."""
    try:
        found = msgspec.json.decode(raw, type=_Repository)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not _REPO.fullmatch(found.id):
        return None
    format_: Format = "gguf" if "gguf" in found.tags and "mlx" not in found.tags else "mlx"
    return _model(found, format_)


def _models(found: _Repository) -> tuple[RemoteModel, ...]:
    """Return the models in a repository, each with its files."""
    files = [file for sibling in found.siblings if (file := _file(sibling)) is not None]
    texts = [file for file in files if file.path in _TEXTS or _MORE_TEXTS.fullmatch(file.path)]
    weights = [file for file in files if _WEIGHTS.fullmatch(file.path)]
    if weights and any(file.path == "config.json" for file in texts):
        return (_model(found, "mlx", tuple(texts + weights)),)
    groups: dict[str, list[RemoteFile]] = {}
    for file in files:
        if file.path.lower().endswith(".gguf") and gguf_facts.is_chat_file(PurePosixPath(file.path).name):
            groups.setdefault(_PART.sub("", file.path), []).append(file)
    papers = tuple(file for file in texts if file.path.upper().startswith(("LICEN", "README", "NOTICE")))
    models = [
        _model(found, "gguf", (*sorted(group, key=lambda file: file.path), *papers), stem)
        for stem, group in sorted(groups.items())
        if _is_complete(group)
    ]
    return tuple(sorted(models, key=lambda model: model.num_bytes or 0))


def _is_complete(parts: Sequence[RemoteFile]) -> bool:
    """Return whether all parts of a split file are there."""
    named = [_PART.search(file.path) for file in parts]
    return all(part is None or int(part[2]) == len(parts) for part in named)


def _file(sibling: _Sibling) -> RemoteFile | None:
    """Return a file; None if its path could lead out of a folder, or its size is unknown."""
    path = PurePosixPath(sibling.rfilename)
    is_safe = (
        sibling.rfilename.isprintable()
        and "\\" not in sibling.rfilename
        and str(path) == sibling.rfilename
        and not path.is_absolute()
        and ".." not in path.parts
    )
    num_bytes = sibling.lfs.size if sibling.lfs else sibling.size
    if not is_safe or num_bytes is None or num_bytes < 0:
        return None
    sha256 = sibling.lfs.sha256 if sibling.lfs and re.fullmatch(r"[0-9a-f]{64}", sibling.lfs.sha256) else ""
    blob_id = sibling.blobId if not sibling.lfs and re.fullmatch(r"[0-9a-f]{40}", sibling.blobId) else ""
    return RemoteFile(path=sibling.rfilename, num_bytes=num_bytes, sha256=sha256, blob_id=blob_id)


def _model(found: _Repository, format_: Format, files: tuple[RemoteFile, ...] = (), stem: str = "") -> RemoteModel:
    """Return a model. `stem`: the path of its GGUF file, without the number of its part."""
    tags = found.tags
    num_parameters = num_bytes = context_length = None
    quantization = architecture = ""
    bits: float | None = None
    if format_ == "gguf":
        quantization = gguf_facts.kind_in(stem) or gguf_facts.kind_in(stem.replace("/", "-"))
        if found.gguf is not None:
            num_parameters, context_length = found.gguf.total, found.gguf.context_length
            architecture = one_line(found.gguf.architecture)
    else:
        packed_bits = _packed_bits(found)
        quantization = f"{packed_bits} bits" if packed_bits else _float_name(found)
        num_parameters, num_bytes = _counts(found, packed_bits)
    if files:
        num_bytes = sum(file.num_bytes for file in files)
    if num_bytes and num_parameters:
        weights = [file.num_bytes for file in files if file.path.endswith((".gguf", ".safetensors"))]
        bits = round(8 * (sum(weights) or num_bytes) / num_parameters, 2)
    gguf = next((file.path for file in files if file.path.lower().endswith(".gguf")), "") if format_ == "gguf" else ""
    return RemoteModel(
        repo=found.id,
        gguf=gguf,
        revision=found.sha if re.fullmatch(r"[0-9a-f]{40}", found.sha) else "",
        title=one_line(PurePosixPath(stem).name.removesuffix(".gguf") or found.id.rpartition("/")[2]),
        format=format_,
        files=files,
        num_bytes=num_bytes,
        architecture=architecture,
        quantization=quantization,
        bits=bits,
        context_length=context_length,
        num_parameters=num_parameters,
        licence=next((one_line(tag.removeprefix("license:"))[:60] for tag in tags if tag.startswith("license:")), ""),
        num_downloads=found.downloads,
        updated_ms=_ms(found.lastModified),
        is_gated=bool(found.gated),
    )


def _packed_bits(found: _Repository) -> int | None:
    """Return the bits of quantized weights that the name or a tag says; None if they are not quantized."""
    if found.safetensors is not None and found.safetensors.parameters and "U32" not in found.safetensors.parameters:
        return None
    named = [_MLX_BITS.search(text) for text in (found.id.rpartition("/")[2], *found.tags)]
    return next((int(bits[1]) for bits in named if bits and bits[1] in "234568"), None)


def _float_name(found: _Repository) -> str:
    counts = found.safetensors.parameters if found.safetensors else {}
    name = max(counts, key=lambda name: counts[name], default="")
    return name if name in {"BF16", "F16", "F32"} else ""


def _counts(found: _Repository, packed_bits: int | None) -> tuple[int | None, int | None]:
    """Return the number of parameters and the size of the weights in an MLX repository; None if unknown."""
    counts = found.safetensors.parameters if found.safetensors else dict[str, int]()
    if not counts or any(count < 0 for count in counts.values()):
        return None, None
    num_bytes = sum(count * _BYTES_OF.get(name, 1) for name, count in counts.items())
    if packed_bits is None:
        return (None if "U32" in counts else sum(counts.values())), num_bytes
    packed = counts.get("U32", 0) * 32 // packed_bits
    # Each group of 64 has a scale and a bias.
    return packed + max(0, sum(counts.values()) - counts.get("U32", 0) - packed // 32), num_bytes


def _ms(time_: str) -> int | None:
    try:
        return round(datetime.fromisoformat(time_).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def only(models: Iterable[RemoteModel], gguf: str) -> RemoteModel | None:
    """Return the model with this GGUF file; None without one."""
    return next((model for model in models if model.gguf == gguf), None)
