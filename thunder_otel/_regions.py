"""Fusion regions: what was fused, what stayed out and why, and which generated code belongs to which region.

An executor fuses each region twice (again after rematerialisation), and only the trace that runs tells which one
counts. So a region's span stays open until its compile ends, with the time at which it was fused kept aside.
"""

from __future__ import annotations

import dataclasses
import weakref
from typing import Any

from thunder_otel import _introspect, _ledger, _verdicts, semconv
from thunder_otel._compile_state import KINDS, CompileState, Frame, RegionCode
from thunder_otel._guard import guarded
from thunder_otel._model import Payload
from thunder_otel.settings import Level

MAX_LISTED = 2000


_code: dict[str, RegionCode] = {}  # generated file name -> region
_runnables: weakref.WeakKeyDictionary[Any, RegionCode] = weakref.WeakKeyDictionary()


@guarded(None)
def open_region(state: CompileState, executor: Any) -> Frame | None:
    """A region is about to be fused; its name is known once it is."""
    name = str(getattr(executor, "name", None) or type(executor).__name__)
    frame = state.open_frame(
        semconv.SPAN_REGION + "?",
        "fuse",
        kind=state.top.kind,
        attributes={semconv.EXECUTOR: name},
    )
    if frame is not None:
        frame.in_region = True
    return frame


@guarded(None)
def close_region(state: CompileState, frame: Frame | None, bsym: Any) -> None:
    """A region was fused: keep its span for the compile's end."""
    if frame is None:
        return
    name = bsym.sym.name
    frame.region = name
    frame.stage.name = semconv.SPAN_REGION + name
    frame.stage.span.update_name(frame.stage.name)
    frame.stage.attributes[semconv.REGION] = name
    frame.stage.end_ns = state.recorder.now()
    while state.frames and state.frames[-1] is not frame:
        state.close_frame(state.frames[-1])
    state.frames.pop()
    if state.frames:
        state.frames[-1].last_ns = frame.stage.end_ns
    earlier = state.regions.setdefault(_key(frame.kind, str(frame.stage.attributes[semconv.EXECUTOR]), name), [])
    for old in earlier:
        old.stage.attributes[semconv.REGION_REBUILT] = True
    earlier.append(frame)
    for runnable in _introspect.runnables(bsym):
        _runnables[runnable] = RegionCode(state.info, state.root.stage)
        frame.codes.append(_runnables[runnable])
    for code in frame.codes:
        code.name, code.kind = name, frame.kind
    if state.has(Level.NVFUSER_REGION):
        frame.ops = _introspect.ops_by_output(bsym)


@guarded(None)
def remember_code(frame: Frame, function: Any) -> None:
    """The code generated inside a region: when it is compiled for the first time, its file name tells the region."""
    region = next((outer for outer in reversed(frame.compile.frames) if outer.name == "fuse"), None)
    code = getattr(function, "__code__", None)
    if region is not None and code is not None:
        known = RegionCode(frame.compile.info, frame.compile.root.stage)
        region.codes.append(known)
        _code[code.co_filename] = known


def region_of_code(file: str) -> RegionCode | None:
    """The region that the generated file belongs to."""
    return _code.get(file)


def region_of_runnable(runnable: Any) -> RegionCode | None:
    """The region that an nvFuser cache of definitions or a CUDA graph's function belongs to."""
    return _runnables.get(runnable)


@guarded(None)
def describe_fusion_pass(frame: Frame | None, executor: Any, trace: Any) -> None:
    """Regions made and ops left alone by a fusion pass, from the trace it returned."""
    if frame is None or not frame.compile.has(Level.NVFUSER_REGION) or not _introspect.is_trace(trace):
        return
    attributes = frame.stage.attributes
    mine = [region for region in _introspect.regions_in(trace) if region.executor == str(executor.name)]
    attributes[semconv.FUSED_COUNT] = len(mine)
    why = frame.compile.ledger.why_left_out if frame.compile.ledger is not None else _verdicts.why_not
    unfused = [bsym for bsym in trace.bound_symbols if not _passes_by(bsym)]
    reasons = [why(executor, bsym).words for bsym in unfused]  # of all: the ledger keeps them
    attributes[semconv.UNFUSED_OPS] = [_op_and_output(bsym) for bsym in unfused[:MAX_LISTED]]
    attributes[semconv.UNFUSED_REASONS] = reasons[:MAX_LISTED]


def _passes_by(bsym: Any) -> bool:
    return _introspect.is_region(bsym) or _introspect.is_bookkeeping(bsym)


def _op_and_output(bsym: Any) -> str:
    op = _introspect.op_name(bsym)
    return f"{op} -> {_introspect.describe_value(bsym.output)}" if bsym.flat_proxy_outs else op


