"""Keeping a model loaded: progress, failures, workers that die, workers that can't be started."""

from __future__ import annotations

import signal

import pytest

from app.answers.worker_link import death_reason
from app.model.settings import CacheSettings
from app.notices import AskGuide, OpenMemorySettings
from tests.app.desk import Desk
from worker.protocol import CacheOptions, CacheStats, CacheStatsReport, Failed, ModelLoading

pytestmark = pytest.mark.usefixtures("nothing_leaks")


def test_a_load_reports_its_progress_and_its_end(desk: Desk) -> None:
    heard: list[tuple[str, float, str]] = []
    session = desk.session
    session.changed.connect(lambda: heard.append((session.state, session.fraction, session.stage)))
    desk.program.load_model("/another")
    desk.link.say(ModelLoading(request_id=desk.link.loads[-1].request_id, fraction=0.5, stage="reading weights"))
    desk.link.loaded()
    assert heard == [
        ("loading", 0.0, "starting"),
        ("loading", 0.5, "reading weights"),
        ("ready", 1.0, "reading weights"),
    ]
    assert session.info is not None
    assert session.info.model == "/another"


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        (
            {"openblas": "0.3.21 Haswell, sgemv, few rows"},
            ["The model runs on the CPU, with OpenBLAS 0.3.21 and its kernel Haswell."],
        ),
        ({"openblas": "0.3.30 SkylakeX"}, ["The model runs on the CPU, with OpenBLAS 0.3.30 and its kernel SkylakeX."]),
        ({"mkl": "2025.1"}, ["The model runs on the CPU, with Intel's MKL 2025.1."]),
        ({"mlx": "0.30"}, []),
    ],
)
def test_the_sentence_on_how_a_model_runs_names_the_library_and_its_kernel(
    desk: Desk, versions: dict[str, str], told: list[str]
) -> None:
    desk.program.load_model("/model")
    desk.link.loaded(versions=versions)
    assert [str(one) for one in desk.session.how_it_runs() if "runs on the CPU" in one] == told


def test_the_next_start_loads_the_last_model_and_offers_the_earlier_ones(desk: Desk) -> None:
    settings = desk.preferences
    for number in range(10):
        desk.program.load_model(f"/{number}")
        assert settings.settings.model != f"/{number}"
        desk.link.loaded()
        assert settings.settings.model == f"/{number}"
    assert settings.settings.recent_models == tuple(f"/{number}" for number in range(9, 1, -1))
    desk.program.load_model("/5")
    desk.link.loaded()
    assert settings.settings.recent_models == tuple(f"/{number}" for number in (5, 9, 8, 7, 6, 4, 3, 2))
    desk.program.load_model("/broken")
    desk.link.load_failed()
    desk.link.loaded()
    desk.program.load_model("guide")
    desk.link.loaded()
    assert settings.settings.model == "guide"
    assert "/broken" not in settings.settings.recent_models
    assert "guide" not in settings.settings.recent_models


def test_a_name_with_half_a_character_is_requested_as_far_as_possible(desk: Desk) -> None:
    desk.program.load_model("/models/\udcff")
    assert desk.link.loads[-1].model == "/models/\ufffd"


def test_events_of_an_earlier_load_change_nothing(desk: Desk) -> None:
    desk.program.load_model("/one")
    first = desk.link.loads[-1].request_id
    desk.program.load_model("/two")
    desk.link.say(ModelLoading(request_id=first, fraction=0.9, stage="late"))
    assert (desk.session.name, desk.session.state, desk.session.fraction) == ("/two", "loading", 0.0)


def test_if_a_model_does_not_load_the_previous_one_is_loaded(desk: Desk) -> None:
    desk.program.load_model("/broken")
    desk.link.load_failed("There is no config.json. Choose another folder.")
    assert desk.notices[-1].text == (
        "There is no config.json. Choose another folder. The previous model is being loaded again."
    )
    assert desk.notices[-1].action == AskGuide()
    assert desk.link.loads[-1].model == "guide"
    desk.link.loaded()
    assert (desk.session.name, desk.session.state) == ("guide", "ready")
    answer = desk.ask("u1", "a1")
    assert answer.record is not None
    assert answer.record.model == "guide"


