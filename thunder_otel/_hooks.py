"""The wrappers that stand around thunder's functions while recording is on.

Each calls what it wraps exactly once, with the same arguments, returns its result and lets its exception pass (only a
hook's own StopCompile is raised instead); all else it does is guarded. None is ever interpreted by thunder, and none
makes a span the current one: a program that looks at the current span while it is traced must see its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thunder_otel import (
    _calls,
    _compile_state,
    _guards,
    _hook_runs,
    _introspect,
    _metrics,
    _patching,
    _regions,
    _runtime,
    _targets,
    _thunderfx,
    semconv,
)
from thunder_otel._compile_state import TEXT_KEYS, CompileState, Frame, current
from thunder_otel._guard import guarded, say
from thunder_otel._ledger import Ledger
from thunder_otel._model import AttributeValue, CompileInfo, Stage
from thunder_otel._recompile_bill import Watch
from thunder_otel._targets import Seam
from thunder_otel.settings import Level

_open_compiles = 0  # over all threads; lets a cached call pass with one comparison
_sequence = 0
_watches: weakref.WeakKeyDictionary[Any, Watch] = weakref.WeakKeyDictionary()  # of the compile stats of each function


def observe_acquire(seam: Seam) -> _patching.Wrapper:
    """``thunder_general_jit``: opens the compile, and closes it when the acquisition fails."""

    def wrapper(wrapped: Callable[..., Any], _instance: Any, args: Any, kwargs: Any) -> Any:
        state = _open_compile(args) if _runtime.is_on() else None
        if state is None:
            return wrapped(*args, **kwargs)
        frame = guarded(None)(state.open_frame)(semconv.SPAN_ACQUIRE, seam.name)
        try:
            _hook_runs.stop_if_asked()
            results = wrapped(*args, **kwargs)
            _acquired(state, frame, results)
            _hook_runs.stop_if_asked()
        except BaseException as error:
            _close_compile(state, error)
            raise
        return results

    return wrapper


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a call that takes and returns traces is shown."""

    span: str
    name: str
    kinds: tuple[str, ...] = ()
    attributes: dict[str, AttributeValue] = field(default_factory=dict)
    describe: Callable[[Frame, Any], None] | None = None


def _observe(plan_for: Callable[[Any, Any], _Plan]) -> _patching.Wrapper:
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
            _close(state, frame, error)
            raise
        _finish_pass(state, frame, plan, args, kwargs, result)
        _hook_runs.stop_if_asked()
        return result

    return wrapper


def observe_pass(seam: Seam) -> _patching.Wrapper:
    """A pass: trace in, trace (or several) out."""
    span = seam.span + seam.name if seam.span.endswith(" ") else seam.span
    plan = _Plan(span, seam.name, seam.kinds, describe=_settle_ledger if span == semconv.SPAN_CLAIM else None)
    return _observe(lambda _instance, _args: plan)


def _settle_ledger(frame: Frame, trace: Any) -> None:
    if frame.compile.ledger is not None and frame.compile.claims_ops():
        frame.compile.ledger.settle(trace)


def _plan_fusion_pass(instance: Any, _args: Any) -> _Plan:
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


def _plan_transform(instance: Any, args: Any) -> _Plan:
    name = type(instance).__name__
    return _Plan(
        semconv.SPAN_TRANSFORM + name,
        f"transform-{name}",
        ("prologue", "computation", "epilogue") if len(_introspect.traces_in(args)) > 1 else (),
        {semconv.TRANSFORM: f"{type(instance).__module__}.{type(instance).__qualname__}"},
    )


