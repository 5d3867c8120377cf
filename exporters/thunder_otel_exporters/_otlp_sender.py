"""One of upstream's OTLP exporters, made to say why it failed.

``export`` answers only success or failure; the reason goes to upstream's loggers. While one of ours exports, what
its thread logs there is heard here instead of being written to the program's stderr.
"""

from __future__ import annotations

import enum
import logging
import os
import re
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from opentelemetry.instrumentation.utils import suppress_instrumentation

from thunder_otel._guard import say
from thunder_otel_exporters import _otlp_config
from thunder_otel_exporters._otlp_config import Target, redacted

_LOGGERS = (
    "opentelemetry.exporter.otlp.proto.grpc.exporter",
    "opentelemetry.exporter.otlp.proto.http._common",
    "opentelemetry.exporter.otlp.proto.http._log_exporter",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.util.re",
)
_HEADER_LOGGER = "opentelemetry.util.re"


class Answer(enum.Enum):
    """What became of a request."""

    DELIVERED = enum.auto()
    LATER = enum.auto()  # unreachable, busy or timed out: the same request may be taken later
    FAULT = enum.auto()  # the receiver failed on it: worth a few attempts
    TOO_LARGE = enum.auto()
    MALFORMED = enum.auto()  # something in it is refused; the rest may be fine
    REFUSED = enum.auto()  # it will never be taken, e.g. for want of credentials
    ABSENT = enum.auto()  # the receiver has no service for this signal


@dataclass(frozen=True)
class Outcome:
    """What became of a request, why (for people, without secrets), and whether its size was held against it."""

    answer: Answer
    reason: str = ""
    by_size: bool = False


class Sender:
    """Sends one signal to where the standard variables say.

    Args:
        to: the signal and its target.

    Raises:
        ValueError: a variable's value is malformed and has no safe default; the message names it.
    """

    def __init__(self, to: Target) -> None:
        self.to = to
        self.unreachable = threading.Event()  # set while upstream waits before it tries again to connect
        heard: list[logging.LogRecord] = []
        with _hearing(heard.append):
            self._exporter = _otlp_config.upstream_exporter(to)
        if any(record.name == _HEADER_LOGGER for record in heard):
            say(f"{_otlp_config.headers_variable(to.signal)} has an entry that is not name=value; it is left out")
        _live.add(self)

    def send(self, batch: Sequence[Any]) -> Outcome:
        """Send spans or log records in one request; takes up to the exporter's timeout."""
        heard: list[logging.LogRecord] = []

        def hear(record: logging.LogRecord) -> None:
            heard.append(record)
            if _is_unreachable(record):
                self.unreachable.set()

        try:
            with suppress_instrumentation(), _hearing(hear):
                result = self._exporter.export(batch)
        except Exception as error:  # e.g. a header that HTTP cannot carry; the message may repeat its value
            return Outcome(Answer.MALFORMED, type(error).__name__)
        finally:
            self.unreachable.clear()
        return Outcome(Answer.DELIVERED) if result.name == "SUCCESS" else _outcome(heard)

    def abort(self) -> None:
        """Make a request that waits to be tried again give up at once; nothing can be sent afterwards."""
        with _hearing(lambda record: None):
            self._exporter.shutdown()


# A forked child must not touch its parent's connections, not even to collect them: they stay as they are.
_live: weakref.WeakSet[Sender] = weakref.WeakSet()
_inherited: list[Sender] = []
os.register_at_fork(after_in_child=lambda: _inherited.extend(_live))

_thread = threading.local()


