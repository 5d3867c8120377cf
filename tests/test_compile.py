"""The spans of a compile: which there are, under whom, and what they carry."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import thunder
import torch
from opentelemetry.trace import StatusCode
from thunder.executors.torch_compile import torch_compile_ex
from thunder.recipes import BaseRecipe

from thunder_otel import instrumentor, semconv
from thunder_otel._model import Stage
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Recording

Record = Callable[..., "Recording"]
pytestmark = pytest.mark.filterwarnings("ignore")


def double(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * 2


def tree(stages: list[Stage]) -> list[str]:
    """Names in the order of their starts, indented by depth."""

    def depth(stage: Stage) -> int:
        return 0 if stage.parent is None else 1 + depth(stage.parent)

    return [f"{'  ' * depth(stage)}{stage.name}" for stage in sorted(stages, key=lambda stage: stage.start_ns)]


def compiles(recording: Recording) -> list[Stage]:
    return recording.sink.named(semconv.SPAN_COMPILE)


FORWARD = """\
thunder.compile
  thunder.acquire
  thunder.pass wrap_return_value_together_with_arguments
  thunder.pass remove_context_manager_prims_from_trace
  thunder.pass insert_alias_updates
  thunder.pass transform_for_execution
    thunder.pass executor_passes
      thunder.pass dce
      thunder.pass apply_bucketing_to_grad_allreduce
      thunder.pass dce
      thunder.claim
      thunder.pass dce
      thunder.claim
  thunder.codegen prologue
  thunder.pass transform_to_torch_types
  thunder.codegen epilogue
  thunder.pass dce
  thunder.claim
  thunder.pass maybe_sort_waits
  thunder.pass transform_for_execution
    thunder.pass executor_passes
      thunder.pass dce
      thunder.pass apply_bucketing_to_grad_allreduce
      thunder.pass dce
      thunder.claim
      thunder.pass dce
      thunder.fusion_pass torchcompile_xentropy
        thunder.pass rematerialize
        thunder.pass dce
        thunder.pass update_fusion_call_ctx
      thunder.claim
  thunder.pass del_last_used
  thunder.pass unwrap_return_value
  thunder.pass transform_to_torch_types
  thunder.codegen computation"""


def test_the_tree_of_a_compile_without_gradients(record: Record) -> None:
    recording = record(Level.TRACE)
    thunder.jit(double)(torch.ones(2))
    assert "\n".join(tree(recording.sink.stages)) == FORWARD


def test_forward_and_backward_are_labelled(record: Record) -> None:
    recording = record(Level.TRACE)
    thunder.jit(double)(torch.ones(2, requires_grad=True))
    final = {
        stage.attributes[semconv.KIND]: recording.sink.texts.get((stage.span_id, semconv.TRACE_TEXT))
        for stage in recording.sink.stages
        if stage.name.startswith(semconv.SPAN_CODEGEN)
    }
    assert set(final) == {"prologue", "computation", "backward", "epilogue"}
    names = [stage.attributes[semconv.STAGE] for stage in recording.sink.stages]
    assert {"autodiff", "split_into_forward_and_backward", "del_last_used"} <= set(names)


def test_spans_and_stages_agree(record: Record) -> None:
    recording = record(Level.TRACE)
    thunder.jit(double)(torch.ones(2))
    spans = {f"{span.context.span_id:016x}": span for span in recording.spans}
    assert len(spans) == len(recording.sink.stages)
    for stage in recording.sink.stages:
        span = spans[stage.span_id]
        assert (span.name, span.start_time, span.end_time) == (stage.name, stage.start_ns, stage.end_ns)
        assert (f"{span.parent.span_id:016x}" if span.parent else "") == stage.parent_id
        assert span.attributes[semconv.FN] == "double"


def test_the_last_text_of_each_kind_is_what_thunder_runs(record: Record) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(double)
    jitted(torch.ones(2, requires_grad=True))
    (computation,) = recording.sink.named(semconv.SPAN_CODEGEN + "computation")
    (backward,) = recording.sink.named(semconv.SPAN_CODEGEN + "backward")
    for stage, trace in (
        (computation, thunder.last_traces(jitted)[-1]),
        (backward, thunder.last_backward_traces(jitted)[-1]),
    ):
        assert stage.attributes[semconv.TRACE_TEXT + semconv.PAYLOAD_SHA256]
        shown = [
            text
            for (_, key), text in recording.sink.texts.items()
            if key in (semconv.TRACE_TEXT, semconv.TRACE_COMPUTATION_TEXT, semconv.TRACE_BACKWARD_TEXT)
        ]
        assert str(trace).partition("\n")[2] in {text.partition("\n")[2] for text in shown}


@pytest.mark.parametrize(("level", "regions", "kernels"), [(1, False, False), (2, True, False), (3, True, True)])
def test_the_level_decides_what_is_filled(record: Record, level: int, regions: bool, kernels: bool) -> None:
    recording = record(Level(level))
    jitted = thunder.jit(lambda x: torch.sin(x) * 3 + torch.cos(x), executors=[torch_compile_ex])
    jitted(torch.ones(16 + level))
    keys = {key for stage in recording.sink.stages for key in stage.attributes}
    assert semconv.TRACE_TEXT + semconv.PAYLOAD_SHA256 in keys
    assert (semconv.REGION_OPS in keys) is regions
    assert (semconv.REGION_TEXT + semconv.PAYLOAD_SHA256 in keys) is regions
    assert (semconv.KERNEL_SOURCE + semconv.PAYLOAD_SHA256 in keys) is kernels


def test_a_region_carries_ops_shapes_and_its_kernel(record: Record) -> None:
    recording = record(Level.NVFUSER_CODE)
    jitted = thunder.jit(lambda x: torch.sin(x) * 5 + torch.cos(x), executors=[torch_compile_ex])
    jitted(torch.ones(21))
    (region,) = [stage for stage in recording.sink.stages if stage.attributes.get(semconv.REGION_FINAL)]
    assert region.attributes[semconv.REGION] == "TorchCompile0"
    assert [op.rpartition(".")[2] for op in region.attributes[semconv.REGION_OPS]] == ["sin", "mul", "cos", "add"]
    assert region.attributes[semconv.REGION_INPUTS] == ["x: cpu f32[21]"]
    (kernel,) = recording.sink.named(semconv.SPAN_KERNEL_COMPILE + "TorchCompile0")
    assert kernel.attributes[semconv.KERNEL_LANGUAGE] == "C++" and kernel.attributes[semconv.KERNEL_FRAME_SECONDS] > 0
    assert 'extern "C"' in recording.sink.text(kernel, semconv.KERNEL_SOURCE)


def test_cached_calls_make_no_span(record: Record) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(double)
    jitted(torch.ones(2))
    count = len(recording.sink.stages)
    jitted(torch.ones(2))
    assert len(recording.sink.stages) == count


def test_without_caching_every_call_is_a_compile(record: Record) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(double, cache="no caching")
    jitted(torch.ones(2))
    jitted(torch.ones(2))
    assert [stage.attributes[semconv.COMPILE_REASON] for stage in compiles(recording)] == ["no caching"] * 2


def test_a_recompile_says_which_guard_failed_in_every_entry(record: Record) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(double)
    for size in (2, 3, 4):
        jitted(torch.ones(size))
    last = compiles(recording)[-1]
    assert last.attributes[semconv.GUARD_ENTRIES] == [1, 0]
    assert all("check_tensor" in check for check in last.attributes[semconv.GUARD_FAILED])
    assert all("4" in message for message in last.attributes[semconv.GUARD_MESSAGES])


@pytest.mark.parametrize("nested", [False, True])
def test_jits_inside_and_beside_each_other_keep_their_own_trees(record: Record, nested: bool) -> None:
    recording = record(Level.TRACE)
    inner = thunder.jit(double)
    if nested:
        thunder.jit(lambda x: x + 1)(inner(torch.ones(2)))
    else:
        other = thunder.jit(lambda x: x + 1)
        inner(torch.ones(2))
        other(torch.ones(2))
        inner(torch.ones(3))
        other(torch.ones(3))
    for stage in recording.sink.stages:
        if stage.parent is not None:
            assert stage.attributes[semconv.COMPILE_ID] == stage.parent.attributes[semconv.COMPILE_ID]
    assert all(stage.parent is None for stage in compiles(recording))


def test_modes_and_kinds_of_callables(record: Record) -> None:
    recording = record(Level.TRACE)

    class Callable_:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    def with_scale(x: torch.Tensor, scale: int) -> torch.Tensor:
        y = x.clone()
        y.mul_(scale)
        return y

    with torch.no_grad():
        thunder.jit(torch.nn.Linear(2, 2))(torch.ones(1, 2))
    with torch.autocast("cpu", torch.bfloat16):
        thunder.jit(torch.nn.functional.linear)(torch.ones(1, 2), torch.ones(2, 2))
    thunder.jit(functools.partial(with_scale, scale=3))(torch.ones(2))
    thunder.jit(lambda x: x + 1)(torch.ones(2))
    thunder.compile(torch.nn.Linear(2, 2), recipe=BaseRecipe(fuser="torch.compile"))(torch.ones(1, 2))
    names = [str(stage.attributes[semconv.FN]) for stage in compiles(recording)]
    assert names[0] == "Linear.forward" and names[2].startswith("partial(") and "<lambda>" in names[3]
    assert names[4] == "Linear.forward"
    assert all(stage.error is None for stage in recording.sink.stages)


def test_threads_keep_their_own_trees(record: Record) -> None:
    recording = record(Level.TRACE)

    def work(number: int) -> None:
        thunder.jit(lambda x: x * number)(torch.ones(2))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiles(recording)) == 4
    for stage in recording.sink.stages:
        if stage.parent is not None:
            assert stage.thread_id == stage.parent.thread_id


def test_a_compile_that_raises_is_an_error_and_nothing_stays_open(record: Record) -> None:
    recording = record(Level.TRACE)

    def broken(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) + {}["absent"]

    with pytest.raises(KeyError, match="absent"):
        thunder.jit(broken)(torch.ones(2))
    (failed,) = compiles(recording)
    assert failed.error is not None and failed.error.type == "KeyError"
    assert "in broken" in failed.error.stacktrace and "thunder_otel/_" not in failed.error.stacktrace
    span = recording.spans[-1]
    assert span.status.status_code is StatusCode.ERROR
    assert [event.name for event in span.events] == ["exception"]
    assert recording.recorder.open_stages == {}


def test_a_sink_that_raises_hurts_nobody(record: Record, capfd: pytest.CaptureFixture[str]) -> None:
    recording = record(Level.TRACE)

    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

        def stage_started(self, stage: Stage) -> None:
            raise RuntimeError("start")

        def store(self, stage: Stage, payload: Any) -> str:
            raise RuntimeError("store")

        def stage_ended(self, stage: Stage) -> None:
            raise RuntimeError("end")

        def close(self) -> None:
            raise RuntimeError("close")

    recording.recorder.sinks.insert(0, Broken())
    assert torch.equal(thunder.jit(double)(torch.ones(2)), double(torch.ones(2)))
    assert len(compiles(recording)) == 1
    assert capfd.readouterr().err.count("failed and is skipped") == 3


def test_texts_over_the_inline_limit_are_cut_in_the_span_only(record: Record) -> None:
    recording = record(Level.TRACE, inline_limit=100)
    thunder.jit(double)(torch.ones(2))
    span = next(span for span in recording.spans if span.name == semconv.SPAN_ACQUIRE)
    assert len(span.attributes[semconv.TRACE_COMPUTATION_TEXT]) <= 100
    assert span.attributes[semconv.TRACE_COMPUTATION_TEXT + semconv.PAYLOAD_TRUNCATED] is True
    size = span.attributes[semconv.TRACE_COMPUTATION_TEXT + semconv.PAYLOAD_SIZE]
    stage = recording.sink.named(semconv.SPAN_ACQUIRE)[0]
    assert len(recording.sink.text(stage, semconv.TRACE_COMPUTATION_TEXT).encode()) == size


@pytest.mark.parametrize("stages", [frozenset({"final"}), frozenset({"claim"})])
def test_the_stages_that_carry_text_can_be_chosen(record: Record, stages: frozenset[str]) -> None:
    recording = record(Level.TRACE, stages=stages)
    thunder.jit(double)(torch.ones(2))
    of = {stage.span_id: stage.attributes[semconv.STAGE] for stage in recording.sink.stages}
    assert {of[span_id] for span_id, _ in recording.sink.texts} == ({"codegen"} if "final" in stages else {"claim"})


def test_uninstrument_in_the_middle_of_a_compile_records_it_to_its_end(record: Record) -> None:
    recording = record(Level.TRACE)

    class Off(thunder.core.transforms.Transform):
        def transform_traces_pre_prologue(self, prologue: Any, computation: Any, epilogue: Any, **_: Any) -> Any:
            instrumentor.uninstrument()
            return prologue, computation, epilogue

    jitted = thunder.jit(double, transforms=[Off()])
    assert torch.equal(jitted(torch.ones(2)), double(torch.ones(2)))
    assert len(compiles(recording)) == 1
    assert recording.recorder.open_stages == {}
