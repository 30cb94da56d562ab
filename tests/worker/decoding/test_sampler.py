"""Sampling: filters and penalties against plain numpy, keys without patterns, repeatable results."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import mlx.core as mx
import numpy as np
import numpy.typing as npt
import pytest
from msgspec import structs

from tests.long import in_long_runs
from worker.decoding.sampler import Sampler, key_bits
from worker.protocol import Sampling

Floats = npt.NDArray[np.float64]
SIZE = 40


def row(values: Floats) -> mx.array:
    return mx.array(values.astype(np.float32).tolist())[None]


def sample(sampling: Sampling, logits: Floats, seed: int, position: int = 5, visit: int = 0) -> int:
    sampler = Sampler(sampling, seed)
    token = sampler.draw(row(logits), sampler.recent([]), position, visit)
    assert token.shape == (1,)
    return int(np.array(token)[0])


def sampled_ids(sampling: Sampling, logits: Floats, num_draws: int = 200) -> set[int]:
    return {sample(sampling, logits, seed) for seed in range(num_draws)}


def softmax(logits: Floats) -> Floats:
    odds = np.exp(logits - logits.max())
    return odds / odds.sum()


def kept_by_oracle(sampling: Sampling, logits: Floats) -> set[int]:
    """Apply the filters in the plainest way: the fewest likeliest tokens whose share reaches top_p, and so on."""
    share = softmax(logits)
    order = np.argsort(-share)
    kept = set(order.tolist())
    if sampling.top_p < 1:
        reached = np.cumsum(share[order])
        kept = set(order[: int(np.searchsorted(reached, sampling.top_p)) + 1].tolist())
    if sampling.min_p > 0:
        kept &= {token for token in range(len(share)) if share[token] >= sampling.min_p * share.max()}
    if sampling.top_k > 0:
        kept &= set(order[: sampling.top_k].tolist())
    return kept


@pytest.fixture(params=range(4))
def logits(request: pytest.FixtureRequest) -> Floats:
    return np.random.default_rng(request.param).normal(0, 2, SIZE)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=3, top_k=1),
        Sampling(temperature=3, top_k=5),
        Sampling(temperature=3, top_p=0.3),
        Sampling(temperature=3, top_p=0.9),
        Sampling(temperature=3, min_p=0.2),
        Sampling(temperature=3, top_p=0.9, min_p=0.1, top_k=7),
        Sampling(temperature=3, top_p=1e-9),
        Sampling(temperature=3, min_p=1.0),
    ],
    ids=str,
)
def test_only_tokens_that_pass_the_filters_are_sampled_including_all_likely_ones(sampling: Sampling, logits: Floats):
    kept = kept_by_oracle(sampling, logits)
    tokens = sampled_ids(sampling, logits)
    assert tokens <= kept
    odds = softmax(logits / sampling.temperature)
    total = sum(odds[token] for token in kept)
    likely = {token for token in kept if odds[token] / total > 0.05}
    assert likely <= tokens


@pytest.mark.parametrize("top_p", [1e-300, 1e-40, 1e-9])
def test_a_tiny_top_p_leaves_the_likeliest_token(top_p: float, logits: Floats):
    assert sampled_ids(Sampling(temperature=1, top_p=top_p), logits) == {int(logits.argmax())}


def test_a_top_k_beyond_the_vocabulary_filters_nothing(logits: Floats):
    many = Sampling(temperature=1, top_k=10 * SIZE)
    assert [sample(many, logits, seed) for seed in range(50)] == [
        sample(Sampling(temperature=1), logits, seed) for seed in range(50)
    ]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_sampled_as_often_as_the_softmax_predicts(temperature: float):
    logits = np.array([2.0, 1.0, 0.0, -1.0, -np.inf])
    num_draws = 4000
    counts = np.bincount(
        [sample(Sampling(temperature=temperature), logits, seed) for seed in range(num_draws)], minlength=len(logits)
    )
    expected = softmax(logits / temperature) * num_draws
    assert counts[-1] == 0
    # Four standard deviations.
    assert np.all(np.abs(counts - expected) <= 4 * np.sqrt(expected) + 1)


@pytest.mark.parametrize("temperature", [0, 1e-300, 1e-9])
def test_a_temperature_of_almost_zero_samples_the_likeliest_token(temperature: float, logits: Floats):
    assert sampled_ids(Sampling(temperature=temperature), logits, 20) == {int(np.argmax(logits))}


def test_a_temperature_of_zero_takes_the_first_of_equal_tokens():
    assert sample(Sampling(), np.array([0.0, 3.0, 3.0, 1.0]), 1) == 1


@pytest.mark.parametrize(("dtype", "last_bit"), [(mx.float16, 2**-11), (mx.bfloat16, 2**-8)])
def test_logits_of_16_bits_are_filtered_in_32_bits(dtype: mx.Dtype, last_bit: float):
    # One token is likeliest by its last bit, which would be lost if a log-probability of -7 were rounded to 16 bits.
    values = np.full(1000, 0.5)
    values[500] += last_bit
    logits = row(values).astype(dtype)
    sampler = Sampler(Sampling(temperature=1, top_p=0.99, top_k=1), 1)
    assert np.array(sampler.draw(logits, None, 0)).tolist() == [500]


# --- penalties -------------------------------------------------------------------------------------------------


def penalized_by_oracle(sampling: Sampling, logits: Floats, recent: list[int]) -> Floats:
    recent = recent[-sampling.penalty_context :]
    changed = logits.copy()
    for token in set(recent):
        factor = sampling.repetition_penalty
        changed[token] = changed[token] * factor if changed[token] < 0 else changed[token] / factor
    for token in set(recent):
        changed[token] -= sampling.presence_penalty
    for token in recent:
        changed[token] -= sampling.frequency_penalty
    return changed


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(repetition_penalty=1.7),
        Sampling(presence_penalty=1.5),
        Sampling(frequency_penalty=0.9),
        Sampling(repetition_penalty=1.3, presence_penalty=-0.5, frequency_penalty=0.4, penalty_context=6),
        Sampling(frequency_penalty=2.5, penalty_context=1),
    ],
    ids=str,
)
def test_penalties_apply_to_the_last_tokens_as_documented(sampling: Sampling):
    dice = np.random.default_rng(3)
    for _ in range(60):
        logits = dice.normal(0, 1.5, SIZE)
        tokens = dice.integers(0, SIZE, dice.integers(1, 30)).tolist()
        sampler = Sampler(sampling, 1)
        split = int(dice.integers(0, len(tokens) + 1))
        recent = sampler.recent(tokens[:split])
        for token in tokens[split:]:
            recent = sampler.advance(recent, mx.array([token]))
        token = int(np.array(sampler.draw(row(logits), recent, 0))[0])
        expected = penalized_by_oracle(sampling, logits.astype(np.float32).astype(np.float64), tokens)
        assert expected[token] >= expected.max() - 1e-5


def test_penalties_do_not_change_the_reported_logits():
    logits = row(np.array([3.0, 2.0, 1.0]))
    sampler = Sampler(Sampling(repetition_penalty=9, presence_penalty=5, frequency_penalty=5), 1)
    recent = sampler.recent([0, 0])
    first = sampler.draw(logits, recent, 0)
    assert np.array(logits).tolist() == [[3.0, 2.0, 1.0]]
    assert np.array(sampler.draw(logits, recent, 0, visit=1)).tolist() == np.array(first).tolist()


def test_without_penalties_no_recent_tokens_are_kept():
    sampler = Sampler(Sampling(temperature=1), 1)
    assert sampler.recent([1, 2, 3]) is None
    assert sampler.advance(None, mx.array([1])) is None


# --- masks and keys --------------------------------------------------------------------------------------------


def test_a_mask_allows_only_its_tokens(logits: Floats):
    allowed = np.zeros(SIZE, dtype=np.bool_)
    allowed[[3, 17, 25]] = True
    for sampling in (Sampling(), Sampling(temperature=5), Sampling(temperature=5, top_p=0.5, min_p=0.01, top_k=2)):
        for seed in range(60):
            mask = mx.array(allowed.tolist())
            token = int(np.array(Sampler(sampling, seed).draw(row(logits), None, 0, mask=mask))[0])
            assert allowed[token]


def test_a_sample_depends_only_on_seed_position_and_visit(logits: Floats):
    sampling = Sampling(temperature=2)
    keys = [(seed, position, visit) for seed in range(5) for position in range(5) for visit in range(5)]
    once = [sample(sampling, logits, *key) for key in keys]
    mx.random.seed(99)
    again = [sample(sampling, logits, *key) for key in reversed(keys)]
    assert once == again[::-1]
    assert len(set(once)) > 5


def test_keys_of_neighbouring_positions_have_nothing_in_common():
    seeds, positions, visits = range(12), range(40), range(4)
    bits = {
        (seed, position, visit): key_bits(seed, position, visit)
        for seed in seeds
        for position in positions
        for visit in visits
    }
    assert len(set(bits.values())) == len(bits)
    # Between neighbours half of the 64 bits differ, whichever number differs, and every bit takes part.
    for step in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        neighbours = [(key, (key[0] + step[0], key[1] + step[1], key[2] + step[2])) for key in bits]
        changed = [bits[key] ^ bits[neighbour] for key, neighbour in neighbours if neighbour in bits]
        share = [sum(change >> bit & 1 for change in changed) / len(changed) for bit in range(64)]
        assert all(0.4 < part < 0.6 for part in share), step


def test_keys_differ_over_the_whole_range_of_seeds():
    assert 0 <= key_bits(2**63 - 1, 2**31, 10**6) < 2**64
    assert key_bits(0, 0, 0) != key_bits(2**63 - 1, 0, 0)


def test_penalties_can_leave_out_the_prompt():
    dice = np.random.default_rng(4)
    sampling = Sampling(presence_penalty=2, frequency_penalty=1, penalty_context=3, penalty_covers="new")
    for num_given in (0, 2, 9):
        logits = dice.normal(0, 1.5, SIZE)
        tokens = dice.integers(0, 4, 9).tolist()
        sampler = Sampler(sampling, 1, num_given)
        token = int(np.array(sampler.draw(row(logits), sampler.recent(tokens), 0))[0])
        expected = penalized_by_oracle(sampling, logits, tokens[num_given:])
        assert expected[token] >= expected.max() - 1e-5


# --- biases ----------------------------------------------------------------------------------------------------


def test_biases_are_added_before_the_filters_as_plain_numpy_adds_them(logits: Floats):
    bias = {3: 2.5, 7: -100.0, 11: 1.0, 38: -0.5}
    biased = logits.copy()
    for token, number in bias.items():
        biased[token] += number
    assert sample(Sampling(logit_bias=bias), logits, 1) == int(np.argmax(biased))
    for sampling in (Sampling(temperature=1, top_k=3), Sampling(temperature=1, min_p=0.2, top_p=0.9)):
        changed = structs.replace(sampling, logit_bias=bias)
        assert sampled_ids(changed, logits) <= kept_by_oracle(sampling, biased)
        assert [sample(changed, logits, seed) for seed in range(20)] == [
            sample(sampling, biased, seed) for seed in range(20)
        ]


def test_a_mask_takes_precedence_over_a_bias():
    mask = mx.array([True, False, True])
    sampler = Sampler(Sampling(logit_bias={1: 100}), 1)
    assert np.array(sampler.draw(row(np.array([1.0, 2.0, 0.5])), None, 0, mask=mask)).tolist() == [0]


# --- compiled --------------------------------------------------------------------------------------------------


@pytest.fixture
def compiling() -> Iterator[None]:
    """Let MLX compile functions, which Bough switches off on a CPU."""
    if shutil.which("g++") is None:
        pytest.skip("On a CPU, MLX compiles functions with g++, which is not on this machine.")
    traced: list[mx.array] = []

    def double(numbers: mx.array) -> mx.array:
        traced.append(numbers)
        return numbers * 2

    was_on = mx.compile(double)
    was_on(mx.ones(3))
    was_on(mx.ones(3))
    mx.enable_compile()
    yield
    if len(traced) == 2:
        mx.disable_compile()


@pytest.mark.usefixtures("compiling")
@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=0.8),
        *in_long_runs(
            [
                Sampling(),
                Sampling(temperature=2, top_p=0.9, min_p=0.02, top_k=30),
                Sampling(temperature=1, repetition_penalty=1.3, presence_penalty=0.5, frequency_penalty=0.5),
                Sampling(temperature=1, logit_bias={1: 2, 30: -100}),
            ]
        ),
    ],
)
def test_compiled_draws_are_those_that_are_not_compiled(sampling: Sampling):
    rng = np.random.default_rng(3)
    plain, compiled = (Sampler(sampling, 7, is_compiled=each) for each in (False, True))
    ids = list(range(20))
    for position in range(60):
        logits = row(rng.normal(0, 2, SIZE))
        mask = None if position % 3 else mx.array((rng.random(SIZE) < 0.7).tolist())
        temperature = 0.3 if position % 5 == 4 else None
        draws = [
            each.draw(logits, each.recent(ids), position, position % 2, mask, temperature) for each in (plain, compiled)
        ]
        assert draws[0].item() == draws[1].item()
