"""Delivers what a run folder holds: its finished and recovered spans, and the texts that they carry only heads of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opentelemetry.sdk.trace import ReadableSpan

from thunder_otel_exporters._otlp_delivery import Delivery
from thunder_otel_exporters._otlp_json_reader import read_spans
from thunder_otel_exporters._otlp_logs import long_texts

SPAN_FILES = ("spans.jsonl", "recovered.jsonl")


def deliver_folder(delivery: Delivery, folder: Path, *, limit: int) -> int:
    """Send every span of the folder that is not delivered yet, and its texts.

    Args:
        delivery: sends, and knows what is delivered.
        folder: the run folder.
        limit: about how many bytes of spans to hold in memory at a time.

    Returns:
        How many spans the folder holds.

    Raises:
        GaveUp: there was no time left.
    """
    total = 0
    for batch in _batches(folder, limit):
        total += len(batch)
        delivery.deliver(batch, [text for span in batch for text in long_texts(span)])
    return total


def read_folder(folder: Path) -> Iterator[ReadableSpan]:
    """Every span of the folder; a line that a killed process left half written is passed over."""
    for line in _lines(folder):
        try:
            yield from read_spans(line)
        except ValueError:
            continue


def _batches(folder: Path, limit: int) -> Iterator[list[ReadableSpan]]:
    batch: list[ReadableSpan] = []
    used = 0
    for line in _lines(folder):
        try:
            spans = read_spans(line)
        except ValueError:  # the last line of a process that was killed while it wrote it
            continue
        if batch and used + len(line) > limit:
            yield batch
            batch, used = [], 0
        batch += spans
        used += len(line)
    if batch:
        yield batch


def _lines(folder: Path) -> Iterator[bytes]:
    for name in SPAN_FILES:
        path = folder / name
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                yield from file