def observe_fuse(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
    """``fuse`` of a fusion executor or of a transform that fuses: makes one region."""
    state = current()
    if state is None:
        return wrapped(*args, **kwargs)
    frame = _regions.open_region(state, instance)
    try:
        _hook_runs.stop_if_asked()
        bsym = wrapped(*args, **kwargs)
    except BaseException as error:
        _close(state, frame, error)
        raise
    _regions.close_region(state, frame, bsym)
    _hook_runs.stop_if_asked()
    return bsym


def _observe_asked(*, to_fuse: bool) -> _patching.Wrapper:
    """``can_execute`` and ``can_fuse`` of an executor, while ops are claimed: who was asked for what, and said what."""

    def wrapper(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        state = current()
        ledger = state.ledger if state is not None and state.frames and state.claims_ops() else None
        if ledger is None:
            return wrapped(*args, **kwargs)
        ledger.depth += 1
        try:
            answer = wrapped(*args, **kwargs)
        finally:
            ledger.depth -= 1
        if not ledger.depth or not to_fuse:
            guarded(None)(ledger.hear)(instance, args[0] if args else kwargs["bsym"], answer, inner=bool(ledger.depth))
        return answer

    return wrapper


def observe_codegen(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
    """``TraceCtx.python_callable``: the Python that really runs."""
    state = current()
    if state is None:
        return wrapped(*args, **kwargs)
    kind = "region" if state.top.in_region else state.kind_of(instance, state.top.kind)
    frame = guarded(None)(state.open_frame)(semconv.SPAN_CODEGEN + kind, "codegen", kind=kind)
    if frame is not None:
        state.label(instance, kind)
        state.observe(frame, instance, final=True)
        _regions.describe_final(frame, instance)
    try:
        _hook_runs.stop_if_asked()
        function = wrapped(*args, **kwargs)
    except BaseException as error:
        _close(state, frame, error)
        raise
    _close(state, frame)
    _hook_runs.stop_if_asked()
    _generated(state, kind, instance, function)
    return function


def observe_provenance(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
    """``TraceCtx.set_provenance``: the end of every pass, also of those nobody told us about."""
    result = wrapped(*args, **kwargs)
    state = current()
    if state is not None and state.frames:
        state.top.pending.append((instance, state.recorder.now()))
    return result


def observe_lineage(wrapped: Callable[..., Any], _instance: Any, args: Any, kwargs: Any) -> Any:
    """``from_trace``: the new trace is of the old one's kind."""
    result = wrapped(*args, **kwargs)
    state = current()
    if state is not None:
        _inherit(state, args, result)
    return result


def scope_factory(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """``compile_data_and_stats``: its second use in a compile spans all passes, so its exit ends the compile."""

    def compile_data_and_stats(*args: Any, **kwargs: Any) -> Any:
        manager = wrapped(*args, **kwargs)
        if not _open_compiles:
            return manager
        state = current()
        if state is None or not state.acquired or len(args) < 2 or args[1] is not state.stats():
            return manager
        return _ClosingScope(manager, state)

    return compile_data_and_stats


class _ClosingScope:
    """thunder's context manager, and the end of the compile when it exits."""

    def __init__(self, manager: Any, state: CompileState) -> None:
        self._manager = manager
        self._state = state

    def __enter__(self) -> Any:
        return self._manager.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> Any:
        try:
            swallowed = self._manager.__exit__(kind, error, traceback)
        finally:
            _close_compile(self._state, error)
        if error is None:
            _hook_runs.stop_if_asked()
        return swallowed


@guarded(None)
def _open_compile(arguments: Any) -> CompileState | None:
    global _open_compiles, _sequence
    data, stats = _introspect.current_compile()
    level = _runtime.level_of(data)
    recorder = _runtime.recorder() if level and stats is not None else None
    if recorder is None or data is None:
        return None
    fn, call_args, call_kwargs = (*arguments, *(None, (), {})[len(arguments) :])[:3]
    _patch_classes(data, level)
    _sequence += 1
    info = CompileInfo(
        fn=_introspect.function_name(data.fn if data.fn is not None else fn),
        index=max(getattr(stats, "cache_misses", 1) - 1, 0),
        level=int(level),
        sequence=_sequence,
    )
    cache = _introspect.cache_option(data)
    location = _introspect.code_location(data.fn)
    attributes: dict[str, AttributeValue] = {
        semconv.FN: info.fn,
        semconv.COMPILE_ID: info.id,
        semconv.COMPILE_INDEX: info.index,
        semconv.STAGE: "compile",
        semconv.COMPILE_LEVEL: info.level,
        semconv.COMPILE_CACHE: cache,
        semconv.COMPILE_EXECUTORS: _introspect.executor_names(data.executors_list),
        semconv.COMPILE_TRANSFORMS: [type(item).__name__ for item in getattr(data, "transforms", None) or ()],
        **_guards.compile_reason(stats, cache, call_args, call_kwargs),
    }
    if location.file:
        attributes |= {
            semconv.CODE_FUNCTION: info.fn,
            semconv.CODE_FILE: location.file,
            semconv.CODE_LINE: location.line,
        }
    outer = current()
    parent = outer.top.stage if outer is not None and outer.frames else _thunderfx.parent_of(data)
    _metrics.watch(stats, info.fn)
    if recorder.settings.calls:
        _calls.watch_by_setting(stats, info.fn, recorder.settings.calls)
    stage = recorder.start(semconv.SPAN_COMPILE, parent=parent, compile=info, attributes=attributes)
    if stage is None:
        return None
    state = CompileState(info, recorder, weakref.ref(stats))
    if level >= Level.NVFUSER_REGION:
        state.ledger = Ledger(data.executors_list)
    state.frames.append(Frame(stage, state, "compile", last_ns=stage.start_ns))
    _compile_state.local.states.append(state)
    _open_compiles += 1
    return state


@guarded(None)
def _acquired(state: CompileState, frame: Frame | None, results: Any) -> None:
    state.acquired = True
    for kind in ("prologue", "computation", "epilogue"):
        trace = getattr(results, f"{kind}_trace", None)
        if trace is not None:
            state.label(trace, kind)
            if frame is not None:
                state.observe(frame, trace, key=TEXT_KEYS[kind])
    if frame is not None:
        frame.pending.clear()
        state.close_frame(frame)


@guarded(None)
def _close_compile(state: CompileState, error: BaseException | None) -> None:
    global _open_compiles
    states = _compile_state.local.states
    if state not in states:
        return
    while states:  # a compile that was left open inside this one ends with it
        inner = states.pop()
        _open_compiles -= 1
        if error is not None:
            inner.keep_last_good()
        else:
            _flush_unseen(inner, inner.frames[0], ())
        _regions.finish(inner)
        root = inner.frames[0].stage
        inner.close_frame(inner.frames[0], error=error)
        _warn_of_recompiles(inner, root)
        if error is not None:
            _hook_runs.forget_stop()
        if inner is state:
            return


@guarded(None)
def _warn_of_recompiles(state: CompileState, root: Stage) -> None:
    stats = state.stats()
    if stats is None or root.end_ns is None:
        return
    watch = _watches.setdefault(stats, Watch())
    limit = state.recorder.settings.recompile_warning
    if warning := watch.ended(root.attributes, (root.end_ns - root.start_ns) / 1e9, limit=limit):
        say(warning)


@guarded(None)
def _open_pass(state: CompileState, plan: _Plan, args: Any, kwargs: Any) -> Frame | None:
    _flush_unseen(state, state.top, ())
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
    _flush_unseen(state, frame, made)
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


def _flush_unseen(state: CompileState, frame: Frame, made: Any) -> None:
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
def _close(state: CompileState, frame: Frame | None, error: BaseException | None = None) -> None:
    if frame is not None:
        state.close_frame(frame, error=error)


@guarded(None)
def _inherit(state: CompileState, args: Any, result: Any) -> None:
    if args and _introspect.is_trace(args[0]) and _introspect.is_trace(result):
        kind = state.kinds.get(args[0])
        if kind is not None:
            state.kinds[result] = kind


def _generated(state: CompileState, kind: str, trace: Any, function: Any) -> None:
    """Remember what generated code belongs to: a prologue to its compile, a region's code by its file to the region."""
    if len(state.frames) == 1 and kind == "prologue":
        _guards.remember(trace, state.info.index)
    elif state.top.in_region:
        _regions.remember_code(state.top, function)


@guarded(None)
def _patch_classes(data: Any, level: Level) -> None:
    """Wrap the methods of the executors and transforms of this compile, where they are defined."""
    verdicts = _targets.VERDICT_METHODS if level >= Level.NVFUSER_REGION else ()
    for item, methods in (
        *((executor, (*_targets.EXECUTOR_METHODS, *verdicts)) for executor in data.executors_list),
        *((transform, _targets.TRANSFORM_METHODS) for transform in getattr(data, "transforms", None) or ()),
    ):
        for name, role in methods:
            owner = next((cls for cls in type(item).__mro__ if name in vars(cls)), None)
            if owner is not None and (role in _ON_BASE_CLASSES or owner.__name__ not in _BASE_CLASSES):
                _patching.patch_method(owner, name, METHOD_WRAPPERS[role])


_BASE_CLASSES = ("FusionExecutor", "Executor", "Transform")  # their methods only say that a subclass must have one
_ON_BASE_CLASSES = ("asked", "asked_to_fuse")

METHOD_WRAPPERS: dict[str, _patching.Wrapper] = {
    "fusion_pass": _observe(_plan_fusion_pass),
    "fuse": observe_fuse,
    "transform": _observe(_plan_transform),
    "provenance": observe_provenance,
    "codegen": observe_codegen,
    "asked": _observe_asked(to_fuse=False),
    "asked_to_fuse": _observe_asked(to_fuse=True),
    "fx_backend": _thunderfx.observe_backend,
}


def factory_for(seam: Seam) -> _patching.Factory:
    """How the bindings of a seam are replaced."""
    if seam.role == "scope":
        return _patching.closure_factory(scope_factory)
    if seam.role == "lineage":
        return _patching.wrapt_factory(observe_lineage)
    if seam.role == "fx_split":
        return _patching.wrapt_factory(_thunderfx.observe_splitter)
    if seam.role == "acquire":
        return _patching.wrapt_factory(observe_acquire(seam))
    return _patching.wrapt_factory(observe_pass(seam))


def forget_open_compiles() -> None:
    """In a forked child no compile is open."""
    global _open_compiles
    _open_compiles = 0
