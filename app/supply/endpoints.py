"""The servers that the user added: checked in the background, kept among the settings, their keys in the keyring."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import structs
from PySide6.QtCore import QObject, Signal

from app.archive.archive import Steps, Task
from app.catalog.entry import LocalModel
from app.catalog.tokens import KeptSecret
from app.model.endpoints import MAX_ENDPOINTS, Endpoint, address_of, find, host_of
from app.preferences import Preferences
from worker import protocol
from worker.protocol import CheckEndpoint, EndpointChecked, Failed, Secret
from worker.sentence import Sentence, SentenceError

_CHECK_S = 60.0
"""How long a server may send nothing while it is checked. It may have to load its model."""
_VARIABLE = re.compile(r"\$?([A-Z_][A-Z0-9_]{2,})")
"""The name of an environment variable, which the user enters in place of a key."""


class Added(NamedTuple):
    """A server that was checked."""

    endpoint: Endpoint
    is_key_kept: bool
    """Whether its key, if there is one, outlives this run of Bough. It does not on a system without a keyring."""


class Endpoints(QObject):
    """Adds, changes and removes endpoints."""

    changed = Signal()

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
        """Return the server of a model, with its key, as the worker takes it; None if there is no such server."""
        found = find(self.all, name)
        if found is None:
            return None
        endpoint, model = found
        return _sent(endpoint, self._key(endpoint), model)

    def host_of(self, name: str) -> str:
        """Return the host that gets the messages for a model; empty for a model of this machine."""
        found = find(self.all, name)
        return "" if found is None else found[0].host

    def add(self, url: str, key: str, name: str, replaced: str = "") -> Task:
        """Check a server in the background. The task's result is an `Added`, which is then kept.

        `key` may be empty, or name an environment variable. `name` may be empty. `replaced` is the id of the endpoint
        that is changed; its key stays if `key` is empty. The task fails with a sentence if the server can't be used.
        """
        before = next((each for each in self.all if each.id == replaced), None)
        known = len(self.all)

        def steps() -> Steps:
            yield 0
            if before is None and known >= MAX_ENDPOINTS:
                raise SentenceError(
                    Sentence("Bough keeps at most {num} servers. Remove one, then add this one.", num=MAX_ENDPOINTS)
                )
            address = address_of(url)
            entered = key.strip()
            variable = _variable_in(entered)
            endpoint = Endpoint(
                id=replaced or os.urandom(4).hex(),
                name=name.strip() or host_of(address),
                url=address,
                variable=variable,
            )
            if not entered and before is not None and before.host == endpoint.host:
                endpoint = structs.replace(endpoint, variable=before.variable)
                entered = "" if before.variable else self._key(before)
            found = _listed(_sent(endpoint, self._key(endpoint) if endpoint.variable else entered))
            is_kept = endpoint.variable or not entered or self._secret(endpoint).keep(entered)
            return Added(structs.replace(endpoint, models=tuple(found)), bool(is_kept))

        task = self._run(steps)
        task.done.connect(self._keep)
        return task

    def remove(self, endpoint: Endpoint) -> None:
        """Forget a server and its key. Conversations keep its answers."""
        self._change(tuple(each for each in self.all if each.id != endpoint.id))
        if not endpoint.variable:
            self._run(partial(self._forget, endpoint))

    def _forget(self, endpoint: Endpoint) -> Steps:
        yield 0
        self._secret(endpoint).forget()

    def _keep(self, added: Added) -> None:
        endpoint = added.endpoint
        others = {each.id: each for each in self.all}
        self._change(tuple((others | {endpoint.id: endpoint}).values()))

    def _change(self, endpoints: tuple[Endpoint, ...]) -> None:
        self._preferences.change(endpoints=endpoints)
        self.changed.emit()

    def _key(self, endpoint: Endpoint) -> str:
        if endpoint.variable:
            return os.environ.get(endpoint.variable, "").strip()
        return self._secret(endpoint).text or ""

    def _secret(self, endpoint: Endpoint) -> KeptSecret:
        # A key for one host must not be sent to another one.
        name = f"{endpoint.id} {endpoint.host}"
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


def _variable_in(text: str) -> str:
    """Return the environment variable that a text names in place of a key; empty if it names none.

    Raises `SentenceError` if the text is neither a key nor the name of a variable that is set.
    """
    found = _VARIABLE.fullmatch(text)
    if found is not None and (text.startswith("$") or found[1] in os.environ):
        if not os.environ.get(found[1], "").strip():
            raise SentenceError(
                Sentence(
                    "The environment variable {name} is not set, or empty. Set it and start Bough again, or enter the "
                    "key itself.",
                    name=found[1],
                )
            )
        return found[1]
    if not text.isascii() or not text.isprintable() or " " in text or len(text) > 4096:
        raise SentenceError(Sentence("This is no key. Copy it whole from the server's page. Nothing was added."))
    return ""


def _sent(endpoint: Endpoint, key: str, model: str = "") -> protocol.Endpoint:
    return protocol.Endpoint(url=endpoint.url, name=endpoint.name, model=model, key=Secret(text=key) if key else None)


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
        Sentence("The process that asks the server stopped unexpectedly. Nothing was added. Try again.")
    )
