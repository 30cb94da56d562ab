"""Notices in a window: the banner that shows them, what its button does, and what screen readers announce."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, assert_never

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QDesktopServices, QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QWidget,
)
from typing_extensions import override

from app.answers.sessions import GUIDE
from app.notices import (
    KINDS,
    AllowLargeAnswers,
    AskGuide,
    AskWithProject,
    ChatWith,
    EditAgain,
    FreeMemory,
    LoadAnyway,
    Notice,
    NoticeAction,
    OpenMemorySettings,
    OpenModels,
    OpenPage,
    RestartWorker,
    ResumeTransfers,
    ShowBackups,
    ShowConversation,
    ShowFile,
    ShowReport,
    StartEmpty,
    Undo,
    UndoArchive,
    UndoDelete,
    UndoDeleteProject,
    UsePlainTemplate,
)
from app.sentences import translated
from app.ui.parts.buttons import claim_escape
from app.ui.parts.labels import BreakingLabel, beginning
from app.ui.theme import COLUMN_PX, Theme, icon, repolish, scaled
from worker.sentence import verbatim

if TYPE_CHECKING:
    from pathlib import Path

    from app.conversation.controller import Controller
    from app.model.message import Message, MessageId
    from app.ui.composer.composer import Composer
    from app.ui.message.message_commands import MessageCommands
    from app.ui.program_commands import ProgramCommands
    from app.ui.transcript.transcript import Transcript

_Action = TypeVar("_Action", bound=NoticeAction)

_MIN_TEXT_PX = 240
"""The minimum width of the text beside the button. Where the text would be narrower, the button goes below it."""
_GAP_PX, _NARROW_GAP_PX = 12, 4
_MARGINS_PX = 12 + 8
"""The left and right margins inside the card, together."""
_NARROW_PX = 520
_EDGE_PX, _NARROW_EDGE_PX = 16, 8
"""The minimum distance between the card and each side edge of the page."""
_TOP_PX = 8
_OF_PAGE = 0.6
"""The fraction of the page's height that the banner may cover. Longer texts scroll."""


