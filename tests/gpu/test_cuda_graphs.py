"""Captures of CUDA graphs: their steps and sizes, on two clocks, and what goes wrong in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import thunder
import torch
from thunder.transforms.cudagraph import CUDAGraphRunner, CUDAGraphTransform

from thunder_otel import semconv
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Program, Recording

Note = Callable[[str, str], None]
Record = Callable[..., "Recording"]
SIZE = 2048


def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu((x * y) @ y.T).sum(-1)


def captures(recording: Recording) -> list[Any]:
    return [stage for stage in recording.sink.stages if stage.name.startswith(semconv.SPAN_GRAPH_CAPTURE)]


def step(recording: Recording, capture: Any, name: str) -> Any:
    (stage,) = (s for s in recording.sink.named(name) if s.parent_id == capture.span_id)
    return stage


def tensors(*, grad: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(SIZE, SIZE, device="cuda"), torch.randn(SIZE, SIZE, device="cuda", requires_grad=grad)


def test_a_capture_and_its_steps(record: Record, note: Note) -> None:
    x, y = tensors(grad=True)
    bare = function(x, y)
    recording = record(Level.TRACE)
    out = thunder.jit(function, transforms=[CUDAGraphTransform()])(x, y)
    out.sum().backward()
    torch.testing.assert_close(out, bare, rtol=1e-3, atol=1e-1)
    found = captures(recording)
    assert [stage.attributes[semconv.KIND] for stage in found] == ["computation", "backward"]
    for capture in found:
        facts = capture.attributes
        assert facts[semconv.GRAPH_NODES] > 0 and facts[semconv.GRAPH_POOL_BYTES] > 0
        assert facts[semconv.GRAPH_REASON] == "first capture"
        assert facts[semconv.GRAPH_STATIC_COUNT] + facts[semconv.GRAPH_COPIED_COUNT] == len(facts[semconv.GRAPH_KEY])
        steps = [
            step(recording, capture, name)
            for name in (semconv.SPAN_GRAPH_STATIC_INPUTS, semconv.SPAN_GRAPH_WARMUP, semconv.SPAN_GRAPH_RECORD)
        ]
        assert steps[1].attributes[semconv.GRAPH_WARMUP_CALLS] == 3
        assert [s.start_ns for s in steps] == sorted(s.start_ns for s in steps)
        assert sum(s.attributes[semconv.GRAPH_DEVICE_SECONDS] for s in steps) == pytest.approx(
            facts[semconv.GRAPH_DEVICE_SECONDS], rel=0.01
        )
        times = ", ".join(
            f"{s.attributes[semconv.STAGE]} {s.attributes[semconv.GRAPH_DEVICE_SECONDS] * 1e3:.2f} ms" for s in steps
        )
        note(
            f"capture of {facts[semconv.KIND]} {facts[semconv.GRAPH]}",
            f"{facts[semconv.GRAPH_NODES]} nodes, {facts[semconv.GRAPH_POOL_BYTES] / 2**20:.0f} MiB pool; {times}",
        )
    forward = found[0].attributes
    assert forward[semconv.GRAPH_COPIED_COUNT] == 2
    assert forward[semconv.GRAPH_COPIED_BYTES] == 2 * SIZE * SIZE * 4


def test_times_agree_with_cuda_events(record: Record, note: Note) -> None:
    """Events of the test's own around the same calls, by a wrapper outside ours."""
    recording = record(Level.TRACE)
    thunder.jit(function, transforms=[CUDAGraphTransform()])(*tensors())  # what is loaded once is loaded
    ours = CUDAGraphRunner.build_cuda_graph
    whole: list[Any] = []
    calls: list[tuple[Any, Any]] = []

    def event() -> Any:
        made = torch.cuda.Event(enable_timing=True)
        made.record()
        return made

    def build(self: Any, fn: Any, args: Any, mask: Any) -> Any:
        def timed(*inputs: Any) -> Any:
            if torch.cuda.is_current_stream_capturing():
                return fn(*inputs)
            begin = event()
            out = fn(*inputs)
            calls.append((begin, event()))
            return out

        timed.__name__ = fn.__name__
        begin = event()
        result = ours(self, timed, args, mask)
        whole.extend((begin, event()))
        return result

    x, y = tensors()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CUDAGraphRunner, "build_cuda_graph", build)
        thunder.jit(function, transforms=[CUDAGraphTransform()])(x[:1024], y[:1024])
    torch.cuda.synchronize()
    capture = captures(recording)[-1]
    total = whole[0].elapsed_time(whole[1]) / 1e3
    warmup = calls[0][0].elapsed_time(calls[-1][1]) / 1e3
    recorded = step(recording, capture, semconv.SPAN_GRAPH_WARMUP).attributes[semconv.GRAPH_DEVICE_SECONDS]
    assert capture.attributes[semconv.GRAPH_DEVICE_SECONDS] == pytest.approx(total, rel=0.1)
    assert recorded == pytest.approx(warmup, rel=0.1)
    note("capture, ours / by the test's own events", f"{capture.attributes[semconv.GRAPH_DEVICE_SECONDS] / total:.3f}")
    note("warm-up, ours / by the test's own events", f"{recorded / warmup:.3f}")


