"""Imports transformers, which mlx-lm needs, without reading its 3,300 source files twice."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, cast


def import_transformers() -> None:
    """Import transformers. This takes a quarter of a second less than importing it with mlx-lm.

    transformers searches all its source files for the names that they export: once for the package itself, and again
    for its subpackage `models`, when mlx-lm asks for a tokenizer. This gives the second search the result of the
    first. If a later version of transformers searches in another way, nothing is gained and nothing breaks.
    """
    # As mlx-lm does: transformers prints no advice on other libraries.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    import transformers

    with contextlib.suppress(AttributeError):
        utils = cast("Any", transformers).utils.import_utils
        search = utils.define_import_structure
        folder = Path(transformers.__file__).parent / "models"

        def search_once(module_path: str | Path, prefix: str | None = None) -> object:
            if prefix is not None or Path(module_path).parent != folder:
                return search(module_path, prefix)
            # The same arguments as in the first search, whose result is kept. The package has added its own modules.
            found = search(folder, prefix="models")
            start = "models."
            return {
                needs: {
                    module.removeprefix(start): names for module, names in modules.items() if module.startswith(start)
                }
                for needs, modules in found.items()
            }

        utils.define_import_structure = search_once
