"""Searches the hub for models that Bough can use, and describes them. Each call waits for the network: use a thread.

huggingface_hub gives the connection (with its proxies, certificates and offline mode) and the headers with the token.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct

from app.catalog.entry import RemoteModel
from app.catalog.hub_error import HubError, http_error, invalid, offline, refused, unreachable
from app.catalog.repository import REPO_NAME, UNREADABLE, hit_of, models_in, read_repository, with_config, with_head
from app.catalog.tokens import Tokens
from worker.printable import one_line
from worker.sentence import Sentence

PAGE_SIZE = 30
_MAX_HITS = 100
"""The number of hits per page. If a server sends more, the rest is ignored."""
TIMEOUT_S = 10.0
"""How long to wait for a connection, and for each piece of a response. A whole response may take twice as long."""
_MAX_CONFIG_BYTES = 8 << 20
_HEAD_BYTES = 1 << 18
"""The values at the beginning of a GGUF file, and sometimes a chat template, have a few thousand bytes."""
_MAX_ANSWER_BYTES = 32 << 20
"""The maximum size of a response. The details of repositories with thousands of files need a tenth of it."""
_FIRST_AUTHOR = "mlx-community"
_NOTE = "token_in_keyring"

_LISTED = ("downloads", "gated", "gguf", "lastModified", "safetensors", "sha", "tags")


class Hits(Struct, frozen=True):
    """A page of search results."""

    models: tuple[RemoteModel, ...] = ()
    """The models found, without their files. A GGUF repository is one hit, even if it contains several models."""
    more: tuple[str, ...] = ()
    """The address of the next page, for `Hub.search_more`; empty on the last page."""


class Hub:
    """The hub: the server that HF_ENDPOINT names, or huggingface.co."""

    def __init__(
        self,
        endpoint: str = "",
        tokens: Tokens | None = None,
        *,
        data: Path | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """`endpoint` is the address of another hub. `tokens` of None means the user's own token.

        `data` is Bough's data folder, where a file says whether the keyring has a token; None means that it may.
        """
        self.endpoint = (endpoint or os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
        self.tokens = tokens or Tokens(self.endpoint, data / _NOTE if data else None)
        self._timeout_s = timeout_s

    @property
    def is_offline(self) -> bool:
        """Whether a setting (HF_HUB_OFFLINE) forbids all requests."""
        names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
        return next((os.environ[name] for name in names if os.environ.get(name)), "").upper() in {
            "1", "ON", "YES", "TRUE",
        }  # fmt: skip

    def search(self, words: str) -> Hits:
        """Return the models whose repository's name contains all words; without words, the most downloaded ones.

        Models of mlx-community come first, then other MLX models, then GGUF models; each kind sorted by downloads.
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
        """Return the models in a repository with the files to download: one model in MLX format, or all GGUF models.

        `revision` is a commit, a branch or a tag; empty means the newest commit. Raises `HubError`, also if the
        repository has no model.
        """
        if not REPO_NAME.fullmatch(repo):
            raise HubError(
                Sentence("“{repo}” does not name a repository. Enter it as owner/name.", repo=one_line(repo)[:200]),
                "gone",
            )
        address = f"{self.endpoint}/api/models/{repo}" + (f"/revision/{revision}" if revision else "")
        body, _ = self._get(address, {"blobs": "True"}, repo)
        try:
            described = read_repository(body)
        except UNREADABLE as error:
            raise invalid(self.endpoint) from error
        if described.id.lower() != repo.lower():
            described.id = repo if not REPO_NAME.fullmatch(described.id) else described.id
        models = models_in(described)
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
        """Return the models with the facts from their own files. Raises `HubError`."""
        first = models[0]
        address = f"{self.endpoint}/{first.repo}/resolve/{first.revision or 'main'}"
        if first.format == "mlx":
            config, _ = self._get(f"{address}/config.json", None, first.repo, max_bytes=_MAX_CONFIG_BYTES)
            return (with_config(first, config),)
        # All quantizations in a repository are of the same model.
        head, _ = self._get(f"{address}/{quote(first.gguf)}", None, first.repo, max_bytes=_HEAD_BYTES)
        return tuple(with_head(models, head))

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
        except UNREADABLE as error:
            raise invalid(self.endpoint) from error
        return [hit for raw in found[:_MAX_HITS] if (hit := hit_of(raw)) is not None], following

    def _get(
        self, address: str, parameters: Mapping[str, Any] | None, repo: str = "", *, max_bytes: int = 0
    ) -> tuple[bytes, str]:
        """Return the body of a response, and the address of the next page (empty if there is none).

        `max_bytes` is how much of the body is read; 0 means all. Raises `HubError`.
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
    """Return the model of a repository to use by default. Among GGUF models it is the one nearest to 4 bits."""
    ranks = ("Q4_K_M", "Q4_K_S", "Q4_0", "Q4_1", "Q4_K_L", "Q5_K_M", "Q5_K_S", "Q8_0", "Q6_K", "BF16", "F16", "FP16")
    order = {name: rank for rank, name in enumerate(ranks)}
    return min(models, key=lambda model: order.get(model.quantization, len(ranks)))


def model_of_key(text: str) -> RemoteModel | None:
    """Return the model that the user names: "owner/name", "owner/name:file.gguf", or the address of its page.

    None means that the text does not name a model. The result has only the model's name.
    """
    path = re.sub(r"^https?://[^/]+/", "", text.strip()).rstrip("/")
    repo, _, gguf = path.partition(":")
    if named := re.match(r"([^/]+/[^/]+)/(?:tree|blob|resolve)/[^/]+/?(.*)$", path):
        repo, gguf = named[1], named[2] if named[2].lower().endswith(".gguf") else ""
    if not REPO_NAME.fullmatch(repo):
        return None
    return RemoteModel(repo=repo, gguf=gguf, title=repo.rpartition("/")[2], format="gguf" if gguf else "mlx")


def only(models: Iterable[RemoteModel], gguf: str) -> RemoteModel | None:
    """Return the model that has this GGUF file; None if there is none."""
    return next((model for model in models if model.gguf == gguf), None)
