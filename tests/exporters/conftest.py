"""Stages for the exporters, without a compile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from thunder_otel_exporters import _run_folder
from thunder_otel_exporters.files import FilesExporter

from thunder_otel import _sinks, logs, semconv
from thunder_otel._model import CompileInfo, Payload
from thunder_otel._telemetry import Recorder
from thunder_otel.settings import Level, Settings

sys.path.insert(0, str(Path(__file__).parent))  # for `receivers`

INFO = CompileInfo("GPT.forward", 0, 1, 1)


@pytest.fixture(autouse=True)
def nothing_is_offered() -> Iterator[None]:
    yield
    _sinks.forget()
    _run_folder.announce(None)
    logs.forget_writers()


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Settings]:
    """``settings(...)``: level 1, files under the test's folder, a short exit."""
    return lambda **values: Settings(
        **{"level": Level.TRACE, "debug_dir": tmp_path / "debug", "exit_timeout": 3.0, **values}
    )


@pytest.fixture
def recorder(settings: Callable[..., Settings]) -> Iterator[Callable[..., Recorder]]:
    """``recorder(*exporters, **settings)``: writes files, and to the given exporters."""
    made: list[Recorder] = []

    def make(*exporters: Any, files: bool = True, **values: Any) -> Recorder:
        chosen = settings(**values)
        provider = TracerProvider(resource=Resource({semconv.SERVICE_NAME: "test"}), shutdown_on_exit=False)
        tracer = provider.get_tracer(semconv.SCOPE)
        sinks = [*([FilesExporter(chosen)] if files else []), *(exporter(chosen) for exporter in exporters)]
        made.append(Recorder(chosen, tracer=lambda: tracer, sinks=sinks))
        return made[-1]

    yield make
    for one in made:
        for sink in one.sinks:
            sink.close()


def record_stages(recorder: Recorder, texts: list[str]) -> None:
    """A compile with one pass for each text."""
    root = recorder.start(semconv.SPAN_COMPILE, parent=None, compile=INFO, attributes={semconv.FN: INFO.fn})
    for position, text in enumerate(texts):
        attributes = {semconv.FN: INFO.fn, semconv.STAGE: "dce", semconv.STAGE_INDEX: position}
        stage = recorder.start(semconv.SPAN_PASS + "dce", parent=root, compile=INFO, attributes=attributes)
        assert stage is not None
        stage.payloads.append(
            Payload(semconv.TRACE_TEXT, text, "traces", f"{position:02d}-computation-dce", kind="computation")
        )
        recorder.end(stage)
    recorder.end(root)


@pytest.fixture
def stages() -> Callable[[Recorder, list[str]], None]:
    """``stages(recorder, texts)`` records a compile with one pass for each text."""
    return record_stages


@pytest.fixture
def run_folder(tmp_path: Path) -> Callable[[], Path]:
    """The only run folder of the test."""

    def find() -> Path:
        (folder,) = (tmp_path / "debug").iterdir()
        return folder

    return find
