"""nvFuser's kernels, read from what a real GPU gave (tests/data/gpu); tests/gpu runs the same on a GPU."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch

from thunder_otel import _nvfuser, _patching, _regions, semconv
from thunder_otel._model import Payload
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Recording

RECORDED = json.loads((Path(__file__).parent / "data" / "gpu" / "nvfuser.json").read_text())
KERNELS = [
    "nvfuser_reduction_f0_c1_r0_g0",
    "nvfuser_inner_persistent_f0_c1_r0_g1",
    "nvfuser_outer_persistent_f0_c1_r0_g2",
]


class Cache:
    """nvFuser's executor cache, giving what was recorded."""

    def __init__(self) -> None:
        self.compiled: set[Any] = set()

    def is_compiled(self, inputs: list[Any], *, device: int) -> bool:
        return tuple(value.shape for value in inputs) in self.compiled

    def get_cuda_kernel(self, inputs: list[Any], intrinsic_code: bool = False, *, device: int) -> str:
        assert device == 0
        prefix = RECORDED["runtime_begins"].ljust(RECORDED["runtime_size"], "\n") if intrinsic_code else ""
        return prefix + str(RECORDED["code"])

    def get_scheduled_ir(self, inputs: list[Any], *, device: int) -> str:
        return str(RECORDED["scheduled_ir"])


class Definition:
    """A fusion definition of the binding ``nvfuser_direct``."""

    def __init__(self) -> None:
        self._selected_device = None
        self.fec = Cache()

    def __repr__(self) -> str:
        return str(RECORDED["definition"])


class OlderDefinition:
    """A fusion definition of the binding ``nvfuser``, by the names of its calls."""

    def cuda_code_for(self, inputs: list[Any], intrinsic_code: bool = False) -> str:
        return str(RECORDED["code"])

    def scheduled_fusion_ir_for(self, inputs: list[Any]) -> str:
        return str(RECORDED["scheduled_ir"])

    def __repr__(self) -> str:
        return str(RECORDED["definition"])


class Wrapper:
    """Thunder's FusionDefinitionWrapper: slots, and no way to refer to it weakly."""

    __slots__ = ("get_fd", "last_used", "name", "to_descriptors", "use_cache")

    def __init__(self, fusion: Any, name: str = "nvFusion3: (add, mul)") -> None:
        made = [fusion]

        def get_fd(descriptors: Any) -> Any:
            if isinstance(made[0], Exception):
                raise made[0]
            return made[0]

        self.get_fd, self.name, self.use_cache, self.last_used = get_fd, name, True, None
        self.to_descriptors = lambda args: tuple(args)

    def __call__(self, *args: Any) -> Any:
        fusion = self.get_fd(self.to_descriptors(args))
        if hasattr(fusion, "fec"):
            fusion.fec.compiled.add(tuple(value.shape for value in args))
        return [sum(args)]


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    """The executor's module, with a wrapper of its own for each test; imported only now."""
    module = ModuleType(_nvfuser.MODULE)
    wrapper = type("FusionDefinitionWrapper", (Wrapper,), {"__slots__": (), "__call__": Wrapper.__call__})
    module.FusionDefinitionWrapper = wrapper  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, _nvfuser.MODULE, module)
    yield wrapper


def stages(recording: Recording, prefix: str = semconv.SPAN_KERNEL_COMPILE) -> list[Any]:
    return [stage for stage in recording.sink.stages if stage.name.startswith(prefix)]


def test_the_recorded_text_holds_three_kernels() -> None:
    found = _nvfuser.kernels_in(RECORDED["code"])
    assert [kernel.name for kernel in found] == KERNELS
    assert "".join(kernel.source for kernel in found).replace("\n", "") == RECORDED["code"].replace("\n", "")
    assert _nvfuser.kernels_in("") == _nvfuser.kernels_in("no kernel here") == []


def test_the_first_run_is_a_span_with_all_that_was_made(record: Callable[..., Recording], executor: type) -> None:
    recording = record()
    run = executor(Definition())
    x = torch.ones(4, 8)
    assert [value.tolist() for value in run(x, x)] == [(x + x).tolist()]
    run(x, x)
    (stage,) = stages(recording)
    facts = stage.attributes
    assert stage.name == semconv.SPAN_KERNEL_COMPILE + "nvFusion3" and stage.error is None
    assert facts[semconv.KERNEL_LANGUAGE] == "CUDA C++" and facts[semconv.KERNEL_BINDING] == "nvfuser_direct"
    assert facts[semconv.KERNEL_COUNT] == 3 and facts[semconv.KERNEL_NAMES] == KERNELS
    assert facts[semconv.KERNEL_VARIANT] == 0 and facts[semconv.KERNEL_CACHED] is False
    assert facts[semconv.KERNEL_INPUTS] == ["cpu float32 (4, 8), strides (8, 1)"] * 2
    assert recording.sink.text(stage, semconv.KERNEL_DEFINITION) == RECORDED["definition"]
    assert recording.sink.text(stage, semconv.KERNEL_SCHEDULED_IR) == RECORDED["scheduled_ir"]
    assert recording.sink.text(stage, semconv.KERNEL_RUNTIME).startswith("\n#ifdef __NVCC__")
    assert KERNELS[1] in recording.sink.text(stage, semconv.KERNEL_SOURCE + ".1")
    segments = stages(recording, semconv.SPAN_KERNEL + "nvfuser")
    assert [segment.name for segment in segments] == [semconv.SPAN_KERNEL + name for name in KERNELS]
    assert [segment.attributes[semconv.KERNEL_INDEX] for segment in segments] == [0, 1, 2]
    assert {segment.parent_id for segment in segments} == {stage.span_id}


