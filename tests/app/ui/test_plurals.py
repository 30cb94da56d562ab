"""English plurals: one message, two messages; what is not counted stays as it is written."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication

from app.ui.parts.plurals import EnglishPlurals


def test_what_is_counted_is_written_for_its_number(qapp: QApplication) -> None:
    plurals = EnglishPlurals(qapp)
    qapp.installTranslator(plurals)
    try:
        said = [QCoreApplication.translate("x", "%n message(s) in a branch(es)", "", n) for n in (0, 1, 2)]
        assert said == ["0 messages in a branches", "1 message in a branch", "2 messages in a branches"]
        assert QCoreApplication.translate("x", "It is written (s)o") == "It is written (s)o"
        assert QCoreApplication.translate("x", "… and %n more", "", 3) == "… and 3 more"
    finally:
        qapp.removeTranslator(plurals)
