"""Records what is painted as pictures of outlines, which look the same on each printer and need no layout."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QBuffer, QByteArray, QDataStream, QIODevice, QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QImage,
    QPaintDevice,
    QPaintEngine,
    QPainter,
    QPainterPath,
    QPen,
    QPicture,
    QPixmap,
    QTransform,
)
from typing_extensions import override

_MAX_BYTES = 100_000
"""A picture ends when it has this many bytes, so that painting it takes only a few milliseconds."""
_BYTES_PER_ELEMENT = 20
_DPI = 96
_COUNT_BYTES = 4
"""Qt writes a path as the number of its points, its points, and what it needs to go on."""
_POINT = np.dtype([("kind", ">i4"), ("place", ">f8", 2)])


class PictureRecorder(QPaintDevice):
    """Paint on it with a `QPainter`, then `take` the pictures. Text is recorded as outlines. Coordinates are pixels."""

    def __init__(self, size: QSizeF, units_per_px: float, clip: QRectF | None = None) -> None:
        """Set the number of units in a pixel.

        Coordinates are whole units: fractions would make pages three times as large.

        `clip`: shapes outside it are left out; None means that no shape is left out. Clips of the painter are ignored.
        """
        super().__init__()
        self._size = size
        self._engine = _Engine(units_per_px, clip)

    def take(self) -> list[bytes]:
        """Return the pictures since the last call, in the order in which they must be painted."""
        return self._engine.take()

    @override
    def paintEngine(self) -> QPaintEngine:
        return self._engine

    @override
    def metric(self, metric: QPaintDevice.PaintDeviceMetric) -> int:
        metrics = QPaintDevice.PaintDeviceMetric
        match metric:
            case metrics.PdmWidth:
                return math.ceil(self._size.width())
            case metrics.PdmHeight:
                return math.ceil(self._size.height())
            case metrics.PdmDpiX | metrics.PdmDpiY | metrics.PdmPhysicalDpiX | metrics.PdmPhysicalDpiY:
                return _DPI
            case metrics.PdmDepth:
                return 32
            case metrics.PdmDevicePixelRatio:
                return 1
            case _:
                return super().metric(metric)


class _Engine(QPaintEngine):
    """Draws each shape with the device's coordinates, so that a picture can end after any shape."""

    def __init__(self, units_per_px: float, clip: QRectF | None) -> None:
        super().__init__(QPaintEngine.PaintEngineFeature.AllFeatures)
        self._units = QTransform.fromScale(units_per_px, units_per_px)
        self._clip = None if clip is None else self._units.mapRect(clip)
        self._done: list[bytes] = []
        self._picture = QPicture()
        self._painter: QPainter | None = None
        self._num_bytes = 0

    def take(self) -> list[bytes]:
        self._end_picture()
        done, self._done = self._done, []
        return done

    def _end_picture(self) -> None:
        if self._painter is None:
            return
        self._painter.end()
        self._painter = None
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self._picture.save(buffer)
        self._done.append(bytes(buffer.data().data()))

    def _begin_shape(self, num_bytes: int) -> QPainter:
        """Return the painter of the current picture."""
        if self._painter is not None and self._num_bytes > _MAX_BYTES:
            self._end_picture()
        if self._painter is None:
            self._picture = QPicture()
            self._painter = QPainter(self._picture)
            if self._clip is not None:
                self._painter.setClipRect(self._clip)
            self._num_bytes = 0
        self._num_bytes += num_bytes
        return self._painter

    @override
    def begin(self, pdev: QPaintDevice) -> bool:
        return True

    @override
    def end(self) -> bool:
        return True

    @override
    def type(self) -> QPaintEngine.Type:
        return QPaintEngine.Type.User

    @override
    def updateState(self, state: object) -> None:
        """Each shape asks the painter for its state."""

    @override
    def drawPath(self, path: QPainterPath) -> None:
        self._draw(path)

    @override
    def drawPolygon(self, points: object, mode: QPaintEngine.PolygonDrawMode) -> None:
        path = QPainterPath()
        corners = [QPointF(point) for point in points]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportUnknownArgumentType, reportCallIssue, reportArgumentType]
        if not corners:
            return
        path.moveTo(corners[0])
        for corner in corners[1:]:
            path.lineTo(corner)
        if mode != QPaintEngine.PolygonDrawMode.PolylineMode:
            path.closeSubpath()
        self._draw(path, is_filled=mode != QPaintEngine.PolygonDrawMode.PolylineMode)

    def _draw(self, path: QPainterPath, *, is_filled: bool = True) -> None:
        source = self.painter()
        pen, brush = QPen(source.pen()), source.brush()
        if not is_filled or not brush.color().alpha():
            brush.setStyle(Qt.BrushStyle.NoBrush)
        if not pen.color().alpha():
            pen.setStyle(Qt.PenStyle.NoPen)
        if pen.style() == Qt.PenStyle.NoPen and brush.style() == Qt.BrushStyle.NoBrush:
            return
        transform = source.combinedTransform() * self._units
        shape = _rounded(transform.map(path))
        if self._clip is not None and not shape.boundingRect().adjusted(-1, -1, 1, 1).intersects(self._clip):
            return
        if not pen.isCosmetic():
            pen.setWidthF(pen.widthF() * math.sqrt(abs(transform.determinant())))
        painter = self._begin_shape(path.elementCount() * _BYTES_PER_ELEMENT)
        painter.setOpacity(source.opacity())
        painter.setPen(pen)
        painter.setBrush(brush)
        painter.drawPath(shape)

    @override
    def drawImage(
        self,
        r: QRectF | QRect,
        pm: QImage,
        sr: QRectF | QRect,
        flags: Qt.ImageConversionFlag = Qt.ImageConversionFlag.AutoColor,
    ) -> None:
        source = self.painter()
        painter = self._begin_shape(pm.width() * pm.height())
        painter.save()
        painter.setTransform(source.combinedTransform() * self._units)
        painter.setOpacity(source.opacity())
        painter.drawImage(QRectF(r), pm, QRectF(sr))
        painter.restore()

    @override
    def drawPixmap(self, r: QRectF | QRect, pm: QPixmap | QImage, sr: QRectF | QRect) -> None:
        self.drawImage(r, QPixmap(pm).toImage(), sr)


def _rounded(path: QPainterPath) -> QPainterPath:
    """Return the path with whole coordinates. A page has some 100,000 points, so they are rounded all at once."""
    if path.isEmpty():
        # It is written without the point where it begins.
        return path
    written = QByteArray()
    QDataStream(written, QIODevice.OpenModeFlag.WriteOnly) << path  # pyright: ignore[reportUnusedExpression]
    data = bytearray(written.data())
    points = np.frombuffer(data, _POINT, path.elementCount(), _COUNT_BYTES)["place"]
    np.rint(points, out=points)
    rounded = QPainterPath()
    QDataStream(QByteArray(data)) >> rounded  # pyright: ignore[reportUnusedExpression]
    return rounded
