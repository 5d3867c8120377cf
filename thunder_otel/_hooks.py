"""The wrappers that stand around thunder's functions while recording is on.

Each calls what it wraps exactly once, with the same arguments, returns its result and lets its exception pass (only a
hook's own StopCompile is raised instead); all else it does is guarded. None is ever interpreted by thunder, and none
makes a span the current one: a program that looks at the current span while it is traced must see its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thunder_otel import (
    _compiling,
    _guards,
    _hook_runs,
    _introspect,
    _passes,
    _patching,
    _regions,
    _runtime,
    _targets,
    _thunderfx,
    semconv,
)
from thunder_otel._compile_state import CompileState, current
from thunder_otel._guard import guarded
from thunder_otel._targets import Seam
from thunder_otel.settings import Level


def observe_acquire(seam: Seam) -> _patching.Wrapper:
    """``thunder_general_jit``: opens the compile, and closes it when the acquisition fails."""

    def wrapper(wrapped: Callable[..., Any], _instance: Any, args: Any, kwargs: Any) -> Any:
        state = _compiling.open_compile(args) if _runtime.is_on() else None
        if state is None:
            return wrapped(*args, **kwargs)
        _patch_classes(state.info.level)
        frame = guarded(None)(state.open_frame)(semconv.SPAN_ACQUIRE, seam.name)
        try:
            _hook_runs.stop_if_asked()
            results = wrapped(*args, **kwargs)
            _compiling.acquired(state, frame, results)
            _hook_runs.stop_if_asked()
        except BaseException as error:
            _compiling.close_compile(state, error)
            raise
        return results

    return wrapper


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
        _passes.close(state, frame, error)
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
        _passes.close(state, frame, error)
        raise
    _passes.close(state, frame)
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
        if not _compiling.any_open():
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
            _compiling.close_compile(self._state, error)
        if error is None:
            _hook_runs.stop_if_asked()
        return swallowed


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
def _patch_classes(level: int) -> None:
    """Wrap the methods of the executors and transforms of the compile that opens, where they are defined."""
    data, _stats = _introspect.current_compile()
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
    "fusion_pass": _passes.observe(_passes.plan_fusion_pass),
    "fuse": observe_fuse,
    "transform": _passes.observe(_passes.plan_transform),
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
    return _patching.wrapt_factory(_passes.observe_pass(seam))
