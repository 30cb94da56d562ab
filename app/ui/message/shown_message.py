"""A message as it is to be displayed, and the display modes that several views share. Independent of Qt widgets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, QObject, Signal

from app.model.message import Message, MessageId, Role, ThoughtMarks
from app.model.token_pieces import TokenPiece
from app.ui.menus import Entry
from app.ui.message.message_action import MessageAction


def _no_tokens(_: MessageId) -> Sequence[TokenPiece]:
    return ()


def _no_marks(_: str) -> ThoughtMarks | None:
    return None


class DisplayModes(QObject):
    """How each message is displayed.

    All views of a transcript share one, so that a message looks as the user left it.
    """

    tokens_toggled = Signal(bool)
    figures_toggled = Signal(bool)

    def __init__(
        self,
        tokens_so_far: Callable[[MessageId], Sequence[TokenPiece]] = _no_tokens,
        marks_of: Callable[[str], ThoughtMarks | None] = _no_marks,
    ) -> None:
        """`marks_of` returns the marks of reasoning that the user named for a model."""
        super().__init__()
        self._marks_of = marks_of
        self.tokens_so_far = tokens_so_far
        """Returns the tokens of an answer that is streaming, with their positions in its text."""
        self.raw: set[MessageId] = set()
        """Messages displayed as plain source text."""
        self.unfolded: set[MessageId] = set()
        """Messages whose thought or note is open."""
        self.cancelled_edits: dict[MessageId, str] = {}
        """The text of cancelled edits. The next edit of the message starts with it."""
        self._are_tokens_shown = self._are_all_figures_shown = False

    def marks_of(self, message: Message) -> ThoughtMarks | None:
        """Return the marks around an answer's reasoning: the user's marks for its model, else those in its record."""
        record = message.record
        return None if record is None else self._marks_of(record.model) or record.thought_marks

    @property
    def are_tokens_shown(self) -> bool:
        return self._are_tokens_shown

    @property
    def are_all_figures_shown(self) -> bool:
        """Whether all costs of an answer are shown below it, not only one figure."""
        return self._are_all_figures_shown

    def show_all_figures(self, shown: bool) -> None:
        if shown != self._are_all_figures_shown:
            self._are_all_figures_shown = shown
            self.figures_toggled.emit(shown)

    def show_tokens(self, shown: bool) -> None:
        """Tint the tokens of answers, or remove the tint."""
        if shown != self._are_tokens_shown:
            self._are_tokens_shown = shown
            self.tokens_toggled.emit(shown)


class ShownMessage(Struct, frozen=True):
    """A message together with everything else that its view depends on."""

    message: Message
    siblings: Sequence[int]
    actions: Sequence[MessageAction]
    is_streaming: bool
    is_last: bool
    modes: DisplayModes | None = None
    """None means the default modes."""
    is_saved: bool = True
    """Whether all of the message's text is saved in the store."""
    is_waiting: bool = False
    """Whether the message streams, but has no text yet."""
    is_queued: bool = False
    """Whether the model has not been asked yet: the message waits for another answer, or for its model to load."""
    first: Message | None = None
    """The first part of the message, which has its versions and marks; None if the message has one part."""
    is_end: bool = True
    """Whether this is the last part of its message, which has the row of actions for all of them."""
    opens: Entry | None = None
    """The menu entry that a button below the guide's answer offers; None for no button."""
    num_tokens: int | None = None
    """The size of an attached file in tokens; None means that it is not known."""

    @property
    def text(self) -> str:
        """The text to display.

        For a note or a file only its first line, the label, because the rest may be megabytes.
        """
        text = self.message.text
        return text.partition("\n")[0] if self.message.role in {"note", "file"} else text

    @property
    def is_json_asked(self) -> bool:
        """Whether the answer's format was JSON."""
        record = self.message.record
        return record is not None and record.constraint is not None and record.constraint.kind == "json_schema"

    @property
    def name(self) -> str:
        """The accessible name, for screen readers."""
        role = role_name(self.message.role)
        if len(self.siblings) > 1:
            number = list(self.siblings).index((self.first or self.message).id) + 1
            words = QCoreApplication.translate("MessageView", "{}, version {} of {}")
            return words.format(role, number, len(self.siblings))
        return role


def role_name(role: Role) -> str:
    """Return the heading for messages of a role."""
    match role:
        case "system":
            return QCoreApplication.translate("MessageView", "System prompt")
        case "user":
            return QCoreApplication.translate("MessageView", "You")
        case "assistant":
            return QCoreApplication.translate("MessageView", "Answer")
        case "note":
            return QCoreApplication.translate("MessageView", "Note")
        case "file":
            return QCoreApplication.translate("MessageView", "File")
        case "root":
            return ""
