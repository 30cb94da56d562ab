"""The messages between the server process and its owner, the process that has the worker: the window or `bough serve`.

The server process sends ("up") commands for the worker and a few questions to the owner. The owner sends ("down") the
worker's events and its own replies. Each message is a MessagePack frame.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from worker.protocol import Cancel, Event, Generate, ModelLoaded, Plan, Tokenize, Validate

DEFAULT_PORT = 2684
"""BOUG on the keys of a telephone."""


class ServerSettings(Struct, frozen=True, kw_only=True):
    """How the server process serves."""

    key_digest: bytes
    """The SHA-256 of the key that each request must contain. The server process never has the key itself."""
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    """The TCP port; 0 means any free port."""
    allowed_hosts: tuple[str, ...] = ()
    """Names of this machine that requests may use beside `host`."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may send requests, such as "https://example.org"; "*" means all."""
    max_body_bytes: int = 32 << 20
    max_bodies_bytes: int = 64 << 20
    """The limit for the bodies of all requests that are being answered."""
    max_dropped_bytes: int = 256 << 20
    """How much of a refused request is received and dropped, so that the client can read why it was refused."""
    max_requests: int = 64
    """The limit for requests that are answered at once, including those that wait for the worker."""
    max_connections: int = 512
    head_s: float = 15.0
    """How long a request's head may take, and how long a connection may stay without a request."""
    body_s: float = 60.0
    """How long a request's body may take."""
    write_s: float = 120.0
    """A client that reads nothing, or very little, for this long is disconnected."""
    load_s: float = 20.0
    """How long a request waits for a model that is being loaded."""
    ping_s: float = 10.0
    """A stream without events for this long gets a sign of life."""
    id_prefix: str = "api-"
    """The ids of this server's commands begin with this text."""
    aliases: tuple[str, ...] = ()
    """Patterns of names that mean the loaded model, such as "claude-*", for clients that insist on their own names."""
    drop_rules: tuple[str, ...] = ()
    """Regular expressions. Their matches are removed from system texts and from each request's first message."""
    turns: Path | None = None
    """The file in which the ids of generated turns are kept. None means that they are kept in memory until the process
    ends."""


class Client(Struct, frozen=True, kw_only=True):
    """The program that sent a request."""

    program: str = ""
    """From the User-Agent header, for example "OpenAI/Python 3.54.0"; empty without this header."""
    address: str = ""
    api: Literal["openai", "anthropic"] = "openai"

    @property
    def name(self) -> str:
        """The program's name without its version, or its address."""
        first = self.program.split(" ", 1)[0]
        return re.sub(r"/v?\d.*", "", first) or self.address


class Compared(Struct, frozen=True, kw_only=True):
    """How a request differs from the most similar one that the same client sent before."""

    is_known: bool = False
    """Whether there is an earlier request with a message in common."""
    changed: str = ""
    """The first part that differs: "tools", "system text" or "message 3 (user)". Empty if messages were only added."""
    num_known_tokens: int = 0
    """If messages were only added: how many tokens the earlier prompt had; 0 if unknown."""


class Suggested(Struct, frozen=True, kw_only=True):
    """The sampling that a model's makers suggest. None means no suggestion."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None


class ServedModel(Struct, frozen=True, kw_only=True):
    """A model that clients can name in requests."""

    id: str
    names: tuple[str, ...] = ()
    """Other names of the model: its path, its repository, its title."""
    created_s: int = 0
    """The modification time of the model's newest file, in seconds since 1970."""
    context_length: int | None = None

    def is_named(self, name: str) -> bool:
        """Return whether `name`, from a request, means this model."""
        return name == self.id or name in self.names


# --- upwards -----------------------------------------------------------------------------------------------


class Answer(Struct, frozen=True, kw_only=True, tag_field="type", tag="answer"):
    """Answer a client with the worker's model."""

    client: Client
    model: str
    """The `ServedModel.id` of the model."""
    generate: Generate
    compared: Compared = Compared()
    dropped: tuple[str, ...] = ()
    """The rules of `drop_rules` that removed a part of the request."""


class ListModels(Struct, frozen=True, kw_only=True, tag_field="type", tag="list_models"):
    """List the models on this machine. The owner replies with `ModelsListed`."""

    request_id: str


class UseModel(Struct, frozen=True, kw_only=True, tag_field="type", tag="use_model"):
    """Load a model unless it is loaded. The owner replies with `ModelUsed` once it is, or with `ModelRefused`."""

    request_id: str
    model: str
    """The model's name in the request."""


class Unremembered(Struct, frozen=True, kw_only=True):
    """The file of generated turns can't be used, so only turns generated since this start are known."""

    error: str
    file: str
    is_aside: bool
    """Whether the file was renamed to `file`, and a new one is used."""


class Listening(Struct, frozen=True, kw_only=True, tag_field="type", tag="listening"):
    """The server accepts requests."""

    host: str
    port: int
    unremembered: Unremembered | None = None


class Alive(Struct, frozen=True, kw_only=True, tag_field="type", tag="alive"):
    """The reply to `Ping`."""


class NotListening(Struct, frozen=True, kw_only=True, tag_field="type", tag="not_listening"):
    """The server can't listen, for example because another program has the port. Its process ends."""

    why: str


Up: TypeAlias = Answer | Cancel | Tokenize | Plan | Validate | ListModels | UseModel | Listening | NotListening | Alive


# --- downwards ---------------------------------------------------------------------------------------------


class ModelStatus(Struct, frozen=True, kw_only=True, tag_field="type", tag="model_status"):
    """The owner's model, sent whenever it changes."""

    state: Literal["loading", "ready", "failed", "unloaded"]
    model: ServedModel
    loaded: ModelLoaded | None = None
    """The worker's report; None unless `ready`."""
    suggested: Suggested = Suggested()
    why: str = ""
    """Why the model could not be loaded; empty if it could."""


class ModelsListed(Struct, frozen=True, kw_only=True, tag_field="type", tag="models_listed"):
    """The reply to `ListModels`."""

    request_id: str
    models: list[ServedModel]


class ModelUsed(Struct, frozen=True, kw_only=True, tag_field="type", tag="model_used"):
    """The model is loaded; a `ModelStatus` was sent before."""

    request_id: str


class ModelRefused(Struct, frozen=True, kw_only=True, tag_field="type", tag="model_refused"):
    """The model was not loaded.

    `kind`: "not_found"; "not_allowed" if the user does not let requests load models; "failed" if loading failed.
    """

    request_id: str
    kind: Literal["not_found", "not_allowed", "failed"]
    why: str


class Ping(Struct, frozen=True, kw_only=True, tag_field="type", tag="ping"):
    """Asks whether the server responds. The server replies with `Alive`."""


class Stop(Struct, frozen=True, kw_only=True, tag_field="type", tag="stop"):
    """End all streams, free the port and exit."""


Down: TypeAlias = Event | ModelStatus | ModelsListed | ModelUsed | ModelRefused | Ping | Stop

_up = msgspec.msgpack.Decoder(Up)
_down = msgspec.msgpack.Decoder(Down)
_encoder = msgspec.msgpack.Encoder()


def digest(key: str) -> bytes:
    """Return the SHA-256 of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def encoded(message: Up | Down) -> bytes:
    """Return a message as a frame."""
    return _encoder.encode(message)


def up_from(frame: bytes) -> Up:
    """Decode a frame of the server process. Raises `msgspec.MsgspecError`."""
    return _up.decode(frame)


def down_from(frame: bytes) -> Down:
    """Decode a frame of the owner. Raises `msgspec.MsgspecError`."""
    return _down.decode(frame)
