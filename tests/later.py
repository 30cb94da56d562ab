"""The official clients of the local API's protocols, imported when they are first used.

That takes 2.5 s of CPU time, which most test processes need not spend.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import anthropic as anthropic
    import openai as openai
    import openai.types.chat  # pyright: ignore[reportUnusedImport]
    import openai.types.responses  # pyright: ignore[reportUnusedImport]
else:

    class _Later:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            # pytest looks for names like `__wrapped__` in all that a module of tests contains.
            if name.startswith("_"):
                raise AttributeError(name)
            return getattr(importlib.import_module(self._name), name)

    anthropic, openai = _Later("anthropic"), _Later("openai")
