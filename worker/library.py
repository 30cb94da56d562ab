"""Bough as a library: open a model, generate texts, and slice and join them like strings.

Everything happens in the calling process and thread. Neither a window nor a store is needed.

**Models.** Open a model once. As far as there is memory, its cache keeps all tokens that it has processed:

>>> from worker.library import Constraint, Sampling, open_model
>>> model = open_model("guide")  # or a folder, or the name of a downloaded model

**Generators.** `text`, `choice`, `regex`, `json` and `grammar` make generators. A generator continues a string, a list
of strings, or a state. It returns a state, which holds the given text and the new text:

>>> text = model.text(max_tokens=12, stop="\\n")
>>> state = text("A branch is")
>>> state.shape  # prompts, samples
(1, 1)
>>> str(state).startswith("A branch is")
True

A state has the text that was generated last, and why it ended:

>>> ending = state.endings[0][0]
>>> ending.reason in {'length', 'stop', 'eos'}, str(state) == "A branch is" + ending.text
(True, True)

**Any generator continues any state.** The model processes only tokens that are not in its cache:

>>> yes_or_no = model.choice(["yes", "no"])
>>> answered = yes_or_no("Is a leaf a branch without children? Answer yes or no: ")
>>> number = model.regex("[0-9]{3}", sampling=Sampling(temperature=1, seed=2))
>>> numbered = number(answered)
>>> numbered.usage.cached_tokens >= answered.usage.prompt_tokens
True
>>> import re
>>> bool(re.fullmatch(r"Is a leaf .*: (yes|no)[0-9]{3}", str(numbered)))
True

So a program can generate a text piece by piece:

>>> item = model.text(max_tokens=6, stop=["\\n", "."])
>>> state = model.state("What a message can do:\\n")
>>> for line in range(1, 4):
...     state = item(state + f"{line}. ") + "\\n"
>>> str(state).count("\\n")
4

**Slices** count characters, as for strings. The model does not process the kept beginning again. If a slice ends inside
a word, the model can still continue with the token that spells the whole word (token healing):

>>> state = model.choice([" conversation"])("This is a new")
>>> str(state[:16])
'This is a new co'
>>> str(model.choice(["nversation", "ward"])(state[:16]))
'This is a new conversation'

**Several prompts and samples.** The full form of a slice is `state[batch, sample, a:b]`. Dimensions of length 1 may be
left out:

>>> word = model.regex(" [a-z]{2,9}[.]", sampling=Sampling(temperature=1))
>>> several = word(["This is", "Here are two"], samples=3, seed=4)
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

Sample `s` of prompt `b` uses the seed `seed + 64 * b + s`. With the same seed, it is the same alone as among others:

>>> word("Here are two", seed=4 + 64 * 1 + 2) == several[1, 2, :]
True

**Weights** are the sums of the log-probabilities of the sampled tokens. Joining states adds them, and slicing keeps
those of the kept tokens. So this is the best of several samples:

>>> best = several[0, int(several.weights[0].argmax()), :]
>>> bool(best.weights[0, 0] == several.weights[0].max())
True
>>> bool((word(several).weights <= several.weights).all())
True

**Beam search** finds texts that are likely as a whole, while a greedy generator takes the most likely token at each
step. The samples of a prompt are its best beams, best first. Their weights are the log-probabilities of all new tokens:

>>> beams = model.beams(width=6, samples=3, max_tokens=5)
>>> found = beams("A branch is")
>>> found.shape, bool(found.weights[0, 0] >= found.weights[0, 1] >= found.weights[0, 2])
((1, 3), True)
>>> greedy = model.text(max_tokens=5)("A branch is")
>>> bool(found.weights[0, 0] >= greedy.weights[0, 0] - 0.001)  # Both may be the same text, rounded differently.
True
>>> options = Constraint(kind="choice", value=[" yes", " no", " perhaps"])
>>> str(model.beams(constraint=options)(found[0, :])).split()[-1] in {"yes", "no", "perhaps"}
True

**Sums** join states and strings. In each dimension the sizes must be equal, or one of them must be 1:

>>> joined = "Listen: " + several + [" One.", " Two."]
>>> joined.shape, str(joined[1, 0, -5:])
((2, 3), ' Two.')
>>> several + ["a", "b", "c"]
Traceback (most recent call last):
    ...
worker.states.sequence_state.BatchMismatch: A state with 2 prompts and one with 3 prompts were added. ...
>>> word(several, samples=2)
Traceback (most recent call last):
    ...
worker.states.sequence_state.SampleMismatch: This state has 3 samples of each prompt; ...

**Errors** say what to write instead. `SequenceState` lists all invalid slices:

>>> several[0:4]
Traceback (most recent call last):
    ...
worker.states.token_sequence.SlicingError: This state has 2 prompts with 3 samples each. Use state[batch, sample, a:b].
>>> best[3]
Traceback (most recent call last):
    ...
worker.states.token_sequence.SlicingError: Characters need a slice, not 3. ...

**Chats.** `model.chat` returns a conversation in the model's own chat template, up to the answer. Only the template
adds control tokens; in strings, control tokens are plain text:

>>> question = model.chat("How do I fork a message?")
>>> answer = model.text(max_tokens=8)(question)
>>> str(answer) == str(question) + answer.endings[0][0].text
True
>>> import json
>>> schema = {"type": "object", "properties": {"stars": {"enum": [1, 2, 3]}}, "required": ["stars"]}
>>> rated = model.json({**schema, "additionalProperties": False})(answer)
>>> json.loads(rated.endings[0][0].text)["stars"] in {1, 2, 3}
True

**Your own model.** If your program computes the logits itself, `worker.stepping` samples from them, with the same
constraints, hooks, stop strings and text.
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
from worker.transformers_import import import_transformers

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
    """Load a model in this process: "guide", a folder, or the name of a downloaded model.

    `cache`: limits of the prompt cache, which is in memory only. Raises a `WorkerError` that says what to do.
    """
    try:
        cache = msgspec.convert(msgspec.to_builtins(cache), CacheOptions)
    except msgspec.ValidationError as error:
        raise BadRequestError(verbatim(f"`cache`: {error}. Correct it and try again.")) from error
    preload()
    import_transformers()
    # These import MLX, which must happen after `preload`.
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