def test_a_model_that_loaded_once_and_fails_now_is_not_tried_forever(desk: Desk) -> None:
    desk.program.load_model("/broken")
    desk.link.load_failed()
    desk.link.load_failed()
    assert (desk.session.name, desk.session.state) == ("guide", "failed")
    assert len(desk.link.loads) == 3


def test_a_dead_worker_is_reported_and_a_fresh_one_loads_the_same_model(desk: Desk) -> None:
    for _ in range(50):
        desk.link.die()
        assert desk.session.state == "loading"
        desk.link.loaded()
        assert desk.session.state == "ready"
        desk.ask("u", "a")
    assert desk.link.num_started == 51
    assert {load.model for load in desk.link.loads} == {"guide"}
    (told,) = {notice.text for notice in desk.notices}
    assert told == (
        "The model process stopped unexpectedly (signal SIGKILL, often because memory ran out). The text so far "
        "is kept. The model is being loaded again; your next message will be answered."
    )


def test_a_worker_that_dies_three_times_while_loading_is_not_restarted_until_a_model_is_chosen(desk: Desk) -> None:
    desk.program.load_model("/deadly")
    desk.link.die()
    desk.link.die()
    desk.controller.send("u1")
    assert desk.link.num_started == 3
    desk.link.die(-11)
    assert (desk.session.state, desk.link.num_started) == ("failed", 3)
    assert [notice.kind for notice in desk.notices] == ["warning", "warning", "danger"]
    assert desk.notices[-1].text == (
        "The model process stopped 3 times in a row with the model “/deadly” (signal SIGSEGV). "
        "Your conversations are safe. Choose another model, or ask the guide (Help → Ask the guide)."
    )
    answer = desk.controller.shown.path[-1]
    assert answer.state == "failed"
    assert answer.record is not None
    assert answer.record.error == desk.notices[-1].text
    desk.controller.choose_model("/sound")
    assert desk.link.num_started == 4
    desk.link.loaded()
    desk.ask("u2", "a2")


def test_a_worker_that_keeps_dying_before_it_is_useful_is_not_restarted(desk: Desk) -> None:
    for _ in range(2):
        desk.link.die()
        desk.link.loaded()
    desk.ask("u1", "a1")
    for _ in range(3):
        assert desk.session.state == "ready"
        desk.link.die()
        if desk.session.state == "loading":
            desk.link.loaded()
    assert desk.session.state == "failed"
    assert "stopped 3 times in a row" in desk.notices[-1].text


def test_deaths_with_another_model_do_not_count(desk: Desk) -> None:
    desk.program.load_model("/deadly")
    desk.link.die()
    desk.link.die()
    desk.program.load_model("/sound")
    desk.link.die()
    assert desk.session.state == "loading"
    desk.link.loaded()
    assert desk.session.state == "ready"


def test_a_worker_that_cannot_be_started_is_reported(desk: Desk) -> None:
    desk.link.cannot_start = True
    desk.link.die()
    assert desk.session.state == "failed"
    assert desk.notices[-1].text == (
        "The model process could not be started (Resource temporarily unavailable). "
        "Your conversations are safe. Close other programs, then choose the model again."
    )
    desk.link.cannot_start = False
    desk.program.load_model("guide")
    desk.link.loaded()
    assert desk.session.state == "ready"


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (0, "exit code 0"),
        (3, "exit code 3"),
        (-signal.SIGSEGV, "signal SIGSEGV"),
        (-signal.SIGKILL, "signal SIGKILL, often because memory ran out"),
        (-250, "signal 250"),
    ],
)
def test_a_death_is_described_in_words(exit_code: int, words: str) -> None:
    assert death_reason(exit_code) == words


