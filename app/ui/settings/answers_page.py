"""The settings of what answers do where a conversation gets too long."""

from __future__ import annotations

from app.model.message import Overflow
from app.numbers import counted
from app.program import Program
from app.ui.parts.one_of import OneOf, quiet_label
from app.ui.settings.settings_page import SettingsPage, card

_OVERFLOWS: tuple[Overflow, Overflow] = ("fail", "drop_oldest")


class AnswersPage(SettingsPage):
    """What is chosen holds for the next answers; how they are drawn is set under each conversation."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program
        self.overflow = OneOf(self.tr("When a conversation is longer than the model's context"))
        self.overflow.add(self.tr("Say so and stop"), self.tr("You shorten the message, or go on from an earlier one."))
        self.overflow.add(
            self.tr("Leave out the oldest messages"),
            self.tr(
                "The system prompt and your last question stay. Nothing is deleted: the model does not see what is "
                "left out, and the answer says how much that is."
            ),
        )
        self.overflow.choose(_OVERFLOWS.index(program.settings.overflow))
        self._context = quiet_label("")
        self.cards.addWidget(card(self.overflow.accessibleName(), self._context, self.overflow))
        self.cards.addWidget(
            card(
                self.tr("How answers are drawn"),
                self.tr(
                    "Temperature, length, stop strings and the like belong to a conversation: they are set with the "
                    "button under the field where you write, and can be kept there as a preset."
                ),
            )
        )
        self.overflow.changed.connect(self._set)
        program.session.changed.connect(self._show_model)
        self._show_model()

    def _set(self) -> None:
        self._program.set_overflow(_OVERFLOWS[self.overflow.chosen])

    def _show_model(self) -> None:
        info = self._program.session.info
        if info is None:
            text = self.tr("A model reads only so much, its answer included; a word is one or two tokens.")
        else:
            text = self.tr(
                "The model that is loaded reads {} tokens at most, its answer included; a word is one or two."
            ).format(counted(info.context_length))
        self._context.setText(text)
