"""Hostile texts in the real window: none may keep it from answering the user."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest
from PySide6.QtCore import QMimeData, QRect, QSizeF, Qt
from PySide6.QtGui import QPainter, QTextCursor, QTextTable
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QTextEdit

from app.model.differences import comparison, differences
from app.model.markdown_parser import parsed
from app.model.project import Project
from app.notices import Notice
from app.ui.comparing.compare_window import CompareWindow, Passage, Side
from app.ui.composer.writing_field import WritingField
from app.ui.text import layout_ahead, markdown_document, message_text
from app.ui.text.code_frames import CopyButton
from app.ui.text.document_text import blocks_between
from app.ui.text.growing_blocks import opening_fence
from app.ui.text.layout_ahead import LayoutAhead
from app.ui.text.markdown_document import _spent  # pyright: ignore[reportPrivateUsage]
from app.ui.text.message_text import MessageText
from app.ui.text.slices import (
    FIRST_LIMITS,
    MAX_BLOCK_CHARS,
    MAX_CELLS,
    MAX_FORMATTED_COST,
    MAX_FORMULAS,
    MAX_FRAMES,
    MAX_FRAMES_AT_ONCE,
    next_slice,
)
from app.ui.text.text_painting import MAX_PAINTED_CHARS
from app.ui.theme import LINE_PX, theme
from tests.attacks.gui import ACTS, WAYS, Stage, stage
from tests.attacks.texts import TEXTS
from tests.attacks.watchdog import Watchdog
from tests.long import in_long_runs
from worker.sentence import verbatim

_FENCE = "```\nx\n```\n\n"
_FENCES = _FENCE * 120
_DISPLAY, _DISPLAY_NAME = Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole
_TIP = Qt.ItemDataRole.ToolTipRole

_HANG_MS = 2_000
"""A hang, in the GUI thread's own processor time. The steps themselves take 10 to 60 ms, which differs by machine."""
_FAST = [("open", "100 formulas"), ("open", "2,000 fences")]
_OF_EACH_KIND = (
    *("long answer", "200 formulas", "20,000 fences", "table of 2,000 × 50", "quotes that deepen", "no spaces"),
    *("zalgo", "a million newlines", "links", "brackets", "100,000 paragraphs", "every kind"),
)
_LONG = [
    case
    for case in (*itertools.product(("open", "stream"), TEXTS), *itertools.product((*WAYS, *ACTS), _OF_EACH_KIND))
    if case not in _FAST
]


_GRABBED_PX = 300


@pytest.fixture
def on_stage(qapp: QApplication, tmp_path: Path) -> Iterator[Stage]:
    assert qapp is not None
    with stage(tmp_path) as on_stage:
        yield on_stage


@pytest.mark.parametrize(("way", "name"), [*_FAST, *in_long_runs(sorted(set(_LONG)))])
def test_no_text_hangs_the_window(on_stage: Stage, way: str, name: str) -> None:
    if way in WAYS:
        run = WAYS[way](on_stage, TEXTS[name]())
    else:
        on_stage.show(on_stage.plant(TEXTS[name]()))
        run = partial(_act, way, on_stage)
    with Watchdog() as watchdog:
        run(watchdog)
    assert watchdog.longest.cpu_ms < _HANG_MS, watchdog.stacks.most_common(3)


def _act(way: str, on_stage: Stage, _watchdog: Watchdog) -> None:
    ACTS[way](on_stage)


# --- what makes the steps short: sizes and limits, not times ---------------------------------------------------


