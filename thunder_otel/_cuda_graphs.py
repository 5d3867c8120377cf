"""Captures of CUDA graphs: static inputs, warm-up and recording, each on the host's clock and on the device's.

``CUDAGraphRunner.build_cuda_graph`` makes the static inputs, calls the region's function a few times to warm up and
once more while the stream records. What it calls is counted here; a replay is not touched.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import wrapt

from thunder_otel import _arguments, _cuda_device, _metrics, _patching, _regions, _runtime, semconv
from thunder_otel._guard import guarded
from thunder_otel._model import AttributeValue, CompileInfo, Stage
from thunder_otel._telemetry import Recorder
from thunder_otel.settings import Level

MODULE = "thunder.transforms.cudagraph"


@dataclass(eq=False)
class _Capture:
    """One graph while it is built. Marks are points on the device's timeline."""

    recorder: Recorder
    stage: Stage
    static: Stage | None
    begin: Any
    warmup: Stage | None = None
    record: Stage | None = None
    warmup_begin: Any = None
    warmup_end: Any = None
    warmed_ns: int = 0  # when the last warm-up call returned
    calls: int = 0
    nodes: int | None = None
    error: BaseException | None = None

    @guarded(None)
    def before_call(self) -> None:
        """The region's function is about to run."""
        if _cuda_device.is_capturing():
            if self.warmup is not None:
                self.warmup.end_ns = self.warmed_ns
            self.record = self._step(semconv.SPAN_GRAPH_RECORD, "record", self.warmed_ns or None)
        elif self.warmup is None:
            self.warmup_begin = _cuda_device.mark()
            self.warmup = self._step(semconv.SPAN_GRAPH_WARMUP, "warmup", None)
            if self.static is not None and self.warmup is not None:
                self.static.end_ns = self.warmup.start_ns

    @guarded(None)
    def after_call(self) -> None:
        """The region's function has returned."""
        if _cuda_device.is_capturing():
            self.nodes = _cuda_device.nodes_captured()
        else:
            self.calls += 1
            self.warmed_ns = self.recorder.now()
            self.warmup_end = _cuda_device.mark()

    def _step(self, name: str, stage: str, start_ns: int | None) -> Stage | None:
        return _open(self.recorder, name, stage, self.stage, self.stage.compile, start_ns)


def start() -> None:
    """Observe captures, now or as soon as thunder's transform is imported."""
    global _waiting
    if MODULE in sys.modules:
        _patch(sys.modules[MODULE])
    elif not _waiting:
        _waiting = True
        wrapt.register_post_import_hook(lambda module: _patch(module) if _runtime.is_on() else None, MODULE)


_waiting = False


@guarded(None)
def _patch(module: Any) -> None:
    factory = _patching.closure_factory(_watching)
    _patching.patch_method(module.CUDAGraphRunner, "build_cuda_graph", factory=factory)


def _watching(build: Callable[..., Any]) -> Callable[..., Any]:
    def build_cuda_graph(self: Any, fn: Any, args: Any, static_args_mask: Any) -> Any:
        capture = _begin(self, fn, args, static_args_mask) if _runtime.is_on() else None
        if capture is None:
            return build(self, fn, args, static_args_mask)
        try:
            result = build(self, _counted(fn, capture), args, static_args_mask)
        except BaseException as error:
            _failed(capture, self, fn, error)
            raise
        _done(capture, result)
        return result

    return build_cuda_graph


def _counted(fn: Callable[..., Any], capture: _Capture) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*inputs: Any) -> Any:
        capture.before_call()
        try:
            outputs = fn(*inputs)
        except BaseException as error:
            capture.error = error
            raise
        capture.after_call()
        return outputs

    return call


@guarded(None)
def _begin(runner: Any, fn: Any, args: Any, static_args_mask: Any) -> _Capture | None:
    region = _regions.region_of_runnable(fn)
    level = region.info.level if region is not None else _runtime.level_of(None)
    recorder = _runtime.recorder() if level >= Level.TRACE else None
    if recorder is None:
        return None
    name = region.name if region is not None else str(getattr(fn, "__name__", "CUDAGraph"))
    copied, copied_bytes = _arguments.tensor_bytes(args, static_args_mask, static=False)
    static, static_bytes = _arguments.tensor_bytes(args, static_args_mask, static=True)
    attributes: dict[str, AttributeValue] = {
        semconv.GRAPH: name,
        semconv.GRAPH_STATIC_COUNT: static,
        semconv.GRAPH_STATIC_BYTES: static_bytes,
        semconv.GRAPH_COPIED_COUNT: copied,
        semconv.GRAPH_COPIED_BYTES: copied_bytes,
        semconv.GRAPH_KEY: [_arguments.describe_argument(value) for value in args],
        semconv.GRAPH_REASON: _why(runner, name, args),
    }
    if region is not None:
        attributes[semconv.FN] = region.info.fn
        attributes[semconv.COMPILE_ID] = region.info.id
        attributes[semconv.KIND] = region.kind
    info = region.info if region is not None else None
    stage = _open(
        recorder,
        semconv.SPAN_GRAPH_CAPTURE + name,
        "cuda_graph_capture",
        region.root if region is not None else None,
        info,
        None,
        attributes,
    )
    if stage is None:
        return None
    _metrics.graph_captured(runner, name, info.fn if info is not None else "", copied_bytes)
    first = _open(recorder, semconv.SPAN_GRAPH_STATIC_INPUTS, "static_inputs", stage, info, stage.start_ns)
    return _Capture(recorder, stage, first, _cuda_device.mark())