class Banner(QWidget):
    """Shows one notice at a time, over the page: the latest of the most serious ones. The others wait.

    The banner never takes the focus, and moves nothing on the page. Esc closes it if the focus is inside.
    """

    left = Signal()
    """The banner was closed while it had the focus."""

    covering = Signal(int)
    """The banner covers this height at the top of the page, in pixels; 0 means that it was closed."""

    action_requested = Signal(object)
    """The `NoticeAction` of the button that was pressed."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._page: QWidget | None = None
        """The widget that the banner covers in part."""
        self._notices: list[Notice] = []
        """All notices, the least serious first. The last one is shown."""
        self.is_possible: Callable[[NoticeAction], bool] = lambda _: True
        """Returns whether the action of a notice would do something now.

        Call `show_possible` when that may have changed.
        """
        self._card = QFrame()
        self._card.setObjectName("banner")
        self._icon = QLabel()
        self.label = BreakingLabel()
        self.button = QPushButton()
        self.button.clicked.connect(self._on_button)
        self.close_button = QToolButton()
        self.close_button.setAccessibleName(self.tr("Close notice"))
        self.close_button.setToolTip(self.tr("Close"))
        self.close_button.clicked.connect(self.dismiss)
        self._is_button_below = False
        self._grid = QGridLayout(self._card)
        self._grid.setContentsMargins(12, 8, 8, 8)
        self._grid.setSpacing(_GAP_PX)
        self._grid.setColumnStretch(1, 1)
        self._grid.addWidget(self._icon, 0, 0, Qt.AlignmentFlag.AlignTop)
        self._scrolling_text = _ScrollingText(self.label)
        self._grid.addWidget(self._scrolling_text, 0, 1)
        self._grid.addWidget(self.button, 0, 2)
        self._grid.addWidget(self.close_button, 0, 3, Qt.AlignmentFlag.AlignTop)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._card)
        self.set_theme(theme)
        self.setVisible(False)

    def lie_over(self, page: QWidget, parent: QWidget) -> None:
        """Set the widget that the banner covers in part, and the common parent of the two."""
        self._page = page
        self.setParent(parent)
        page.installEventFilter(self)

    def _place(self) -> None:
        if self._page is None:
            return
        page = self._page.geometry()
        is_narrow = page.width() < _NARROW_PX
        width = min(COLUMN_PX + 16, page.width() - 2 * (_NARROW_EDGE_PX if is_narrow else _EDGE_PX))
        self._grid.setHorizontalSpacing(_NARROW_GAP_PX if is_narrow else _GAP_PX)
        self._place_button(width)
        self._align()
        self._scrolling_text.updateGeometry()
        whole = self._card_height(width)
        height = min(whole, max(round(page.height() * _OF_PAGE), self.minimumSizeHint().height()))
        self._scrolling_text.allow_bar(is_allowed=height < whole)
        self.setGeometry(page.left() + (page.width() - width) // 2, page.top() + _TOP_PX, width, height)
        self.raise_()
        if not self.isHidden():
            self.covering.emit(_TOP_PX + height)

    def _align(self) -> None:
        """Put the icon and the buttons level with the first line of the text."""
        beside = [self.close_button] if self._is_button_below else [self.close_button, self.button]
        row_px = max(widget.sizeHint().height() for widget in beside if not widget.isHidden())
        for widget in (self._icon, self.close_button):
            widget.setFixedHeight(row_px)
        self._scrolling_text.put_first_line_into(row_px)

    def _card_height(self, width: int) -> int:
        layout = self._grid
        layout.activate()
        margins = self._card.contentsMargins()
        inner = width - margins.left() - margins.right()
        height = layout.totalHeightForWidth(inner) if layout.hasHeightForWidth() else layout.totalSizeHint().height()
        return height + margins.top() + margins.bottom()

    @property
    def _notice(self) -> Notice | None:
        return self._notices[-1] if self._notices else None

    @property
    def action(self) -> NoticeAction | None:
        """The action that the shown notice offers; None if no notice is shown, or if it offers none."""
        action = None if self._notice is None else self._notice.action
        return action if action is not None and self.is_possible(action) else None

    def show_possible(self) -> None:
        """Show the button of the notice if its action is possible now, and hide it if not."""
        self.button.setText(self._button_text(self.action))
        self.button.setVisible(self.action is not None)
        self._place()

    def show_notice(self, notice: Notice) -> None:
        """Show a notice, or let it wait behind a more serious one."""
        kept = [other for other in self._notices if not notice.replaces(other)]
        # Sorting keeps the order of notices that are equally serious.
        self._set([*kept, notice])

    def _set(self, notices: list[Notice]) -> None:
        shown = self._notice
        self._notices = sorted(notices, key=lambda notice: KINDS.index(notice.kind))
        if self._notice is None:
            had_focus = self._has_focus
            self.setVisible(False)
            self.covering.emit(0)
            if had_focus:
                self.left.emit()
        elif self._notice is not shown:
            self._show(self._notice)

    def _show(self, notice: Notice) -> None:
        self._card.setProperty("kind", notice.kind)
        repolish(self._card)
        text = beginning(translated(notice.text))
        self.label.setText(text)
        # A scroll area does not do this by itself when its content gets higher.
        self._scrolling_text.updateGeometry()
        self._card.setAccessibleName(text)
        self.set_theme(self._theme)
        self.setVisible(True)
        self.show_possible()

    def _button_text(self, action: NoticeAction | None) -> str:
        match action:
            case None:
                return ""
            case Undo() | UndoDelete() | UndoArchive() | UndoDeleteProject():
                return self.tr("Undo")
            case AskWithProject():
                return self.tr("Ask again with project")
            case ChatWith():
                return self.tr("Start a chat")
            case LoadAnyway():
                return self.tr("Load anyway")
            case FreeMemory():
                return self.tr("Free memory first")
            case AllowLargeAnswers():
                return self.tr("Allow")
            case UsePlainTemplate():
                return self.tr("Use a plain template")
            case AskGuide():
                return self.tr("Ask the guide")
            case ResumeTransfers(keys):
                return self.tr("Resume") if len(keys) == 1 else self.tr("Resume all")
            case RestartWorker():
                return self.tr("Restart")
            case OpenMemorySettings():
                return self.tr("Open settings")
            case OpenModels():
                return self.tr("Open Models")
            case ShowFile():
                return self.tr("Show in folder")
            case OpenPage():
                return self.tr("Open page")
            case ShowReport():
                return self.tr("Show report")
            case ShowConversation():
                return self.tr("Show")
            case ShowBackups():
                return self.tr("Backups…")
            case StartEmpty():
                return self.tr("Start without conversations")
            case EditAgain():
                return self.tr("Continue editing")
        assert_never(action)

    def has(self, kind: type[NoticeAction]) -> bool:
        """Whether a notice with an action of this kind is shown or waits."""
        return any(isinstance(notice.action, kind) for notice in self._notices)

    def dismiss(self) -> None:
        """Close the shown notice; the next one appears."""
        self._set(self._notices[:-1])

    def end(self, cause: str) -> None:
        """Remove the notice with this `Cause`."""
        self._set([notice for notice in self._notices if notice.cause != cause])

    def dismiss_passing(self) -> None:
        """Dismiss notices when the user turns to something else. Serious notices and those with a cause stay."""
        self._set([notice for notice in self._notices if notice.kind == "danger" or notice.cause is not None])

    def withdraw(self, kind: type[_Action], is_stale: Callable[[_Action], bool] = lambda _: True) -> None:
        """Dismiss the notices with an action of this kind for which `is_stale` is true: they would now mislead."""
        self._set(
            [notice for notice in self._notices if not (isinstance(notice.action, kind) and is_stale(notice.action))]
        )

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        kind = self._notice.kind if self._notice is not None else "information"
        colour = {"information": theme.information, "warning": theme.warning, "danger": theme.danger}[kind]
        name = "information" if kind == "information" else "warning"
        self._icon.setPixmap(icon(name, colour).pixmap(scaled(20), scaled(20)))
        self.close_button.setIcon(icon("close", theme.quiet_text))
        if self.isVisible():
            self._place()

    def _place_button(self, width: int) -> None:
        """Put the button beside the text, or below it where the text would get too narrow."""
        beside = (self._icon, self.button, self.close_button)
        room = width - _MARGINS_PX - sum(widget.sizeHint().width() + _GAP_PX for widget in beside)
        is_below = bool(self.button.text()) and room < scaled(_MIN_TEXT_PX)
        if is_below != self._is_button_below:
            self._is_button_below = is_below
            self._grid.removeWidget(self.button)
            if is_below:
                self._grid.addWidget(self.button, 1, 0, 1, 4, Qt.AlignmentFlag.AlignRight)
            else:
                self._grid.addWidget(self.button, 0, 2)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._page and event.type() in {QEvent.Type.Resize, QEvent.Type.Move} and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    @property
    def _has_focus(self) -> bool:
        focus = self.window().focusWidget()
        return focus is not None and self.isAncestorOf(focus)

    @override
    def event(self, event: QEvent) -> bool:
        return claim_escape(event) or super().event(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        else:
            super().keyPressEvent(event)

    def _on_button(self) -> None:
        action = self.action
        self.dismiss()
        if action is not None:
            self.action_requested.emit(action)


class _ScrollingText(QScrollArea):
    """A label in a frame as high as its text. It scrolls in a window that is too low for all of it."""

    def __init__(self, label: QLabel) -> None:
        super().__init__()
        self.setObjectName("banner_words")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._label = label
        # Without this, Qt gives the label a minimum width, and a narrow window would cut its text off.
        label.setMinimumWidth(1)
        self.setWidget(label)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        # The area takes the focus, so that keys can scroll it, only while there is something to scroll.
        self.verticalScrollBar().rangeChanged.connect(self._on_range)

    def put_first_line_into(self, height_px: int) -> None:
        """Set the space above and below the text so that its first line is in the middle of this height."""
        space = height_px - self._label.fontMetrics().lineSpacing() - 2 * self.frameWidth()
        above = max(space // 2, 0)
        self.setViewportMargins(0, above, 0, above)

    def allow_bar(self, *, is_allowed: bool) -> None:
        """Set whether the frame may have a scroll bar, because Qt keeps a bar that a lower frame once needed."""
        policies = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(policies.ScrollBarAsNeeded if is_allowed else policies.ScrollBarAlwaysOff)

    def _on_range(self, _minimum: int, maximum: int) -> None:
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if maximum else Qt.FocusPolicy.NoFocus)

    @override
    def heightForWidth(self, width: int, /) -> int:
        return self._label.heightForWidth(width - self._frame_size.width()) + self._frame_size.height()

    @property
    def _frame_size(self) -> QSize:
        return self.size() - self.maximumViewportSize()

    @override
    def sizeHint(self) -> QSize:
        return self._label.sizeHint() + self._frame_size

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._label.minimumSizeHint().width(), self._label.fontMetrics().lineSpacing())


class NoticeCommands(QObject):
    """Shows the program's and the window's notices in the banner, and carries out the actions of its button."""

    def __init__(
        self,
        controller: Controller,
        banner: Banner,
        *,
        composer: Composer,
        transcript: Transcript,
        message_commands: MessageCommands,
        program_commands: ProgramCommands,
        show_backups: Callable[[], object],
        show_models: Callable[[], object],
    ) -> None:
        super().__init__(banner)
        self._controller = controller
        self._banner = banner
        self._message_commands = message_commands
        self._program_commands = program_commands
        self._show_backups = show_backups
        self._show_models = show_models
        controller.program.notices.posted.connect(self._on_notice)
        controller.program.notices.ended.connect(banner.end)
        for notice in controller.program.notices.lasting:
            banner.show_notice(notice)
        for source in (composer, transcript, message_commands):
            source.refused.connect(self._on_refused)
        transcript.edit_cancelled.connect(self._on_edit_cancelled)
        transcript.editor_opened.connect(self._on_editor_opened)
        controller.shown.branch_changed.connect(self._withdraw_elsewhere)
        # Methods, not functions: these signals outlive the window, and Qt disconnects only methods with it.
        controller.shown.history_changed.connect(self._withdraw_undo)
        controller.program.conversations.changed.connect(self._withdraw_undone)
        controller.program.answers.requested.connect(self._withdraw_large_answers)
        controller.model.changed.connect(self._withdraw_of_models)
        banner.action_requested.connect(self._act)
        banner.is_possible = self._is_possible
        banner.show_possible()

    def _is_possible(self, action: NoticeAction) -> bool:
        """Whether an action would do something now: for example, the guide can't be opened while it is in use."""
        return not (isinstance(action, AskGuide) and self._controller.model.name == GUIDE)

    def _on_notice(self, notice: Notice) -> None:
        conversation = self._controller.shown.conversation
        if notice.is_for(None if conversation is None else conversation.id):
            self._banner.show_notice(notice)

    def _on_refused(self, why: str) -> None:
        self._banner.show_notice(Notice(verbatim(why), "warning"))

    def _on_edit_cancelled(self, message_id: MessageId) -> None:
        text = self.tr("Your unfinished text is kept. Edit the message to continue with it.")
        self._banner.show_notice(Notice(verbatim(text), action=EditAgain(message_id)))

    def _on_editor_opened(self, _editor: object) -> None:
        self._banner.withdraw(EditAgain)

    def _withdraw_undo(self) -> None:
        self._banner.withdraw(Undo)

    def _withdraw_large_answers(self) -> None:
        self._banner.withdraw(AllowLargeAnswers)

    def _withdraw_elsewhere(self) -> None:
        """Withdraw notices about another page, and those that lead to the shown page."""
        shown = self._controller.shown
        shown_id = None if shown.conversation is None else shown.conversation.id
        self._banner.withdraw(EditAgain, lambda edit: not shown.has(edit.message_id))
        self._banner.withdraw(Undo, lambda undo: undo.conversation_id != shown_id)
        can_renew = self._controller.beginnings.can_renew
        self._banner.withdraw(AskWithProject, lambda ask: ask.conversation_id != shown_id or not can_renew)
        self._banner.withdraw(ShowConversation, lambda show: show.conversation_id == shown_id)

    def _withdraw_undone(self) -> None:
        """Withdraw offers to undo a deletion or an archiving that was undone."""
        if self._banner.has(UndoDeleteProject):
            projects = set(self._controller.program.projects.names)
            self._banner.withdraw(UndoDeleteProject, lambda undo: undo.folder in projects)
        if self._banner.has(UndoArchive) or self._banner.has(UndoDelete):
            listed = self._controller.program.conversations.all
            archived = {one.id for one in listed if one.archived_ms is not None}
            here = {one.id for one in listed}
            self._banner.withdraw(UndoArchive, lambda undo: undo.conversation_id not in archived)
            self._banner.withdraw(UndoDelete, lambda undo: undo.conversation_id in here)

    def _withdraw_of_models(self) -> None:
        """Withdraw notices that offer the model in use, and those about a model that is not in use any more."""
        name = self._controller.model.name
        self._banner.withdraw(ChatWith, lambda chat: chat.model == name)
        self._banner.withdraw(AllowLargeAnswers, lambda allow: allow.model != name)
        self._banner.show_possible()

    def _act(self, action: NoticeAction) -> None:
        program = self._controller.program
        match action:
            case Undo():
                self._controller.undo()
            case UndoDelete(conversation_id):
                self._controller.undo_delete(conversation_id)
            case UndoArchive(conversation_id):
                program.conversations.archive(conversation_id, is_archived=False)
            case UndoDeleteProject(folder, project):
                program.projects.put(folder, project)
            case AskWithProject():
                self._controller.renew_beginning()
            case ChatWith(model):
                self._controller.chat_with(model)
            case UsePlainTemplate(model):
                program.choose_template(model, is_plain=True)
            case LoadAnyway(model):
                program.load_model(model, anyway=True)
            case FreeMemory(model):
                program.supply.free_memory()
                program.load_model(model)
            case AllowLargeAnswers(model):
                program.supply.memory_check.allow(model)
            case AskGuide():
                self._controller.ask_guide()
            case ResumeTransfers(keys):
                for key in keys:
                    program.supply.transfers.resume(key)
            case RestartWorker(process):
                session = next(one for one in program.sessions.all if program.sessions.kind_of(one) == process)
                program.restart_worker(session)
            case OpenMemorySettings():
                self._program_commands.show_memory_settings()
            case OpenModels():
                self._show_models()
            case ShowFile(path):
                self._show_folder(path if path.is_dir() else path.parent)
            case OpenPage(address):
                self._open_page(address)
            case ShowReport(path):
                self._program_commands.show_report(path)
            case ShowConversation(conversation_id):
                self._controller.shown.open_conversation(conversation_id)
            case ShowBackups():
                self._show_backups()
            case StartEmpty():
                program.empty_start_requested.emit()
            case EditAgain(message_id):
                self._message_commands.edit(message_id)
            case _:
                assert_never(action)

    def _open_page(self, address: str) -> None:
        if not QDesktopServices.openUrl(QUrl(address)):
            text = self.tr("The page is {}. It can't be opened here.").format(address)
            self._controller.program.notices.post(Notice(verbatim(text)))

    def _show_folder(self, folder: Path) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            text = self.tr("The file is in {}. The folder can't be opened here.").format(folder)
            self._controller.program.notices.post(Notice(verbatim(text)))


