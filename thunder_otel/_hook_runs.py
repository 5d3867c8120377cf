"""Lets the hooks see a stage and takes over what they changed; a hook that fails leaks nothing and stops nothing."""

from __future__ import annotations

import threading
from dataclasses import replace

from opentelemetry.trace import INVALID_SPAN

from thunder_otel import _bounded, semconv
from thunder_otel._guard import describe, say
from thunder_otel._model import ErrorInfo, Stage
from thunder_otel._span_hooks import NEEDED, Registered, SpanRecord, StopCompile, registered

STRIKES = 3


class _Stopping(threading.local):
    error: StopCompile | None = None


_stopping = _Stopping()


def run(stage: Stage, *, at_end: bool) -> None:
    """Let the hooks see a stage that starts or ended; fills in what they changed, and ``stage.hidden`` on a veto."""
    for hook in registered():
        if hook.at_end is at_end and hook.wants(stage):
            _run_one(hook, stage)
            if stage.hidden:
                return


def _run_one(hook: Registered, stage: Stage) -> None:
    if _bounded.on_worker() or any(not job.finished for job in hook.late) or len(hook.late) >= STRIKES:
        _failed(hook, stage)
        return
    record = _record_of(stage, hook.at_end)
    try:
        error = _bounded.start(lambda: hook.function(record), hook.timeout).error
    except _bounded.Overrun as overrun:
        hook.late.append(overrun.args[0])
        say(
            f"hook {hook.name} took longer than its timeout of {hook.timeout:g} s; the compile does not wait for it"
            f" (after {STRIKES} times it is called no more)",
            key=f"hook-late:{id(hook)}",
        )
        _failed(hook, stage)
        return
    except RuntimeError as refused:  # the interpreter no longer starts threads
        error = refused
    if isinstance(error, StopCompile):
        _stop(hook, stage, error)
    elif error is not None:
        say(f"hook {hook.name} raised {describe(error)} and is passed over", key=f"hook-raised:{id(hook)}")
        _failed(hook, stage)
        return
    _take_over(hook, stage, record)


def _record_of(stage: Stage, at_end: bool) -> SpanRecord:
    return SpanRecord(
        name=stage.name,
        stage=str(stage.attributes.get(semconv.STAGE, "")),
        kind=str(stage.attributes.get(semconv.KIND, "")),
        fn=stage.compile.fn if stage.compile is not None else str(stage.attributes.get(semconv.FN, "")),
        trace_id=stage.trace_id,
        span_id=stage.span_id,
        parent_id=stage.parent_id,
        start_ns=stage.start_ns,
        end_ns=stage.end_ns if at_end else None,
        attributes={
            key: list(value) if isinstance(value, (list, tuple)) else value for key, value in stage.attributes.items()
        },
        texts={payload.key: payload.text for payload in stage.payloads},
        error=stage.error,
    )


def _take_over(hook: Registered, stage: Stage, record: SpanRecord) -> None:
    if record.vetoed:
        hide(stage, f"vetoed by {hook.name}")
        return
    if not hook.at_end:
        record.attributes.update({key: value for key, value in stage.attributes.items() if key in NEEDED})
    wrong = [key for key, value in record.attributes.items() if not isinstance(key, str) or not _is_value(value)]
    for key in wrong:
        kind = type(record.attributes.pop(key)).__name__
        say(f"hook {hook.name} gave attribute {key!r} a value of type {kind}; it is left out", key=f"hook-value:{key}")
    stage.attributes.clear()
    stage.attributes.update(record.attributes)
    stage.payloads[:] = [
        payload if record.texts[payload.key] == payload.text else replace(payload, text=str(record.texts[payload.key]))
        for payload in stage.payloads
        if payload.key in record.texts
    ]
    if record.error is None or isinstance(record.error, ErrorInfo):
        stage.error = record.error


def _is_value(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, (str, bool, int, float)) for item in value)
    return isinstance(value, (str, bool, int, float))


def hide(stage: Stage, why: str) -> None:
    """Nothing of the stage is exported; its span is dropped unended, the one public way to keep it from exporters."""
    kept = {key: value for key, value in stage.attributes.items() if key in (semconv.STAGE, semconv.STAGE_INDEX)}
    stage.attributes.clear()
    stage.attributes.update(kept, **{semconv.WITHHELD: why})
    stage.payloads.clear()
    stage.error = ErrorInfo(stage.error.type, "", "") if stage.error is not None else None
    stage.span = INVALID_SPAN
    stage.hidden = True


def _failed(hook: Registered, stage: Stage) -> None:
    """A hook did not do its work: what a redacting one has not seen is left out, rather than shown."""
    if not hook.redacts:
        return
    for key, value in list(stage.attributes.items()):
        if key not in NEEDED and isinstance(value, (str, list, tuple)):
            del stage.attributes[key]
    stage.attributes[semconv.WITHHELD] = f"{hook.name} could not redact it"
    stage.payloads.clear()
    stage.error = ErrorInfo(stage.error.type, "", "") if stage.error is not None else None


def _stop(hook: Registered, stage: Stage, error: StopCompile) -> None:
    root = stage
    while root.parent is not None:
        root = root.parent
    if root is stage or root.end_ns is None:
        _stopping.error = _stopping.error or error
    else:
        say(f"hook {hook.name} raised StopCompile in {stage.name}, which runs after the compile; it has no effect")


def stop_if_asked() -> None:
    """Raise the :class:`StopCompile` that a hook asked for on this thread, once."""
    error = _stopping.error
    if error is not None:
        _stopping.error = None
        raise error


def forget_stop() -> None:
    """The compile ends with another error: a stop that was asked for is moot."""
    _stopping.error = None
