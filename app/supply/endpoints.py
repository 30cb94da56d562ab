"""The servers that the user added: checked in the background, kept among the settings, their keys in the keyring."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import ValidationError, convert, structs
from PySide6.QtCore import QObject, Signal

from app.archive.archive import Steps, Task
from app.catalog.entry import LocalModel
from app.catalog.tokens import KeptSecret, KeyringError
from app.model.endpoints import MAX_ENDPOINTS, Endpoint, Facts, Prices, address_of, find, host_of
from app.preferences import Preferences
from worker import protocol
from worker.protocol import CheckEndpoint, EndpointChecked, Failed, Secret
from worker.sentence import Sentence, SentenceError

_CHECK_S = 60.0
"""How long a server may send nothing while it is checked. It may have to load its model."""
_VARIABLE = re.compile(r"\$?([A-Z_][A-Z0-9_]{2,})")
"""The name of an environment variable, which the user enters in place of a key."""


class Entered(NamedTuple):
    """The fields in which the user describes a server."""

    url: str
    key: str | None = None
    """A key, or the name of an environment variable. Empty means no key, None means the key that Bough already has for
    the server."""
    name: str = ""
    """The server's name. If empty, it is named by its host."""
    prices: Prices | None = None


class Added(NamedTuple):
    """A server that was checked."""

    endpoint: Endpoint
    is_key_kept: bool
    """Whether its key, if it has one, is kept after Bough ends. Without a keyring, it is not."""


class Endpoints(QObject):
    """Adds, changes and removes endpoints."""

    changed = Signal()
    replaced = Signal(str)
    """The id of an endpoint whose address, key or models may have changed."""
    failed = Signal(object)
    """A `Sentence` about a key that is still in the keyring."""

    def __init__(self, preferences: Preferences, run: Callable[[Callable[[], Steps]], Task], notes: Path) -> None:
        """`run` starts a background task. `notes` is a folder for files that say which keys the keyring has."""
        super().__init__()
        self._preferences = preferences
        self._run = run
        self._notes = notes
        self._secrets: dict[str, KeptSecret] = {}

    @property
    def all(self) -> Sequence[Endpoint]:
        return self._preferences.settings.endpoints

    def of(self, name: str) -> protocol.Endpoint | None:
        """Return the server of a model in the worker's form, without its key; None if there is no such server."""
        found = find(self.all, name)
        return None if found is None else _sent(found[0], "", found[1])

    def read_key(self, name: str, then: Callable[[Secret | Sentence | None], None]) -> None:
        """Read the key of a model's server, and call `then` with the key, or with a sentence if it can't be read.

        The system may ask the user for the keyring's password, so a thread waits for it. Without a key, `then` is
        called before this returns.
        """
        found = find(self.all, name)
        if found is None or not (found[0].variable or self._secret(found[0]).may_exist):
            then(None)
            return

        def steps() -> Steps:
            yield 0
            return self._read_key(found[0])

        task = self._run(steps)
        task.done.connect(then)
        task.failed.connect(then)

    def has_key(self, endpoint: Endpoint) -> bool:
        """Return whether a key in the keyring is sent to a server, as far as that is known without asking for it."""
        return not endpoint.variable and self._secret(endpoint).may_exist

    def host_of(self, name: str) -> str:
        """Return the host that gets the messages for a model; empty for a model of this machine."""
        found = find(self.all, name)
        return "" if found is None else found[0].host

    def add(self, entered: Entered, replaced: str = "") -> Task:
        """Check a server in the background. The task's result is an `Added`, which is then kept.

        `replaced` is the id of the endpoint that is changed; empty adds one. The task fails with a sentence if the
        server or its key can't be used. Then nothing is changed.
        """
        before = next((each for each in self.all if each.id == replaced), None)
        known = len(self.all)

        def steps() -> Steps:
            yield 0
            if before is None and known >= MAX_ENDPOINTS:
                raise SentenceError(
                    Sentence("Bough keeps at most {num} servers. Remove one, then add this one.", num=MAX_ENDPOINTS)
                )
            address = address_of(entered.url)
            key = None if entered.key is None else entered.key.strip()
            endpoint = Endpoint(
                id=replaced or os.urandom(4).hex(),
                name=entered.name.strip() or host_of(address),
                url=address,
                variable="" if key is None else _variable_in(key),
                prices=entered.prices,
            )
            if before is not None and before.url == endpoint.url:
                endpoint = structs.replace(endpoint, abilities=before.abilities, facts=before.facts)
            if before is not None and before.host != endpoint.host and key is None and self._may_have_key(before):
                raise SentenceError(
                    Sentence("The key of {host} is not sent to another server. Enter the key again.", host=before.host)
                )
            if key is None and before is not None:
                endpoint = structs.replace(endpoint, variable=before.variable)
            is_unchanged = key is None or bool(endpoint.variable)
            secret = self._read_key(endpoint) if is_unchanged else Secret(text=key or "") if key else None
            found = _listed(_sent(endpoint, "" if secret is None else secret.text))
            is_kept = True
            if before is not None and self.has_key(before) and (key is not None or before.host != endpoint.host):
                self._secret(before).forget()
            if key and not endpoint.variable:
                is_kept = self._secret(endpoint).keep(key)
            return Added(structs.replace(endpoint, models=tuple(found)), is_kept)

        task = self._run(steps)
        task.done.connect(self._keep)
        return task

    def remove(self, endpoint: Endpoint) -> None:
        """Forget a server and its key. Conversations keep its answers."""
        self._change(tuple(each for each in self.all if each.id != endpoint.id))
        if self.has_key(endpoint):
            self._run(partial(self._forget, endpoint)).failed.connect(self.failed)

    def _forget(self, endpoint: Endpoint) -> Steps:
        yield 0
        try:
            self._secret(endpoint).forget()
        except KeyringError as error:
            raise SentenceError(
                Sentence(
                    "{server} was removed, but its key is still in the keyring: {why} Unlock the keyring, and delete "
                    "the entry “{entry}” of Bough there.",
                    server=endpoint.name,
                    why=error.sentence,
                    entry=_entry_of(endpoint),
                )
            ) from None

    def _keep(self, added: Added) -> None:
        endpoint = added.endpoint
        others = {each.id: each for each in self.all}
        self._change(tuple((others | {endpoint.id: endpoint}).values()))
        self.replaced.emit(endpoint.id)

    def _change(self, endpoints: tuple[Endpoint, ...]) -> None:
        self._preferences.change(endpoints=endpoints)
        self.changed.emit()

    def _may_have_key(self, endpoint: Endpoint) -> bool:
        return bool(endpoint.variable) or self.has_key(endpoint)

    def _read_key(self, endpoint: Endpoint) -> Secret | None:
        """Return the key of a server; None if it has none. Called in threads. Raises `SentenceError`."""
        if endpoint.variable:
            return Secret(text=_value_of(endpoint.variable))
        try:
            text = self._secret(endpoint).read()
        except KeyringError as error:
            raise SentenceError(
                Sentence(
                    "The key of {server} can't be read: {why} Nothing was sent. Unlock the keyring, then choose the "
                    "model again; or edit the endpoint, and name an environment variable in place of the key.",
                    server=endpoint.name,
                    why=error.sentence,
                )
            ) from None
        return Secret(text=text) if text else None

    def _secret(self, endpoint: Endpoint) -> KeptSecret:
        name = _entry_of(endpoint)
        if name not in self._secrets:
            self._secrets[name] = KeptSecret(name, self._notes / f"endpoint-{endpoint.id}-key-is-kept")
        return self._secrets[name]


