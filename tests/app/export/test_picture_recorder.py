"""Pictures of pages for printers: their outlines have whole coordinates."""

from __future__ import annotations

from random import Random

import pytest
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPointF, QSizeF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPicture

from app.export.picture_recorder import (
    PictureRecorder,
    _rounded,  # pyright: ignore[reportPrivateUsage]
)

_SIZE_PX = 200


def _random_path(draw: Random) -> QPainterPath:
    def point() -> QPointF:
        return QPointF(draw.uniform(-2, _SIZE_PX), draw.uniform(-2, _SIZE_PX))

    path = QPainterPath()
    path.setFillRule(draw.choice([Qt.FillRule.OddEvenFill, Qt.FillRule.WindingFill]))
    for _ in range(draw.randrange(9)):
        match draw.randrange(5):
            case 0:
                path.moveTo(point())
            case 1:
                path.lineTo(point())
            case 2:
                path.cubicTo(point(), point(), point())
            case 3:
                path.quadTo(point(), point())
            case _:
                path.closeSubpath()
    return path


@pytest.mark.parametrize("seed", range(50))
def test_an_outline_has_the_nearest_whole_coordinates_and_is_otherwise_the_same(seed: int) -> None:
    path = _random_path(Random(seed))
    if path.isEmpty():
        assert _rounded(path) == path
        return
    rounded = _rounded(path)
    places = [path.elementAt(number) for number in range(path.elementCount())]
    found = [rounded.elementAt(number) for number in range(rounded.elementCount())]
    assert [(each.x, each.y) for each in found] == [(round(each.x), round(each.y)) for each in places]
    assert [each.type for each in found] == [each.type for each in places]
    assert rounded.fillRule() == path.fillRule()


def _painted(pictures: list[bytes]) -> QImage:
    image = QImage(_SIZE_PX, _SIZE_PX, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    with QPainter(image) as painter:
        for data in pictures:
            buffer = QBuffer()
            buffer.setData(QByteArray(data))
            buffer.open(QIODevice.OpenModeFlag.ReadOnly)
            picture = QPicture()
            assert picture.load(buffer)
            painter.drawPicture(0, 0, picture)
    return image


def test_recorded_shapes_look_as_if_they_were_painted_in_whole_coordinates() -> None:
    draw = Random(7)
    recorder = PictureRecorder(QSizeF(_SIZE_PX, _SIZE_PX), 1.0)
    direct = QImage(_SIZE_PX, _SIZE_PX, QImage.Format.Format_RGB32)
    direct.fill(Qt.GlobalColor.white)
    with QPainter(recorder) as painter, QPainter(direct) as plain:
        for _ in range(20):
            path, colour = _random_path(draw), QColor(*(draw.randrange(256) for _ in range(3)))
            painter.fillPath(path, colour)
            plain.fillPath(_rounded(path), colour)
    assert _painted(recorder.take()) == direct
    assert direct.pixelColor(_SIZE_PX // 2, _SIZE_PX // 2) != QColor("white")
