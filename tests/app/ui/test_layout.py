"""Layout: with any text and in the smallest window, nothing is covered, squeezed or hidden."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLabel, QLineEdit, QMenu, QToolButton, QWidget
from typing_extensions import override

from app.model.generation_settings import Hook
from app.notices import Notice, OpenModels
from app.ui.composer.sampling_panel import SamplingPanel
from app.ui.download_offer import DownloadOffer
from app.ui.message.action_row import ActionRow
from app.ui.message.message_editor import MessageEditor
from app.ui.parts.labels import ElidedLabel
from app.ui.settings.settings_window import SettingsWindow
from app.ui.theme import scaled
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim

_LONG = "The model was not loaded. What was read with the one before it is kept, and it answers as it did. " * 4


def _left(user: User, widget: QWidget) -> int:
    return widget.mapTo(user.window, QPoint(0, 0)).x()


def _popover(user: User) -> SamplingPanel:
    user.bot.mouseClick(user.window.composer.sampling_button, Qt.MouseButton.LeftButton)
    popover = user.window.findChild(SamplingPanel)
    assert popover is not None
    # With its other part open, too, the panel would be as high as the screen.
    popover.advanced.open()
    user.bot.waitUntil(popover.seed.isVisible, timeout=PATIENCE_MS)
    QApplication.processEvents()
    return popover


def test_placeholder_texts_are_readable(user: User) -> None:
    popover = _popover(user)
    quiet = QGuiApplication.palette().placeholderText().color()
    assert quiet.alpha() == 255
    for field in (user.window.composer.text, popover.seed, popover.stop.field):
        assert field.palette().placeholderText().color() == quiet
    popover.close()


def test_many_lines_in_a_low_window_do_not_cover_anything(user: User) -> None:
    window, composer = user.window, user.window.composer
    window.resize(520, 420)
    user.bot.waitUntil(lambda: window.height() == 420, timeout=PATIENCE_MS)
    composer.text.setPlainText("line\n" * 40)
    user.bot.waitUntil(lambda: composer.text.height() > 60, timeout=PATIENCE_MS)

    def nothing_is_covered() -> bool:
        below = composer.sampling_button.mapTo(composer, QPoint(0, 0)).y()
        return composer.text.mapTo(composer, QPoint(0, composer.text.height())).y() <= below

    user.bot.waitUntil(nothing_is_covered, timeout=PATIENCE_MS)
    tall = composer.text.height()
    window.resize(1100, 760)
    user.bot.waitUntil(lambda: composer.text.height() > tall, timeout=PATIENCE_MS)


def test_an_invalid_seed_does_not_squeeze_the_panel(user: User) -> None:
    popover = _popover(user)
    fields = (popover.stop, popover.seed, popover.temperature)
    before, height = [field.height() for field in fields], popover.height()
    popover.seed.setText("x")
    user.bot.waitUntil(lambda: popover.height() > height, timeout=PATIENCE_MS)
    assert [field.height() for field in fields] == before
    popover.close()


def test_numbers_in_the_panel_are_fully_visible(user: User) -> None:
    popover = _popover(user)
    for spin in (popover.temperature, popover.top_p, popover.max_tokens):
        assert isinstance(spin, QAbstractSpinBox)
        edit = spin.findChild(QLineEdit)
        assert edit is not None
        assert edit.width() >= edit.fontMetrics().horizontalAdvance(edit.text()) + 16
        assert spin.rect().contains(edit.geometry())
    popover.close()


def test_action_icons_are_aligned_with_the_left_edge_of_the_text(user: User) -> None:
    answer = user.ask("What is a branch?")
    view = user.view(answer.id)
    button = user.button(view, "Edit")
    reach = _left(user, view.text) - _left(user, button)
    # The difference is a button's padding and border, and the margin that every icon has around its lines.
    assert 6 <= reach <= 10


def test_actions_become_icons_from_the_last_one_on_where_room_is_short(user: User) -> None:
    answer = user.ask("What is a branch?")
    row = user.view(answer.id).findChild(ActionRow)
    assert row is not None
    layout = row.layout()
    assert layout is not None
    names = ("Edit", "Regenerate", "Fork", "Continue", "Copy")
    buttons = [button for name in names if isinstance(button := user.button(row, name), QToolButton)]
    enough = layout.sizeHint().width()
    for width, num_icons in ((enough, 0), (enough - 1, 1), (enough - buttons[-1].width(), 2), (enough + 1, 0)):
        row.resize(width, row.height())
        icons = [button.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly for button in buttons]
        assert icons == [False] * (len(names) - num_icons) + [True] * num_icons
    # The texts remain as tool tips and accessible names.
    assert [button.text() for button in buttons] == list(names)


class _Heights(QObject):
    """The height of a panel's rows at each paint event, and the height that they need."""

    def __init__(self, panel: SamplingPanel) -> None:
        super().__init__()
        self.seen: list[tuple[int, int]] = []
        self._rows = panel.hooks
        self._rows.installEventFilter(self)

    def end(self) -> None:
        self._rows.removeEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            # Not at other events: some come while the rows are deleted, and their layout is deleted first.
            layout = self._rows.layout()
            assert layout is not None
            self.seen.append((self._rows.height(), layout.totalHeightForWidth(self._rows.width())))
        return False


