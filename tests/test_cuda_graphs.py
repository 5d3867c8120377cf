"""Captures of CUDA graphs by thunder's own runner, on a clock of the test's own; tests/gpu does it on a device."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from thunder.transforms.cudagraph import CUDAGraphRunner

from thunder_otel import _cuda_device, _cuda_graphs, semconv
from thunder_otel.report._reader import read_run
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Recording

STEPS = [semconv.SPAN_GRAPH_STATIC_INPUTS, semconv.SPAN_GRAPH_WARMUP, semconv.SPAN_GRAPH_RECORD]
RECORDED = Path(__file__).parent / "data" / "gpu" / "run"


class Device:
    """A device whose clock ticks a second a look."""

    def __init__(self) -> None:
        self.clock = itertools.count()
        self.capturing = False


class Graph:
    """A graph that replays nothing."""

    def replay(self) -> None:
        pass


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """Stands in for CUDA below thunder's runner; what is called, how often and in which order is as upstream's."""
    made = Device()
    monkeypatch.setattr(_cuda_device, "mark", lambda: next(made.clock))
    monkeypatch.setattr(_cuda_device, "seconds_between", lambda begin, end: float(end - begin))
    monkeypatch.setattr(_cuda_device, "is_capturing", lambda: made.capturing)
    monkeypatch.setattr(_cuda_device, "nodes_captured", lambda: 7)
    monkeypatch.setattr(_cuda_device, "pool_bytes", lambda graph: 4096)

    def build(self: Any, fn: Any, args: Any, static_args_mask: Any) -> Any:
        for _ in range(3):
            fn(*args)
        made.capturing = True
        try:
            outputs = fn(*args)
        finally:
            made.capturing = False
        return Graph(), tuple(args), outputs

    monkeypatch.setattr(CUDAGraphRunner, "build_cuda_graph", build)
    yield made


def add(x: torch.Tensor, y: Any) -> torch.Tensor:
    return x + y


def runner_of(fn: Callable[..., Any], mask: tuple[bool, ...]) -> CUDAGraphRunner:
    runner = CUDAGraphRunner()
    runner.python_callables["CUDAGraph1"] = (fn, mask)
    return runner


def captures(recording: Recording) -> list[Any]:
    return [stage for stage in recording.sink.stages if stage.name.startswith(semconv.SPAN_GRAPH_CAPTURE)]


def named(fn: Callable[..., Any]) -> Callable[..., Any]:
    fn.__name__ = "CUDAGraph1"
    return fn


def test_a_capture_its_steps_and_its_inputs(record: Callable[..., Recording], device: Device) -> None:
    recording = record(Level.TRACE)
    runner = runner_of(named(lambda x, y, n: x + y), (True, False, False))
    x, y = torch.ones(4, 8), torch.ones(4, 8)
    assert runner.call_cuda_graph("CUDAGraph1", x, y, 3).tolist() == (x + y).tolist()
    runner.call_cuda_graph("CUDAGraph1", x, y, 3)
    (capture,) = captures(recording)
    facts = capture.attributes
    assert capture.name == semconv.SPAN_GRAPH_CAPTURE + "CUDAGraph1"
    assert (facts[semconv.GRAPH_STATIC_COUNT], facts[semconv.GRAPH_STATIC_BYTES]) == (1, 128)
    assert (facts[semconv.GRAPH_COPIED_COUNT], facts[semconv.GRAPH_COPIED_BYTES]) == (1, 128)
    assert facts[semconv.GRAPH_NODES] == 7 and facts[semconv.GRAPH_POOL_BYTES] == 4096
    assert facts[semconv.GRAPH_REASON] == "first capture"
    assert facts[semconv.GRAPH_KEY] == ["cpu float32 (4, 8), strides (8, 1)"] * 2 + ["int"]
    steps = [recording.sink.named(name)[0] for name in STEPS]
    assert {step.parent_id for step in steps} == {capture.span_id}
    # marks: begin, warm-up begins, one after each of three calls, end
    assert [step.attributes[semconv.GRAPH_DEVICE_SECONDS] for step in steps] == [1.0, 3.0, 1.0]
    assert facts[semconv.GRAPH_DEVICE_SECONDS] == 5.0
    assert steps[1].attributes[semconv.GRAPH_WARMUP_CALLS] == 3
    assert steps[0].end_ns == steps[1].start_ns and steps[1].end_ns == steps[2].start_ns
    assert steps[2].end_ns == capture.end_ns


@pytest.mark.parametrize(
    ("again", "reason"),
    [
        (lambda x: (x.t().contiguous().t(), 3), "input 0: strides (8, 1) before, (1, 4) now"),
        (
            lambda x: (x[:2], 3),
            "input 0: shape (4, 8) before, (2, 8) now",
        ),
        (lambda x: (x.double(), 3), "input 0: dtype torch.float32 before, torch.float64 now"),
        (lambda x: (x, 4), "input 1: value 3 before, 4 now"),
        (lambda x: (x, 3, x), "2 inputs before, 3 now"),
    ],
)
def test_why_it_was_captured_again(
    record: Callable[..., Recording], device: Device, again: Callable[[Any], tuple[Any, ...]], reason: str
) -> None:
    recording = record(Level.TRACE)
    runner = runner_of(named(lambda x, *_: x * 1), (False, False, False))
    x = torch.ones(4, 8)
    runner.call_cuda_graph("CUDAGraph1", x, 3)
    runner.call_cuda_graph("CUDAGraph1", *again(x))
    assert [stage.attributes[semconv.GRAPH_REASON] for stage in captures(recording)] == ["first capture", reason]


def test_a_capture_that_fails_raises_what_it_raises(record: Callable[..., Recording], device: Device) -> None:
    recording = record(Level.TRACE)

    def fails(x: torch.Tensor) -> torch.Tensor:
        if device.capturing:
            raise RuntimeError("not permitted when stream is capturing")
        return x

    runner = runner_of(named(fails), (False,))
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"):
        runner.call_cuda_graph("CUDAGraph1", torch.ones(2))
    (capture,) = captures(recording)
    assert capture.error is not None and capture.error.type == "RuntimeError"
    assert capture.attributes[semconv.GRAPH_FAILED_OP].startswith("raise RuntimeError(")
    static, warmup, recorded = (recording.sink.named(name)[0] for name in STEPS)
    assert (static.error, warmup.error) == (None, None) and recorded.error is not None


def test_a_device_that_cannot_be_asked_costs_facts_only(
    record: Callable[..., Recording], device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mark", "nodes_captured", "pool_bytes"):
        monkeypatch.setattr(_cuda_device, name, lambda *_: None)
    monkeypatch.setattr(_cuda_device, "seconds_between", lambda *_: None)
    recording = record(Level.TRACE)
    assert runner_of(named(lambda x: x), (False,)).call_cuda_graph("CUDAGraph1", torch.ones(2)).tolist() == [1.0, 1.0]
    (capture,) = captures(recording)
    assert semconv.GRAPH_NODES not in capture.attributes and semconv.GRAPH_DEVICE_SECONDS not in capture.attributes
    assert capture.error is None and len(recording.sink.named(STEPS[2])) == 1


def test_nothing_is_observed_when_recording_is_off(device: Device) -> None:
    build = CUDAGraphRunner.build_cuda_graph
    _cuda_graphs.start()
    try:
        assert CUDAGraphRunner.build_cuda_graph is not build
        out = runner_of(named(lambda x: x), (False,)).call_cuda_graph("CUDAGraph1", torch.ones(2))
        assert out.tolist() == [1.0, 1.0]
    finally:
        from thunder_otel import _patching

        _patching.unpatch_all(package="thunder")
    assert CUDAGraphRunner.build_cuda_graph is build


def test_without_cuda_the_driver_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cuda_device, "_driver", lambda: None)
    assert _cuda_device.nodes_captured() is None
    assert _cuda_device.seconds_between(None, None) is None


def test_a_run_recorded_on_a_gpu_reads_like_any_other() -> None:
    run = read_run(RECORDED)
    found = [stage for stage in run.stages if stage.name.startswith(semconv.SPAN_GRAPH_CAPTURE)]
    assert [stage.name.removeprefix(semconv.SPAN_GRAPH_CAPTURE) for stage in found] == ["CUDAGraph1", "CUDAGraph2"] * 2
    assert all(stage.attributes[semconv.GRAPH_NODES] > 0 for stage in found)
    again = found[2].attributes[semconv.GRAPH_REASON]
    assert again == "input 0: strides (64, 1) before, (1, 8) now"
    regions = {
        stage.attributes[semconv.REGION]: stage for stage in run.stages if stage.attributes.get(semconv.REGION_FINAL)
    }
    assert regions["nvFusion0"].attributes[semconv.REGION_PARENT] == "CUDAGraph1"
