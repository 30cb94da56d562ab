"""Takes pictures of all scenes, in both themes and at two sizes: `python -m tests.pictures DIR [SCENE …]`.

Use QT_SCALE_FACTOR=2 for a screen with twice the resolution.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.application import make_qt_application
from app.model.settings import Theme as ThemeName
from app.tour.screen import OFFSCREEN, offscreen_of, photograph
from tests.scenes.playbill import EMPTY, LARGE, SCENES
from tests.scenes.reading import read_aloud
from tests.scenes.stage import Stage

_SIZES = ((1280, 800), (820, 640))
_TREES = (3, 300, 10_000)


def main() -> int:
    out, wanted = Path(sys.argv[1]), sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.environ["QT_QPA_PLATFORM"] == OFFSCREEN:
            scale = int(os.environ.get("QT_SCALE_FACTOR", "1"))
            os.environ["QT_QPA_PLATFORM"] = offscreen_of(folder, 1600 * scale, 1000 * scale)
        _qt_application = make_qt_application([])
        themes: tuple[ThemeName, ...] = ("light", "dark")
        for theme in themes:
            for scenes, trees in ((EMPTY, None), (SCENES, (3, 300)), (LARGE, _TREES)):
                chosen = {name: scene for name, scene in scenes.items() if not wanted or name in wanted}
                if chosen:
                    stage = Stage(folder / f"{theme} {len(scenes)}", theme=theme, tree_sizes=trees)
                    _play(stage, chosen, out, theme)
                    stage.close()
    return 0


def _play(stage: Stage, scenes: Mapping[str, Callable[[Stage], QWidget]], out: Path, theme: str) -> None:
    for name, scene in scenes.items():
        for width, height in _SIZES:
            stage.window.resize(width, height)
            stage.settle()
            shown = scene(stage)
            stage.settle()
            photograph(shown).save(str(out / f"{name.replace(' ', '-')}-{theme}-{width}.png"))
            if name == "code":
                (out / "read-aloud.txt").write_text(read_aloud(stage.window.transcript), encoding="utf-8")
            stage.clear()
        print(f"{name}, {theme}", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", OFFSCREEN)
    sys.exit(main())