def test_a_previous_model_that_is_still_loaded_is_not_loaded_again(desk: Desk) -> None:
    info = desk.session.info
    desk.program.load_model("/broken")
    desk.link.load_failed("There is no config.json. The previous model is still loaded.", still_loaded=True)
    assert (desk.session.name, desk.session.state, desk.session.info) == ("guide", "ready", info)
    assert len(desk.link.loads) == 2
    assert [notice.text for notice in desk.notices] == ["There is no config.json. The previous model is still loaded."]
    assert desk.preferences.settings.recent_models == ()


# --- draft models --------------------------------------------------------------------------------------------


def _asked(desk: Desk) -> tuple[str, str | None]:
    return desk.link.loads[-1].model, desk.link.loads[-1].draft_model


def test_each_model_is_loaded_with_its_own_draft_model(desk: Desk) -> None:
    desk.program.load_model("/large")
    desk.link.loaded()
    desk.program.set_draft_model("/small")
    assert _asked(desk) == ("/large", "/small")
    # Only models that have loaded are remembered.
    assert desk.preferences.settings.draft_models == {}
    desk.link.loaded()
    assert desk.preferences.settings.draft_models == {"/large": "/small"}
    desk.program.load_model("guide")
    assert _asked(desk) == ("guide", None)
    desk.link.loaded()
    desk.program.load_model("/large")
    assert _asked(desk) == ("/large", "/small")
    desk.link.loaded()
    desk.link.die()
    assert _asked(desk) == ("/large", "/small")
    desk.link.loaded()
    desk.program.set_cache_settings(CacheSettings(kv_bits=8))
    assert _asked(desk) == ("/large", "/small")
    desk.link.loaded()
    desk.program.load_last_model()
    assert _asked(desk) == ("/large", "/small")
    desk.link.loaded()
    desk.program.set_draft_model("")
    assert _asked(desk) == ("/large", None)
    desk.link.loaded()
    assert desk.preferences.settings.draft_models == {}
    assert desk.preferences.settings.possible_drafts("/large") == ("/small",)
    assert desk.preferences.settings.possible_drafts("guide") == ("/small", "/large")
    # The notice of the death, and no other.
    assert len(desk.notices) == 1


@pytest.mark.parametrize("is_loaded", [True, False])
def test_a_draft_model_is_for_the_model_that_was_chosen_before_it(desk: Desk, *, is_loaded: bool) -> None:
    if not is_loaded:
        desk.session.load("guide")
    desk.controller.send("A question for the guide")
    desk.program.load_model("/large")
    desk.program.set_draft_model("/small")
    if not is_loaded:
        desk.link.loaded()
    assert _asked(desk) == ("guide", None)
    desk.answer("An answer")
    assert _asked(desk) == ("/large", "/small")
    desk.link.loaded()
    assert desk.preferences.settings.draft_models == {"/large": "/small"}
    assert len(desk.link.loads) == (2 if is_loaded else 3)


def test_the_current_draft_model_is_not_loaded_again(desk: Desk) -> None:
    desk.program.set_draft_model("/small")
    desk.link.loaded()
    num_loads = len(desk.link.loads)
    desk.program.set_draft_model("/small")
    assert len(desk.link.loads) == num_loads


@pytest.mark.parametrize("still_loaded", [True, False])
def test_a_refused_draft_model_changes_nothing(desk: Desk, *, still_loaded: bool) -> None:
    desk.program.set_draft_model("/small")
    desk.link.loaded()
    num_loads = len(desk.link.loads)
    desk.program.set_draft_model("/unfit")
    desk.link.load_failed("The draft model '/unfit' has other tokens.", still_loaded=still_loaded)
    if not still_loaded:
        assert _asked(desk) == ("guide", "/small")
        desk.link.loaded()
    assert len(desk.link.loads) == num_loads + (1 if still_loaded else 2)
    session = desk.session
    assert (session.state, session.name, session.draft) == ("ready", "guide", "/small")
    assert session.info is not None
    assert session.info.draft_model == "/small"
    assert [notice.text for notice in desk.notices] == ["The draft model '/unfit' has other tokens."]
    settings = desk.preferences.settings
    assert (settings.draft_models, settings.recent_drafts) == ({"guide": "/small"}, ("/small",))


