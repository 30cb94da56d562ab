"""Creates README's pictures from the tour's screenshots: `readme_pictures.py TOUR FOLDER`.

They have few colours, so that the files are small.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage

FROM_TOUR = {
    "first-page.png": "load",
    "window.png": "cost-before-a-click",
    "window-dark.png": "settings",
    "side-by-side.png": "three-side-by-side",
    "tokens.png": "alternatives",
    "comparing.png": "comparing",
}
"""README's pictures and the names of the tour's screenshots, without their numbers."""
_NUM_COLOURS = 256


def main() -> int:
    tour, folder = (Path(argument) for argument in sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    _application = QGuiApplication([])
    for name in FROM_TOUR:
        with_few_colours(QImage(str(tour_picture(tour, name)))).save(str(folder / name), quality=0)
        print(f"{folder / name}: {(folder / name).stat().st_size:,} bytes")
    return 0


def tour_picture(tour: Path, name: str) -> Path:
    """Return the screenshot for one of README's pictures."""
    return next(tour.glob(f"[0-9][0-9]-{FROM_TOUR[name]}.png"))


def with_few_colours(picture: QImage) -> QImage:
    """Return the picture reduced to its most frequent colours."""
    picture = picture.convertToFormat(QImage.Format.Format_RGB32)
    counted = Counter(memoryview(picture.constBits()).cast("B").cast("I").tolist())
    table = [colour for colour, _ in counted.most_common(_NUM_COLOURS)]
    dither = Qt.ImageConversionFlag.ThresholdDither | Qt.ImageConversionFlag.AvoidDither
    return picture.convertToFormat(QImage.Format.Format_Indexed8, table, dither)


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    sys.exit(main())
