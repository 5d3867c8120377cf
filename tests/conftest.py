"""Fixtures of the whole suite: a recorder with fixed clock and ids, and the proof that every test cleans up."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator

from thunder_otel import _compile_state, _guard, _kernels, _patching, _runtime, instrumentor, logs
from thunder_otel._model import Payload, Stage
from thunder_otel._telemetry import Recorder
from thunder_otel.settings import Level, Settings

START_NS = 1_700_000_000_000_000_000


class CountingIds(IdGenerator):
    """Ids 1, 2, 3, ..."""

    def __init__(self) -> None:
        self._spans, self._traces = itertools.count(1), itertools.count(1)

    def generate_span_id(self) -> int:
        return next(self._spans)

    def generate_trace_id(self) -> int:
        return next(self._traces)


@dataclass
class ListSink:
    """Keeps stages and texts in lists."""

    started: list[str] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)  # (span id, key) -> text
    closed: bool = False

    def stage_started(self, stage: Stage) -> None:
        self.started.append(stage.name)

    def store(self, stage: Stage, payload: Payload) -> str:
        self.texts[stage.span_id, payload.key] = payload.text
        return ""

    def stage_ended(self, stage: Stage) -> None:
        self.stages.append(stage)

    def close(self) -> None:
        self.closed = True

    def named(self, name: str) -> list[Stage]:
        """Stages of that name, in the order they ended."""
        return [stage for stage in self.stages if stage.name == name]

    def text(self, stage: Stage, key: str) -> str:
        """The text that a stage carried."""
        return self.texts[stage.span_id, key]


@dataclass
class Recording:
    """What a test looks at."""

    sink: ListSink
    exporter: InMemorySpanExporter
    recorder: Recorder
    settings: Settings

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()


def make_recorder(settings: Settings, sink: ListSink, exporter: InMemorySpanExporter) -> Recorder:
    """A recorder into memory whose clock ticks a microsecond a look and whose ids count up."""
    provider = TracerProvider(id_generator=CountingIds(), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("thunder_otel")
    ticks = itertools.count(START_NS, 1000)
    return Recorder(settings, tracer=lambda: tracer, sinks=[sink], clock=lambda: next(ticks))


@pytest.fixture
def record() -> Iterator[Callable[..., Recording]]:
    """``record(level, **settings)`` switches recording into memory on, until the test ends."""

    def start(level: Level = Level.NVFUSER_CODE, **values: object) -> Recording:
        settings = Settings(level=level, **values)  # type: ignore[arg-type]
        sink, exporter = ListSink(), InMemorySpanExporter()
        recorder = make_recorder(settings, sink, exporter)
        instrumentor.switch_on(settings, lambda: recorder)
        return Recording(sink, exporter, recorder, settings)

    yield start
    instrumentor.uninstrument()


@pytest.fixture(autouse=True)
def nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No patch, no open span, no handler and no writer outlives a test."""
    _guard.forget_said()
    for variable in [name for name in os.environ if name.startswith(("THUNDER_DEBUG", "OTEL_"))]:
        monkeypatch.delenv(variable)
    yield
    recorder = _runtime.recorder()
    open_stages = [stage.name for stage in recorder.open_stages.values()] if recorder is not None else []
    if _runtime.is_on():
        instrumentor.uninstrument()
        pytest.fail("recording was left on")
    assert open_stages == []
    assert _patching.installed() == ()
    assert _compile_state.local.states == []
    assert not _kernels.is_receiving()
    assert logs.writer_count() == 0


@dataclass(frozen=True)
class Program:
    """A finished program: what it printed, and the run folders it left."""

    code: int
    out: str
    err: str
    runs: list[Path]


@pytest.fixture
def run_program(tmp_path: Path) -> Callable[..., Program]:
    """``run_program(source or path, env={...})`` runs a script in an empty folder, as a user would."""
    count = itertools.count()

    def run(source: str | Path, env: dict[str, str] | None = None, *, timeout: float = 240) -> Program:
        folder = tmp_path / f"run{next(count)}"
        folder.mkdir()
        script = source if isinstance(source, Path) else folder / "script.py"
        if isinstance(source, str):
            script.write_text(source)
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))}
        command = ["sh", str(script)] if script.suffix == ".sh" else [sys.executable, "-W", "ignore", str(script)]
        done = subprocess.run(
            command,
            cwd=folder,
            env={**clean, "PY": sys.executable, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Program(done.returncode, done.stdout, done.stderr, sorted(folder.glob("thunder_debug/*")))

    return run
