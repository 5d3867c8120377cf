"""Kernel source of ``torch.compile`` regions, and at level 4 all of torch's compiles, from torch's structured trace.

torch logs every step of a compile to the logger ``torch.__trace``. A handler there sees Dynamo's start, Inductor's
output code and the final metrics, in order and on the compiling thread; no file and no variable is needed, and
neither the level nor the other handlers of that logger are touched.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from dataclasses import dataclass, field
from typing import Any

from thunder_otel import _regions, _runtime, semconv
from thunder_otel._compile_state import RegionCode, current
from thunder_otel._guard import guarded
from thunder_otel._model import AttributeValue, ErrorInfo, Payload, Stage
from thunder_otel._telemetry import Recorder
from thunder_otel._torch_trace import DebugFolders, TorchTrace, artifact, compile_id, event_ns, event_of, record_name
from thunder_otel.settings import Level

LOGGER = "torch.__trace"
_Record = tuple[dict[str, Any], Any, str]  # metadata, payload, torch's file that wrote it
_KERNEL = re.compile(
    r"(?P<name>\w+)\s*=\s*async_compile\.(?P<how>cpp_pybinding|cpp|triton)\((?P<args>.*?)r?(?P<quote>'''|\"\"\")"
    r"(?P<source>.*?)(?P=quote)",
    re.DOTALL,
)
_LANGUAGES = {"cpp_pybinding": ("C++", ".cpp"), "cpp": ("C++", ".cpp"), "triton": ("Triton", ".py")}


@dataclass(frozen=True)
class KernelSource:
    """One kernel of Inductor's output code."""

    name: str
    language: str
    suffix: str
    source: str


@dataclass(eq=False)
class _TorchCompile:
    """A compile of torch's that is under way; ``region`` is ours, or ``None`` for the program's own torch.compile."""

    stage: Stage
    region: RegionCode | None
    codes: list[tuple[str, str]] = field(default_factory=list)  # file, output code
    metrics: dict[str, Any] = field(default_factory=dict)
    cached: bool = False
    depth: int = 0  # chromium events that are open
    trace: TorchTrace | None = None  # at level 4


@dataclass(eq=False)
class _Unknown:
    """Records that came before Dynamo said what it compiles."""

    records: list[_Record] = field(default_factory=list)
    depth: int = 0


def kernels_in(output_code: str) -> list[KernelSource]:
    """The kernels that Inductor's output code compiles, in order."""
    found = []
    for match in _KERNEL.finditer(output_code):
        language, suffix = _LANGUAGES[match["how"]]
        found.append(KernelSource(match["name"], language, suffix, match["source"].strip("\n") + "\n"))
    return found


