"""Records made from stages: of graphs, kernels and everything a machine without CUDA cannot make, and odd values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thunder_otel import _freezing, semconv
from thunder_otel._capture import Run
from thunder_otel._model import CompileInfo, ErrorInfo, Payload, Stage
from thunder_otel._records import StageRecord, diff


def stage(
    name: str, *, span: str = "1", parent: str = "", start: int = 0, end: int | None = 10, **values: Any
) -> Stage:
    payloads = values.pop("payloads", [])
    made = Stage(
        name=name,
        trace_id="t",
        span_id=span,
        parent_id=parent,
        start_ns=start,
        end_ns=end,
        attributes=values.pop("attributes", {}),
        compile=values.pop("compile", CompileInfo("f", 0, 3, 1)),
        **values,
    )
    made.payloads.extend(payloads)
    return made


def run_of(*stages: Stage) -> Run:
    run = Run()
    run._records.extend(_freezing.freeze(made) for made in stages)
    return run


def test_graph_captures_come_with_their_phases() -> None:
    name = semconv.SPAN_GRAPH_CAPTURE + "CUDAGraph1"
    run = run_of(
        stage(semconv.SPAN_GRAPH_WARMUP, span="2", parent="1", start=1_000_000_000, end=3_000_000_000),
        stage(name, end=4_000_000_000, attributes={semconv.GRAPH_NODES: 7}, error=ErrorInfo("E", "m", "s")),
    )
    [capture] = run.captures
    assert (capture.graph, capture.seconds, capture.compile_id) == ("CUDAGraph1", 4.0, "f/0")
    assert capture.phases == {semconv.SPAN_GRAPH_WARMUP: 2.0}
    assert capture.attributes[semconv.GRAPH_NODES] == 7
    assert capture.error is not None
    assert "1 graph capture" in repr(run)


def test_every_kernel_of_a_region_has_its_own_name_and_source() -> None:
    def payload(key: str, text: str) -> Payload:
        return Payload(key, text, "kernels", "label", ".cu")

    made = stage(
        semconv.SPAN_KERNEL_COMPILE + "nvFusion0",
        attributes={
            semconv.KERNEL_NAMES: ["a", "b"],
            semconv.REGION: "nvFusion0",
            semconv.KERNEL_LANGUAGE: "CUDA C++",
            semconv.KIND: "computation",
            semconv.KERNEL_REGISTERS: 32,
        },
        payloads=[
            payload(semconv.KERNEL_SOURCE, "__global__ a"),
            payload(semconv.KERNEL_SOURCE + ".1", "__global__ b"),
            payload(semconv.KERNEL_SOURCE + ".2", "__global__ c"),
            payload(semconv.KERNEL_DEFINITION, "def f(fd)"),
        ],
    )
    kernels = run_of(made).kernels
    assert [(kernel.name, kernel.source) for kernel in kernels] == [
        ("a", "__global__ a"),
        ("b", "__global__ b"),
        ("nvFusion0", "__global__ c"),  # a name that nobody gave
    ]
    assert kernels[0].attributes[semconv.KERNEL_REGISTERS] == 32


def test_only_regions_that_run_count() -> None:
    common = {semconv.REGION: "nvFusion0", semconv.EXECUTOR: "nvfuser", semconv.REGION_OPS: ["a", "b"]}
    run = run_of(
        stage("thunder.region nvFusion0", span="1", attributes={**common, semconv.REGION_FINAL: False}),
        stage("thunder.region nvFusion0", span="2", attributes={**common, semconv.REGION_FINAL: True}),
    )
    assert [region.ops for region in run.regions] == [("a", "b")]
    assert repr(run.regions[0]) == "<RegionRecord nvFusion0 of nvfuser in , 2 ops>"


def test_a_compile_after_a_failed_one_is_no_recompile() -> None:
    def root(index: int, reason: str, number: int) -> Stage:
        return stage(
            semconv.SPAN_COMPILE,
            compile=CompileInfo("f", index, 3, number),
            attributes={semconv.COMPILE_INDEX: index, semconv.COMPILE_REASON: reason},
        )

    run = run_of(
        root(0, semconv.REASON_FIRST_CALL, 1),
        root(1, semconv.REASON_NONE_FINISHED, 2),
        root(2, semconv.REASON_NO_CACHING, 3),
    )
    assert [again.index for again in run.recompiles] == [2]
    assert run.recompiles[0].guards == ()


def test_a_stage_of_no_compile_and_a_missing_end_are_fine() -> None:
    record = _freezing.freeze(stage("thunder.call", compile=None, end=None, attributes={semconv.FN: "g"}))
    assert (record.fn, record.compile_id, record.seconds, record.text) == ("g", "", 0.0, "")
    assert repr(record) == "<StageRecord 'thunder.call' of g, 0.000 ms>"


def test_a_text_that_was_withheld_is_empty_and_the_rest_is_there() -> None:
    run = run_of(
        stage(
            "thunder.pass a",
            attributes={semconv.STAGE_INDEX: 1, semconv.KIND: "computation", semconv.TRACE_CHANGED: True},
        ),
        stage(
            "thunder.pass b",
            start=1,
            attributes={
                semconv.STAGE_INDEX: 2,
                semconv.KIND: "computation",
                semconv.TRACE_CHANGED: False,
                semconv.TRACE_SAME_AS: 1,
            },
        ),
    )
    assert [(trace.changed, trace.text) for trace in run.traces["computation"]] == [(True, ""), (False, "")]


@pytest.mark.parametrize("text", ["", "one line", "a\nb\n", "a\r\nb"])
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert not diff(text, text)
    assert (diff(text, text).added, diff(text, text).removed) == (0, 0)


def test_lines_that_look_like_a_diff_are_counted_as_lines() -> None:
    difference = diff("--- a\nsame", "+++ b\nsame")
    assert (difference.added, difference.removed) == (1, 1)


VALUE = st.one_of(st.text(), st.integers(), st.booleans(), st.floats(), st.lists(st.text(max_size=3), max_size=3))
KEY = st.sampled_from([value for key, value in vars(semconv).items() if key.isupper() and isinstance(value, str)])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    semconv.SPAN_COMPILE,
                    semconv.SPAN_KERNEL_COMPILE + "x",
                    semconv.SPAN_GRAPH_CAPTURE + "x",
                    "thunder.pass <b>",
                ]
            ),
            st.dictionaries(KEY, VALUE, max_size=8),
            st.lists(st.tuples(KEY, st.text(max_size=20)), max_size=3),
        ),
        max_size=5,
    )
)
def test_fuzz_any_attributes_make_a_run_that_can_be_read(made: list[Any]) -> None:
    """Hooks may write any value under any name; reading the run must still work."""
    run = run_of(
        *(
            stage(name, attributes=values, payloads=[Payload(key, text, "traces", "x") for key, text in texts])
            for name, values, texts in made
        )
    )
    for value in (run.compiles, run.traces, run.regions, run.kernels, run.captures, run.recompiles, run):
        assert isinstance(repr(value), str)
    page = run._repr_html_()
    assert "<b>" not in page.removeprefix("<b>")
    assert all(isinstance(record, StageRecord) for record in run.stages)
