"""ThunderFX: Dynamo's graph, how thunder splits it and why, and each subgraph's compile.

thunder stands behind ``torch.compile`` as a backend there. The backend and its splitter run while Dynamo compiles, on
plain Python that nobody traces; the compiled subgraphs run later, so the ``thunder.compile`` of a subgraph is put under
the subgraph's span by :func:`parent_of`.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thunder_otel import _fx_graphs, _kernels, _runtime, semconv
from thunder_otel._compile_state import current
from thunder_otel._guard import guarded
from thunder_otel._model import AttributeValue, Payload, Stage
from thunder_otel._telemetry import Recorder
from thunder_otel._torch_trace import TorchTrace
from thunder_otel.settings import parse_level


@dataclass(eq=False)
class _Open:
    """A span of ours that is open on this thread; it is on the stack of torch's trace, too, where there is one."""

    recorder: Recorder
    stage: Stage
    trace: TorchTrace | None
    common: dict[str, AttributeValue]
    subgraphs: list[_Subgraph] = field(default_factory=list)


@dataclass(eq=False)
class _Subgraph:
    """One subgraph that was compiled; its name is known when the whole graph is split."""

    stage: Stage
    compiled: Any
    end_ns: int


class _Local(threading.local):
    def __init__(self) -> None:
        self.opened: list[_Open] = []


_local = _Local()
_parents: weakref.WeakKeyDictionary[Any, Stage] = weakref.WeakKeyDictionary()  # thunder's CompileData -> subgraph


def parent_of(compile_data: Any) -> Stage | None:
    """The subgraph that a thunder compile belongs to, or ``None``."""
    try:
        return _parents.get(compile_data)
    except TypeError:
        return None


