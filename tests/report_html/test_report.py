"""What stands in the written file."""

from __future__ import annotations

import base64
import json
import re
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from report_runs import RunFolder
from typer.testing import CliRunner

from thunder_otel import semconv
from thunder_otel.cli.report import report
from thunder_otel.report._reader import read_runs
from thunder_otel.report.html import WrittenReport, _texts, write_report
from thunder_otel.report.html._index import label_of, role_of
from thunder_otel.report.html._summary import plural, seconds

COMMAND = typer.Typer()
COMMAND.command()(report)


def written(run: RunFolder, **options: Any) -> tuple[str, WrittenReport]:
    path = run.path.parent.parent / "report.html"
    facts = write_report(read_runs(run.path.parent), path, **options)
    return path.read_text(), facts


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def texts_of(page: str) -> dict[str, str]:
    blocks = re.findall(r'<script type="text/plain" id="text-(\w+)">([\w+/=]*)</script>', page)
    return {name: zlib.decompress(base64.b64decode(block)).decode() for name, block in blocks}


def test_every_text_is_in_the_file_once(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    compile_id = run.compile()
    long = "x = 1  # é\n" * 100_000
    run.trace("a", 1, compile_id, long)
    run.trace("b", 2, compile_id, long)
    run.trace("c", 3, compile_id, "")
    page, facts = written(run)
    assert texts_of(page) == {"t0": long, "t1": ""}
    assert (facts.texts, facts.text_bytes) == (2, len(long.encode()))
    assert facts.size == facts.path.stat().st_size
    stages = data_of(page)["runs"][0]["stages"]
    assert [stage["traces"][0]["text"] for stage in stages[1:]] == ["t0", "t0", "t1"]


def test_nothing_stays_beside_the_file_and_a_failure_leaves_the_old_one(
    make_run: Callable[..., RunFolder], tmp_path: Path
) -> None:
    run = make_run()
    run.trace("a", 1, run.compile(), "text\n")
    written(run)
    before = (tmp_path / "report.html").read_bytes()

    def fails(done: int, whole: int) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        written(run, progress=fails)
    assert (tmp_path / "report.html").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "thunder_debug"]


