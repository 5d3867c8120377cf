"""Eight ranks in one report, graph captures, redaction, and names that try to get out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from report_runs import RunFolder

from thunder_otel import semconv
from thunder_otel.report._reader import read_runs
from thunder_otel.report.html import write_report

pytestmark = pytest.mark.e2e

OpenPage = Callable[..., Page]
EVIL = "<img src=x onerror=alert(1)></script><script>alert(1)</script>\"'`${alert(1)}"


def report_of(run: RunFolder) -> Path:
    return write_report(read_runs(run.path), run.path.parent / "report.html").path


@pytest.mark.slow
def test_eight_ranks_stand_side_by_side(ranks_report: Path, small_report: Path, open_page: OpenPage) -> None:
    page = open_page(ranks_report)
    expect(page.locator("#ranks tbody tr")).to_have_count(8)
    expect(page.locator(".headline p")).to_contain_text("8 ranks")
    texts = [report.read_text().count('<script type="text/plain"') for report in (small_report, ranks_report)]
    assert texts[0] == texts[1]  # equal texts are there once
    page.locator("#tabs a", has_text="Timeline").click()
    expect(page.locator(".lane")).to_have_count(8)
    expect(page.locator(".lane h3").nth(7)).to_have_text("rank 7")
    first = page.locator(".lane").nth(0).locator(".bar.role-acquire").first.bounding_box()
    last = page.locator(".lane").nth(7).locator(".bar.role-acquire").first.bounding_box()
    assert first is not None and last is not None and last["x"] > first["x"]
    page.locator("#tabs a", has_text="Passes").click()
    page.locator("#rank").select_option(label="rank 5")
    expect(page.locator("#rank")).to_have_value("5")
    expect(page.locator(".pass-lines a.pass").first).to_be_visible()
    expect(page.locator(".pane .row").first).to_be_visible()
    page.locator("#tabs a", has_text="Recompiles").click()
    expect(page.locator("#recompiles tbody tr.first")).to_have_count(16)
    expect(page.locator("#recompiles")).to_contain_text("rank 7")


def captures(folder: Path) -> RunFolder:
    """A run with two captures, as a GPU's run records them."""
    run = RunFolder(folder / "run")
    compile_id = run.compile("f", took=50)
    for number, (static, warmup, record) in enumerate(((2, 30, 8), (1, 10, 4))):
        attributes = {
            semconv.GRAPH: f"CUDAGraph{number}",
            semconv.GRAPH_NODES: 40 + number,
            semconv.GRAPH_POOL_BYTES: 2_500_000,
        }
        at = 60.0 + 60 * number
        name = semconv.SPAN_GRAPH_CAPTURE + f"CUDAGraph{number}"
        graph = run.stage(name, attributes, parent=compile_id, at=at, took=static + warmup + record)
        for step, took in (
            (semconv.SPAN_GRAPH_STATIC_INPUTS, static),
            (semconv.SPAN_GRAPH_WARMUP, warmup),
            (semconv.SPAN_GRAPH_RECORD, record),
        ):
            run.stage(step, {}, parent=graph, at=at, took=took)
            at += took
    return run


def test_captures_are_bars(tmp_path: Path, open_page: OpenPage) -> None:
    page = open_page(report_of(captures(tmp_path)), "graphs")
    expect(page.locator(".capture")).to_have_count(2)
    expect(page.locator(".capture").first).to_contain_text(re.compile(r"CUDAGraph0.*40\.0 ms", re.DOTALL))
    expect(page.locator(".capture .facts").first).to_contain_text("2.5 MB")
    widths = [bar.bounding_box()["width"] for bar in page.locator(".capture-bar").all()]  # type: ignore[index]
    assert widths[1] == pytest.approx(widths[0] * 15 / 40, rel=0.02)
    warmup = page.locator(".capture").first.locator(".step-warmup").bounding_box()
    assert warmup is not None and warmup["width"] == pytest.approx(widths[0] * 30 / 40, rel=0.02)


