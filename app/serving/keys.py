"""The key of the local API: from the environment, from the system's keyring, or generated for this start."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from worker.sentence import Sentence, SentenceError

VARIABLE = "BOUGH_API_KEY"
_SERVICE = "Bough"
_NAME = "local API"
_log = logging.getLogger(__name__)


class KeyProblemError(SentenceError):
    """A key can't be used."""


class Key(NamedTuple):
    """A key. It is shown only on the terminal and in the settings window."""

    text: str
    source: Literal["environment", "keyring", "made"]

    def __repr__(self) -> str:
        return f"Key({self.source})"


def find_key(note: Path, environment: Mapping[str, str] = os.environ) -> Key:
    """Return the key to serve with. May wait for the keyring: call it in a thread. Raises `KeyProblemError`.

    `note`: a file whose existence means that the keyring has a key. Without this file the keyring is not opened,
    because a locked one would ask the user for its password.
    """
    given = environment.get(VARIABLE, "")
    if given:
        if not given.isascii() or not given.isprintable() or " " in given:
            raise KeyProblemError(
                Sentence("The key in {variable} has characters that a request can't contain.", variable=VARIABLE)
            )
        return Key(given, "environment")
    kept = _kept() if note.exists() else None
    return Key(made_key(), "made") if kept is None else Key(kept, "keyring")


def made_key() -> str:
    """Return a new random key."""
    return f"bough-{secrets.token_urlsafe(24)}"


def keep_key(text: str, note: Path) -> bool:
    """Save a key in the system's keyring. Return whether it was saved. May wait for the keyring."""
    import keyring
    from keyring.errors import KeyringError

    try:
        keyring.set_password(_SERVICE, _NAME, text)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch(mode=0o600)
    except (KeyringError, OSError, RuntimeError) as error:
        _log.info("No key was kept: %s", type(error).__name__)
        return False
    return True


def _kept() -> str | None:
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(_SERVICE, _NAME)
    except (KeyringError, OSError, RuntimeError) as error:
        _log.info("The keyring can't be read: %s", type(error).__name__)
        return None
