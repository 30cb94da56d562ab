"""Trains the guide model from scratch and writes it as a folder that any loader of llama models opens.

    python packaging/guide_model/train.py --out resources/guide
    python packaging/guide_model/train.py --out resources/guide --from resources/guide --tokens 2000000

The second goes on from a finished model with its tokenizer: enough where a few sentences of answers were changed.
Deterministic: the same corpus and seed give the same weights on one machine. One thread of a CPU is enough.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import cast

from worker import blas

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads gain little here
blas.preload()

import mlx.core as mx
import mlx.optimizers as optim
from corpus import Corpus, all_texts, first_words
from mlx import nn
from mlx.utils import tree_flatten, tree_map_with_path
from mlx_lm.models.llama import Model, ModelArgs
from tokenizer import CONTEXT, VOCABULARY_SIZE, ChatEncoder, save_tokenizer, train_tokenizer
from tokenizers import Tokenizer

FOLDER = Path("resources/guide")

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 192,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 6,
    "head_dim": 32,
    "intermediate_size": 512,
    "vocab_size": VOCABULARY_SIZE,
    "max_position_embeddings": CONTEXT,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": True,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "torch_dtype": "float16",
}

NUM_FIRST_TOKENS = 6  # an answer is recognized by these; most examples are cut after them
LATER_WEIGHT = 0.4
NUM_TARGETS = 12  # divisible by 3 and by 4, the numbers of wordings that an answer has


@dataclass(frozen=True)
class Plan:
    """How long and how to train."""

    num_tokens: int = 22_000_000
    tokens_per_batch: int = 1280
    learning_rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.05
    seed: int = 1
    begins_at: float = 0.0
    """How far training has come already: what goes on does so as the end of a training would."""

    def progress(self, num_seen: int) -> float:
        """How far training has come after so many tokens: 1 at its end."""
        return self.begins_at + (1 - self.begins_at) * num_seen / self.num_tokens


@dataclass(frozen=True)
class Example:
    """Token ids, and for the tokens to be learnt their positions, their weights and what may stand there.

    `targets` holds NUM_TARGETS ids for each position, all of them equally right: the token itself, or, where an answer
    begins, the first tokens of all its wordings. Learning these together is steadier than learning one at a time.
    """

    ids: list[int]
    positions: list[int]
    weights: list[float]
    targets: list[list[int]]


class Examples:
    """Draws training examples; what kind depends on how far training has come."""

    def __init__(self, corpus: Corpus, encoder: ChatEncoder, rng: Random) -> None:
        self._corpus = corpus
        self._encoder = encoder
        self._rng = rng
        self._first_tokens = {
            answer_id: [encoder.encode(answer)[0] for answer in answers] * (NUM_TARGETS // len(answers))
            for answer_id, answers in corpus.answers.items()
        }

    def draw(self, progress: float) -> Example:
        """Draw an example. First only beginnings of answers (what is asked?), then whole ones as well."""
        cut_share = 1.0 if progress < 0.3 else 0.75 if progress < 0.72 else 0.4
        if self._rng.random() < cut_share:
            num_turns = self._rng.choice((1, 1, 1, 2, 2, 3))
            return self._example(num_turns, cut=True)
        draw = self._rng.random()
        num_turns = 1 if draw < 0.4 else self._rng.randint(2, 5) if draw < 0.9 else self._rng.randint(6, 14)
        return self._example(num_turns, cut=False)

    def draw_long(self) -> Example:
        """Draw a conversation that fills the context."""
        return self._example(34, cut=False)

    def _example(self, num_turns: int, *, cut: bool) -> Example:
        conversation = self._corpus.draw_conversation(num_turns, self._rng)
        num_kept = [
            NUM_FIRST_TOKENS if cut else self._rng.randint(1, 30) if self._rng.random() < 0.05 else None
            for _ in range(num_turns)
        ]
        ids, spans = self._encoder.conversation(conversation, num_kept)
        ids = ids[:CONTEXT]
        positions: list[int] = []
        weights: list[float] = []
        targets: list[list[int]] = []
        for turn, (start, stop) in zip(conversation.turns, spans, strict=True):
            for place in range(start, min(stop, len(ids))):
                positions.append(place)
                weights.append(1.0 if place - start < NUM_FIRST_TOKENS else LATER_WEIGHT)
                targets.append(self._first_tokens[turn.answer_id] if place == start else [ids[place]] * NUM_TARGETS)
        return Example(ids, positions, weights, targets)


Batch = tuple[mx.array, mx.array, mx.array, mx.array]


def batches(examples: Examples, plan: Plan, rng: Random) -> Iterator[tuple[float, Batch]]:
    """Yield (progress, batch) until the planned number of tokens is used up. Rows of a batch are of like length."""
    seen = 0
    while seen < plan.num_tokens:
        progress = plan.progress(seen)
        drawn = sorted((examples.draw(progress) for _ in range(512)), key=lambda example: len(example.ids))
        groups: list[list[Example]] = [[]]
        for example in drawn:
            if groups[-1] and (len(groups[-1]) + 1) * len(example.ids) > plan.tokens_per_batch:
                groups.append([])
            groups[-1].append(example)
        if progress > 0.5 and rng.random() < 0.5:
            groups.append([examples.draw_long()])
        rng.shuffle(groups)
        for group in groups:
            batch = _batch(group)
            seen += batch[0].size
            yield min(plan.progress(seen), 1.0), batch


def _batch(group: list[Example]) -> Batch:
    """Pad to one length; return inputs [rows, length], and for each token to be learnt the flat position before it,
    its targets [NUM_TARGETS] and its weight."""
    length = -(-max(len(example.ids) for example in group) // 8) * 8
    inputs = [example.ids + [0] * (length - len(example.ids)) for example in group]
    before = [row * length + place - 1 for row, example in enumerate(group) for place in example.positions]
    targets = [alternatives for example in group for alternatives in example.targets]
    weights = [weight for example in group for weight in example.weights]
    return mx.array(inputs), mx.array(before), mx.array(targets), mx.array(weights)


def loss(model: Model, batch: Batch) -> mx.array:
    """Return the weighted cross entropy of the answers' tokens."""
    inputs, before, targets, weights = batch
    hidden = model.model(inputs)
    states = hidden.reshape(-1, hidden.shape[-1])[before]
    logits = model.model.embed_tokens.as_linear(states)
    likelihoods = mx.take_along_axis(logits, targets, axis=-1).mean(axis=-1) - mx.logsumexp(logits, axis=-1)
    return -(likelihoods * weights).sum() / weights.sum()


