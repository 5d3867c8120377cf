"""Cutting by bytes: requests, and a span that fits into none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags
from thunder_otel_exporters._otlp_json import span_line
from thunder_otel_exporters._otlp_json_reader import read_spans
from thunder_otel_exporters._otlp_requests import cut, fitted, span_size

from thunder_otel import semconv

LIMIT = 20_000


def span(attributes: dict[str, Any], **values: Any) -> ReadableSpan:
    context = SpanContext(1, 2, is_remote=False, trace_flags=TraceFlags(1))
    return ReadableSpan(
        "name",
        context,
        resource=Resource({"service.name": "test"}),
        attributes=attributes,
        start_time=1,
        end_time=2,
        **values,
    )


def test_requests_stay_under_the_limit_in_order() -> None:
    sizes = [3000, 9000, 9000, 30_000, 100, 100]
    requests = list(cut(sizes, LIMIT, lambda size: size))
    assert requests == [[3000, 9000], [9000], [30_000], [100, 100]]
    assert list(cut([], LIMIT, lambda size: size)) == []


def test_a_span_that_fits_is_left_alone() -> None:
    small = span({"a": "b"})
    assert fitted(small, LIMIT) is small


@pytest.mark.parametrize(
    "attributes",
    [
        {"long": "x" * 100_000, "short": "kept"},
        {"wide": "漢" * 50_000, "short": "kept"},
        {"bytes": b"y" * 100_000, "short": "kept"},
        {"list": ["z" * 100] * 2000, "short": "kept"},
        {**{f"k{n}": "v" * 1000 for n in range(100)}, "short": "kept"},
    ],
)
def test_the_longest_values_are_cut_until_it_fits_and_that_is_noted(attributes: dict[str, Any]) -> None:
    cut_down = fitted(span(attributes, status=Status(StatusCode.ERROR, "e" * 50_000)), LIMIT)
    assert span_size(cut_down) <= LIMIT
    assert cut_down.attributes is not None and cut_down.attributes[semconv.SPAN_CUT]
    assert (cut_down.context.span_id, cut_down.start_time, cut_down.end_time) == (2, 1, 2)
    assert cut_down.status.status_code is StatusCode.ERROR
    if len(attributes) == 2:
        assert cut_down.attributes["short"] == "kept"


def test_a_span_of_events_only_loses_them_last() -> None:
    events = [Event("exception", {"exception.stacktrace": "s" * 30_000}, 5)]
    cut_down = fitted(span({"a": "b"}, events=events), LIMIT)
    assert span_size(cut_down) <= LIMIT and cut_down.events[0].name == "exception"
    hopeless = fitted(span({"a": "b"}, events=[Event("e", {"k": 1}, 5) for _ in range(100)]), 1200)
    assert span_size(hopeless) <= 1200 and not hopeless.events


VALUES = st.one_of(
    st.text(max_size=50),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.lists(st.text(max_size=10), max_size=5),
    st.lists(st.integers(-(2**31), 2**31), max_size=5),
)


@given(st.dictionaries(st.text(min_size=1, max_size=20), VALUES, max_size=8))
def test_what_is_written_is_read_back(attributes: dict[str, Any]) -> None:
    (found,) = read_spans(span_line(span(attributes)))
    expected = {key: tuple(value) if isinstance(value, list) else value for key, value in attributes.items()}
    got = dict(found.attributes or {})
    assert got.keys() == expected.keys()
    for key, value in expected.items():
        same = repr(got[key]) == repr(value) or got[key] == value
        escaped = repr(value).encode("utf-8", "backslashreplace")
        assert same or escaped == repr(got[key]).encode("utf-8", "backslashreplace")
