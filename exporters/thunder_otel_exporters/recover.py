"""Makes spans of what a process that died had begun: from the events on disk, which outlive any kind of death."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

from thunder_otel import semconv
from thunder_otel._run_files import read_file
from thunder_otel._telemetry import head
from thunder_otel_exporters._otlp_json import span_line
from thunder_otel_exporters._otlp_json_reader import read_spans
from thunder_otel_exporters._otlp_logs import span_id

EVENTS, SPANS, RECOVERED, RUN = "events.jsonl", "spans.jsonl", "recovered.jsonl", "run.json"


class StillRunning(Exception):
    """The process that writes the folder is alive: what is open there is no wreck."""


@dataclass(frozen=True, kw_only=True)
class OpenStage:
    """A stage that had begun and not ended.

    Attributes:
        name: the span's name.
        fn: the function that was compiled.
        stage: the stage's name.
        seconds: how long it had been open at the last sign of life; it may have been open for longer.
        depth: 0 for the outermost.
    """

    name: str
    fn: str
    stage: str
    seconds: float
    depth: int


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """What was found and written.

    Attributes:
        open_stages: outermost first.
        finished: stages that had ended, but whose span had not been written yet.
        last_good: the last trace text that a stage finished, relative to the folder; empty for none.
        path: the file that holds the recovered spans; ``None`` when there was nothing to recover.
        torn: events that could not be read.
    """

    open_stages: tuple[OpenStage, ...]
    finished: int
    last_good: str
    path: Path | None
    torn: int


def recover(folder: Path, *, force: bool = False) -> Recovered:
    """Write the spans that ``spans.jsonl`` lacks to ``recovered.jsonl``; doing so twice gives the same file.

    Args:
        folder: a run folder.
        force: also while its process seems to be alive.

    Raises:
        FileNotFoundError: the folder has no events.
        StillRunning: its process is alive.
    """
    events = folder / EVENTS
    if not events.is_file():
        raise FileNotFoundError(f"{folder} is no run folder: it has no {EVENTS}")
    info = _info(folder)
    if not force and _is_alive(info):
        raise StillRunning(f"{folder} belongs to process {info['pid']}, which still runs")
    started, ended, torn = _read(events)
    written, like = _written(folder)
    last_ns = max([events.stat().st_mtime_ns, *(int(event["start_ns"]) for event in started.values())])
    resource, scope = (like.resource, like.instrumentation_scope) if like is not None else _described(info)
    open_events = [event for key, event in started.items() if key not in ended]
    finished = [event for key, event in ended.items() if key not in written]
    lines = [
        *(span_line(_finished(event, folder, info, resource, scope)) for event in finished),
        *(span_line(_open(event, last_ns, resource, scope)) for event in open_events),
    ]
    if lines:
        _write(folder, b"".join(lines))
    return Recovered(
        open_stages=tuple(_open_stage(event, started, last_ns) for event in open_events),
        finished=len(finished),
        last_good=_last_good(ended),
        path=folder / RECOVERED if lines else None,
        torn=torn,
    )


def _read(path: Path) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]], int]:
    """Start and end events by span id, in order, and how many lines were torn."""
    started: dict[str, dict[str, Any]] = {}
    ended: dict[str, dict[str, Any]] = {}
    torn = 0
    with path.open("rb") as file:
        for line in file:
            try:
                event = json.loads(line)
                kind, key = event["event"], event["span_id"]
                _check(event)
            except (AttributeError, KeyError, TypeError, ValueError):  # torn, or not as we write it
                torn += 1
                continue
            if kind == semconv.EVENT_START:
                started[key] = event
            elif kind == semconv.EVENT_END:
                ended[key] = event
                started.setdefault(key, event)
    return started, ended, torn


def _check(event: Mapping[str, Any]) -> None:
    """Raises where a field that is needed later is missing or of another kind."""
    int(event["start_ns"]), int(event["trace_id"], 16), int(event["span_id"], 16)
    int(event.get("parent_id") or "0", 16)
    dict(event.get("attributes") or {}), dict(event.get("error") or {})
    if event["event"] == semconv.EVENT_END:
        int(event["end_ns"])
    for payload in event.get("payloads") or ():
        payload["key"], payload.get("path")


def _written(folder: Path) -> tuple[set[str], ReadableSpan | None]:
    """Ids of the spans that are whole on disk, and one of them, for its resource and scope."""
    ids: set[str] = set()
    like = None
    path = folder / SPANS
    if not path.is_file():
        return ids, like
    with path.open("rb") as file:
        for line in file:
            try:
                spans = read_spans(line)
            except ValueError:
                continue
            ids.update(map(span_id, spans))
            like = like or next(iter(spans), None)
    return ids, like


def _open(event: Mapping[str, Any], end_ns: int, resource: Resource, scope: Any) -> ReadableSpan:
    words = "the process ended while this stage was open"
    attributes = {**event.get("attributes", {}), semconv.RECOVERED: True, semconv.ERROR_TYPE: "process ended"}
    return _span(event, end_ns, attributes, Status(StatusCode.ERROR, words), resource, scope)


def _finished(
    event: Mapping[str, Any], folder: Path, info: Mapping[str, Any], resource: Resource, scope: Any
) -> ReadableSpan:
    attributes = {**event.get("attributes", {}), semconv.RECOVERED: True}
    limit = int(info.get("inline_limit") or 65536)
    for payload in event.get("payloads", ()):
        data = read_file(folder, str(payload.get("path", "")))
        if data is not None:
            attributes[payload["key"]] = head(data, limit)
            if len(data) > limit:
                attributes[payload["key"] + semconv.PAYLOAD_TRUNCATED] = True
    error = event.get("error") or {}
    words = f"{error.get('type')}: {error.get('message')}"
    status = Status(StatusCode.ERROR, words) if error else Status(StatusCode.UNSET)
    return _span(event, int(event["end_ns"]), attributes, status, resource, scope)


def _span(
    event: Mapping[str, Any], end_ns: int, attributes: Any, status: Status, resource: Resource, scope: Any
) -> ReadableSpan:
    trace_id, parent = int(event["trace_id"], 16), event.get("parent_id") or ""
    sampled = TraceFlags(TraceFlags.SAMPLED)
    return ReadableSpan(
        name=str(event.get("name", "")),
        context=SpanContext(trace_id, int(event["span_id"], 16), is_remote=False, trace_flags=sampled),
        parent=SpanContext(trace_id, int(parent, 16), is_remote=False, trace_flags=sampled) if parent else None,
        resource=resource,
        attributes=attributes,
        status=status,
        start_time=int(event["start_ns"]),
        end_time=max(end_ns, int(event["start_ns"])),
        instrumentation_scope=scope,
    )


def _write(folder: Path, data: bytes) -> None:
    """Put the file in place whole: a reader sees the old one or the new one."""
    temporary = folder / f".{RECOVERED}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    temporary.replace(folder / RECOVERED)


def _info(folder: Path) -> dict[str, Any]:
    try:
        info = json.loads((folder / RUN).read_bytes())
    except (OSError, ValueError):
        return {}
    return info if isinstance(info, dict) else {}


def _described(info: Mapping[str, Any]) -> tuple[Resource, InstrumentationScope]:
    """Resource and scope of a run that finished no span, from what ``run.json`` says."""
    versions = info.get("versions") or {}
    values = {
        semconv.SERVICE_NAME: "thunder",
        semconv.RANK: info.get("rank"),
        semconv.LOCAL_RANK: info.get("local_rank"),
        semconv.WORLD_SIZE: info.get("world_size"),
        semconv.THUNDER_VERSION: versions.get("lightning-thunder"),
        semconv.TORCH_VERSION: versions.get("torch"),
    }
    known = Resource({key: value for key, value in values.items() if value is not None})
    return known, InstrumentationScope(semconv.SCOPE, versions.get("thunder-otel"), semconv.SCHEMA_URL)


def _is_alive(info: Mapping[str, Any]) -> bool:
    """Whether the run's process is alive on this machine, and no later one has its number."""
    pid = info.get("pid")
    if not isinstance(pid, int) or info.get("host") != socket.gethostname():
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        began = Path(f"/proc/{pid}").stat().st_ctime_ns
    except (OSError, IndexError):
        return False
    return state != "Z" and began <= int(info.get("started_ns", 0)) + 1_000_000_000


def _open_stage(event: Mapping[str, Any], started: Mapping[str, Mapping[str, Any]], last_ns: int) -> OpenStage:
    attributes = event.get("attributes", {})
    return OpenStage(
        name=str(event.get("name", "")).strip(),
        fn=str(attributes.get(semconv.FN, "")),
        stage=str(attributes.get(semconv.STAGE, "")),
        seconds=max(0.0, (last_ns - int(event["start_ns"])) / 1e9),
        depth=sum(1 for _ in _outer(event, started)),
    )


def _outer(event: Mapping[str, Any], started: Mapping[str, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    seen = set()
    while (parent := str(event.get("parent_id", ""))) in started and parent not in seen:
        seen.add(parent)
        event = started[parent]
        yield event


def _last_good(ended: Mapping[str, Mapping[str, Any]]) -> str:
    for event in reversed(list(ended.values())):
        for payload in event.get("payloads", ()):
            if str(payload.get("path", "")).startswith("traces/"):
                return str(payload["path"])
    return ""
