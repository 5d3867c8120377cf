"""Metrics: what a reader gets, that labels stay few, and that nothing is measured without one."""

from __future__ import annotations

import gc
import inspect
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import thunder
import torch
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from thunder.executors.torch_compile import torch_compile_ex

from thunder_otel import _metrics, _patching, _sinks, semconv
from thunder_otel._capture import capture
from thunder_otel._model import CompileInfo, Stage
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Program, Recording

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


class Reader:
    """A meter provider of the test's own, and what it read."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self.provider = MeterProvider([self._reader], shutdown_on_exit=False)

    def read(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """Metric -> (labels, value or histogram point) of every series."""
        data = self._reader.get_metrics_data()
        return {
            metric.name: [
                (dict(point.attributes or {}), getattr(point, "value", point)) for point in metric.data.data_points
            ]
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """Measures into memory, as an application with a meter provider would."""
    made = Reader()
    monkeypatch.setattr(_metrics, "_counts", {})
    monkeypatch.setattr(_metrics, "_functions", _metrics.Bounded(_metrics.MOST_FUNCTIONS))
    monkeypatch.setattr(_metrics, "_graphs", {})
    monkeypatch.setattr(_metrics, "_listener", _metrics._Listener())
    monkeypatch.setattr(_metrics.metrics, "get_meter_provider", lambda: made.provider)
    monkeypatch.setattr(_metrics.metrics, "get_meter", made.provider.get_meter)
    _metrics.start()
    yield made
    _metrics.stop()
    made.provider.shutdown()
    assert _sinks.listeners() == ()


def double(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * 2


def test_compiles_stages_hits_misses_and_recompiles(record: Callable[..., Recording], reader: Reader) -> None:
    record(Level.TRACE)
    jitted = thunder.jit(double)
    for size in (2, 2, 2, 3):
        jitted(torch.ones(size))
    read = reader.read()
    label = {semconv.FN: "double"}
    [(labels, point)] = read[semconv.METRIC_COMPILE_DURATION]
    assert (labels, point.count) == ({**label, semconv.OUTCOME: "ok"}, 2)
    assert read[semconv.METRIC_CACHE_HITS] == [(label, 2)]
    assert read[semconv.METRIC_CACHE_MISSES] == [(label, 2)]
    assert read[semconv.METRIC_RECOMPILES] == [({**label, semconv.LABEL_GUARD: "check_tensor_metadata"}, 1)]
    stages = {labels[semconv.STAGE]: point.count for labels, point in read[semconv.METRIC_STAGE_DURATION]}
    assert stages["acquire"] == 2 and stages["claim"] >= 2
    [(_, overhead)] = read[semconv.METRIC_OVERHEAD]
    assert 0 < overhead < 60


def test_regions_and_kernels(record: Callable[..., Recording], reader: Reader) -> None:
    recording = record(Level.NVFUSER_CODE)
    thunder.jit(double, executors=[torch_compile_ex])(torch.ones(2))
    read = reader.read()
    [(labels, count)] = read[semconv.METRIC_REGIONS]
    assert (labels, count) == ({semconv.FN: "double", semconv.EXECUTOR: "torchcompile"}, 1)
    [(labels, count)] = read[semconv.METRIC_KERNELS]
    [kernel] = [stage for stage in recording.sink.stages if stage.name.startswith(semconv.SPAN_KERNEL_COMPILE)]
    assert (labels, count) == ({semconv.KERNEL_LANGUAGE: "C++"}, kernel.attributes[semconv.KERNEL_COUNT])
    assert read[semconv.METRIC_KERNEL_DURATION][0][1].count == 1


def test_a_failed_compile_is_an_error(record: Callable[..., Recording], reader: Reader) -> None:
    record(Level.TRACE)
    with pytest.raises(RuntimeError):
        thunder.jit(lambda x: torch.mm(x, x))(torch.ones(2))
    [(labels, point)] = reader.read()[semconv.METRIC_COMPILE_DURATION]
    assert (labels[semconv.OUTCOME], point.count) == ("error", 1)


def test_counts_of_functions_that_are_gone_stay(record: Callable[..., Recording], reader: Reader) -> None:
    record(Level.TRACE)
    jitted = thunder.jit(double)
    jitted(torch.ones(2))
    jitted(torch.ones(2))
    assert reader.read()[semconv.METRIC_CACHE_HITS][0][1] == 1
    del jitted
    gc.collect()
    assert [reference() for reference, _ in _metrics._counts["double"].alive.values()] == [None]  # not kept alive
    assert reader.read()[semconv.METRIC_CACHE_HITS][0][1] == 1
    assert _metrics._counts["double"].alive == {}


def test_many_short_lived_functions_of_one_name_take_no_memory() -> None:
    class Stats:
        cache_hits = 0
        cache_misses = 1

    counts = _metrics._Counts()
    for _ in range(2500):
        counts.watch(Stats())
    assert len(counts.alive) <= 1000


def captured(size: object) -> Stage:
    attributes: dict[str, Any] = {semconv.GRAPH_POOL_BYTES: size}
    return Stage(
        semconv.SPAN_GRAPH_CAPTURE + "CUDAGraph1",
        "t",
        "s",
        "",
        0,
        attributes,
        end_ns=5,
        compile=CompileInfo("f", 0, 1, 1),
    )


def test_graph_captures_memory_and_replays(reader: Reader) -> None:
    from thunder.transforms.cudagraph import CUDAGraphRunner

    class Graph:
        replayed = 0

        def replay(self) -> None:
            self.replayed += 1

    listener = _metrics._listener
    listener.stage_started(captured(0))
    listener.stage_ended(captured(4096))
    listener.stage_ended(captured("unknown"))
    graph, runner = Graph(), CUDAGraphRunner()
    _metrics.graph_captured(runner, "CUDAGraph1", "f", 100)
    runner.python_callables["CUDAGraph1"] = (None, ())
    runner.cuda_graph_cache[runner.make_cache_key("CUDAGraph1")] = (graph, (), "out")
    assert [runner.call_cuda_graph("CUDAGraph1") for _ in range(3)] == ["out"] * 3
    read = reader.read()
    assert graph.replayed == 3
    assert read[semconv.METRIC_REPLAYS] == [({semconv.FN: "f"}, 4)]  # and the one of the call that captured
    assert read[semconv.METRIC_COPIED] == [({semconv.FN: "f"}, 400)]
    assert read[semconv.METRIC_CAPTURES] == [({semconv.FN: "f"}, 2)]
    assert read[semconv.METRIC_POOL_BYTES] == [({semconv.FN: "f"}, 4096)]
    assert read[semconv.METRIC_CAPTURE_DURATION][0][1].count == 2
    assert len(_patching.installed()) == 1
    assert _patching.unpatch_all(package="thunder") == []


def test_labels_take_few_values(reader: Reader) -> None:
    bounded = _metrics.Bounded(2)
    assert [bounded(value) for value in ("a", "b", "c", "a", 4)] == ["a", "b", "other", "a", "other"]
    _metrics._listener.stage_started(captured(0))
    for number in range(300):
        stage = captured(0)
        stage.name, stage.compile = semconv.SPAN_COMPILE, CompileInfo(f"f{number}", 1, 1, number)
        stage.attributes[semconv.GUARD_FAILED] = [f"check_{number}(x)"]
        _metrics._listener.stage_ended(stage)
    read = reader.read()
    assert len(read[semconv.METRIC_COMPILE_DURATION]) == _metrics.MOST_FUNCTIONS + 1
    checks = {labels[semconv.LABEL_GUARD] for labels, _ in read[semconv.METRIC_RECOMPILES]}
    assert len(checks) == _metrics.MOST_GUARDS + 1


@pytest.mark.parametrize(
    ("check", "name"),
    [
        ("check_tensor_metadata(x, (2, 4), 'cpu')", "check_tensor_metadata"),
        ("TypeError", "TypeError"),
        ("thunder.core.prims.check_len(args, 1)", "check_len"),
        ("", "check"),
    ],
)
def test_guards_are_named_without_the_programs_values(check: str, name: str) -> None:
    assert _metrics.guard_name(check) == name


def test_nothing_is_measured_without_a_provider(record: Callable[..., Recording]) -> None:
    record(Level.TRACE)
    listener = _metrics._Listener()
    stop = _sinks.listen(listener)
    thunder.jit(double)(torch.ones(2))
    stop()
    assert not _metrics.has_reader()
    assert listener._instruments is None


def test_capture_alone_measures_nothing(reader: Reader) -> None:
    _metrics.stop()
    with capture(1):
        thunder.jit(double)(torch.ones(2))
    assert semconv.METRIC_COMPILE_DURATION not in reader.read()


def test_an_application_gets_metrics_when_it_sets_a_provider(run_program: Callable[..., Program]) -> None:
    """Set after thunder was imported and something was compiled, with recording that was asked for from outside."""
    done = run_program(
        """
import json, sys
import thunder, torch
thunder.jit(torch.sin)(torch.ones(2))
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider([reader]))
jitted = thunder.jit(torch.cos)
jitted(torch.ones(2))
jitted(torch.ones(2))
names = {}
for resource in reader.get_metrics_data().resource_metrics:
    for scope in resource.scope_metrics:
        for metric in scope.metrics:
            names[metric.name] = [scope.scope.name, metric.unit, len(metric.data.data_points)]
print(json.dumps(names))
""",
        {"THUNDER_DEBUG": "trace"},
    )
    assert done.code == 0, done.err
    names = json.loads(done.out)
    assert names[semconv.METRIC_COMPILE_DURATION] == ["thunder_otel", "s", 1]
    assert names[semconv.METRIC_CACHE_HITS] == ["thunder_otel", "{call}", 2]  # cos, and sin from before


def test_the_metrics_api_is_all_we_import() -> None:
    assert "opentelemetry.sdk" not in inspect.getsource(_metrics)
