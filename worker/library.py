"""Bough as a library: a model, states of text that are cut and joined like strings, generators that go on from them.

Everything happens in the process and the thread that calls; no window and no store is needed.

**A model** is opened once. It remembers what it has read, for as long as there is memory:

>>> from worker.library import Constraint, Sampling, open_model
>>> model = open_model("guide")  # or a model's folder, or a downloaded model's name

**A generator** is one way to go on: `text`, `choice`, `regex`, `json`, `grammar`. It takes a string, a list of strings,
or a state, and returns the state in which the text has gone on:

>>> text = model.text(max_tokens=12, stop="\\n")
>>> state = text("A branch is")
>>> state.shape  # prompts, samples
(1, 1)
>>> str(state).startswith("A branch is")
True

How it ended, and what was written:

>>> ending = state.endings[0][0]
>>> ending.reason in {'length', 'stop', 'eos'}, str(state) == "A branch is" + ending.text
(True, True)

**Any generator goes on from any state**, and only what has not been read yet is read: what is new, and what the last
step appended, its forced tokens too, as nothing has come after it:

>>> yes_or_no = model.choice(["yes", "no"])
>>> answered = yes_or_no("Is a leaf a branch without children? Answer yes or no: ")
>>> number = model.regex("[0-9]{3}", sampling=Sampling(temperature=1, seed=2))
>>> numbered = number(answered)
>>> numbered.usage.cached_tokens >= answered.usage.prompt_tokens
True
>>> import re
>>> bool(re.fullmatch(r"Is a leaf .*: (yes|no)[0-9]{3}", str(numbered)))
True

So a text is written piece by piece, as one sequence:

>>> item = model.text(max_tokens=6, stop=["\\n", "."])
>>> state = model.state("What a message can do:\\n")
>>> for place in range(1, 4):
...     state = item(state + f"{place}. ") + "\\n"
>>> str(state).count("\\n")
4

**Slices** are of characters, as of a string. What is kept of a beginning is not read again, and a cut inside a word is
healed: the model may go on with the token that spells the whole word.

>>> state = model.choice([" conversation"])("This is a new")
>>> str(state[:16])
'This is a new co'
>>> str(model.choice(["nversation", "ward"])(state[:16]))
'This is a new conversation'

**Several prompts, several samples**: a state is `state[batch, sample, a:b]`, and what is 1 long may be left out.

>>> draw = model.regex(" [a-z]{2,9}[.]", sampling=Sampling(temperature=1))
>>> several = draw(["This is", "Here are two"], samples=3, seed=4)
>>> several.shape
(2, 3)
>>> str(several[1, 2, :8])
'Here are'
>>> several[:, 0, :4]
SequenceState([['This'], ['Here']])
>>> one_prompt = several[0, :, :]
>>> one_prompt[-1, :4]
SequenceState([['This']])
>>> len(list(several))  # the texts, one after another
6

The same seed draws the same, each sample alone or in company: sample `s` of prompt `b` has `seed + 64 * b + s`.

>>> draw("Here are two", seed=4 + 64 * 1 + 2) == several[1, 2, :]
True

**Weights** are the summed log-probabilities of what was drawn. They are kept by sums, and by slices for the tokens that
are kept, so the best of several samples is

>>> best = several[0, int(several.weights[0].argmax()), :]
>>> bool(best.weights[0, 0] == several.weights[0].max())
True
>>> bool((draw(several).weights <= several.weights).all())
True

**Beam search** finds what is likeliest as a whole, where a generator takes what is likeliest token by token. The best
beams of each prompt are its samples, best first, and their weights are the log-probabilities of all that was written:

>>> beams = model.beams(width=6, samples=3, max_tokens=5)
>>> found = beams("A branch is")
>>> found.shape, bool(found.weights[0, 0] >= found.weights[0, 1] >= found.weights[0, 2])
((1, 3), True)
>>> bool(found.weights[0, 0] >= model.text(max_tokens=5)("A branch is").weights[0, 0])
True
>>> form = Constraint(kind="choice", value=[" yes", " no", " perhaps"])
>>> str(model.beams(constraint=form)(found[0, :])).split()[-1] in {"yes", "no", "perhaps"}
True

**Sums** join states and strings. Shapes go together where they are equal or 1:

>>> joined = "Listen: " + several + [" One.", " Two."]
>>> joined.shape, str(joined[1, 0, -5:])
((2, 3), ' Two.')
>>> several + ["a", "b", "c"]
Traceback (most recent call last):
    ...
worker.states.sequence_state.BatchMismatch: A state with 2 prompts and one with 3 prompts were added. ...
>>> draw(several, samples=2)
Traceback (most recent call last):
    ...
worker.states.sequence_state.SampleMismatch: This state has 3 samples of each prompt; ...

What has no meaning is refused, with what to write instead (`SequenceState` lists the cases):

>>> several[0:4]
Traceback (most recent call last):
    ...
worker.states.token_sequence.SlicingError: This state has 2 prompts with 3 samples each. Use state[batch, sample, a:b].
>>> best[3]
Traceback (most recent call last):
    ...
worker.states.token_sequence.SlicingError: Characters are taken by a slice, not by 3: ...

**A chat** is a state in the model's own form, up to where the answer begins. Control tokens come from there alone: in
a string they are plain text, whoever wrote it.

>>> question = model.chat("How do I fork a message?")
>>> answer = model.text(max_tokens=8)(question)
>>> str(answer) == str(question) + answer.endings[0][0].text
True
>>> import json
>>> schema = {"type": "object", "properties": {"stars": {"enum": [1, 2, 3]}}, "required": ["stars"]}
>>> rated = model.json({**schema, "additionalProperties": False})(answer)
>>> json.loads(rated.endings[0][0].text)["stars"] in {1, 2, 3}
True

**Logits from elsewhere**: whoever computes them with a model of their own has sampler, constraint, hooks, stop strings
and text without any model here, by `worker.stepping`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from worker.blas import preload
from worker.errors import BadRequestError
from worker.protocol import CacheOptions, Constraint, Sampling, Usage
from worker.sentence import verbatim
from worker.states.sequence_state import BatchMismatch, SampleMismatch, SequenceState
from worker.states.token_sequence import Ending, SlicingError

if TYPE_CHECKING:
    from worker.states.local_model import LocalModel

__all__ = [
    "BatchMismatch",
    "CacheOptions",
    "Constraint",
    "Ending",
    "SampleMismatch",
    "Sampling",
    "SequenceState",
    "SlicingError",
    "Usage",
    "open_model",
]


def open_model(model: str = "guide", cache: CacheOptions = CacheOptions()) -> LocalModel:  # noqa: B008 (a frozen value)
    """Load a model in this process: "guide", a folder, or a downloaded model's name.

    `cache`: how much of what it has read is kept, in memory alone. Raises a `WorkerError` that says what to do.
    """
    try:
        cache = msgspec.convert(msgspec.to_builtins(cache), CacheOptions)
    except msgspec.ValidationError as error:
        raise BadRequestError(verbatim(f"`cache`: {error}. Correct it and try again.")) from error
    preload()
    # Only now: MLX takes its BLAS when it is first imported.
    from worker.cache.prompt_cache import PromptCache, default_limit_bytes
    from worker.language_model import LanguageModel, UnreadModel
    from worker.models.folder import find_model
    from worker.requests.engine import Engine
    from worker.states.local_model import LocalModel

    *_, loaded = UnreadModel(find_model(model)).read()
    assert isinstance(loaded, LanguageModel)
    if cache.kv_bits is not None:
        loaded.quantize_kv(cache.kv_bits)
    limit_bytes = default_limit_bytes(loaded.weights_bytes) if cache.limit_bytes is None else cache.limit_bytes
    return LocalModel(Engine(loaded, PromptCache(loaded.new_layers, limit_bytes)))
