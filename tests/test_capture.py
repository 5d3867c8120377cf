"""capture(): records in memory, and nothing left behind."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import thunder
import torch
from opentelemetry import trace as otel
from thunder.executors.torch_compile import torch_compile_ex

import thunder_otel
from thunder_otel import _kernels, _patching, _runtime, _sinks, instrumentor
from thunder_otel._capture import capture
from thunder_otel.settings import Level, Settings, WrongLevel

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


def double(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * 2


def everything_is_off() -> bool:
    return not (_runtime.is_on() or _patching.installed() or _sinks.listeners() or _kernels.is_receiving())


def test_records_inside_the_block_only_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    provider = otel.get_tracer_provider()
    jit, general_jit = thunder.jit, thunder.thunder_general_jit
    jitted = thunder.jit(double)  # made before the block
    with capture() as run:
        assert thunder.thunder_general_jit is not general_jit
        result = jitted(torch.ones(2))
    thunder.jit(double)(torch.ones(3))
    assert everything_is_off()
    assert (thunder.jit, thunder.thunder_general_jit, otel.get_tracer_provider()) == (jit, general_jit, provider)
    assert list(tmp_path.iterdir()) == []
    torch.testing.assert_close(result, double(torch.ones(2)))
    [compiled] = run.compiles
    assert (compiled.fn, compiled.index, compiled.reason, compiled.error) == ("double", 0, "first call", None)
    assert compiled.level == Level.NVFUSER_CODE
    assert compiled.seconds > 0
    assert [stage.name for stage in run.stages[:2]] == ["thunder.compile", "thunder.acquire"]
    assert set(compiled.stages) == set(run.stages[1:])
    assert len({stage.trace_id for stage in run.stages}) == 1


def test_the_block_is_over_also_when_it_raises() -> None:
    with pytest.raises(ZeroDivisionError), capture() as run:
        thunder.jit(double)(torch.ones(2))
        raise ZeroDivisionError
    assert everything_is_off()
    assert len(run.compiles) == 1


def test_traces_are_what_thunder_made() -> None:
    jitted = thunder.jit(double)
    with capture("trace") as run:
        jitted(torch.ones(2))
    last = run.traces["computation"][-1]
    assert last.stage == "codegen"
    assert last.text.strip().endswith(str(thunder.last_traces(jitted)[-1]).strip().splitlines()[-1].strip())
    assert all(trace.text for traces in run.traces.values() for trace in traces)  # also of those that did not change
    assert [trace for trace in run.traces["computation"] if not trace.changed]
    assert set(run.traces) >= {"prologue", "computation", "backward", "epilogue"}
    assert run.traces["backward"] == ()
    assert run.regions == () and run.kernels == ()


def test_diff_shows_what_a_pass_changed() -> None:
    with capture("trace") as run:
        thunder.jit(double)(torch.ones(2))
    first, last = run.traces["computation"][0], run.traces["computation"][-1]
    difference = run.diff(first, last)
    assert difference.added > 0 and difference.removed > 0
    assert str(difference).startswith(f"--- double/0 {first.index:02d} computation acquire")
    assert not run.diff(first, first)
    assert str(run.diff("a\nb", "a\nc")).splitlines()[-2:] == ["-b", "+c"]
    acquire = next(stage for stage in run.stages if stage.stage == "acquire")
    assert run.diff(acquire, acquire.text).lines == ()


def test_regions_and_kernels_of_forward_and_backward() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    jitted = thunder.jit(module, executors=[torch_compile_ex])
    with capture() as run:
        jitted(torch.ones(2, 4)).sum().backward()
    assert {region.kind for region in run.regions} == {"computation", "backward"}
    forward = next(region for region in run.regions if region.kind == "computation")
    assert forward.executor == "torchcompile"
    assert "TorchCompile0" in forward.text and forward.inputs and forward.outputs and forward.source_lines
    assert {kernel.region for kernel in run.kernels} == {region.name for region in run.regions}
    assert all("extern" in kernel.source and kernel.language == "C++" for kernel in run.kernels)
    assert all(kernel.compile_id == "Sequential.forward/0" and kernel.compile_seconds > 0 for kernel in run.kernels)
    assert "TorchCompile0" in repr(run.kernels[0]) and "4 ops" not in repr(run.compiles)


def test_a_recompile_names_the_guard() -> None:
    jitted = thunder.jit(double)
    with capture("trace") as run:
        jitted(torch.ones(2))
        jitted(torch.ones(2))
        jitted(torch.ones(3))
    assert len(run.compiles) == 2
    [again] = run.recompiles
    assert (again.fn, again.index) == ("double", 1)
    assert again.guards[0].entry == 0
    assert again.guards[0].check.startswith("check_tensor_metadata(")
    assert "(2,)" in again.guards[0].message and "(3,)" in again.guards[0].message


def test_a_failed_compile_is_in_the_run() -> None:
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return torch.mm(x, x)

    with capture("trace") as run, pytest.raises(RuntimeError):
        thunder.jit(wrong)(torch.ones(2))
    [compiled] = run.compiles
    assert compiled.error is not None
    assert "1 failed" in repr(run)
    assert compiled.error.type in repr(compiled)


def test_nested_blocks_see_their_own_part() -> None:
    with capture(1) as outer:
        thunder.jit(double)(torch.ones(2))
        with capture(1) as inner:
            thunder.jit(double)(torch.ones(3))
        assert _runtime.is_on()
        thunder.jit(double)(torch.ones(4))
    assert (len(outer.compiles), len(inner.compiles)) == (3, 1)
    assert everything_is_off()


def test_the_higher_level_counts_while_both_run() -> None:
    with capture(1) as low:
        with capture(3):
            assert _kernels.is_receiving()
            thunder.jit(double)(torch.ones(2))
        assert not _kernels.is_receiving()
        thunder.jit(double)(torch.ones(3))
    assert [compiled.level for compiled in low.compiles] == [3, 1]


def compile_on_a_thread() -> None:
    thread = threading.Thread(target=lambda: thunder.jit(double)(torch.ones(5)))
    thread.start()
    thread.join()


@pytest.mark.parametrize(("all_threads", "count"), [(False, 1), (True, 2)])
def test_other_threads_are_taken_when_asked_for(all_threads: bool, count: int) -> None:
    with capture(1, all_threads=all_threads) as run:
        compile_on_a_thread()
        thunder.jit(double)(torch.ones(2))
    assert len(run.compiles) == count


def test_kernels_compiled_on_another_thread_belong_to_the_run() -> None:
    """A backward pass may run on a thread of torch's own."""
    jitted = thunder.jit(torch.nn.Linear(3, 3), executors=[torch_compile_ex])
    with capture() as run:
        loss = jitted(torch.ones(2, 3)).sum()
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join()
    assert "backward" in {kernel.kind for kernel in run.kernels}


