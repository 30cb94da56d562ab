"""The few dialogs: questions that need an answer before anything is done, and what Help says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox, QWidget

from app.ui.theme import scaled

_NAME_PX = 380


def ask_name(parent: QWidget, name: str) -> str | None:
    """Ask for a conversation's new name; None if it is to keep the old one."""
    title = QCoreApplication.translate("Dialogs", "Rename conversation")
    return _ask_text(parent, title, QCoreApplication.translate("Dialogs", "Name"), name)


def ask_branch_name(parent: QWidget, name: str) -> str | None:
    """Ask what the branch that begins at a message is to be called; None if nothing is to change."""
    title = QCoreApplication.translate("Dialogs", "Name branch")
    return _ask_text(parent, title, QCoreApplication.translate("Dialogs", "Name; empty: none"), name)


def ask_folder(parent: QWidget, folder: str, folders: Sequence[str]) -> str | None:
    """Ask for a folder's name, one of those that there are or a new one; None if nothing is to change."""
    title = QCoreApplication.translate("Dialogs", "Folder")
    label = QCoreApplication.translate("Dialogs", "Name; empty: no folder")
    answer = _ask_text(parent, title, label, folder, ["", *folders] if folders else [])
    return None if answer is None else answer.strip()


def _ask_text(parent: QWidget, title: str, label: str, text: str, known: Sequence[str] = ()) -> str | None:
    """Ask for a line of text, which may be one of those that are known."""
    dialog = QInputDialog(parent)
    dialog.setWindowTitle(title)
    dialog.setLabelText(label)
    if known:
        dialog.setComboBoxItems(list(known))
        dialog.setComboBoxEditable(True)
    dialog.setTextValue(text)
    # Names are longer than what Qt takes for a line.
    dialog.resize(scaled(_NAME_PX), dialog.sizeHint().height())
    is_accepted = dialog.exec() == QInputDialog.DialogCode.Accepted
    dialog.deleteLater()
    return dialog.textValue() if is_accepted else None


def ask_model_folder(parent: QWidget, known: Sequence[str]) -> Path | None:
    """Ask for the folder of a model; `known`: those that were opened before, the last one first."""
    title = QCoreApplication.translate("Dialogs", "Open a model's folder")
    folder = QFileDialog.getExistingDirectory(parent, title, str(_beside(known)))
    return Path(folder) if folder else None


def ask_draft_model_folder(parent: QWidget, known: Sequence[str]) -> Path | None:
    """Ask for the folder of a model that is to guess for another."""
    title = QCoreApplication.translate("Dialogs", "Choose a draft model: a smaller one of the same family")
    folder = QFileDialog.getExistingDirectory(parent, title, str(_beside(known)))
    return Path(folder) if folder else None


def _beside(models: Sequence[str]) -> Path:
    """Return the folder in which the first of these lies that is still there, else the person's own."""
    folders = (Path(name).parent for name in models if Path(name).is_absolute())
    return next((folder for folder in folders if folder.is_dir()), Path.home())


def confirm_emptying(parent: QWidget, empty: Callable[[], object]) -> None:
    """Call `empty` if the trash is to be emptied."""
    box = _box(parent, QCoreApplication.translate("Dialogs", "Empty trash"))
    box.setText(QCoreApplication.translate("Dialogs", "Delete for good what lies in the trash?"))
    box.setInformativeText(
        QCoreApplication.translate(
            "Dialogs",
            "Its text goes from your conversations, from their backups and from what models have read. "
            "What another conversation shares stays. Models read again what they need.",
        )
    )
    delete = box.addButton(
        QCoreApplication.translate("Dialogs", "Delete for good"), QMessageBox.ButtonRole.DestructiveRole
    )
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    delete.clicked.connect(empty)
    box.open()


def show_about(parent: QWidget) -> None:
    """Say what Bough is, and which one this is."""
    # Here, because it is asked once in a while, and the import takes its time.
    from importlib.metadata import version

    box = _box(parent, QCoreApplication.translate("Dialogs", "About Bough"))
    box.setObjectName("about")
    box.setText(f"Bough {version('bough')}")
    told = (
        QCoreApplication.translate(
            "Dialogs", "Bough is a chat program for local models in which a conversation is a tree."
        ),
        QCoreApplication.translate(
            "Dialogs", "Free software under the MIT licence. Nothing you write leaves this computer."
        ),
    )
    box.setInformativeText("\n\n".join(told))
    box.open()


def _box(parent: QWidget, title: str) -> QMessageBox:
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(title)
    return box
