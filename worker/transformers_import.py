"""Imports transformers, which mlx-lm needs, without reading its 1,650 source files at every start.

At each import, transformers searches its source files for the names that they export: once for the package itself, and
again for its subpackage `models`, when mlx-lm asks for a tokenizer. Both take 0.3 s. This module keeps the names in a
file beside Python's own compiled modules, and reads them from there until transformers changes. If a later version of
transformers searches in another way, this module has no effect.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from typing_extensions import override

_SEARCHING = "transformers.utils.import_utils"
"""The module that searches."""

Names = dict[frozenset[str], dict[str, set[str]]]
"""Sets of packages, and for each set the names that need it: by module, the names that it exports."""


def import_transformers() -> None:
    """Import transformers, with the names from the file."""
    prepare_import()
    import transformers  # noqa: F401 # pyright: ignore[reportUnusedImport]


def prepare_import() -> None:
    """Let a later import of transformers use the names from the file."""
    # As in mlx-lm, this keeps transformers from printing advice on other libraries.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    if _SEARCHING not in sys.modules and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def are_names_kept() -> bool:
    """Return whether the next import finds the names in a file, or can't be helped because no file can be written."""
    spec = importlib.util.find_spec("transformers")
    if spec is None or spec.origin is None:
        return True
    kept = _KeptNames.of(Path(spec.origin).parent)
    return kept.is_current() or not kept.can_be_written()


class _KeptNames(NamedTuple):
    """A file with the names. Its first line is `key`."""

    path: Path
    key: str
    """Changes with the installed version of transformers."""

    @classmethod
    def of(cls, transformers: Path) -> _KeptNames:
        """`transformers`: the folder of its package. Raises `OSError`."""
        # The file has the version. A bundle is built in one place and used in another, so neither path nor time count.
        source = (transformers / "__init__.py").read_bytes()
        path = Path(importlib.util.cache_from_source(__file__)).with_suffix(".names")
        return cls(path, hashlib.sha256(source).hexdigest())

    def is_current(self) -> bool:
        """Return whether the file exists and has the names of this version."""
        with contextlib.suppress(OSError), self.path.open("rb") as file:
            return file.readline() == self._head()
        return False

    def can_be_written(self) -> bool:
        folder = self.path.parent if self.path.parent.is_dir() else self.path.parent.parent
        return not sys.dont_write_bytecode and os.access(folder, os.W_OK)

    def read(self) -> Names | None:
        """Return the names; None if there are none of this version."""
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            head, found = self.path.read_bytes().splitlines()
            if head + b"\n" == self._head():
                return {
                    frozenset(needs): {module: set(names) for module, names in modules.items()}
                    for needs, modules in json.loads(found)
                }
        return None

    def write(self, names: Names) -> None:
        """Keep the names, if this process can write the file."""
        if not self.can_be_written():
            return
        found = [
            (sorted(needs), {module: sorted(exported) for module, exported in modules.items()})
            for needs, modules in names.items()
        ]
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(exist_ok=True)
            # Another process may read or write it at the same time.
            written = self.path.with_suffix(f".{os.getpid()}")
            written.write_bytes(self._head() + json.dumps(found).encode())
            written.replace(self.path)

    def _head(self) -> bytes:
        return json.dumps(self.key).encode() + b"\n"


class _Finder(MetaPathFinder):
    """Finds the module that searches, and lets it look for names in the file first once it is loaded."""

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _SEARCHING:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            _remember_names_after(spec.loader)
        return spec


def _remember_names_after(loader: Any) -> None:
    """Change a loader: a bundle has another one than an environment."""
    load = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        load(module)
        with contextlib.suppress(AttributeError, OSError):
            remember_names(module)

    loader.exec_module = exec_module


def remember_names(searching: Any) -> None:
    """Let transformers' module that searches for names read them from the file. It searches if there are none."""
    search = searching.define_import_structure
    package = Path(searching.__file__).parent.parent
    models = package / "models"
    kept = _KeptNames.of(package)

    def remembered(module_path: str | Path, prefix: str | None = None) -> Names:
        if Path(module_path) not in {models, models / "__init__.py"}:
            return search(module_path, prefix)
        names = kept.read()
        if names is None:
            names = search(models)
            kept.write(names)
        start = "" if prefix is None else f"{prefix}."
        # Return a copy, because the caller may change the value.
        return {
            needs: {start + module: set(exported) for module, exported in modules.items()}
            for needs, modules in names.items()
        }

    searching.define_import_structure = remembered
