"""Our explicit transform, thunder's own, and the plugin that uses it: same numbers, and graphs where they belong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import thunder
import torch
from thunder.executors.torch_compile import torch_compile_ex

import thunder_otel
from thunder_otel import semconv
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Recording

Record = Callable[..., "Recording"]


def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * y + 1


def test_a_lone_region_is_wrapped(record: Record) -> None:
    recording = record(Level.NVFUSER_REGION)
    x, y = (torch.randn(64, 64, device="cuda") for _ in range(2))
    jitted = thunder.jit(function, executors=[torch_compile_ex], transforms=[thunder_otel.CUDAGraphTransform()])
    plain = thunder.jit(function, executors=[torch_compile_ex])
    for _ in range(3):
        x.normal_()
        torch.testing.assert_close(jitted(x, y), plain(x, y), rtol=0, atol=0)
    final = thunder.last_traces(jitted)[-1]
    text = str(final)
    assert "CUDAGraph1(x, y)" in text and "# [" in text and "TorchCompile0(x, y)" in text
    assert any("CUDAGraphTransform of thunder_otel" in str(trace) for trace in thunder.last_traces(jitted))
    first = recording.sink.named(semconv.SPAN_COMPILE)[0].trace_id
    stages = [stage for stage in recording.sink.stages if stage.trace_id == first]
    regions = {s.attributes[semconv.REGION]: s for s in stages if s.attributes.get(semconv.REGION_FINAL)}
    assert regions["TorchCompile0"].attributes[semconv.REGION_PARENT] == "CUDAGraph1"
    assert "TorchCompile0" in str(regions["CUDAGraph1"].attributes[semconv.REGION_OPS])


def test_forward_and_backward(record: Record) -> None:
    recording = record(Level.NVFUSER_REGION)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64)).cuda()
    x = torch.randn(8, 64, device="cuda")
    graphed = thunder.jit(model, transforms=[thunder_otel.CUDAGraphTransform()])
    plain = thunder.jit(model)
    for _ in range(3):
        results = []
        for jitted in (graphed, plain):
            model.zero_grad()
            out = jitted(x)
            out.sum().backward()
            results.append([out.detach().clone(), *(p.grad.clone() for p in model.parameters())])  # type: ignore[union-attr]
        torch.testing.assert_close(results[0], results[1])  # a capture gives cuBLAS another workspace: not bit for bit
    kinds = [s.attributes[semconv.KIND] for s in recording.sink.stages if s.name.startswith(semconv.SPAN_GRAPH_CAPTURE)]
    assert kinds == ["computation", "backward"]


def test_tensors_on_the_cpu_are_left_alone(record: Record) -> None:
    recording = record(Level.NVFUSER_REGION)
    x, y = torch.randn(4, 4), torch.randn(4, 4)
    jitted = thunder.jit(function, executors=[torch_compile_ex], transforms=[thunder_otel.CUDAGraphTransform()])
    torch.testing.assert_close(jitted(x, y), function(x, y))
    assert "CUDAGraph" not in str(thunder.last_traces(jitted)[-1])
    assert not [s for s in recording.sink.stages if s.name.startswith(semconv.SPAN_GRAPH_CAPTURE)]


def test_the_reduce_overhead_plugin_is_observed(record: Record) -> None:
    recording = record(Level.NVFUSER_REGION)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64)).cuda()
    compiled = thunder.compile(model, plugins="reduce-overhead")
    x = torch.randn(8, 64, device="cuda")
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-3, atol=1e-3)
    assert [s.attributes[semconv.KIND] for s in recording.sink.stages if s.name.startswith(semconv.SPAN_GRAPH_CAPTURE)]
