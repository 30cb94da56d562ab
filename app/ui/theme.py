"""Colours, fonts, sizes and icons. Independent of widgets."""

from __future__ import annotations

import re
import string
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, convert, structs
from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QGuiApplication,
    QIcon,
    QIconEngine,
    QPainter,
    QPalette,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer
from typing_extensions import override

import resources

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.model.settings import Settings

Scheme: TypeAlias = Literal["light", "dark"]

TEXT_PX = 14
LINE_PX = 22  # 14 px at 1.55
CODE_PX = 13
CODE_LINE_PX = 19  # 13 px at 1.45
SMALL_PX = 12
COLUMN_PX = 760

_RESOURCES = Path(resources.__path__[0])
_THEMES, _ICONS = _RESOURCES / "themes", _RESOURCES / "icons"
_SCALED_SIZE = re.compile(r"(font-size|icon-size): (\d+)px")
_DISABLED_OPACITY = 0.45
_SCALE = "text_scale"
"""The name of the application's property that holds the text scale."""


class Theme(Struct, frozen=True, kw_only=True):
    """A colour for each use, as `#RRGGBB`, and the user's choices of text size and motion."""

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
    """A factor for all font sizes; 1.0 means the sizes above."""
    has_less_motion: bool = False

    def palette(self) -> QPalette:
        """Return a Qt palette with these colours."""
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
        """Return the window's style sheet in these colours."""
        source = (_THEMES / "window.qss").read_text(encoding="utf-8")
        names = {name: getattr(self, name) for name in self.__struct_fields__}
        # A style sheet can't colour icons, so the only one that it needs exists in two colours.
        shade = "light" if QColor(self.on_accent).lightnessF() > 0.5 else "dark"
        names["checked"] = (_THEMES / f"checked-{shade}.svg").as_posix()
        sheet = _SCALED_SIZE.sub(
            lambda found: f"{found[1]}: {round(int(found[2]) * self.text_scale)}px",
            string.Template(source).substitute(names),
        )
        return f"{sheet}\nQWidget {{ widget-animation-duration: 0; }}" if self.has_less_motion else sheet


@lru_cache
def theme(scheme: Scheme) -> Theme:
    """Return the colours of a scheme."""
    return convert(tomllib.loads((_THEMES / f"{scheme}.toml").read_text(encoding="utf-8")), Theme)


def chosen_theme(settings: Settings) -> Theme:
    """Return the theme of these settings."""
    return structs.replace(
        theme(system_scheme() if settings.theme == "system" else settings.theme),
        text_scale=settings.text_percent / 100,
        has_less_motion=settings.motion == "less",
    )


def system_scheme() -> Scheme:
    """Return the scheme that the system uses now."""
    is_dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return "dark" if is_dark else "light"


@lru_cache(maxsize=512)
def icon(name: str, colour: str) -> QIcon:
    """Return one of Bough's icons in a colour. The icon is fainter on disabled controls."""
    source = (_ICONS / f"{name}.svg").read_text(encoding="utf-8")
    return QIcon(_SvgIconEngine(source.replace("currentColor", colour)))


def icon_file() -> Path:
    """Return the path of the program's icon."""
    return _ICONS / "bough.svg"


def set_text_scale(scale: float) -> None:
    """Set the factor for `scaled` and for the sizes of fonts that are created from now on."""
    application = QGuiApplication.instance()
    if application is not None:
        application.setProperty(_SCALE, scale)


def scaled(px: float) -> int:
    """Return a size in pixels multiplied by the text scale."""
    application = QGuiApplication.instance()
    scale = application.property(_SCALE) if application is not None else None
    return round(px * (scale or 1.0))


def grown(px: float) -> int:
    """Return a size in pixels multiplied by the text scale, but not less: some controls do not shrink with the text."""
    return max(scaled(px), round(px))


def around_line(px: int) -> int:
    """Return the height of a row with one line of text, which is `px` at the default text size or a smaller one.

    The line grows with the text, the space around it does not.
    """
    return px + grown(LINE_PX) - LINE_PX


def scaled_beside(px: int) -> int:
    """Return the width of a panel beside the page.

    The panel grows a third as much as the text, to leave enough width for the page.
    """
    return px + max(0, (scaled(px) - px) // 3)


def text_font(px: int = TEXT_PX) -> QFont:
    """Return the system's font for text, scaled."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    font.setPixelSize(scaled(px))
    return font


def code_font(px: int = CODE_PX) -> QFont:
    """Return the system's font for code, scaled."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPixelSize(scaled(px))
    return font


def is_animated(widget: QWidget) -> bool:
    """Return whether changes of a widget may be animated: the system or the settings can turn motion off."""
    # Importing QStyle's names takes long, so it waits until after the window's start.
    from PySide6.QtWidgets import QStyle

    return widget.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, widget) > 0


def repolish(widget: QWidget) -> None:
    """Apply the style sheet again, after a property or the object name of a widget has changed."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)


class _SvgIconEngine(QIconEngine):
    """Renders an SVG when it is first painted, in the size and pixel ratio needed; fainter if it is disabled."""

    def __init__(self, svg: str) -> None:
        super().__init__()
        self._svg = svg
        self._drawn: dict[tuple[int, int, float, QIcon.Mode], QPixmap] = {}
        self._copies: list[_SvgIconEngine] = []
        """Qt owns what `clone` returns, but Python must keep a reference."""

    @override
    def scaledPixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float) -> QPixmap:
        key = (size.width(), size.height(), scale, mode)
        if key not in self._drawn:
            drawn = self._drawn[key] = QPixmap((size.toSizeF() * scale).toSize())
            drawn.fill(Qt.GlobalColor.transparent)
            painter = QPainter(drawn)
            painter.setOpacity(_DISABLED_OPACITY if mode == QIcon.Mode.Disabled else 1.0)
            QSvgRenderer(QByteArray(self._svg.encode())).render(painter, QRectF(drawn.rect()))
            painter.end()
            drawn.setDevicePixelRatio(scale)
        return self._drawn[key]

    @override
    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    @override
    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        scale = painter.device().devicePixelRatioF()
        painter.drawPixmap(rect, self.scaledPixmap(rect.size(), mode, state, scale))

    @override
    def clone(self) -> QIconEngine:
        copy = _SvgIconEngine(self._svg)
        self._copies.append(copy)
        return copy
