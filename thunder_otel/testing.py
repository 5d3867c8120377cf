"""What a project needs to test its own compiles, with any test runner.

>>> from thunder_otel import capture
>>> from thunder_otel.testing import assert_fused, assert_regions, no_recompile
>>> with capture() as run:  # doctest: +SKIP
...     jfn(x)
>>> assert_regions(run, 2, executor="torchcompile")  # doctest: +SKIP

Every assertion raises ``AssertionError`` with what was found instead. Under pytest, the fixture ``thunder_run`` is the
run of the whole test, and ``pytest --thunder-otel`` reports the compiles of every test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from thunder_otel import semconv
from thunder_otel._capture import Run, capture
from thunder_otel._records import RecompileRecord, RegionRecord
from thunder_otel.settings import Level

__all__ = ["Run", "assert_compiles", "assert_fused", "assert_not_fused", "assert_regions", "capture", "no_recompile"]


def assert_compiles(run: Run, count: int, *, fn: str | None = None) -> None:
    """Exactly ``count`` compiles took place, of all functions or of ``fn`` (as in ``run.compiles[0].fn``).

    Raises:
        AssertionError: with each compile and its reason.
    """
    found = [compile for compile in run.compiles if fn is None or compile.fn == fn]
    if len(found) != count:
        of = f" of {fn}" if fn is not None else ""
        raise AssertionError(_report(f"expected {count} compiles{of}, got {len(found)}", found))


def assert_regions(run: Run, count: int, *, executor: str | None = None, kind: str | None = None) -> None:
    """Exactly ``count`` fusion regions are in the traces that run.

    Args:
        run: recorded at level 2 or above.
        count: how many.
        executor: only this executor's, e.g. ``"torchcompile"`` or ``"nvfuser"``.
        kind: only in this trace: ``"computation"`` or ``"backward"``.

    Raises:
        AssertionError: with the regions there are.
    """
    _needs_regions(run)
    found = [
        region
        for region in run.regions
        if (executor is None or region.executor == executor) and (kind is None or region.kind == kind)
    ]
    if len(found) != count:
        raise AssertionError(_report(f"expected {count} regions, got {len(found)}", found))


def assert_fused(run: Run, op: str, *, executor: str | None = None) -> RegionRecord:
    """An op is inside a fusion region; returns the first one that holds it.

    Args:
        run: recorded at level 2 or above.
        op: as in ``region.ops``, e.g. ``"torch.nn.functional.linear"``, or its last part (``"linear"``).
        executor: only this executor's regions count.

    Raises:
        AssertionError: with the reasons that the executors gave for leaving the op out.
    """
    _needs_regions(run)
    for region in run.regions:
        if (executor is None or region.executor == executor) and any(_is(op, fused) for fused in region.ops):
            return region
    raise AssertionError(_report(f"{op} is in no fusion region", [*run.regions, *_left_out(run, op)]))


def assert_not_fused(run: Run, op: str) -> None:
    """An op is in no fusion region.

    Raises:
        AssertionError: with the regions that hold it.
    """
    _needs_regions(run)
    found = [region for region in run.regions if any(_is(op, fused) for fused in region.ops)]
    if found:
        raise AssertionError(_report(f"{op} is fused", found))


@contextmanager
def no_recompile(*, all_threads: bool = False) -> Iterator[Run]:
    """Nothing is compiled again inside the block; a function's first compile is fine.

    Args:
        all_threads: also mind compiles that start on other threads.

    Raises:
        AssertionError: with the functions and the guards that failed, when the block ends without an error.
    """
    with capture(Level.TRACE, all_threads=all_threads) as run:
        yield run
    if run.recompiles:
        found = run.recompiles
        raise AssertionError(_report(f"expected no recompile, got {len(found)}", [_why(again) for again in found]))


def _why(again: RecompileRecord) -> str:
    guards = "; ".join(f"{guard.check}: {guard.message}" for guard in again.guards)
    return f"{again.fn}, compile {again.index}: {guards or again.reason}"


def _is(op: str, fused: str) -> bool:
    return fused == op or fused.rpartition(".")[2] == op


def _left_out(run: Run, op: str) -> list[str]:
    lines = []
    for stage in run.stages:
        ops, reasons = (stage.attributes.get(key, ()) for key in (semconv.UNFUSED_OPS, semconv.UNFUSED_REASONS))
        if isinstance(ops, tuple) and isinstance(reasons, tuple):
            lines += [
                f"left out by {stage.attributes.get(semconv.EXECUTOR)}: {unfused}: {reason}"
                for unfused, reason in zip(ops, reasons, strict=False)
                if _is(op, str(unfused).partition(" -> ")[0])
            ]
    return list(dict.fromkeys(lines))


def _needs_regions(run: Run) -> None:
    low = [compile for compile in run.compiles if compile.level < Level.NVFUSER_REGION]
    if low:
        raise AssertionError(f"regions are recorded from level 2 on; {low[0].id} was recorded at level {low[0].level}")


def _report(message: str, found: Sequence[object]) -> str:
    return "\n".join([message, *(f"  {item}" for item in found)])
