"""Load: thousands of spans with texts from 1 kB to 8 MB to a receiver with the default limits; nothing may be lost.

    python benchmarks/load_otlp.py                        10,000 spans, 1 GB of text, over gRPC and HTTP
    python benchmarks/load_otlp.py --spans 500 --megabytes 50

The receiver is a process of its own that counts spans and hashes every text. For each protocol it prints spans and
bytes lost, the most memory that the sending process needed beyond its start, and the speed, beside the same spans sent
by the stock exporter with their whole texts as attributes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

LINE = b'  t1234 = torch.nn.functional.linear(t1233, t_weight, t_bias)  # t1234: "cpu f32[1, 8, 64]"\n'
PROTOCOLS = ("grpc", "http/protobuf")


def sizes(spans: int, total: int) -> list[int]:
    """Bytes of each text: a seeded mix from 1 kB to 8 MB, many small and few large, ``total`` in all."""
    numbers = random.Random(0)
    raw = [1000 * 8000 ** (numbers.random() ** 3) for _ in range(spans)]
    scale = (total - 1000 * spans) / sum(raw)
    return [min(8_000_000, int(1000 + size * scale)) for size in raw]


def text(number: int, size: int) -> str:
    """A text of that size which no other span has."""
    head = f"# span {number}\n".encode()
    return (head + LINE * (size // len(LINE) + 1))[:size].decode()


def send(stock: bool, spans: int, total: int, folder: str) -> dict[str, Any]:
    """Send from this process; seconds and memory."""
    from opentelemetry.sdk.trace import TracerProvider

    base = _peak()
    begun = time.perf_counter()
    if stock:
        _send_stock(TracerProvider(shutdown_on_exit=False), sizes(spans, total))
    else:
        _send_ours(TracerProvider(shutdown_on_exit=False), sizes(spans, total), Path(folder))
    return {"seconds": time.perf_counter() - begun, "memory": _peak() - base}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _send_stock(provider: Any, each: list[int]) -> None:
    import importlib

    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = "grpc" if os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc" else "http"
    module = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{name}.trace_exporter")
    provider.add_span_processor(BatchSpanProcessor(module.OTLPSpanExporter()))
    tracer = provider.get_tracer("load")
    for number, size in enumerate(each):
        tracer.start_span("load", attributes={"text": text(number, size)}).end()
    provider.force_flush(600_000)
    provider.shutdown()


def _send_ours(provider: Any, each: list[int], folder: Path) -> None:
    from thunder_otel_exporters.files import FilesExporter
    from thunder_otel_exporters.otlp import OtlpExporter

    from thunder_otel import semconv
    from thunder_otel._model import CompileInfo, Payload
    from thunder_otel._telemetry import Recorder
    from thunder_otel.settings import Level, Settings

    settings = Settings(level=Level.TRACE, debug_dir=folder, exit_timeout=900, disk_limit=1 << 40)
    sinks = [FilesExporter(settings), OtlpExporter(settings)]
    tracer = provider.get_tracer(semconv.SCOPE)
    recorder = Recorder(settings, tracer=lambda: tracer, sinks=sinks)
    info = CompileInfo("load", 0, 1, 1)
    for number, size in enumerate(each):
        stage = recorder.start(semconv.SPAN_PASS + "dce", parent=None, compile=info)
        assert stage is not None
        stage.payloads.append(Payload(semconv.TRACE_TEXT, text(number, size), "traces", "dce"))
        recorder.end(stage)
    sinks[1].close()
    sinks[0].close()


@contextmanager
def receiver(protocol: str) -> Iterator[tuple[str, Connection]]:
    """A receiver in a process of its own: where it listens, and a pipe that gives the account when it is asked."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_receive, args=(protocol, theirs))
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}", ours
    finally:
        process.terminate()
        process.join()