def test_blocks_on_several_threads_end_in_any_order() -> None:
    inside, leave = threading.Event(), threading.Event()
    runs = []

    def work() -> None:
        with capture(1) as run:
            thunder.jit(double)(torch.ones(2))
            inside.set()
            leave.wait(60)
        runs.append(run)

    with capture(1) as mine:
        thread = threading.Thread(target=work)
        thread.start()
        assert inside.wait(60)
        thunder.jit(double)(torch.ones(3))
    assert _runtime.is_on()  # the other block still runs
    leave.set()
    thread.join()
    assert everything_is_off()
    assert len(mine.compiles) == len(runs[0].compiles) == 1


def test_recording_that_is_on_goes_on(record: Callable[..., object]) -> None:
    recording = record(Level.TRACE)
    with capture(Level.TRACE) as run:
        thunder.jit(double)(torch.ones(2))
    thunder.jit(double)(torch.ones(3))
    assert len(run.compiles) == 1
    assert len(recording.sink.named("thunder.compile")) == 2  # type: ignore[attr-defined]
    assert run.stages[0].span_id in {stage.span_id for stage in recording.sink.stages}  # type: ignore[attr-defined]


def test_recording_switched_on_inside_stays_on(record: Callable[..., object]) -> None:
    with capture(1) as run:
        recording = record(Level.TRACE)
        thunder.jit(double)(torch.ones(2))
    assert _runtime.is_on()
    thunder.jit(double)(torch.ones(3))
    assert len(run.compiles) == 1
    assert len(recording.sink.named("thunder.compile")) == 2  # type: ignore[attr-defined]


