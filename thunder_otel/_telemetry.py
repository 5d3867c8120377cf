"""Turns stages into spans, events and stored texts. Nothing here raises into the compile."""

from __future__ import annotations

import functools
import os
import secrets
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from opentelemetry import trace as otel
from opentelemetry.context import Context, get_current
from opentelemetry.trace import INVALID_SPAN, Link, Span, Status, StatusCode, Tracer

from thunder_otel import _hook_runs, _sinks, _span_hooks, logs, semconv
from thunder_otel._guard import guarded
from thunder_otel._model import (
    AttributeValue,
    CompileInfo,
    ErrorInfo,
    Payload,
    Sink,
    Stage,
    StoredPayload,
    encode,
)
from thunder_otel.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")

_OWN_FILES = os.path.dirname(os.path.abspath(__file__))
_spent_ns = 0


def spent_ns() -> int:
    """What recording has cost this process so far, in nanoseconds."""
    return _spent_ns


def timed(function: Callable[P, R]) -> Callable[P, R]:
    """Count a function's time as ours; functions that are timed must not call each other."""

    @functools.wraps(function)
    def counted(*args: P.args, **kwargs: P.kwargs) -> R:
        global _spent_ns
        began = time.perf_counter_ns()
        try:
            return function(*args, **kwargs)
        finally:
            _spent_ns += time.perf_counter_ns() - began

    return counted


class Recorder:
    """Starts and ends stages on behalf of the hooks.

    Args:
        settings: sizes and limits.
        tracer: gives the tracer to use now (an application may set its provider at any time).
        sinks: who keeps the stages besides the tracer.
        root_context: the context of a stage without parent when the application has no current span.
        clock: nanoseconds since the epoch.
        on_open: called when a stage has started.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        tracer: Callable[[], Tracer],
        sinks: Sequence[Sink] = (),
        root_context: Callable[[], Context] = get_current,
        clock: Callable[[], int] = time.time_ns,
        on_open: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings = settings
        self.sinks: list[Sink] = list(sinks)
        self.open_stages: dict[str, Stage] = {}
        self._tracer = tracer
        self._root_context = root_context
        self._clock = clock
        self.on_open = on_open

    def now(self) -> int:
        """The clock's time, in nanoseconds since the epoch."""
        return self._clock()

    @guarded(None)
    @timed
    def start(
        self,
        name: str,
        *,
        parent: Stage | None,
        compile: CompileInfo | None = None,
        attributes: dict[str, AttributeValue] | None = None,
        start_ns: int | None = None,
        links: Sequence[Link] = (),
    ) -> Stage:
        """Start a stage; it is on disk before this returns. ``None`` when that failed (said once).

        Inside a stage that a hook vetoed the new one is hidden, too: nobody is told of it.
        """
        start_ns = self._clock() if start_ns is None else start_ns
        values = _clean(attributes or {})
        hooked = _span_hooks.any_hooks()  # they see the attributes before anybody else does
        context = self._root_context() if parent is None else otel.set_span_in_context(parent.span, Context())
        span = self._tracer().start_span(
            clean(name), context=context, attributes=None if hooked else values, start_time=start_ns, links=links
        )
        trace_id, span_id, parent_id = _ids(span, parent, context)
        thread = threading.current_thread()
        stage = Stage(
            name=clean(name),
            trace_id=trace_id,
            span_id=span_id,
            parent_id=parent_id,
            start_ns=start_ns,
            attributes=values,
            parent=parent,
            compile=compile,
            thread_id=thread.ident or 0,
            thread_name=clean(thread.name),
            pid=os.getpid(),
            span=span,
            hidden=parent is not None and parent.hidden,
        )
        if hooked and not stage.hidden:
            _hook_runs.run(stage, at_end=False)
        if stage.hidden:
            stage.span = INVALID_SPAN
            return stage
        if hooked:
            stage.attributes = _clean(stage.attributes)
            span.set_attributes(stage.attributes)
        self.open_stages[stage.span_id] = stage
        self.on_open()
        for sink in self._all_sinks():
            guarded(None)(sink.stage_started)(stage)
        logs.started(stage)
        return stage

    def _all_sinks(self) -> list[Sink]:
        return [*self.sinks, *_sinks.listeners()]

    @guarded(None)
    @timed
    def end(
        self, stage: Stage | None, *, error: BaseException | ErrorInfo | None = None, end_ns: int | None = None
    ) -> None:
        """End a stage: store its texts, fill its span, tell the sinks."""
        if stage is None:
            return
        stage.end_ns = self._clock() if end_ns is None else end_ns
        if self.open_stages.pop(stage.span_id, None) is None:  # ended before, or hidden
            stage.payloads.clear()
            return
        if error is not None:
            stage.error = error if isinstance(error, ErrorInfo) else describe_error(error)
            stage.attributes[semconv.ERROR_TYPE] = stage.error.type
        if _span_hooks.any_hooks():
            _hook_runs.run(stage, at_end=True)
        stage.attributes = _clean(stage.attributes)
        for payload in stage.payloads:
            guarded(None)(self._store)(stage, payload)
        logs.ended(stage)
        self._end_span(stage)
        for sink in self._all_sinks():
            guarded(None)(sink.stage_ended)(stage)
        stage.payloads.clear()  # a root stage is kept for its late children; the texts need not be

    def _store(self, stage: Stage, payload: Payload) -> None:
        paths = [guarded("")(sink.store)(stage, payload) for sink in self._all_sinks()]
        path = next((path for path in paths if path), "")
        stored = StoredPayload(
            key=payload.key,
            kind=payload.kind,
            size=len(payload.data),
            sha256=payload.sha256,
            lines=payload.text.count("\n") + 1,
            path=path,
        )
        stage.stored.append(stored)
        add_payload_facts(stage.attributes, stored)

    @guarded(None)
    def _end_span(self, stage: Stage) -> None:
        span = stage.span
        if span.is_recording():
            limit = self.settings.inline_limit
            for payload in stage.payloads:
                span.set_attribute(payload.key, head(payload.data, limit))
                if len(payload.data) > limit:
                    span.set_attribute(payload.key + semconv.PAYLOAD_TRUNCATED, True)
            span.set_attributes(stage.attributes)
            if stage.error is not None:
                span.add_event(
                    "exception",
                    {
                        semconv.EXCEPTION_TYPE: stage.error.type,
                        semconv.EXCEPTION_MESSAGE: stage.error.message,
                        semconv.EXCEPTION_STACKTRACE: head(encode(stage.error.stacktrace), limit),
                    },
                    timestamp=stage.end_ns,
                )
                span.set_status(Status(StatusCode.ERROR, f"{stage.error.type}: {stage.error.message}"))
        span.end(end_time=stage.end_ns)


