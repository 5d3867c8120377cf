"""Logging both ways: a program's own lines get the ids of the stage they fall into; our events go where it likes.

A line may be logged by code that thunder interprets. So what stands in a logging chain is a built-in method that
calls our function: thunder runs it as it is and never looks inside.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, MutableMapping
from typing import Any

from opentelemetry import trace as otel
from opentelemetry._logs import LoggerProvider, LogRecord, SeverityNumber, get_logger_provider
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from thunder_otel import _compile_state, logs, semconv
from thunder_otel._guard import guarded
from thunder_otel._span_hooks import Handle

_LOG_KEYS = {"trace_id": semconv.LOG_TRACE_ID, "span_id": semconv.LOG_SPAN_ID, "stage": semconv.LOG_STAGE}


def _built_in(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a built-in method: ``lru_cache(maxsize=0)`` caches nothing and is written in C."""
    opaque: Callable[..., Any] = functools.lru_cache(maxsize=0)(function).__call__
    return opaque


def current_ids() -> dict[str, str]:
    """``trace_id``, ``span_id`` and ``stage`` of the stage that runs on this thread.

    Outside a compile the ids are those of the application's current span; all are empty when there is none.
    """
    state = _compile_state.current()
    if state is not None and state.frames:
        stage = state.top.stage
        name = str(stage.attributes.get(semconv.STAGE, stage.name))
        return {"trace_id": stage.trace_id, "span_id": stage.span_id, "stage": name}
    span = otel.get_current_span().get_span_context()
    if span.is_valid:
        return {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}", "stage": ""}
    return dict.fromkeys(_LOG_KEYS, "")


def _process(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    found = guarded({})(current_ids)()
    ids = {key: value for name, value in found.items() if value and (key := _LOG_KEYS[name]) not in event}
    return (
        {**event, **ids} if ids else event
    )  # a new mapping: an interpreter that tracks the old one would miss a change


add_stage_ids: Callable[[Any, str, MutableMapping[str, Any]], MutableMapping[str, Any]] = _built_in(_process)
"""A structlog processor for the program's own chain: adds ``trace_id``, ``span_id`` and ``thunder_stage`` to a line
that is logged inside a compile; keys that are there already stay. No span becomes the current one."""


@guarded(None)
def _add_to_record(record: logging.LogRecord) -> None:
    for name, value in current_ids().items():
        record.__dict__.setdefault(_LOG_KEYS[name], value)


def _filter(record: logging.LogRecord) -> bool:
    _add_to_record(record)
    return True


class StageFilter(logging.Filter):
    """A filter for the program's own handlers that lets every line pass and gives it ``trace_id``, ``span_id`` and
    ``thunder_stage``, empty outside a compile, so that a format may name them."""

    def __init__(self) -> None:
        super().__init__()
        self.filter = _built_in(_filter)  # type: ignore[method-assign]


def send_events_as_otel_logs(provider: LoggerProvider | None = None) -> Handle:
    """Send every event (start and end of each stage) as an OpenTelemetry log record of its stage's span, too.

    Args:
        provider: where to; default: the application's logger provider at the time of each event.
    """

    def send(fields: MutableMapping[str, Any]) -> None:
        logger = (provider or get_logger_provider()).get_logger(semconv.SCOPE, schema_url=semconv.SCHEMA_URL)
        failed = fields.get("status") == "error"
        span = SpanContext(int(fields["trace_id"], 16), int(fields["span_id"], 16), False, TraceFlags(1))
        logger.emit(
            LogRecord(
                timestamp=fields.get("end_ns", fields["start_ns"]),
                context=otel.set_span_in_context(NonRecordingSpan(span), Context()),
                severity_number=SeverityNumber.ERROR if failed else SeverityNumber.INFO,
                severity_text="ERROR" if failed else "INFO",
                event_name=fields["event"],
                body=fields["name"],
                attributes={
                    **fields["attributes"],
                    **({semconv.EXCEPTION_MESSAGE: fields["error"]["message"]} if failed else {}),
                },
            )
        )

    return Handle(logs.add_receiver(send))


def set_logger(logger: Any) -> Handle:
    """Log every event to a structlog logger of the program's own, too, at ``info``, or ``error`` for a failed stage.

    What exporters write is not affected: the record on disk must not depend on how a program formats its lines.

    Args:
        logger: bound or not; what ``structlog.get_logger()`` gives, before or after ``structlog.configure``.
    """

    def send(fields: MutableMapping[str, Any]) -> None:
        values = dict(fields)
        event = values.pop("event")
        (logger.error if values.get("status") == "error" else logger.info)(event, **values)

    return Handle(logs.add_receiver(send))


def add_processor(processor: logs.Processor) -> Handle:
    """Put a structlog processor in front of our logger's own; it may change an event or raise ``DropEvent``.

    It sees each event once, before any exporter or logger gets it.
    """
    return Handle(logs.add_processor(processor))
