"""``capture()``: what thunder does inside a ``with`` block, as records in memory. Nothing is written or sent for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from opentelemetry.trace import NoOpTracer

from thunder_otel import _freezing, _records, _run_view, _sinks, instrumentor, semconv
from thunder_otel._model import Payload, Stage
from thunder_otel._records import (
    CaptureRecord,
    CompileRecord,
    Diff,
    KernelRecord,
    RecompileRecord,
    RegionRecord,
    StageRecord,
    TraceRecord,
)
from thunder_otel._telemetry import Recorder
from thunder_otel.settings import Level, Settings, parse_level

KINDS = ("prologue", "computation", "backward", "epilogue")


class Run:
    """What :func:`capture` recorded so far. Every property gives a new tuple of frozen records, oldest first."""

    def __init__(self) -> None:
        self._records: list[StageRecord] = []

    @property
    def stages(self) -> tuple[StageRecord, ...]:
        """The stages that ended, in the order they started."""
        return tuple(sorted(self._records, key=lambda record: (record.start_ns, record.index)))

    @property
    def compiles(self) -> tuple[CompileRecord, ...]:
        """The compiles that ended."""
        return tuple(_freezing.compiles_in(self.stages))

    @property
    def traces(self) -> Mapping[str, tuple[TraceRecord, ...]]:
        """The traces by kind; ``run.traces["computation"][-1].text`` is what runs. The four kinds are always there."""
        found: dict[str, list[TraceRecord]] = {kind: [] for kind in KINDS}
        for trace in _freezing.traces_in(self.stages):
            found.setdefault(trace.kind, []).append(trace)
        return MappingProxyType({kind: tuple(traces) for kind, traces in found.items()})

    @property
    def regions(self) -> tuple[RegionRecord, ...]:
        """The fusion regions that run (level 2 and above)."""
        return tuple(_freezing.regions_in(self.stages))

    @property
    def kernels(self) -> tuple[KernelRecord, ...]:
        """The kernels that were compiled, which happens when a region first runs (level 3 and above)."""
        return tuple(_freezing.kernels_in(self.stages))

    @property
    def captures(self) -> tuple[CaptureRecord, ...]:
        """The CUDA graphs that were captured, which happens when a region first runs."""
        return tuple(_freezing.captures_in(self.stages))

    @property
    def recompiles(self) -> tuple[RecompileRecord, ...]:
        """The compiles of functions that were compiled before, and why."""
        return tuple(_freezing.recompiles_in(self.compiles))

    @staticmethod
    def diff(before: TraceRecord | StageRecord | str, after: TraceRecord | StageRecord | str) -> Diff:
        """What changed between two traces, stages or texts."""
        return _records.diff(before, after)

    def __repr__(self) -> str:
        return _run_view.summary(self)

    def _repr_html_(self) -> str:
        return _run_view.html(self)


class _Listener:
    """The sink that fills a :class:`Run`."""

    def __init__(self, run: Run, thread: int | None) -> None:
        self._run = run
        self._thread = thread
        self._compiles: set[int] = set()
        self._open: set[str] = set()

    def stage_started(self, stage: Stage) -> None:
        if self._wants(stage):
            self._open.add(stage.span_id)

    def store(self, stage: Stage, payload: Payload) -> str:
        return ""

    def stage_ended(self, stage: Stage) -> None:
        if stage.span_id in self._open:
            self._open.discard(stage.span_id)
            if not stage.hidden:
                self._run._records.append(_freezing.freeze(stage))

    def close(self) -> None:
        """The run stays readable."""

    def _wants(self, stage: Stage) -> bool:
        number = stage.compile.sequence if stage.compile is not None else 0
        if number in self._compiles:  # also on another thread, where a backward's kernels may be compiled
            return True
        if self._thread not in (None, stage.thread_id):
            return False
        if stage.name == semconv.SPAN_COMPILE:
            self._compiles.add(number)
        return True


@contextmanager
def capture(level: Level | int | str = Level.NVFUSER_CODE, *, all_threads: bool = False) -> Iterator[Run]:
    """Record what thunder compiles inside the ``with`` block.

    Recording that is on already goes on as before, at ``level`` if that is higher; recording that is off is on for
    the block only, and then no file is written, no exporter is built and no span reaches the application's provider.
    Blocks may be nested and may run on several threads at once.

    Args:
        level: what to record; a function whose own ``thunder_debug=0`` refuses it stays unrecorded.
        all_threads: also take compiles that start on other threads.

    Yields:
        The run; it may be read at any time, inside the block and after it.

    Raises:
        WrongLevel: ``level`` is none.
    """
    wanted = parse_level(level, origin="capture(level=...)")
    run = Run()
    stop_listening = _sinks.listen(_Listener(run, None if all_threads else threading.get_ident()))
    try:
        end = instrumentor.lend(_recorder_of_ours, wanted)
        try:
            yield run
        finally:
            end()
    finally:
        stop_listening()


_ours = Recorder(Settings(level_origin="capture()"), tracer=NoOpTracer)


def _recorder_of_ours() -> Recorder:
    """One for all captures: a kernel's compile may outlive the block in which it started."""
    return _ours