def test_torchs_texts_and_graph_breaks(tmp_path: Path, open_page: OpenPage) -> None:
    run = RunFolder(tmp_path / "run")
    breaks = {semconv.GRAPH_BREAK_REASONS: ["a print stands here"], semconv.GRAPH_BREAK_SOURCES: ["/a/b.py:9"]}
    torch = run.stage(semconv.SPAN_TORCH_COMPILE + "0/0", breaks, took=9, texts={semconv.TORCH_RECORDS: "{}\n"})
    graph = run.stage(
        semconv.SPAN_FX_GRAPH, {}, parent=torch, at=1, texts={semconv.FX_GRAPH_TEXT: "class Graph:\n    pass\n"}
    )
    split = {
        semconv.SPLIT_OPS: ["torch.sinc"],
        semconv.SPLIT_REASONS: ["fallback"],
        semconv.SPLIT_SOURCES: ["/a/b.py:10"],
    }
    run.stage(semconv.SPAN_FX_SPLIT, split, parent=graph, at=2)
    page = open_page(report_of(run), "torch")
    expect(page.locator("#broken tbody tr")).to_have_count(2)
    expect(page.locator("#broken")).to_contain_text("a print stands here")
    expect(page.locator("#broken")).to_contain_text("torch.sinc")
    expect(page.locator(".side-list li")).to_have_count(2)
    expect(page.locator("#torch-text")).to_contain_text("fx.graph")
    expect(page.locator(".pane .k", has_text="class")).to_be_visible()
    page.locator(".side-list a", has_text="records").click()
    expect(page.locator(".pane .row code")).to_have_text(["{}"])  # a list: the text before may still stand there
    page.locator("#search").fill("class Graph")
    page.locator("#results a", has_text="fx.graph").click()
    expect(page.locator("#torch-text")).to_contain_text("fx.graph")


def test_a_failed_compile_shows_its_last_good_trace(tmp_path: Path, open_page: OpenPage) -> None:
    run = RunFolder(tmp_path / "run")
    texts = {semconv.TRACE_LAST_GOOD_TEXT: "def computation(a):\n  return a\n"}
    attributes = {semconv.FN: "f", semconv.COMPILE_INDEX: 0}
    run.stage(semconv.SPAN_COMPILE, attributes, took=50, texts=texts, error=("RuntimeError", "no way"))
    page = open_page(report_of(run), "passes")
    expect(page.locator("#view > .error")).to_contain_text("no way")
    expect(page.locator(".pass-lines a.pass")).to_contain_text("last good trace")
    expect(page.locator(".pane .lines")).to_contain_text("def computation(a):")


def hostile(folder: Path) -> RunFolder:
    run = RunFolder(folder / "run", {"host": EVIL, "versions": {EVIL: EVIL}})
    guards = {semconv.COMPILE_REASON: EVIL, semconv.GUARD_ENTRIES: [0], semconv.GUARD_FAILED: [EVIL]}
    run.compile(EVIL, 0)
    compile_id = run.compile(
        EVIL,
        1,
        at=200,
        attributes={**guards, semconv.GUARD_MESSAGES: [f"expected {EVIL}, got {EVIL}"], semconv.CODE_FILE: EVIL},
        error=(EVIL, EVIL),
    )
    text = f'# /tmp/{EVIL}/model.py:3: \t{EVIL}\nt1 = prims.add(x, "{EVIL}")  # t1: "cpu f32[2]"\n{EVIL}\n'
    run.trace(EVIL, 1, compile_id, text, at=201)
    run.trace("two", 2, compile_id, text + EVIL, at=203)
    region = {
        semconv.REGION: EVIL,
        semconv.REGION_FINAL: True,
        semconv.EXECUTOR: EVIL,
        semconv.REGION_INPUTS: [f"{EVIL}: {EVIL}"],
    }
    run.stage(
        semconv.SPAN_REGION + EVIL, region, parent=compile_id, at=205, texts={semconv.REGION_TEXT: f"x = f(y)\n{text}"}
    )
    run.stage(
        semconv.SPAN_FUSION_PASS + EVIL,
        {semconv.UNFUSED_OPS: [EVIL], semconv.UNFUSED_REASONS: [EVIL]},
        parent=compile_id,
        at=206,
    )
    run.stage(
        semconv.SPAN_KERNEL_COMPILE + EVIL,
        {semconv.REGION: EVIL, semconv.KERNEL_NAMES: [EVIL], semconv.KERNEL_LANGUAGE: EVIL},
        parent=compile_id,
        at=300,
        texts={semconv.KERNEL_SOURCE: f"/* {EVIL} */\n#include <{EVIL}>\n{EVIL}\n"},
    )
    run.stage(semconv.SPAN_GRAPH_CAPTURE + EVIL, {semconv.GRAPH: EVIL}, parent=compile_id, at=400)
    return run