def test_a_model_without_draft_support_is_loaded_without_one(desk: Desk) -> None:
    desk.program.set_draft_model("/small")
    desk.link.loaded(draft_refused="It keeps windows; it answers without a draft model.")
    assert (desk.session.state, desk.session.draft) == ("ready", "")
    assert [notice.text for notice in desk.notices] == ["It keeps windows; it answers without a draft model."]
    assert desk.preferences.settings.draft_models == {}


@pytest.mark.parametrize("how", ["gone", "deadly"])
def test_if_a_remembered_draft_model_is_unusable_the_model_is_loaded_without_it(desk: Desk, how: str) -> None:
    desk.program.load_model("/large")
    desk.link.loaded()
    desk.program.set_draft_model("/small")
    desk.link.loaded()
    desk.program.load_model("guide")
    desk.link.loaded()
    desk.program.load_model("/large")
    if how == "gone":
        desk.link.load_failed("There is no folder '/small'.", still_loaded=True)
        told = "There is no folder '/small'."
    else:
        for _ in range(3):
            assert _asked(desk) == ("/large", "/small")
            desk.link.die()
        told = "The model process stopped 3 times in a row with the draft model “/small” "
    assert _asked(desk) == ("/large", None)
    desk.link.loaded()
    assert (desk.session.state, desk.session.name) == ("ready", "/large")
    assert desk.notices[-1].text.startswith(told)
    assert desk.preferences.settings.draft_models == {}


def test_if_the_model_itself_fails_the_notice_names_it_and_not_its_draft_model(desk: Desk) -> None:
    desk.program.load_model("/large")
    desk.link.loaded()
    desk.program.set_draft_model("/small")
    desk.link.loaded()
    desk.program.load_model("guide")
    desk.link.loaded()
    desk.program.load_model("/large")
    desk.link.load_failed("It is torn.")
    desk.link.load_failed("It is torn.")
    assert [notice.text for notice in desk.notices] == ["It is torn. The previous model is being loaded again."]
    assert _asked(desk) == ("guide", None)


# --- cache settings ------------------------------------------------------------------------------------------


def test_every_load_has_the_cache_settings(desk: Desk) -> None:
    desk.program.set_cache_settings(CacheSettings(limit_bytes=5, disk_limit_bytes=6, kv_bits=8))
    desk.link.loaded()
    desk.program.load_model("/another")
    desk.link.loaded()
    desk.link.die()
    loads = desk.link.loads
    assert [load.model for load in loads] == ["guide", "guide", "/another", "/another"]
    assert loads[0].cache == CacheOptions()
    assert {load.cache for load in loads[1:]} == {CacheOptions(limit_bytes=5, disk_limit_bytes=6, kv_bits=8)}


def test_the_model_is_loaded_again_only_if_a_setting_changed(desk: Desk) -> None:
    desk.program.set_cache_settings(CacheSettings())
    desk.program.set_overflow("drop_oldest")
    assert len(desk.link.loads) == 1
    desk.program.set_cache_settings(CacheSettings(kv_bits=4))
    desk.program.set_cache_settings(CacheSettings(kv_bits=4))
    assert len(desk.link.loads) == 2


def _refuse_bits(desk: Desk) -> None:
    message = "`cache.kv_bits`: mamba keeps windows or states alone. Load it without `kv_bits`."
    desk.link.say(Failed(request_id=desk.link.loads[-1].request_id, kind="bad_request", message=message))