def test_the_panel_is_never_painted_squeezed_while_the_list_of_hooks_arrives(user: User) -> None:
    user.bot.mouseClick(user.window.composer.sampling_button, Qt.MouseButton.LeftButton)
    popover = user.window.findChild(SamplingPanel)
    assert popover is not None
    heights = _Heights(popover)
    popover.hooks_and_drafts.open()
    user.bot.waitUntil(lambda: bool(popover.hooks.switches), timeout=PATIENCE_MS)
    # The worker's list may be there before the part is first painted: another one comes afterwards.
    popover.show_hooks(())
    num_before = len(heights.seen)
    user.bot.waitUntil(lambda: len(heights.seen) > num_before, timeout=PATIENCE_MS)
    least = heights.seen[-1][1]
    popover.show_hooks([Hook(name=f"hook {number}", summary="It checks each token.") for number in range(3)])
    user.bot.waitUntil(lambda: any(needed > least for _, needed in heights.seen), timeout=PATIENCE_MS)
    heights.end()
    assert all(height >= needed for height, needed in heights.seen)
    popover.close()


def test_a_long_notice_can_be_scrolled_in_a_low_window_and_squeezes_nothing(user: User) -> None:
    window, banner = user.window, user.window.banner
    user.controller.program.preferences.change(text_percent=150)
    user.wait_for_look()
    # The page for comparing versions exists, as it does after its first use.
    assert window.side_by_side.isHidden()
    window.resize(640, 420)
    user.bot.waitUntil(lambda: window.width() == 640, timeout=PATIENCE_MS)
    banner.show_notice(Notice(verbatim(_LONG), "warning"))
    words = banner.label.parentWidget()
    assert words is not None

    def is_settled() -> bool:
        return banner.isVisible() and banner.label.height() >= banner.label.heightForWidth(banner.label.width())

    user.bot.waitUntil(is_settled, timeout=PATIENCE_MS)
    assert words.height() < banner.label.height()

    def has_room() -> bool:
        return window.composer.height() >= window.composer.minimumSizeHint().height()

    # The page is laid out again a moment later.
    user.bot.waitUntil(has_room, timeout=PATIENCE_MS)
    below = window.composer.mapTo(window, QPoint(0, 0)).y()
    assert banner.mapTo(window, QPoint(0, banner.height())).y() <= below
    # With more room all of the notice is visible at once.
    window.resize(1100, 760)
    user.bot.waitUntil(lambda: is_settled() and words.height() == banner.label.height(), timeout=PATIENCE_MS)
    banner.dismiss()
    user.controller.program.preferences.change(text_percent=100)


