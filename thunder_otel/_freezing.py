"""Makes the records of :mod:`thunder_otel._records` from stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

from thunder_otel import semconv
from thunder_otel._model import Payload, Stage
from thunder_otel._records import (
    CaptureRecord,
    CompileRecord,
    FailedGuard,
    KernelRecord,
    RecompileRecord,
    RegionRecord,
    StageRecord,
    Text,
    TraceRecord,
)

_TRACE_KEYS = (
    semconv.TRACE_TEXT,
    semconv.TRACE_PROLOGUE_TEXT,
    semconv.TRACE_COMPUTATION_TEXT,
    semconv.TRACE_BACKWARD_TEXT,
    semconv.TRACE_EPILOGUE_TEXT,
)


def freeze(stage: Stage) -> StageRecord:
    """The record of a stage that has ended; nothing of it is shared with the stage."""
    attributes = stage.attributes
    return StageRecord(
        name=stage.name,
        stage=str(attributes.get(semconv.STAGE, "")),
        index=_whole(attributes.get(semconv.STAGE_INDEX)),
        kind=str(attributes.get(semconv.KIND, "")),
        fn=stage.compile.fn if stage.compile is not None else str(attributes.get(semconv.FN, "")),
        compile_id=stage.compile.id if stage.compile is not None else "",
        compile_number=stage.compile.sequence if stage.compile is not None else 0,
        trace_id=stage.trace_id,
        span_id=stage.span_id,
        parent_id=stage.parent_id,
        start_ns=stage.start_ns,
        end_ns=stage.end_ns if stage.end_ns is not None else stage.start_ns,
        thread_id=stage.thread_id,
        attributes=MappingProxyType({key: _frozen(value) for key, value in attributes.items()}),
        texts=tuple(_text(payload) for payload in stage.payloads),
        error=stage.error,
    )


def _text(payload: Payload) -> Text:
    return Text(payload.key, payload.kind, payload.text)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _whole(value: object) -> int:
    return value if isinstance(value, int) else -1


def _words(record: StageRecord, key: str) -> tuple[str, ...]:
    value = record.attributes.get(key, ())
    return tuple(str(item) for item in value) if isinstance(value, tuple) else ()


def compiles_in(stages: Sequence[StageRecord]) -> Iterator[CompileRecord]:
    """The compiles whose root stage is among ``stages``, which are in order."""
    for root in stages:
        if root.name != semconv.SPAN_COMPILE:
            continue
        get = root.attributes.get
        entries = get(semconv.GUARD_ENTRIES, ())
        yield CompileRecord(
            fn=root.fn,
            index=_whole(get(semconv.COMPILE_INDEX)),
            id=root.compile_id,
            reason=str(get(semconv.COMPILE_REASON, "")),
            level=_whole(get(semconv.COMPILE_LEVEL)),
            executors=_words(root, semconv.COMPILE_EXECUTORS),
            start_ns=root.start_ns,
            end_ns=root.end_ns,
            error=root.error,
            guards=tuple(
                FailedGuard(_whole(entry), check, message)
                for entry, check, message in zip(
                    entries if isinstance(entries, tuple) else (),
                    _words(root, semconv.GUARD_FAILED),
                    _words(root, semconv.GUARD_MESSAGES),
                    strict=False,
                )
            ),
            stages=tuple(
                stage for stage in stages if stage.compile_number == root.compile_number and stage is not root
            ),
        )


def traces_in(stages: Sequence[StageRecord]) -> Iterator[TraceRecord]:
    """Every trace that a stage left, in order; the text of an unchanged one is found at the stage that holds it."""
    texts: dict[tuple[int, str, int], str] = {}  # compile, kind, index of the stage -> text
    found: list[tuple[StageRecord, str, bool, int]] = []  # stage, kind, changed, index of the stage that holds the text
    for stage in stages:
        for key in _TRACE_KEYS:
            base = key.removesuffix(".text")
            changed = stage.attributes.get(base + ".changed")
            if changed is None:
                continue
            kind = stage.kind if key == semconv.TRACE_TEXT else key.split(".")[2]
            if changed:
                text = next((text.text for text in stage.texts if text.key == key), "")
                texts[stage.compile_number, kind, stage.index] = text
            holder = stage.index if changed else _whole(stage.attributes.get(base + ".same_as"))
            found.append((stage, kind, bool(changed), holder))
    for stage, kind, changed, holder in found:
        yield TraceRecord(
            kind=kind,
            stage=stage.stage,
            index=stage.index,
            compile_id=stage.compile_id,
            provenance=str(stage.attributes.get(semconv.TRACE_PROVENANCE, "")),
            changed=changed,
            text=texts.get((stage.compile_number, kind, holder), ""),
        )


def regions_in(stages: Sequence[StageRecord]) -> Iterator[RegionRecord]:
    """The regions that run, in order of fusion; those that were fused again later are left out."""
    for stage in stages:
        if not stage.attributes.get(semconv.REGION_FINAL):
            continue
        yield RegionRecord(
            name=str(stage.attributes.get(semconv.REGION, "")),
            executor=str(stage.attributes.get(semconv.EXECUTOR, "")),
            kind=stage.kind,
            compile_id=stage.compile_id,
            ops=_words(stage, semconv.REGION_OPS),
            inputs=_words(stage, semconv.REGION_INPUTS),
            outputs=_words(stage, semconv.REGION_OUTPUTS),
            source_lines=_words(stage, semconv.REGION_SOURCES),
            parent=str(stage.attributes.get(semconv.REGION_PARENT, "")),
            text=stage.text,
        )


def kernels_in(stages: Sequence[StageRecord]) -> Iterator[KernelRecord]:
    """The kernels whose source was recorded, in the order they were compiled."""
    for stage in stages:
        if not stage.name.startswith(semconv.SPAN_KERNEL_COMPILE):
            continue
        names = _words(stage, semconv.KERNEL_NAMES)
        region = str(stage.attributes.get(semconv.REGION, ""))
        sources = [
            text for text in stage.texts if text.key.removeprefix(semconv.KERNEL_SOURCE).lstrip(".0123456789") == ""
        ]
        for position, source in enumerate(sources):
            yield KernelRecord(
                name=names[position] if position < len(names) else region,
                region=region,
                kind=stage.kind,
                compile_id=stage.compile_id,
                language=str(stage.attributes.get(semconv.KERNEL_LANGUAGE, "")),
                source=source.text,
                compile_seconds=stage.seconds,
                attributes=stage.attributes,
            )


def captures_in(stages: Sequence[StageRecord]) -> Iterator[CaptureRecord]:
    """The CUDA graphs that were captured, in order."""
    for stage in stages:
        if not stage.name.startswith(semconv.SPAN_GRAPH_CAPTURE):
            continue
        yield CaptureRecord(
            graph=str(stage.attributes.get(semconv.GRAPH, "")) or stage.name.removeprefix(semconv.SPAN_GRAPH_CAPTURE),
            compile_id=stage.compile_id,
            seconds=stage.seconds,
            phases=MappingProxyType(
                {inner.stage or inner.name: inner.seconds for inner in stages if inner.parent_id == stage.span_id}
            ),
            attributes=stage.attributes,
            error=stage.error,
        )


def recompiles_in(compiles: Sequence[CompileRecord]) -> Iterator[RecompileRecord]:
    """The compiles of functions that an earlier compile had made an entry for."""
    for compile in compiles:
        if compile.index > 0 and compile.reason != semconv.REASON_NONE_FINISHED:
            yield RecompileRecord(compile.fn, compile.index, compile.reason, compile.guards)
