"""Finished spans as OTLP JSON lines, which the Collector's ``otlpjsonfile`` receiver reads.

OTLP's JSON is protobuf's JSON with two differences: ids are hexadecimal and enums are numbers
(https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). Lines are written on the compiling thread, so
they are made straight from the span: by way of protobuf's ``MessageToDict`` it takes some twenty times as long. A
test holds the two equal.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring as _quote
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext

_HAS_IS_REMOTE, _IS_REMOTE = 0x100, 0x200  # SpanFlags of opentelemetry/proto/trace/v1/trace.proto

# What comes before and after a span depends only on its resource and scope; nearly always they are the last ones.
_last_frame: tuple[Resource | None, InstrumentationScope | None, str, str] = (None, None, "", "")


def span_line(span: ReadableSpan) -> bytes:
    """One line of TracesData JSON with the span in it, ending in a line break."""
    before, after = _frame(span.resource, span.instrumentation_scope)
    return f"{before}{_span(span)}{after}".encode("utf-8", "backslashreplace")


def _frame(resource: Resource, scope: InstrumentationScope | None) -> tuple[str, str]:
    global _last_frame
    last_resource, last_scope, before, after = _last_frame
    if last_resource is not resource or last_scope is not scope:
        before = f'{{"resourceSpans":[{{"resource":{_object(_attributes(resource.attributes))},"scopeSpans":[{{"scope":'
        before += _scope(scope) + ',"spans":['
        scope_schema, resource_schema = (
            _text("schemaUrl", scope.schema_url if scope else None),
            _text("schemaUrl", resource.schema_url),
        )
        after = (
            "]" + "".join("," + part for part in scope_schema) + "}]" + "".join("," + part for part in resource_schema)
        )
        after += "}]}\n"
        _last_frame = (resource, scope, before, after)
    return before, after


def _scope(scope: InstrumentationScope | None) -> str:
    if scope is None:
        return "{}"
    return _object([*_text("name", scope.name), *_text("version", scope.version), *_attributes(scope.attributes)])


def _span(span: ReadableSpan) -> str:
    context, parent = span.get_span_context(), span.parent
    assert context is not None
    parts = [f'"traceId":"{context.trace_id:032x}","spanId":"{context.span_id:016x}"']
    if context.trace_state:
        parts += _text("traceState", context.trace_state.to_header())
    if parent:
        parts.append(f'"parentSpanId":"{parent.span_id:016x}"')
    parts += _text("name", span.name)
    parts.append(f'"kind":{span.kind.value + 1},"flags":{_flags(parent)}')
    parts += _time("startTimeUnixNano", span.start_time)
    parts += _time("endTimeUnixNano", span.end_time)
    parts += _attributes(span.attributes)
    parts += _count("droppedAttributesCount", span.dropped_attributes)
    parts += _list("events", _event, span.events)
    parts += _count("droppedEventsCount", span.dropped_events)
    parts += _list("links", _link, span.links)
    parts += _count("droppedLinksCount", span.dropped_links)
    code, message = span.status.status_code.value, span.status.description
    parts.append(f'"status":{_object([*_count("code", code), *_text("message", message)])}')
    return _object(parts)


def _event(event: Event) -> str:
    return _object(
        [
            *_time("timeUnixNano", event.timestamp),
            *_text("name", event.name),
            *_attributes(event.attributes),
            *_count("droppedAttributesCount", event.dropped_attributes),
        ]
    )


def _link(link: Link) -> str:
    ids = f'"traceId":"{link.context.trace_id:032x}","spanId":"{link.context.span_id:016x}"'
    return _object([ids, f'"flags":{_flags(link.context)}', *_attributes(link.attributes)])


def _flags(context: SpanContext | None) -> int:
    return _HAS_IS_REMOTE | (_IS_REMOTE if context is not None and context.is_remote else 0)


# Each of these gives its field, or nothing for a default: protobuf leaves those out.
def _object(fields: Iterable[str]) -> str:
    return "{" + ",".join(fields) + "}"


def _text(name: str, value: str | None) -> list[str]:
    return [f'"{name}":{_quote(value)}'] if value else []


def _count(name: str, value: int) -> list[str]:
    return [f'"{name}":{value}'] if value else []


def _time(name: str, value: int | None) -> list[str]:
    return [f'"{name}":"{value}"'] if value else []  # 64-bit integers are strings in protobuf's JSON


def _list(name: str, write: Callable[[Any], str], items: Sequence[Any]) -> list[str]:
    return [f'"{name}":[{",".join(map(write, items))}]'] if items else []


def _attributes(attributes: Mapping[str, Any] | None) -> list[str]:
    return [f'"attributes":[{_pairs(attributes)}]'] if attributes else []


def _pairs(attributes: Mapping[str, Any]) -> str:
    return ",".join([f"{_key(key)}{_value(value)}}}" for key, value in attributes.items()])


@lru_cache(maxsize=1024)  # keys are few and come again and again
def _key(key: str) -> str:
    return f'{{"key":{_quote(key)},"value":'


def _value(value: Any) -> str:
    if isinstance(value, str):
        return f'{{"stringValue":{_quote(value)}}}'
    if isinstance(value, bool):
        return '{"boolValue":true}' if value else '{"boolValue":false}'
    if isinstance(value, int):
        return f'{{"intValue":"{value}"}}'
    if isinstance(value, float):
        return f'{{"doubleValue":{json.dumps(value) if math.isfinite(value) else _not_finite(value)}}}'
    if isinstance(value, bytes):
        return f'{{"bytesValue":"{base64.b64encode(value).decode()}"}}'
    if isinstance(value, Mapping):
        return f'{{"kvlistValue":{{"values":[{_pairs(value)}]}}}}' if value else '{"kvlistValue":{}}'
    if isinstance(value, Sequence):
        return f'{{"arrayValue":{{"values":[{",".join(map(_value, value))}]}}}}' if value else '{"arrayValue":{}}'
    return "{}"  # None


def _not_finite(value: float) -> str:
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