def test_inputs_that_need_other_kernels_are_variants(record: Callable[..., Recording], executor: type) -> None:
    recording = record()
    definition = Definition()
    run = executor(definition)
    run(torch.ones(4, 8))
    run(torch.ones(8, 4).t())  # other strides, but the kernel that is there fits
    assert len(stages(recording)) == 1
    run(torch.ones(5, 5))
    first, second = stages(recording)
    assert second.attributes[semconv.KERNEL_VARIANT] == 2 and second.attributes[semconv.KERNEL_CACHED] is False
    assert (second.span_id, semconv.KERNEL_RUNTIME) not in recording.sink.texts
    other = executor(definition)  # another region whose kernels were compiled for this one
    other(torch.ones(5, 5))
    assert stages(recording)[-1].attributes[semconv.KERNEL_CACHED] is True
    assert first.span_id != second.span_id


def test_sizes_without_end_are_spans_with_an_end(
    record: Callable[..., Recording], executor: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_nvfuser, "MOST_VARIANTS", 3)
    recording = record()
    run = executor(Definition())
    for size in range(1, 9):
        run(torch.ones(size))
    assert len(stages(recording)) == 3


def test_the_older_binding(record: Callable[..., Recording], executor: type) -> None:
    recording = record()
    executor(OlderDefinition())(torch.ones(3))
    (stage,) = stages(recording)
    assert stage.attributes[semconv.KERNEL_BINDING] == "nvfuser"
    assert stage.attributes[semconv.KERNEL_NAMES] == KERNELS
    assert recording.sink.text(stage, semconv.KERNEL_SCHEDULED_IR) == RECORDED["scheduled_ir"]


def test_what_the_profiler_measured(
    record: Callable[..., Recording], executor: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Profiler:
        profile = SimpleNamespace(kernel_profiles=[SimpleNamespace(**launch) for launch in RECORDED["launches"]])
        running = 0

        def __enter__(self) -> Profiler:
            Profiler.running += 1
            return self

        def __exit__(self, *_: object) -> None:
            Profiler.running -= 1

    monkeypatch.setitem(sys.modules, "nvfuser_direct", SimpleNamespace(PythonProfiler=Profiler))
    recording = record(profile_kernels=True)
    executor(Definition())(torch.ones(3))
    segments = stages(recording, semconv.SPAN_KERNEL + "nvfuser")
    launches = {launch["name"]: launch for launch in RECORDED["launches"]}
    assert [segment.attributes[semconv.KERNEL_GRID] for segment in segments] == [
        launches[name]["grid_str"] for name in KERNELS
    ]
    assert all(segment.attributes[semconv.KERNEL_REGISTERS] > 0 for segment in segments)
    assert segments[0].attributes[semconv.KERNEL_DEVICE_SECONDS] == launches[KERNELS[0]]["time_ms"] / 1e3
    assert Profiler.running == 0


def test_a_run_that_raises(
    record: Callable[..., Recording], executor: type, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = record()
    with pytest.raises(RuntimeError, match="no definition"):
        executor(RuntimeError("no definition"))(torch.ones(3))
    (stage,) = stages(recording)
    assert stage.error is not None and stage.error.message == "no definition"
    assert capsys.readouterr().err == ""


def test_a_binding_that_cannot_be_read_costs_one_line(
    record: Callable[..., Recording], executor: type, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = record()
    run = executor(object())
    assert run(torch.ones(3))[0].tolist() == [1.0] * 3
    assert len(stages(recording)) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("thunder_otel: ") and "_nvfuser" in line


def test_below_level_3_nothing_is_wrapped(record: Callable[..., Recording], executor: type) -> None:
    recording = record(Level.NVFUSER_REGION)
    executor(Definition())(torch.ones(3))
    assert stages(recording) == []
    assert not [patch for patch in _patching.installed() if patch.owner is executor]


def test_tensors_are_not_kept(record: Callable[..., Recording], executor: type) -> None:
    record()
    x = torch.ones(3)
    reference = weakref.ref(x)
    executor(Definition())(x)
    del x
    gc.collect()
    assert reference() is None


def test_what_a_later_region_computes_again_is_marked() -> None:
    """nvFuser recomputes cheap ops in the backward instead of saving them; the forward's regions come first."""

    def frame(*outputs: str) -> Any:
        text = Payload(semconv.REGION_TEXT, "region\n", "regions", "label")
        stage = SimpleNamespace(attributes={}, payloads=[text])
        return SimpleNamespace(stage=stage, ops_that_run={out: f"mul -> {out}" for out in outputs})

    forward, backward = frame("t1", "t2"), frame("t2", "t3", "")
    state: Any = SimpleNamespace(innermost=[(2, 0, backward), (1, 0, forward)])
    _regions._mark_rematerialized(state)
    assert forward.stage.attributes == {}
    assert backward.stage.attributes == {semconv.REGION_REMATERIALIZED: ["mul -> t2"]}
    assert backward.stage.payloads[0].text == "# recomputed here  mul -> t2\nregion\n"
    assert state.innermost == []
