"""Questions to the user: names, folders, confirmations; and the About box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox, QPlainTextEdit, QVBoxLayout, QWidget

from app.sentences import translated
from app.ui.parts.labels import BreakingLabel, selectable_label
from app.ui.parts.layouts import scrolled
from app.ui.parts.qt_workarounds import without_indent
from app.ui.theme import scaled
from worker.surroundings import program_version

_WIDTH_PX = 380
_ABOUT_PX = 460
_LICENCES_PX = 760
_NUM_NAMED_MODELS = 4


def ask_name(parent: QWidget, name: str) -> str | None:
    """Ask for a conversation's new name. Return None if the user cancels."""
    title = QCoreApplication.translate("Dialogs", "Rename conversation")
    return _ask_text(parent, title, QCoreApplication.translate("Dialogs", "Name"), name)


def ask_branch_name(parent: QWidget, name: str) -> str | None:
    """Ask for the name of a branch; empty removes it. Return None if the user cancels."""
    title = QCoreApplication.translate("Dialogs", "Name branch")
    return _ask_text(parent, title, QCoreApplication.translate("Dialogs", "Name (leave empty for none)"), name)


def ask_folder(parent: QWidget, folder: str, folders: Sequence[str]) -> str | None:
    """Ask for the name of a folder, new or one of `folders`; empty means none. Return None if the user cancels."""
    title = QCoreApplication.translate("Dialogs", "Project")
    label = QCoreApplication.translate("Dialogs", "Name (leave empty for no project)")
    answer = _ask_text(parent, title, label, folder, ["", *folders] if folders else [])
    return None if answer is None else answer.strip()


def _ask_text(parent: QWidget, title: str, label: str, text: str, known: Sequence[str] = ()) -> str | None:
    """Ask for a line of text, with the texts in `known` to choose from. Return None if the user cancels."""
    dialog = QInputDialog(parent)
    dialog.setWindowTitle(title)
    dialog.setLabelText(label)
    if known:
        dialog.setComboBoxItems(list(known))
        dialog.setComboBoxEditable(True)
    dialog.setTextValue(text)
    # Names are longer than Qt's default width.
    dialog.resize(scaled(_WIDTH_PX), dialog.sizeHint().height())
    is_accepted = dialog.exec() == QInputDialog.DialogCode.Accepted
    dialog.deleteLater()
    return dialog.textValue() if is_accepted else None


def ask_about_hooks(parent: QWidget, hooks: Sequence[str]) -> bool | None:
    """Ask whether to import hooks together with settings. Return None if the user cancels."""
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Warning)
    box.setWindowTitle(QCoreApplication.translate("Dialogs", "Import settings"))
    box.setTextFormat(Qt.TextFormat.PlainText)
    names = ", ".join(name.removesuffix(".py") for name in hooks[:_NUM_NAMED_MODELS])
    if len(hooks) > _NUM_NAMED_MODELS:
        names += ", …"
    box.setText(QCoreApplication.translate("Dialogs", "The file contains hooks: {names}").format(names=names))
    box.setInformativeText(
        QCoreApplication.translate(
            "Dialogs",
            "A hook is a program that runs with your permissions once you turn it on. Import only hooks you trust.",
        )
    )
    role = QMessageBox.ButtonRole
    without = box.addButton(QCoreApplication.translate("Dialogs", "Without hooks"), role.AcceptRole)
    everything = box.addButton(QCoreApplication.translate("Dialogs", "With hooks"), role.AcceptRole)
    box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(without)
    box.exec()
    clicked = box.clickedButton()
    box.deleteLater()
    return True if clicked is everything else False if clicked is without else None


def ask_model_folder(parent: QWidget, known: Sequence[str]) -> Path | None:
    """Ask for the folder of a model. `known` are the models opened before, the latest first."""
    title = QCoreApplication.translate("Dialogs", "Open a model folder")
    folder = QFileDialog.getExistingDirectory(parent, title, str(_parent_folder(known)))
    return Path(folder) if folder else None


def ask_draft_model_folder(parent: QWidget, known: Sequence[str]) -> Path | None:
    """Ask for the folder of a draft model. `known` are the models opened before, the latest first."""
    title = QCoreApplication.translate("Dialogs", "Choose a draft model (a smaller model of the same family)")
    folder = QFileDialog.getExistingDirectory(parent, title, str(_parent_folder(known)))
    return Path(folder) if folder else None


def _parent_folder(models: Sequence[str]) -> Path:
    """Return the first folder of these models' parents that still exists, else the user's home."""
    folders = (Path(name).parent for name in models if Path(name).is_absolute())
    return next((folder for folder in folders if folder.is_dir()), Path.home())


def confirm_emptying(parent: QWidget, empty: Callable[[], object]) -> None:
    """Ask whether to empty the trash, and call `empty` if the user agrees."""
    box = _box(parent, QCoreApplication.translate("Dialogs", "Empty trash"))
    box.setText(QCoreApplication.translate("Dialogs", "Permanently delete everything in the trash?"))
    box.setInformativeText(
        QCoreApplication.translate(
            "Dialogs",
            "This removes the text from your conversations, their backups and the cache. Messages that "
            "are also part of other conversations are kept.",
        )
    )
    delete = box.addButton(
        QCoreApplication.translate("Dialogs", "Delete permanently"), QMessageBox.ButtonRole.DestructiveRole
    )
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    delete.clicked.connect(empty)
    without_indent(box)
    box.open()


