"""Metrics of compiles through the OpenTelemetry metrics API; nothing is measured while the application has no provider.

A cached call costs nothing here: thunder counts hits and misses itself, and those counts are read when a reader asks.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Meter, NoOpMeterProvider, Observation

from thunder_otel import _patching, _sinks, _telemetry, semconv
from thunder_otel._guard import guarded
from thunder_otel._model import Payload, Stage

MOST_FUNCTIONS, MOST_STAGES, MOST_GUARDS, MOST_OTHERS = 100, 100, 50, 20
_CHECK = re.compile(r"[A-Za-z_]\w*(?=\()|[A-Za-z_]\w*Error")


class Bounded:
    """The values of a label: the first ``most`` distinct ones as they are, any later one as ``other``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def __call__(self, value: object) -> str:
        text = str(value)
        if text in self._known or len(self._known) < self._most:
            self._known.add(text)
            return text
        return semconv.LABEL_OTHER


class _Counts:
    """Hits and misses of one function, from all its compile statistics, also those that are gone."""

    def __init__(self) -> None:
        self.gone = (0, 0)
        self.alive: dict[int, tuple[weakref.ReferenceType[Any], tuple[int, int]]] = {}

    def watch(self, stats: Any) -> None:
        if len(self.alive) >= 1000:  # many functions of one name: let go of those that are gone
            self.total()
        if id(stats) not in self.alive or self.alive[id(stats)][0]() is not stats:
            self.alive[id(stats)] = (weakref.ref(stats), (0, 0))

    def total(self) -> tuple[int, int]:
        hits, misses = self.gone
        for key, (reference, last) in list(self.alive.items()):
            stats = reference()
            now = last if stats is None else (stats.cache_hits, stats.cache_misses)
            hits, misses = hits + now[0], misses + now[1]
            if stats is None:  # calls since the last look are lost, what was seen before stays
                self.gone = (self.gone[0] + last[0], self.gone[1] + last[1])
                del self.alive[key]
            else:
                self.alive[key] = (reference, now)
        return hits, misses


_counts: dict[str, _Counts] = {}
_counts_lock = threading.Lock()
_functions = Bounded(MOST_FUNCTIONS)


@guarded(None)
def watch(stats: Any, fn: str) -> None:
    """Count the cache hits and misses of a function; ``stats`` is thunder's ``CompileStats``, and not kept alive."""
    with _counts_lock:
        _counts.setdefault(_functions(fn), _Counts()).watch(stats)


def cache_counts() -> dict[str, tuple[int, int]]:
    """Hits and misses by function, of every function that was compiled while recording was on."""
    with _counts_lock:
        return {fn: counts.total() for fn, counts in _counts.items()}


class Instruments:
    """Turns ended stages into measurements of one meter."""

    def __init__(self, meter: Meter) -> None:
        self._guards, self._stages, self._others = Bounded(MOST_GUARDS), Bounded(MOST_STAGES), Bounded(MOST_OTHERS)
        histogram, counter = meter.create_histogram, meter.create_counter
        self._compile = histogram(semconv.METRIC_COMPILE_DURATION, "s", "Time of a compile")
        self._stage = histogram(semconv.METRIC_STAGE_DURATION, "s", "Time of a stage of a compile")
        self._kernel = histogram(semconv.METRIC_KERNEL_DURATION, "s", "Time of compiling a region's kernels")
        self._capture = histogram(semconv.METRIC_CAPTURE_DURATION, "s", "Time of capturing a CUDA graph")
        self._recompiles = counter(semconv.METRIC_RECOMPILES, "{compile}", "Compiles because a guard failed")
        self._regions = counter(semconv.METRIC_REGIONS, "{region}", "Fusion regions that run")
        self._kernels = counter(semconv.METRIC_KERNELS, "{kernel}", "Kernels compiled")
        self._captures = counter(semconv.METRIC_CAPTURES, "{graph}", "CUDA graphs captured")
        self._pool = meter.create_up_down_counter(semconv.METRIC_POOL_BYTES, "By", "Memory of captured CUDA graphs")
        observable = meter.create_observable_counter
        observable(semconv.METRIC_CACHE_HITS, [_observe_hits], "{call}", "Calls that found a compiled entry")
        observable(semconv.METRIC_CACHE_MISSES, [_observe_misses], "{call}", "Calls that had to compile")
        observable(semconv.METRIC_REPLAYS, [_observe_replays], "{replay}", "Replays of CUDA graphs")
        observable(semconv.METRIC_COPIED, [_observe_copied], "By", "Inputs copied into place before replays")
        observable(semconv.METRIC_OVERHEAD, [_observe_overhead], "s", "Time that recording itself took")

    def measure(self, stage: Stage) -> None:
        """Take one ended stage."""
        get = stage.attributes.get
        seconds = ((stage.end_ns or stage.start_ns) - stage.start_ns) / 1e9
        fn = _functions(stage.compile.fn if stage.compile is not None else get(semconv.FN, ""))
        outcome = "error" if stage.error is not None else "ok"
        if stage.name == semconv.SPAN_COMPILE:
            self._compile.record(seconds, {semconv.FN: fn, semconv.OUTCOME: outcome})
            for check in {self._guards(guard_name(text)) for text in _texts(get(semconv.GUARD_FAILED))}:
                self._recompiles.add(1, {semconv.FN: fn, semconv.LABEL_GUARD: check})
        elif stage.name.startswith(semconv.SPAN_KERNEL_COMPILE):
            language = {semconv.KERNEL_LANGUAGE: self._others(get(semconv.KERNEL_LANGUAGE, ""))}
            self._kernel.record(seconds, {**language, semconv.OUTCOME: outcome})
            count = get(semconv.KERNEL_COUNT, 1)
            self._kernels.add(count if isinstance(count, int) else 1, language)
        elif stage.name.startswith(semconv.SPAN_GRAPH_CAPTURE):
            self._capture.record(seconds, {semconv.OUTCOME: outcome})
            self._captures.add(1, {semconv.FN: fn})
            size = get(semconv.GRAPH_POOL_BYTES)
            if isinstance(size, int):
                self._pool.add(size, {semconv.FN: fn})
        else:
            if get(semconv.REGION_FINAL):
                executor = self._others(get(semconv.EXECUTOR, ""))
                self._regions.add(1, {semconv.FN: fn, semconv.EXECUTOR: executor})
            name = self._stages(get(semconv.STAGE, stage.name))
            self._stage.record(seconds, {semconv.STAGE: name, semconv.OUTCOME: outcome})


