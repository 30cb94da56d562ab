"""English plurals: one message, two messages."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QTranslator
from PySide6.QtWidgets import QApplication

from app.ui.languages import install_english_plurals


def test_a_counted_text_is_written_for_its_number(qapp: QApplication) -> None:
    install_english_plurals(qapp)
    try:
        translated = [QCoreApplication.translate("DialogCommands", "%n message(s)", "", n) for n in (0, 1, 2)]
        assert translated == ["0 messages", "1 message", "2 messages"]
        assert QCoreApplication.translate("DialogCommands", "There is nothing to export yet.") == (
            "There is nothing to export yet."
        )
    finally:
        for translator in qapp.findChildren(QTranslator):
            qapp.removeTranslator(translator)
            translator.deleteLater()
