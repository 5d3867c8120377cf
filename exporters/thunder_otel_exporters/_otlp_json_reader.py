"""Reads OTLP JSON lines back into spans, so that they can be sent again."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

_IS_REMOTE = 0x200  # SpanFlags of opentelemetry/proto/trace/v1/trace.proto
_Json = Mapping[str, Any]


def read_spans(line: bytes) -> list[ReadableSpan]:
    """The spans of one line of TracesData JSON.

    Raises:
        ValueError: the line is not one, e.g. because the process was killed while it wrote it.
    """
    try:
        return [
            _span(span, _resource(resource_spans), _scope(scope_spans))
            for resource_spans in json.loads(line).get("resourceSpans", ())
            for scope_spans in resource_spans.get("scopeSpans", ())
            for span in scope_spans.get("spans", ())
        ]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a line of OTLP JSON: {error}") from error


def _resource(entry: _Json) -> Resource:
    return Resource(_plain_attributes(entry.get("resource", {})), entry.get("schemaUrl"))


def _scope(entry: _Json) -> InstrumentationScope:
    scope = entry.get("scope", {})
    return InstrumentationScope(
        scope.get("name", ""), scope.get("version"), entry.get("schemaUrl"), _plain_attributes(scope)
    )


def _span(entry: _Json, resource: Resource, scope: InstrumentationScope) -> ReadableSpan:
    context = _context(entry, "spanId", remote=False)
    remote_parent = bool(entry.get("flags", 0) & _IS_REMOTE)
    status = entry.get("status", {})
    return ReadableSpan(
        name=entry.get("name", ""),
        context=context,
        parent=_context(entry, "parentSpanId", remote=remote_parent) if "parentSpanId" in entry else None,
        resource=resource,
        attributes=_attributes(entry),
        events=[
            Event(event.get("name", ""), _attributes(event), int(event.get("timeUnixNano", 0)))
            for event in entry.get("events", ())
        ],
        links=[
            Link(_context(link, "spanId", remote=bool(link.get("flags", 0) & _IS_REMOTE)), _attributes(link))
            for link in entry.get("links", ())
        ],
        kind=SpanKind(max(entry.get("kind", 1) - 1, 0)),
        status=Status(StatusCode(status.get("code", 0)), status.get("message")),
        start_time=int(entry.get("startTimeUnixNano", 0)),
        end_time=int(entry.get("endTimeUnixNano", 0)),
        instrumentation_scope=scope,
    )


def _context(entry: _Json, id_key: str, *, remote: bool) -> SpanContext:
    return SpanContext(
        trace_id=int(entry["traceId"], 16),
        span_id=int(entry[id_key], 16),
        is_remote=remote,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
        trace_state=TraceState.from_header([entry.get("traceState", "")]) if id_key == "spanId" else TraceState(),
    )


def _attributes(entry: _Json) -> BoundedAttributes:
    attributes = BoundedAttributes(attributes=_plain_attributes(entry), immutable=True)
    attributes.dropped = entry.get("droppedAttributesCount", 0)
    return attributes


def _plain_attributes(entry: _Json) -> dict[str, Any]:
    return _pairs(entry.get("attributes", ()))


def _pairs(pairs: Sequence[_Json]) -> dict[str, Any]:
    return {pair["key"]: _value(pair.get("value", {})) for pair in pairs}


def _value(value: _Json) -> Any:
    for kind, content in value.items():
        if kind == "intValue":
            return int(content)
        if kind == "doubleValue":
            return float(content)
        if kind == "bytesValue":
            return base64.b64decode(content)
        if kind == "arrayValue":
            return [_value(item) for item in content.get("values", ())]
        if kind == "kvlistValue":
            return _pairs(content.get("values", ()))
        return content
    return None
