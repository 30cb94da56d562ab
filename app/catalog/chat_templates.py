"""Chat templates for models whose folders have none. They are kept in Bough's own folder, not in the model's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.model.own_files import make_folder
from worker.regular_file import read_regular
from worker.sentence import Sentence

PLAIN = (
    "{% for message in messages %}{{ message['role'] | capitalize }}:\n{{ message['content'] }}{{ eos_token }}\n\n"
    "{% endfor %}{% if add_generation_prompt %}Assistant:\n{% endif %}"
)
"""Each message ends with the model's own end token, so the model sees that an answer ends with it, too."""
_MAX_BYTES = 1 << 20


class ChatTemplates:
    """One file for each model. The user may edit the files."""

    def __init__(self, folder: Path, report: Callable[[Sentence], None] = lambda _: None) -> None:
        """`report` is called with a sentence about each template that can't be read."""
        self.folder = folder
        self._report = report

    def of(self, name: str) -> str | None:
        """Return the template for a model; None if there is none, or if it can't be read."""
        file = self._file(name)
        try:
            return read_regular(file, _MAX_BYTES).decode("utf-8") or None
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self._report(
                Sentence(
                    "The chat template that you chose for “{model}” can't be read ({error}), so the model runs "
                    "without one. The file is {file}. Choose a template again on the model's page.",
                    model=name,
                    error=error,
                    file=file,
                )
            )
            return None

    def use_plain(self, name: str) -> None:
        """Use the plain template for a model from now on. Raises `OSError`."""
        make_folder(self.folder)
        self._file(name).write_text(PLAIN, encoding="utf-8")

    def use_none(self, name: str) -> None:
        """Use no template for a model from now on. Raises `OSError`."""
        self._file(name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        # The first picture does not need it.
        import hashlib

        # A model's name may be a path.
        key = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self.folder / f"{key[:16]}.jinja"
