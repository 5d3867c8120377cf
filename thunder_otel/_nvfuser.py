"""Kernels of nvFuser regions (level 3): what a region compiled when it first ran on tensors of some shapes and strides.

nvFuser compiles at the first execution, one kernel or several (it cuts a region where one schedule does not fit), and
again for tensors that the compiled kernels do not fit. Both bindings are read: ``nvfuser_direct`` and the older
``nvfuser``. The program's tensors are looked at while its call lasts and never kept.
"""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import wrapt

from thunder_otel import _arguments, _patching, _regions, _runtime, semconv
from thunder_otel._guard import guarded
from thunder_otel._model import AttributeValue, Payload, Stage
from thunder_otel._telemetry import Recorder
from thunder_otel.settings import Level

MODULE = "thunder.executors.nvfuserex_impl"
LANGUAGE = "CUDA C++"
MOST_VARIANTS = 64  # of one region: with sizes that change at every call there would be no end of spans

_HEAD = "// Codegen generated code\n"
_NAME = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(")


@dataclass(frozen=True)
class Kernel:
    """One kernel of a region."""

    name: str
    source: str


@dataclass(frozen=True)
class Generated:
    """What nvFuser made of a region for one set of inputs."""

    binding: str
    code: str
    definition: str
    scheduled_ir: str
    runtime: str  # what the code needs before it to compile, where the binding tells


@dataclass(eq=False)
class _Run:
    """A region's execution that compiles."""

    recorder: Recorder
    stage: Stage
    name: str
    kind: str
    fusion: Any
    profiler: Any = None


_seen: weakref.WeakKeyDictionary[Any, set[tuple[Any, ...]]] = weakref.WeakKeyDictionary()
_runtime_told: weakref.WeakSet[Recorder] = weakref.WeakSet()


def kernels_in(code: str) -> list[Kernel]:
    """The kernels in the text that nvFuser gives for a region, in the order of its segments."""
    found = []
    for part in code.split(_HEAD):
        name = _NAME.search(part)
        if name is not None:
            found.append(Kernel(name[1], _HEAD + part.rstrip("\n") + "\n"))
    return found


def read_generated(fusion: Any, inputs: list[Any], device: int, *, runtime: bool = False) -> Generated:
    """Ask a fusion definition that has run for what it compiled.

    Args:
        fusion: nvFuser's FusionDefinition, of either binding.
        inputs: what it ran on.
        device: the CUDA device's index.
        runtime: ask for nvFuser's device functions as well (400 kB, the same for every kernel).
    """
    cache = getattr(fusion, "fec", None)
    if cache is not None:
        code = cache.get_cuda_kernel(inputs, device=device)
        whole = (
            guarded("")(lambda: cache.get_cuda_kernel(inputs, intrinsic_code=True, device=device))() if runtime else ""
        )
        ir = guarded("")(lambda: cache.get_scheduled_ir(inputs, device=device))()
        return Generated("nvfuser_direct", code, repr(fusion), ir, _before_kernels(whole))
    code = fusion.cuda_code_for(inputs) if hasattr(fusion, "cuda_code_for") else fusion.last_cuda_code()
    ir = guarded("")(lambda: fusion.scheduled_fusion_ir_for(inputs))()
    whole = guarded("")(lambda: fusion.cuda_code_for(inputs, intrinsic_code=True))() if runtime else ""
    return Generated("nvfuser", code, repr(fusion), ir, _before_kernels(whole))


def start() -> None:
    """Observe the executions of nvFuser regions, now or as soon as the executor is imported."""
    global _waiting
    if MODULE in sys.modules:
        _patch(sys.modules[MODULE])
    elif not _waiting:
        _waiting = True
        wrapt.register_post_import_hook(lambda module: _patch(module) if _wanted() else None, MODULE)


_waiting = False


def _wanted() -> bool:
    return _runtime.highest_level() >= Level.NVFUSER_CODE


@guarded(None)
def _patch(module: Any) -> None:
    # A plain closure: every cached call of a region passes through it.
    factory = _patching.closure_factory(_watching)
    _patching.patch_method(module.FusionDefinitionWrapper, "__call__", factory=factory)


def _watching(execute: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any) -> Any:
        run = _begin(self, args) if _runtime.is_on() else None
        if run is None:
            return execute(self, *args)
        try:
            result = execute(self, *args)
        except BaseException as error:
            _end(run, args, error)
            raise
        _end(run, args, None)
        return result

    return call


@guarded(None)
def _begin(wrapper: Any, args: tuple[Any, ...]) -> _Run | None:
    """The run to record, or ``None`` when nothing will be compiled."""
    seen = _seen.setdefault(wrapper.get_fd, set())
    variant = _arguments.tensor_signature(args)
    if variant in seen or len(seen) >= MOST_VARIANTS:
        return None
    region = _regions.region_of_runnable(wrapper.get_fd)
    level = region.info.level if region is not None else _runtime.level_of(None)
    recorder = _runtime.recorder() if level >= Level.NVFUSER_CODE else None
    if recorder is None:
        return None
    first = not seen
    seen.add(variant)
    begun = recorder.now()
    fusion = _fusion_of(wrapper, args)
    cached = fusion is not None and _is_compiled(fusion, args)
    if cached and not first:
        return None
    name = region.name if region is not None else str(wrapper.name).partition(":")[0]
    attributes: dict[str, AttributeValue] = {
        semconv.STAGE: "kernel_compile",
        semconv.REGION: name,
        semconv.KERNEL_LANGUAGE: LANGUAGE,
        semconv.KERNEL_CACHED: cached,
        semconv.KERNEL_VARIANT: len(seen) - 1,
        semconv.KERNEL_INPUTS: [_arguments.describe_argument(value) for value in args],
    }
    if region is not None:
        attributes[semconv.FN] = region.info.fn
        attributes[semconv.COMPILE_ID] = region.info.id
        attributes[semconv.KIND] = region.kind
    stage = recorder.start(
        semconv.SPAN_KERNEL_COMPILE + name,
        parent=region.root if region is not None else None,
        compile=region.info if region is not None else None,
        attributes=attributes,
        start_ns=begun,
    )
    if stage is None:
        return None
    profiler = _profiler(fusion) if recorder.settings.profile_kernels else None
    return _Run(recorder, stage, name, region.kind if region is not None else "", fusion, profiler)


def _fusion_of(wrapper: Any, args: tuple[Any, ...]) -> Any:
    """The definition that this call will use; made now, and cached by the wrapper, if it is new."""
    try:
        return wrapper.get_fd(wrapper.to_descriptors(args)) if wrapper.use_cache else wrapper.last_used
    except Exception:
        return None  # the call itself will raise the same


def _is_compiled(fusion: Any, args: tuple[Any, ...]) -> bool:
    cache = getattr(fusion, "fec", None)
    ask = getattr(cache, "is_compiled", None)
    return ask is not None and bool(guarded(False)(ask)(list(args), device=_arguments.device_index(fusion, args)))


@guarded(None)
def _end(run: _Run, args: tuple[Any, ...], error: BaseException | None) -> None:
    end_ns = run.recorder.now()
    profile = _stop_profiler(run.profiler)
    try:
        if error is None:
            _describe(run, args, end_ns, profile)
    finally:
        run.recorder.end(run.stage, error=error, end_ns=end_ns)


@guarded(None)
def _describe(run: _Run, args: tuple[Any, ...], end_ns: int, profile: Any) -> None:
    fusion = run.fusion
    if fusion is None:
        return
    first = run.recorder not in _runtime_told
    made = read_generated(fusion, list(args), _arguments.device_index(fusion, args), runtime=first)
    kernels = kernels_in(made.code)
    attributes, payloads = run.stage.attributes, run.stage.payloads
    attributes[semconv.KERNEL_BINDING] = made.binding
    attributes[semconv.KERNEL_COUNT] = len(kernels)
    attributes[semconv.KERNEL_NAMES] = [kernel.name for kernel in kernels]
    prefix = f"{run.kind or 'computation'}-{run.name}"
    launches = {str(launch.name): _launch_facts(launch) for launch in getattr(profile, "kernel_profiles", ())}
    for position, kernel in enumerate(kernels):
        key = semconv.KERNEL_SOURCE + (f".{position}" if position else "")
        payload = Payload(key, kernel.source, "kernels", f"{prefix}-{position:02d}-{kernel.name}", ".cu", run.kind)
        payloads.append(payload)
        facts = launches.get(kernel.name, {})
        if len(kernels) > 1 or facts:
            _kernel_span(run, position, kernel, facts, end_ns)
    if len(kernels) == 1:
        attributes.update(launches.get(kernels[0].name, {}))
    payloads.append(
        Payload(semconv.KERNEL_DEFINITION, made.definition, "kernels", f"{prefix}-definition", ".py", run.kind)
    )
    if made.scheduled_ir:
        payloads.append(
            Payload(
                semconv.KERNEL_SCHEDULED_IR, made.scheduled_ir, "kernels", f"{prefix}-scheduled_ir", ".txt", run.kind
            )
        )
    if made.runtime:
        _runtime_told.add(run.recorder)
        payloads.append(Payload(semconv.KERNEL_RUNTIME, made.runtime, "kernels", "nvfuser_runtime", ".cuh", run.kind))


def _kernel_span(run: _Run, position: int, kernel: Kernel, facts: dict[str, AttributeValue], end_ns: int) -> None:
    """A segment of its own, with its source and, when it was profiled, its launch."""
    common = {key: run.stage.attributes[key] for key in _INHERITED if key in run.stage.attributes}
    stage = run.recorder.start(
        semconv.SPAN_KERNEL + kernel.name,
        parent=run.stage,
        compile=run.stage.compile,
        attributes={**common, semconv.STAGE: "kernel", semconv.KERNEL_INDEX: position, **facts},
        start_ns=run.stage.start_ns,
    )
    if stage is None:
        return
    label = f"{run.kind or 'computation'}-{run.name}-{position:02d}-{kernel.name}"
    stage.payloads.append(Payload(semconv.KERNEL_SOURCE, kernel.source, "kernels", label, ".cu", run.kind))
    run.recorder.end(stage, end_ns=end_ns)


_INHERITED = (semconv.FN, semconv.COMPILE_ID, semconv.KIND, semconv.REGION, semconv.KERNEL_LANGUAGE)


def _before_kernels(whole: str) -> str:
    """nvFuser's device functions: what stands before the first kernel."""
    head, found, _ = whole.partition(_HEAD)
    return head if found and len(head) > 1000 else ""


@guarded(None)
def _profiler(fusion: Any) -> Any:
    """nvFuser's profiler, running: it times the program's own call, and nothing is executed a second time."""
    module = sys.modules.get("nvfuser_direct")
    if module is None or fusion is None or not hasattr(module, "PythonProfiler"):
        return None
    return module.PythonProfiler().__enter__()


@guarded(None)
def _stop_profiler(profiler: Any) -> Any:
    if profiler is None:
        return None
    profiler.__exit__(None, None, None)
    return profiler.profile


def _launch_facts(launch: Any) -> dict[str, AttributeValue]:
    return {
        semconv.KERNEL_REGISTERS: int(launch.registers),
        semconv.KERNEL_GRID: str(launch.grid_str),
        semconv.KERNEL_BLOCK: str(launch.block_str),
        semconv.KERNEL_SHARED_MEMORY: str(launch.shared_mem_str),
        semconv.KERNEL_BYTES: int(launch.input_bytes) + int(launch.output_bytes),
        semconv.KERNEL_BANDWIDTH: float(launch.effective_bandwidth_gbs),
        semconv.KERNEL_DEVICE_SECONDS: float(launch.time_ms) / 1e3,
        semconv.KERNEL_BACKEND_SECONDS: float(launch.compile_time_ms) / 1e3,
    }