def test_recording_switched_off_inside_ends_but_the_run_goes_on(record: Callable[..., object]) -> None:
    recording = record(Level.TRACE)
    with capture(1) as run:
        thunder.jit(double)(torch.ones(2))
        instrumentor.uninstrument()
        thunder.jit(double)(torch.ones(3))
    assert everything_is_off()
    assert len(run.compiles) == 2
    assert len(recording.sink.named("thunder.compile")) == 1  # type: ignore[attr-defined]


def test_a_function_that_refuses_stays_unrecorded() -> None:
    with capture() as run:
        thunder.jit(double, thunder_debug=0)(torch.ones(2))
    assert run.stages == ()
    assert repr(run) == "<Run: nothing compiled>"
    assert run._repr_html_() == "<b>Run: nothing compiled</b>"


def test_the_jit_option_inside_a_block_outlives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with capture(1) as run:
        jitted = thunder.jit(double, thunder_debug="nvfuser_region")
    jitted(torch.ones(2))
    instrumentor.uninstrument()
    assert run.compiles == ()
    assert len(list(tmp_path.glob("thunder_debug/*/events.jsonl"))) == 1


def test_a_wrong_level_is_named() -> None:
    with (
        pytest.raises(WrongLevel, match=r"capture\(level=...\)='tracee' is not a level. Did you mean trace"),
        capture("tracee"),
    ):
        pass
    assert everything_is_off()


def test_a_compile_that_began_before_the_block_is_not_half_recorded(record: Callable[..., object]) -> None:
    recording = record(Level.TRACE)
    early = recording.recorder.start("thunder.compile", parent=None)  # type: ignore[attr-defined]
    with capture(1) as run:
        recording.recorder.end(early)  # type: ignore[attr-defined]
    assert run.stages == ()


def test_records_cannot_be_changed() -> None:
    with capture(1) as run:
        thunder.jit(double)(torch.ones(2))
    stage = run.stages[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        stage.name = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        stage.attributes["thunder.fn"] = "x"  # type: ignore[index]
    assert run.stages[0] is stage
    assert all(isinstance(value, (str, bool, int, float, tuple)) for value in stage.attributes.values())


def test_how_a_run_looks() -> None:
    def less_than(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)

    less_than.__qualname__ = "<script>alert(1)</script>"
    jitted = thunder.jit(less_than, executors=[torch_compile_ex])
    with capture() as run:
        jitted(torch.ones(2))
        jitted(torch.ones(3))
    assert repr(run).startswith("<Run: 2 compiles of 1 function in ")
    assert "1 recompile" in repr(run) and repr(run).endswith(">")
    page = run._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert page.count("<details>") == sum(bool(traces) for traces in run.traces.values()) + len(run.kernels)
    assert repr(run.stages[0]).startswith("<StageRecord 'thunder.compile' of ")
    assert "unchanged" in repr(next(trace for trace in run.traces["computation"] if not trace.changed))
    assert str(run.traces["computation"][0]) == run.traces["computation"][0].text
    assert run.traces["computation"][0].lines == len(run.traces["computation"][0].text.splitlines())


def test_public_names_are_these() -> None:
    assert thunder_otel.capture is capture
    assert Settings().level is Level.OFF
