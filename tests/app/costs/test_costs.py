"""The cost of going to a message: requested in batches, one request at a time, kept until something changes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import pytest
from msgspec import UNSET
from pytestqt.qtbot import QtBot

from app.answers.prompt import turns
from app.costs.costs import Costs, Options, Prompts
from app.costs.worker_queries import Cost
from app.model.message import Figures, Message, Record, Role
from app.model.tree import Tree
from tests.app.desk import Desk
from tests.waiting import PATIENCE_MS
from worker.protocol import Failed, Finished, Plan, Planned, PromptPlan, Timing, Usage

_ROLES: tuple[Role, ...] = ("root", "system", "user", "user", "assistant", "assistant", "note")


def _tree(draw: random.Random, num: int) -> Tree:
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number in range(2, num + 1):
        ids = (number,) if draw.random() < 0.3 else ()
        text = draw.choice(["", " ", f"text {number}"])
        message = Message(
            id=number,
            parent_id=draw.randint(max(1, number - 6), number - 1),
            role=draw.choice(_ROLES),
            text=text,
            record=Record(token_ids=ids),
        )
        messages.append(message)
    return Tree(messages, 1)


@pytest.mark.parametrize("seed", range(30))
def test_branches_that_share_messages_get_the_same_plan_as_each_alone(seed: int):
    draw = random.Random(seed)
    tree = _tree(draw, 40)
    prompts = Prompts()
    for message_id in draw.sample(range(1, 41), 40):
        lineage = tree.lineage(message_id)
        assert [prompts.messages[place] for place in prompts.path(lineage)] == turns(lineage)
    assert len(prompts.messages) <= 40


def test_template_options_go_with_the_request_and_changing_them_sends_another(desk: Desk, qtbot: QtBot) -> None:
    told: dict[str, object] = {}
    asked = _Asked(desk, qtbot, lambda: told)
    asked.costs.want([2])
    plan = asked.question(0)
    assert plan.template_options is UNSET
    asked.answer(plan)
    asked.costs.check_options()
    told["enable_thinking"] = False
    asked.costs.check_options()
    plan = asked.question(1)
    assert plan.template_options == {"enable_thinking": False}
    asked.answer(plan, [PromptPlan(24, 0, "cold")])
    cost = asked.costs.get(2)
    assert cost is not None
    assert cost.num_tokens == 24


class _Asked:
    """The costs of a conversation whose worker is the test."""

    def __init__(self, desk: Desk, bot: QtBot, options: Options = dict) -> None:
        self.desk = desk
        self.bot = bot
        self.costs = Costs(desk.session, options)
        messages = [Message(id=1, parent_id=None, role="root", text="")]
        messages += [
            Message(id=number, parent_id=number - 1, role="assistant" if number % 2 else "user", text=f"t{number}")
            for number in range(2, 102)
        ]
        self.tree = Tree(messages, 1)
        self.costs.show(self.tree.lineage)

    @property
    def plans(self) -> list[Plan]:
        return [command for command in self.desk.link.commands if isinstance(command, Plan)]

    def question(self, number: int) -> Plan:
        """Wait for a request; the first one is 0."""
        self.bot.waitUntil(lambda: len(self.plans) > number, timeout=PATIENCE_MS)
        assert len(self.plans) == number + 1
        return self.plans[number]

    def answer(self, plan: Plan, plans: Sequence[PromptPlan] | None = None, rate: float | None = 100.0) -> None:
        assert isinstance(plan.paths, list)
        said = plans or [PromptPlan(len(path) * 10, len(path) * 10 - 1, "warm") for path in plan.paths]
        self.desk.link.say(Planned(request_id=plan.request_id, plans=list(said), prefill_tokens_per_s=rate))


@pytest.fixture
def asked(desk: Desk, qtbot: QtBot) -> _Asked:
    return _Asked(desk, qtbot)


def test_costs_are_requested_in_batches_with_one_request_at_a_time(asked: _Asked):
    wanted = list(range(2, 82))
    asked.costs.want(wanted)
    known: list[int] = []
    for number, size in enumerate((32, 32, 16)):
        plan = asked.question(number)
        assert isinstance(plan.paths, list)
        assert [len(path) for path in plan.paths] == list(range(len(known) + 1, len(known) + 1 + size))
        # Wanting more while a request runs sends nothing yet.
        asked.costs.want(wanted)
        assert len(asked.plans) == number + 1
        asked.answer(plan)
        known = [message_id for message_id in wanted if asked.costs.get(message_id)]
    assert known == wanted
    assert asked.costs.get(11) == Cost(num_read=1, num_kept=99, tier="warm", seconds=0.01)
    assert asked.costs.get(90) is None


def test_costs_are_unknown_until_they_are_requested_again_once_something_was_read(asked: _Asked):
    asked.costs.want([2, 3])
    asked.answer(asked.question(0), [PromptPlan(10, 0, "cold"), PromptPlan(20, 0, "cold")])
    asked.costs.want([2, 3])
    assert asked.costs.get(3) == Cost(num_read=20, num_kept=0, tier="cold", seconds=0.2)
    asked.desk.link.say(Finished(request_id="another", choices=[], usage=Usage(), timing=Timing()))
    assert asked.costs.get(3) is None
    # The drawing keeps its dots meanwhile.
    assert asked.costs.last_tier(3) == "cold"
    asked.answer(asked.question(1), [PromptPlan(10, 9, "warm"), PromptPlan(20, 19, "disk")])
    assert asked.costs.get(3) == Cost(num_read=1, num_kept=19, tier="disk", seconds=0.01)


def test_the_answer_to_a_query_from_before_a_change_is_not_shown(asked: _Asked):
    asked.costs.want([2])
    plan = asked.question(0)
    asked.costs.refresh()
    asked.answer(plan, [PromptPlan(10, 0, "cold")])
    assert asked.costs.get(2) is None
    asked.answer(asked.question(1), [PromptPlan(10, 9, "warm")])
    assert asked.costs.get(2) == Cost(num_read=1, num_kept=9, tier="warm", seconds=0.01)


def test_costs_are_forgotten_with_another_conversation_or_model(asked: _Asked):
    changes: list[None] = []
    asked.costs.changed.connect(lambda: changes.append(None))
    asked.costs.want([2])
    plan = asked.question(0)
    asked.costs.show(asked.tree.lineage)
    # The answer comes too late: it is about the conversation shown before.
    asked.answer(plan)
    assert asked.costs.get(2) is None
    asked.costs.want([2])
    asked.answer(asked.question(1))
    assert asked.costs.get(2) is not None
    asked.desk.link.die()
    assert asked.costs.get(2) is None
    assert len(changes) >= 3


def test_the_time_is_shown_only_if_it_is_known(asked: _Asked):
    asked.costs.want([2])
    asked.answer(asked.question(0), [PromptPlan(10, 0, "cold")], rate=None)
    cost = asked.costs.get(2)
    assert cost is not None
    assert cost.seconds is None


def test_a_worker_that_has_read_nothing_is_assumed_as_fast_as_before(asked: _Asked):
    figures = Figures(read_tokens=500, prefill_ms=250.0)
    record = Record(model=asked.desk.session.name, figures=figures)
    asked.tree.put(msgspec.structs.replace(asked.tree[3], record=record))
    asked.costs.want([7])
    asked.answer(asked.question(0), [PromptPlan(100, 0, "cold")], rate=None)
    assert asked.costs.get(7) == Cost(num_read=100, num_kept=0, tier="cold", seconds=0.05)


def test_a_branch_that_lacks_only_the_tokens_after_an_answer_is_as_warm_as_its_parent(asked: _Asked):
    asked.costs.want([2, 3, 4, 5, 6])
    plans = [
        PromptPlan(100, 99, "disk"),
        PromptPlan(120, 114, "cold"),
        PromptPlan(140, 139, "warm"),
        PromptPlan(160, 150, "cold"),
        PromptPlan(200, 150, "cold"),
    ]
    asked.answer(asked.question(0), plans)
    costs = [asked.costs.get(message_id) for message_id in range(2, 7)]
    assert [cost.tier for cost in costs if cost] == ["disk", "disk", "warm", "warm", "cold"]


def test_a_branch_that_no_model_can_read_does_not_affect_the_others(asked: _Asked):
    asked.costs.want([2, 3, 4])
    plan = asked.question(0)
    asked.desk.link.say(Failed(request_id=plan.request_id, kind="bad_request", message="No."))
    for number, message_id in enumerate((2, 3, 4), 1):
        plan = asked.question(number)
        assert isinstance(plan.paths, list)
        assert len(plan.paths) == 1
        if message_id == 3:
            asked.desk.link.say(Failed(request_id=plan.request_id, kind="bad_request", message="No."))
        else:
            asked.answer(plan)
    asked.costs.want([2, 3, 4])
    assert [asked.costs.get(message_id) is not None for message_id in (2, 3, 4)] == [True, False, True]
    # It is not requested again and again.
    asked.costs.want([3, 5])
    assert len(asked.question(4).paths or []) == 1


def test_without_messages_nothing_is_requested(asked: _Asked):
    asked.costs.want([1, 2])
    plan = asked.question(0)
    assert isinstance(plan.paths, list)
    assert len(plan.paths) == 1
    asked.answer(plan)
    assert asked.costs.get(1) is None
    assert asked.costs.get(2) is not None
