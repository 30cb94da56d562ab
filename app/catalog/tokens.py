"""The user's access token for gated and private models: finds an existing token, or keeps one in the system's keyring.

A token in the environment (HF_TOKEN) or of an existing login (`hf auth login`) stays where it is. A token that the user
types in Bough is kept in the system's keyring. It is never written to a file, a log, an address or an argument.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from worker.sentence import Sentence, SentenceError

_SERVICE = "Bough"
_log = logging.getLogger(__name__)

TokenSource: TypeAlias = Literal["environment", "typed", "login", "none"]
"""`typed` means in Bough, `login` a login of huggingface_hub, which reads and refreshes the token itself."""


class TokenError(SentenceError):
    """A token can't be used."""


class KeyringError(SentenceError):
    """The system's keyring can't be used now."""


class KeptSecret:
    """One secret in the system's keyring. Its methods may wait for the keyring: call them in a thread."""

    def __init__(self, name: str, note: Path | None = None) -> None:
        """`name` is its name in the keyring.

        `note` is a file that says whether the keyring has it; None means that it may have it. Without this file, a
        locked keyring would ask even users without a secret for their password.
        """
        self._name = name
        self._note = note
        self._of_this_run: str | None = None
        self._is_read = False

    @property
    def may_exist(self) -> bool:
        """Whether there is a secret, as far as is known without a look into the keyring. This waits for nothing."""
        return self._of_this_run is not None or (not self._is_read and (self._note is None or self._note.exists()))

    @property
    def text(self) -> str | None:
        """The secret; None if there is none, or if the keyring can't be read."""
        try:
            return self.read()
        except KeyringError:
            # The system should not ask for the keyring's password again and again.
            self._is_read = True
            return None

    def read(self) -> str | None:
        """Return the secret; None if there is none. Raises `KeyringError` if the keyring can't be read."""
        if not self._is_read:
            self._of_this_run, self._is_read = self._kept(), True
        return self._of_this_run

    def keep(self, text: str) -> bool:
        """Keep the secret. Return whether the keyring has it; otherwise it is kept until Bough ends."""
        self._of_this_run, self._is_read = text, True
        # Most starts need no keyring; on Linux its import takes a tenth of a second.
        import keyring
        from keyring.errors import KeyringError as Error

        try:
            keyring.set_password(_SERVICE, self._name, text)
            if self._note is not None:
                self._note.parent.mkdir(parents=True, exist_ok=True)
                self._note.touch(mode=0o600)
        except (Error, OSError, RuntimeError) as error:
            _log.info("No secret was kept: %s", type(error).__name__)
            return False
        return True

    def forget(self) -> None:
        """Remove the secret. Raises `KeyringError` if the keyring still has it; it is then not used in this run."""
        self._of_this_run, self._is_read = None, True
        import keyring
        from keyring.errors import KeyringError as Error
        from keyring.errors import NoKeyringError

        try:
            keyring.delete_password(_SERVICE, self._name)
        except NoKeyringError:
            # Nothing can be kept there.
            return
        except (Error, OSError, RuntimeError) as error:
            # Keyrings also refuse to remove what they do not have.
            _log.info("No secret was removed: %s", type(error).__name__)
            if self._kept() is not None:
                raise _unusable(error) from None
        if self._note is not None:
            self._note.unlink(missing_ok=True)

    def _kept(self) -> str | None:
        if self._note is not None and not self._note.exists():
            return None
        import keyring
        from keyring.errors import KeyringError as Error

        try:
            return keyring.get_password(_SERVICE, self._name)
        except (Error, OSError, RuntimeError) as error:
            _log.info("The keyring can't be read: %s", type(error).__name__)
            raise _unusable(error) from None


def _unusable(error: Exception) -> KeyringError:
    return KeyringError(
        Sentence("This system's keyring is locked or can't be used ({error}).", error=type(error).__name__)
    )


class Tokens:
    """The token of one hub. Its methods may wait for the keyring: call them in a thread."""

    def __init__(self, endpoint: str, note: Path | None = None) -> None:
        """`note` is a file that says whether the keyring has a token; None means that it may have one.

        Without this file, a locked keyring would ask even users without a token for their password.
        """
        # A token for one hub must not be sent to another one.
        self._secret = KeptSecret(urlsplit(endpoint).netloc.rpartition("@")[2], note)

    @property
    def token(self) -> str | None:
        """The token to send.

        None lets huggingface_hub use a token in the environment or of a login, if there is one.
        """
        if _of_environment():
            return None
        return self._secret.text

    @property
    def source(self) -> TokenSource:
        """The source of the token that is sent."""
        if _of_environment():
            return "environment"
        if self.token is not None:
            return "typed"
        from huggingface_hub import get_token

        return "none" if get_token() is None else "login"

    def enter(self, text: str) -> Sentence | None:
        """Keep a token that the user typed. Return a sentence if it is kept only until Bough ends.

        Raises `TokenError` if it can't be a token.
        """
        token = text.strip()
        if not token or not token.isascii() or not token.isprintable() or " " in token or len(token) > 1000:
            raise TokenError(
                Sentence("This is not an access token. Copy the whole token from the page of your account.")
            )
        if self._secret.keep(token):
            return None
        return Sentence(
            "This system has no keyring that Bough can use, so the access token is kept only until Bough ends."
        )

    def forget(self) -> None:
        """Remove the token that the user typed. Tokens in the environment or of a login are kept."""
        self._secret.forget()


def _of_environment() -> bool:
    return bool((os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN") or "").strip())
