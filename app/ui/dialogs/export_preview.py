"""The preview of an export: the beginning of the text, or a picture of the first page."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.export.exporting import Preview
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import scrolled
from app.ui.theme import SMALL_PX, code_font, scaled

_MIN_WIDTH_PX = 240


class ExportPreview(QWidget):
    """Shows one preview. The old preview stays until the next one is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumWidth(_MIN_WIDTH_PX)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(code_font(SMALL_PX))
        self.text.setStyleSheet(f"font-family: '{code_font().family()}'; font-size: {scaled(SMALL_PX)}px;")
        self.text.setAccessibleName(self.tr("Preview: the beginning of the file"))
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.page = _Page()
        self.page.setAccessibleName(self.tr("Preview: the first page"))
        self.caption = quiet_label("")
        self._pages = QStackedWidget()
        self._pages.addWidget(self.text)
        self._pages.addWidget(scrolled(self.page))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self._pages, 1)
        column.addWidget(self.caption)

    def show_preview(self, preview: Preview) -> None:
        if preview.page is not None:
            self.page.show_picture(preview.page.picture)
            self._pages.setCurrentIndex(1)
            self.caption.setText(
                self.tr("This is the whole file.") if preview.is_all else self.tr("Only the first page is shown.")
            )
            return
        self.text.setPlainText(preview.text)
        self._pages.setCurrentIndex(0)
        self.caption.setText(
            self.tr("This is the whole file.") if preview.is_all else self.tr("Only the beginning is shown.")
        )

    def show_problem(self, why: str) -> None:
        """Say why there is no preview."""
        self.text.setPlainText(why)
        self._pages.setCurrentIndex(0)
        self.caption.setText("")


class _Page(QWidget):
    """A picture that fills the width."""

    def __init__(self) -> None:
        super().__init__()
        self._picture = QImage()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_picture(self, picture: QImage) -> None:
        self._picture = picture
        self.updateGeometry()
        self.update()

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, arg__1: int) -> int:
        size = self._picture.size()
        return round(arg__1 * size.height() / size.width()) if size.width() else 0

    @override
    def sizeHint(self) -> QSize:
        return QSize(_MIN_WIDTH_PX, self.heightForWidth(self.width()))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        # QImage averages pixels when it scales down, so letters stay legible; QPainter does not.
        width_px = round(self.width() * self.devicePixelRatioF())
        if self._picture.width():
            picture = self._picture.scaledToWidth(width_px, Qt.TransformationMode.SmoothTransformation)
            painter.drawImage(QRectF(0, 0, self.width(), self.heightForWidth(self.width())), picture)