@guarded(None)
def describe_final(frame: Frame, trace: Any) -> None:
    """A trace that will run: its regions are the ones that count."""
    state = frame.compile
    if not state.has(Level.NVFUSER_REGION) or frame.in_region:
        return
    regions = _introspect.regions_in(trace)
    separators = _verdicts.separators(trace)
    frame.stage.attributes[semconv.REGIONS] = [region.name for region in regions]
    if state.ledger is not None and frame.kind in ("computation", "backward"):
        _add_ledger(frame, state.ledger, trace)
    for position, info in enumerate(regions):
        frames = next(
            (
                state.regions[key]
                for kind in (frame.kind, "joint")
                if (key := _key(kind, info.executor, info.name)) in state.regions
            ),
            None,
        )
        if not frames:
            continue
        made = frames[-1]
        for code in made.codes:
            code.kind = frame.kind
        attributes = made.stage.attributes
        attributes[semconv.KIND] = frame.kind
        attributes[semconv.REGION_FINAL] = True
        attributes[semconv.REGION_REBUILT] = False
        attributes[semconv.EXECUTOR] = info.executor
        attributes[semconv.EXECUTOR_VERSION] = info.executor_version
        attributes[semconv.REGION_OP_COUNT] = len(info.ops)
        attributes[semconv.REGION_OPS] = list(info.ops[:MAX_LISTED])
        attributes[semconv.REGION_INPUTS] = list(info.inputs)
        attributes[semconv.REGION_OUTPUTS] = list(info.outputs)
        attributes[semconv.REGION_SOURCES] = list(info.source_lines[:MAX_LISTED])
        if separators.get(info.name):
            attributes[semconv.REGION_SPLIT_BY] = separators[info.name][:MAX_LISTED]
        if info.parent:
            attributes[semconv.REGION_PARENT] = info.parent
        bsym = _introspect.find_region(trace, info.name)
        made.ops_that_run = _introspect.ops_by_output(bsym)
        gone = [op for out, op in frames[0].ops.items() if out not in made.ops_that_run]
        if gone:
            attributes[semconv.REGION_DELETED] = gone[:MAX_LISTED]
        if not any(_introspect.is_region(sub) for sub in bsym.subsymbols):
            state.innermost.append((KINDS.index(frame.kind) if frame.kind in KINDS else len(KINDS), position, made))
        label = f"{attributes[semconv.STAGE_INDEX]:02d}-{frame.kind}-{info.name}"
        made.stage.payloads[:] = [
            Payload(semconv.REGION_TEXT, _text(info, bsym, gone), "regions", label, ".py", frame.kind)
        ]


@guarded(None)
def _add_ledger(frame: Frame, ledger: _ledger.Ledger, trace: Any) -> None:
    entries = list(ledger.entries(trace))
    attributes = frame.stage.attributes
    attributes[semconv.LEDGER_OPS] = len(entries)
    attributes[semconv.LEDGER_SUMMARY] = _ledger.summary(entries)
    label = f"{attributes[semconv.STAGE_INDEX]:02d}-{frame.kind}-ledger"
    text = _ledger.as_text(entries)
    frame.stage.payloads.append(Payload(semconv.LEDGER_TEXT, text, "regions", label, ".jsonl", frame.kind))


@guarded(None)
def finish(state: CompileState) -> None:
    """The compile ends: so do the spans of its regions."""
    _mark_rematerialized(state)
    for frames in state.regions.values():
        for frame in frames:
            frame.stage.attributes.setdefault(semconv.REGION_FINAL, False)
            state.recorder.end(frame.stage, end_ns=frame.stage.end_ns)
    state.regions.clear()


@guarded(None)
def _mark_rematerialized(state: CompileState) -> None:
    """Say which ops a region computes that an earlier one computes as well; the forward's regions come first."""
    computed: set[str] = set()
    for _, _, frame in sorted(state.innermost, key=lambda item: item[:2]):
        again = [op for out, op in frame.ops_that_run.items() if out and out in computed]
        computed |= frame.ops_that_run.keys()
        if again:
            stage = frame.stage
            stage.attributes[semconv.REGION_REMATERIALIZED] = again[:MAX_LISTED]
            facts = "".join(f"# recomputed here  {op}\n" for op in again)
            stage.payloads[:] = [dataclasses.replace(text, text=facts + text.text) for text in stage.payloads]
    state.innermost.clear()


def _key(kind: str, executor: str, name: str) -> str:
    return f"{kind}:{executor}:{name}"


def _text(info: _introspect.RegionInfo, bsym: Any, gone: list[str]) -> str:
    facts = [
        f"# {info.name} by executor {info.executor} {info.executor_version}".rstrip(),
        *(f"# in   {value}" for value in info.inputs),
        *(f"# out  {value}" for value in info.outputs),
        *(f"# from {line}" for line in info.source_lines),
        *(f"# deleted since it was fused  {op}" for op in gone),
    ]
    return "\n".join([*facts, _introspect.region_text(bsym)]) + "\n"