def ask_close_unsaved(parent: QWidget) -> bool:
    """Ask whether to close Bough although some text can't be saved."""
    return _ask_close(
        parent,
        QCoreApplication.translate("Dialogs", "Some text is not saved. Close Bough and lose it?"),
        QCoreApplication.translate(
            "Dialogs", "Your conversations can't be saved now. Free some disk space; Bough then saves the text."
        ),
        QCoreApplication.translate("Dialogs", "Close and lose it"),
    )


def ask_close_downloading(parent: QWidget, models: Sequence[str]) -> bool:
    """Ask whether to close Bough although models are being downloaded or converted.

    Downloads and conversions do not resume by themselves at the next start.
    """
    named = "\n".join(models[:_NUM_NAMED_MODELS]) + ("\n…" if len(models) > _NUM_NAMED_MODELS else "")
    return _ask_close(
        parent,
        QCoreApplication.translate("Dialogs", "A model is not finished yet. Close Bough?"),
        QCoreApplication.translate(
            "Dialogs",
            "The finished part is kept. To continue, start Bough again and choose Resume in the Models window.",
        )
        + f"\n\n{named}",
        QCoreApplication.translate("Dialogs", "Close"),
    )


def _ask_close(parent: QWidget, question: str, details: str, yes: str) -> bool:
    box = _box(parent, QCoreApplication.translate("Dialogs", "Close Bough"))
    # The caller reads the box after it has closed.
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(question)
    box.setInformativeText(details)
    close = box.addButton(yes, QMessageBox.ButtonRole.DestructiveRole)
    keep = box.addButton(QCoreApplication.translate("Dialogs", "Keep open"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(keep)
    box.setEscapeButton(keep)
    without_indent(box)
    box.exec()
    box.deleteLater()
    return box.clickedButton() is close


def ask_to_send(parent: QWidget, host: str) -> bool:
    """Ask whether a conversation that has stayed on this machine may be sent to a server."""
    box = _box(parent, QCoreApplication.translate("Dialogs", "Send to a server"))
    # The caller reads the box after it has closed.
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setObjectName("send_to_server")
    question = QCoreApplication.translate(
        "Dialogs", "This conversation has stayed on this computer. Send it to {host}?"
    )
    box.setText(question.format(host=host))
    box.setInformativeText(
        QCoreApplication.translate(
            "Dialogs", "The whole branch above the answer is sent: messages, files and the system prompt."
        )
    )
    send = box.addButton(QCoreApplication.translate("Dialogs", "Send"), QMessageBox.ButtonRole.AcceptRole)
    keep = box.addButton(QCoreApplication.translate("Dialogs", "Don't send"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(keep)
    box.setEscapeButton(keep)
    without_indent(box)
    box.exec()
    box.deleteLater()
    return box.clickedButton() is send


def show_about(parent: QWidget, how_it_runs: Sequence[str], licences: Path | None = None) -> None:
    """Show what Bough is, its version, its licence, and how the loaded model runs, in sentences.

    `licences`: a file with the licences of everything in a bundle; None: its usual place, where only a bundle has it.
    """
    # Imported here because they are rarely needed.
    import importlib.resources

    from app.ui.parts.sheet import Sheet, filled_by

    file = licences or Path(str(importlib.resources.files("resources"))) / "licences.txt"

    sheet = Sheet(QCoreApplication.translate("Dialogs", "About Bough"), parent)
    sheet.setObjectName("about")
    title = BreakingLabel(f"Bough {program_version()}")
    title.setObjectName("heading")
    details = (
        QCoreApplication.translate(
            "Dialogs", "Bough is a chat program for local models in which a conversation is a tree."
        ),
        QCoreApplication.translate(
            "Dialogs",
            "Free software under the MIT licence. Nothing you write leaves this computer, unless you add a server.",
        ),
    )
    if file.is_file():
        sheet.add_button(
            QCoreApplication.translate("Dialogs", "Licences"), lambda: _show_licences(file, sheet)
        ).setObjectName("licences")
        details = (
            *details,
            QCoreApplication.translate(
                "Dialogs",
                "Qt and PySide6 are used under the LGPL 3. Their libraries are separate files, which you may replace.",
            ),
        )
    page = QWidget()
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    column.addWidget(title)
    column.addWidget(selectable_label("\n\n".join((*details, *map(translated, how_it_runs)))))
    column.addStretch(1)
    area = scrolled(page)
    sheet.body.addWidget(area, 1)
    close = sheet.add_button(QCoreApplication.translate("Dialogs", "Close"), sheet.close, is_primary=True)
    sheet.open_at(_ABOUT_PX, _ABOUT_PX, filling=filled_by(area))
    close.setFocus(Qt.FocusReason.OtherFocusReason)


def _show_licences(file: Path, parent: QWidget) -> None:
    from app.ui.parts.sheet import Sheet

    sheet = Sheet(QCoreApplication.translate("Dialogs", "Licences"), parent)
    text = QPlainTextEdit(file.read_text(encoding="utf-8"))
    text.setReadOnly(True)
    text.setAccessibleName(sheet.windowTitle())
    sheet.body.addWidget(text, 1)
    sheet.add_button(QCoreApplication.translate("Dialogs", "Close"), sheet.close, is_primary=True)
    sheet.open_at(_LICENCES_PX, _ABOUT_PX)
    text.setFocus(Qt.FocusReason.OtherFocusReason)


def _box(parent: QWidget, title: str) -> QMessageBox:
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(title)
    return box