class _Ear(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        hear = getattr(_thread, "hear", None)
        if hear is None:
            return True  # another user of the same exporters
        hear(record)
        return False


for _name in _LOGGERS:  # first, since upstream's own filter there drops what it has seen before
    logging.getLogger(_name).filters.insert(0, _Ear())


class _hearing:
    """While it lasts, what this thread logs on upstream's loggers goes to ``hear`` only."""

    def __init__(self, hear: Callable[[logging.LogRecord], None]) -> None:
        self._hear = hear

    def __enter__(self) -> None:
        _thread.hear = self._hear

    def __exit__(self, *_: object) -> None:
        _thread.hear = None


def _arguments(record: logging.LogRecord) -> tuple[Any, ...]:
    return record.args if isinstance(record.args, tuple) else ()


def _is_unreachable(record: logging.LogRecord) -> bool:
    """A warning before another attempt, because no connection could be made (a busy receiver does answer)."""
    return any(
        argument is grpc.StatusCode.UNAVAILABLE or isinstance(argument, Exception) for argument in _arguments(record)
    )


_GRPC = {
    grpc.StatusCode.INVALID_ARGUMENT: Answer.MALFORMED,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Answer.TOO_LARGE,
    grpc.StatusCode.UNIMPLEMENTED: Answer.ABSENT,
    grpc.StatusCode.INTERNAL: Answer.FAULT,
    grpc.StatusCode.UNKNOWN: Answer.FAULT,
    grpc.StatusCode.CANCELLED: Answer.LATER,
    grpc.StatusCode.DEADLINE_EXCEEDED: Answer.LATER,
    grpc.StatusCode.ABORTED: Answer.LATER,
    grpc.StatusCode.OUT_OF_RANGE: Answer.LATER,
    grpc.StatusCode.UNAVAILABLE: Answer.LATER,
    grpc.StatusCode.DATA_LOSS: Answer.LATER,
}
_HTTP = {
    400: Answer.MALFORMED,
    404: Answer.ABSENT,
    405: Answer.ABSENT,
    408: Answer.LATER,
    413: Answer.TOO_LARGE,
    422: Answer.MALFORMED,
    429: Answer.LATER,
    501: Answer.ABSENT,
    502: Answer.LATER,
    503: Answer.LATER,
    504: Answer.LATER,
}
_SIZE = re.compile(r"larger than|too large|exceeds maximum|exceeds.{0,20}limit", re.IGNORECASE)


def _outcome(heard: Sequence[logging.LogRecord]) -> Outcome:
    """Read the outcome from what upstream logged, the last word first."""
    for record in reversed(heard):
        arguments = _arguments(record)
        for argument in arguments:
            if isinstance(argument, grpc.StatusCode):
                return _grpc_outcome(argument, str(arguments[-1] or ""))
            if isinstance(argument, int) and not isinstance(argument, bool):
                return _http_outcome(argument, str(arguments[-1] or ""))
            if isinstance(argument, Exception):
                return Outcome(Answer.LATER, _cause(argument))
    for record in reversed(heard):  # "Transient error Service Unavailable encountered while exporting ..."
        arguments = _arguments(record)
        if len(arguments) > 1 and isinstance(arguments[0], str):
            return Outcome(Answer.LATER, redacted(arguments[0]))
    return Outcome(Answer.LATER, "no answer in time")


def _grpc_outcome(code: grpc.StatusCode, details: str) -> Outcome:
    by_size = bool(_SIZE.search(details))
    answer = _GRPC.get(code, Answer.REFUSED)
    if by_size and answer is Answer.LATER:  # tonic, in rotel and others, says OUT_OF_RANGE
        answer = Answer.TOO_LARGE
    words = redacted(details).rpartition("last error: UNKNOWN: ")[2]
    return Outcome(answer, f"{code.name}: {_short(words)}", by_size)


def _http_outcome(status: int, reason: str) -> Outcome:
    answer = _HTTP.get(status, Answer.FAULT if status >= 500 else Answer.REFUSED)
    return Outcome(answer, f"HTTP {status} {_short(redacted(reason))}".rstrip(), by_size=status == 413)


def _cause(error: BaseException) -> str:
    """The words of the operating system's error at the root of a library's, else the library's type."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror
        seen = seen.__cause__ or seen.__context__
    return type(error).__name__


def _short(text: str) -> str:
    return " ".join(text.split())[:200]
