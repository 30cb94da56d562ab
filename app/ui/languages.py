"""The languages of the user interface. Independent of widgets."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

import resources

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""The name of each language in that language, by its code."""

# Not through importlib.resources, because importing it would delay the first picture.
_FOLDER = str(Path(resources.__path__[0]) / "translations")


def language_in_use(chosen: str) -> str:
    """Return the code of the language to use: the chosen one, else the first supported one of the system."""
    if chosen in LANGUAGES:
        return chosen
    wanted = (name.partition("-")[0] for name in QLocale.system().uiLanguages())
    return next((code for code in wanted if code in LANGUAGES), "en")


class Language:
    """The language of the program. Texts that are already shown keep their language until their widgets are rebuilt."""

    def __init__(self) -> None:
        self.code = "en"
        QLocale.setDefault(_locale(self.code))
        self._translators: list[QTranslator] = []

    def switch_to(self, code: str) -> bool:
        """Switch to a language; return whether it differs from the current one."""
        if code == self.code:
            return False
        for translator in self._translators:
            QCoreApplication.removeTranslator(translator)
        self._translators = []
        self.code = code
        QLocale.setDefault(_locale(code))
        # Qt's own texts (Cancel, Save, context menus of fields) come first, then Bough's texts.
        for name, where in (
            (f"qtbase_{code}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)),
            (f"bough_{code}", _FOLDER),
        ):
            translator = QTranslator()
            if code != "en" and translator.load(name, where):
                QCoreApplication.installTranslator(translator)
                self._translators.append(translator)
        return True


def install_english_plurals(application: QCoreApplication) -> None:
    """Show "%n message(s)" as "1 message" or "2 messages" where no other language has a translation."""
    translator = QTranslator(application)
    translator.load("bough_en", _FOLDER)
    # Qt asks translators that are installed later first.
    application.installTranslator(translator)


def language_tag() -> str:
    """Return the language of the user interface as a tag (BCP 47)."""
    return QLocale().bcp47Name().removesuffix("-POSIX")


def _locale(code: str) -> QLocale:
    """Return the locale for dates and numbers: the system's if it has this language, else the language's own."""
    system = QLocale.system()
    is_same = QLocale(code).language() == system.language() or (code == "en" and system == QLocale.c())
    return system if is_same else QLocale(code)
