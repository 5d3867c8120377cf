"""OTLP receivers for tests: real gRPC and HTTP servers in this process that keep what they are sent."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs_pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces_pb

TRACES, LOGS = "/v1/traces", "/v1/logs"


@dataclass
class Receiver:
    """What came, and how to answer: ``answer(path, number of the request)`` gives None for ok or a status code."""

    endpoint: str = ""
    answer: Callable[[str, int], Any] = lambda path, number: None
    spans: list[Any] = field(default_factory=list)
    records: list[Any] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    requests: int = 0

    def take(self, path: str, data: bytes) -> Any:
        """Keep a request unless the answer is a refusal; returns the refusal."""
        self.requests += 1
        refusal = self.answer(path, self.requests)
        if refusal is not None:
            return refusal
        self.sizes.append(len(data))
        if path == TRACES:
            message = traces_pb.ExportTraceServiceRequest.FromString(data)
            self.spans += [
                span for entry in message.resource_spans for scope in entry.scope_spans for span in scope.spans
            ]
        else:
            records = logs_pb.ExportLogsServiceRequest.FromString(data)
            self.records += [
                record for entry in records.resource_logs for scope in entry.scope_logs for record in scope.log_records
            ]
        return None

    @property
    def span_ids(self) -> list[str]:
        """Ids of the spans that were taken, in order."""
        return [span.span_id.hex() for span in self.spans]

    def wait(self, count: int, *, seconds: float = 20) -> None:
        """Wait until that many spans have come."""
        deadline = time.monotonic() + seconds
        while len(self.spans) < count and time.monotonic() < deadline:
            time.sleep(0.02)


@contextmanager
def grpc_receiver(answer: Callable[[str, int], Any] | None = None, *, port: int = 0) -> Iterator[Receiver]:
    """A gRPC receiver with the default message limit; a refusal is a ``grpc.StatusCode``."""
    receiver = Receiver()
    if answer is not None:
        receiver.answer = answer
    server = grpc.server(ThreadPoolExecutor(2))
    for service, path, reply in (
        ("opentelemetry.proto.collector.trace.v1.TraceService", TRACES, traces_pb.ExportTraceServiceResponse()),
        ("opentelemetry.proto.collector.logs.v1.LogsService", LOGS, logs_pb.ExportLogsServiceResponse()),
    ):

        def export(data: bytes, context: Any, path: str = path, reply: Any = reply) -> bytes:
            refusal = receiver.take(path, data)
            if refusal is not None:
                context.abort(refusal, "refused by the test")
            return bytes(reply.SerializeToString())

        handler = grpc.unary_unary_rpc_method_handler(export)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
    receiver.endpoint = f"http://127.0.0.1:{server.add_insecure_port(f'127.0.0.1:{port}')}"
    server.start()
    try:
        yield receiver
    finally:
        server.stop(0).wait()


@contextmanager
def http_receiver(answer: Callable[[str, int], Any] | None = None) -> Iterator[Receiver]:
    """An HTTP receiver; a refusal is a status code."""
    receiver = Receiver()
    if answer is not None:
        receiver.answer = answer

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.headers.append(dict(self.headers.items()))
            data = gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data
            refusal = receiver.take(self.path, data)
            self.send_response(refusal or 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