def _initial(path: str, weight: mx.array) -> mx.array:
    """Scale the initial weights so that at first each layer changes the embeddings little.

    With MLX's own scale, three times as many tokens led to the same accuracy.
    """
    if "o_proj" in path or "down_proj" in path:
        return weight * 0.3
    if "embed_tokens" in path:
        return weight * 4
    return weight * 0.25 if path == "model.norm.weight" else weight


def learning_rate(progress: float, plan: Plan) -> float:
    """Return the rate: a short linear rise, then a linear fall to zero."""
    return plan.learning_rate * min(progress / plan.warmup, (1 - progress) / (1 - plan.warmup))


def fresh_model(seed: int) -> Model:
    """Return a model that has learnt nothing."""
    mx.random.seed(seed)
    model = Model(ModelArgs.from_dict(CONFIG))
    model.update(tree_map_with_path(_initial, model.parameters()))
    return model


def finished_model(folder: Path) -> Model:
    """Return a model that was trained before, in 32 bits again."""
    model = Model(ModelArgs.from_dict(CONFIG))
    model.load_weights(str(folder / "model.safetensors"))
    model.set_dtype(mx.float32)
    return model


def train(model: Model, corpus: Corpus, encoder: ChatEncoder, plan: Plan) -> Model:
    """Train a model as planned."""
    rng = Random(plan.seed)
    optimizer = optim.AdamW(plan.learning_rate, betas=[0.9, 0.98], weight_decay=plan.weight_decay)
    value_and_grad = nn.value_and_grad(model, loss)
    begin, smooth = time.monotonic(), None
    for step, (progress, batch) in enumerate(batches(Examples(corpus, encoder, rng), plan, rng)):
        optimizer.learning_rate = max(learning_rate(progress, plan), 1e-6)
        value, gradients = value_and_grad(model, batch)
        gradients, _ = optim.clip_grad_norm(gradients, 1.0)
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state, value)
        smooth = value.item() if smooth is None else 0.98 * smooth + 0.02 * value.item()
        if step % 100 == 0:
            print(f"{progress:6.1%}  loss {smooth:.3f}  {time.monotonic() - begin:5.0f} s", flush=True)
    return model


def save_model(model: Model, folder: Path) -> None:
    """Write the weights in 16 bits, with what a loader needs to know."""
    parameters = cast("list[tuple[str, mx.array]]", tree_flatten(model.parameters()))
    weights = {name: weight.astype(mx.float16) for name, weight in parameters}
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    generation = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 0, "do_sample": True, "temperature": 0.8}
    for name, content in (("config.json", CONFIG), ("generation_config.json", generation)):
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Train the tokenizer, then the model, and write both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the finished model")
    parser.add_argument("--from", type=Path, dest="begin", help="folder of a finished model to go on from")
    parser.add_argument("--begins-at", type=float, default=0.72, help="with --from: where in a training it goes on")
    parser.add_argument("--tokens", type=int, default=Plan.num_tokens, help="number of tokens to train on")
    parser.add_argument("--seed", type=int, default=Plan.seed)
    options = parser.parse_args()

    mx.set_default_device(mx.Device(mx.cpu))
    options.out.mkdir(parents=True, exist_ok=True)
    corpus = Corpus()
    if options.begin is None:
        tokenizer = train_tokenizer(all_texts(corpus, 20_000, options.seed), first_words(corpus))
        plan = Plan(num_tokens=options.tokens, seed=options.seed)
        model = fresh_model(options.seed)
    else:
        tokenizer = Tokenizer.from_file(str(options.begin / "tokenizer.json"))
        plan = Plan(num_tokens=options.tokens, seed=options.seed, begins_at=options.begins_at)
        model = finished_model(options.begin)
    save_tokenizer(tokenizer, options.out)
    model = train(model, corpus, ChatEncoder(tokenizer), plan)
    save_model(model, options.out)


if __name__ == "__main__":
    main()
