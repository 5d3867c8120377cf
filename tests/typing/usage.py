"""Uses of the public API as mypy --strict must see them; never run."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from typing_extensions import assert_type

import thunder_otel
from thunder_otel import Handle, Level, Run, SpanRecord, on_span_end, on_span_start
from thunder_otel.testing import assert_fused, no_recompile


def captures() -> None:
    with thunder_otel.capture(Level.TRACE, all_threads=True) as run:
        assert_type(run, Run)
    assert_type(run.traces["computation"][-1].text, str)
    assert_type(run.compiles[0].seconds, float)
    assert_type(run.compiles[0].guards[0].check, str)
    assert_type(run.regions[0].ops, tuple[str, ...])
    assert_type(run.kernels[0].source, str)
    assert_type(run.captures[0].phases, Mapping[str, float])
    assert_type(run.recompiles[0].index, int)
    assert_type(str(run.diff("a", run.stages[0])), str)
    assert_type(run.diff(run.traces["prologue"][0], run.traces["prologue"][1]).added, int)
    run.stages[0].name = "x"  # type: ignore[misc]
    thunder_otel.capture([])  # type: ignore[arg-type]


@on_span_end(stages="dce", redacts=True, timeout=0.5)
def hook(record: SpanRecord) -> None:
    record.attributes["team"] = "compilers"
    record.texts["thunder.trace.text"] = record.texts["thunder.trace.text"].upper()
    assert_type(record.seconds, float | None)
    record.veto()
    record.attributes["odd"] = object()  # type: ignore[assignment]


@on_span_start()
async def later(record: SpanRecord) -> int:
    return len(record.name)


def hooks() -> None:
    hook  # noqa: B018 - keeps its own type
    assert_type(on_span_start(hook, stages=["dce", "claim"]), Handle)
    on_span_start(len)  # type: ignore[arg-type]
    with thunder_otel.redact(r"\d+") as handle:
        assert_type(handle, Handle)
    thunder_otel.redact(str.upper).remove()
    thunder_otel.remove_hook(hook)
    raise thunder_otel.StopCompile("enough")


def everything_else(jitted: Any) -> None:
    assert_type(thunder_otel.trace_calls(jitted, sample=0.5), Handle)
    assert_type(thunder_otel.set_logger(jitted), Handle)
    assert_type(thunder_otel.send_events_as_otel_logs(), Handle)
    assert_type(thunder_otel.add_processor(thunder_otel.add_stage_ids), Handle)
    logging.StreamHandler().addFilter(thunder_otel.StageFilter())
    thunder_otel.instrument("trace")
    thunder_otel.uninstrument()
    with no_recompile() as run:
        assert_type(assert_fused(run, "sin").executor, str)
    thunder_otel.nothing_like_that  # type: ignore[attr-defined]  # noqa: B018


def transforms() -> None:
    assert_type(thunder_otel.CUDAGraphTransform(share_mem_pool=True), thunder_otel.CUDAGraphTransform)