def test_a_model_that_refuses_fewer_bits_is_loaded_without_them_and_this_is_reported_once(desk: Desk) -> None:
    desk.program.set_cache_settings(CacheSettings(limit_bytes=5, kv_bits=4))
    _refuse_bits(desk)
    assert desk.link.loads[-1].cache == CacheOptions(limit_bytes=5)
    desk.link.loaded()
    assert (desk.session.state, desk.session.is_precision_refused) == ("ready", True)
    assert [(notice.action, "4-bit" in notice.text) for notice in desk.notices] == [(OpenMemorySettings(), True)]
    desk.link.die()
    assert desk.link.loads[-1].cache == CacheOptions(limit_bytes=5)
    desk.link.loaded()
    assert sum("4-bit" in notice.text for notice in desk.notices) == 1
    # Another model may support them.
    desk.program.load_model("/another")
    assert desk.link.loads[-1].cache == CacheOptions(limit_bytes=5, kv_bits=4)
    assert not desk.session.is_precision_refused


def test_a_model_that_fails_for_another_reason_is_not_tried_with_other_bits(desk: Desk) -> None:
    desk.program.set_cache_settings(CacheSettings(kv_bits=4))
    desk.link.load_failed()
    assert len(desk.link.loads) == 2
    assert desk.session.state == "failed"


def test_files_on_disk_are_removed_while_the_worker_does_not_use_them(desk: Desk) -> None:
    removed: list[int] = []
    desk.session.forget(lambda: removed.append(len(desk.link.loads)))
    assert desk.link.loads[-1].cache.disk_limit_bytes == 0
    assert removed == []
    desk.link.loaded()
    assert removed == [2]
    assert desk.session.state == "loading"
    assert desk.link.loads[-1].cache.disk_limit_bytes is None
    desk.link.loaded()
    assert (desk.session.state, len(desk.link.loads), removed) == ("ready", 3, [2])


@pytest.mark.parametrize("how", ["death", "failure", "another"])
def test_files_on_disk_are_removed_whatever_happened_to_the_load_before(desk: Desk, how: str) -> None:
    removed: list[bool] = []
    desk.session.forget(lambda: removed.append(True))
    if how == "death":
        desk.link.die()
    elif how == "failure":
        desk.link.load_failed()
    else:
        desk.program.load_model("/another")
    if how != "failure":
        assert desk.link.loads[-1].cache.disk_limit_bytes == 0
        assert removed == []
        desk.link.loaded()
        assert desk.link.loads[-1].cache.disk_limit_bytes is None
        desk.link.loaded()
        assert desk.session.state == "ready"
    assert removed == [True]


def test_with_the_disk_switched_off_emptying_it_loads_nothing(desk: Desk) -> None:
    desk.program.set_cache_settings(CacheSettings(disk_limit_bytes=0))
    desk.link.loaded()
    num_loads = len(desk.link.loads)
    desk.program.empty_cache_folder()
    assert len(desk.link.loads) == num_loads
    assert "removed from the disk" in desk.notices[-1].text


def test_cache_statistics_are_known_once_reported_and_forgotten_when_another_model_loads(desk: Desk) -> None:
    session = desk.session
    session.query_cache_stats()
    asked = desk.link.commands[-1]
    assert isinstance(asked, CacheStats)
    assert session.kept is None
    told = CacheStatsReport(request_id=asked.request_id, tokens=1, bytes=2, limit_bytes=3, disk_tokens=4, disk_bytes=5)
    desk.link.say(told)
    assert session.kept == told
    desk.program.load_model("/another")
    assert session.kept is None
    session.query_cache_stats()
    desk.link.say(Failed(request_id=desk.link.commands[-1].request_id, kind="model_not_loaded", message="None."))
    assert session.kept is None
    assert session.state == "loading"


def test_a_worker_that_reports_only_statistics_has_no_model(desk: Desk) -> None:
    for _ in range(3):
        desk.session.query_cache_stats()
        desk.link.say(Failed(request_id=desk.link.commands[-1].request_id, kind="model_not_loaded", message="None."))
        desk.link.die()
    assert desk.session.state == "failed"
    desk.session.query_cache_stats()
    assert desk.session.kept is None
