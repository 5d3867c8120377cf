"""The report of a run recorded on a GPU (tests/data/gpu/README.md): captures as bars, kernels' launch facts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from thunder_otel.report._reader import read_runs
from thunder_otel.report.html import write_report

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

OpenPage = Callable[..., Page]
RUN = Path(__file__).parents[1] / "data" / "gpu" / "run"
STEPS = ("static inputs", "warmup", "record")


@pytest.fixture(scope="module")
def gpu_run_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(read_runs(RUN), tmp_path_factory.mktemp("gpu_run") / "report.html").path


def test_captures_are_bars_of_their_steps(gpu_run_report: Path, open_page: OpenPage) -> None:
    page = open_page(gpu_run_report, "graphs")
    captures = page.locator("#captures .capture")
    expect(captures).to_have_count(4)
    expect(page.locator("#tabs a", has_text="CUDA graphs").locator(".count")).to_have_text("4")
    first, again = captures.nth(0), captures.nth(2)
    expect(first.locator("h3")).to_contain_text("CUDAGraph1")
    expect(first.locator(".steps span")).to_have_text([re.compile(f"^{step} [\\d.]+ (s|ms|µs)$") for step in STEPS])
    warmup, bar = first.locator(".step-warmup").bounding_box(), first.locator(".capture-bar").bounding_box()
    assert warmup is not None and bar is not None and warmup["width"] > 0.8 * bar["width"]
    expect(first).to_contain_text("first capture")
    expect(again).to_contain_text("strides (64, 1) before, (1, 8) now")
    for words in ("17.2 kB", "2.1 MB", "697 ms"):  # the static inputs, the pool, the device's time
        expect(first).to_contain_text(words)


def test_a_kernel_comes_with_its_launch_facts_and_texts(gpu_run_report: Path, open_page: OpenPage) -> None:
    page = open_page(gpu_run_report, "kernels")
    expect(page.locator("#kernel")).to_have_text("nvfuser_inner_persistent_f0_c1_r0_g0")
    head = page.locator(".pane-head")
    for words in ("nvFusion0", "CUDA C++", "registers32", "grid[8, 1, 1]", "bytes moved4.7 kB", "on the device2 µs"):
        expect(head).to_contain_text(words)
    assert [name for name in page.locator(".side-list h3").all_inner_texts() if "variant 1" in name]
    expect(page.locator(".pane .lines")).to_contain_text("__global__ void nvfuser_inner_persistent")
    titles = page.locator(".side-list section").first.locator("li a").all_inner_texts()
    assert titles == ["nvfuser_inner_persistent_f0_c1_r0_g0", "definition", "scheduled ir", "runtime"]


def test_the_summary_counts_regions_kernels_and_captures(gpu_run_report: Path, open_page: OpenPage) -> None:
    page = open_page(gpu_run_report)
    tiles = {
        tile.locator("span").inner_text(): tile.locator("b").inner_text() for tile in page.locator(".tiles li").all()
    }
    assert tiles["graph captures"] == "4" and int(tiles["kernels"]) == 4


def test_it_fits_a_phone(gpu_run_report: Path, open_page: OpenPage) -> None:
    page = open_page(gpu_run_report, "graphs", width=400)
    expect(page.locator("#captures .capture")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
