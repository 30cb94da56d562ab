"""The worker's notices about a model or a prompt are shown once, beside the model or the answer."""

from __future__ import annotations

from app.answers.prompt import finished
from app.model.message import Message, Record
from app.ui.message.answer_summary import ending
from tests.app.desk import Desk
from worker.events import notices_of
from worker.protocol import Choice, Finished, Timing, Usage
from worker.sentence import Sentence

NO_SYSTEM = Sentence("The chat template of this model leaves out the system prompt, so the model did not see it.")
NO_SPACE = Sentence(
    "The tokenizer of this model leaves out white space, so the model did not see every indent and line break."
)


def answered(number: int, prompt: list[Message], *notices: Sentence) -> Message:
    """Return an answer to `prompt` for which the worker noticed these."""
    choice = Choice(text="a", token_ids=[1], num_recut=0, seed=5, reason="eos", turn_token_ids=[1])
    event = Finished(request_id="1", choices=[choice], usage=Usage(), timing=Timing(), notices=notices_of(notices))
    asked = Message(id=number, parent_id=0, role="assistant", text="", record=Record(model="one"))
    return finished(asked, prompt, (), event)


def test_the_first_answer_of_a_branch_says_that_the_model_did_not_see_the_whole_prompt() -> None:
    question = Message(id=1, parent_id=0, role="user", text="Hello")
    first = answered(2, [question], NO_SYSTEM)
    assert ending(first) == (str(NO_SYSTEM), "quiet")
    second = answered(3, [question, first], NO_SYSTEM, NO_SPACE)
    assert ending(second) == (str(NO_SPACE), "quiet")
    other_branch = answered(4, [question], NO_SYSTEM)
    assert ending(other_branch) == (str(NO_SYSTEM), "quiet")


def test_an_odd_model_is_announced_once(desk: Desk) -> None:
    damaged = Sentence("Some weights of this model are damaged.")
    desk.link.loaded(notices=[damaged])
    desk.session.load("guide")
    desk.link.loaded(notices=[damaged])
    assert [notice.text for notice in desk.notices] == [damaged]
