"""Span hooks: they read, add, redact, veto and stop; they never break, leak or hang."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import thunder
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thunder_otel import _bounded, _runtime, _span_hooks, instrumentor, semconv
from thunder_otel._capture import capture
from thunder_otel._hook_runs import STRIKES
from thunder_otel._model import CompileInfo, ErrorInfo, Payload
from thunder_otel._span_hooks import (
    NEEDED,
    Handle,
    SpanRecord,
    StopCompile,
    on_span_end,
    on_span_start,
    redact,
    remove_hook,
)
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Program, Recording

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
SECRET = "hf_very_secret"


@pytest.fixture(autouse=True)
def no_hook_stays() -> Iterator[None]:
    yield
    left = _span_hooks.registered()
    _span_hooks._remove(lambda _: True)
    assert left == ()
    assert _bounded._idle == []


def double(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * 2


def compile_it() -> torch.Tensor:
    result: torch.Tensor = thunder.jit(double)(torch.ones(2))
    return result


def one_stage(recording: Recording, *, text: str = "text", error: Exception | None = None) -> None:
    """A stage as the hooks of thunder would make it."""
    recorder = recording.recorder
    info = CompileInfo("f", 0, 3, 1)
    attributes = {semconv.STAGE: "dce", semconv.STAGE_INDEX: 1, semconv.KIND: "computation", "path": f"/x/{SECRET}"}
    stage = recorder.start("thunder.pass dce", parent=None, compile=info, attributes=attributes)  # type: ignore[arg-type]
    assert stage is not None
    stage.payloads.append(Payload(semconv.TRACE_TEXT, text, "traces", "01-dce"))
    recorder.end(stage, error=error)


def test_hooks_see_the_stages_they_ask_for(record: Callable[..., Recording]) -> None:
    record(Level.TRACE)
    seen: list[tuple[str, str, str, bool]] = []

    def note(record: SpanRecord) -> None:
        seen.append((record.name, record.kind, record.fn, record.seconds is None))

    with on_span_start(note, stages="claim"), on_span_end(note, stages=("thunder.codegen", "compil*")):
        compile_it()
    names = [(name, at_start) for name, _, _, at_start in seen]
    assert set(names) == {
        ("thunder.claim", True),
        ("thunder.codegen prologue", False),
        ("thunder.codegen epilogue", False),
        ("thunder.codegen computation", False),
        ("thunder.compile", False),
    }
    assert names[-1] == ("thunder.compile", False)
    assert {fn for _, _, fn, _ in seen} == {"double"}
    assert ("thunder.codegen prologue", "prologue") in [seen[:2] for seen in seen]


def test_a_hook_reads_texts_and_adds_attributes(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    texts: list[str] = []

    @on_span_end(stages="acquire")
    def count(record: SpanRecord) -> None:
        texts.append(record.texts[semconv.TRACE_COMPUTATION_TEXT])
        record.attributes["ops"] = texts[-1].count("ltorch.")

    try:
        compile_it()
    finally:
        remove_hook(count)
    assert "ltorch.sin" in texts[0]
    ended = recording.sink.named("thunder.acquire")[0]
    span = next(span for span in recording.spans if span.name == ended.name)
    assert span.attributes is not None and span.attributes["ops"] == ended.attributes["ops"] == 2


def test_attributes_added_at_the_start_are_there_at_once_and_stay(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    started: list[object] = []
    started_as = recording.sink.stage_started
    recording.sink.stage_started = lambda stage: (started.append(stage.attributes.get("who")), started_as(stage))[1]  # type: ignore[method-assign]
    with on_span_start(lambda record: record.attributes.update(who="me")):
        one_stage(recording)
    assert started == ["me"]
    assert recording.spans[0].attributes is not None and recording.spans[0].attributes["who"] == "me"


def test_hooks_run_in_the_order_they_were_added(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    order: list[str] = []
    handles = [on_span_end(lambda _record, name=name: order.append(name)) for name in "abc"]  # type: ignore[misc]
    one_stage(recording)
    handles[1].remove()
    handles[1].remove()  # twice is fine
    one_stage(recording)
    for handle in handles:
        handle.remove()
    one_stage(recording)
    assert order == ["a", "b", "c", "a", "c"]


def test_a_hook_that_raises_is_reported_once_by_name_and_the_rest_go_on(
    record: Callable[..., Recording], capfd: pytest.CaptureFixture[str]
) -> None:
    recording = record(Level.TRACE)
    later: list[str] = []

    def broken(record: SpanRecord) -> None:
        raise LookupError("no such thing")

    with on_span_start(broken), on_span_end(broken), on_span_end(lambda record: later.append(record.name)):
        result = compile_it()
        one_stage(recording)
    err = capfd.readouterr().err
    name = "test_span_hooks.test_a_hook_that_raises_is_reported_once_by_name_and_the_rest_go_on.<locals>.broken"
    assert err.count(f"{name} raised LookupError: no such thing") == 2  # once as each kind of hook
    assert len(err.splitlines()) == 2
    torch.testing.assert_close(result, double(torch.ones(2)))
    assert len(later) == len(recording.sink.stages)
    assert not [key for stage in recording.sink.stages for key in stage.attributes if key == semconv.WITHHELD]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_no_exception_of_a_hook_ends_the_program(error: BaseException, record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)

    def broken(record: SpanRecord) -> None:
        raise error

    with on_span_end(broken):
        one_stage(recording)
    assert len(recording.spans) == 1


def everything_that_left(recording: Recording) -> str:
    """All that sinks, spans and the log of stages got."""
    spans = [
        (
            span.name,
            dict(span.attributes or {}),
            [dict(event.attributes or {}) for event in span.events],
            span.status.description,
        )
        for span in recording.spans
    ]
    stages = [(stage.attributes, stage.error) for stage in recording.sink.stages]
    return repr((spans, stages, recording.sink.texts))


def test_redact_reaches_every_sink_before_anything_is_seen(record: Callable[..., Recording]) -> None:
    from thunder_otel import logs

    lines: list[bytes] = []
    recording = record(Level.TRACE)
    stop = logs.add_writer(lines.append)
    attributes_at_start: list[object] = []
    recording.sink.stage_started = lambda stage: attributes_at_start.append(dict(stage.attributes))  # type: ignore[method-assign]
    with capture(1) as run, redact("hf_[a-z_]+"):
        one_stage(recording, text=f"x = {SECRET}\n", error=ValueError(f"bad token {SECRET}"))
    stop()
    everything = (
        everything_that_left(recording)
        + repr(attributes_at_start)
        + repr(lines)
        + repr([(s.attributes, s.texts, s.error) for s in run.stages])
    )
    assert SECRET not in everything
    assert "x = [redacted]" in everything and "bad token [redacted]" in everything and "/x/[redacted]" in everything
    assert len(lines) == 2


def test_redact_takes_a_function_and_lists_of_strings(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    with redact(lambda text: text.replace("sin", "***")):
        compile_it()
    assert "sin" not in repr(recording.sink.texts)
    assert "***" in repr(recording.sink.texts)
    assert recording.sink.named("thunder.compile")[0].attributes[semconv.FN] == "double"


def test_the_stored_hash_is_that_of_the_redacted_text(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    with redact(SECRET):
        one_stage(recording, text=SECRET)
    [stage] = recording.sink.stages
    assert stage.stored[0].sha256 == Payload("", "[redacted]", "", "").sha256
    assert stage.attributes[semconv.TRACE_TEXT + semconv.PAYLOAD_SIZE] == len("[redacted]")


@pytest.mark.parametrize("how", ["raises", "is late"])
def test_what_a_redacting_hook_did_not_finish_is_withheld(
    how: str, record: Callable[..., Recording], capfd: pytest.CaptureFixture[str]
) -> None:
    recording = record(Level.TRACE)
    release = threading.Event()

    def clean(text: str) -> str:
        if how == "raises":
            raise RuntimeError("cannot")
        release.wait(30)
        return text

    with redact(clean, timeout=0.05):
        one_stage(recording, text=f"x = {SECRET}", error=ValueError(SECRET))
    release.set()
    assert SECRET not in everything_that_left(recording)
    [stage] = recording.sink.stages
    assert stage.attributes[semconv.STAGE] == "dce"
    assert "could not redact it" in str(stage.attributes[semconv.WITHHELD])
    assert stage.error == ErrorInfo("ValueError", "", "")
    assert stage.stored == []
    assert (
        "raised RuntimeError" if how == "raises" else "took longer than its timeout of 0.05 s"
    ) in capfd.readouterr().err


def test_what_a_late_hook_changes_afterwards_changes_nothing(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    release, changed = threading.Event(), threading.Event()

    def slow(record: SpanRecord) -> None:
        release.wait(30)
        record.attributes["late"] = True
        changed.set()

    with on_span_end(slow, timeout=0.02):
        one_stage(recording)
        release.set()
        assert changed.wait(30)
    assert "late" not in recording.sink.stages[0].attributes


def test_slow_hooks_hold_a_compile_up_no_longer_than_their_limits(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    release = threading.Event()
    calls: list[float] = []

    def slow(record: SpanRecord) -> None:
        calls.append(time.monotonic())
        release.wait(60)

    with on_span_start(slow, timeout=0.1):
        began = time.monotonic()
        compile_it()
        took = time.monotonic() - began
    release.set()
    assert len(calls) == 1  # while a call still runs, there is no other
    assert took < 30
    assert len(recording.sink.stages) > 10


def test_a_hook_that_is_late_three_times_is_called_no_more(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    ended = threading.Semaphore(0)
    calls: list[int] = []

    def slow(record: SpanRecord) -> None:
        calls.append(1)
        time.sleep(0.05)
        ended.release()

    with on_span_end(slow, timeout=0.01):
        for _ in range(STRIKES + 2):
            one_stage(recording)
            if len(calls) <= STRIKES:
                ended.acquire(timeout=1)
                time.sleep(0.05)
    assert len(calls) == STRIKES
    assert len(recording.spans) == STRIKES + 2


def test_async_hooks_run_to_their_end_within_the_limit(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)

    async def add(record: SpanRecord) -> None:
        await asyncio.sleep(0.001)
        record.attributes["awaited"] = True

    async def forever(record: SpanRecord) -> None:
        await asyncio.sleep(3600)

    with on_span_end(add), on_span_end(forever, timeout=0.05):
        one_stage(recording)
    assert recording.sink.stages[0].attributes["awaited"] is True


def test_a_veto_at_the_end_keeps_one_span_back(record: Callable[..., Recording]) -> None:
    from thunder_otel import logs

    lines: list[bytes] = []
    recording = record(Level.TRACE)
    stop = logs.add_writer(lines.append)
    with on_span_end(lambda record: record.veto(), stages="dce"), capture(1) as run:
        one_stage(recording, text=SECRET, error=ValueError(SECRET))
        compile_it()
    stop()
    assert "thunder.pass dce" not in {span.name for span in recording.spans}
    assert "thunder.pass dce" not in {stage.name for stage in run.stages}
    assert "thunder.compile" in {span.name for span in recording.spans}
    told = [line for line in lines if b'"thunder.pass dce"' in line]
    assert len(told) % 2 == 0  # a start that was told has its end, too
    assert SECRET.encode() not in b"".join(line for line in told if b"stage.end" in line)
    assert b"vetoed by" in told[-1]
    assert all(
        trace.text for traces in run.traces.values() for trace in traces
    )  # no text is "the same as" a hidden one


def test_a_veto_at_the_start_hides_a_stage_and_all_inside(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    with on_span_start(lambda record: record.veto(), stages="transform_for_execution"):
        compile_it()
    names = {stage.name for stage in recording.sink.stages}
    assert "thunder.pass transform_for_execution" not in names
    assert "thunder.pass executor_passes" not in names
    assert "thunder.codegen computation" in names
    assert "thunder.pass executor_passes" not in recording.sink.started
    with on_span_start(lambda record: record.veto(), stages="compile"):
        before = len(recording.sink.stages)
        compile_it()
    assert len(recording.sink.stages) == before
    assert recording.recorder.open_stages == {}


@pytest.mark.parametrize("stage", ["compile", "acquire", "dce", "claim", "codegen", "transform_for_execution"])
@pytest.mark.parametrize("when", [on_span_start, on_span_end])
def test_stop_compile_reaches_the_caller_and_the_next_call_compiles(
    when: Any, stage: str, record: Callable[..., Recording]
) -> None:
    recording = record(Level.TRACE)
    reason = StopCompile("on purpose")

    def stop(record: SpanRecord) -> None:
        raise reason

    jitted = thunder.jit(double)
    with when(stop, stages=stage), pytest.raises(StopCompile) as raised:
        jitted(torch.ones(2))
    assert raised.value is reason
    assert recording.recorder.open_stages == {}
    if not (when is on_span_end and stage == "compile"):
        assert recording.sink.named("thunder.compile")[0].error is not None
    torch.testing.assert_close(jitted(torch.ones(2)), double(torch.ones(2)))


def test_stop_compile_on_every_stage_is_still_one_exception(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)

    def stop(record: SpanRecord) -> None:
        raise StopCompile(record.name)

    with on_span_end(stop), pytest.raises(StopCompile):
        compile_it()
    assert recording.recorder.open_stages == {}
    compile_it()  # nothing is left to raise


def test_stop_compile_after_the_compile_has_no_effect(
    record: Callable[..., Recording], capfd: pytest.CaptureFixture[str]
) -> None:
    recording = record(Level.TRACE)
    root = recording.recorder.start("thunder.compile", parent=None)
    recording.recorder.end(root)

    def stop(record: SpanRecord) -> None:
        raise StopCompile

    with on_span_start(stop):
        late = recording.recorder.start("thunder.kernel.compile R0", parent=root)
        recording.recorder.end(late)
    assert "runs after the compile; it has no effect" in capfd.readouterr().err
    compile_it()


def test_a_hook_may_compile_by_itself(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    depth: list[int] = []

    def compile_inside(record: SpanRecord) -> None:
        depth.append(1)
        assert len(depth) < 3
        compile_it()

    with on_span_end(compile_inside, stages="acquire", timeout=60):
        compile_it()
    assert depth == [1]  # hooks are not called for what a hook does
    assert len(recording.sink.named("thunder.compile")) == 2


def test_a_hook_sees_the_application_span_and_none_of_thunders_state(record: Callable[..., Recording]) -> None:
    from opentelemetry import trace as otel

    record(Level.TRACE)
    seen: list[object] = []

    def look(record: SpanRecord) -> None:
        seen.append(otel.get_current_span().get_span_context().span_id)
        seen.append(type(torch.ones(2) + 1))

    span = otel.NonRecordingSpan(otel.SpanContext(1, 0x77, False))
    with otel.use_span(span), on_span_end(look, stages="acquire"):
        compile_it()
    assert seen == [0x77, torch.Tensor]


def test_values_that_are_no_attribute_are_left_out_and_needed_ones_stay(
    record: Callable[..., Recording], capfd: pytest.CaptureFixture[str]
) -> None:
    recording = record(Level.TRACE)

    def odd(record: SpanRecord) -> None:
        record.attributes.clear()
        record.attributes["ok"] = [1, 2]
        record.attributes["odd"] = object()  # type: ignore[assignment]
        record.attributes[3] = "three"  # type: ignore[index]

    with on_span_start(odd):
        one_stage(recording)
    attributes = recording.sink.stages[0].attributes
    assert attributes["ok"] == [1, 2] and "odd" not in attributes and 3 not in attributes
    assert attributes[semconv.STAGE_INDEX] == 1
    assert "gave attribute 'odd' a value of type object" in capfd.readouterr().err


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="timeout=0 is not a number of seconds above 0"):
        on_span_start(print, timeout=0)
    with pytest.raises(TypeError, match="a hook is a function that takes a SpanRecord, not int"):
        on_span_end(3)  # type: ignore[call-overload]


def test_handles_undo_in_a_with_block() -> None:
    undone: list[int] = []
    with Handle(lambda: undone.append(1)) as handle:
        assert undone == []
    handle.remove()
    assert undone == [1]


def test_hooks_work_in_a_forked_child(record: Callable[..., Recording], tmp_path: Path) -> None:
    recording = record(Level.TRACE)
    with on_span_end(lambda record: record.attributes.update(seen=os.getpid())):
        one_stage(recording)  # a worker waits in the parent
        child = os.fork()
        if child == 0:
            code = 1
            try:
                recorder = _runtime.recorder()
                assert recorder is not None
                one_stage(recording)
                code = 0 if recording.sink.stages[-1].attributes["seen"] == os.getpid() else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_redaction_runs_after_every_other_hook_and_leaves_what_recording_reads(
    record: Callable[..., Recording],
) -> None:
    recording = record(Level.TRACE)
    with redact(r"(?s).+"), on_span_end(lambda record: record.attributes.update(added=SECRET)):
        compile_it()
    [claim, *_] = recording.sink.named("thunder.claim")
    assert claim.attributes["added"] == "[redacted]"
    assert claim.attributes[semconv.STAGE] == "claim"
    assert set(recording.sink.texts.values()) == {"[redacted]"}


def test_a_redacting_hook_withholds_when_no_thread_can_be_started(
    record: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    recording = record(Level.TRACE)

    def refuse(_self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with redact("nothing"):
        one_stage(recording, text=SECRET)
    monkeypatch.undo()
    assert SECRET not in everything_that_left(recording)
    assert len(recording.spans) == 1
    assert "can't create new thread" in capfd.readouterr().err


def test_compiles_on_several_threads_with_hooks_and_captures(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    counts: list[int] = []
    names: list[str] = []

    def work(number: int) -> None:
        with capture(1) as run, on_span_end(lambda record: names.append(record.name), stages="compile"):
            for size in range(3):
                thunder.jit(double)(torch.ones(number + 1, size + 1))
        counts.append(len(run.compiles))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    with redact(SECRET):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts == [3] * 4
    assert len(names) >= 12
    assert recording.recorder.open_stages == {}
    assert len(recording.sink.named("thunder.compile")) == 12


PROGRAM = f"""
import thunder, torch
def load(x):
    token = "{SECRET}"
    if x.ndim > 3:
        raise ValueError(token)
    return torch.sin(x) if token == "{SECRET}" else x