PLACES = (
    "summary", "timeline?s=0.1", "passes?c=1", "passes?c=1&v=1&m=unified", "passes?c=1&v=1&m=split", "regions?c=1",
    "regions?c=1&s=4", "kernels?c=1", "graphs", "recompiles", "search?q=alert", f"search?q={EVIL}",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=range(len(PLACES)))
def test_hostile_names_and_texts_are_text(tmp_path: Path, open_page: OpenPage, place: str) -> None:
    page = open_page(report_of(hostile(tmp_path)), "summary")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.evaluate("place => { location.hash = place }", place)
    page.wait_for_timeout(400)
    assert "alert(1)" in page.locator("body").inner_text()
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("#content script, #card script, #top script").count() == 0
    assert dialogs == []


def test_cards_show_hostile_lines_as_text(tmp_path: Path, open_page: OpenPage) -> None:
    page = open_page(report_of(hostile(tmp_path)), "passes?c=1&v=0&m=text")
    page.locator(".pane .row", has_text="prims.add").locator(".nf").click()
    expect(page.locator("#card")).to_contain_text("<img src=x onerror=alert(1)>")
    page.locator(".pane .row", has_text="prims.add").locator("[data-name=t1]").first.click()
    expect(page.locator("#card h2")).to_have_text("t1")
    assert page.locator("#card img").count() == 0


def test_a_redacted_report_still_works(tmp_path: Path, open_page: OpenPage) -> None:
    run = RunFolder(tmp_path / "run")
    compile_id = run.compile("SecretNet.forward")
    first = '  # /home/secret/net.py:3: \tsecret = a + b\n  t1 = prims.add(secret_a, secret_b)  # t1: "cpu f32[123]"\n'
    run.trace("acquire", 0, compile_id, first)
    run.trace("dce", 1, compile_id, first + "  t2 = prims.neg(t1)\n")
    out = write_report(read_runs(run.path), tmp_path / "redacted.html", redact=True).path
    page = open_page(out)
    expect(page.locator(".banner")).to_contain_text("Redacted")
    page.evaluate("location.hash = 'passes?v=1&m=unified'")
    expect(page.locator("#diff-total")).to_have_text("+1 \u22120")
    page.locator(".pane .row", has_text="prims.add").locator(".nf").click()
    expect(page.locator("#card .path")).to_have_text(re.compile(r"/path\d+\.py:3"))
    assert "ecret" not in page.locator("body").inner_text()


def test_an_unfinished_run_and_an_empty_one(tmp_path: Path, open_page: OpenPage) -> None:
    run = RunFolder(tmp_path / "run")
    compile_id = run.compile("f", took=None)
    run.stage(semconv.SPAN_PASS + "dce", {semconv.STAGE_INDEX: 1}, parent=compile_id, at=5, took=None)
    page = open_page(report_of(run), "timeline")
    expect(page.locator(".bar.open")).to_have_count(2)
    expect(page.locator(".bar.open").first).to_have_attribute("title", re.compile("unfinished"))
    page.evaluate("location.hash = 'passes'")
    expect(page.locator(".pane .empty")).to_contain_text("No text was kept")
    nothing = open_page(report_of(RunFolder(tmp_path / "other" / "run")), "passes")
    for place in ("passes", "timeline", "regions", "kernels", "graphs", "recompiles", "search"):
        nothing.evaluate("place => { location.hash = place }", place)
        expect(nothing.locator("#view .empty").first).to_be_visible()