def test_frames_are_made_a_few_at_a_time_and_gone_when_they_are_not_seen(
    monkeypatch: pytest.MonkeyPatch, on_stage: Stage
) -> None:
    on_stage.desk.controller.shown.open_conversation(on_stage.plant(_FENCES))
    view = on_stage.view
    made = [0, len(view.text.frames.code)]
    view.text.grown.connect(lambda: made.append(len(view.text.frames.code)))
    on_stage.settle()
    # A slice is written as a whole.
    of_a_slice = next_slice(_FENCES)[0] // len(_FENCE) + 1
    assert max(after - before for before, after in itertools.pairwise(made)) <= MAX_FRAMES_AT_ONCE + of_a_slice
    assert len(view.findChildren(CopyButton)) == made[-1] == _FENCES.count(_FENCE)
    # They go a few at a time before a theme, which reaches each widget, and are made again.
    counts: list[int] = []
    set_sheet = on_stage.window.setStyleSheet

    def spy(sheet: str) -> None:
        counts.append(len(view.findChildren(CopyButton)))
        set_sheet(sheet)

    monkeypatch.setattr(on_stage.window, "setStyleSheet", spy)
    on_stage.window.action("theme_dark").trigger()
    assert 0 < len(view.findChildren(CopyButton)) < made[-1]
    on_stage.settle()
    assert counts == [0]
    assert len(view.findChildren(CopyButton)) == made[-1]
    # A hidden view keeps no long text.
    on_stage.show(on_stage.short)
    texts = on_stage.window.transcript.findChildren(MessageText)
    assert len(texts) > 3
    assert not any(text.is_long or text.frames.code for text in texts)
    assert all(len(text.content) < 100 for text in texts)


@pytest.mark.parametrize("name", ["long list", *in_long_runs(["soft breaks", "a million newlines", "one long fence"])])
def test_a_message_shows_no_more_blocks_than_can_be_laid_out_at_once(on_stage: Stage, name: str) -> None:
    on_stage.show(on_stage.plant(TEXTS[name]()))
    text = on_stage.view.text
    # The limit is checked between slices.
    assert text.document().blockCount() <= FIRST_LIMITS.blocks + 2_000
    assert text.num_hidden > 0