def test_a_longer_notice_that_follows_a_short_one_is_whole(user: User) -> None:
    banner = user.window.banner
    banner.show_notice(Notice(verbatim("A short notice."), "warning"))
    words = banner.label.parentWidget()
    assert words is not None
    user.bot.waitUntil(lambda: banner.isVisible() and words.height() == banner.label.height(), timeout=PATIENCE_MS)
    short = words.height()
    banner.show_notice(Notice(verbatim("A longer notice. " * 20), "danger"))
    user.bot.waitUntil(lambda: words.height() > short and words.height() == banner.label.height(), timeout=PATIENCE_MS)
    banner.dismiss()


def test_a_notices_button_is_below_its_text_where_there_is_no_room_beside_it(user: User) -> None:
    window, banner = user.window, user.window.banner
    notice = Notice(verbatim("There is no model in this folder. Choose another one."), "danger", action=OpenModels())
    banner.show_notice(notice)
    label, button = banner.label, banner.button

    def is_whole() -> bool:
        wanted = button.sizeHint()
        return button.width() >= wanted.width() and button.height() >= wanted.height() and label.width() >= 100

    def is_beside() -> bool:
        return button.mapTo(banner, QPoint(0, 0)).x() > label.mapTo(banner, QPoint(label.width(), 0)).x()

    def is_below() -> bool:
        return button.mapTo(banner, QPoint(0, 0)).y() > label.mapTo(banner, QPoint(0, label.height())).y()

    user.bot.waitUntil(lambda: is_whole() and is_beside(), timeout=PATIENCE_MS)
    window.resize(360, 500)
    user.bot.waitUntil(lambda: window.width() == 360 and banner.width() < 360, timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: is_whole() and not is_beside() and is_below(), timeout=PATIENCE_MS)
    window.resize(1100, 760)
    user.bot.waitUntil(lambda: is_whole() and is_beside(), timeout=PATIENCE_MS)
    banner.dismiss()


def test_the_user_can_scroll_the_first_message_out_from_under_a_notice(user: User) -> None:
    window, banner = user.window, user.window.banner
    first = user.ask("What is a branch?") and user.controller.shown.path[0]
    position = window.transcript._position  # pyright: ignore[reportPrivateUsage]
    before = [view.y() for view in window.transcript.views]
    banner.show_notice(Notice(verbatim("A notice."), "warning"))
    user.bot.waitUntil(banner.isVisible, timeout=PATIENCE_MS)
    assert [view.y() for view in window.transcript.views] == before
    assert user.view(first.id).y() < banner.height()
    user.bot.keyClick(window.transcript, Qt.Key.Key_Home)
    user.bot.waitUntil(lambda: position.top == -position.covered, timeout=PATIENCE_MS)
    below = banner.mapTo(window, QPoint(0, banner.height())).y()
    assert user.view(first.id).mapTo(window, QPoint(0, 0)).y() >= below
    # Without the notice the conversation begins at the top again.
    banner.dismiss()
    assert [view.y() for view in window.transcript.views] == before


def test_the_gauge_beside_the_tree_of_a_narrow_window_shows_its_percentage(user: User) -> None:
    user.ask("What is a branch?")
    user.window.action("tree").trigger()
    user.window.resize(900, 700)
    gauge = user.window.composer.gauge
    user.bot.waitUntil(lambda: gauge.isVisible() and user.window.composer.width() < 360, timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: gauge.text().endswith(" %"), timeout=PATIENCE_MS)
    user.window.action("tree").trigger()


def test_a_gauge_that_comes_and_goes_changes_no_other_button(user: User) -> None:
    window, composer = user.window, user.window.composer
    user.ask("What is a branch?")
    buttons = (composer.system_button, composer.format_button, composer.sampling_button)
    for width in (520, 640):
        window.resize(width, 700)
        # The sidebar folds away.
        user.bot.waitUntil(lambda w=width: composer.width() == w, timeout=PATIENCE_MS)
        user.bot.waitUntil(composer.gauge.isVisible, timeout=PATIENCE_MS)
        QApplication.processEvents()
        before = [(button.text(), button.geometry()) for button in buttons]
        composer.gauge.setVisible(False)
        QApplication.processEvents()
        assert [(button.text(), button.geometry()) for button in buttons] == before
        composer.gauge.setVisible(True)


