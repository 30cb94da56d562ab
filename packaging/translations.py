"""Updates the translations: collects all texts into the .ts files and compiles these to .qm files.

Both kinds of files are committed, so that neither a checkout nor the wheel needs Qt's tools. If some texts are not
translated yet, the program prints them and exits with code 1. Translate them with
`pyside6-linguist resources/translations/bough_de.ts`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

from sentences import templates

from app.ui.languages import LANGUAGES
from app.ui.menus import menu_texts

_ROOT = Path(__file__).parent.parent
_FOLDER = _ROOT / "resources" / "translations"
_TOOLS = Path(sys.executable).parent


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        # lupdate finds neither the menus, which are a table, nor the templates of sentences.
        menus = Path(folder) / "menus.py"
        lines = [f'QCoreApplication.translate("Menus", {text!r})\n' for text in menu_texts()]
        lines += [f'QCoreApplication.translate("Sentences", {text!r})\n' for text in templates(_ROOT)]
        menus.write_text("".join(lines), encoding="utf-8")
        sources = sorted(str(file) for file in (_ROOT / "app").rglob("*.py"))
        for code in LANGUAGES:
            file = _FOLDER / f"bough_{code}.ts"
            # The sources are in English, so English needs only plural forms.
            only = ["-pluralonly"] if code == "en" else []
            settings = ["-no-obsolete", "-locations", "none", "-source-language", "en", "-target-language", code, *only]
            _run("lupdate", *settings, *sources, str(menus), "-ts", str(file))
            _run("lrelease", str(file), "-qm", str(file.with_suffix(".qm")))
    missing = {code: untranslated(_FOLDER / f"bough_{code}.ts") for code in LANGUAGES}
    for code, texts in missing.items():
        for text in texts:
            print(f"{code}: {text}")
    return 1 if any(missing.values()) else 0


def untranslated(file: Path) -> list[str]:
    """Return the texts of a .ts file that have no translation."""
    messages = ET.parse(file).getroot().iter("message")  # noqa: S314 (our own file)
    return [message.findtext("source", "") for message in messages if not _is_translated(message)]


def _is_translated(message: ET.Element) -> bool:
    translation = message.find("translation")
    if translation is None or translation.get("type") is not None:
        return False
    forms = translation.findall("numerusform") or [translation]
    return all((form.text or "").strip() for form in forms)


def _run(tool: str, *arguments: str) -> None:
    found = subprocess.run([_TOOLS / f"pyside6-{tool}", *arguments], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        sys.exit(f"{tool}: {found.stdout}{found.stderr}")


if __name__ == "__main__":
    sys.exit(main())
