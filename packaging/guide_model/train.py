"""Trains the guide model and writes it to a folder that any loader of Llama models can open.

    python packaging/guide_model/train.py --out resources/guide
    python packaging/guide_model/train.py --out resources/guide --from resources/guide --tokens 2000000

The first command trains from scratch. The second continues from a finished model with its tokenizer, which is enough
after small changes of answers. Training is deterministic: the same corpus and seed give the same weights on the same
machine. One CPU thread is enough.
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

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads are hardly faster
blas.preload()

import mlx.core as mx
import mlx.optimizers as optim
from corpus import Corpus, first_words, tokenizer_texts
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

NUM_FIRST_TOKENS = 6  # enough to identify an answer; most examples are cut after them
LATER_WEIGHT = 0.4
NUM_TARGETS = 12  # divisible by 3 and 4, the numbers of wordings of an answer


@dataclass(frozen=True)
class Plan:
    """The training's length and hyperparameters."""

    num_tokens: int = 22_000_000
    tokens_per_batch: int = 1280
    learning_rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.05
    seed: int = 1
    initial_progress: float = 0.0
    """The progress at which this training starts. Above 0, it runs like the end of a longer training."""

    def progress(self, num_seen: int) -> float:
        """Return the progress after this many tokens, up to 1."""
        return self.initial_progress + (1 - self.initial_progress) * num_seen / self.num_tokens


@dataclass(frozen=True)
class Example:
    """Token ids, and the positions, weights and targets of the tokens to learn.

    `targets` contains NUM_TARGETS equally right ids for each position: copies of the token itself or, for the first
    token of an answer, the first tokens of all wordings. Learning these together is more stable than one at a time.
    """

    ids: list[int]
    positions: list[int]
    weights: list[float]
    targets: list[list[int]]


