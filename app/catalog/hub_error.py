"""Failures of the hub as sentences for the user. No sentence contains a token or a signed address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, cast
from urllib.parse import urlsplit

from worker.sentence import Sentence, SentenceError

Kind: TypeAlias = Literal["offline", "unreachable", "gone", "gated", "refused", "busy", "failed", "invalid"]
"""`offline`: by a setting; `gone`: deleted, or private; `gated`: its owner must allow it; `refused`: a wrong token;
`busy`: too many requests; `failed`: an error of the server; `invalid`: what came is not what the hub sends."""


class HubError(SentenceError):
    """The hub could not be used; the sentence says what happened and what to do."""

    def __init__(self, sentence: Sentence, kind: Kind, *, wait_s: float | None = None) -> None:
        """`wait_s` is how long the server asks clients to wait, in seconds; None if it does not say."""
        super().__init__(sentence)
        self.kind = kind
        self.wait_s = wait_s

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later without the user doing anything."""
        return self.kind in {"unreachable", "busy", "failed"}


def http_error() -> type[Exception]:
    """Return the base class of the errors of huggingface_hub's HTTP library, which differs by its version."""
    from huggingface_hub.errors import HfHubHTTPError

    return cast("type[Exception]", HfHubHTTPError.__mro__[1])


def offline() -> HubError:
    """Return the failure of a request that a setting forbids."""
    return HubError(
        Sentence(
            "HF_HUB_OFFLINE is set, so Bough does not ask the hub. Models on this computer can be used. To search "
            "and download, start Bough without this variable."
        ),
        "offline",
    )


def unreachable(endpoint: str, error: BaseException) -> HubError:
    """Return the failure of a request that got no complete answer. `error` is one of the HTTP library's errors."""
    name = type(error).__name__
    if name == "ProxyError":
        sentence = Sentence(
            "The proxy does not let Bough reach {host} ({error}). Models on this computer can be used. "
            "Check HTTPS_PROXY and NO_PROXY, then try again.",
            host=host(endpoint),
            error=_reason(error),
        )
    elif "Timeout" in name:
        sentence = Sentence(
            "{host} did not answer in time. Models on this computer can be used. Try again later.", host=host(endpoint)
        )
    else:
        sentence = Sentence(
            "{host} can't be reached ({error}). Models on this computer can be used. "
            "Check the connection, then try again.",
            host=host(endpoint),
            error=_reason(error),
        )
    return HubError(sentence, "unreachable")


def refused(endpoint: str, repo: str, status: int, headers: Mapping[str, str], *, has_token: bool) -> HubError:
    """Return the failure for a response with this status (400 or more) and headers. `repo` is empty for a search."""
    code = headers.get("X-Error-Code", "")
    site = host(endpoint)
    if code == "GatedRepo" or (repo and status == 403):
        return HubError(_gated(f"{endpoint}/{repo}", repo, has_token=has_token), "gated")
    if repo and (status == 404 or code in {"RepoNotFound", "RevisionNotFound", "EntryNotFound"}):
        sentence = Sentence(
            "{repo} is not on {host}, or it is private. If it is yours, enter an access token that may read it.",
            repo=repo,
            host=site,
        )
        return HubError(sentence, "gone")
    if status in {401, 403}:
        sentence = (
            Sentence(
                "{host} does not accept the access token. Enter another one, or remove it: most models need none.",
                host=site,
            )
            if has_token
            else Sentence("{host} requires you to log in. Enter an access token, then try again.", host=site)
        )
        return HubError(sentence, "refused")
    if status == 429:
        wait_s = _wait_s(headers)
        sentence = (
            Sentence("{host} accepts no more requests for now. Try again in a few minutes.", host=site)
            if wait_s is None
            else Sentence(
                "{host} accepts no more requests for now. Try again in {num_seconds} seconds.",
                host=site,
                num_seconds=round(wait_s),
            )
        )
        return HubError(sentence, "busy", wait_s=wait_s)
    if status == 408 or status >= 500:
        sentence = Sentence(
            "{host} has a problem (HTTP {status}). Nothing was lost. Try again later.", host=site, status=str(status)
        )
        return HubError(sentence, "failed", wait_s=_wait_s(headers))
    sentence = Sentence(
        "{host} refused this request (HTTP {status}). Nothing was changed. Check for a newer version of Bough.",
        host=site,
        status=str(status),
    )
    return HubError(sentence, "invalid")


def invalid(endpoint: str) -> HubError:
    """Return the failure for a response that can't come from a hub."""
    return HubError(
        Sentence(
            "{host} does not seem to be a hub for models. Check HF_ENDPOINT and the proxy, then try again.",
            host=host(endpoint),
        ),
        "invalid",
    )


def host(endpoint: str) -> str:
    """Return the name of a hub as the user sees it."""
    return urlsplit(endpoint).netloc.rpartition("@")[2] or endpoint


def _gated(page: str, repo: str, *, has_token: bool) -> Sentence:
    if has_token:
        return Sentence(
            "The owner of {repo} decides who may download it, and your account may not yet. Open {page}, ask for "
            "access, then try again.",
            repo=repo,
            page=page,
        )
    return Sentence(
        "The owner of {repo} decides who may download it. Open {page}, log in and ask for access; then enter an "
        "access token of your account in Bough.",
        repo=repo,
        page=page,
    )


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def _wait_s(headers: Mapping[str, str]) -> float | None:
    """Return the waiting time in a response's headers, in seconds, as huggingface_hub reads it; None without one."""
    from huggingface_hub.utils import parse_ratelimit_headers

    limits = parse_ratelimit_headers(headers)
    if limits is not None and limits.remaining == 0:
        return float(limits.reset_in_seconds)
    after = headers.get("Retry-After", "").strip()
    return float(after) if after.isdigit() else None
