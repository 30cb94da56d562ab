"""Edges of hooks and drafts: several things in the same step, what no hook should say, files that are odd."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.models import write_scripted_model
from tests.worker.test_hooks import finished, once
from worker.decision import Decision
from worker.draft import DraftModel
from worker.engine import Engine
from worker.hook_chain import Hook
from worker.hook_folder import HookFolder
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model
from worker.prompt_cache import PromptCache
from worker.protocol import Event, Generate
from worker.request import Ticket
from worker.step import Step

PLENTY = 1 << 30
PROMPT = list(range(40, 60))


def read(folder: Path) -> LanguageModel:
    *_, model = UnreadModel(find_model(str(folder))).read()
    assert isinstance(model, LanguageModel)
    return model


@pytest.fixture(scope="module")
def llama(random_llama: Path) -> LanguageModel:
    return read(random_llama)


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> LanguageModel:
    """A model that counts letters: "abc…xyz", and then over again."""
    letters = [byte_level.encode(letter).ids[0] for letter in "abcdefghijklmnopqrstuvwxyz"]
    successor = dict(zip(letters, letters[1:] + letters[:1], strict=True))
    return read(write_scripted_model(tmp_path_factory.mktemp("models") / "counting", byte_level, successor))


def engine_of(
    model: LanguageModel, hooks: Mapping[str, Callable[..., Hook]] | None = None, draft: LanguageModel | None = None
) -> Engine:
    drafts = None if draft is None else DraftModel(draft, PromptCache(draft.new_layers, PLENTY))
    return Engine(
        model,
        PromptCache(model.new_layers, PLENTY),
        HookFolder(given=hooks, slow_s=math.inf),
        drafts,
        looks_ahead=False,
    )


def ask(engine: Engine, **fields: Any) -> list[Event]:
    asked: dict[str, Any] = {"token_ids": PROMPT, "max_tokens": 12, **fields}
    engine.add(Generate(request_id=1, **asked), Ticket(1))
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    return events


def letter(model: LanguageModel, text: str) -> int:
    [token_id] = model.vocabulary.encode(text)
    return token_id


# --- drafts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["before", "after"])
@pytest.mark.parametrize("num_back", [2, 5])
def test_going_back_from_a_token_that_was_guessed_rightly_leaves_what_stands_and_nothing_else(
    llama: LanguageModel, phase: str, num_back: int
) -> None:
    num_looked = 0

    def make() -> Hook:
        go_back = once(9, Decision(backtrack=num_back, token=77), phase)()

        def hook(step: Step) -> Any:
            nonlocal num_looked
            if step.phase == "after":
                num_looked += 1
                fresh = llama.forward(mx.array([PROMPT + list(step.tokens)]), llama.new_layers())
                assert np.allclose(step.logits, np.array(fresh)[0], atol=1e-2)
            return go_back(step)

        return hook

    plain, guessed = (
        finished(ask(engine_of(llama, {"back": make}, draft), hooks=["back"], max_tokens=20)) for draft in (None, llama)
    )
    assert guessed.usage.accepted_tokens > 10
    assert guessed.choices[0].token_ids == plain.choices[0].token_ids
    assert num_looked > 40