def test_the_title_gets_the_room_that_the_models_name_leaves(user: User) -> None:
    window, header = user.window, user.window.header
    user.controller.program.preferences.change(text_percent=150)
    user.wait_for_look()
    header.show_title("A conversation with a title that is longer than any window is wide " * 3)
    for width in (360, 520, 640):
        window.resize(width, 700)
        user.bot.waitUntil(lambda w=width: window.width() == w, timeout=PATIENCE_MS)
        button = header.model_button
        needed = button.fontMetrics().horizontalAdvance(button.text()) + button.iconSize().width() + scaled(24)
        user.bot.waitUntil(lambda b=button, n=needed: b.width() <= n, timeout=PATIENCE_MS)
        end = header.title.mapTo(header, QPoint(header.title.width(), 0)).x()
        assert 0 <= button.x() - end <= 8
    user.controller.program.preferences.change(text_percent=100)


def test_editing_in_a_low_window_shows_the_whole_field_and_its_cost(user: User) -> None:
    window = user.window
    user.ask("What is a branch?")
    user.controller.program.preferences.change(text_percent=150)
    user.wait_for_look()
    window.resize(640, 420)
    user.bot.waitUntil(lambda: window.width() == 640, timeout=PATIENCE_MS)
    question = user.controller.shown.path[-2]
    window.transcript.reveal(question.id)
    user.press(question.id, "e")
    editor = user.view(question.id).findChild(MessageEditor)
    assert editor is not None
    user.bot.waitUntil(
        lambda: editor.text.visibleRegion().boundingRect().height() == editor.text.height(), timeout=PATIENCE_MS
    )
    hint = editor.findChild(ElidedLabel)
    assert hint is not None
    before = editor.hint
    editor.text.setPlainText("What is a branch of a tree?")
    user.bot.waitUntil(lambda: editor.hint != before, timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: hint.text() == editor.hint, timeout=PATIENCE_MS)
    user.bot.keyClick(editor.text, Qt.Key.Key_Escape)
    user.controller.program.preferences.change(text_percent=100)


def test_the_welcome_texts_shrink_back_when_the_window_grows_again(user: User) -> None:
    wrapped = [label for label in user.window.welcome.findChildren(QLabel) if label.wordWrap() and label.isVisible()]
    labels = [label for label in wrapped if not isinstance(label.parentWidget(), DownloadOffer)]
    assert len(labels) == 3
    before = [label.size() for label in labels]
    for width, height in ((560, 500), (1100, 760)):
        user.window.resize(width, height)
        user.bot.waitUntil(lambda w=width: user.window.width() == w, timeout=PATIENCE_MS)
        if width < 600:
            # The lines are balanced: with less width there would be one line more.
            user.bot.waitUntil(lambda: any(label.height() > 20 for label in labels), timeout=PATIENCE_MS)
            for label in labels:
                tall, room = label.height(), label.width()
                label.setMinimumSize(0, 0)
                assert label.heightForWidth(room) == tall
                assert label.heightForWidth(room - 8) > tall
    user.bot.waitUntil(lambda: [label.size() for label in labels] == before, timeout=PATIENCE_MS)


def test_larger_text_is_not_cut_off_in_the_sidebar_and_the_composer(user: User) -> None:
    window, sidebar, field = user.window, user.window.sidebar, user.window.composer.text
    placeholder = field.placeholderText()
    for percent in (150, 100):
        user.controller.program.preferences.change(text_percent=percent)
        user.wait_for_look()
        for button in (sidebar.search_button, sidebar.new_button, sidebar.settings_button):
            user.bot.waitUntil(lambda b=button: b.width() >= b.sizeHint().width(), timeout=PATIENCE_MS)
    # A placeholder text that is too long is shortened to one line with an ellipsis.
    field.show_hint(placeholder * 20)
    assert field.placeholderText().startswith(placeholder)
    assert field.fontMetrics().horizontalAdvance(field.placeholderText()) <= field.viewport().width()
    field.show_hint(placeholder)
    assert field.placeholderText() == placeholder
    assert window.isVisible()


