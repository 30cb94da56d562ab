"""Scenes of the composer: attachments, sampling, an answer that streams, a worker that died."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QMenu, QToolButton, QWidget

from app.answers.answer_stream import Reading
from app.model.attachment import Attachment, FilePart, file_message
from app.model.unsent import Unsent
from app.ui.composer.format_popover import FormatPopover
from app.ui.composer.parts_popover import PartsPopover
from app.ui.composer.sampling_panel import SamplingPanel
from app.ui.composer.system_prompt_popover import SystemPromptPopover
from app.ui.message.message_footer import PrefillProgress
from tests.scenes.stage import Stage

_SCHEMA = '{"type": "object", "properties": {"is_kept": {"type": "bool"}}}'


def streaming(stage: Stage) -> QWidget:
    """The worker is paused while the picture is taken."""
    _begin(stage, "What is a branch, and what is a fork?")
    return stage.window


def reading(stage: Stage) -> QWidget:
    stage.open("stopped")
    stage.let_worker_rest()
    stage.controller.regenerate(stage.controller.shown.path[-1].id)
    answer = stage.controller.shown.path[-1]
    stage.controller.shown.reading.emit(answer.id, Reading(1_204, 3_880, 1_000, 700.0))
    return stage.window


def waiting(stage: Stage) -> QWidget:
    """An answer that waits for another conversation's."""
    _begin(stage, "What is a branch?")
    stage.controller.shown.new_conversation()
    stage.controller.send("What is a fork?")
    stage.shown(PrefillProgress)
    return stage.window


def stuck(stage: Stage) -> QWidget:
    """A worker that gives no sign of life while an answer streams."""
    _begin(stage, "What is a branch, and what is a fork?")
    stage.wait(stage.window.banner.isVisible)
    return stage.window


def unsaved(stage: Stage) -> QWidget:
    """An answer grows, but the store can't be written."""
    stage.controller.shown.new_conversation()
    stage.controller.send("What is a branch, and what is a fork?")
    stage.refuse_writes(are_refused=True)
    stage.wait(lambda: stage.application.answers.saving.has_unsaved and stage.window.banner.isVisible())
    return stage.window


def restarted(stage: Stage) -> QWidget:
    stage.open("stopped")
    for worker in stage.workers:
        worker.kill()
    stage.wait(stage.window.banner.isVisible)
    stage.wait(lambda: stage.application.session.state == "ready")
    return stage.window


def attached(stage: Stage) -> QWidget:
    """A long text and two files, one of them with a long name."""
    stage.open("stopped")
    names = ("notes.txt", "a-file-with-a-name-that-is-far-too-long-for-the-room-there-is.py")
    for name in names:
        (stage.folder / name).write_text("apples\n" * 40, encoding="utf-8")
    stage.window.composer.files_given.emit([stage.folder / name for name in names])
    stage.window.composer.show_text("A question of some lines.\n\n- What is in the notes?\n- And what is not?")

    def buttons() -> list[QToolButton]:
        return stage.window.composer.attachments.buttons

    stage.wait(lambda: all("oken" in button.accessibleName() for button in buttons()))
    return stage.window


def sent_files(stage: Stage) -> QWidget:
    """A question below its files, and a document in the composer whose parts are being chosen."""
    files = [Attachment(name="notes.txt", text="apples\n" * 400), Attachment(name="Report 2026.pdf", text="A\nB\nC")]
    conversation, _ = stage.application.store.create_conversation(
        "Files", "", "Do the notes agree with the report?", files=[file_message(file) for file in files]
    )
    stage.controller.shown.open_conversation(conversation.id)
    chapters = tuple(FilePart(title=f"page {number}", text=f"apples {number} " * 90) for number in range(1, 30))
    book = Attachment(name="A book.pdf", parts=chapters, num_parts=len(chapters), left_out=tuple(range(9, 29)))
    preparation = stage.controller.preparation
    preparation.replace_unsent(Unsent(attachments=(book,)))
    attachments = stage.window.composer.attachments
    stage.wait(lambda: "oken" in attachments.openers[0].accessibleName())
    stage.settle()
    attachments.openers[0].click()
    stage.shown(PartsPopover)
    return stage.window


def sampling(stage: Stage) -> QWidget:
    stage.open("versions")
    stage.act("sampling")
    panel = stage.shown(SamplingPanel)
    panel.advanced.open()
    panel.hooks_and_drafts.open()
    stage.wait(lambda: bool(panel.hooks.findChildren(QCheckBox)))
    stage.settle()
    return stage.window


def answer_format(stage: Stage) -> QWidget:
    """A schema that can't be used."""
    stage.act("answer_format")
    popover = stage.shown(FormatPopover)
    popover.kinds["json_schema"].setChecked(True)
    popover.editor.setPlainText(_SCHEMA)
    stage.wait(lambda: popover.verdict.objectName() != "quiet")
    return stage.window


def system_prompt(stage: Stage) -> QWidget:
    stage.open("versions")
    stage.act("system_prompt")
    stage.shown(SystemPromptPopover)
    stage.settle()
    return stage.window


def regenerate_with(stage: Stage) -> QWidget:
    stage.open("stopped")
    stage.press(stage.controller.shown.path[-1], "W")
    stage.shown(QMenu)
    return stage.window


def _begin(stage: Stage, question: str) -> None:
    """Pause the worker in the middle of an answer, or of the next one if it was too fast."""
    while stage.controller.shown.streaming_message is None:
        stage.wake_worker()
        stage.controller.shown.new_conversation()
        stage.controller.send(question)
        stage.wait(lambda: bool(stage.controller.shown.path[-1].text))
        stage.let_worker_rest()