def test_a_long_text_is_laid_out_in_another_width_block_by_block_while_the_page_stays(
    monkeypatch: pytest.MonkeyPatch, on_stage: Stage
) -> None:
    answer = TEXTS["long answer"]()[:30_000]
    monkeypatch.setattr(layout_ahead, "_STEP_S", 0)
    on_stage.show(on_stage.plant(answer))
    bar = on_stage.window.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    on_stage.settle()
    view = on_stage.view
    text, width, height = view.text, view.width(), view.height()
    line = text.position_at(LINE_PX // 2 - view.y(), view)
    y = text.y_of(line, view) + view.y()

    def picture() -> bytes:
        visible = text.viewport().visibleRegion().boundingRect()
        visible.setWidth(_GRABBED_PX)
        image = text.viewport().grab(visible).toImage()
        return bytes(image.constBits())

    pictures: list[bytes] = []
    sizes = {(width, height)}
    done: list[int] = []
    step = LayoutAhead.step

    def spy(ahead: LayoutAhead) -> None:
        step(ahead)
        done.append(ahead.num_done)
        sizes.add((view.width(), view.height()))
        if len(done) in {2, 5}:
            pictures.append(picture())

    monkeypatch.setattr(LayoutAhead, "step", spy)
    on_stage.window.resize(760, 780)
    on_stage.turn()
    text.append("\n\nMore")
    on_stage.settle()
    assert max(after - before for before, after in itertools.pairwise([0, *done])) == layout_ahead.NUM_BLOCKS
    assert sizes == {(width, height)}
    assert pictures[0] == pictures[1]
    assert len(set(pictures[0])) > 1
    assert view.width() < width
    assert view.height() > height
    assert text.y_of(line, view) + view.y() == y
    assert text.document().toPlainText().endswith("More")
    laid_out = view.height()
    # The page is as high as if it had been laid out at once.
    on_stage.show(on_stage.short)
    monkeypatch.setattr(LayoutAhead, "step", step)
    on_stage.desk.controller.shown.open_conversation(on_stage.plant(answer + " more\n\nMore"))
    on_stage.settle()
    assert on_stage.view.height() == laid_out


def test_a_dense_text_is_painted_in_parts(monkeypatch: pytest.MonkeyPatch, on_stage: Stage) -> None:
    on_stage.show(on_stage.plant(TEXTS["zalgo"]()))
    text, paint = on_stage.view.text, message_text.paint_document
    painted: list[QRect] = []

    def spy(painter: QPainter, shown: QTextEdit, visible: QRect) -> None:
        paint(painter, shown, visible)
        if shown is text:
            painted.append(visible)

    monkeypatch.setattr(message_text, "paint_document", spy)
    visible = text.viewport().visibleRegion().boundingRect()
    text.viewport().update()
    while not painted or painted[-1].bottom() < visible.bottom():
        on_stage.turn()
    chars_per_px = text.document().characterCount() / text.document().size().height()
    assert max(part.height() for part in painted) <= 2 * MAX_PAINTED_CHARS / chars_per_px
    assert painted[0].top() == visible.top()
    assert all(below.top() == above.bottom() + 1 for above, below in itertools.pairwise(painted))


def test_an_object_character_is_shown_as_a_character(on_stage: Stage) -> None:
    """Qt takes it for a picture, and asks for the size of each whenever it paints one."""
    on_stage.show(on_stage.plant("```\nd\ufffc\n```\n\na\ufffcb **c**"))
    text = on_stage.view.text
    assert text.document().toPlainText() == "d\ufffd\na\ufffdb c more"


def test_a_long_text_keeps_its_room_while_the_look_changes(on_stage: Stage) -> None:
    on_stage.show(on_stage.plant(TEXTS["long answer"]()[:30_000]))
    bar = on_stage.window.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    on_stage.settle()
    text, top = on_stage.view.text, on_stage.view.y()
    heights = [text.height()]
    text.grown.connect(lambda: heights.append(text.height()))
    on_stage.window.action("theme_dark").trigger()
    on_stage.settle()
    assert len(heights) > 3
    assert set(heights) == {text.height()}
    assert on_stage.view.y() == top
    assert on_stage.window.updatesEnabled()


def test_several_new_widths_in_one_turn_lay_out_a_long_text_once(on_stage: Stage) -> None:
    on_stage.window.resize(1_400, 780)
    on_stage.show(on_stage.plant(TEXTS["2,000 fences"]()))
    widths: list[float] = []

    def note(size: QSizeF) -> None:
        widths.append(size.width())

    on_stage.view.text.document().documentLayout().documentSizeChanged.connect(note)
    # A narrow window hides the sidebar, which makes the page wider again.
    for width in (1_000, 560):
        on_stage.window.resize(width, 780)
    assert not widths
    on_stage.settle()
    assert len(set(widths)) == 1


@pytest.mark.parametrize("name", ["many tables", *in_long_runs(sorted({*_OF_EACH_KIND, "table of 100,000 rows"}))])
def test_a_long_text_is_shown_and_parsed_within_limits(
    monkeypatch: pytest.MonkeyPatch, on_stage: Stage, name: str
) -> None:
    num_parsed = [0]

    def spy(text: str, *arguments: object) -> object:
        num_parsed[0] += len(text)
        return parsed(text, *arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(markdown_document, "parsed", spy)
    on_stage.show(on_stage.plant(TEXTS[name]()))
    text = on_stage.view.text
    tables = [frame for frame in text.document().rootFrame().childFrames() if isinstance(frame, QTextTable)]
    # The limits are looked at between slices.
    of_a_slice = 2_000 // 8
    assert len(text.frames.code) + len(text.frames.tables) <= MAX_FRAMES + of_a_slice
    assert sum(table.rows() * table.columns() for table in tables) <= MAX_CELLS + 1_000
    assert text.document().blockCount() <= FIRST_LIMITS.blocks + 2_000
    assert text.num_formulas(0, 10**7) <= MAX_FORMULAS + 500
    # Each slice may write the last block, up to its longest, again.
    assert num_parsed[0] <= 6 * MAX_FORMATTED_COST


def test_one_turn_shows_the_beginnings_of_few_long_texts(qapp: QApplication, on_stage: Stage) -> None:
    assert qapp is not None
    long, short = (MessageText(theme("light"), is_markdown=True, parent=on_stage.window) for _ in range(2))
    _spent().spend(1)
    long.set_text(TEXTS["ordinary prose"]()[:8_000])
    short.set_text("Short.")
    assert (long.document().toPlainText(), short.document().toPlainText()) == ("", "Short.")
    while not long.is_complete:
        on_stage.turn()
    assert len(long.document().toPlainText()) > 7_000


def test_names_and_notices_show_their_beginnings(on_stage: Stage) -> None:
    text = "A name." * 100_000
    shown = on_stage.desk.controller.shown
    assert shown.conversation is not None
    on_stage.desk.program.conversations.rename(shown.conversation.id, text)
    on_stage.desk.controller.name_branch(on_stage.answer, text)
    on_stage.desk.program.notices.post(Notice(verbatim(text), "warning"))
    on_stage.settle()
    rows = on_stage.window.sidebar.list.rows
    index = rows.index_of(shown.conversation.id)
    seen = [
        on_stage.window.windowTitle(),
        on_stage.window.header.title.accessibleName(),
        on_stage.window.banner.label.text(),
    ]
    seen += [str(index.data(role)) for role in (_DISPLAY, _DISPLAY_NAME, _TIP, Qt.ItemDataRole.EditRole)]
    seen += [label.text() for label in on_stage.view.findChildren(QLabel)]
    assert max(map(len, seen)) < 3_000
    assert all("A name." in each for each in seen[:7])
    # Leaving the editor of a row without a change keeps the whole name.
    rows.setData(index, index.data(Qt.ItemDataRole.EditRole))
    assert next(one.name for one in on_stage.desk.program.conversations.all if one.id == shown.conversation.id) == text


def test_the_name_of_a_model_shows_its_beginning(on_stage: Stage) -> None:
    """A project's model name of a million characters blocked the window for three minutes."""
    on_stage.desk.program.projects.put("G", Project(model="m" * 20_000))
    on_stage.desk.controller.begin_in("G")
    on_stage.settle()
    texts = [button.text() for button in on_stage.window.findChildren(QAbstractButton)]
    assert max(map(len, texts)) < 3_000
    assert any("mmmm" in text for text in texts)


@pytest.mark.parametrize("name", ["every kind", *in_long_runs(["no spaces", "soft breaks"])])
def test_texts_are_compared_in_steps(on_stage: Stage, name: str) -> None:
    window = CompareWindow(theme("light"), on_stage.window)
    text = TEXTS[name]()
    window.compare([Side("One", [Passage(text, True)]), Side("Other", [Passage(f"More. {text}", True)])], 0, 1)
    panes, sizes = window.panes, [0]
    while panes.is_comparing:
        on_stage.turn()
        sizes.append(panes.left.document().characterCount() + panes.right.document().characterCount())
    blocks = [*blocks_between(panes.left.document(), 0, 10**7)]
    assert panes.num_differences == 1
    assert panes.is_cut
    assert max(block.length() for block in blocks) <= MAX_BLOCK_CHARS + 2_000
    assert len(blocks) <= 4_000
    assert len(set(sizes)) > 3 or name == "soft breaks"
    panes.step(1)
    assert panes.current_stretch is not None
    assert panes.current_stretch.right.startswith("More.")
    window.close()


def test_a_comparison_is_made_of_short_steps() -> None:
    text = TEXTS["ordinary prose"]()[:100_000]
    num_steps = sum(1 for _ in comparison(text, f"Also: {text}"))
    assert num_steps >= 2 * len(text) // 5 // 4_000
    assert differences(text, f"Also: {text}")[0].right == "Also: "


@pytest.mark.parametrize(
    "text", ["👩 x\n" * 5_000, *in_long_runs(["a\n" * 70_000, "word " * 30_000])], ids=["faces", "lines", "words"]
)
def test_a_long_text_is_pasted_in_slices_that_undo_removes_together(on_stage: Stage, text: str) -> None:
    field = on_stage.window.composer.text
    field.insertPlainText("before|after")
    field.moveCursor(QTextCursor.MoveOperation.Start)
    for _ in "before|":
        field.moveCursor(QTextCursor.MoveOperation.Right)
    data = QMimeData()
    data.setText(text)
    field.insertFromMimeData(data)
    assert field.document().blockCount() <= 501
    assert field.document().characterCount() < 45_000
    assert field.is_writing
    # Nothing is missing meanwhile.
    assert field.content == f"before|{text}after"
    while field.is_writing:
        on_stage.turn()
    assert field.content == f"before|{text}after"
    assert field.document().toPlainText().count("\n") == text.count("\n")
    field.undo()
    assert field.content in {"before|after", ""}


def test_a_long_message_is_edited_in_slices(on_stage: Stage) -> None:
    text = "a\n" * 3_000
    on_stage.show(on_stage.plant(text))
    on_stage.view.begin_edit()
    field = on_stage.view.findChild(WritingField)
    assert isinstance(field, WritingField)
    assert field.is_writing
    assert on_stage.view.draft is None
    while field.is_writing:
        on_stage.turn()
    field.undo()
    assert field.content == f"{text} more"


@pytest.mark.parametrize("name", ["no spaces", *in_long_runs(["one paragraph of prose", "a million newlines"])])
def test_a_text_that_no_field_can_lay_out_is_refused(on_stage: Stage, name: str) -> None:
    text = TEXTS[name]()
    field, refused = on_stage.window.composer.text, list[str]()
    field.refused.connect(refused.append)
    data = QMimeData()
    data.setText(text)
    field.insertFromMimeData(data)
    assert bool(refused) == (name != "a million newlines")
    assert bool(refused) == (field.content == "")
    on_stage.show(on_stage.plant(text[:400_000] if name != "no spaces" else text))
    on_stage.view.begin_edit()
    assert on_stage.view.is_edited == (name == "a million newlines")


def test_few_hits_among_many_formulas_are_highlighted(on_stage: Stage) -> None:
    on_stage.show(on_stage.plant(f"{TEXTS['100 formulas']()}\n\n{'and ' * 300}"))
    on_stage.window.action("find").trigger()
    on_stage.window.find_bar.field.setText("and")
    on_stage.settle()
    text = on_stage.view.text
    blocks = [selection.cursor.blockNumber() for selection in text.extraSelections()]  # pyright: ignore[reportAttributeAccessIssue]
    first = text.document().begin()
    assert 0 < blocks.count(0) <= 2_000 // text.num_formulas(0, first.length()) + 1 < 100
    assert 50 < blocks.count(1) < 100


_BEFORE = re.compile(r"(?P<marker>`{3,}|~{3,})[^\n]*\n")


def test_opening_fences_are_found_in_linear_time() -> None:
    random = Random(5)
    for _ in range(2_000):
        source = "".join(random.choices("`~x\n", (5, 5, 1, 1), k=random.randrange(12)))
        found, fence = _BEFORE.match(source), opening_fence(source)
        assert (None if fence is None else fence.marker) == (None if found is None else found["marker"])
    assert opening_fence("`" * 1_000_000) is None


@pytest.mark.parametrize("name", TEXTS)
def test_slices_make_up_the_whole_text(name: str) -> None:
    text = waiting = TEXTS[name]()[:20_000]
    slices: list[str] = []
    while waiting:
        length, cost = next_slice(waiting)
        assert length > 0
        assert cost > 0
        slices.append(waiting[:length])
        waiting = waiting[length:]
    assert "".join(slices) == text
    assert max(map(len, slices)) <= 2_000
