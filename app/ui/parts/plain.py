"""Text that somebody chose (a name, a path), shown as it is where Qt would look for markup or mnemonics in it."""

from __future__ import annotations

import html


def as_tool_tip(text: str) -> str:
    """Return `text` for a tool tip: Qt takes one that looks like HTML for HTML; screen readers read it as it is."""
    return f"<span>{html.escape(text)}</span>" if "<" in text else text


def as_label(text: str) -> str:
    """Return `text` for a button or a menu: Qt takes an ampersand there for the mark of a mnemonic."""
    return text.replace("&", "&&")
