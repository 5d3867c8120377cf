"""The structlog side: one logger of our own, apart from whatever the application configured."""

from __future__ import annotations

import json
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog

from thunder_otel._guard import describe, guarded, say
from thunder_otel._model import Stage, encode
from thunder_otel.semconv import EVENT_END, EVENT_START

Writer = Callable[[bytes], object]
Receiver = Callable[[MutableMapping[str, Any]], object]
Processor = Callable[[Any, str, MutableMapping[str, Any]], Any]

_writers: list[Writer] = []
_receivers: list[Receiver] = []
_user_processors: list[Processor] = []


def add_writer(writer: Writer) -> Callable[[], None]:
    """Send every event's line (JSON, ending in a line break) to ``writer``; returns how to stop that."""
    _writers.append(writer)
    return lambda: _writers.remove(writer) if writer in _writers else None


def add_receiver(receiver: Receiver) -> Callable[[], None]:
    """Give every event's fields, a fresh mapping each, to ``receiver``; returns how to stop that."""
    _receivers.append(receiver)
    return lambda: _receivers.remove(receiver) if receiver in _receivers else None


def add_processor(processor: Processor) -> Callable[[], None]:
    """Put a structlog processor in front of ours; returns how to remove it."""
    _user_processors.append(processor)
    return lambda: _user_processors.remove(processor) if processor in _user_processors else None


def get_logger() -> Any:
    """The logger all events go through.

    It is built with its own processors and wrapper class, so that ``structlog.configure``, ``reset_defaults`` and
    ``capture_logs`` in the application neither see nor change it.
    """
    return _logger


def started(stage: Stage) -> None:
    """Log that a stage is about to run."""
    if _writers or _receivers:
        _log(EVENT_START, stage)


def ended(stage: Stage) -> None:
    """Log that a stage ran, with all it found; texts stand in it by hash and path."""
    if _writers or _receivers:
        _log(EVENT_END, stage)


def happened(event: str, stage: Stage, **facts: Any) -> None:
    """Log something about a stage that is open."""
    if _writers or _receivers:
        _log(event, stage, **facts)


@guarded(None)
def _log(event: str, stage: Stage, **facts: Any) -> None:
    fields: dict[str, Any] = {
        "name": stage.name,
        "trace_id": stage.trace_id,
        "span_id": stage.span_id,
        "parent_id": stage.parent_id,
        "pid": stage.pid,
        "thread_id": stage.thread_id,
        "thread": stage.thread_name,
        "start_ns": stage.start_ns,
    }
    if event == EVENT_END and stage.end_ns is not None:
        fields["end_ns"] = stage.end_ns
        fields["status"] = "error" if stage.error else "ok"
        if stage.error:
            fields["error"] = {
                "type": stage.error.type,
                "message": stage.error.message,
                "stacktrace": stage.error.stacktrace,
            }
        fields["payloads"] = [vars(stored) for stored in stage.stored]
    fields |= {"attributes": stage.attributes, **facts}
    if stage.error:
        _logger.error(event, **fields)
    else:
        _logger.info(event, **fields)


def _run_user_processors(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for processor in list(_user_processors):
        try:
            result = processor(logger, method, event)
        except structlog.DropEvent:
            raise
        except Exception as error:
            name = getattr(processor, "__qualname__", repr(processor))
            say(f"log processor {name} raised {describe(error)} and is passed over", key=f"processor:{id(processor)}")
            continue
        event = result if isinstance(result, MutableMapping) else event
    return event


def _to_receivers(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for receiver in list(_receivers):
        guarded(None)(receiver)(dict(event))
    return event


def _to_line(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> bytes:
    return encode(json.dumps(event, ensure_ascii=False, default=repr, separators=(",", ":")) + "\n")


class _FanOut:
    """What structlog takes for the wrapped logger: hands the finished line to every writer."""

    def msg(self, line: bytes) -> None:
        for writer in list(_writers):
            writer(line)

    debug = info = warning = error = critical = msg


_logger = structlog.wrap_logger(
    _FanOut(),
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _run_user_processors,
        _to_receivers,
        _to_line,
    ],
    wrapper_class=structlog.BoundLogger,
    context_class=dict,
    cache_logger_on_first_use=True,
).bind()


def forget_writers() -> None:
    """Drop all writers without closing them (in a forked child they are the parent's)."""
    _writers.clear()


def writer_count() -> int:
    """How many writers events go to."""
    return len(_writers)
