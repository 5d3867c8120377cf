"""A stage that is open for very long is said once, with the stack, while it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from thunder_otel import _watcher, logs, semconv
from thunder_otel._model import CompileInfo
from thunder_otel._watcher import Watcher

if TYPE_CHECKING:
    from conftest import Recording

INFO = CompileInfo("GPT.forward", 0, 1, 1)


def test_the_innermost_open_stage_is_said_once_with_the_stack(
    record: Callable[..., Recording], capfd: pytest.CaptureFixture[str]
) -> None:
    recorder = record().recorder
    lines: list[bytes] = []
    remove = logs.add_writer(lines.append)
    root = recorder.start(semconv.SPAN_COMPILE, parent=None, compile=INFO)
    inner = recorder.start(semconv.SPAN_PASS + "dce", parent=root, compile=INFO)
    watcher = Watcher(
        recorder.open_stages.values, lambda: None, stuck_seconds=120, clock=lambda: root.start_ns + 121 * 10**9
    )
    assert watcher.look() and watcher.look()
    err = capfd.readouterr().err
    assert err.count("\n") == 1
    assert "thunder.pass dce of GPT.forward has been open for 121 s on thread MainThread; it is in " in err
    (event,) = [line for line in lines if semconv.EVENT_STUCK.encode() in line]
    assert b"test_the_innermost_open_stage_is_said_once" in event
    recorder.end(inner)
    recorder.end(root)
    assert not watcher.look()
    remove()


def test_zero_is_never(record: Callable[..., Recording], capfd: pytest.CaptureFixture[str]) -> None:
    recorder = record().recorder
    stage = recorder.start(semconv.SPAN_COMPILE, parent=None, compile=INFO)
    watcher = Watcher(recorder.open_stages.values, lambda: None, stuck_seconds=0, clock=lambda: 2**62)
    watcher.look()
    assert capfd.readouterr().err == ""
    recorder.end(stage)


def test_the_thread_lives_while_stages_are_open_and_gives_signs_of_life(
    record: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_watcher, "INTERVAL", 0.01)
    monkeypatch.setattr(_watcher, "IDLE_LOOKS", 2)
    recorder = record().recorder
    alive = threading.Event()
    watcher = Watcher(recorder.open_stages.values, alive.set, stuck_seconds=120)
    recorder.on_open = watcher.wake

    def threads() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "thunder_otel-watcher"]

    stage = recorder.start(semconv.SPAN_COMPILE, parent=None, compile=INFO)
    assert alive.wait(5)
    recorder.end(stage)
    deadline = time.monotonic() + 5
    while threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threads() == []
    alive.clear()
    recorder.end(recorder.start(semconv.SPAN_COMPILE, parent=None, compile=INFO))
    assert len(threads()) == 1  # it comes back for the next stage
    watcher.stop()
    assert threads() == []
    watcher.wake()
    assert threads() == []


@pytest.mark.slow
def test_a_program_that_hangs_says_where(run_program: Callable[..., object]) -> None:
    source = """
import time, torch, thunder

class Slow(thunder.core.transforms.Transform):
    def transform_traces_pre_prologue(self, prologue, computation, epilogue, **kwargs):
        time.sleep(4)
        return prologue, computation, epilogue

thunder.jit(torch.sin, transforms=[Slow()])(torch.ones(2))
"""
    done = run_program(source, {"THUNDER_DEBUG": "1", "THUNDER_DEBUG_STUCK_SECONDS": "1"})
    assert "thunder.transform Slow" in done.err and "transform_traces_pre_prologue" in done.err