jitted = thunder.jit(load)
jitted(torch.ones(2))
jitted(torch.ones(3))
try:
    jitted(torch.ones(1, 1, 1, 1))
except Exception:
    pass
"""


@pytest.mark.parametrize("pattern", [r"hf_\w+", "(unbalanced"])
def test_the_variable_takes_text_out_of_all_files_of_a_program_nobody_edits(
    pattern: str, run_program: Callable[..., Program]
) -> None:
    variables = {"THUNDER_DEBUG": "trace", "THUNDER_DEBUG_REDACT": pattern}
    bare, done = run_program(PROGRAM, {"THUNDER_DEBUG": "trace"}), run_program(PROGRAM, variables)
    assert done.code == 0, done.err

    def everything(program: Program) -> str:
        return "".join(path.read_text() for run in program.runs for path in sorted(run.rglob("*")) if path.is_file())

    assert SECRET in everything(bare)
    assert SECRET not in everything(done)
    assert "[redacted]" in everything(done)
    assert ("THUNDER_DEBUG_REDACT is no regular expression" in done.err) is (pattern == "(unbalanced")
    assert everything(done).count("thunder.stage.start") == everything(bare).count("thunder.stage.start")


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.lists(st.one_of(st.text(max_size=3), st.integers()), max_size=3),
    st.builds(object),
)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.one_of(st.text(max_size=6), st.sampled_from(sorted(NEEDED))), VALUES),
        st.tuples(st.just("drop"), st.text(max_size=6), st.none()),
        st.tuples(st.just("text"), st.text(max_size=6), VALUES),
        st.tuples(st.sampled_from(["clear", "veto", "raise", "stop", "error"]), st.none(), st.none()),
    ),
    max_size=4,
)


def act(record: SpanRecord, actions: list[tuple[str, Any, Any]]) -> None:
    for what, key, value in actions:
        match what:
            case "set":
                record.attributes[key] = value
            case "drop":
                record.attributes.pop(key, None)
            case "text":
                record.texts[key] = value
                for name in record.texts:
                    record.texts[name] = value
            case "clear":
                record.attributes.clear()
                record.texts.clear()
            case "veto":
                record.veto()
            case "error":
                record.error = "not an error"  # type: ignore[assignment]
            case "raise":
                raise RuntimeError
            case "stop":
                raise StopCompile


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    hooks=st.lists(
        st.tuples(st.booleans(), st.booleans(), st.sampled_from([(), "dce", "thunder.*", "compile"]), ACTIONS),
        max_size=4,
    )
)
def test_fuzz_no_hook_breaks_the_program_or_leaves_a_span_open(
    hooks: list[Any], make_recording: Callable[[], Recording]
) -> None:
    recording = make_recording()
    handles = [
        (on_span_end if at_end else on_span_start)(
            lambda record, actions=actions: act(record, actions), stages=stages, redacts=redacts
        )
        for at_end, redacts, stages, actions in hooks
    ]
    may_stop = any(what == "stop" for *_, actions in hooks for what, *_ in actions)
    try:
        result = thunder.jit(double)(torch.ones(2))
        torch.testing.assert_close(result, double(torch.ones(2)))
    except StopCompile:
        assert may_stop
    finally:
        for handle in handles:
            handle.remove()
        instrumentor.uninstrument()
    assert recording.recorder.open_stages == {}
    assert len(recording.sink.started) == len(recording.sink.stages)


@pytest.fixture
def make_recording(record: Callable[..., Recording]) -> Callable[[], Recording]:
    return lambda: record(Level.TRACE)