def test_why_it_was_captured_again(record: Record) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(function, transforms=[CUDAGraphTransform()])
    x, y = tensors()
    jitted(x, y)
    jitted(x.t().contiguous().t(), y)
    jitted(x, y)
    first, second = captures(recording)
    assert first.attributes[semconv.GRAPH_REASON] == "first capture"
    assert second.attributes[semconv.GRAPH_REASON] == f"input 0: strides ({SIZE}, 1) before, (1, {SIZE}) now"


FAILS = """
import torch, thunder
from thunder.transforms.cudagraph import CUDAGraphTransform
def f(x):
    total = (x * 2).sum().item()
    return x * 3 + total
try:
    thunder.jit(f, transforms=[CUDAGraphTransform()])(torch.randn(8, device="cuda"))
except Exception as error:
    print("OUT", type(error), error)
"""


def test_a_capture_that_fails_names_the_op(run_program: Callable[..., Program]) -> None:
    """In a process of its own: a failed capture leaves torch's random numbers on the device unusable."""
    bare, watched = run_program(FAILS), run_program(FAILS, {"THUNDER_DEBUG": "1"})
    assert watched.out == bare.out and "AcceleratorError" in bare.out
    events = [json.loads(line) for line in (watched.runs[0] / "events.jsonl").read_text().splitlines()]
    ended = {event["name"]: event for event in events if event["event"] == semconv.EVENT_END}
    capture = ended[semconv.SPAN_GRAPH_CAPTURE + "CUDAGraph1"]
    assert capture["status"] == "error" and "AcceleratorError" in capture["error"]["type"]
    assert "Tensor.item" in capture["attributes"][semconv.GRAPH_FAILED_OP]
    (source,) = capture["attributes"][semconv.GRAPH_FAILED_SOURCES]
    assert source.endswith("script.py:5")
    assert ended[semconv.SPAN_GRAPH_RECORD]["status"] == "error"
    assert ended[semconv.SPAN_GRAPH_WARMUP]["status"] == "ok"


REPLAYS = """
import json, torch, thunder
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from thunder.transforms.cudagraph import CUDAGraphTransform
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider([reader]))
jitted = thunder.jit(lambda x, y: (x * y) @ y, transforms=[CUDAGraphTransform()])
x = torch.randn(64, 64, device="cuda")
y = x + 1
for _ in range(5):
    jitted(x, y)
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
    for _ in range(5):
        jitted(x, y)
    torch.cuda.synchronize()  # the profile sees waits: this one
waits = [event.name for event in prof.events() if "Synchronize" in event.name]
data = reader.get_metrics_data()
found = {
    metric.name: [(dict(point.attributes), point.value) for point in metric.data.data_points]
    for resource in (data.resource_metrics if data is not None else ())
    for scope in resource.scope_metrics
    for metric in scope.metrics
    if "cuda_graph" in metric.name and hasattr(metric.data.data_points[0], "value")
}
print("OUT", json.dumps([found, len(waits)]))
"""


def test_replays_are_counted_and_wait_for_nothing(run_program: Callable[..., Program]) -> None:
    def out(level: str) -> Any:
        done = run_program(REPLAYS, {"THUNDER_DEBUG": level})
        assert done.code == 0, done.err
        return json.loads(done.out.partition("OUT ")[2])

    _, waits_bare = out("")
    found, waits = out("1")
    ((labels, replays),) = found[semconv.METRIC_REPLAYS]
    assert replays == 10 and "lambda" in labels[semconv.FN]
    ((_, copied),) = found[semconv.METRIC_COPIED]
    assert copied == 10 * 2 * 64 * 64 * 4
    assert waits == waits_bare > 0
