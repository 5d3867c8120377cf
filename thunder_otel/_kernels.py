"""Kernel source of ``torch.compile`` regions, from torch's own structured trace.

torch logs every step of a compile to the logger ``torch.__trace``. A handler there sees Dynamo's start, Inductor's
output code and the final metrics, in order and on the compiling thread; no file and no variable is needed, and
neither the level nor the other handlers of that logger are touched.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from dataclasses import dataclass, field
from typing import Any

from thunder_otel import _regions, _runtime, semconv
from thunder_otel._compile_state import RegionCode
from thunder_otel._guard import guarded
from thunder_otel._model import AttributeValue, ErrorInfo, Payload, Stage
from thunder_otel.settings import Level

LOGGER = "torch.__trace"
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
    """A compile of torch's that is under way."""

    stage: Stage
    region: RegionCode
    codes: list[tuple[str, str]] = field(default_factory=list)  # file, output code
    artifacts: list[Payload] = field(default_factory=list)
    cached: bool = False


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
        self._running: dict[tuple[int, int], _TorchCompile] = {}

    def createLock(self) -> None:
        """No lock: records of one compile come from one thread, and a lock would be held across a fork."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record."""
        metadata = getattr(record, "metadata", None)
        if isinstance(metadata, dict) and "frame_id" in metadata:
            self._take(metadata, getattr(record, "payload", None))

    @guarded(None)
    def _take(self, metadata: dict[str, Any], payload: Any) -> None:
        key = (metadata["frame_id"], metadata.get("frame_compile_id", 0))
        if "dynamo_start" in metadata:
            self._start(key, metadata["dynamo_start"])
            return
        running = self._running.get(key)
        if running is None:
            return
        if "inductor_output_code" in metadata and isinstance(payload, str):
            running.codes.append((str(metadata["inductor_output_code"].get("filename", "")), payload))
        elif "artifact" in metadata and "cache_hit" in str(metadata["artifact"].get("name")):
            running.cached = True
        if running.region.info.level >= Level.TORCH_COMPILE_DEBUG and payload is not None:
            running.artifacts.append(_artifact(metadata, payload, len(running.artifacts)))
        if "compilation_metrics" in metadata:
            del self._running[key]
            _finish(running, metadata["compilation_metrics"])

    def _start(self, key: tuple[int, int], facts: dict[str, Any]) -> None:
        recorder = _runtime.recorder()
        stack = facts.get("stack") or [{}]
        region = _regions.region_of_code(_interned(stack[-1].get("filename")))
        if recorder is None or region is None or region.info.level < Level.NVFUSER_CODE:
            return
        again = self._running.pop(key, None)  # Dynamo restarts its analysis: the same compile
        if again is not None:
            recorder.end(again.stage)
        attributes: dict[str, AttributeValue] = {
            semconv.FN: region.info.fn,
            semconv.COMPILE_ID: region.info.id,
            semconv.STAGE: "kernel_compile",
            semconv.KIND: region.kind,
            semconv.REGION: region.name,
            semconv.TORCH_COMPILE_ID: f"{key[0]}/{key[1]}",
        }
        stage = recorder.start(
            semconv.SPAN_KERNEL_COMPILE + region.name, parent=region.root, compile=region.info, attributes=attributes
        )
        if stage is not None:
            self._running[key] = _TorchCompile(stage, region)


def _finish(running: _TorchCompile, metrics: dict[str, Any]) -> None:
    recorder = _runtime.recorder()
    if recorder is None:
        return
    stage, attributes = running.stage, running.stage.attributes
    kernels = [kernel for _, code in running.codes for kernel in kernels_in(code)]
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
    prefix = f"{running.region.kind}-{running.region.name}"
    for position, kernel in enumerate(kernels):
        key = semconv.KERNEL_SOURCE + (f".{position}" if position else "")
        label = f"{prefix}-{position:02d}-{kernel.name}"
        stage.payloads.append(Payload(key, kernel.source, "kernels", label, kernel.suffix, running.region.kind))
    for position, (_, code) in enumerate(running.codes):
        key = semconv.KERNEL_OUTPUT_CODE + (f".{position}" if position else "")
        stage.payloads.append(Payload(key, code, "kernels", f"{prefix}-output_code", ".py", running.region.kind))
    stage.payloads.extend(running.artifacts)
    failed = metrics.get("fail_type")
    error = ErrorInfo(str(failed), str(metrics.get("fail_reason") or ""), "") if failed else None
    recorder.end(stage, error=error)


def _artifact(metadata: dict[str, Any], payload: Any, position: int) -> Payload:
    name = next((key for key in metadata if key not in _ENVELOPE), "record")
    if name == "artifact":
        name = str(metadata["artifact"].get("name", name))
    text = payload if isinstance(payload, str) else json.dumps(payload, default=repr)
    suffix = ".json" if text.lstrip().startswith(("{", "[")) else ".txt"
    return Payload(f"{semconv.TORCH_ARTIFACT}.{position}.{name}", text, "torch", f"{position:03d}-{name}", suffix)


_ENVELOPE = frozenset({"frame_id", "frame_compile_id", "attempt", "has_payload", "rank", "compiled_autograd_id"})


def _interned(number: Any) -> str:
    """The file name behind a number in torch's records."""
    module = sys.modules.get("torch._logging.structured")
    table = getattr(module, "INTERN_TABLE", {})
    return next((name for name, known in table.items() if known == number), "")


_handler = TraceHandler()


def start() -> None:
    """Begin to receive records (nothing happens if we do already)."""
    logger = logging.getLogger(LOGGER)
    if _handler not in logger.handlers:
        logger.addHandler(_handler)


def stop() -> None:
    """Receive no more."""
    logging.getLogger(LOGGER).removeHandler(_handler)


def is_receiving() -> bool:
    """Whether torch's records come to us."""
    return _handler in logging.getLogger(LOGGER).handlers