def guard_name(check: str) -> str:
    """``check_tensor_metadata`` for ``check_tensor_metadata(x, (2, 4), 'cpu', ...)``: few values, no program data."""
    found = _CHECK.search(check)
    return found.group() if found else "check"


def _texts(value: object) -> Iterator[str]:
    return (str(item) for item in value) if isinstance(value, (list, tuple)) else iter(())


def _observe_hits(_options: CallbackOptions) -> Iterable[Observation]:
    return [Observation(hits, {semconv.FN: fn}) for fn, (hits, _) in cache_counts().items()]


def _observe_misses(_options: CallbackOptions) -> Iterable[Observation]:
    return [Observation(misses, {semconv.FN: fn}) for fn, (_, misses) in cache_counts().items()]


def _observe_replays(_options: CallbackOptions) -> Iterable[Observation]:
    return _by_function(lambda graph: graph.replays)


def _observe_copied(_options: CallbackOptions) -> Iterable[Observation]:
    return _by_function(lambda graph: graph.copied)


def _by_function(count: Callable[[_Graph], int]) -> Iterable[Observation]:
    totals: Counter[str] = Counter()
    for graph in list(_graphs.values()):
        totals[_functions(graph.fn)] += count(graph)
    return [Observation(total, {semconv.FN: fn}) for fn, total in totals.items()]


def _observe_overhead(_options: CallbackOptions) -> Iterable[Observation]:
    return [Observation(_telemetry.spent_ns() / 1e9, {})]


@dataclass(slots=True)
class _Graph:
    """A captured graph's part in the metrics: nothing of a replay is timed, only counted."""

    fn: str
    copied_bytes: int = 0  # of the inputs that each replay copies
    replays: int = 0
    copied: int = 0

    def replayed(self) -> None:
        self.replays += 1
        self.copied += self.copied_bytes


_graphs: dict[tuple[int, str], _Graph] = {}  # runner's id and graph's name


def _counting(call_cuda_graph: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, fn_name: str, *args: Any) -> Any:
        graph = _graphs.get((id(self), fn_name))
        if graph is not None:
            graph.replayed()
        return call_cuda_graph(self, fn_name, *args)

    return call


@guarded(None)
def graph_captured(runner: Any, name: str, fn: str, copied_bytes: int) -> None:
    """Count the replays of a graph from now on, if the application measures.

    Args:
        runner: thunder's runner, which replays it; not kept.
        name: e.g. ``CUDAGraph1``.
        fn: the jitted function.
        copied_bytes: bytes of the inputs that each replay copies.
    """
    module = sys.modules.get("thunder.transforms.cudagraph")
    if module is None or not has_reader():
        return
    graph = _graphs.get((id(runner), name))
    if graph is None:  # the call that captures is on its way already: its replay is counted here
        graph = _graphs[id(runner), name] = _Graph(fn, copied_bytes)
        graph.replayed()
    graph.copied_bytes = copied_bytes
    _patching.patch_method(module.CUDAGraphRunner, "call_cuda_graph", factory=_patching.closure_factory(_counting))


class _Listener:
    """The sink that measures, once the application has a meter provider."""

    def __init__(self) -> None:
        self._instruments: Instruments | None = None

    def stage_started(self, stage: Stage) -> None:
        if self._instruments is None and has_reader():
            self._instruments = Instruments(metrics.get_meter(semconv.SCOPE, schema_url=semconv.SCHEMA_URL))

    def store(self, stage: Stage, payload: Payload) -> str:
        return ""

    def stage_ended(self, stage: Stage) -> None:
        if self._instruments is not None:
            self._instruments.measure(stage)

    def close(self) -> None:
        """The instruments belong to the application's provider."""


def has_reader() -> bool:
    """Whether the application set a meter provider (the API's own stand-ins measure nothing)."""
    provider = metrics.get_meter_provider()
    return not isinstance(provider, NoOpMeterProvider) and not type(provider).__module__.startswith(metrics.__name__)


_listener = _Listener()
_stop_listening: Callable[[], None] | None = None


def start() -> None:
    """Measure from now on."""
    global _stop_listening
    stop()
    _stop_listening = _sinks.listen(_listener)


def stop() -> None:
    """Measure no more."""
    if _stop_listening is not None:
        _stop_listening()


def _in_child() -> None:
    global _counts_lock
    _counts_lock = threading.Lock()


os.register_at_fork(after_in_child=_in_child)
