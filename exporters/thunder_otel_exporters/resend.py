"""Sends what a run folder holds and no collector has taken yet: after an outage, a crash, or a run without network."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from thunder_otel.settings import Settings, read_settings
from thunder_otel_exporters import _otlp_config
from thunder_otel_exporters._delivered import Ledger
from thunder_otel_exporters._otlp_delivery import Delivery, GaveUp
from thunder_otel_exporters._otlp_logs import span_id
from thunder_otel_exporters._otlp_sender import Sender
from thunder_otel_exporters._resend_folder import deliver_folder, read_folder


@dataclass(frozen=True, kw_only=True)
class Resent:
    """What became of a folder's spans.

    Attributes:
        target: protocol, host and port.
        sent: spans delivered now.
        before: spans that had been delivered before.
        texts: long texts delivered now.
        left: spans that are still not delivered.
        reason: why, in the collector's or the system's words; empty when nothing is left.
    """

    target: str
    sent: int
    before: int
    texts: int
    left: int
    reason: str


def resend(folder: Path, *, timeout: float = 60.0, settings: Settings | None = None) -> Resent:
    """Deliver each span and long text of ``folder`` once, to where the standard OTLP variables say.

    Args:
        folder: a run folder.
        timeout: seconds to go on while the collector cannot be reached or is busy.
        settings: limits; default: read from the environment.

    Raises:
        FileNotFoundError: the folder has no spans.
        FolderInUse: its program still runs, or another process resends it.
        ValueError: an OTLP variable is malformed; the message names it.
    """
    if not (folder / "spans.jsonl").is_file():
        raise FileNotFoundError(f"{folder} is no run folder: it has no spans.jsonl")
    settings = settings or read_settings()
    deadline = time.monotonic() + timeout
    ledger = Ledger(folder)
    try:
        before, texts_before = len(ledger.spans), len(ledger.texts)
        spans = Sender(_otlp_config.target("traces"))
        logs = Sender(_otlp_config.target("logs")) if _otlp_config.wants_logs() else None
        delivery = Delivery(
            spans=spans,
            logs=logs,
            ledger=ledger,
            folder=folder,
            limit=settings.otlp_limit,
            part_limit=settings.otlp_limit // 2,
            wait=lambda seconds: _pause(seconds, deadline),
        )
        with contextlib.suppress(GaveUp):
            deliver_folder(delivery, folder, limit=settings.otlp_limit)
        total = _count(folder)
        return Resent(
            target=spans.to.name,
            sent=len(ledger.spans) - before,
            before=before,
            texts=len(ledger.texts) - texts_before,
            left=total - len(ledger.spans),
            reason=delivery.reason if total > len(ledger.spans) else "",
        )
    finally:
        ledger.close()


def _pause(seconds: float, deadline: float) -> bool:
    if time.monotonic() + seconds > deadline:
        return True
    threading.Event().wait(seconds)
    return False


def _count(folder: Path) -> int:
    """Distinct spans in the folder's files."""
    return len({span_id(span) for span in read_folder(folder)})