class Examples:
    """Samples training examples. Their kind depends on the progress."""

    def __init__(self, corpus: Corpus, encoder: ChatEncoder, rng: Random) -> None:
        self._corpus = corpus
        self._encoder = encoder
        self._rng = rng
        self._first_tokens = {
            answer_id: [encoder.encode(answer)[0] for answer in answers] * (NUM_TARGETS // len(answers))
            for answer_id, answers in corpus.answers.items()
        }

    def sample(self, progress: float) -> Example:
        """Sample an example: early in training only the beginnings of answers, later also whole answers."""
        cut_share = 1.0 if progress < 0.3 else 0.75 if progress < 0.72 else 0.4
        if self._rng.random() < cut_share:
            num_turns = self._rng.choice((1, 1, 1, 2, 2, 3))
            return self._example(num_turns, cut=True)
        kind = self._rng.random()
        num_turns = 1 if kind < 0.4 else self._rng.randint(2, 5) if kind < 0.9 else self._rng.randint(6, 14)
        return self._example(num_turns, cut=False)

    def sample_long(self) -> Example:
        """Sample a conversation that fills the context."""
        return self._example(34, cut=False)

    def _example(self, num_turns: int, *, cut: bool) -> Example:
        conversation = self._corpus.sample_conversation(num_turns, self._rng)
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
            for position in range(start, min(stop, len(ids))):
                positions.append(position)
                weights.append(1.0 if position - start < NUM_FIRST_TOKENS else LATER_WEIGHT)
                targets.append(
                    self._first_tokens[turn.answer_id] if position == start else [ids[position]] * NUM_TARGETS
                )
        return Example(ids, positions, weights, targets)


Batch = tuple[mx.array, mx.array, mx.array, mx.array]


def batches(examples: Examples, plan: Plan, rng: Random) -> Iterator[tuple[float, Batch]]:
    """Yield (progress, batch) until the planned number of tokens is reached. A batch's rows have similar lengths."""
    seen = 0
    while seen < plan.num_tokens:
        progress = plan.progress(seen)
        by_length = sorted((examples.sample(progress) for _ in range(512)), key=lambda example: len(example.ids))
        groups: list[list[Example]] = [[]]
        for example in by_length:
            if groups[-1] and (len(groups[-1]) + 1) * len(example.ids) > plan.tokens_per_batch:
                groups.append([])
            groups[-1].append(example)
        if progress > 0.5 and rng.random() < 0.5:
            groups.append([examples.sample_long()])
        rng.shuffle(groups)
        for group in groups:
            batch = _batch(group)
            seen += batch[0].size
            yield min(plan.progress(seen), 1.0), batch


def _batch(group: list[Example]) -> Batch:
    """Return the padded inputs [rows, length] and, for each token to learn, the flat position before it, its targets
    [NUM_TARGETS] and its weight."""
    length = -(-max(len(example.ids) for example in group) // 8) * 8
    inputs = [example.ids + [0] * (length - len(example.ids)) for example in group]
    before = [row * length + position - 1 for row, example in enumerate(group) for position in example.positions]
    targets = [alternatives for example in group for alternatives in example.targets]
    weights = [weight for example in group for weight in example.weights]
    return mx.array(inputs), mx.array(before), mx.array(targets), mx.array(weights)


def loss(model: Model, batch: Batch) -> mx.array:
    """Return the weighted cross entropy of the tokens to learn."""
    inputs, before, targets, weights = batch
    hidden = model.model(inputs)
    states = hidden.reshape(-1, hidden.shape[-1])[before]
    logits = model.model.embed_tokens.as_linear(states)
    likelihoods = mx.take_along_axis(logits, targets, axis=-1).mean(axis=-1) - mx.logsumexp(logits, axis=-1)
    return -(likelihoods * weights).sum() / weights.sum()


def _initial(path: str, weight: mx.array) -> mx.array:
    """Scale the initial weights so that each layer initially changes the embeddings only slightly.

    With MLX's own initial weights, training needed three times as many tokens for the same accuracy.
    """
    if "o_proj" in path or "down_proj" in path:
        return weight * 0.3
    if "embed_tokens" in path:
        return weight * 4
    return weight * 0.25 if path == "model.norm.weight" else weight


def learning_rate(progress: float, plan: Plan) -> float:
    """Return the learning rate: it rises linearly during the warm-up and then falls linearly to zero."""
    return plan.learning_rate * min(progress / plan.warmup, (1 - progress) / (1 - plan.warmup))


def untrained_model(seed: int) -> Model:
    """Return an untrained model."""
    mx.random.seed(seed)
    model = Model(ModelArgs.from_dict(CONFIG))
    model.update(tree_map_with_path(_initial, model.parameters()))
    return model


def load_trained_model(folder: Path) -> Model:
    """Load a trained model and convert its weights to float32."""
    model = Model(ModelArgs.from_dict(CONFIG))
    model.load_weights(str(folder / "model.safetensors"))
    model.set_dtype(mx.float32)
    return model


def train(model: Model, corpus: Corpus, encoder: ChatEncoder, plan: Plan) -> Model:
    """Train the model and return it."""
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
    """Write the weights as float16, with the configuration files."""
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
    parser.add_argument("--from", type=Path, dest="begin", help="folder of a finished model to continue from")
    parser.add_argument(
        "--begins-at",
        type=float,
        default=0.72,
        dest="initial_progress",
        help="with --from: the progress at which training continues",
    )
    parser.add_argument("--tokens", type=int, default=Plan.num_tokens, help="number of tokens to train on")
    parser.add_argument("--seed", type=int, default=Plan.seed)
    options = parser.parse_args()

    mx.set_default_device(mx.Device(mx.cpu))
    options.out.mkdir(parents=True, exist_ok=True)
    corpus = Corpus()
    if options.begin is None:
        tokenizer = train_tokenizer(tokenizer_texts(corpus, 20_000, options.seed), first_words(corpus))
        plan = Plan(num_tokens=options.tokens, seed=options.seed)
        model = untrained_model(options.seed)
    else:
        tokenizer = Tokenizer.from_file(str(options.begin / "tokenizer.json"))
        plan = Plan(num_tokens=options.tokens, seed=options.seed, initial_progress=options.initial_progress)
        model = load_trained_model(options.begin)
    save_tokenizer(tokenizer, options.out)
    model = train(model, corpus, ChatEncoder(tokenizer), plan)
    save_model(model, options.out)


if __name__ == "__main__":
    main()
