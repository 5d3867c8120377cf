"""What the console prints of compiles."""

from __future__ import annotations

from typing import Any

import pytest
from thunder_otel_exporters.console import NAME, ConsoleExporter

from thunder_otel import _sinks, semconv
from thunder_otel._compile_tree import Node, compile_tree, human_bytes, human_seconds
from thunder_otel._model import CompileInfo, ErrorInfo

INFO = CompileInfo("GPT.forward", 0, 1, 1)


def test_a_compile_is_printed_when_it_ends_and_a_kernel_when_it_comes(
    recorder: Any, stages: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    made = recorder(ConsoleExporter, files=False)
    stages(made, ["text\n" * 300, "b"])
    err = capfd.readouterr().err.splitlines()
    assert err[0].startswith("GPT.forward  compile ?: ") and "pass dce" in err[1] and "1.5 kB" in err[1]
    root = made.start(semconv.SPAN_COMPILE, parent=None, compile=INFO, attributes={semconv.FN: INFO.fn})
    made.end(root)
    attributes = {
        semconv.FN: INFO.fn,
        semconv.KERNEL_COUNT: 2,
        semconv.KERNEL_LANGUAGE: "C++",
        semconv.KERNEL_CACHED: True,
    }
    made.end(
        made.start(semconv.SPAN_KERNEL_COMPILE + "TorchCompile0", parent=root, compile=INFO, attributes=attributes)
    )
    assert (
        capfd.readouterr()
        .err.splitlines()[-1]
        .startswith("GPT.forward  kernel.compile TorchCompile0  2 kernels in C++, cached")
    )
    assert capfd.readouterr().out == ""


def test_a_failed_compile_shows_the_error(recorder: Any, capfd: pytest.CaptureFixture[str]) -> None:
    made = recorder(ConsoleExporter, files=False)
    root = made.start(semconv.SPAN_COMPILE, parent=None, compile=INFO, attributes={semconv.FN: INFO.fn})
    inner = made.start(semconv.SPAN_ACQUIRE, parent=root, compile=INFO)
    made.end(inner, error=ErrorInfo("ValueError", "no\nway", ""))
    made.end(root, error=ErrorInfo("ValueError", "no\nway", ""))
    assert capfd.readouterr().err.count("ValueError: no") == 2


def test_the_sdks_console_is_the_recorders() -> None:
    exporter = ConsoleExporter()
    assert _sinks.offered(NAME) is exporter
    assert exporter.export([]).name == "SUCCESS" and exporter.force_flush()
    exporter.shutdown()
    assert _sinks.offered(NAME) is None


def test_numbers_for_people() -> None:
    assert [human_bytes(size) for size in (12, 12_345, 4_400_000)] == ["12 B", "12.3 kB", "4.4 MB"]
    assert [human_seconds(value) for value in (None, 0.00083, 0.036, 6.054)] == ["open", "830 us", "36 ms", "6.05 s"]


def test_an_open_stage_is_not_folded_away() -> None:
    inner = Node(name="thunder.pass dce", attributes={}, seconds=None)
    root = Node(name=semconv.SPAN_COMPILE, attributes={}, seconds=None, children=(inner,))
    (child,) = compile_tree(root).children
    assert "dce" in str(child.label) and "open" in str(child.label)
