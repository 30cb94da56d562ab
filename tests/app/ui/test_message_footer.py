"""The progress of reading a prompt: the count and the remaining time."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QProgressBar
from pytestqt.qtbot import QtBot

from app.answers.answer_stream import Reading
from app.ui.message.message_footer import PrefillProgress


def text_of(progress: PrefillProgress) -> str:
    return progress.findChildren(QLabel)[0].text()


def test_the_remaining_time_follows_the_pace_so_far(qtbot: QtBot):
    times = iter([10.0, 12.0, 14.0])
    progress = PrefillProgress(lambda: next(times))
    qtbot.addWidget(progress)
    progress.show_reading(Reading(3_100, 3_880, 3_100))
    assert text_of(progress) == "reading 3,100 of 3,880 tokens · 3,100 kept"
    progress.show_reading(Reading(3_360, 3_880, 3_100))
    assert text_of(progress) == "reading 3,360 of 3,880 tokens · 3,100 kept · about 4 s"
    progress.show_reading(Reading(3_620, 3_880, 3_100))
    assert text_of(progress) == "reading 3,620 of 3,880 tokens · 3,100 kept · about 2 s"


def test_a_long_remaining_time_is_given_in_minutes(qtbot: QtBot):
    times = iter([0.0, 5.0])
    progress = PrefillProgress(lambda: next(times))
    qtbot.addWidget(progress)
    progress.show_reading(Reading(512, 107_462, 0))
    progress.show_reading(Reading(1_024, 107_462, 0))
    assert text_of(progress) == "reading 1,024 of 107,462 tokens · about 17 min"


def test_a_remaining_time_below_a_second_is_not_shown(qtbot: QtBot):
    times = iter([10.0, 10.1])
    progress = PrefillProgress(lambda: next(times))
    qtbot.addWidget(progress)
    progress.show_reading(Reading(0, 1_000, 0))
    progress.show_reading(Reading(500, 1_000, 0))
    assert text_of(progress) == "reading 500 of 1,000 tokens"


def test_another_prompt_starts_a_new_estimate(qtbot: QtBot):
    times = iter([0.0, 10.0, 1_000.0, 1_001.0])
    progress = PrefillProgress(lambda: next(times))
    qtbot.addWidget(progress)
    progress.show_reading(Reading(0, 1_000, 0))
    progress.show_reading(Reading(900, 1_000, 0))
    progress.show_reading(Reading(0, 1_000, 0))
    assert text_of(progress) == "reading 0 of 1,000 tokens"
    progress.show_reading(Reading(100, 1_000, 0))
    assert text_of(progress) == "reading 100 of 1,000 tokens · about 9 s"


def test_the_pace_of_earlier_prompts_gives_the_first_estimate(qtbot: QtBot):
    progress = PrefillProgress()
    qtbot.addWidget(progress)
    progress.show_reading(Reading(24, 2_192, 0, tokens_per_s=54.2))
    assert text_of(progress) == "reading 24 of 2,192 tokens · about 40 s"


def test_the_line_says_that_only_the_first_word_is_left(qtbot: QtBot):
    progress = PrefillProgress()
    qtbot.addWidget(progress)
    progress.show_reading(Reading(59, 60, 0))
    assert text_of(progress) == "generating the first word"
    assert not progress.isHidden()


def test_a_continued_answer_gets_its_next_word(qtbot: QtBot):
    progress = PrefillProgress()
    qtbot.addWidget(progress)
    progress.show_reading(Reading(59, 60, 0), is_continued=True)
    assert text_of(progress) == "generating the next word"


def test_the_footer_says_which_answer_it_waits_for(qtbot: QtBot):
    progress = PrefillProgress()
    qtbot.addWidget(progress)
    progress.show_waiting("waiting for the answer in “Trip plans”")
    assert text_of(progress) == "waiting for the answer in “Trip plans”"
    # A bar without an end moves all the time.
    assert progress.findChildren(QProgressBar)[0].maximum() == 0
    progress.show_reading(Reading(100, 3_880, 0))
    assert progress.findChildren(QProgressBar)[0].maximum() > 0
    assert text_of(progress) == "reading 100 of 3,880 tokens"
