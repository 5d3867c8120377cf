"""The standard ``OTEL_EXPORTER_OTLP_*`` variables, and upstream's exporters made from them.

Upstream reads the variables itself. What it would refuse, or warn about with a header's value in the text, is looked
at here first, so that a malformed value costs one line that names its variable and the exporter works all the same.
Meaning of the variables: https://opentelemetry.io/docs/specs/otel/protocol/exporter/
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from thunder_otel._guard import say

Signal = Literal["traces", "logs"]
GRPC, HTTP = "grpc", "http/protobuf"
_PREFIX = "OTEL_EXPORTER_OTLP_"
_DEFAULT_ENDPOINT = {GRPC: "http://localhost:4317", HTTP: "http://localhost:4318"}
_COMPRESSIONS = {"gzip": "Gzip", "deflate": "Deflate", "none": "NoCompression"}
_MODULES = {
    ("traces", GRPC): ("opentelemetry.exporter.otlp.proto.grpc.trace_exporter", "OTLPSpanExporter"),
    ("traces", HTTP): ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "OTLPSpanExporter"),
    ("logs", GRPC): ("opentelemetry.exporter.otlp.proto.grpc._log_exporter", "OTLPLogExporter"),
    ("logs", HTTP): ("opentelemetry.exporter.otlp.proto.http._log_exporter", "OTLPLogExporter"),
}


@dataclass(frozen=True)
class Target:
    """Where a signal goes. ``name`` is for people: protocol, host and port, without anything secret."""

    signal: Signal
    protocol: str
    name: str


def target(signal: Signal) -> Target:
    """Where the variables send a signal; what is no protocol is said once."""
    variable, value = _set_variable(signal, "PROTOCOL")
    protocol = value or GRPC
    if protocol not in (GRPC, HTTP):
        say(f"{variable}={value!r} is not one of {GRPC}, {HTTP}; using {GRPC}")
        protocol = GRPC
    endpoint = _set_variable(signal, "ENDPOINT")[1] or _DEFAULT_ENDPOINT[protocol]
    return Target(signal, protocol, f"{protocol} {_host(endpoint)}")


def wants_logs() -> bool:
    """Whether texts may go out as log records: not with logs switched off, nor when only traces have an endpoint."""
    names = [name.strip() for name in os.environ.get("OTEL_LOGS_EXPORTER", "otlp").split(",")]
    only_traces = os.environ.get(f"{_PREFIX}TRACES_ENDPOINT") and not _set_variable("logs", "ENDPOINT")[1]
    return "otlp" in names and not only_traces


def upstream_class(to: Target) -> Any:
    """Upstream's exporter class for a signal."""
    module, name = _MODULES[to.signal, to.protocol]
    return getattr(importlib.import_module(module), name)


def upstream_exporter(to: Target) -> Any:
    """Upstream's exporter for a signal, configured by the standard variables, with gzip unless they say otherwise.

    Raises:
        ValueError: a value that upstream refuses and that has no safe default; the message names the variable.
    """
    exporter_class = upstream_class(to)
    arguments: dict[str, Any] = {"compression": _compression(to), "timeout": _timeout(to.signal)}
    if to.protocol == GRPC and not os.environ.get("OTEL_PYTHON_EXPORTER_OTLP_GRPC_RETRYABLE_ERROR_CODES"):
        arguments["retryable_error_codes"] = _retryable_codes()
    return exporter_class(**arguments)


def headers_variable(signal: Signal) -> str:
    """The variable that a signal's headers come from."""
    return _set_variable(signal, "HEADERS")[0]


def redacted(text: str) -> str:
    """A text from outside (a server's or library's error) without any header value it may repeat."""
    for name in ("HEADERS", "TRACES_HEADERS", "LOGS_HEADERS"):
        for entry in os.environ.get(_PREFIX + name, "").split(","):
            value = entry.partition("=")[2].strip() or entry.strip()
            for secret in {value, unquote(value)} - {""}:
                text = text.replace(secret, "***")
    return text


def _set_variable(signal: Signal, name: str) -> tuple[str, str]:
    """The variable that counts for a signal, its own before the general one, and its value."""
    for variable in (f"{_PREFIX}{signal.upper()}_{name}", f"{_PREFIX}{name}"):
        value = os.environ.get(variable, "").strip()
        if value:
            return variable, value
    return f"{_PREFIX}{name}", ""


def _host(endpoint: str) -> str:
    """Host and port, without user information, path or query."""
    parts = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
    return parts.netloc.rpartition("@")[2] or "an endpoint without host"


def _compression(to: Target) -> Any:
    variable, value = _set_variable(to.signal, "COMPRESSION")
    word = value.lower() or "gzip"
    if word not in _COMPRESSIONS:
        say(f"{variable}={value!r} is not one of {', '.join(_COMPRESSIONS)}; using gzip")
        word = "gzip"
    home = importlib.import_module("grpc" if to.protocol == GRPC else "opentelemetry.exporter.otlp.proto.http")
    return getattr(home.Compression, _COMPRESSIONS[word])


def _timeout(signal: Signal) -> float | None:
    """Seconds for a request, or ``None`` for upstream's default."""
    variable, value = _set_variable(signal, "TIMEOUT")
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if seconds > 0:
        return seconds
    if variable != f"{_PREFIX}TIMEOUT":  # upstream's gRPC exporter reads it even when it is told a timeout, and raises
        raise ValueError(f"{variable}={value!r} is not a number of seconds")
    say(f"{variable}={value!r} is not a number of seconds; using 10")
    return 10.0


def _retryable_codes() -> list[Any]:
    """The codes that OTLP calls retryable, but for RESOURCE_EXHAUSTED: what is too large will not fit later either."""
    codes = importlib.import_module("grpc").StatusCode
    return [
        codes.CANCELLED,
        codes.DEADLINE_EXCEEDED,
        codes.ABORTED,
        codes.OUT_OF_RANGE,
        codes.UNAVAILABLE,
        codes.DATA_LOSS,
    ]
