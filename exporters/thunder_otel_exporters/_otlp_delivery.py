"""Delivers spans and their long texts: cut into requests, tried again while that may help, marked once taken."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.trace import ReadableSpan

from thunder_otel import semconv
from thunder_otel._guard import describe, say
from thunder_otel_exporters._delivered import DELIVERED, Ledger, TextId
from thunder_otel_exporters._otlp_logs import LongText, read_text, records, span_id
from thunder_otel_exporters._otlp_requests import cut, fitted, log_size, span_size
from thunder_otel_exporters._otlp_sender import Answer, Outcome, Sender

FLOOR = 16 * 1024  # a request this small that is too large was not refused for its size
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0  # seconds between attempts
FAULT_ATTEMPTS = 3


class GaveUp(Exception):
    """There is no time left to try again."""


class Delivery:
    """Sends through upstream's exporters and keeps the account.

    Args:
        spans: sends spans.
        logs: sends log records; ``None`` when the variables want none.
        ledger: what is delivered already, and where new deliveries are marked.
        folder: the run folder that long texts are read from, if there is one.
        limit: most bytes of a request.
        part_limit: most bytes of a log record's body.
        wait: waits that many seconds before another attempt; True: do not try again.
    """

    def __init__(
        self,
        *,
        spans: Sender,
        logs: Sender | None,
        ledger: Ledger,
        folder: Path | None,
        limit: int,
        part_limit: int,
        wait: Callable[[float], bool],
    ) -> None:
        self.reason = ""  # why the last request that was not delivered was not
        self.logs_wanted = logs is not None
        self._spans = spans
        self._logs = logs
        self._ledger = ledger
        self._folder = folder
        self._limit = limit
        self._part_limit = min(part_limit, limit // 2)
        self._wait = wait

    def deliver(self, spans: Iterable[ReadableSpan], texts: Iterable[LongText]) -> None:
        """Send those that are not delivered yet, spans before texts.

        Raises:
            GaveUp: ``wait`` said so; what was not delivered by then is not marked.
        """
        known = self._ledger
        new_spans = (fitted(span, self._limit) for span in spans if span_id(span) not in known.spans)
        for request in cut(new_spans, self._limit, span_size):
            self._send_spans(request)
        if self.logs_wanted:
            self._send_texts(text for text in texts if text.id not in known.texts)

    def _send_spans(self, request: Sequence[ReadableSpan]) -> None:
        for part, outcome in self._send(self._spans, request):
            if outcome.answer is Answer.DELIVERED:
                self._mark(spans=[span_id(span) for span in part])

    def _send_texts(self, texts: Iterable[LongText]) -> None:
        assert self._logs is not None
        missing: Counter[TextId] = Counter()
        for request in cut(self._records(texts, missing), self._limit, log_size):
            for part, outcome in self._send(self._logs, request):
                if outcome.answer is Answer.ABSENT:
                    self.logs_wanted = False
                    say(f"{self._logs.to.name} takes no log records ({outcome.reason}); {_ON_DISK_ONLY}")
                    return
                if outcome.answer is Answer.DELIVERED:
                    missing.subtract(_text_id(record) for record in part)
                    done = [text for text, parts in missing.items() if not parts]
                    self._mark(texts=done)
                    for text in done:
                        del missing[text]

    def _records(self, texts: Iterable[LongText], missing: Counter[TextId]) -> Iterator[ReadableLogRecord]:
        for text in texts:
            data = read_text(text, self._folder)
            if data is None:
                self.reason = f"{text.path or text.key} is not readable"
                continue
            parts = list(records(text, data, self._part_limit))
            missing[text.id] = len(parts)
            yield from parts

    def _send(self, sender: Sender, request: Sequence[Any]) -> Iterator[tuple[Sequence[Any], Outcome]]:
        """Send a request, in pieces if need be; the pieces and what became of each."""
        attempts = 0
        while True:
            outcome = sender.send(request)
            if outcome.answer is Answer.DELIVERED:
                yield request, outcome
                return
            self.reason = outcome.reason
            attempts += 1
            smaller = self._smaller(sender, request, outcome, attempts)
            if smaller is not None:
                for part in smaller:
                    yield from self._send(sender, part)
                return
            if outcome.answer in (Answer.REFUSED, Answer.ABSENT, Answer.MALFORMED) or (
                outcome.answer is Answer.FAULT and attempts >= FAULT_ATTEMPTS
            ):
                yield request, outcome
                return
            self._before_next(sender, attempts)

    def _smaller(
        self, sender: Sender, request: Sequence[Any], outcome: Outcome, attempts: int
    ) -> Sequence[Sequence[Any]] | None:
        """The request in smaller pieces, where that may help."""
        answer = outcome.answer
        if answer not in (Answer.TOO_LARGE, Answer.MALFORMED) and not (
            answer is Answer.FAULT and attempts >= FAULT_ATTEMPTS
        ):
            return None
        size = sum(map(span_size if sender is self._spans else log_size, request))
        if answer is Answer.TOO_LARGE and size <= FLOOR:
            return None
        if outcome.by_size:
            self._limit = max(FLOOR, min(self._limit, size // 2))
        if len(request) > 1:
            half = len(request) // 2
            return [request[:half], request[half:]]
        if answer is Answer.TOO_LARGE and sender is self._spans:
            return [[fitted(request[0], max(FLOOR, size // 2))]]
        return None

    def _before_next(self, sender: Sender, attempts: int) -> None:
        if attempts == 2:
            say(
                f"{sender.to.name} takes nothing at the moment ({self.reason}); spans are tried again and stay on disk",
                key=f"outage:{sender.to.name}",
            )
        seconds = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempts - 1)) * random.uniform(0.8, 1.2)
        if self._wait(seconds):
            raise GaveUp

    def _mark(self, *, spans: Collection[str] = (), texts: Collection[TextId] = ()) -> None:
        try:
            self._ledger.mark(spans, texts)
        except OSError as error:
            say(f"{DELIVERED} cannot be written ({describe(error)}); a later resend may send things twice")


_ON_DISK_ONLY = "texts longer than the inline limit are whole on disk only"


def _text_id(record: ReadableLogRecord) -> TextId:
    log = record.log_record
    attributes = log.attributes or {}
    return f"{log.span_id:016x}", str(attributes[semconv.LOG_PAYLOAD_KEY])