def _open(
    recorder: Recorder,
    name: str,
    stage: str,
    parent: Stage | None,
    info: CompileInfo | None,
    start_ns: int | None,
    attributes: dict[str, AttributeValue] | None = None,
) -> Stage | None:
    values = {semconv.STAGE: stage, **(attributes or {})}
    return recorder.start(name, parent=parent, compile=info, attributes=values, start_ns=start_ns)


@guarded(None)
def _done(capture: _Capture, result: Any) -> None:
    end_ns, end = capture.recorder.now(), _cuda_device.mark()
    attributes = capture.stage.attributes
    for stage, begin, finish in (
        (capture.static, capture.begin, capture.warmup_begin),
        (capture.warmup, capture.warmup_begin, capture.warmup_end),
        (capture.record, capture.warmup_end, end),
        (capture.stage, capture.begin, end),
    ):
        seconds = _cuda_device.seconds_between(begin, finish)
        if stage is not None and seconds is not None:
            stage.attributes[semconv.GRAPH_DEVICE_SECONDS] = seconds
    if capture.warmup is not None:
        capture.warmup.attributes[semconv.GRAPH_WARMUP_CALLS] = capture.calls
    graph = result[0] if isinstance(result, tuple) and result else None
    for key, value in (
        (semconv.GRAPH_NODES, capture.nodes),
        (semconv.GRAPH_POOL_BYTES, _cuda_device.pool_bytes(graph) if graph is not None else None),
    ):
        if value is not None:
            attributes[key] = value
    _close(capture, end_ns)


@guarded(None)
def _failed(capture: _Capture, runner: Any, fn: Any, error: BaseException) -> None:
    cause = capture.error if capture.error is not None else error
    found = _arguments.failed_symbol(cause, fn, runner)
    if found is not None:
        capture.stage.attributes[semconv.GRAPH_FAILED_OP] = found[0]
        capture.stage.attributes[semconv.GRAPH_FAILED_SOURCES] = found[1]
    _close(capture, capture.recorder.now(), error)


def _close(capture: _Capture, end_ns: int, error: BaseException | None = None) -> None:
    steps = [stage for stage in (capture.static, capture.warmup, capture.record) if stage is not None]
    for stage in steps:
        failed = error if stage is steps[-1] else None
        capture.recorder.end(stage, error=failed, end_ns=stage.end_ns or end_ns)
    capture.recorder.end(capture.stage, error=error, end_ns=end_ns)


def _why(runner: Any, name: str, args: Any) -> str:
    """``first capture``, or how these inputs differ from those of the nearest graph captured before."""
    make_key = getattr(runner, "make_cache_key", None)
    if make_key is None:
        return ""
    wanted = make_key(name, *args)
    earlier: list[list[str]] = [list(_differences(key, wanted)) for key in runner.cuda_graph_cache if key[0] == name]
    nearest: list[str] = min(earlier, key=len, default=["first capture"])
    return "; ".join(nearest)


def _differences(known: Any, wanted: Any) -> Iterator[str]:
    """What differs between two keys: name, mask of static inputs, and dtypes, sizes, strides and other values."""
    if known[1] != wanted[1]:
        yield "other inputs are static"
    parts = (("dtype", "dtypes"), ("shape", "sizes"), ("strides", "strides"), ("value", "non_tensor_args"))
    for words, field in parts:
        before, after = getattr(known[2], field) or (), getattr(wanted[2], field) or ()
        if len(before) != len(after):
            yield f"{len(before)} inputs before, {len(after)} now"
            return
        for position, (old, new) in enumerate(zip(before, after, strict=True)):
            if old != new:
                yield f"input {position}: {words} {_plain(old)} before, {_plain(new)} now"


def _plain(value: Any) -> str:
    return str(tuple(value)) if isinstance(value, tuple) else str(value)
