"""The export window: what to export, in which format, with which parts and where to, beside a preview."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.archive.archive import Archive, Task
from app.export.exporting import (
    ExportProgress,
    ExportRequest,
    ExportResult,
    Preview,
    Scope,
    make_preview,
    proposed_name,
    run_export,
)
from app.export.page_maker import PageMaker
from app.model.exports.excerpt import Options, RecordKind
from app.model.exports.files import FORMATS, Format, file_name, is_trainer, suffix
from app.model.exports.training_records import KINDS
from app.numbers import counted
from app.sentences import translated
from app.ui.dialogs.export_preview import ExportPreview
from app.ui.languages import language_tag
from app.ui.parts.buttons import NameBox, WrappingButton, WrappingCheckBox
from app.ui.parts.labels import ElidedLabel, quiet_label
from app.ui.parts.layouts import scrolled
from app.ui.parts.radio_group import RadioGroup
from app.ui.parts.sheet import Sheet, filled_by
from app.ui.theme import scaled

_SIZE_PX = (900, 800)
_FORM_PX = 360
_MIN_PX = (320, 360)
_MIN_PREVIEW_PX = 280
_NO_LIMIT = 16_777_215
"""Qt's own limit of a widget's size."""
_SCHEMES: tuple[Literal["both", "light", "dark"], ...] = ("both", "light", "dark")
_PAGE_SCALE = 1.5
_COMPLETE: frozenset[Format] = frozenset({"bough"})
"""Formats that always contain everything."""
_WITH_STATISTICS: frozenset[Format] = frozenset({"md", "html", "pdf", "txt", "docx"})


@dataclasses.dataclass(frozen=True)
class Offer:
    """Something that the user can choose to export."""

    text: str
    explanation: str
    name: str
    """A name for the file, without its suffix."""
    scope: Scope


class ExportWindow(Sheet):
    """Makes one export. Nothing is written before the user presses Export."""

    exported = Signal(object)
    """The `ExportResult`."""

    def __init__(self, archive: Archive, offers: Sequence[Offer], folder: Path, parent: QWidget) -> None:
        super().__init__(self.tr("Export"), parent)
        self._archive = archive
        self._pages = PageMaker()
        self._offers = offers
        self._folder = folder
        self._preview_task: Task | None = None
        self._is_name_edited = False
        self._nothing = ""
        self.scopes = RadioGroup(self.tr("Content"))
        for offer in offers:
            self.scopes.add(offer.text, offer.explanation)
        self.scopes.choose(0)
        self.formats = NameBox()
        self.formats.setAccessibleName(self.tr("Format"))
        for format_ in FORMATS:
            text = _format_text(format_)
            self.formats.addItem(text.name, format_)
            self.formats.setItemData(self.formats.count() - 1, text.line, Qt.ItemDataRole.ToolTipRole)
        self._format_line = quiet_label("")
        self.reasoning = WrappingCheckBox(self.tr("Reasoning"))
        self.reasoning.setToolTip(self.tr("The models' reasoning before their answers"))
        self.system_prompts = WrappingCheckBox(self.tr("System prompts"))
        self.statistics = WrappingCheckBox(self.tr("Statistics for each answer"))
        self.reasoning.setChecked(True)
        self.system_prompts.setChecked(True)
        self.colours = NameBox()
        self.colours.setAccessibleName(self.tr("Page colours"))
        for text in (self.tr("Same as the reader's system"), self.tr("Light"), self.tr("Dark")):
            self.colours.addItem(text)
        self.lines = NameBox()
        self.lines.setAccessibleName(self.tr("Lines"))
        self.name_field = QLineEdit()
        self.name_field.setAccessibleName(self.tr("File name"))
        self._suffix = QLabel()
        self._folder_label = ElidedLabel()
        self._folder_label.setObjectName("quiet")
        self.folder_button = WrappingButton(self.tr("Choose folder…"))
        self.folder_button.setAutoDefault(False)
        self.preview = ExportPreview()
        self._form = QWidget()
        self._build()
        self._connect()
        self._on_changed()
        self.open_at(*_SIZE_PX, filling=filled_by(self._scrolled_form))
        self.scopes.focus()

    def _connect(self) -> None:
        self.scopes.changed.connect(self._on_changed)
        self.formats.currentIndexChanged.connect(self._on_changed)
        self.colours.currentIndexChanged.connect(self._on_changed)
        self.lines.activated.connect(self._on_changed)
        for box in (self.reasoning, self.system_prompts, self.statistics):
            box.toggled.connect(self._on_changed)
        self.name_field.textEdited.connect(self._on_name_edited)
        self.folder_button.clicked.connect(self._choose_folder)

    def _build(self) -> None:
        column = QVBoxLayout(self._form)
        column.setContentsMargins(0, 0, 8, 0)
        column.setSpacing(8)
        column.addWidget(_heading(self.tr("Content")))
        column.addWidget(self.scopes)
        column.addWidget(_heading(self.tr("Format")))
        column.addWidget(self.formats)
        column.addWidget(self._format_line)
        column.addWidget(self.colours)
        column.addWidget(self.lines)
        column.addSpacing(4)
        self._include = _heading(self.tr("Include"))
        column.addWidget(self._include)
        for box in (self.reasoning, self.system_prompts, self.statistics):
            column.addWidget(box)
        column.addSpacing(4)
        column.addWidget(_heading(self.tr("Save to")))
        name_row = QHBoxLayout()
        name_row.setSpacing(4)
        name_row.addWidget(self.name_field, 1)
        name_row.addWidget(self._suffix)
        column.addLayout(name_row)
        folder_row = QHBoxLayout()
        folder_row.setSpacing(8)
        folder_row.addWidget(self._folder_label, 1)
        folder_row.addWidget(self.folder_button)
        column.addLayout(folder_row)
        column.addStretch(1)
        self._scrolled_form = form = scrolled(self._form)
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addWidget(form)
        self._line = line = QFrame()
        line.setObjectName("line")
        line.setFixedWidth(1)
        row.addWidget(line)
        row.addWidget(self.preview, 1)
        # It may be narrower than both halves: then there is no preview.
        self.setMinimumSize(*_MIN_PX)
        self.body.addLayout(row, 1)
        self.cancel_button = self.add_button(self.tr("Cancel"), self.reject, key=self.tr("Esc"))
        self.export_button = self.add_button(self.tr("Export"), self._export, is_primary=True)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        has_preview = event.size().width() >= scaled(_FORM_PX) + _MIN_PREVIEW_PX
        self._line.setVisible(has_preview)
        self.preview.setVisible(has_preview)
        self._scrolled_form.setMinimumWidth(scaled(_FORM_PX) if has_preview else 0)
        self._scrolled_form.setMaximumWidth(scaled(_FORM_PX) if has_preview else _NO_LIMIT)

    # --- the choices ----------------------------------------------------------------------------------

    @property
    def request(self) -> ExportRequest:
        """The export that the controls describe."""
        return ExportRequest(
            scope=self._offers[self.scopes.chosen].scope,
            format=self.formats.currentData(),
            options=Options(
                reasoning=self.reasoning.isChecked(),
                system_prompts=self.system_prompts.isChecked(),
                statistics=self.statistics.isChecked(),
                scheme=_SCHEMES[self.colours.currentIndex()],
                records=self.lines.currentData() or "chat",
                language=language_tag(),
            ),
        )

    @property
    def path(self) -> Path:
        """The path of the file or folder to write."""
        ending = "" if self.request.is_folder else suffix(self.request.format)
        return self._folder / file_name(self.name_field.text().removesuffix(ending), ending, set())

    def _on_changed(self) -> None:
        self._offer_lines()
        request = self.request
        self._format_line.setText(_format_text(request.format).line)
        self.colours.setVisible(request.format == "html")
        keeps_all = request.format in _COMPLETE
        self.reasoning.setVisible(not keeps_all)
        self.system_prompts.setVisible(not keeps_all)
        self.statistics.setVisible(request.format in _WITH_STATISTICS)
        self._include.setVisible(not keeps_all)
        if not self._is_name_edited:
            name = self._offers[self.scopes.chosen].name
            proposed = proposed_name(name, request)
            self.name_field.setText(proposed if request.is_folder else proposed.removesuffix(suffix(request.format)))
        self._suffix.setText(self.tr("a folder") if request.is_folder else suffix(request.format))
        self._show_folder()
        self._show_preview()

    def _offer_lines(self) -> None:
        """Offer the kinds of lines that the chosen trainer loads, and keep the chosen one if it is among them."""
        format_: Format = self.formats.currentData()
        kinds = KINDS[format_] if is_trainer(format_) else ()
        self.lines.setVisible(bool(kinds))
        if [self.lines.itemData(index) for index in range(self.lines.count())] == list(kinds):
            return
        chosen = self.lines.currentData()
        self.lines.clear()
        for kind in kinds:
            self.lines.addItem(_lines_text(kind), kind)
        self.lines.setCurrentIndex(max(self.lines.findData(chosen), 0))

    def _on_name_edited(self) -> None:
        self._is_name_edited = True
        self._show_folder()

    def _show_folder(self) -> None:
        self._folder_label.show_text(self.tr("in {folder}").format(folder=self._folder))
        self.export_button.setEnabled(bool(self.name_field.text().strip()))
        if self._nothing:
            self.export_button.setEnabled(False)
            # A narrow window shows no preview.
            self.show_message(self._nothing, "warning")
        elif not self.path.exists():
            self.show_message("")
        elif self.request.is_for_training:
            self.show_message(
                self.tr("This folder exists. Its train.jsonl and valid.jsonl will be replaced."), "warning"
            )
        elif self.request.is_folder:
            self.show_message(self.tr("This folder exists. The files are added to it."))
        else:
            self.show_message(self.tr("A file with this name exists. It will be replaced."), "warning")

    def set_folder(self, folder: Path) -> None:
        """Choose the folder of the export."""
        self._folder = folder
        self._show_folder()

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Export to"), str(self._folder))
        if folder:
            self.set_folder(Path(folder))

    # --- the preview -------------------------------------------------------------------------------------

    def _show_preview(self) -> None:
        if self._preview_task is not None:
            self._preview_task.cancel()
        scale = _PAGE_SCALE * self.devicePixelRatioF()
        request, pages = self.request, self._pages
        task = self._preview_task = self._archive.read(lambda store: make_preview(store, request, scale, pages))
        task.done.connect(self._on_preview)
        task.failed.connect(self._on_preview_failed)

    def _on_preview(self, preview: Preview) -> None:
        # The user may have changed the choices meanwhile.
        if self.sender() is not self._preview_task:
            return
        self._preview_task = None
        self._nothing = "" if preview.nothing is None else translated(preview.nothing)
        self._show_folder()
        if self._nothing:
            self.preview.show_problem(self._nothing)
        else:
            self.preview.show_preview(preview)

    def _on_preview_failed(self, why: str) -> None:
        if self.sender() is self._preview_task:
            self._preview_task = None
            self._nothing = ""
            self._show_folder()
            self.preview.show_problem(translated(why))

    # --- the export --------------------------------------------------------------------------------------

    def _export(self) -> None:
        if self.is_working:
            return
        request, path = self.request, self.path
        # A long preview must not keep the export waiting.
        pages = self._pages if self._preview_task is None else PageMaker()
        task = self._archive.read(lambda store: run_export(store, request, path, pages))
        task.progressed.connect(self._on_progress)
        task.done.connect(self._on_written)
        task.failed.connect(self.fail)
        task.cancelled.connect(self._on_cancelled)
        task.ended.connect(self._on_export_ended)
        self.follow(task, self.tr("Exporting…"))
        self._set_working(is_working=True)

    def _on_export_ended(self) -> None:
        self._set_working(is_working=False)

    def _set_working(self, *, is_working: bool) -> None:
        self._form.setEnabled(not is_working)
        self.export_button.setEnabled(not is_working)

    def _on_progress(self, progress: ExportProgress) -> None:
        text = (
            self.tr("{done} of {total} messages")
            if progress.is_of_messages
            else self.tr("{done} of {total} conversations")
        )
        self.show_progress(
            text.format(done=counted(progress.done), total=counted(progress.total)), progress.done, progress.total
        )

    def _on_written(self, result: ExportResult) -> None:
        self.exported.emit(result)
        self.accept()

    def _on_cancelled(self) -> None:
        self.show_message(self.tr("Cancelled. Nothing was exported."))


def _heading(text: str) -> QLabel:
    label = QLabel(text)
    label.setObjectName("role")
    return label


class _FormatText(NamedTuple):
    """How a format is described to the user."""

    name: str
    line: str


def _format_text(format_: Format) -> _FormatText:
    translate = QCoreApplication.translate
    match format_:
        case "md":
            name = translate("Export", "Markdown")
            line = translate("Export", "Text with headings that Bough can import again.")
        case "html":
            name = translate("Export", "Web page")
            line = translate("Export", "A single file for any browser, with a tree and branches to switch between.")
        case "pdf":
            name = translate("Export", "PDF")
            line = translate("Export", "Numbered pages with an outline of the messages.")
        case "txt":
            name = translate("Export", "Plain text")
            line = translate("Export", "Just the text, unchanged.")
        case "docx":
            name = translate("Export", "Word document")
            line = translate("Export", "For word processors; formulas become pictures.")
        case "openai-jsonl":
            name = translate("Export", "OpenAI JSON Lines")
            line = translate("Export", "For fine-tuning: one line per branch.")
        case "sharegpt-jsonl":
            name = translate("Export", "ShareGPT JSON Lines")
            line = translate("Export", "For fine-tuning: a format that many tools read.")
        case "preference-jsonl":
            name = translate("Export", "Preference pairs")
            line = translate("Export", "For fine-tuning: the shown answer paired with each other version.")
        case "mlx-lm":
            name = translate("Export", "Folder for mlx-lm")
            line = translate("Export", "For fine-tuning: train.jsonl, and every tenth conversation in valid.jsonl.")
        case "trl":
            name = translate("Export", "Folder for TRL")
            line = translate("Export", "For fine-tuning: train.jsonl, and every tenth conversation in valid.jsonl.")
        case "axolotl":
            name = translate("Export", "Folder for Axolotl")
            line = translate("Export", "For fine-tuning: train.jsonl, and every tenth conversation in valid.jsonl.")
        case "bough":
            name = translate("Export", "Bough")
            line = translate("Export", "Everything, for importing into Bough again.")
    return _FormatText(name, line)


def _lines_text(kind: RecordKind) -> str:
    match kind:
        case "chat":
            return QCoreApplication.translate("Export", "Each line: a branch")
        case "completion":
            return QCoreApplication.translate("Export", "Each line: a prompt and its answer as two fields")
        case "preference":
            return QCoreApplication.translate("Export", "Each line: the shown answer and another version")
