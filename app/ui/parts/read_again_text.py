"""Which part of a request of another program was read again, as text."""

from __future__ import annotations

import re

from PySide6.QtCore import QCoreApplication

translate = QCoreApplication.translate


def why_read_again(part: str) -> str:
    """Return a sentence on the first part of a request that had changed; empty if none had. See `Record.read_again`."""
    number = re.match(r"message (\d+)", part)
    if part == "tools":
        return translate("ReadAgain", "Its tools had changed since its last request, so what follows was read again.")
    if part == "not kept":
        return translate("ReadAgain", "It was read again, because it was no longer kept or the template changes it.")
    if number is not None:
        text = translate(
            "ReadAgain", "Its message {} had changed since its last request, so what follows was read again."
        )
        return text.format(number[1])
    if part:
        return translate(
            "ReadAgain", "Its system text had changed since its last request, so what follows was read again."
        )
    return ""


def changed_part(part: str) -> str:
    """Return the same in two or three words."""
    number = re.match(r"message (\d+)", part)
    if part == "tools":
        return translate("ReadAgain", "tools changed")
    if part == "not kept":
        return translate("ReadAgain", "no longer kept")
    if number is not None:
        return translate("ReadAgain", "message {} changed").format(number[1])
    return translate("ReadAgain", "system text changed") if part else ""
