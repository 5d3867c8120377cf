"""Cuts what is to be sent into requests by encoded bytes, and a span that fits into none down to size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.trace import Event, ReadableSpan

from thunder_otel import semconv
from thunder_otel._telemetry import head

Item = TypeVar("Item")
_SHORTEST_CAP = 64


def span_size(span: ReadableSpan) -> int:
    """Bytes of a request that holds only this span."""
    return int(encode_spans([span]).ByteSize())


def log_size(record: ReadableLogRecord) -> int:
    """Bytes of a request that holds only this log record."""
    return int(encode_logs([record]).ByteSize())


def cut(items: Iterable[Item], limit: int, size: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Group items into requests of at most ``limit`` bytes each, in order; one that is larger goes alone.

    Args:
        items: spans or log records.
        limit: bytes.
        size: an item's bytes as the only one of a request. Resource and scope are counted with each item, though
            one request holds them once; so a request is never larger than the sum says.
    """
    request: list[Item] = []
    used = 0
    for item in items:
        item_size = size(item)
        if request and used + item_size > limit:
            yield request
            request, used = [], 0
        request.append(item)
        used += item_size
    if request:
        yield request


def fitted(span: ReadableSpan, limit: int) -> ReadableSpan:
    """The span itself when it fits into ``limit`` bytes, else a copy whose longest values are cut until it does.

    The copy names the attributes that lost something in ``thunder.otlp.cut``. Ids, times, status code, resource and
    scope are always kept; events and links are given up last.
    """
    if span_size(span) <= limit:
        return span
    cap = limit // 2
    while cap >= _SHORTEST_CAP:
        candidate = _with_cap(span, cap)
        if span_size(candidate) <= limit:
            return candidate
        cap //= 2
    return _copy(span, attributes={semconv.SPAN_CUT: ["all attributes, events and links"]}, name=span.name[:1024])


def _with_cap(span: ReadableSpan, cap: int) -> ReadableSpan:
    attributes, short = _capped(span.attributes or {}, cap)
    events = []
    for event in span.events:
        event_attributes, event_short = _capped(event.attributes or {}, cap)
        events.append(Event(event.name, event_attributes, event.timestamp))
        short += event_short
    note = {semconv.SPAN_CUT: sorted({*short, *_earlier_note(span)})[:_SHORTEST_CAP]}
    return _copy(span, attributes=attributes | note, name=span.name[:1024], events=events, links=span.links)


def _earlier_note(span: ReadableSpan) -> Sequence[Any]:
    note = (span.attributes or {}).get(semconv.SPAN_CUT, ())
    return note if isinstance(note, tuple) else ()


def _capped(attributes: Mapping[str, Any], cap: int) -> tuple[dict[str, Any], list[str]]:
    """The attributes with no value longer than ``cap`` bytes, and the keys of those that were."""
    capped, short = {}, []
    for key, value in attributes.items():
        capped[key] = _cut_value(value, cap)
        if capped[key] is not value:
            short.append(key)
    return capped, short


def _cut_value(value: Any, cap: int) -> Any:
    if isinstance(value, str):
        data = value.encode("utf-8", "backslashreplace") if len(value) * 4 > cap else b""
        return head(data, cap) if len(data) > cap else value
    if isinstance(value, bytes):
        return value[:cap] if len(value) > cap else value
    if isinstance(value, (Sequence, Mapping)):
        return _cut_collection(value, cap)
    return value


def _cut_collection(value: Any, cap: int) -> Any:
    """A list's first elements; a mapping is rare enough to be left out whole."""
    room = cap
    items = value if isinstance(value, Sequence) else value.values()
    for index, item in enumerate(items):
        room -= 16 + (len(item) * 4 if isinstance(item, (str, bytes)) else 8)
        if room < 0:
            return value[:index] if isinstance(value, Sequence) else {}
    return value


def _copy(span: ReadableSpan, *, attributes: Mapping[str, Any], name: str, **rest: Any) -> ReadableSpan:
    status = span.status
    return ReadableSpan(
        name=name,
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        kind=span.kind,
        status=type(status)(status.status_code, (status.description or "")[:1024] or None),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
        **rest,
    )
