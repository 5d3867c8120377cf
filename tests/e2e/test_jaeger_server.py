"""The servers themselves, without thunder: with the files that compose mounts, what was sent comes back whole."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from jaeger_server import DEPLOY, ROOT, Collector, Jaeger, OtlpServer, Span
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, LogRecordExportResult, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, Tracer

# Every kind of character that a text can go wrong at: quotes, control characters, one to four bytes in UTF-8.
TEXT_64K = ("'\"\t\\n \x00\x01\x7f\r\n é 漢 \N{FIRE} </script>" * 2000).encode()[: 64 * 1024].decode(errors="ignore")

PROTOCOLS = ["grpc", "http/protobuf"]

pytestmark = pytest.mark.e2e


def exporter(server: OtlpServer, protocol: str, timeout: float = 10) -> SpanExporter:
    if protocol == "grpc":
        return GrpcSpanExporter(server.grpc_endpoint, insecure=True, timeout=timeout)
    return HttpSpanExporter(f"{server.http_endpoint}/v1/traces", timeout=timeout)


def record(service: str, body: Callable[[Tracer], None]) -> list[ReadableSpan]:
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": service}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    body(provider.get_tracer("test"))
    return list(memory.get_finished_spans())


def tree(tracer: Tracer) -> None:
    with tracer.start_as_current_span("root", attributes={"a.int": 7, "a.float": 0.25, "a.bool": True}):
        for index in range(3):
            with tracer.start_as_current_span(f"child {index}", attributes={"index": index, "text": TEXT_64K}) as span:
                span.add_event("note", {"text": TEXT_64K[:1000]})
        with tracer.start_as_current_span("failed", attributes={"error.type": "ValueError"}) as span:
            span.set_status(StatusCode.ERROR, "why")


def texts(count: int, size: int) -> list[ReadableSpan]:
    """One trace of ``count`` spans with ``size`` bytes of text each."""

    def body(tracer: Tracer) -> None:
        with tracer.start_as_current_span("texts"):
            for index in range(count - 1):
                tracer.start_span("text", attributes={"text": chr(97 + index % 26) * size}).end()

    return record("texts", body)


def trace_id(spans: list[ReadableSpan]) -> int:
    return spans[0].context.trace_id


def assert_same(found: list[Span], sent: list[ReadableSpan]) -> None:
    by_id = {span.span_id: span for span in found}
    assert len(found) == len(by_id) == len(sent)
    for span in sent:
        got = by_id[f"{span.context.span_id:016x}"]
        assert (got.name, got.service) == (span.name, span.resource.attributes["service.name"])
        assert got.parent_id == (f"{span.parent.span_id:016x}" if span.parent else None)
        assert got.start_us == span.start_time // 1000
        assert abs(got.duration_us - (span.end_time - span.start_time) // 1000) <= 1
        assert {key: got.tags[key] for key in span.attributes} == dict(span.attributes)
        assert got.events == [
            (event.timestamp // 1000, {"event": event.name, **event.attributes}) for event in span.events
        ]
        assert got.tags.get("error", False) == (span.status.status_code is StatusCode.ERROR)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("limits", ["jaeger", "default_jaeger"])
def test_a_trace_comes_back_byte_for_byte(limits: str, protocol: str, request: pytest.FixtureRequest) -> None:
    server: Jaeger = request.getfixturevalue(limits)
    sent = record("round-trip", tree)
    assert exporter(server, protocol).export(sent) is SpanExportResult.SUCCESS
    # Once it was answered it is stored: no waiting.
    assert_same(server.trace(trace_id(sent), timeout=0), sent)

    otlp = {span["spanId"]: span for span in server.trace_otlp(trace_id(sent))}
    assert len(otlp) == len(sent)
    for span in sent:
        got = otlp[f"{span.context.span_id:016x}"]
        assert (int(got["startTimeUnixNano"]), int(got["endTimeUnixNano"])) == (span.start_time, span.end_time)
        values = {pair["key"]: pair["value"] for pair in got.get("attributes", [])}
        if "text" in span.attributes:
            assert values["text"] == {"stringValue": TEXT_64K}


@pytest.mark.parametrize(("protocol", "over"), [("grpc", 5_000_000), ("http/protobuf", 21_000_000)])
def test_the_config_takes_requests_that_a_default_receiver_refuses(
    protocol: str, over: int, jaeger: Jaeger, default_jaeger: Jaeger
) -> None:
    sent = texts(2, over)
    assert exporter(jaeger, protocol).export(sent) is SpanExportResult.SUCCESS
    assert_same(jaeger.trace(trace_id(sent)), sent)

    assert exporter(default_jaeger, protocol, timeout=0.5).export(sent) is SpanExportResult.FAILURE
    assert default_jaeger.trace(trace_id(sent), timeout=0) == []


def test_a_trace_of_40_mb_can_be_read_back(default_jaeger: Jaeger) -> None:
    sent = texts(41, 1_000_000)
    send = exporter(default_jaeger, "grpc")
    for start in range(0, len(sent), 3):
        assert send.export(sent[start : start + 3]) is SpanExportResult.SUCCESS
    assert_same(default_jaeger.trace(trace_id(sent)), sent)
    assert len(default_jaeger.trace_otlp(trace_id(sent))) == len(sent)


def test_spans_are_found_by_service_operation_and_tag(jaeger: Jaeger) -> None:
    sent = record("searched", tree)
    assert exporter(jaeger, "grpc").export(sent) is SpanExportResult.SUCCESS
    assert "searched" in jaeger.services()
    wanted = f"{trace_id(sent):032x}"
    for query in ({"operation": "failed"}, {"error.type": "ValueError"}, {"index": "2"}):
        found = jaeger.search("searched", **query)
        assert {span.trace_id for trace in found for span in trace} == {wanted}, query
    assert jaeger.search("searched", index="3") == []


def test_badger_keeps_traces_over_a_restart_up_to_its_key_limit(jaeger_binaries: None, tmp_path: Path) -> None:
    with Jaeger(tmp_path, "badger") as server:
        kept, refused = texts(2, 64_000), texts(2, 65_000)
        failed = [span for span in record("badger", tree) if span.name == "failed"]
        assert exporter(server, "grpc").export(failed) is SpanExportResult.SUCCESS
        assert exporter(server, "grpc").export(kept) is SpanExportResult.SUCCESS
        assert exporter(server, "grpc", timeout=0.5).export(refused) is SpanExportResult.FAILURE
        server.stop()
        server.start()
        assert_same(server.trace(trace_id(kept)), kept)
        assert len(server.search("badger", error="true")) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_collector_passes_spans_on(protocol: str, collector: Collector, jaeger: Jaeger) -> None:
    sent = record("through-collector", tree)
    assert exporter(collector, protocol).export(sent) is SpanExportResult.SUCCESS
    assert_same(jaeger.trace(trace_id(sent), spans=len(sent)), sent)


def test_what_the_collector_took_outlives_both_servers(jaeger_binaries: None, tmp_path: Path) -> None:
    jaeger = Jaeger(tmp_path / "jaeger")  # not there yet
    collector = Collector(tmp_path / "collector", jaeger)
    sent = texts(12, 1_000_000)
    with collector:
        send = exporter(collector, "grpc")
        for start in range(0, len(sent), 3):
            assert send.export(sent[start : start + 3]) is SpanExportResult.SUCCESS
        collector.kill()
        with jaeger:
            collector.start()
            assert_same(jaeger.trace(trace_id(sent), spans=len(sent), timeout=30), sent)


def test_log_records_are_kept_by_the_collector_and_refused_by_jaeger(collector: Collector, jaeger: Jaeger) -> None:
    memory = InMemoryLogRecordExporter()
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(memory))
    provider.get_logger("test").emit(body=TEXT_64K)
    records = memory.get_finished_logs()
    assert GrpcLogExporter(jaeger.grpc_endpoint, insecure=True).export(records) is LogRecordExportResult.FAILURE
    assert GrpcLogExporter(collector.grpc_endpoint, insecure=True).export(records) is LogRecordExportResult.SUCCESS

    deadline = time.monotonic() + 10
    while not (collector.texts.exists() and collector.texts.read_text().endswith("\n")) and time.monotonic() < deadline:
        time.sleep(0.05)
    (line,) = collector.texts.read_text().splitlines()
    (record_,) = json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert record_["body"] == {"stringValue": TEXT_64K}


def test_compose_mounts_these_files_and_pins_the_versions_the_tests_build() -> None:
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    mounts = [volume.split(":")[0] for service in services.values() for volume in service.get("volumes", ())]
    assert {"./deploy", "./deploy/collector.yaml"} <= set(mounts)
    assert all((ROOT / mount).exists() for mount in mounts if mount.startswith("."))
    for name in re.findall(r"/etc/jaeger/([\w.-]+\.yaml)", services["jaeger"]["command"]):
        assert (DEPLOY / name).exists()
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", ()))

    go_mod = (ROOT / "tools" / "jaeger" / "go.mod").read_text()
    collector = re.search(r"/fileexporter v(\S+)", go_mod)
    jaeger = re.search(r"jaegertracing/jaeger v1\.(\d+)\.(\d+)", go_mod)
    assert collector and jaeger
    assert services["collector"]["image"] == f"otel/opentelemetry-collector-contrib:{collector[1]}"
    # Both lines of Jaeger are released from one commit: v1.76.0 is v2.13.0.
    assert services["jaeger"]["image"] == f"jaegertracing/jaeger:2.{int(jaeger[1]) - 63}.{jaeger[2]}"