def test_column_headers_are_aligned_with_their_columns(user: User) -> None:
    user.window.action("settings").trigger()
    settings = user.window.findChild(SettingsWindow)
    assert isinstance(settings, SettingsWindow)
    settings.show_page(settings.keys)
    keys = settings.keys.list
    user.bot.waitUntil(keys.isVisible, timeout=PATIENCE_MS)
    # Compare the same word, because the left bearing of other letters may differ by a pixel.
    item = keys.topLevelItem(1)
    assert item is not None
    for column in (0, 1):
        item.setText(column, keys.headerItem().text(column))
    QApplication.processEvents()
    row = keys.visualItemRect(item)
    for column in (0, 1):
        left, width = keys.header().sectionViewportPosition(column), keys.header().sectionSize(column)
        head = _first_ink(keys.header().viewport(), QRect(left, 2, width, keys.header().height() - 6))
        assert head == _first_ink(keys.viewport(), QRect(left, row.top() + 2, width, row.height() - 4))
    settings.close()


def _first_ink(widget: QWidget, area: QRect) -> int:
    """Return the x coordinate of the first painted pixel in the area."""
    picture = widget.grab(area).toImage()
    paper = QColor(picture.pixelColor(0, 0))
    columns = range(picture.width())
    return next(x for x in columns if any(picture.pixelColor(x, y) != paper for y in range(picture.height())))


class _Layouts(QObject):
    """Counts the layouts that any widget asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.num = 0

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.num += event.type() == QEvent.Type.LayoutRequest
        return False


@pytest.mark.parametrize("width", [1280, 420])
def test_an_idle_window_asks_for_no_layout(user: User, width: int) -> None:
    user.window.resize(width, 700)
    layouts = _Layouts()
    QApplication.instance().installEventFilter(layouts)  # pyright: ignore[reportOptionalMemberAccess]

    def is_at_rest() -> bool:
        before = layouts.num
        for _ in range(50):
            QApplication.processEvents()
        return layouts.num == before

    try:
        user.bot.waitUntil(is_at_rest, timeout=PATIENCE_MS)
    finally:
        QApplication.instance().removeEventFilter(layouts)  # pyright: ignore[reportOptionalMemberAccess]


def test_buttons_that_large_text_leaves_no_room_are_in_the_menu_of_the_last_one(user: User) -> None:
    answer = user.ask("What is a branch?")
    user.controller.program.preferences.change(text_percent=200)
    user.wait_for_look()
    user.window.resize(360, 700)
    user.bot.waitUntil(lambda: user.window.width() == 360, timeout=PATIENCE_MS)
    row = user.view(answer.id).findChild(ActionRow)
    assert row is not None
    row.show_siblings([answer.id, answer.id + 1], answer.id)
    row.show_buttons(True)
    *_, more = row.tab_stops

    def is_whole(button: QToolButton) -> bool:
        return row.rect().contains(button.geometry()) and button.width() >= button.sizeHint().width() - 4

    buttons = [one for one in row.findChildren(QToolButton) if one.parentWidget() is row]
    user.bot.waitUntil(lambda: all(map(is_whole, filter(QWidget.isVisible, buttons))), timeout=PATIENCE_MS)
    assert more.isVisible()
    user.bot.mouseClick(more, Qt.MouseButton.LeftButton)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    entries = [action.text().split("\t")[0].replace("&", "") for action in menu.actions()]
    assert entries[0] == "Fork"
    assert "Copy message" in entries
    assert len(entries) == len(set(entries))
    menu.close()
    user.controller.program.preferences.change(text_percent=100)
    user.wait_for_look()
