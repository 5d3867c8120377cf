"""Texts too long for a span attribute, as log records tied to the span: in ordered parts that give the text again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opentelemetry import trace as otel
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.trace import ReadableSpan

from thunder_otel import semconv
from thunder_otel._run_files import read_file


@dataclass(frozen=True)
class LongText:
    """A text that its span carries only the head of.

    Attributes:
        span: the span it belongs to.
        key: the attribute that carries the head.
        sha256: hex digest of the whole.
        path: where it is, relative to the run folder; empty when it is on no disk.
        data: the whole, when it is on no disk.
    """

    span: ReadableSpan
    key: str
    sha256: str
    path: str
    data: bytes = b""

    @property
    def id(self) -> tuple[str, str]:
        """Tells it from every other text of a run folder."""
        return span_id(self.span), self.key


def span_id(span: ReadableSpan) -> str:
    """A span's id in hexadecimal."""
    context = span.get_span_context()
    return f"{context.span_id:016x}" if context is not None else ""


def long_texts(span: ReadableSpan) -> list[LongText]:
    """The texts that the span carries only the heads of, as its attributes tell."""
    attributes = span.attributes or {}
    keys = [
        key.removesuffix(semconv.PAYLOAD_TRUNCATED)
        for key, value in attributes.items()
        if key.endswith(semconv.PAYLOAD_TRUNCATED) and value is True
    ]
    return [
        LongText(
            span,
            key,
            str(attributes.get(key + semconv.PAYLOAD_SHA256, "")),
            str(attributes.get(key + semconv.PAYLOAD_PATH, "")),
        )
        for key in keys
    ]


def read_text(text: LongText, folder: Path | None) -> bytes | None:
    """The whole text; ``None`` when it is not there, or is not what was recorded."""
    if text.data:
        return text.data
    data = None if folder is None else read_file(folder, text.path)
    return data if data is not None and hashlib.sha256(data).hexdigest() == text.sha256 else None


def records(text: LongText, data: bytes, part_limit: int) -> Iterator[ReadableLogRecord]:
    """The log records of a text: their bodies, in the order of ``thunder.payload.part``, are the text.

    Args:
        text: which text.
        data: the whole of it, UTF-8.
        part_limit: most bytes of a body; a part ends at a line where there is one.
    """
    parts = list(_parts(data, part_limit))
    span = text.span
    context = otel.set_span_in_context(
        otel.NonRecordingSpan(span.get_span_context() or otel.INVALID_SPAN_CONTEXT), Context()
    )
    for index, (start, end) in enumerate(parts):
        record = LogRecord(
            timestamp=span.end_time,
            observed_timestamp=span.end_time,
            context=context,
            severity_text="INFO",
            severity_number=SeverityNumber.INFO,
            body=data[start:end].decode(),
            attributes={
                semconv.LOG_PAYLOAD_KEY: text.key,
                semconv.LOG_PAYLOAD_SHA256: text.sha256,
                semconv.LOG_PAYLOAD_SIZE: len(data),
                semconv.LOG_PAYLOAD_PART: index,
                semconv.LOG_PAYLOAD_PARTS: len(parts),
            },
            event_name=semconv.LOG_PAYLOAD_EVENT,
        )
        yield ReadableLogRecord(record, span.resource, span.instrumentation_scope)


def _parts(data: bytes, limit: int) -> Iterator[tuple[int, int]]:
    start = 0
    while len(data) - start > limit:
        end = data.rfind(b"\n", start, start + limit) + 1
        if end <= start:
            end = start + limit
            while end > start + 1 and data[end] & 0xC0 == 0x80:  # within a character of several bytes
                end -= 1
        yield start, end
        start = end
    yield start, len(data)
