"""Scenes of branches: the tree, versions side by side, versions compared."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.ui.comparing.compare_window import CompareWindow
from tests.scenes.stage import Stage


def empty(stage: Stage) -> QWidget:
    """The sample tree of an empty conversation."""
    stage.act("tree")
    return stage.window


def tree(stage: Stage, num_messages: int) -> QWidget:
    stage.open(f"tree {num_messages}")
    stage.act("walk_tree")
    leaf = stage.controller.shown.path[-1].id
    stage.wait(lambda: stage.controller.costs.get(leaf) is not None)
    return stage.window


def side_by_side(stage: Stage) -> QWidget:
    stage.open("versions")
    stage.press(stage.controller.shown.path[2], "V")
    stage.wait(stage.window.side_by_side.isVisible)
    return stage.window


def comparing(stage: Stage) -> QWidget:
    stage.open("versions")
    stage.press(stage.controller.shown.path[2], "D")
    compared = stage.shown(CompareWindow)
    compared.next_button.click()
    return compared