def models_of(endpoint: Endpoint) -> list[LocalModel]:
    """Return the models of a server, to be listed beside those of this machine."""
    return [
        LocalModel(
            name=name,
            title=title,
            path=Path(),
            source="",
            format="none",
            num_bytes=0,
            host=endpoint.host,
            about=Sentence("It runs on {host}. Conversations with it are sent there.", host=endpoint.host),
            upkeep=("edit_endpoint", "remove_endpoint"),
        )
        for name, title in zip(endpoint.model_names, endpoint.models, strict=True)
    ]


def _entry_of(endpoint: Endpoint) -> str:
    """Return the name of a server's key in the keyring. A key for one host must not be sent to another one."""
    return f"{endpoint.id} {endpoint.host}"


def _value_of(variable: str) -> str:
    """Return the key in an environment variable. Raises `SentenceError` if there is none."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise SentenceError(
            Sentence(
                "The environment variable {name} is not set, or empty. Set it and start Bough again, or enter the "
                "key itself.",
                name=variable,
            )
        )
    return key


def _variable_in(text: str) -> str:
    """Return the environment variable that a text names in place of a key; empty if it names none.

    Raises `SentenceError` if the text is neither a key nor the name of a variable that is set.
    """
    found = _VARIABLE.fullmatch(text)
    if found is not None and (text.startswith("$") or found[1] in os.environ):
        _value_of(found[1])
        return found[1]
    if not text.isascii() or not text.isprintable() or " " in text or len(text) > 4096:
        raise SentenceError(
            Sentence("This is not a key. Copy the whole key from the server's page. Nothing was added.")
        )
    return ""


def _sent(endpoint: Endpoint, key: str, model: str = "") -> protocol.Endpoint:
    return protocol.Endpoint(
        url=endpoint.url,
        name=endpoint.name,
        model=model,
        key=Secret(text=key) if key else None,
        known=_known(endpoint.facts.get(model)),
    )


def _known(facts: Facts | None) -> protocol.ServerFacts | None:
    """Return what was found out about a model; None if nothing was, or a newer version of Bough wrote it."""
    with contextlib.suppress(ValidationError):
        return None if facts is None else convert(facts, protocol.ServerFacts, from_attributes=True)
    return None


def _listed(endpoint: protocol.Endpoint) -> Sequence[str]:
    """Ask a server for its models, in a process of its own. Raises `SentenceError`."""
    from worker.endpoints.process import start_client
    from worker.process import WorkerExitedError

    client = start_client()
    try:
        patient = structs.replace(endpoint, silence_s=_CHECK_S)
        client.send(CheckEndpoint(request_id="list", endpoint=patient))
        match client.receive():
            case EndpointChecked(models=models):
                return models
            case Failed() as failed:
                raise SentenceError(failed.sentence)
            case _:
                raise _stopped()
    except WorkerExitedError:
        raise _stopped() from None
    finally:
        client.stop()


def _stopped() -> SentenceError:
    return SentenceError(
        Sentence("The process that checks the server stopped unexpectedly. Nothing was added. Try again.")
    )
