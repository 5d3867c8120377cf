"""Puts texts together again that went out as OTLP log records, byte for byte, from the files that hold the records.

A Collector's file exporter writes such files: OTLP JSON lines, with a text's parts in any order and in any file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thunder_otel import semconv


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A text that was put together.

    Attributes:
        trace_id: 32 hex digits.
        span_id: 16 hex digits.
        key: the span attribute it stands for.
        sha256: what the sender said it hashes to.
        data: the text; ``None`` when it is not whole.
        problem: what is wrong with it, empty when it is whole.
    """

    trace_id: str
    span_id: str
    key: str
    sha256: str
    data: bytes | None
    problem: str = ""


@dataclass
class _Parts:
    """Where the parts of a text are: file and offset of the line that holds each."""

    trace_id: str
    count: int
    places: dict[int, tuple[Path, int]] = field(default_factory=dict)


def fetch(files: Iterable[Path], *, span_id: str = "", key: str = "") -> Iterator[Fetched]:
    """The texts in files of OTLP JSON lines, one at a time: no more than one text is in memory.

    Args:
        files: the files.
        span_id: only texts of the span whose id starts so.
        key: only texts of this attribute.

    Raises:
        OSError: a file cannot be read.
    """
    for (span, name, sha256), parts in _index(files).items():
        if span.startswith(span_id) and key in ("", name):
            yield _assembled(span, name, sha256, parts)


def _index(files: Iterable[Path]) -> dict[tuple[str, str, str], _Parts]:
    found: dict[tuple[str, str, str], _Parts] = {}
    for path in files:
        with path.open("rb") as file:
            offset = 0
            for line in file:
                for record in _records(line):
                    attributes = _attributes(record)
                    key, sha256 = attributes[semconv.LOG_PAYLOAD_KEY], attributes.get(semconv.LOG_PAYLOAD_SHA256)
                    identity = (_text(record, "spanId"), str(key), str(sha256 or ""))
                    count = int(attributes.get(semconv.LOG_PAYLOAD_PARTS, 1))
                    parts = found.setdefault(identity, _Parts(_text(record, "traceId"), count))
                    parts.places.setdefault(int(attributes.get(semconv.LOG_PAYLOAD_PART, 0)), (path, offset))
                offset += len(line)
    return found


def _assembled(span: str, key: str, sha256: str, parts: _Parts) -> Fetched:
    def made(data: bytes | None, problem: str = "") -> Fetched:
        return Fetched(trace_id=parts.trace_id, span_id=span, key=key, sha256=sha256, data=data, problem=problem)

    missing = [number for number in range(parts.count) if number not in parts.places]
    if missing:
        return made(None, f"{len(missing)} of {parts.count} parts are missing")
    data = b"".join(_body(*parts.places[number], span, key, number) for number in range(parts.count))
    if hashlib.sha256(data).hexdigest() != sha256:
        return made(None, "what the parts give has another hash")
    return made(data)


def _body(path: Path, offset: int, span: str, key: str, number: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        for record in _records(file.readline()):
            attributes = _attributes(record)
            same = (_text(record, "spanId"), attributes[semconv.LOG_PAYLOAD_KEY]) == (span, key)
            if same and int(attributes.get(semconv.LOG_PAYLOAD_PART, 0)) == number:
                return str(record.get("body", {}).get("stringValue", "")).encode()
    return b""


def _records(line: bytes) -> Iterator[Mapping[str, Any]]:
    """The log records of a line that carry a part of a text."""
    try:
        entries = json.loads(line).get("resourceLogs", ())
    except (ValueError, AttributeError):
        return
    for entry in entries:
        for scope in entry.get("scopeLogs", ()):
            for record in scope.get("logRecords", ()):
                if semconv.LOG_PAYLOAD_KEY in _attributes(record):
                    yield record


def _attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    return {pair["key"]: next(iter(pair.get("value", {}).values()), None) for pair in record.get("attributes", ())}


def _text(record: Mapping[str, Any], name: str) -> str:
    return str(record.get(name, ""))
