"""``otlp``: spans to a collector, cut by bytes, with nothing lost unsaid and no thread of the program ever waiting."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from thunder_otel import _sinks, semconv
from thunder_otel._guard import describe, say
from thunder_otel._model import Payload, Stage
from thunder_otel.settings import Settings, read_settings
from thunder_otel_exporters import _otlp_config, _run_folder
from thunder_otel_exporters._delivered import Ledger
from thunder_otel_exporters._otlp_delivery import Delivery, GaveUp
from thunder_otel_exporters._otlp_logs import LongText
from thunder_otel_exporters._otlp_queue import ByteQueue
from thunder_otel_exporters._otlp_sender import Sender
from thunder_otel_exporters._resend_folder import deliver_folder

NAME = "otlp"
DELAY = 0.5  # seconds that the first span of a request waits for more
AT_EXIT = 0.3  # seconds between attempts once the program ends
ABORT = 0.3  # seconds for a request to give up
UNREACHABLE_GRACE = 1.0  # seconds at exit for a collector to which no connection could be made
SILENT = 0.3  # share of the exit's time that a collector which never answered gets less


@dataclass(frozen=True, slots=True)
class _Item:
    """A finished span and the texts that it carries only the heads of."""

    span: ReadableSpan
    texts: tuple[LongText, ...]


class OtlpExporter(SpanExporter):
    """Sends spans where the standard ``OTEL_EXPORTER_OTLP_*`` variables say, by upstream's own exporters.

    What waits is bounded by ``THUNDER_DEBUG_QUEUE_LIMIT`` bytes. What finds no room there is read back from the run
    folder when there is room again; what is not delivered when the program ends stays in the folder for
    ``thunder-otel resend``.

    Args:
        settings: limits; default: read from the environment.

    Raises:
        ValueError: a variable is malformed and has no safe default; the message names it.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = read_settings() if settings is None else settings
        if settings is None:  # the SDK made it: the recorder is to use this one
            _sinks.offer(NAME, self)
        self._spans = Sender(_otlp_config.target("traces"))
        self._logs = Sender(_otlp_config.target("logs")) if _otlp_config.wants_logs() else None
        self._queue: ByteQueue[_Item] = ByteQueue(self._settings.queue_limit)
        self._thread: threading.Thread | None = None
        self._start = threading.Lock()
        self._exiting = threading.Event()
        self._closed = False
        self._deadline = float("inf")
        self._taken = self._overflow = self._lost = 0
        self._delivery: Delivery | None = None
        self._ledger: Ledger | None = None
        self._folder: Path | None = None

    @staticmethod
    def preload() -> None:
        """Import upstream's exporters now, so that no compile has to."""
        signals: tuple[_otlp_config.Signal, ...] = ("traces", "logs")
        for signal in signals:
            _otlp_config.upstream_class(_otlp_config.target(signal))

    def stage_started(self, stage: Stage) -> None:
        """OTLP has no open spans: a stage is sent when it ends."""

    def store(self, stage: Stage, payload: Payload) -> str:
        """Long texts are sent from the file that another sink keeps, or with the span."""
        return ""

    def stage_ended(self, stage: Stage) -> None:
        """Queue the finished span and its long texts."""
        span = stage.span
        if isinstance(span, ReadableSpan) and _is_sampled(span):
            paths = {stored.key: stored.path for stored in stage.stored}
            self._put(span, stage.payloads, paths)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Queue spans of other scopes (ours came as stages)."""
        foreign = [
            span
            for span in spans
            if span.instrumentation_scope is None or span.instrumentation_scope.name != semconv.SCOPE
        ]
        accepted = [self._put(span, [], {}) for span in foreign]
        return SpanExportResult.SUCCESS if all(accepted) else SpanExportResult.FAILURE

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Send what waits, without delay; whether all of it went out in time."""
        return self._thread is None or self._queue.flush(timeout_millis / 1000)

    def before_exit(self) -> None:
        """The program ends: send what waits, for at most the exit timeout, while its own threads still run."""
        if self._deadline == float("inf"):
            # a little less, since what follows takes time as well
            self._deadline = time.monotonic() + 0.9 * self._settings.exit_timeout
            self._exiting.set()
            self._queue.hurry()
            self._wait(self._queue.is_idle)

    def close(self) -> None:
        """Send what waits for at most what is left of the exit timeout; say what was not delivered."""
        _sinks.withdraw(self)
        if self._closed:
            return
        self._closed = True
        self.before_exit()
        self._queue.close()
        thread = self._thread
        if thread is not None:
            self._wait(lambda: not thread.is_alive())
        for sender in (self._spans, self._logs):
            if sender is not None:
                sender.abort()
        if thread is not None:
            thread.join(ABORT)  # it ends by itself once its request gave up
        self._say_what_is_left()

    def shutdown(self) -> None:
        """The SDK ends: the same as :meth:`close`."""
        self.close()

    def _put(self, span: ReadableSpan, payloads: Sequence[Payload], paths: dict[str, str]) -> bool:
        texts = tuple(
            LongText(span, payload.key, payload.sha256, path, b"" if path else payload.data)
            for payload in payloads
            if len(payload.data) > self._settings.inline_limit
            for path in [paths.get(payload.key, "")]
        )
        self._taken += 1
        if self._queue.put(_Item(span, texts), _size(span) + sum(len(text.data) for text in texts)):
            self._start_thread()
            return True
        self._overflow += 1
        if _run_folder.current() is None:
            self._lost += 1
            say(
                f"{self._spans.to.name} is slower than the compile; spans that find no room to wait are lost",
                key="otlp",
            )
        return False

    def _start_thread(self) -> None:
        if self._thread is None:
            with self._start:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="thunder_otel-otlp", daemon=True)
                    self._thread.start()

    def _run(self) -> None:
        """The sending thread."""
        try:
            delivery = self._open()
            while (items := self._queue.take(self._settings.otlp_limit, DELAY)) is not None:
                delivery.deliver([item.span for item in items], [text for item in items for text in item.texts])
                self._queue.done()
                if self._queue.is_empty() and self._overflow and self._folder is not None:
                    self._catch_up(delivery, self._folder)
        except GaveUp:
            pass
        except Exception as error:
            say(f"sending to {self._spans.to.name} ended ({describe(error)}); spans are on disk only from here on")
        finally:
            if self._closed and self._ledger is not None:
                self._ledger.close()

    def _open(self) -> Delivery:
        self._folder = _run_folder.current()
        try:
            self._ledger = Ledger(self._folder)
        except OSError as error:
            say(f"{self._folder} cannot be written ({describe(error)}); a later resend may send spans twice")
            self._ledger = Ledger(None)
        self._delivery = Delivery(
            spans=self._spans,
            logs=self._logs,
            ledger=self._ledger,
            folder=self._folder,
            limit=self._settings.otlp_limit,
            part_limit=self._settings.otlp_limit // 2,
            wait=self._pause,
        )
        return self._delivery

    def _catch_up(self, delivery: Delivery, folder: Path) -> None:
        """Send from disk what found no room in the queue."""
        self._overflow = 0
        deliver_folder(delivery, folder, limit=self._settings.otlp_limit)

    def _pause(self, seconds: float) -> bool:
        """Wait before another attempt; True when there is no time for one."""
        if not self._exiting.wait(seconds):
            return False
        left = self._deadline - time.monotonic()
        if left < AT_EXIT:
            return True
        time.sleep(AT_EXIT)
        return False

    def _wait(self, done: Callable[[], bool]) -> None:
        """Until that is so or the exit's time is over; a collector that has not answered once gets less of it."""
        grace = time.monotonic() + UNREACHABLE_GRACE
        silent = self._deadline - SILENT * self._settings.exit_timeout
        while not done() and (now := time.monotonic()) < self._deadline:
            given_up = self._spans.unreachable.is_set() and now > grace
            if given_up or (now > silent and not self._delivered()):
                self._deadline = now
            time.sleep(0.02)

    def _delivered(self) -> int:
        return len(self._ledger.spans) if self._ledger is not None else 0

    def _say_what_is_left(self) -> None:
        left = self._taken - self._delivered()
        if self._ledger is not None and (self._thread is None or not self._thread.is_alive()):
            self._ledger.close()
        if left <= 0:
            return
        reason = (self._delivery.reason if self._delivery is not None else "") or "no answer in time"
        folder = self._folder or _run_folder.current()
        where = "they are lost, since nothing was written to disk" if folder is None else "they are on disk"
        remedy = "" if folder is None else f"; send them later with `thunder-otel resend {_short(folder)}`"
        say(f"{left} of {self._taken} spans were not delivered to {self._spans.to.name} ({reason}); {where}{remedy}")


def _is_sampled(span: ReadableSpan) -> bool:
    context = span.get_span_context()
    return context is not None and context.trace_flags.sampled


def _size(span: ReadableSpan) -> int:
    """About the bytes that a span takes in memory, without encoding it."""
    total = 1024
    for value in (span.attributes or {}).values():
        if isinstance(value, (str, bytes)):
            total += len(value)
        elif isinstance(value, Sequence):
            total += sum(len(item) if isinstance(item, str) else 8 for item in value)
    return total + sum(len(str(value)) for event in span.events for value in (event.attributes or {}).values())


def _short(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
