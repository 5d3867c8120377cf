"""A transform that wraps what can be captured into CUDA graphs, lone fusion regions included."""

from __future__ import annotations

import time
from typing import Any

import thunder.core.trace
from thunder.core import utils
from thunder.core.devices import DeviceType
from thunder.core.proxies import TensorProxy
from thunder.executors.utils import Region
from thunder.transforms import cudagraph

_trace: Any = thunder.core.trace  # untyped


class CUDAGraphTransform(cudagraph.CUDAGraphTransform):
    """Thunder's own ``CUDAGraphTransform``, which also wraps a fusion region that stands alone.

    Thunder's leaves a group of one symbol as it is, so a function that was compiled into one region is never captured.
    Here such a region becomes a graph, in the forward and in the backward trace, after optimisation::

        thunder.jit(model, transforms=[thunder_otel.CUDAGraphTransform()])

    Only what computes on CUDA devices is captured: on a machine without one, or for tensors on the CPU, the transform
    leaves the program as it is. What it computes is the same with and without it.

    Args:
        share_mem_pool: let all graphs of this transform share one memory pool and stream.
    """

    def can_fuse(self, bsym: Any) -> bool:
        """Whether a symbol may be captured: as thunder's own, and no tensor of it lies elsewhere than on a GPU."""
        return bool(super().can_fuse(bsym)) and all(
            tensor.device.devicetype is DeviceType.CUDA for tensor in _tensors(bsym)
        )

    def generate_fused_trace(self, trace: Any, **kwargs: Any) -> Any:
        """The trace with its CUDA graphs."""
        begun = time.perf_counter_ns()
        fused: Any = super().generate_fused_trace(trace, **kwargs)
        producers, consumers = utils.producers_and_consumers(fused)
        fused.clear_collection_names = set()  # can_fuse keeps track of cleared collections on the current trace
        token = _trace.set_tracectx(fused)
        try:
            fused.bound_symbols = [
                self.fuse(Region(producers, consumers, [bsym]), position) if self._is_lone_region(bsym) else bsym
                for position, bsym in enumerate(fused.bound_symbols)
            ]
        finally:
            _trace.reset_tracectx(token)
            del fused.clear_collection_names
        took = (time.perf_counter_ns() - begun) // 1_000_000
        fused.set_provenance(_trace.TraceProvenance(f"CUDAGraphTransform of thunder_otel (took {took} milliseconds)"))
        return fused

    def _is_lone_region(self, bsym: Any) -> bool:
        if not bsym.sym.is_fusion or bsym.sym.executor is self:
            return False
        return bool(_tensors(bsym)) and self.can_fuse(bsym)


def _tensors(bsym: Any) -> list[Any]:
    proxies = (*bsym.flat_proxy_args, *bsym.flat_proxy_outs)
    return [proxy for proxy in proxies if isinstance(proxy, TensorProxy)]
