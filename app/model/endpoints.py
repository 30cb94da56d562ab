"""Endpoints: OpenAI-compatible servers that the user added, and the names of their models. Keys are not among them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Annotated, NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from msgspec import Meta, Struct, structs

from worker.sentence import Sentence, SentenceError

MAX_ENDPOINTS = 64
_PREFIX = "endpoint:"
_Text: TypeAlias = Annotated[str, Meta(max_length=4096)]
_Price: TypeAlias = Annotated[float, Meta(ge=0, le=1e6)]
_PRICE = re.compile(r"\d{1,6}(\.\d{1,9})?", re.ASCII)
_PATHS = ("/chat/completions", "/models")
"""Ends of addresses that users copy together with the address that is meant."""


class Prices(Struct, frozen=True, kw_only=True):
    """The price of a million tokens, as the user gave it."""

    prompt: _Price
    answer: _Price
    kept: _Price | None = None
    """The price of prompt tokens that the server had cached; None means the same price as for other prompt tokens."""
    currency: Annotated[str, Meta(max_length=8)] = ""

    def cost(self, prompt_tokens: int, kept_tokens: int, new_tokens: int) -> float:
        """Return the cost of an answer, in the currency. `kept_tokens` are a part of `prompt_tokens`."""
        kept = self.prompt if self.kept is None else self.kept
        return ((prompt_tokens - kept_tokens) * self.prompt + kept_tokens * kept + new_tokens * self.answer) / 1e6


def prices_of(prompt: str, kept: str, answer: str, currency: str) -> Prices | None:
    """Return the prices that a user typed; None if there are none. Raises `SentenceError`."""
    given = [_price_of(text) for text in (prompt, kept, answer)]
    if given[0] is None and given[2] is None:
        return None
    if given[0] is None or given[2] is None:
        raise SentenceError(
            Sentence(
                "Enter both the price of prompt tokens and the price of answer tokens, or neither. Nothing was saved."
            )
        )
    return Prices(prompt=given[0], kept=given[1], answer=given[2], currency=currency.strip()[:8])


def _price_of(text: str) -> float | None:
    text = text.strip().replace(",", ".")
    if not text:
        return None
    if not _PRICE.fullmatch(text):
        raise SentenceError(
            Sentence("“{text}” is not a price. A price is a number such as 0.25, for a million tokens.", text=text[:40])
        )
    return float(text)


class Facts(Struct, frozen=True, kw_only=True):
    """The known abilities of a model, as in the worker's protocol."""

    version: _Text = ""
    continued_by: _Text = ""
    keeps_end: bool = False
    has_logprobs: bool = False


class Endpoint(Struct, frozen=True, kw_only=True):
    """A server, as it is kept among the settings."""

    id: Annotated[str, Meta(pattern="^[0-9a-f]{8}$")]
    name: _Text
    url: _Text
    variable: _Text = ""
    """The environment variable that holds the key; empty if the key, if there is one, is in the system's keyring."""
    models: Annotated[tuple[_Text, ...], Meta(max_length=10_000)] = ()
    """The names by which the server knows its models, when it was last asked."""
    abilities: dict[_Text, tuple[_Text, ...]] = {}
    """By such a name, the capabilities that the model had when it was last used."""
    facts: dict[_Text, Facts] = {}
    """By such a name, what was found out about the model, so that it need not be found out at each load."""
    prices: Prices | None = None
    """None if the user gave none."""

    @property
    def host(self) -> str:
        """The host, with its port if the address names one."""
        return host_of(self.url)

    @property
    def title(self) -> str:
        """The name, with the host if the name does not say it."""
        return self.name if self.name == self.host else f"{self.name} · {self.host}"

    @property
    def model_names(self) -> tuple[str, ...]:
        """The names of the models as Bough uses them."""
        return tuple(EndpointModel(self.id, model).name for model in self.models)


class EndpointModel(NamedTuple):
    """A model of an endpoint. Its `name` is what conversations remember, and what the session takes."""

    endpoint_id: str
    model: str

    @property
    def name(self) -> str:
        return f"{_PREFIX}{self.endpoint_id}/{self.model}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Return the model of this name; None if it is no model of an endpoint."""
        if not name.startswith(_PREFIX):
            return None
        endpoint_id, _, model = name.removeprefix(_PREFIX).partition("/")
        return cls(endpoint_id, model)


def find(endpoints: Iterable[Endpoint], name: str) -> tuple[Endpoint, str] | None:
    """Return the endpoint of a model, and the name by which the server knows the model; None if there is none."""
    model = EndpointModel.parse(name)
    if model is None:
        return None
    endpoint = next((each for each in endpoints if each.id == model.endpoint_id), None)
    return None if endpoint is None else (endpoint, model.model)


def capabilities_of(endpoints: Iterable[Endpoint], name: str) -> Collection[str] | None:
    """Return the capabilities that a model had when it was last used.

    None means all capabilities: the model runs on this machine. The result is empty for a model that was never used, or
    whose server was removed.
    """
    if EndpointModel.parse(name) is None:
        return None
    found = find(endpoints, name)
    return () if found is None else found[0].abilities.get(found[1], ())


def with_abilities(
    endpoints: Iterable[Endpoint], name: str, capabilities: Iterable[str], facts: Facts | None
) -> tuple[Endpoint, ...]:
    """Return the endpoints with what one of their models can do, and what was found out about it."""
    model = EndpointModel.parse(name)
    return tuple(
        structs.replace(
            each,
            abilities=each.abilities | {model.model: tuple(sorted(capabilities))},
            facts=each.facts if facts is None else each.facts | {model.model: facts},
        )
        if model is not None and each.id == model.endpoint_id
        else each
        for each in endpoints
    )


def without_facts(endpoints: Iterable[Endpoint], name: str) -> tuple[Endpoint, ...]:
    """Return the endpoints without what was found out about one of their models, because it no longer holds."""
    model = EndpointModel.parse(name)
    return tuple(
        structs.replace(each, facts={key: facts for key, facts in each.facts.items() if key != model.model})
        if model is not None and each.id == model.endpoint_id
        else each
        for each in endpoints
    )


def shown_name(name: str) -> str:
    """Return the name of a model without the id of its endpoint."""
    model = EndpointModel.parse(name)
    return name if model is None else model.model


def host_of(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def address_of(text: str) -> str:
    """Return the address that a user typed in its usual form. Raises `SentenceError` if it can't be one."""
    text = text.strip().rstrip("/")
    if "://" not in text:
        text = f"http://{text}" if _is_local(text) else f"https://{text}"
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_valid, parts = False, urlsplit("")
    if not is_valid or any(not character.isprintable() or character.isspace() for character in text):
        raise SentenceError(
            Sentence(
                "This is not the address of a server. An address looks like http://localhost:8080/v1. Nothing was "
                "added."
            )
        )
    if parts.username or parts.password:
        raise SentenceError(
            Sentence("The address contains a password, which would be stored in a file. Enter it as the key instead.")
        )
    path = parts.path.rstrip("/")
    for end in _PATHS:
        path = path.removesuffix(end)
    return urlunsplit((parts.scheme, parts.netloc, path or "/v1", "", ""))


def _is_local(text: str) -> bool:
    return text.startswith(("localhost", "127.", "10.", "192.168.", "[::1]")) or text.partition("/")[0].partition(":")[
        0
    ].endswith(".local")
