"""The bar above the transcript: the title of the conversation, and the model with its loading progress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QToolButton
from typing_extensions import override

from app.answers.sessions import GUIDE, ModelInUse
from app.model.endpoints import shown_name
from app.numbers import counted
from app.ui.parts.buttons import FittingButton, give_menu
from app.ui.parts.labels import ElidedLabel, as_label, as_tool_tip, beginning
from app.ui.theme import Theme, around_line, icon, scaled

if TYPE_CHECKING:
    from app.local_api import LocalApi
    from app.ui.sidebar.serving_line import ServingMark

_HEIGHT_PX = 48
_DRAFT = "draft model: "
_MAX_MODEL_PX, _SHORT_MODEL_PX = 200, 96
_MIN_TITLE_PX = 96
_NARROW_PX = 520
_MAX_PROJECT_PX = 160


class Header(QFrame):
    """Shows the names, with buttons for the sidebar, the tree and the menu of models.

    A narrow window has one more button, for all menus.
    """

    sidebar_requested = Signal()
    tree_requested = Signal()
    load_cancelled = Signal()
    project_requested = Signal()

    def __init__(self, models: QMenu, all_menus: QMenu) -> None:
        super().__init__()
        self.setObjectName("header")
        self._project = ""
        self.title = ElidedLabel()
        self.title.setObjectName("title")
        self._sidebar_button = QToolButton()
        self._sidebar_button.setToolTip(self.tr("Sidebar (Ctrl+B)"))
        self._sidebar_button.clicked.connect(self.sidebar_requested)
        self._tree_button = QToolButton()
        self._tree_button.setToolTip(self.tr("Tree (Ctrl+T)"))
        self._tree_button.clicked.connect(self.tree_requested)
        self.menu_button = QToolButton()
        self.menu_button.setAccessibleName(self.tr("Menus"))
        self.menu_button.setToolTip(self.tr("Menus"))
        give_menu(self.menu_button, all_menus)
        self.menu_button.setVisible(False)
        self.model_button = FittingButton()
        self.model_button.setObjectName("action")
        self.model_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        give_menu(self.model_button, models)
        self.cancel_button = QToolButton()
        self.cancel_button.setAccessibleName(self.tr("Stop loading the model"))
        self.cancel_button.setToolTip(self.tr("Stop loading the model"))
        self.cancel_button.setVisible(False)
        self.cancel_button.clicked.connect(self.load_cancelled)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 16, 0)
        row.setSpacing(8)
        row.addWidget(self._sidebar_button)
        self.project_button = QToolButton()
        """The project of the conversation."""
        self.project_button.setObjectName("action")
        self.project_button.setVisible(False)
        self.project_button.clicked.connect(self.project_requested)
        row.addWidget(self.project_button)
        row.addWidget(self.title, 1)
        self.serving_mark: ServingMark | None = None
        """Says that the local API is on, while the sidebar is hidden. Otherwise the sidebar says so."""
        self._is_sidebar_shown = True
        self._row = row
        self.show_sidebar(is_shown=True)
        self.show_tree(False)
        row.addWidget(self.model_button)
        row.addWidget(self.cancel_button)
        row.addWidget(self._tree_button)
        row.addWidget(self.menu_button)

    def set_theme(self, theme: Theme) -> None:
        self.setFixedHeight(around_line(_HEIGHT_PX))
        self._fit()
        self.menu_button.setIcon(icon("menu", theme.quiet_text))
        self._sidebar_button.setIcon(icon("sidebar", theme.quiet_text))
        self._tree_button.setIcon(icon("tree", theme.quiet_text))
        self.model_button.setIcon(icon("model", theme.quiet_text))
        self.cancel_button.setIcon(icon("close", theme.quiet_text))

    def watch(self, api: LocalApi) -> None:
        """Show when the local API is on."""
        from app.ui.sidebar.serving_line import ServingMark

        self.serving_mark = ServingMark(api)
        self._row.insertWidget(self._row.indexOf(self.model_button), self.serving_mark)
        self.show_sidebar(is_shown=self._is_sidebar_shown)

    def show_sidebar(self, *, is_shown: bool) -> None:
        """Show that the sidebar is visible, or hidden."""
        self._is_sidebar_shown = is_shown
        self._sidebar_button.setAccessibleName(self.tr("Hide the sidebar") if is_shown else self.tr("Show the sidebar"))
        if self.serving_mark is not None:
            self.serving_mark.set_wanted(is_wanted=not is_shown)

    def show_tree(self, is_shown: bool) -> None:
        """Show that the tree is visible, or hidden."""
        self._tree_button.setAccessibleName(self.tr("Hide the tree") if is_shown else self.tr("Show the tree"))

    def show_title(self, title: str, project: str = "") -> None:
        """Show the name of the conversation, and of the project that it is in."""
        self.title.show_text(title)
        self._project = project
        name = self.fontMetrics().elidedText(project, Qt.TextElideMode.ElideRight, scaled(_MAX_PROJECT_PX))
        self.project_button.setText(f"{as_label(name)} ›")
        self.project_button.setAccessibleName(self.tr("Project: {}").format(project))
        self.project_button.setToolTip(as_tool_tip(self.tr("Project: {}").format(project)))
        self._fit()

    def _fit(self) -> None:
        """Leave the title room in a narrow window."""
        is_narrow = self.width() < _NARROW_PX
        self.project_button.setVisible(bool(self._project) and not is_narrow)
        spacing = 4 if is_narrow else 8
        if self._row.spacing() != spacing:
            # Even the same values would make Qt ask for a layout again, and that calls this, without end.
            self._row.setContentsMargins(8 if is_narrow else 12, 0, 8 if is_narrow else 16, 0)
            self._row.setSpacing(spacing)
        others = self._row.minimumSize().width() - self.title.minimumWidth()
        least = max(min(scaled(_MIN_TITLE_PX), self.width() - others), 0)
        self.title.setMinimumWidth(least)
        self.model_button.limit(self.width() - others - least + self.model_button.minimumSizeHint().width())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @override
    def event(self, e: QEvent) -> bool:
        if e.type() == QEvent.Type.LayoutRequest:
            # A button came or went, or has another size.
            self._fit()
        return super().event(e)

    def show_model(self, session: ModelInUse) -> None:
        name = model_label(session.name)
        metrics, middle = self.fontMetrics(), Qt.TextElideMode.ElideMiddle
        text, short = (metrics.elidedText(name, middle, scaled(px)) for px in (_MAX_MODEL_PX, _SHORT_MODEL_PX))
        if session.state == "loading":
            text += f" · {stage_text(session.stage)} {counted(100 * session.fraction, 0)} %"
        elif session.state == "failed":
            text += self.tr(" · not loaded")
        self.cancel_button.setVisible(session.state == "loading")
        self.cancel_button.setEnabled(not session.is_cancelling)
        self.model_button.show_texts(text, short, "", ending=" ▾")
        self.model_button.setAccessibleName(self.tr("Model: {}").format(text))
        tip, info = name, session.info
        if session.state == "unloaded":
            tip += self.tr(" · not in memory; the next question loads it")
        if info is not None:
            if info.num_parameters:
                tip += self.tr(" · {} · {} M parameters · context {} tokens").format(
                    info.architecture, counted(info.num_parameters / 1e6, 1), counted(info.context_length)
                )
            if info.draft_model:
                tip += self.tr(" · draft model {model}").format(model=model_label(info.draft_model))
        self.model_button.setToolTip(as_tool_tip(tip))


def model_label(name: str) -> str:
    """Return the name of a model as the user sees it: "Guide", translated, or the name of the model's folder."""
    return QCoreApplication.translate("Header", "Guide") if name == GUIDE else beginning(_last_part(name))


def _last_part(name: str) -> str:
    shown = shown_name(name)
    return shown if shown != name else Path(name).name or name


def stage_text(stage: str) -> str:
    """Translate a stage of loading that the worker reports; an unknown stage is returned unchanged."""
    match stage:
        case "starting":
            return QCoreApplication.translate("Header", "starting")
        case "building the model":
            return QCoreApplication.translate("Header", "building the model")
        case "reading the weights":
            return QCoreApplication.translate("Header", "reading the weights")
        case "connecting":
            return QCoreApplication.translate("Header", "connecting")
        case "warming up":
            return QCoreApplication.translate("Header", "warming up")
        case _ if stage.startswith(_DRAFT):
            return QCoreApplication.translate("Header", "draft model: {stage}").format(
                stage=stage_text(stage.removeprefix(_DRAFT))
            )
        case _:
            return stage
