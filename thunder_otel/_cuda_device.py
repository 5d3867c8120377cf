"""What CUDA knows of a graph and when things happened on its clock. Only looks: nothing here waits but at the end."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from thunder_otel._guard import guarded


@guarded(None)
def mark() -> Any:
    """A point on the current stream's timeline."""
    event = sys.modules["torch"].cuda.Event(enable_timing=True)
    event.record()
    return event


@guarded(None)
def seconds_between(begin: Any, end: Any) -> float | None:
    """Seconds on the device's clock between two marks; waits for the later one."""
    if begin is None or end is None:
        return None
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3


def is_capturing() -> bool:
    """Whether the current stream records a graph instead of running."""
    return bool(sys.modules["torch"].cuda.is_current_stream_capturing())


@guarded(None)
def nodes_captured() -> int | None:
    """Nodes of the graph that the current stream is recording.

    torch lets go of the graph at the end of a capture, so the driver is asked while it lasts; both calls only read.
    """
    driver = _driver()
    if driver is None:
        return None
    stream = ctypes.c_void_p(sys.modules["torch"].cuda.current_stream().cuda_stream)
    status, identifier = ctypes.c_int(), ctypes.c_uint64()
    graph, count = ctypes.c_void_p(), ctypes.c_size_t()
    failed = driver.cuStreamGetCaptureInfo_v2(
        stream, ctypes.byref(status), ctypes.byref(identifier), ctypes.byref(graph), None, None
    ) or driver.cuGraphGetNodes(graph, None, ctypes.byref(count))
    return None if failed else count.value


@functools.cache
def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


@guarded(None)
def pool_bytes(graph: Any) -> int | None:
    """Bytes of device memory that a captured graph's pool holds (all of a pool that graphs share)."""
    cuda, pool = sys.modules["torch"].cuda, tuple(graph.pool())
    try:
        segments = cuda.memory_snapshot(mempool_id=pool, include_traces=False)
    except TypeError:  # torch before 2.11
        segments = cuda.memory_snapshot()
    return sum(int(segment["total_size"]) for segment in segments if tuple(segment["segment_pool_id"]) == pool)
