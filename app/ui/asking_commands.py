"""What is done in the composer's row, and what lies ready there: it goes to the conversation that the window shows."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from app.controller import Controller
from app.model.message import Sampling
from app.ui.composer import Composer
from app.ui.sampling_popover import SamplingPopover


class AskingCommands(QObject):
    """Opens what the composer's buttons open; keeps what is written, and shows it again with its conversation."""

    def __init__(self, controller: Controller, composer: Composer, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._preparation = controller.preparation
        self._composer = composer
        self._window = window
        composer.sent.connect(controller.send)
        composer.stop_asked.connect(controller.stop)
        composer.sampling_asked.connect(self._show_sampling)
        composer.edited.connect(self._keep)
        controller.unsent.connect(composer.give_back)
        self._preparation.shown.connect(self._show_unsent)
        self._preparation.asking_changed.connect(self._show_asking)
        self._show_unsent()
        self._show_asking()

    def slots(self) -> dict[str, Callable[[], object]]:
        """What each action does, by its name in the menus."""
        return {}

    def _keep(self) -> None:
        self._preparation.keep(structs.replace(self._preparation.unsent, text=self._composer.text.content))

    def _show_unsent(self) -> None:
        self._composer.show_unsent(self._preparation.unsent.text)

    def _show_asking(self) -> None:
        self._composer.set_sampling(self._preparation.asking.sampling)

    def _show_sampling(self) -> None:
        popover = SamplingPopover(self._preparation.asking.sampling, self._window)
        popover.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        popover.changed.connect(self._draw_so)
        popover.show_above(self._composer.sampling_button)

    def _draw_so(self, sampling: Sampling) -> None:
        self._preparation.ask_so(structs.replace(self._preparation.asking, sampling=sampling))
