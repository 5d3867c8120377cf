"""What :func:`thunder_otel.capture` gives: frozen records of compiles, stages, traces, regions, kernels and graphs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from thunder_otel._model import AttributeValue, ErrorInfo


@dataclass(frozen=True)
class Text:
    """A text of a stage: the attribute it stands for, the kind of trace it is part of, and what it says."""

    key: str
    kind: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class StageRecord:
    """A finished stage. Times are in nanoseconds since the epoch; ``compile_number`` counts compiles of the process."""

    name: str
    stage: str
    index: int
    kind: str
    fn: str
    compile_id: str
    compile_number: int
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    thread_id: int
    attributes: Mapping[str, AttributeValue]
    texts: tuple[Text, ...]
    error: ErrorInfo | None

    @property
    def seconds(self) -> float:
        """How long the stage took."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def text(self) -> str:
        """The first of its texts, or ``""``."""
        return self.texts[0].text if self.texts else ""

    def __repr__(self) -> str:
        failed = f", {self.error.type}" if self.error else ""
        return f"<StageRecord {self.name!r} of {self.compile_id or self.fn}, {self.seconds * 1e3:.3f} ms{failed}>"


@dataclass(frozen=True)
class FailedGuard:
    """Why a cached entry did not fit: the compile that made it, the check in its prologue, and thunder's words."""

    entry: int
    check: str
    message: str


@dataclass(frozen=True)
class RecompileRecord:
    """A compile of a function that had been compiled before, and the guards that failed, newest entry first."""

    fn: str
    index: int
    reason: str
    guards: tuple[FailedGuard, ...]


@dataclass(frozen=True, eq=False)
class CompileRecord:
    """One compile: ``index`` is 0 for the function's first. ``stages`` are all inside it, in order."""

    fn: str
    index: int
    id: str
    reason: str
    level: int
    executors: tuple[str, ...]
    start_ns: int
    end_ns: int
    error: ErrorInfo | None
    guards: tuple[FailedGuard, ...]
    stages: tuple[StageRecord, ...]

    @property
    def seconds(self) -> float:
        """How long the compile took."""
        return (self.end_ns - self.start_ns) / 1e9

    def __repr__(self) -> str:
        failed = f", {self.error.type}" if self.error else ""
        return f"<CompileRecord {self.id} ({self.reason}), {len(self.stages)} stages in {self.seconds:.3f} s{failed}>"


@dataclass(frozen=True)
class TraceRecord:
    """A trace as a stage left it.

    ``changed`` is false when it is the same program as an earlier trace of its kind; ``text`` is whole all the same.
    """

    kind: str
    stage: str
    index: int
    compile_id: str
    provenance: str
    changed: bool
    text: str

    @property
    def lines(self) -> int:
        """Lines of its text."""
        return len(self.text.splitlines())

    @property
    def label(self) -> str:
        """What a diff calls it, e.g. ``f/0 09 computation dce``."""
        return f"{self.compile_id} {self.index:02d} {self.kind} {self.stage}"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<TraceRecord {self.label}, {self.lines} lines{'' if self.changed else ', unchanged'}>"


@dataclass(frozen=True)
class RegionRecord:
    """A fusion region of a trace that runs (level 2). Inputs and outputs read like ``t0: cpu f32[4, 4]``."""

    name: str
    executor: str
    kind: str
    compile_id: str
    ops: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    source_lines: tuple[str, ...]
    parent: str
    text: str

    def __repr__(self) -> str:
        return f"<RegionRecord {self.name} of {self.executor} in {self.kind}, {len(self.ops)} ops>"


@dataclass(frozen=True, eq=False)
class KernelRecord:
    """A generated kernel (level 3). ``compile_seconds`` is the time of its region's compile, shared by its kernels."""

    name: str
    region: str
    kind: str
    compile_id: str
    language: str
    source: str
    compile_seconds: float
    attributes: Mapping[str, AttributeValue]

    def __repr__(self) -> str:
        return f"<KernelRecord {self.name} of {self.region}, {self.language}, {len(self.source)} characters>"


@dataclass(frozen=True, eq=False)
class CaptureRecord:
    """A CUDA graph that was captured; ``phases`` gives the seconds of each step, ``attributes`` nodes and bytes."""

    graph: str
    compile_id: str
    seconds: float
    phases: Mapping[str, float]
    attributes: Mapping[str, AttributeValue]
    error: ErrorInfo | None


@dataclass(frozen=True)
class Diff:
    """What changed between two texts, as a unified diff; ``str()`` of it is the diff."""

    before: str
    after: str
    lines: tuple[str, ...]

    @property
    def added(self) -> int:
        """Lines that are new."""
        return sum(line.startswith("+") for line in self.lines[2:])

    @property
    def removed(self) -> int:
        """Lines that are gone."""
        return sum(line.startswith("-") for line in self.lines[2:])

    def __bool__(self) -> bool:
        return bool(self.lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def diff(before: TraceRecord | StageRecord | str, after: TraceRecord | StageRecord | str) -> Diff:
    """What changed between two traces, stages or plain texts."""
    (old_name, old), (new_name, new) = _named(before, "before"), _named(after, "after")
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), old_name, new_name, lineterm="")
    return Diff(old_name, new_name, tuple(lines))


def _named(item: TraceRecord | StageRecord | str, default: str) -> tuple[str, str]:
    if isinstance(item, str):
        return default, item
    return (item.label, item.text) if isinstance(item, TraceRecord) else (item.name, item.text)
