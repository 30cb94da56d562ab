"""Colours, type, space and icons; it knows no widget."""

from __future__ import annotations

import re
import string
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, convert
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPalette

import resources
from app.ui.parts.drawn_icon import DrawnIcon

Scheme: TypeAlias = Literal["light", "dark"]

TEXT_PX = 14
LINE_PX = 22  # 14 px at 1.55
CODE_PX = 13
CODE_LINE_PX = 19  # 13 px at 1.45
SMALL_PX = 12
COLUMN_PX = 760

_RESOURCES = Path(resources.__path__[0])
_THEMES, _ICONS = _RESOURCES / "themes", _RESOURCES / "icons"
_FONT_SIZE = re.compile(r"font-size: (\d+)px")
_SCALE = "text_scale"
"""The property of the application that says how large its text is."""


class Theme(Struct, frozen=True, kw_only=True):
    """One colour for each use, as `#RRGGBB`."""

    page: str
    surface: str
    sunken: str
    text: str
    quiet_text: str
    line: str
    control_line: str
    accent: str
    on_accent: str
    accent_wash: str
    warning: str
    danger: str
    information: str
    hover: str
    code_style: str
    text_scale: float = 1.0
    """Of all text; 1: as large as the constants above say."""
    has_less_motion: bool = False

    def palette(self) -> QPalette:
        """The colours where Qt looks for them."""
        palette = QPalette()
        roles = QPalette.ColorRole
        for role, colour in (
            (roles.Window, self.page),
            (roles.Base, self.surface),
            (roles.AlternateBase, self.sunken),
            (roles.Button, self.surface),
            (roles.WindowText, self.text),
            (roles.Text, self.text),
            (roles.ButtonText, self.text),
            (roles.PlaceholderText, self.quiet_text),
            (roles.Highlight, self.accent),
            (roles.HighlightedText, self.on_accent),
            (roles.Link, self.accent),
            (roles.LinkVisited, self.accent),
            (roles.ToolTipBase, self.surface),
            (roles.ToolTipText, self.text),
            (roles.Light, self.line),
            (roles.Mid, self.line),
            (roles.Dark, self.control_line),
            (roles.Accent, self.accent),
        ):
            palette.setColor(role, QColor(colour))
        for role in (roles.WindowText, roles.Text, roles.ButtonText):
            palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(self.quiet_text))
        return palette

    def style_sheet(self) -> str:
        """The window's style sheet in these colours."""
        source = (_THEMES / "window.qss").read_text(encoding="utf-8")
        names = {name: getattr(self, name) for name in self.__struct_fields__}
        # A style sheet takes no icon in a theme's colour, so the one mark that it needs is there in both.
        shade = "light" if QColor(self.on_accent).lightnessF() > 0.5 else "dark"
        names["checked"] = (_THEMES / f"checked-{shade}.svg").as_posix()
        sheet = _FONT_SIZE.sub(
            lambda found: f"font-size: {round(int(found[1]) * self.text_scale)}px",
            string.Template(source).substitute(names),
        )
        return f"{sheet}\nQWidget {{ widget-animation-duration: 0; }}" if self.has_less_motion else sheet


@lru_cache
def theme(scheme: Scheme) -> Theme:
    """Return the colours of a scheme."""
    return convert(tomllib.loads((_THEMES / f"{scheme}.toml").read_text(encoding="utf-8")), Theme)


def system_scheme() -> Scheme:
    """Return what the system asks for now."""
    is_dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return "dark" if is_dark else "light"


@lru_cache(maxsize=512)
def icon(name: str, colour: str) -> QIcon:
    """Return one of our icons in a colour, fainter where its control can't be used."""
    source = (_ICONS / f"{name}.svg").read_text(encoding="utf-8")
    return QIcon(DrawnIcon(source.replace("currentColor", colour)))


def icon_file() -> Path:
    """Return the program's own icon."""
    return _ICONS / "bough.svg"


def set_text_scale(scale: float) -> None:
    """Let all fonts that are asked for from now on be so many times as large."""
    application = QGuiApplication.instance()
    if application is not None:
        application.setProperty(_SCALE, scale)


def scaled(px: float) -> int:
    """Return how large that is where all text is larger or smaller."""
    application = QGuiApplication.instance()
    scale = application.property(_SCALE) if application is not None else None
    return round(px * (scale or 1.0))


def scaled_beside(px: int) -> int:
    """Return how wide what stands beside the page is: larger text needs more room, and leaves the page its share."""
    return px + max(0, (scaled(px) - px) // 3)


def text_font(px: int = TEXT_PX) -> QFont:
    """The system's font for text."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    font.setPixelSize(scaled(px))
    return font


def code_font(px: int = CODE_PX) -> QFont:
    """The system's font for code."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPixelSize(scaled(px))
    return font
