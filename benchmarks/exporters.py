"""How fast each exporter takes finished stages: spans and megabytes of text a second, into a folder or a receiver.

    python benchmarks/exporters.py --spans 500 --size 50000

Prints JSON: for each exporter the seconds that the compiling thread spent in it, and those until all was delivered.
The receiver is a gRPC server in a process of its own, which takes what it is sent and throws it away.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import TracerProvider

from thunder_otel import semconv
from thunder_otel._model import CompileInfo, Payload
from thunder_otel._telemetry import Recorder
from thunder_otel.settings import Level, Settings

LINE = '  t{0} = torch.nn.functional.linear(t{1}, t_weight, t_bias)  # t{0}: "cpu f32[1, 8, 64]"\n'


def texts(count: int, size: int) -> list[str]:
    """Texts of about ``size`` bytes that read like traces; seeded, so that every exporter gets the same."""
    numbers = random.Random(0)
    lines = max(1, size // len(LINE))
    return ["".join(LINE.format(numbers.randrange(9999), line) for line in range(lines)) for _ in range(count)]


def send(sinks: list[Any], settings: Settings, bodies: list[str]) -> float:
    """Record one stage for each text; seconds that this took the recording thread."""
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("benchmark")
    recorder = Recorder(settings, tracer=lambda: tracer, sinks=sinks)
    info = CompileInfo("GPT.forward", 0, 1, 1)
    start = time.perf_counter()
    root = recorder.start(semconv.SPAN_COMPILE, parent=None, compile=info)
    for position, body in enumerate(bodies):
        stage = recorder.start(semconv.SPAN_PASS + "dce", parent=root, compile=info)
        assert stage is not None
        stage.payloads.append(Payload(semconv.TRACE_TEXT, body, "traces", f"{position:05d}-dce"))
        recorder.end(stage)
    recorder.end(root)
    return time.perf_counter() - start


def measure(spans: int, size: int) -> dict[str, dict[str, float]]:
    """Every exporter once, with the same stages."""
    bodies = texts(spans, size)
    megabytes = sum(map(len, bodies)) / 1e6
    found = {}
    for name, endpoint in (("thunder_files", ""), ("thunder_console", ""), ("otlp", "receiver")):
        with tempfile.TemporaryDirectory() as folder, _receiver() if endpoint else contextlib.nullcontext(""):
            settings = Settings(level=Level.TRACE, debug_dir=Path(folder), queue_limit=1 << 30, exit_timeout=120)
            with contextlib.redirect_stderr(io.StringIO()):
                exporter = _exporter(name, settings)
                begun = time.perf_counter()
                seconds = send([exporter], settings, bodies)
                exporter.close()
            found[name] = {
                "seconds": seconds,
                "delivered": time.perf_counter() - begun,
                "spans": spans,
                "megabytes": megabytes,
            }
    return found


def _exporter(name: str, settings: Settings) -> Any:
    module = importlib.import_module(f"thunder_otel_exporters.{name.removeprefix('thunder_')}")
    classes = {"thunder_files": "FilesExporter", "thunder_console": "ConsoleExporter", "otlp": "OtlpExporter"}
    return getattr(module, classes[name])(settings)


@contextlib.contextmanager
def _receiver() -> Iterator[str]:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,))
    process.start()
    endpoint = f"http://127.0.0.1:{ours.recv()}"
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    try:
        yield endpoint
    finally:
        del os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
        process.terminate()
        process.join()


def _serve(to_parent: Connection) -> None:
    import grpc
    from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

    server = grpc.server(ThreadPoolExecutor(2))
    for service, answer in (
        ("opentelemetry.proto.collector.trace.v1.TraceService", traces.ExportTraceServiceResponse()),
        ("opentelemetry.proto.collector.logs.v1.LogsService", logs.ExportLogsServiceResponse()),
    ):
        reply = answer.SerializeToString()
        method = grpc.unary_unary_rpc_method_handler(lambda _request, _context, reply=reply: reply)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": method}),))
    to_parent.send(server.add_insecure_port("127.0.0.1:0"))
    server.start()
    server.wait_for_termination()


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=500)
    parser.add_argument("--size", type=int, default=50_000, help="bytes of text a span")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.spans, arguments.size)))


if __name__ == "__main__":
    main()