class TraceHandler(logging.Handler):
    """Receives torch's structured records; never raises and never propagates anything."""

    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.forget()

    def forget(self) -> None:
        """No compile is under way (a forked child's are its parent's)."""
        self._running: dict[str, _TorchCompile] = {}
        self._unknown: dict[str, _Unknown] = {}
        self._ended: dict[str, Stage] = {}  # by id: a backward is compiled later, under its forward's id
        self._loose: list[_Record] = []  # facts of no compile (torch's table of file names), for the next one's list
        self._folders = DebugFolders()

    def createLock(self) -> None:
        """No lock: records of one compile come from one thread, and a lock would be held across a fork."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record."""
        metadata = getattr(record, "metadata", None)
        if isinstance(metadata, dict):
            self._take((metadata, getattr(record, "payload", None), record.pathname))

    @guarded(None)
    def _take(self, record: _Record) -> None:
        recorder = _runtime.recorder()
        if recorder is None:
            return
        metadata, payload, _ = record
        key = compile_id(metadata)
        if not key:
            self._take_loose(recorder, record)
            return
        full = _runtime.highest_level() >= Level.TORCH_COMPILE_DEBUG
        event = event_of(metadata, payload) if full else None
        running = self._running.get(key)
        if running is None:
            running = self._identify(recorder, key, record, event)
        elif not (event is None and "chromium_event" in metadata):
            self._feed(running, record, event)
        if running is not None and running.depth <= 0 and (running.metrics or running.region is None):
            self._end(recorder, key)

    def _identify(
        self, recorder: Recorder, key: str, record: _Record, event: dict[str, Any] | None
    ) -> _TorchCompile | None:
        """Records wait until Dynamo says which code it compiles; then they are fed to what was opened for it."""
        metadata, _, _ = record
        waiting = self._unknown.setdefault(key, _Unknown())
        waiting.depth += _step(event)  # stays 0 below level 4, where nothing needs to wait
        waiting.records.append(record)
        known = "dynamo_start" in metadata or key in self._ended or waiting.depth <= 0
        if not known:
            return None
        del self._unknown[key]
        running = self._open(recorder, key, metadata.get("dynamo_start"), waiting.records)
        if running is None:
            return None
        self._running[key] = running
        if running.trace is not None:
            for loose in self._loose:
                running.trace.take_loose(*loose[:2])
            self._loose.clear()
        for earlier in waiting.records:
            self._feed(running, earlier, event_of(*earlier[:2]) if running.trace is not None else None)
        return running

    def _open(self, recorder: Recorder, key: str, dynamo_start: Any, records: list[_Record]) -> _TorchCompile | None:
        stack = (dynamo_start or {}).get("stack") or [{}]
        region = _regions.region_of_code(_interned(stack[-1].get("filename"))) if dynamo_start else None
        level = region.info.level if region is not None else _runtime.level_of(None)
        if level < (Level.NVFUSER_CODE if region is not None else Level.TORCH_COMPILE_DEBUG):
            return None
        first = next((event for event in (event_of(*record[:2]) for record in records) if event), None)
        common: dict[str, AttributeValue] = {semconv.TORCH_COMPILE_ID: key}
        if region is not None:
            common |= {
                semconv.FN: region.info.fn,
                semconv.COMPILE_ID: region.info.id,
                semconv.KIND: region.kind,
                semconv.REGION: region.name,
            }
        attributes: dict[str, AttributeValue] = {**common, semconv.STAGE: "kernel_compile"}
        if region is None:
            attributes[semconv.STAGE] = "torch_compile"
            attributes[semconv.TORCH_COMPILE_PHASE] = str(first["name"]) if first else record_name(records[0][0])
        earlier, inner = self._ended.get(key), current()
        parent = region.root if region is not None else earlier or (inner.top.stage if inner is not None else None)
        stage = recorder.start(
            semconv.SPAN_KERNEL_COMPILE + region.name if region is not None else semconv.SPAN_TORCH_COMPILE + key,
            parent=parent,
            compile=region.info if region is not None else None,
            attributes=attributes,
            start_ns=event_ns(first) if first is not None else None,
        )
        if stage is None:
            return None
        full = level >= Level.TORCH_COMPILE_DEBUG
        return _TorchCompile(stage, region, trace=TorchTrace(recorder, stage, common) if full else None)

    def _feed(self, running: _TorchCompile, record: _Record, event: dict[str, Any] | None) -> None:
        metadata, payload, origin = record
        running.depth += _step(event)
        if "dynamo_start" in metadata:
            running.codes.clear()  # Dynamo restarted its analysis: the same compile
        elif "inductor_output_code" in metadata and isinstance(payload, str):
            running.codes.append((str(metadata["inductor_output_code"].get("filename", "")), payload))
        elif "artifact" in metadata and "cache_hit" in str(metadata["artifact"].get("name")):
            running.cached = True
        elif "compilation_metrics" in metadata:
            running.metrics = metadata["compilation_metrics"] or {"none": True}
        if running.trace is not None:
            running.trace.take(metadata, payload, event, origin)

    def _end(self, recorder: Recorder, key: str) -> None:
        running = self._running.pop(key)
        self._ended[key] = running.stage
        if running.trace is not None:
            running.trace.finish(self._folders.new())
        _finish(recorder, running)

    def _take_loose(self, recorder: Recorder, record: _Record) -> None:
        """A record of no compile: a text gets a span of its own, inside the compile of ours that runs."""
        metadata, payload, _ = record
        if _runtime.level_of(None) < Level.TORCH_COMPILE_DEBUG:
            return
        if payload is None or "chromium_event" in metadata:
            running = next((known.trace for known in reversed(self._running.values()) if known.trace), None)
            if running is None:
                self._loose.append(record)
            else:
                running.take_loose(metadata, payload)
            return
        inner = current()
        artifact(recorder, metadata, payload, parent=inner.top.stage if inner is not None else None, common={})

    def open_trace(self, key: str) -> TorchTrace | None:
        """The level-4 trace of the compile with that id while it runs, for spans of ours that belong inside it."""
        running = self._running.get(key)
        return running.trace if running is not None else None


