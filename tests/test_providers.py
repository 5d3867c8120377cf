"""Where spans go: which exporters are built, the application's own provider, malformed variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider

from thunder_otel import _sdk, _sinks, providers, semconv
from thunder_otel._model import Sink
from thunder_otel._telemetry import Recorder
from thunder_otel.settings import Level, Settings

Build = Callable[..., providers.Pipeline]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    """``build(VARIABLE=value)`` builds a pipeline that writes under the test's folder."""
    built: list[providers.Pipeline] = []

    def make(**variables: str) -> providers.Pipeline:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        built.append(_sdk.build_pipeline(Settings(level=Level.TRACE, debug_dir=tmp_path, exit_timeout=0.1)))
        return built[-1]

    yield make
    for pipeline in built:
        for sink in pipeline.sinks:
            sink.close()
        getattr(pipeline.provider, "shutdown", lambda: None)()
    _sinks.forget()


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """A provider that the application has set."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(otel, "get_tracer_provider", lambda: provider)
    return exporter


def names(pipeline: providers.Pipeline) -> list[str]:
    return [type(exporter).__name__ for exporter in pipeline.exporters]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ["FilesExporter"]),
        ({"OTEL_TRACES_EXPORTER": "none"}, []),
        ({"OTEL_TRACES_EXPORTER": "thunder_console"}, ["FilesExporter", "ConsoleExporter"]),
        ({"OTEL_TRACES_EXPORTER": "otlp, thunder_files"}, ["FilesExporter", "OtlpExporter"]),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, ["FilesExporter", "OtlpExporter"]),
        ({"OTEL_TRACES_EXPORTER": "console"}, ["FilesExporter", "ConsoleSpanExporter"]),
    ],
)
def test_which_exporters_are_built(variables: dict[str, str], expected: list[str], build: Build) -> None:
    pipeline = build(**variables)
    assert names(pipeline) == expected
    assert all(isinstance(sink, Sink) for sink in pipeline.sinks)


def test_an_unknown_exporter_is_said_with_the_known_ones(build: Build, capfd: pytest.CaptureFixture[str]) -> None:
    assert names(build(OTEL_TRACES_EXPORTER="jaeger")) == ["FilesExporter"]
    err = capfd.readouterr().err
    assert "OTEL_TRACES_EXPORTER=jaeger names no installed exporter" in err and "thunder_files" in err


def test_an_exporter_that_cannot_be_made_is_said_with_its_variable(
    build: Build, capfd: pytest.CaptureFixture[str]
) -> None:
    variables = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "soon"}
    assert names(build(**variables)) == ["FilesExporter"]
    assert "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT" in capfd.readouterr().err


def test_a_malformed_batch_variable_costs_the_foreign_exporter_only(
    build: Build, capfd: pytest.CaptureFixture[str]
) -> None:
    variables = {"OTEL_TRACES_EXPORTER": "console", "OTEL_BSP_MAX_QUEUE_SIZE": "1"}
    pipeline = build(**variables, OTEL_BSP_MAX_EXPORT_BATCH_SIZE="512")
    assert names(pipeline) == ["FilesExporter", "ConsoleSpanExporter"]
    assert "OTEL_BSP_MAX_EXPORT_BATCH_SIZE" in capfd.readouterr().err


def test_a_limit_that_the_sdk_refuses_is_left_out(
    build: Build, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = build(OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT="abc", OTEL_SPAN_EVENT_COUNT_LIMIT="-1")
    assert isinstance(pipeline.provider, TracerProvider)
    err = capfd.readouterr().err
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in err and "OTEL_SPAN_EVENT_COUNT_LIMIT" in err
    import os

    assert os.environ["OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"] == "abc"


def test_malformed_resource_attributes_are_left_out(build: Build) -> None:
    pipeline = build(OTEL_RESOURCE_ATTRIBUTES="broken,=x,team=red")
    assert pipeline.provider.resource.attributes["service.name"] == "thunder"  # type: ignore[attr-defined]


def test_the_service_name_is_the_users(build: Build) -> None:
    pipeline = build(OTEL_SERVICE_NAME="mine")
    assert pipeline.provider.resource.attributes["service.name"] == "mine"  # type: ignore[attr-defined]


def test_a_disabled_sdk_makes_no_spans_but_files(build: Build) -> None:
    pipeline = build(OTEL_SDK_DISABLED="true")
    assert isinstance(pipeline.provider, NoOpTracerProvider)
    recorder = Recorder(Settings(), tracer=pipeline.tracer, sinks=pipeline.sinks)
    stage = recorder.start(semconv.SPAN_COMPILE, parent=None)
    assert stage is not None and len(stage.trace_id) == 32 and len(stage.span_id) == 16
    recorder.end(stage)


def test_an_applications_provider_is_used_as_it_is(build: Build, application: InMemorySpanExporter) -> None:
    pipeline = build(OTEL_TRACES_EXPORTER="otlp,thunder_console")
    assert names(pipeline) == ["FilesExporter", "ConsoleExporter"]  # the application sends its spans itself
    recorder = Recorder(Settings(), tracer=pipeline.tracer, root_context=pipeline.root_context)
    tracer = otel.get_tracer_provider().get_tracer("app")
    with tracer.start_as_current_span("outer") as outer:
        recorder.end(recorder.start(semconv.SPAN_COMPILE, parent=None))
    ours, theirs = application.get_finished_spans()
    assert ours.parent.span_id == theirs.context.span_id == outer.get_span_context().span_id


def test_what_the_sdk_built_is_not_built_again(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from thunder_otel_exporters.files import FilesExporter

    monkeypatch.setenv("THUNDER_DEBUG_DIR", str(tmp_path))
    offered = FilesExporter()
    pipeline = build(OTEL_TRACES_EXPORTER="thunder_files")
    assert pipeline.sinks == (offered,) and pipeline.exporters == ()


def test_traceparent_counts_only_without_a_span(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = build(TRACEPARENT="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    context = otel.get_current_span(pipeline.root_context()).get_span_context()
    assert f"{context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    monkeypatch.setenv("TRACEPARENT", "nonsense")
    assert not otel.get_current_span(pipeline.root_context()).get_span_context().is_valid


def test_no_provider_is_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel, "get_tracer_provider", ProxyTracerProvider)
    assert providers.application_provider() is None


def test_ids_do_not_draw_from_pythons_generator(build: Build) -> None:
    import random

    tracer: Any = build().tracer()
    random.seed(1)
    before = random.getstate()
    tracer.start_span("a", context=Context()).end()
    assert random.getstate() == before
