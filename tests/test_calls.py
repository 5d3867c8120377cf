"""Sampled calls: what a span of a call says, that nothing else changes, and what a call costs."""

from __future__ import annotations

import copy
import gc
import random
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import thunder
import torch
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from thunder_otel import _calls, semconv
from thunder_otel._calls import trace_calls
from thunder_otel._capture import capture
from thunder_otel.settings import Level, read_settings

if TYPE_CHECKING:
    from conftest import Recording

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


def double(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * 2


def calls_in(recording: Recording) -> list[Any]:
    return recording.sink.named(semconv.SPAN_CALL)


def test_a_call_is_shown_with_its_parts_hit_or_miss(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(double)
    with trace_calls(jitted, sample=1):
        for _ in range(2):
            jitted(torch.ones(2))
    jitted(torch.ones(2))
    miss, hit = calls_in(recording)
    assert [call.attributes[semconv.CALL_CACHE] for call in (miss, hit)] == ["miss", "hit"]
    assert [call.attributes[semconv.CALL_NUMBER] for call in (miss, hit)] == [1, 2]
    assert hit.attributes[semconv.FN] == "double"

    def parts(call: Any) -> list[str]:
        found = [stage for stage in recording.sink.stages if stage.parent is call]
        for part in found:
            assert call.start_ns <= part.start_ns <= part.end_ns <= call.end_ns
        ordered = sorted(found, key=lambda part: part.start_ns)
        return [part.name.removeprefix(semconv.SPAN_CALL_PART) for part in ordered]

    assert parts(miss) == ["compile", "prologue", "computation", "epilogue"]
    assert parts(hit) == ["prologue", "computation", "epilogue"]


def test_backward_passes_are_shown_and_linked_to_a_call(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    module = torch.nn.Linear(2, 2)
    jitted = thunder.jit(module)
    jitted(torch.ones(1, 2))
    original = jitted._lc_cs.interpreter_cache[0].backward_fn
    handle = trace_calls(jitted, sample=1)
    jitted(torch.ones(1, 2)).sum().backward()
    [call] = calls_in(recording)
    [backward] = recording.sink.named("thunder.call.backward")
    span = next(span for span in recording.spans if span.name == "thunder.call.backward")
    assert [f"{link.context.span_id:016x}" for link in span.links] == [call.span_id]
    assert backward.attributes[semconv.FN] == "Linear.forward"
    expected = [parameter.grad.clone() for parameter in module.parameters() if parameter.grad is not None]
    handle.remove()
    assert jitted._lc_cs.interpreter_cache[0].backward_fn is original
    module.zero_grad()
    jitted(torch.ones(1, 2)).sum().backward()
    torch.testing.assert_close([parameter.grad for parameter in module.parameters()], expected)
    assert len(recording.sink.named("thunder.call.backward")) == 1


def test_a_backward_that_raises_is_an_error_and_passes(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(double)
    jitted(torch.ones(2, requires_grad=True))
    with trace_calls(jitted, sample=1):
        entry = jitted._lc_cs.interpreter_cache[0]
        with pytest.raises(Exception) as raised:
            entry.backward_fn("no", "tensors")
    [backward] = recording.sink.named("thunder.call.backward")
    assert backward.error is not None
    assert backward.error.type.endswith(type(raised.value).__name__)


def test_a_call_that_raises_is_an_error_and_one_inside_a_handler_is_not(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(lambda x: torch.mm(x, x))
    with trace_calls(jitted, sample=1):
        try:
            jitted(torch.ones(2))
        except RuntimeError:
            jitted(torch.ones(2, 2))  # works, while another error is being handled
    failed, fine = calls_in(recording)
    assert failed.error is not None and failed.error.type == "NotImplementedError"
    assert fine.error is None


def test_a_share_of_the_calls_is_drawn_and_the_programs_random_numbers_stay(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(double)
    x = torch.ones(2)
    jitted(x)
    random.seed(7)
    expected = random.random()
    random.seed(7)
    with trace_calls(jitted, sample=0.2):
        _calls._watches[jitted._lc_cs].random.seed(3)
        for _ in range(300):
            jitted(x)
    assert random.random() == expected
    assert 30 <= len(calls_in(recording)) <= 90
    assert calls_in(recording)[0].attributes[semconv.CALL_SAMPLE] == 0.2


def test_a_share_of_nothing_records_nothing(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(double)
    with trace_calls(jitted, sample=0):
        for _ in range(20):
            jitted(torch.ones(2))
    assert calls_in(recording) == []


def test_watching_leaves_the_function_as_it_was() -> None:
    jitted = thunder.jit(double)
    jitted(torch.ones(2))
    stats, before = jitted._lc_cs, dict(vars(jitted._lc_cs))
    kind = type(stats)
    handle = trace_calls(jitted, sample=0)
    assert isinstance(stats, kind) and type(stats).__name__ == kind.__name__
    assert dict(vars(stats)) == before
    assert type(copy.copy(stats)).__name__ == kind.__name__
    trace_calls(jitted, sample=0.5)  # again: the same watch, with another share
    assert type(stats).__mro__[1] is kind
    handle.remove()
    handle.remove()
    assert type(stats) is kind and dict(vars(stats)) == before
    assert (stats.calls, thunder.cache_misses(jitted)) == (1, 1)


def test_a_watched_function_is_not_kept_alive() -> None:
    jitted = thunder.jit(double)
    handle = trace_calls(jitted, sample=1)
    jitted(torch.ones(2))
    gone = weakref.ref(jitted._lc_cs)
    del jitted
    gc.collect()
    assert gone() is None
    handle.remove()


def test_with_recording_off_spans_go_to_the_applications_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(otel, "_TRACER_PROVIDER", provider)
    jitted = thunder.jit(double)
    with trace_calls(jitted, sample=1), provider.get_tracer("app").start_as_current_span("step") as step:
        jitted(torch.ones(2))
    call = next(span for span in exporter.get_finished_spans() if span.name == semconv.SPAN_CALL)
    assert call.parent is not None and call.parent.span_id == step.get_span_context().span_id
    assert call.instrumentation_scope is not None and call.instrumentation_scope.name == "thunder_otel"


def test_calls_on_several_threads_are_all_shown(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(double)
    jitted(torch.ones(2))
    with trace_calls(jitted, sample=1):
        threads = [threading.Thread(target=lambda: [jitted(torch.ones(2)) for _ in range(5)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(calls_in(recording)) == 15
    assert recording.recorder.open_stages == {}


def test_the_setting_watches_what_is_compiled(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE, calls=1.0)
    jitted = thunder.jit(double)
    jitted(torch.ones(2))
    jitted(torch.ones(2))
    assert [call.attributes[semconv.CALL_CACHE] for call in calls_in(recording)] == ["miss", "hit"]


@pytest.mark.parametrize(
    ("raw", "share", "said"), [("0.25", 0.25, False), ("", 0.0, False), ("2", 0.0, True), ("x", 0.0, True)]
)
def test_the_variable(raw: str, share: float, said: bool, capfd: pytest.CaptureFixture[str]) -> None:
    assert read_settings({"THUNDER_DEBUG_CALLS": raw}).calls == share
    err = capfd.readouterr().err
    assert ("THUNDER_DEBUG_CALLS" in err) is said


def test_calls_are_part_of_a_capture() -> None:
    jitted = thunder.jit(double)
    with trace_calls(jitted, sample=1), capture(1) as run:
        jitted(torch.ones(2))
    assert [stage.name for stage in run.stages if stage.name == semconv.SPAN_CALL] == [semconv.SPAN_CALL]
    assert run.stages[0].fn == "double"


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match=r"takes what thunder.jit\(\) gave, not function"):
        trace_calls(double)
    with pytest.raises(ValueError, match=r"sample=1\.5 is not a share"):
        trace_calls(thunder.jit(double), sample=1.5)
