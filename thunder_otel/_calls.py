"""Sampled calls of jitted functions as spans. Off unless asked for, function by function.

thunder notes the times of each call in the function's ``CompileStats`` itself. So the call is left as it is: the
statistics get a class whose last write of a call, ``last_trace_host_stop``, draws whether to read those times. Calls
of one function that run on several threads at once share one set of times in thunder, and so they do here.
"""

from __future__ import annotations

import functools
import random
import sys
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from opentelemetry import trace as otel
from opentelemetry.trace import Link, SpanContext

from thunder_otel import _introspect, _runtime, semconv
from thunder_otel._guard import guarded
from thunder_otel._model import AttributeValue, ErrorInfo, Stage
from thunder_otel._span_hooks import Handle
from thunder_otel._telemetry import Recorder, describe_error
from thunder_otel.settings import Settings

DEFAULT_SAMPLE = 0.01


@dataclass(eq=False)
class _Watch:
    """What is known of one watched function."""

    fn: str
    sample: float
    random: random.Random = field(default_factory=random.Random)  # the program's own random numbers stay as they are
    last: SpanContext | None = None  # the last call that was recorded: backward spans link to it
    backwards: list[tuple[Any, Any]] = field(default_factory=list)  # our backward function and thunder's

    def draws(self) -> bool:
        return self.random.random() < self.sample


_watches: weakref.WeakKeyDictionary[Any, _Watch] = weakref.WeakKeyDictionary()
_classes: dict[type, type] = {}  # thunder's class of statistics -> ours, which watches it
_api = Recorder(Settings(level_origin="trace_calls()"), tracer=lambda: otel.get_tracer(semconv.SCOPE))


def trace_calls(jfn: Any, *, sample: float = DEFAULT_SAMPLE) -> Handle:
    """Record a share of a jitted function's calls as spans: ``thunder.call`` with its parts, hit or miss.

    Args:
        jfn: what ``thunder.jit`` gave, a function or a module.
        sample: the share of calls to record, from 0 to 1. Backward passes are drawn on their own.

    Returns:
        A handle to stop it. Spans go where compile spans go; with recording off, to the application's provider.

    Raises:
        TypeError: ``jfn`` is not jitted.
        ValueError: ``sample`` is no share.
    """
    if not 0 <= sample <= 1:
        raise ValueError(f"sample={sample!r} is not a share of the calls between 0 and 1")
    stats = getattr(jfn, "_lc_cs", None)
    if stats is None:
        raise TypeError(f"trace_calls() takes what thunder.jit() gave, not {type(jfn).__name__}")
    data = getattr(jfn, "_lc_cd", None)
    watch(stats, _introspect.function_name(getattr(data, "fn", jfn)), sample)
    reference = weakref.ref(stats)
    return Handle(lambda: _unwatch(reference()))


@guarded(None)
def watch_by_setting(stats: Any, fn: str, sample: float) -> None:
    """Watch a function because the settings ask for it, unless it is watched already."""
    if stats not in _watches:
        watch(stats, fn, sample)


def watch(stats: Any, fn: str, sample: float) -> None:
    """Watch the function whose ``CompileStats`` these are; a later call changes the share."""
    _watches[stats] = _Watch(fn, sample)
    if "last_trace_host_stop" not in vars(type(stats)):
        last = stats.__dict__.pop("last_trace_host_stop", -1)
        base = type(stats)
        stats.__class__ = _classes.get(base) or _classes.setdefault(base, _watched_class(base))
        stats.__dict__["last_trace_host_stop"] = last
    _watch_backwards(stats, _watches[stats])


@guarded(None)
def _unwatch(stats: Any) -> None:
    known = _watches.pop(stats, None) if stats is not None else None
    if known is None:
        return
    stats.__class__ = type(stats).__mro__[1]
    originals = {id(ours): original for ours, original in known.backwards}
    for position, entry in enumerate(stats.interpreter_cache):
        original = originals.get(id(entry.backward_fn))
        if original is not None:
            stats.interpreter_cache[position] = entry._replace(backward_fn=original)


def _watched_class(base: type) -> type:
    def get(stats: Any) -> Any:
        return stats.__dict__["last_trace_host_stop"]

    def put(stats: Any, value: Any) -> None:  # the end of every call
        stats.__dict__["last_trace_host_stop"] = value
        known = _watches.get(stats)
        if known is not None and known.draws():
            _record(stats, known, _raised_in(sys._getframe(1)))

    members = {"last_trace_host_stop": property(get, put), "__module__": base.__module__, "__doc__": base.__doc__}
    return type(base.__name__, (base,), members)


