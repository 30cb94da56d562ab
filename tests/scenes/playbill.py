"""All scenes by name. Each brings about a state and returns the window to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtWidgets import QWidget

from tests.scenes import asking, conversations, leaving, models, trees
from tests.scenes.stage import Stage

Scene = Callable[[Stage], QWidget]

EMPTY: Mapping[str, Scene] = {
    "first start": conversations.first_start,
    "first start with starter": conversations.first_start_with_starter,
    "empty tree": trees.empty,
}
"""Scenes of a program without conversations."""

SCENES: Mapping[str, Scene] = {
    "empty conversation": conversations.empty,
    **{
        name: partial(conversations.opened, name=name)
        for name in ("code", "table", "scripts", "long word", "failed", "stopped")
    },
    "math": conversations.math,
    "much code": conversations.much_code,
    "thought": conversations.thought,
    "three siblings": partial(conversations.opened, name="versions"),
    "editing": conversations.editing,
    "selected messages": conversations.selecting,
    "long notice": conversations.notice,
    "found": conversations.finding,
    "tokens": conversations.tokens,
    "streaming": asking.streaming,
    "reading": asking.reading,
    "waiting": asking.waiting,
    "worker stuck": asking.stuck,
    "not saved": asking.unsaved,
    "worker restarted": asking.restarted,
    "side by side": trees.side_by_side,
    "comparing": trees.comparing,
    "tree 3": partial(trees.tree, num_messages=3),
    "tree 300": partial(trees.tree, num_messages=300),
    "attached": asking.attached,
    "sent files": asking.sent_files,
    "sampling": asking.sampling,
    "answer format": asking.answer_format,
    "system prompt": asking.system_prompt,
    "regenerate with": asking.regenerate_with,
    "message menu": conversations.message_menu,
    "going on": conversations.going_on,
    "models": models.models,
    "model of the hub": models.remote_model,
    "paused download": models.paused_download,
    "deleting a model": models.deleting,
    "models menu": conversations.models_menu,
    "palette": conversations.palette,
    "search": leaving.searching,
    "export": leaving.exporting,
    "export pages": leaving.exporting_pages,
    "import": leaving.importing,
    "trash": leaving.trash,
    "backups": leaving.backups,
    "run again": leaving.running_again,
    "keys": conversations.keys,
    "about": conversations.about,
    **{f"settings {number}": partial(conversations.settings, number=number) for number in range(7)},
    "draft models": conversations.draft_models,
}

LARGE: Mapping[str, Scene] = {"tree 10000": partial(trees.tree, num_messages=10_000)}
"""Scenes that take long to prepare."""