def _receive(protocol: str, pipe: Connection) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "exporters"))
    from receivers import TRACES, grpc_receiver, http_receiver

    from thunder_otel import semconv

    spans: set[bytes] = set()
    texts: dict[bytes, Any] = {}
    account = {"bytes": 0, "broken": 0, "whole": 0}

    def take(path: str, data: bytes) -> None:
        from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

        if path == TRACES:
            message = traces.ExportTraceServiceRequest.FromString(data)
            for span in (span for one in message.resource_spans for scope in one.scope_spans for span in scope.spans):
                spans.add(span.span_id)
                values = {pair.key: pair.value for pair in span.attributes}
                known = values.get("text") or values.get(semconv.TRACE_TEXT)
                if known is not None and semconv.TRACE_TEXT + semconv.PAYLOAD_TRUNCATED not in values:
                    body = known.string_value.encode()
                    account["bytes"] += len(body)
                    declared = values.get(semconv.TRACE_TEXT + semconv.PAYLOAD_SHA256)
                    if declared is not None and hashlib.sha256(body).hexdigest() != declared.string_value:
                        account["broken"] += 1
            return
        records = logs.ExportLogsServiceRequest.FromString(data)
        for record in (one for a in records.resource_logs for scope in a.scope_logs for one in scope.log_records):
            values = {pair.key: pair.value for pair in record.attributes}
            digest, following = texts.setdefault(record.span_id, [hashlib.sha256(), 0])
            body = record.body.string_value.encode()
            digest.update(body)
            account["bytes"] += len(body)
            account["broken"] += values[semconv.LOG_PAYLOAD_PART].int_value != following
            texts[record.span_id][1] = following + 1
            if following + 1 == values[semconv.LOG_PAYLOAD_PARTS].int_value:
                account["broken"] += digest.hexdigest() != values[semconv.LOG_PAYLOAD_SHA256].string_value

    with (grpc_receiver if protocol == "grpc" else http_receiver)() as server:
        server.take = take  # type: ignore[method-assign]
        pipe.send(server.endpoint.rpartition(":")[2])
        pipe.recv()
        pipe.send({"spans": len(spans), **account})


def measure(protocol: str, *, stock: bool, spans: int, total: int) -> dict[str, Any]:
    """One sender against one receiver, each a process of its own."""
    with receiver(protocol) as (endpoint, pipe), tempfile.TemporaryDirectory() as folder:
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))
        }
        environment |= {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        environment |= {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}
        command = [sys.executable, __file__, "--spans", str(spans), "--megabytes", str(total / 1e6)]
        command += ["--sender", "stock" if stock else "ours", "--folder", folder]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        pipe.send("account")
        return {**json.loads(done.stdout.splitlines()[-1]), **pipe.recv(), "stderr": done.stderr.strip()[-300:]}


def main() -> int:
    """Measure and print; 1 when something was lost or took too much memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=10_000)
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--sender", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    total = int(arguments.megabytes * 1e6)
    if arguments.sender:
        print(json.dumps(send(arguments.sender == "stock", arguments.spans, total, arguments.folder)))
        return 0
    sent = sum(sizes(arguments.spans, total))
    good = True
    for protocol in PROTOCOLS:
        for stock in (False, True):
            found = measure(protocol, stock=stock, spans=arguments.spans, total=total)
            lost, bytes_lost = arguments.spans - found["spans"], sent - found["bytes"]
            print(
                f"{'stock' if stock else 'ours':6} {protocol:14} {found['spans']:6} spans arrived, {lost} lost;"
                f" {bytes_lost} of {sent} bytes lost, {found['broken']} texts broken;"
                f" {found['seconds']:.1f} s, {found['bytes'] / 1e6 / found['seconds']:.1f} MB/s delivered;"
                f" {found['memory'] / 2**20:.0f} MiB more memory",
                flush=True,
            )
            if not stock:
                good = good and not (lost or bytes_lost or found["broken"]) and found["memory"] < 256 * 2**20
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
