"""Finished spans as OTLP JSON lines, which the Collector's ``otlpjsonfile`` receiver reads.

OTLP's JSON is protobuf's with two differences: ids are hexadecimal and enums are numbers
(https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan

_IDS = ("traceId", "spanId", "parentSpanId")


def spans_line(spans: Sequence[ReadableSpan]) -> bytes:
    """One line of TracesData JSON, ending in a line break."""
    data = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    for resource_spans in data.get("resourceSpans", ()):
        for scope_spans in resource_spans.get("scopeSpans", ()):
            for span in scope_spans.get("spans", ()):
                _ids_to_hex(span)
                for link in span.get("links", ()):
                    _ids_to_hex(link)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _ids_to_hex(entry: dict[str, Any]) -> None:
    for key in _IDS:
        if key in entry:
            entry[key] = base64.b64decode(entry[key]).hex()