def _step(event: dict[str, Any] | None) -> int:
    return {"B": 1, "E": -1}.get(str(event.get("ph")), 0) if event is not None else 0


def _finish(recorder: Recorder, running: _TorchCompile) -> None:
    stage, attributes, metrics = running.stage, running.stage.attributes, running.metrics
    kernels = [kernel for _, code in running.codes for kernel in kernels_in(code)]
    if running.region is not None or kernels:
        attributes[semconv.KERNEL_COUNT] = len(kernels)
        attributes[semconv.KERNEL_NAMES] = [kernel.name for kernel in kernels]
        attributes[semconv.KERNEL_LANGUAGE] = ", ".join(dict.fromkeys(kernel.language for kernel in kernels))
        attributes[semconv.KERNEL_CACHED] = running.cached
    for name, key in (
        ("inductor_compile_time_s", semconv.KERNEL_BACKEND_SECONDS),
        ("entire_frame_compile_time_s", semconv.KERNEL_FRAME_SECONDS),
    ):
        if isinstance(metrics.get(name), (int, float)):
            attributes[key] = float(metrics[name])
    if running.region is not None:
        _add_kernels(stage, running.region, running.codes, kernels)
    failed = metrics.get("fail_type")
    error = ErrorInfo(str(failed), str(metrics.get("fail_reason") or ""), "") if failed else None
    recorder.end(stage, error=error)


def _add_kernels(stage: Stage, region: RegionCode, codes: list[tuple[str, str]], kernels: list[KernelSource]) -> None:
    prefix = f"{region.kind}-{region.name}"
    for position, kernel in enumerate(kernels):
        key = semconv.KERNEL_SOURCE + (f".{position}" if position else "")
        label = f"{prefix}-{position:02d}-{kernel.name}"
        stage.payloads.append(Payload(key, kernel.source, "kernels", label, kernel.suffix, region.kind))
    for position, (_, code) in enumerate(codes):
        key = semconv.KERNEL_OUTPUT_CODE + (f".{position}" if position else "")
        stage.payloads.append(Payload(key, code, "kernels", f"{prefix}-output_code", ".py", region.kind))


def _interned(number: Any) -> str:
    """The file name behind a number in torch's records."""
    module = sys.modules.get("torch._logging.structured")
    table = getattr(module, "INTERN_TABLE", {})
    return next((name for name, known in table.items() if known == number), "")


_handler = TraceHandler()
os.register_at_fork(after_in_child=_handler.forget)


def start() -> None:
    """Begin to receive records (nothing happens if we do already)."""
    logger = logging.getLogger(LOGGER)
    if _handler not in logger.handlers:
        logger.addHandler(_handler)
        # First, since torch's own handler takes itself off the list at the first record, which would hide that from us.
        logger.handlers.insert(0, logger.handlers.pop())


def stop() -> None:
    """Receive no more."""
    logging.getLogger(LOGGER).removeHandler(_handler)
    _handler.forget()


def open_trace(key: str) -> TorchTrace | None:
    """The level-4 trace of torch's compile ``key`` (``0/0``) while it runs."""
    return _handler.open_trace(key)


def is_receiving() -> bool:
    """Whether torch's records come to us."""
    return _handler in logging.getLogger(LOGGER).handlers
