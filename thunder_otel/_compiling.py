"""A compile from its first stage to its last: what is known when it opens, and what is said when it closes."""

from __future__ import annotations

import weakref
from typing import Any

from thunder_otel import (
    _calls,
    _compile_state,
    _guards,
    _hook_runs,
    _introspect,
    _metrics,
    _passes,
    _regions,
    _runtime,
    _thunderfx,
    semconv,
)
from thunder_otel._compile_state import TEXT_KEYS, CompileState, Frame, current
from thunder_otel._guard import guarded, say
from thunder_otel._ledger import Ledger
from thunder_otel._model import AttributeValue, CompileInfo, Stage
from thunder_otel._recompile_bill import Watch
from thunder_otel.settings import Level

_open_compiles = 0  # over all threads; lets a cached call pass with one comparison
_sequence = 0
_watches: weakref.WeakKeyDictionary[Any, Watch] = weakref.WeakKeyDictionary()  # of the compile stats of each function


def any_open() -> bool:
    """Whether a compile is open, in whatever thread."""
    return _open_compiles > 0


@guarded(None)
def open_compile(arguments: Any) -> CompileState | None:
    """Open the compile that ``thunder_general_jit`` was called for; None when it is not recorded."""
    global _open_compiles, _sequence
    data, stats = _introspect.current_compile()
    level = _runtime.level_of(data)
    recorder = _runtime.recorder() if level and stats is not None else None
    if recorder is None or data is None:
        return None
    fn, call_args, call_kwargs = (*arguments, *(None, (), {})[len(arguments) :])[:3]
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
def acquired(state: CompileState, frame: Frame | None, results: Any) -> None:
    """The acquisition's end: its traces are labelled by what thunder calls them."""
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
def close_compile(state: CompileState, error: BaseException | None) -> None:
    """Close a compile, with what raised in it."""
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
            _passes.flush_unseen(inner, inner.frames[0], ())
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


def forget_open_compiles() -> None:
    """In a forked child no compile is open."""
    global _open_compiles
    _open_compiles = 0
