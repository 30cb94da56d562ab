"""Texts about the parts of other programs' requests that the model processed again although they were cached before."""

from __future__ import annotations

import re

from PySide6.QtCore import QCoreApplication

translate = QCoreApplication.translate


def why_read_again(part: str) -> str:
    """Return a sentence that says why a part of a prompt was processed again; empty if none was.

    `part` is the value of `Record.read_again`.
    """
    number = re.match(r"message (\d+)", part)
    if part == "tools":
        return translate(
            "ReadAgain", "The tools had changed since the last request, so all text after them was read again."
        )
    if part == "not kept":
        return translate(
            "ReadAgain", "The prompt was read again: it was no longer kept, or the chat template changed it."
        )
    if number is not None:
        text = translate(
            "ReadAgain", "Message {} had changed since the last request, so all text from there on was read again."
        )
        return text.format(number[1])
    if part:
        return translate(
            "ReadAgain", "The system text had changed since the last request, so all text from there on was read again."
        )
    return ""


def changed_part(part: str) -> str:
    """Return the reason in two or three words; empty if nothing was processed again."""
    number = re.match(r"message (\d+)", part)
    if part == "tools":
        return translate("ReadAgain", "tools changed")
    if part == "not kept":
        return translate("ReadAgain", "no longer kept")
    if number is not None:
        return translate("ReadAgain", "message {} changed").format(number[1])
    return translate("ReadAgain", "system text changed") if part else ""
