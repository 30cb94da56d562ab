"""Estimates of memory agree with what a worker takes; verdicts and advice follow from them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from app.catalog.entry import KvBits, LayerMemory, LocalModel, Memory, RemoteModel, Shape
from app.catalog.fit import fit, kv_bytes, longest_context, need, shape_of_model, verdict_of
from app.catalog.machine_memory import Probe, machine_memory
from tests.benchmarks.memory import measure
from tests.models import byte_level_tokenizer, write_random_llama

GIB = 1 << 30
CPU = Memory(total_bytes=24 * GIB, available_bytes=16 * GIB)
GPU = Memory(total_bytes=24 * GIB, available_bytes=16 * GIB, kind="gpu", on_cpu=False)
EIGHT_B = Shape(
    packed_numbers=8_000_000_000,
    packed_bytes=4_500_000_000,
    scales_bytes=500_000_000,
    layers=(LayerMemory(num_layers=32, numbers_per_token=2048),),
    vocab_size=128_256,
    hidden_size=4096,
    intermediate_size=14_336,
    num_heads=32,
)
"""Llama 3 with 8 billion parameters in 4 bits."""


@pytest.mark.skipif(sys.platform != "linux", reason="The peak of a process is read from /proc.")
def test_a_small_model_takes_what_was_estimated(tmp_path: Path):
    folder = write_random_llama(tmp_path / "model", byte_level_tokenizer(), hidden_size=256, layers=4)
    row = measure(folder, 600)
    assert abs(row.estimate - row.peak) < 100_000_000


def test_the_parts_on_a_gpu():
    found = need(EIGHT_B, GPU, context_length=8192)
    assert found.weights_bytes == 4_500_000_000
    assert found.kv_bytes == 2 * 32 * 2048 * 8192
    assert not found.is_unpacked
    assert found.total_bytes == found.weights_bytes + found.kv_bytes + found.overhead_bytes


def test_on_a_cpu_numbers_are_wider_and_scores_take_memory():
    on_gpu, on_cpu = (need(EIGHT_B, memory, context_length=8192) for memory in (GPU, CPU))
    assert on_cpu.kv_bytes == 2 * on_gpu.kv_bytes
    assert on_cpu.overhead_bytes - on_gpu.overhead_bytes > 32 * 512 * 8192 * 4
    # 32 GB of float32 don't fit, so the weights stay packed.
    assert not on_cpu.is_unpacked
    assert on_cpu.weights_bytes == 5_000_000_000
    large = replace(CPU, total_bytes=128 * GIB, available_bytes=100 * GIB)
    unpacked = need(EIGHT_B, large, context_length=8192)
    assert unpacked.is_unpacked
    assert unpacked.weights_bytes == 32_000_000_000


@pytest.mark.parametrize(("kv_bits", "size"), [(16, 2.0), (8, 1.0625), (4, 0.5625)])
def test_keys_and_values_in_fewer_bits(kv_bits: KvBits, size: float):
    assert kv_bytes(EIGHT_B, GPU, 1024, kv_bits) == 32 * 2048 * 1024 * size
    windowed = Shape(layers=(LayerMemory(numbers_per_token=8, window=64, can_quantize=False),))
    assert kv_bytes(windowed, GPU, 1024, kv_bits) == kv_bytes(windowed, GPU, 1024)


def test_windows_and_states_do_not_grow_with_the_context():
    windowed = Shape(layers=(LayerMemory(numbers_per_token=1000, window=512),))
    recurrent = Shape(layers=(LayerMemory(fixed_numbers=1000),))
    plain = Shape(layers=(LayerMemory(numbers_per_token=1000),))
    sizes = [kv_bytes(shape, GPU, 100_000) for shape in (windowed, recurrent, plain)]
    # Copies of them are kept on the way, so that a fork begins near.
    assert sizes[1] < sizes[0] < sizes[2]


def test_several_answers_take_more():
    one, four = (need(EIGHT_B, GPU, context_length=4096, num_answers=number) for number in (1, 4))
    # The prompt is there twice, and each answer has 512 tokens of its own.
    assert four.kv_bytes == (2 + 4 * 512 / 4096) * one.kv_bytes
    assert four.total_bytes > one.total_bytes
    quantized = [need(EIGHT_B, GPU, context_length=4096, kv_bits=8, num_answers=number) for number in (1, 4)]
    assert quantized[1].kv_bytes == 5 * quantized[0].kv_bytes


def test_verdicts():
    memory = Memory(total_bytes=100, available_bytes=60)
    assert [verdict_of(size, memory) for size in (60, 61, 100, 101)] == ["fits", "tight", "tight", "too_big"]


def test_advice():
    def refusal(memory_gib: float, shape: Shape = EIGHT_B, num_answers: int = 1, context: int = 32_768) -> str:
        memory = Memory(total_bytes=int(memory_gib * GIB), available_bytes=int(memory_gib * GIB), on_cpu=False)
        return str(fit(shape, memory, context_length=context, num_answers=num_answers).sentence)

    assert "It does not fit" not in refusal(16)
    assert "cache of 8 bits" in refusal(8)
    assert "cache of 4 bits" in refusal(6)
    assert "a context of" in refusal(5)
    assert "weights of at most" in refusal(2)
    assert "No model" in refusal(0.1)
    assert "One answer at a time fits" in refusal(10, num_answers=8)
    in_full = replace(EIGHT_B, packed_numbers=0, packed_bytes=0, float_numbers=8 * 10**9, float_bytes=16 * 10**9)
    assert "4 bits, whose weights take about 4.2 GiB" in refusal(8, in_full)


def test_the_longest_context():
    for memory in (CPU, GPU):
        longest = longest_context(EIGHT_B, memory)
        assert longest % 256 == 0
        assert need(EIGHT_B, memory, context_length=longest).total_bytes <= memory.available_bytes
        assert need(EIGHT_B, memory, context_length=longest + 256).total_bytes > memory.available_bytes
    assert longest_context(EIGHT_B, replace(CPU, available_bytes=GIB)) == 0


def test_measurements_correct_estimates():
    plain, corrected = fit(EIGHT_B, GPU), fit(EIGHT_B, GPU, extra_bytes=10**9)
    assert corrected.need.total_bytes == plain.need.total_bytes + 10**9
    assert (plain.need.is_measured, corrected.need.is_measured) == (False, True)


def test_a_model_of_which_only_the_size_is_known():
    hit = RemoteModel(repo="a/b", num_bytes=4_500_000_000, num_parameters=8_000_000_000)
    shape = shape_of_model(hit)
    assert shape is not None
    assert (shape.packed_numbers, shape.packed_bytes) == (8_000_000_000, 4_500_000_000)
    guessed, known = (need(each, GPU, context_length=8192).total_bytes for each in (shape, EIGHT_B))
    assert 0.8 < guessed / known < 1.2
    assert shape_of_model(RemoteModel(repo="a/b")) is None
    full = replace(hit, num_bytes=16_000_000_000)
    assert (shape_of_model(full) or shape).float_numbers == 8_000_000_000
    with_layers = replace(hit, shape=Shape(layers=EIGHT_B.layers, num_heads=32))
    assert (shape_of_model(with_layers) or shape).layers == EIGHT_B.layers


def test_this_machine():
    memory = machine_memory()
    assert 0 < memory.available_bytes <= memory.total_bytes


def of_machine(platform: str, refusal: dict[str, str], *, has_cuda: bool = False, machine: int = 64 * GIB) -> Memory:
    return machine_memory(
        Probe(
            platform=platform,
            run=lambda command: refusal.get(command[0] if platform == "linux" else command[-1], ""),
            has_cuda=lambda: has_cuda,
            total=lambda: machine,
            free=lambda: 40 * GIB,
            machine=lambda: machine,
        )
    )


def test_other_machines():
    nvidia = {"nvidia-smi": "24564, 20000\n81559, 81000\n"}
    assert of_machine("linux", nvidia) == Memory(total_bytes=64 * GIB, available_bytes=40 * GIB)
    gpu = of_machine("linux", nvidia, has_cuda=True)
    assert (gpu.kind, gpu.total_bytes, gpu.available_bytes) == ("gpu", 24564 << 20, 20000 << 20)
    assert of_machine("linux", {"nvidia-smi": "No devices"}, has_cuda=True).kind == "ram"
    assert of_machine("linux", {}, has_cuda=True).kind == "ram"
    arm = {"hw.optional.arm64": "1\n", "iogpu.wired_limit_mb": "0\n"}
    mac = of_machine("darwin", arm)
    assert (mac.kind, mac.total_bytes, mac.available_bytes, mac.on_cpu) == ("unified", 48 * GIB, 40 * GIB, False)
    assert of_machine("darwin", arm, machine=24 * GIB).total_bytes == 16 * GIB
    assert of_machine("darwin", arm | {"iogpu.wired_limit_mb": "8192"}).total_bytes == 8 * GIB
    assert of_machine("darwin", {}).on_cpu


def test_the_loaded_model_makes_room():
    probe = Probe(platform="linux", has_cuda=lambda: False, total=lambda: 8 * GIB, free=lambda: GIB)
    assert machine_memory(probe, reusable_bytes=3 * GIB).available_bytes == 4 * GIB
    assert machine_memory(probe, reusable_bytes=30 * GIB).available_bytes == 8 * GIB


def test_shapes_of_local_models_are_used():
    model = LocalModel(name="a", title="a", path=Path("a"), source="bough", format="mlx", num_bytes=1, shape=EIGHT_B)
    assert shape_of_model(model) == EIGHT_B
