"""Jaeger and the Collector as real processes on loopback, started with the files in ``deploy/`` that compose mounts.

``scripts/jaeger.sh build`` makes the binaries. Ports are free ones, handed in through the variables that the config
files name; they stay the same over ``stop()`` and ``start()``, so that a test can restart a server under its client.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".cache" / "jaeger"
DEPLOY = ROOT / "deploy"


def build() -> str | None:
    """Builds the binaries if they are not up to date; returns why that cannot be done here, or None."""
    done = subprocess.run([ROOT / "scripts" / "jaeger.sh", "build"], stderr=subprocess.PIPE, text=True)
    if done.returncode == 3:
        return done.stderr.strip()
    if done.returncode:
        raise RuntimeError(f"scripts/jaeger.sh build failed:\n{done.stderr[-3000:]}")
    return None


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Server:
    """A process, its config files, and the ports it must listen on before it counts as started."""

    def __init__(
        self, binary: str, configs: list[str], ports: dict[str, int], folder: Path, env: dict[str, str]
    ) -> None:
        self.command = [str(BIN / binary), *(f"--config={DEPLOY / name}" for name in configs)]
        self.ports = ports
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"{binary}.log"
        # None of the caller's OTEL_* variables: the servers are OpenTelemetry programs themselves.
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "JAEGER_", "COLLECTOR_"))}
        self.env |= {name: str(port) for name, port in ports.items()} | env
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, timeout: float = 60) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, env=self.env, cwd=self.folder, stdout=log, stderr=log)
        waiting, deadline = set(self.ports.values()), time.monotonic() + timeout
        while waiting:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"{self.command} did not start:\n{self.log.read_text()[-3000:]}")
            for port in list(waiting):
                with socket.socket() as s:
                    if s.connect_ex(("127.0.0.1", port)) == 0:
                        waiting.remove(port)
            time.sleep(0.02)

    def stop(self) -> None:
        """As an operator would: SIGTERM, and time to write what is in hand."""
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()


class OtlpServer(Server):
    """A server with OTLP receivers: where to send, for a client and for a child process."""

    grpc_port: int
    http_port: int

    @property
    def grpc_endpoint(self) -> str:
        return f"http://127.0.0.1:{self.grpc_port}"

    @property
    def http_endpoint(self) -> str:
        """The base that OTEL_EXPORTER_OTLP_ENDPOINT wants; an exporter's own argument wants ``/v1/traces`` after it."""
        return f"http://127.0.0.1:{self.http_port}"

    def otel_env(self, protocol: str) -> dict[str, str]:
        """``protocol`` is ``grpc`` or ``http/protobuf``, as OpenTelemetry names them."""
        endpoint = self.grpc_endpoint if protocol == "grpc" else self.http_endpoint
        return {
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
            "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        }


class Collector(OtlpServer):
    """Passes spans on to ``jaeger``; log records end up in ``texts``."""

    def __init__(self, folder: Path, jaeger: Jaeger) -> None:
        self.grpc_port, self.http_port = free_ports(2)
        ports = {"COLLECTOR_GRPC_PORT": self.grpc_port, "COLLECTOR_HTTP_PORT": self.http_port}
        env = {"COLLECTOR_DATA_DIR": str(folder / "data"), "JAEGER_OTLP_ENDPOINT": f"127.0.0.1:{jaeger.grpc_port}"}
        super().__init__("collector", ["collector.yaml"], ports, folder, env)
        self.texts = folder / "data" / "texts.jsonl"


@dataclass(frozen=True)
class Span:
    """A span as Jaeger's page gets it: times in microseconds, attributes as tags."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_us: int
    duration_us: int
    tags: dict[str, Any]
    events: list[tuple[int, dict[str, Any]]]
    resource: dict[str, Any]

    @property
    def service(self) -> str:
        return self.resource["service.name"]


def _tags(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    return {pair["key"]: pair["value"] for pair in pairs}


def _spans(trace: dict[str, Any]) -> list[Span]:
    processes = {
        key: {"service.name": process["serviceName"]} | _tags(process["tags"])
        for key, process in trace["processes"].items()
    }
    return [
        Span(
            trace_id=span["traceID"],
            span_id=span["spanID"],
            parent_id=next((r["spanID"] for r in span["references"] if r["refType"] == "CHILD_OF"), None),
            name=span["operationName"],
            start_us=span["startTime"],
            duration_us=span["duration"],
            tags=_tags(span["tags"]),
            events=[(log["timestamp"], _tags(log["fields"])) for log in span["logs"]],
            resource=processes[span["processID"]],
        )
        for span in trace["spans"]
    ]


class Jaeger(OtlpServer):
    """``overlays`` are the names in ``deploy/jaeger-NAME.yaml``; ``env`` has variables that those files name."""

    def __init__(self, folder: Path, *overlays: str, env: dict[str, str] | None = None) -> None:
        self.grpc_port, self.http_port, self.query_port, query_grpc = free_ports(4)
        ports = {
            "JAEGER_OTLP_GRPC_PORT": self.grpc_port,
            "JAEGER_OTLP_HTTP_PORT": self.http_port,
            "JAEGER_QUERY_PORT": self.query_port,
            "JAEGER_QUERY_GRPC_PORT": query_grpc,
        }
        configs = ["jaeger.yaml", *(f"jaeger-{name}.yaml" for name in overlays)]
        super().__init__("jaeger", configs, ports, folder, {"JAEGER_DATA_DIR": str(folder / "data")} | (env or {}))

    @property
    def query_url(self) -> str:
        return f"http://127.0.0.1:{self.query_port}"

    def get(self, path: str, **query: str) -> Any:
        """The JSON under ``path``; a 404 is an ``urllib.error.HTTPError`` as any other."""
        url = f"{self.query_url}{path}?{urllib.parse.urlencode(query)}"
        # No proxy from the environment: this is loopback.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=60) as answer:
            return json.load(answer)

    def services(self) -> set[str]:
        return set(self.get("/api/services")["data"] or ())

    def trace(self, trace_id: int | str, spans: int = 1, timeout: float = 15) -> list[Span]:
        """The trace's spans, once there are at least ``spans`` of them; after ``timeout``, whatever there is."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                found = _spans(self.get(f"/api/traces/{_hex(trace_id)}", raw="true")["data"][0])
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
                found = []
            if len(found) >= spans or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def trace_otlp(self, trace_id: int | str) -> list[dict[str, Any]]:
        """The same trace as OTLP spans: times to the nanosecond, kinds and status as sent."""
        result = self.get(f"/api/v3/traces/{_hex(trace_id)}", raw_traces="true")["result"]
        scopes = (scope for resource in result["resourceSpans"] for scope in resource["scopeSpans"])
        return [span for scope in scopes for span in scope["spans"]]

    def search(self, service: str, *, operation: str = "", limit: int = 100, **tags: str) -> list[list[Span]]:
        """Traces with a span that has this operation and all these tags (``**{"thunder.kind": "compile"}``).

        Not ``error="true"``: Jaeger 2.13 in memory takes that for a status of OK. ``error.type`` works everywhere.
        """
        query = {"service": service, "limit": str(limit), "lookback": "1h"}
        if operation:
            query["operation"] = operation
        if tags:
            query["tags"] = json.dumps(tags)
        return [_spans(trace) for trace in self.get("/api/traces", **query)["data"]]


def _hex(trace_id: int | str) -> str:
    return f"{trace_id:032x}" if isinstance(trace_id, int) else trace_id
