"""The few dialogs: questions that need an answer before anything is done, and what Help says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox, QWidget

_NOT_IN_FILE_NAMES = set('\\/:*?"<>|\0')


def ask_name(parent: QWidget, name: str) -> str | None:
    """Ask for a conversation's new name; None if it is to keep the old one."""
    answer, is_accepted = QInputDialog.getText(parent, "Rename conversation", "Name", text=name)
    return answer if is_accepted else None


def ask_export_file(parent: QWidget, name: str) -> Path | None:
    """Ask where the Markdown file is to lie."""
    proposed = "".join(" " if character in _NOT_IN_FILE_NAMES else character for character in name).strip()
    file, _ = QFileDialog.getSaveFileName(parent, "Export branch", f"{proposed}.md", "Markdown (*.md)")
    return Path(file) if file else None


def ask_model_folder(parent: QWidget) -> Path | None:
    """Ask for the folder of a model."""
    folder = QFileDialog.getExistingDirectory(parent, "Open a model's folder")
    return Path(folder) if folder else None


def confirm_emptying(parent: QWidget, empty: Callable[[], object]) -> None:
    """Call `empty` if the trash is to be emptied."""
    box = _box(parent, "Empty trash")
    box.setText("Delete for good what lies in the trash?")
    box.setInformativeText(
        "Its text goes from your conversations, from their backups and from what models have read. "
        "What another conversation shares stays. Models read again what they need."
    )
    delete = box.addButton("Delete for good", QMessageBox.ButtonRole.DestructiveRole)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    delete.clicked.connect(empty)
    box.open()


def show_shortcuts(parent: QWidget, keys: Sequence[tuple[str, str]]) -> None:
    """List what each key does."""
    rows = "".join(
        f"<tr><td style='padding:3px 24px 3px 0'>{text}</td><td style='padding:3px 0'><b>{key}</b></td></tr>"
        for text, key in (*keys, ("Send", "Enter"), ("New line", "Shift+Enter"))
    )
    box = _box(parent, "Keyboard shortcuts")
    box.setTextFormat(Qt.TextFormat.RichText)
    box.setText(f"<table>{rows}</table><p>Single letters work on the message that has the focus.</p>")
    box.open()


def show_about(parent: QWidget) -> None:
    """Say what Bough is."""
    box = _box(parent, "About Bough")
    box.setText("Bough is a chat program for local models in which a conversation is a tree.")
    box.setInformativeText("Free software under the MIT licence. Nothing you write leaves this computer.")
    box.open()


def _box(parent: QWidget, title: str) -> QMessageBox:
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(title)
    return box
