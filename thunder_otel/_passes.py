"""A pass as a stage: a call of thunder's that takes traces and returns traces, and the passes no wrapper stands around.

See :mod:`thunder_otel._hooks` for what every wrapper promises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thunder_otel import _hook_runs, _introspect, _patching, _regions, semconv
from thunder_otel._compile_state import TEXT_KEYS, CompileState, Frame, current
from thunder_otel._guard import guarded
from thunder_otel._model import AttributeValue
from thunder_otel._targets import Seam


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a call that takes and returns traces is shown."""

    span: str
    name: str
    kinds: tuple[str, ...] = ()
    attributes: dict[str, AttributeValue] = field(default_factory=dict)
    describe: Callable[[Frame, Any], None] | None = None


def observe(plan_for: Callable[[Any, Any], _Plan]) -> _patching.Wrapper:
    """A wrapper that shows a call as a stage. Exactly one frame of ours is on the stack while the call runs."""
    plan_safely = guarded(None)(plan_for)

    def wrapper(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        state = current()
        plan = plan_safely(instance, args) if state is not None else None
        if state is None or plan is None:
            return wrapped(*args, **kwargs)
        frame = _open_pass(state, plan, args, kwargs)
        try:
            _hook_runs.stop_if_asked()
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            close(state, frame, error)
            raise
        _finish_pass(state, frame, plan, args, kwargs, result)
        _hook_runs.stop_if_asked()
        return result

    return wrapper


def observe_pass(seam: Seam) -> _patching.Wrapper:
    """A pass: trace in, trace (or several) out."""
    span = seam.span + seam.name if seam.span.endswith(" ") else seam.span
    plan = _Plan(span, seam.name, seam.kinds, describe=_settle_ledger if span == semconv.SPAN_CLAIM else None)
    return observe(lambda _instance, _args: plan)


def _settle_ledger(frame: Frame, trace: Any) -> None:
    if frame.compile.ledger is not None and frame.compile.claims_ops():
        frame.compile.ledger.settle(trace)


def plan_fusion_pass(instance: Any, _args: Any) -> _Plan:
    """``fusion_pass`` of an executor."""
    executor = str(getattr(instance, "name", "?"))
    return _Plan(
        semconv.SPAN_FUSION_PASS + executor,
        f"fusion_pass-{executor}",
        attributes={
            semconv.EXECUTOR: executor,
            semconv.EXECUTOR_VERSION: str(getattr(instance, "version", "") or ""),
        },
        describe=lambda frame, result: _regions.describe_fusion_pass(frame, instance, result),
    )


def plan_transform(instance: Any, args: Any) -> _Plan:
    """A ``transform_...`` method of a transform."""
    name = type(instance).__name__
    return _Plan(
        semconv.SPAN_TRANSFORM + name,
        f"transform-{name}",
        ("prologue", "computation", "epilogue") if len(_introspect.traces_in(args)) > 1 else (),
        {semconv.TRANSFORM: f"{type(instance).__module__}.{type(instance).__qualname__}"},
    )


@guarded(None)
def _open_pass(state: CompileState, plan: _Plan, args: Any, kwargs: Any) -> Frame | None:
    flush_unseen(state, state.top, ())
    traces = _introspect.traces_in((*args, *kwargs.values()))
    if len(plan.kinds) == 1:
        kind = plan.kinds[0]
    else:
        kind = state.kind_of(traces[0], state.top.kind) if len(traces) == 1 else ""
    return state.open_frame(plan.span, plan.name, kind=kind, attributes=plan.attributes)


@guarded(None)
def _finish_pass(state: CompileState, frame: Frame | None, plan: _Plan, args: Any, kwargs: Any, result: Any) -> None:
    if frame is None:
        return
    given = _introspect.traces_in((*args, *kwargs.values()))
    made = _introspect.traces_in((result,) if _introspect.is_trace(result) else (result or ()))
    flush_unseen(state, frame, made)
    inherited = state.kind_of(given[0], frame.kind) if given else frame.kind
    for position, trace in enumerate(made):
        kind = plan.kinds[position] if position < len(plan.kinds) else state.kinds.get(trace) or inherited or "other"
        state.label(trace, kind)
        state.observe(
            frame, trace, key=TEXT_KEYS.get(kind, semconv.TRACE_TEXT) if len(made) > 1 else semconv.TRACE_TEXT
        )
    if plan.describe is not None:
        guarded(None)(plan.describe)(frame, result)
    frame.stage.attributes.setdefault(semconv.STAGE_OBSERVED, "call")
    state.close_frame(frame)


def flush_unseen(state: CompileState, frame: Frame, made: Any) -> None:
    """Give a stage to every trace that was made inside ``frame`` by a pass no wrapper stands around."""
    pending, frame.pending = frame.pending, []
    if frame.name == "compile" and not state.acquired:
        return
    known = {id(trace) for trace in made}
    for trace, when in pending:
        if id(trace) in known or (state.last_good is not None and state.last_good[1] is trace):
            continue
        known.add(id(trace))
        provenance = _introspect.provenance_of(trace)
        name = provenance.split(" (took")[0].strip() or "pass"
        start = frame.last_ns
        unseen = state.open_frame(
            semconv.SPAN_PASS + name,
            name,
            kind=state.kind_of(trace, frame.kind),
            attributes={semconv.STAGE_OBSERVED: "provenance"},
        )
        if unseen is None:
            continue
        unseen.stage.start_ns = min(start, when)
        state.observe(unseen, trace)
        state.close_frame(unseen)


@guarded(None)
def close(state: CompileState, frame: Frame | None, error: BaseException | None = None) -> None:
    if frame is not None:
        state.close_frame(frame, error=error)