def _raised_in(frame: FrameType) -> BaseException | None:
    """The exception that is leaving ``frame``; one that the program handles further out is none of it."""
    error = sys.exc_info()[1]
    traceback = error.__traceback__ if error is not None else None
    return error if traceback is not None and traceback.tb_frame is frame else None


@guarded(None)
def _record(stats: Any, known: _Watch, error: BaseException | None) -> None:
    recorder = _recorder()
    offset = recorder.now() - time.perf_counter_ns()
    began, ended = stats.last_trace_host_start, stats.last_trace_host_stop
    miss = stats.last_trace_cache_stop >= began
    attributes: dict[str, AttributeValue] = {
        semconv.FN: known.fn,
        semconv.STAGE: "call",
        semconv.CALL_CACHE: "miss" if miss else "hit",
        semconv.CALL_NUMBER: stats.calls,
        semconv.CALL_SAMPLE: known.sample,
    }
    call = recorder.start(semconv.SPAN_CALL, parent=None, attributes=attributes, start_ns=began + offset)
    if call is None:
        return
    for name, start, stop in _parts(stats, miss):
        if began <= start <= stop <= ended:
            _span(recorder, semconv.SPAN_CALL_PART + name, name, known, call, start + offset, stop + offset)
    recorder.end(call, error=error, end_ns=ended + offset)
    context = call.span.get_span_context()
    known.last = context if context.is_valid else None
    _watch_backwards(stats, known)


def _parts(stats: Any, miss: bool) -> list[tuple[str, int, int]]:
    """Name, start and stop of what a call consists of; the parts that this call did not reach lie outside it."""
    prologue = (stats.last_prologue_execution_start, stats.last_prologue_execution_stop)
    computation = (stats.last_trace_host_execution_start, stats.last_trace_host_execution_stop)
    return [
        *([("compile", stats.last_trace_cache_stop, prologue[0])] if miss else []),
        ("prologue", *prologue),
        ("computation", *computation),
        ("epilogue", computation[1], stats.last_trace_host_stop),
    ]


def _span(
    recorder: Recorder,
    name: str,
    stage: str,
    known: _Watch,
    parent: Stage | None,
    start_ns: int,
    end_ns: int,
    *,
    links: tuple[Link, ...] = (),
    error: ErrorInfo | None = None,
) -> None:
    attributes: dict[str, AttributeValue] = {semconv.FN: known.fn, semconv.STAGE: stage, semconv.KIND: stage}
    part = recorder.start(name, parent=parent, attributes=attributes, start_ns=start_ns, links=links)
    recorder.end(part, error=error, end_ns=end_ns)


def _recorder() -> Recorder:
    return _runtime.recorder() or _api


@guarded(None)
def _watch_backwards(stats: Any, known: _Watch) -> None:
    """Put a sampling function around the backward function of every cached entry that has none yet."""
    ours = {id(function) for function, _ in known.backwards}
    for position, entry in enumerate(stats.interpreter_cache):
        if entry.backward_fn is not None and id(entry.backward_fn) not in ours:
            function = _sampled_backward(entry.backward_fn, weakref.ref(known))
            known.backwards.append((function, entry.backward_fn))
            stats.interpreter_cache[position] = entry._replace(backward_fn=function)


def _sampled_backward(backward: Callable[..., Any], watched: weakref.ReferenceType[_Watch]) -> Callable[..., Any]:
    @functools.wraps(backward)
    def sampled(*args: Any) -> Any:
        known = watched()
        if known is None or not known.draws():
            return backward(*args)
        start = _recorder().now()
        error: BaseException | None = None
        try:
            return backward(*args)
        except BaseException as raised:
            error = raised
            raise
        finally:
            _record_backward(known, start, error)

    return sampled


@guarded(None)
def _record_backward(known: _Watch, start_ns: int, error: BaseException | None) -> None:
    recorder = _recorder()
    links = (Link(known.last),) if known.last is not None else ()
    described = describe_error(error) if error is not None else None
    name = semconv.SPAN_CALL_PART + "backward"
    _span(recorder, name, "backward", known, None, start_ns, recorder.now(), links=links, error=described)