def test_progress_counts_the_texts(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    compile_id = run.compile()
    for index, size in enumerate((10, 20)):
        run.trace("a", index, compile_id, "x" * size)
    heard: list[tuple[int, int]] = []
    written(run, progress=lambda done, whole: heard.append((done, whole)))
    assert heard == [(10, 30), (30, 30)]


def test_a_text_whose_file_is_gone_is_left_out(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    run.trace("a", 1, run.compile(), "text\n")
    for file in (run.path / "traces").iterdir():
        file.unlink()
    page, _ = written(run)
    assert texts_of(page) == {}
    assert data_of(page)["texts"]["t0"]["size"] == 5


def test_nothing_hostile_gets_out_of_its_place(make_run: Callable[..., RunFolder]) -> None:
    evil = "</script><script>alert(1)</script><!--<script>\u2028"
    run = make_run(host=evil, versions={evil: evil})
    compile_id = run.compile(evil, attributes={semconv.CODE_FILE: evil, semconv.CODE_LINE: 3}, error=(evil, evil))
    run.trace(evil, 1, compile_id, evil, kind=evil)
    page, _ = written(run)
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 4  # the theme, the data, the page's own, the text
    assert data_of(page)["runs"][0]["stages"][1]["label"] == evil
    assert texts_of(page)["t0"] == evil
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in page


def test_only_the_pages_own_script_may_run(make_run: Callable[..., RunFolder]) -> None:
    page, _ = written(make_run())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = policy[1].replace("&#39;", "'")
    assert "default-src 'none'" in rules and "unsafe" not in rules
    assert len(re.findall("'sha256-", rules)) == 3
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page)
    assert not re.search(r"innerHTML|outerHTML|document\.write|insertAdjacentHTML|\beval\b", page)


def test_memory_does_not_grow_with_the_number_of_texts(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    compile_id = run.compile()
    for index in range(24):
        run.trace("pass", index, compile_id, "".join(f"t{index * line} = add(x)\n" for line in range(60_000)))
    runs = read_runs(run.path)
    tracemalloc.start()
    facts = write_report(runs, run.path / "report.html")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert facts.text_bytes > 20e6
    assert peak < facts.text_bytes / 24 * 4  # bounded by the largest text and the page itself


def test_regions_kernels_graphs_and_guards_in_the_data(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    guards = {
        semconv.COMPILE_REASON: "Expected 4 to be equal to 3",
        semconv.GUARD_ENTRIES: [0],
        semconv.GUARD_FAILED: ["check_number(i0, 3)"],
        semconv.GUARD_MESSAGES: ["Expected 4 to be equal to 3"],
    }
    run.compile("f", 0)
    compile_id = run.compile("f", 1, attributes=guards, at=200)
    run.stage(
        semconv.SPAN_FUSION_PASS + "nvfuser",
        {semconv.UNFUSED_OPS: ["sort -> t3"], semconv.UNFUSED_REASONS: ["not supported"], semconv.FUSED_COUNT: 1},
        parent=compile_id,
    )
    run.stage(
        semconv.SPAN_REGION + "nvFusion0",
        {semconv.REGION: "nvFusion0", semconv.REGION_FINAL: True, semconv.REGION_INPUTS: ["x: f32[2]"]},
        parent=compile_id,
        texts={semconv.REGION_TEXT: "[t1] = nvFusion0(x)\n"},
    )
    run.stage(
        semconv.SPAN_KERNEL_COMPILE + "nvFusion0",
        {semconv.REGION: "nvFusion0", semconv.KERNEL_NAMES: ["k"], semconv.KERNEL_GRID: [1, 2, 3]},
        parent=compile_id,
        texts={semconv.KERNEL_SOURCE: "void k() {}\n", semconv.KERNEL_SCHEDULED_IR: "ir\n"},
    )
    graph = run.stage(semconv.SPAN_GRAPH_CAPTURE + "CUDAGraph1", {semconv.GRAPH: "CUDAGraph1", semconv.GRAPH_NODES: 7})
    run.stage(semconv.SPAN_GRAPH_WARMUP, {}, parent=graph)
    page, _ = written(run)
    stages = {stage["name"]: stage for stage in data_of(page)["runs"][0]["stages"]}
    assert stages[semconv.SPAN_COMPILE]["guards"] == [
        {
            "entry": 0,
            "check": "check_number(i0, 3)",
            "message": "Expected 4 to be equal to 3",
            "expected": "3",
            "got": "4",
        }
    ]
    assert stages[semconv.SPAN_FUSION_PASS + "nvfuser"]["fusion"] == {
        "regions": 1,
        "unfused": [["sort -> t3", "not supported"]],
    }
    region = stages[semconv.SPAN_REGION + "nvFusion0"]["region"]
    assert (region["name"], region["final"], region["inputs"], region["text"]) == (
        "nvFusion0",
        True,
        ["x: f32[2]"],
        "t0",
    )
    kernel = stages[semconv.SPAN_KERNEL_COMPILE + "nvFusion0"]["kernel"]
    assert kernel["kernels"] == [{"name": "k", "text": "t1"}]
    assert kernel["others"] == [{"title": "scheduled ir", "text": "t2"}]
    assert kernel["facts"] == [["grid", [1, 2, 3]]]
    assert stages[semconv.SPAN_GRAPH_CAPTURE + "CUDAGraph1"]["graph"] == {"name": "CUDAGraph1", "facts": [["nodes", 7]]}
    assert "Expected 4 to be equal to 3" in page  # the summary says why it was compiled again


def test_a_stage_with_three_traces_has_each(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    compile_id = run.compile()
    run.stage(
        semconv.SPAN_ACQUIRE,
        {semconv.STAGE_INDEX: 0, "thunder.trace.computation.lines.added": 4, "thunder.trace.epilogue.changed": False},
        parent=compile_id,
        texts={semconv.TRACE_COMPUTATION_TEXT: "c\n", semconv.TRACE_PROLOGUE_TEXT: "p\n"},
    )
    page, _ = written(run)
    traces = data_of(page)["runs"][0]["stages"][1]["traces"]
    assert traces == [
        {"kind": "prologue", "text": "t1", "changed": True},
        {"kind": "computation", "text": "t0", "changed": True, "added": 4},
        {"kind": "epilogue", "changed": False},
    ]


def test_torchs_texts_graph_breaks_and_splits(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    breaks = {semconv.GRAPH_BREAK_REASONS: ["a print"], semconv.GRAPH_BREAK_SOURCES: ["a.py:9"]}
    run.stage(semconv.SPAN_TORCH_COMPILE + "0/0", breaks, texts={semconv.TORCH_RECORDS: "{}\n"})
    split = {
        semconv.SPLIT_OPS: ["torch.sinc"],
        semconv.SPLIT_REASONS: ["automatic fallback"],
        semconv.SPLIT_SOURCES: ["a.py:10"],
    }
    run.stage(semconv.SPAN_FX_SPLIT, split, at=1, texts={semconv.SPLIT_TEXT: "class Split: pass\n"})
    page, _ = written(run)
    compiled, splitted = (stage["torch"] for stage in data_of(page)["runs"][0]["stages"])
    assert compiled == {"texts": [{"title": "records", "text": "t0"}], "breaks": [["a print", "a.py:9"]], "left": []}
    assert splitted["left"] == [["torch.sinc", "automatic fallback", "a.py:10"]]
    assert [text["text"] for text in splitted["texts"]] == ["t1"]


def test_the_summary_of_a_run_that_was_killed(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    run.stage(semconv.SPAN_COMPILE, {semconv.FN: "f"}, took=None)
    page, _ = written(run)
    assert "<b>1</b><span>unfinished</span>" in page


def test_an_empty_run(make_run: Callable[..., RunFolder]) -> None:
    page, facts = written(make_run())
    assert "Nothing was compiled" in page and facts.texts == 0


def test_ranks_are_compared(make_run: Callable[..., RunFolder]) -> None:
    for rank in range(3):
        run = make_run(f"20260101T000000Z-{rank}-rank{rank}", rank=rank, world_size=3, host=f"node-{rank}")
        run.compile(took=300 if rank == 2 else 100, error=("ValueError", "all") if rank != 1 else ("OSError", "one"))
    page, _ = written(run)
    assert "3 compiles on 3 ranks, 167 ms a rank" in page
    assert "ValueError in compile on 2 ranks" in page and "OSError in compile on rank 1" in page
    assert "<b>3</b><span>errors</span>" in page
    assert "hosts node-0, node-1, node-2" in page
    assert '<td class="num slow">3.00x</td>' in page


@pytest.mark.parametrize(
    ("name", "role", "label"),
    [
        ("thunder.compile", "compile", "compile"),
        ("thunder.pass dce", "pass", "dce"),
        ("thunder.claim", "pass", "claim"),
        ("thunder.codegen backward", "codegen", "backward"),
        ("thunder.fusion_pass nvfuser", "fusion", "nvfuser"),
        ("thunder.kernel.compile nvFusion0", "kernel", "nvFusion0"),
        ("thunder.cuda_graph.capture G", "graph", "G"),
        ("thunder.cuda_graph.warmup", "graph_step", "warmup"),
        ("torch.compile 0/0", "torch", "0/0"),
        ("torch.phase dynamo", "torch", "dynamo"),
        ("thunder.fx.graph", "fx", "fx.graph"),
        ("thunder.fx.subgraph thunder_0", "fx", "thunder_0"),
        ("thunder.call", "call", "call"),
        ("thunder.call.prologue", "call", "call.prologue"),
        ("somebody's own", "other", "somebody's own"),
    ],
)
def test_roles_and_labels(name: str, role: str, label: str) -> None:
    assert (role_of(name), label_of(name)) == (role, label)


def test_times_and_counts_for_people() -> None:
    assert [seconds(us) for us in (None, 12, 1500, 25_000, 3_200_000, 250e6)] == [
        "unfinished", "12 µs", "1.50 ms", "25.0 ms", "3.20 s", "250 s",
    ]  # fmt: skip
    assert (plural(1, "rank"), plural(1200, "rank")) == ("1 rank", "1,200 ranks")


def test_a_texts_identifier_cannot_break_out() -> None:
    with pytest.raises(ValueError, match="letters and digits"):
        list(_texts.block('"><script>', []))


def test_the_command(make_run: Callable[..., RunFolder], tmp_path: Path) -> None:
    run = make_run()
    run.trace("a", 1, run.compile(), "text\n")
    with (run.path / "events.jsonl").open("a") as file:
        file.write('{"torn')
    out = tmp_path / "out.html"
    done = CliRunner().invoke(COMMAND, [str(run.path.parent), "-o", str(out)])
    assert (done.exit_code, done.stdout.split(" (")[0]) == (0, str(out))
    assert "1 unreadable lines of events were left out" in done.stderr
    assert texts_of(out.read_text()) == {"t0": "text\n"}


def test_the_command_says_what_is_wrong(make_run: Callable[..., RunFolder], tmp_path: Path) -> None:
    nothing = CliRunner().invoke(COMMAND, [str(tmp_path)])
    assert (nothing.exit_code, nothing.stdout) == (2, "")
    assert "holds no recorded run" in nothing.stderr
    run = make_run()
    no_folder = CliRunner().invoke(COMMAND, [str(run.path), "-o", str(tmp_path / "none" / "out.html")])
    assert no_folder.exit_code == 2 and "No such file or directory" in no_folder.stderr