def observe_backend(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
    """``ThunderCompiler.__call__``: Dynamo hands over a graph."""
    opened = _open_graph(instance, args) if _runtime.is_on() else None
    try:
        result = wrapped(*args, **kwargs)
    except BaseException as error:
        _close(opened, error)
        raise
    _close(opened)
    return result


def observe_splitter(wrapped: Callable[..., Any], _instance: Any, args: Any, kwargs: Any) -> Any:
    """``_splitter(gm, thunder_jit, torch_inductor, ...)``: cuts the graph and compiles the pieces."""
    opened = _open_split(args) if _runtime.is_on() and len(args) > 2 else None
    if opened is None:
        return wrapped(*args, **kwargs)
    compilers = (_timed(opened, args[1], "thunder"), _timed(opened, args[2], "inductor"))
    try:
        result = wrapped(args[0], *compilers, *args[3:], **kwargs)
    except BaseException as error:
        _end_subgraphs(opened, None)
        _close(opened, error)
        raise
    _end_subgraphs(opened, result)
    _close(opened)
    return result


def _timed(opened: _Open, compiler: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """The compiler of one kind of subgraph, and a span for each call of it."""

    def compile_subgraph(*args: Any, **kwargs: Any) -> Any:
        stage = _open_subgraph(opened, kind, args)
        try:
            compiled = compiler(*args, **kwargs)
        except BaseException as error:
            _close_subgraph(opened, stage, None, error)
            raise
        _close_subgraph(opened, stage, compiled)
        return compiled

    return compile_subgraph


@guarded(None)
def _open_graph(backend: Any, args: Any) -> _Open | None:
    if not _level(backend):
        return None
    graph_module = args[0]
    identifier = _compile_id()
    common: dict[str, AttributeValue] = {semconv.TORCH_COMPILE_ID: identifier} if identifier else {}
    attributes: dict[str, AttributeValue] = {**common, semconv.STAGE: "fx_graph"}
    reason = getattr(graph_module, "compile_subgraph_reason", None)
    if reason is not None and reason.graph_break:
        attributes[semconv.GRAPH_BREAK_REASONS] = [str(reason.reason)]
        attributes[semconv.GRAPH_BREAK_SOURCES] = [
            f"{frame.filename}:{frame.lineno}" for frame in reason.user_stack[-1:]
        ]
    return _start(semconv.SPAN_FX_GRAPH, attributes, common)


@guarded(None)
def _open_split(args: Any) -> _Open | None:
    outer = _local.opened[-1] if _local.opened else None
    if outer is None:
        return None
    graph = _fx_graphs.describe(args[0])
    outer.stage.attributes |= {
        semconv.FX_NODES: len(graph.ops),
        semconv.FX_OPS: list(graph.ops),
        semconv.FX_SOURCES: list(graph.sources),
    }
    outer.stage.payloads.append(Payload(semconv.FX_GRAPH_TEXT, graph.text, "torch", f"{_label(outer)}-fx_graph"))
    return _start(semconv.SPAN_FX_SPLIT, {**outer.common, semconv.STAGE: "fx_split"}, outer.common)


def _start(name: str, attributes: dict[str, AttributeValue], common: dict[str, AttributeValue]) -> _Open | None:
    recorder = _runtime.recorder()
    if recorder is None:
        return None
    trace = _kernels.open_trace(str(common.get(semconv.TORCH_COMPILE_ID, "")))
    inner = current()
    parent = (
        trace.parent
        if trace is not None
        else _local.opened[-1].stage
        if _local.opened
        else inner.top.stage
        if inner is not None
        else None
    )
    stage = recorder.start(name, parent=parent, attributes=attributes)
    if stage is None:
        return None
    opened = _Open(recorder, stage, trace, common)
    _local.opened.append(opened)
    if trace is not None:
        trace.stack.append(stage)
    return opened


@guarded(None)
def _open_subgraph(opened: _Open, kind: str, args: Any) -> Stage | None:
    graph = _fx_graphs.describe(args[0])
    stage = opened.recorder.start(
        semconv.SPAN_FX_SUBGRAPH + "?",
        parent=opened.stage,
        attributes={
            **opened.common,
            semconv.STAGE: "fx_subgraph",
            semconv.FX_COMPILER: kind,
            semconv.FX_OPS: list(graph.ops),
            semconv.FX_SOURCES: list(graph.sources),
        },
    )
    if stage is None:
        return None
    label = f"{_label(opened)}-fx_subgraph-{len(opened.subgraphs)}-{kind}"
    stage.payloads.append(Payload(semconv.FX_SUBGRAPH_TEXT, graph.text, "torch", label))
    if opened.trace is not None:
        opened.trace.stack.append(stage)
    return stage


@guarded(None)
def _close_subgraph(opened: _Open, stage: Stage | None, compiled: Any, error: BaseException | None = None) -> None:
    if stage is None:
        return
    if opened.trace is not None and stage in opened.trace.stack:
        opened.trace.stack.remove(stage)
    if error is not None:
        opened.recorder.end(stage, error=error)
        return
    opened.subgraphs.append(_Subgraph(stage, compiled, opened.recorder.now()))
    data = getattr(compiled, "_lc_cd", None)
    if data is not None:
        _parents[data] = stage


@guarded(None)
def _end_subgraphs(opened: _Open, result: Any) -> None:
    """The graph is split: say how and why, and give the subgraphs the names they have in it."""
    attributes, recorder = opened.stage.attributes, opened.recorder
    split_module, info = result if result is not None else (None, None)
    names = dict(_fx_graphs.subgraph_names(split_module)) if split_module is not None else {}
    for subgraph in opened.subgraphs:
        name = names.pop(id(subgraph.compiled), "?")
        subgraph.stage.name = semconv.SPAN_FX_SUBGRAPH + name
        subgraph.stage.span.update_name(subgraph.stage.name)
        subgraph.stage.attributes[semconv.FX_SUBGRAPH] = name
        recorder.end(subgraph.stage, end_ns=subgraph.end_ns)
    if info is None:
        return
    attributes[semconv.FX_SUBGRAPHS] = _fx_graphs.children_of(split_module)
    attributes[semconv.FX_COMPILER] = ["eager" for _ in names.values()]
    reasons = _fx_graphs.split_reasons(info)
    attributes[semconv.SPLIT_REASONS] = [reason.reason for reason in reasons]
    attributes[semconv.SPLIT_OPS] = [reason.op for reason in reasons]
    attributes[semconv.SPLIT_SOURCES] = [reason.source for reason in reasons]
    attributes[semconv.SPLIT_EXCEPTIONS] = [reason.exception for reason in reasons]
    text = _fx_graphs.graph_text(split_module)
    opened.stage.payloads.append(Payload(semconv.SPLIT_TEXT, text, "torch", f"{_label(opened)}-fx_split"))


@guarded(None)
def _close(opened: _Open | None, error: BaseException | None = None) -> None:
    if opened is None:
        return
    while _local.opened:
        top = _local.opened.pop()
        if top.trace is not None and top.stage in top.trace.stack:
            top.trace.stack.remove(top.stage)
        top.recorder.end(top.stage, error=error)
        if top is opened:
            return


def _level(backend: Any) -> int:
    """What is recorded of this backend: its own ``thunder_debug`` option, else the process's level."""
    asked = getattr(backend, "thunder_options", {}).get("thunder_debug")
    return int(_runtime.level_of(None) if asked is None else parse_level(asked))


def _compile_id() -> str:
    guards = sys.modules.get("torch._guards")
    identifier = guards.CompileContext.current_compile_id() if guards is not None else None
    return "" if identifier is None else str(identifier)


def _label(opened: _Open) -> str:
    return str(opened.common.get(semconv.TORCH_COMPILE_ID, "no_id")).replace("/", "_")
