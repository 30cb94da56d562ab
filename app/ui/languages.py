"""The languages in which Bough can speak, and how it comes to speak one of them; it knows no widget."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""By their codes, each as it calls itself."""


def language_in_use(chosen: str) -> str:
    """Return the language that is spoken where `chosen` was chosen (empty: the system's, where Bough knows it)."""
    if chosen in LANGUAGES:
        return chosen
    wanted = (name.partition("-")[0] for name in QLocale.system().uiLanguages())
    return next((code for code in wanted if code in LANGUAGES), "en")


class Language:
    """What the program speaks now. Texts that are shown already stay as they are until they are made anew."""

    def __init__(self) -> None:
        self.code = "en"
        self._translators: list[QTranslator] = []

    def speak(self, code: str) -> bool:
        """Speak another language; return whether it is another one."""
        if code == self.code:
            return False
        for translator in self._translators:
            QCoreApplication.removeTranslator(translator)
        self._translators = []
        self.code = code
        QLocale.setDefault(_locale(code))
        # Who speaks English needs none of this.
        import importlib.resources

        folder = str(importlib.resources.files("resources").joinpath("translations"))
        # Qt's own texts (Cancel, Save, the menus of fields), then ours.
        for name, where in (
            (f"qtbase_{code}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)),
            (f"bough_{code}", folder),
        ):
            translator = QTranslator()
            if code != "en" and translator.load(name, where):
                QCoreApplication.installTranslator(translator)
                self._translators.append(translator)
        return True


def _locale(code: str) -> QLocale:
    """How times and fields of numbers are written: as the system does where it speaks this language, too."""
    system = QLocale.system()
    is_spoken = QLocale(code).language() == system.language() or (code == "en" and system == QLocale.c())
    return system if is_spoken else QLocale(code)
