"""Our CUDA graph transform on real traces; on the CPU it leaves programs alone, and tests/gpu runs it on a device."""

from __future__ import annotations

from typing import Any

import pytest
import thunder
import torch
from thunder.core import prims
from thunder.core.devices import Device
from thunder.core.proxies import TensorProxy
from thunder.core.symbol import BoundSymbol, Symbol
from thunder.core.trace import TraceCtx, tracectx
from thunder.executors.torch_compile import torch_compile_ex
from thunder.transforms import cudagraph

import thunder_otel

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * y + 1


def trace_with_a_lone_region(device: str) -> Any:
    """``[c] = TorchCompile0(a, b)`` over one multiplication, as an executor leaves it."""

    def computation(a: Any, b: Any) -> None: ...

    trace = TraceCtx(computation)
    with tracectx(trace):
        a, b, c = (
            TensorProxy(name, shape=(4, 4), device=Device(device), dtype=thunder.dtypes.float32, requires_grad=False)
            for name in "abc"
        )
        inner = prims.mul.bind(a, b, output=c)
        region = Symbol("TorchCompile0", meta=None, is_fusion=True, executor=torch_compile_ex)
        trace.args = (a, b)
        trace.bound_symbols = [
            prims.unpack_trivial.bind(a, name="a", output=a),
            prims.unpack_trivial.bind(b, name="b", output=b),
            BoundSymbol(region, (a, b), {}, [c], (inner,), _call_ctx={"TorchCompile0": torch.mul}),
            prims.python_return.bind((c,), output=None),
        ]
    return trace


@pytest.mark.parametrize("transform", [cudagraph.CUDAGraphTransform, thunder_otel.CUDAGraphTransform])
def test_a_lone_region_is_wrapped_by_ours_only(transform: type[cudagraph.CUDAGraphTransform]) -> None:
    made = transform()
    trace = made.transform_trace_post_optimization(trace_with_a_lone_region("cuda:0"))
    lines = [line.strip() for line in str(trace).splitlines()]
    ours = transform is thunder_otel.CUDAGraphTransform
    assert ("[c] = CUDAGraph1(a, b)" in lines) is ours
    assert ("# [c] = TorchCompile0(a, b)" in lines) is ours
    assert ("CUDAGraphTransform of thunder_otel (took" in lines[0]) is ours
    assert list(made.cuda_graph_runner.python_callables) == (["CUDAGraph1"] if ours else [])
    assert not hasattr(trace, "clear_collection_names")


def test_a_region_on_the_cpu_stays() -> None:
    trace = thunder_otel.CUDAGraphTransform().transform_trace_post_optimization(trace_with_a_lone_region("cpu"))
    assert "CUDAGraph1" not in str(trace) and "[c] = TorchCompile0(a, b)" in str(trace)


def test_on_the_cpu_a_program_is_as_without_it() -> None:
    x, y = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4)
    results = []
    for transforms in ([], [thunder_otel.CUDAGraphTransform()]):
        x.grad = None
        jitted = thunder.jit(function, executors=[torch_compile_ex], transforms=transforms)
        out = jitted(x, y)
        out.sum().backward()
        results.append((out.tolist(), x.grad.tolist()))  # type: ignore[attr-defined]
        assert "CUDAGraph" not in str(thunder.last_traces(jitted)[-1]).partition("\n")[2]
    assert results[0] == results[1]