def add_payload_facts(attributes: dict[str, AttributeValue], stored: StoredPayload) -> None:
    """Write size, hash and path of a stored text beside its key."""
    attributes[stored.key + semconv.PAYLOAD_SIZE] = stored.size
    attributes[stored.key + semconv.PAYLOAD_SHA256] = stored.sha256
    if stored.path:
        attributes[stored.key + semconv.PAYLOAD_PATH] = stored.path


def head(data: bytes, limit: int) -> str:
    """As much of a text as fits in ``limit`` bytes, cut at a line where there is one."""
    if len(data) <= limit:
        return data.decode()
    cut = data[:limit]
    line_end = cut.rfind(b"\n")
    return cut[: line_end + 1 if line_end > 0 else limit].decode("utf-8", "ignore")


def describe_error(error: BaseException) -> ErrorInfo:
    """An exception as text, its stack as the program would see it without our wrappers' frames."""
    summary = traceback.TracebackException.from_exception(error)
    _drop_own_frames(summary, set())
    try:
        message = str(error)
    except Exception:
        message = "<message cannot be printed>"
    return ErrorInfo(
        type=_type_name(error), message=clean(message), stacktrace=clean("".join(summary.format(chain=True)))
    )


def _type_name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _drop_own_frames(summary: Any, seen: set[int]) -> None:
    if summary is None or id(summary) in seen:
        return
    seen.add(id(summary))
    kept = [frame for frame in summary.stack if os.path.dirname(frame.filename) != _OWN_FILES]
    summary.stack = traceback.StackSummary.from_list(kept)
    _drop_own_frames(summary.__cause__, seen)
    _drop_own_frames(summary.__context__, seen)


def clean(text: str) -> str:
    """The text as it can be sent: what UTF-8 cannot hold is escaped."""
    return text if text.isascii() else encode(text).decode()


def _clean(attributes: dict[str, Any]) -> dict[str, AttributeValue]:
    cleaned: dict[str, AttributeValue] = {}
    for key, value in attributes.items():
        if isinstance(value, str):
            cleaned[key] = clean(value)
        elif isinstance(value, (list, tuple)):
            cleaned[key] = [clean(item) if isinstance(item, str) else item for item in value]
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            cleaned[key] = str(value)
        else:
            cleaned[key] = value
    return cleaned


def _ids(span: Span, parent: Stage | None, context: Context) -> tuple[str, str, str]:
    """Ids of a stage: the span's, or our own where the SDK is disabled and gives none."""
    own = span.get_span_context()
    outer = otel.get_current_span(context).get_span_context()
    parent_id = parent.span_id if parent is not None else f"{outer.span_id:016x}" if outer.is_valid else ""
    if own.is_valid and own.span_id != outer.span_id:
        return f"{own.trace_id:032x}", f"{own.span_id:016x}", parent_id
    trace_id = parent.trace_id if parent is not None else f"{outer.trace_id:032x}" if outer.is_valid else ""
    return trace_id or secrets.token_hex(16), secrets.token_hex(8), parent_id