class Announcements(QObject):
    """Lets screen readers announce notices, and how answers in the window's conversation end."""

    announced = Signal(str)

    def __init__(self, controller: Controller, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._window = window
        controller.program.answers.ended.connect(self._on_ended)
        controller.program.notices.posted.connect(self._on_notice)

    def _on_ended(self, message: Message) -> None:
        if self._controller.shown.opened is None or not self._controller.shown.has(message.id):
            return
        error = translated(message.record.error_sentence or "") if message.record is not None else ""
        match message.state:
            case "complete":
                text = self.tr("Answer finished")
            case "stopped":
                text = error or self.tr("Answer stopped")
            case "cut":
                text = self.tr("Answer stopped at the maximum number of tokens")
            case "failed" | "streaming":
                text = self.tr("The answer failed. {}").format(error).strip()
        self._announce(text)

    def _on_notice(self, notice: Notice) -> None:
        conversation = self._controller.shown.conversation
        if notice.is_for(None if conversation is None else conversation.id):
            self._announce(beginning(translated(notice.text)), is_urgent=notice.kind == "danger")

    def _announce(self, text: str, *, is_urgent: bool = False) -> None:
        event = QAccessibleAnnouncementEvent(self._window, text)
        politeness = QAccessible.AnnouncementPoliteness
        event.setPoliteness(politeness.Assertive if is_urgent else politeness.Polite)
        QAccessible.updateAccessibility(event)
        self.announced.emit(text)
