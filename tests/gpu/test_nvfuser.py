"""nvFuser regions and their kernels, against what nvFuser itself writes."""

from __future__ import annotations

import gc
import json
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from thunder_otel import semconv
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Program, Recording

Note = Callable[[str, str], None]
Record = Callable[..., "Recording"]


def network(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Three schedules, so that nvFuser cuts it into several kernels."""
    y = torch.nn.functional.layer_norm(x, (x.shape[-1],), w)
    z = torch.softmax(y * 2, 0)
    return z.sum(1)


def inputs(rows: int = 64, *, grad: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(rows, 128, device="cuda", requires_grad=grad), torch.randn(128, device="cuda")


def kernel_stages(recording: Recording) -> list[Any]:
    return [stage for stage in recording.sink.stages if stage.name.startswith(semconv.SPAN_KERNEL_COMPILE)]


def test_a_region_says_what_it_holds(record: Record, note: Note) -> None:
    import thunder

    recording = record(Level.NVFUSER_REGION)
    x, w = inputs(grad=True)
    thunder.jit(network)(x, w).sum().backward()
    regions = [stage for stage in recording.sink.stages if stage.attributes.get(semconv.REGION_FINAL)]
    assert {stage.attributes[semconv.KIND] for stage in regions} == {"computation", "backward"}
    for stage in regions:
        assert stage.attributes[semconv.EXECUTOR] == "nvfuser" and stage.attributes[semconv.EXECUTOR_VERSION]
        assert stage.name == semconv.SPAN_REGION + str(stage.attributes[semconv.REGION])
    forward = next(stage for stage in regions if stage.attributes[semconv.KIND] == "computation")
    assert "x: cuda:0 f32[64, 128]" in forward.attributes[semconv.REGION_INPUTS]  # type: ignore[operator]
    assert any(__file__ in line for line in forward.attributes[semconv.REGION_SOURCES])  # type: ignore[union-attr]
    assert kernel_stages(recording) == []
    note(
        "regions of a small network",
        ", ".join(f"{s.attributes[semconv.KIND]} {s.attributes[semconv.REGION]}" for s in regions),
    )


PROGRAM = """
import sys; sys.path.insert(0, {folder!r})
import torch, thunder
from test_nvfuser import inputs, network
x, w = inputs(grad=True)
jitted = thunder.jit(network)
jitted(x, w).sum().backward()
jitted(x.detach().t().contiguous().t(), w)
print("OUT done")
"""


def test_every_kernel_is_the_one_that_nvfuser_writes_itself(
    run_program: Callable[..., Program], note: Note, tmp_path: Path
) -> None:
    program = PROGRAM.format(folder=str(Path(__file__).parent))
    done = run_program(program, {"THUNDER_DEBUG": "nvfuser_code", "NVFUSER_DUMP": "cuda_to_file"})
    assert done.code == 0, done.err
    (run,) = done.runs
    written = {}
    for path in run.parents[1].glob("__tmp_nvfuser_*.cu"):
        body = path.read_text().partition("// Codegen generated code\n")[2]
        body = re.sub(r"\}\s*//\s*namespace \w+\s*\Z", "", body.rstrip())
        written[path.stem.removeprefix("__tmp_")] = body.strip()
    recorded: dict[str, list[str]] = {}
    for path in sorted((run / "kernels").glob("*.cu")):
        body = path.read_text().partition("// Codegen generated code\n")[2]
        recorded.setdefault(re.search(r"void (\w+)\(", body)[1], []).append(body.strip())  # type: ignore[index]
    assert len(written) >= 4
    assert recorded.keys() == written.keys()
    # nvFuser names kernels alike in different regions and keeps the last file; ours are all there, in order.
    assert {name: bodies[-1] for name, bodies in recorded.items()} == written
    total = sum(map(len, recorded.values()))
    note("kernels equal to NVFUSER_DUMP=cuda_to_file", f"{len(written)} of {len(written)} files, {total} kernels")
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    ended = [event for event in events if event["event"] == semconv.EVENT_END]
    segments = [event for event in ended if event["name"].startswith(semconv.SPAN_KERNEL + "nvfuser")]
    assert {event["name"].removeprefix(semconv.SPAN_KERNEL) for event in segments} <= written.keys()
    assert len(segments) >= 3
    for event in ended:
        if event["name"].startswith(semconv.SPAN_KERNEL_COMPILE):
            assert event["attributes"][semconv.KERNEL_BINDING] == "nvfuser_direct"
            seconds = (event["end_ns"] - event["start_ns"]) / 1e9
            names = event["attributes"][semconv.KERNEL_NAMES]
            kind, region = event["attributes"][semconv.KIND], event["attributes"][semconv.REGION]
            note(f"first run of {kind} {region}", f"{seconds:.3f} s, {len(names)} kernels")


def test_other_strides_are_a_variant_of_their_own(record: Record) -> None:
    import thunder

    recording = record()
    x, w = inputs()
    jitted = thunder.jit(network)
    first = jitted(x, w)
    jitted(x, w)
    again = jitted(x.t().contiguous().t(), w)
    torch.testing.assert_close(first, again)
    one, two = kernel_stages(recording)
    assert [stage.attributes[semconv.KERNEL_VARIANT] for stage in (one, two)] == [0, 1]
    assert "strides (128, 1)" in str(one.attributes[semconv.KERNEL_INPUTS])
    assert "strides (1, 64)" in str(two.attributes[semconv.KERNEL_INPUTS])
    for stage in (one, two):
        assert "fd.ops." in recording.sink.text(stage, semconv.KERNEL_DEFINITION)
        assert recording.sink.text(stage, semconv.KERNEL_SCHEDULED_IR)
        assert "__global__" in recording.sink.text(stage, semconv.KERNEL_SOURCE)
    assert "namespace" in recording.sink.text(one, semconv.KERNEL_RUNTIME)
    assert (two.span_id, semconv.KERNEL_RUNTIME) not in recording.sink.texts


def test_the_programs_tensors_are_not_kept(record: Record) -> None:
    import thunder

    record()
    x, w = inputs()
    reference = weakref.ref(x)
    thunder.jit(network)(x, w)
    del x
    gc.collect()
    assert reference() is None


def test_the_profiler_knows_the_launch(record: Record, note: Note) -> None:
    import thunder

    bare = thunder.jit(network)(*inputs())
    recording = record(profile_kernels=True)
    torch.testing.assert_close(thunder.jit(network)(*inputs()), bare, rtol=0, atol=0)
    kernels = [stage for stage in recording.sink.stages if stage.name.startswith(semconv.SPAN_KERNEL + "nvfuser")]
    assert len(kernels) >= 3
    for stage in kernels:
        facts = stage.attributes
        assert facts[semconv.KERNEL_REGISTERS] > 0 and facts[semconv.KERNEL_DEVICE_SECONDS] > 0  # type: ignore[operator]
        assert facts[semconv.KERNEL_BYTES] > 0  # type: ignore[operator]
        note(
            stage.name.removeprefix(semconv.SPAN_KERNEL),
            f"grid {facts[semconv.KERNEL_GRID]}, block {facts[semconv.KERNEL_BLOCK]}, "
            f"{facts[semconv.KERNEL_REGISTERS]} registers, {facts[semconv.KERNEL_DEVICE_SECONDS] * 1e6:.2f} us",  # type: ignore[operator]
        )


def test_a_failing_region_raises_what_it_raises_bare(record: Record) -> None:
    import thunder
    from thunder.executors.nvfuserex_impl import FusionDefinitionWrapper

    def broken(*_: Any) -> Any:
        raise RuntimeError("no definition")

    recording = record()
    wrapper = FusionDefinitionWrapper(broken, lambda args: args, "nvFusion7: (add)", True)
    try:
        wrapper(torch.ones(2, device="cuda"))
    except RuntimeError as error:
        assert str(error) == "no definition"
    (stage,) = kernel_stages(recording)
    assert stage.name == semconv.SPAN_KERNEL_COMPILE + "nvFusion7"
    assert stage.error is not None and stage.error.message == "no definition"
    assert thunder is not None
