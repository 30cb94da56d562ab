"""The `import` of before in the place of PySide6's, for everything that is imported after this.

PySide6 puts one there that reads the source of each module that is imported, and keeps it, to know where its
`from __feature__ import …` may work. Bough uses none of that, and a good part of its start would be spent so.
"""

from __future__ import annotations

import builtins
import importlib

# It is what puts its `import` there.
importlib.import_module("PySide6.QtCore")
builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)
