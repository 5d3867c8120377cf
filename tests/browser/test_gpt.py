"""The report of a real compile of a GPT with 24 blocks: what its parts show, and how fast."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

OpenPage = Callable[..., Page]
BLOCKS = 24
LIMIT = 200  # milliseconds that a jump may take


def shown(page: Page, place: str) -> float:
    """Go to a place and wait for it; returns the milliseconds that the page needed to draw it."""
    page.evaluate("place => { location.hash = place }", place)
    view = page.locator("#view")
    expect(view).to_have_attribute("data-drawn", f"#{place}", timeout=20_000)
    return float(view.get_attribute("data-took") or "nan")


def test_first_paint_and_jumps_are_fast(gpt_report: Path, open_page: OpenPage) -> None:
    page = open_page(gpt_report)
    expect(page.locator("#summary h1")).to_have_text("GPT.forward")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    shown(page, "passes")
    views = 30
    places = [f"passes?v={view}&m={mode}" for view in range(views) for mode in ("unified", "split", "text")]
    times = {place: shown(page, place) for place in places}
    # Another process may have held the processor just then: what was slow is tried again, cold, in a new page.
    for place in [place for place, took in times.items() if took >= LIMIT]:
        times[place] = min(shown(open_page(gpt_report), place) for _ in range(3))
    print(f"first paint {paint:.0f} ms, slowest of {len(times)} jumps {max(times.values()):.0f} ms")
    assert paint < 2000
    assert max(times.values()) < LIMIT


def test_long_texts_exist_only_where_they_are_seen(gpt_report: Path, open_page: OpenPage) -> None:
    page = open_page(gpt_report, "passes")
    page.locator(".pass-lines a.pass", has_text="acquire computation").click()
    page.get_by_role("button", name="Text", exact=True).click()
    lines = page.locator(".pane .lines")
    height = lines.evaluate("e => e.scrollHeight")
    assert height > 20 * 1000  # thousands of lines
    assert page.locator(".pane .row").count() < 120
    lines.evaluate("e => { e.scrollTop = e.scrollHeight }")
    expect(page.locator(".pane .row code").last).to_contain_text("return")
    assert page.locator(".pane .row").count() < 120


def test_passes_say_what_they_changed(gpt_report: Path, open_page: OpenPage) -> None:
    page = open_page(gpt_report, "passes")
    rows = page.locator(".pass-lines a.pass")
    expect(rows.filter(has_text="acquire computation")).to_have_count(1)
    dce = rows.filter(has_text="dce").first
    expect(dce.locator(".delta")).to_have_text(re.compile(r"\+\d+ \u2212\d+"))
    expect(dce.locator(".took")).to_have_text(re.compile(r"[\d.]+ (s|ms|µs)"))
    folds = page.locator(".quiet-fold")
    expect(folds.first).to_contain_text("without change")
    before = rows.count()
    folds.first.click()
    expect(folds.first).to_have_attribute("aria-expanded", "true")
    assert rows.count() > before


def test_a_line_leads_to_its_source_its_region_and_its_kernels(gpt_report: Path, open_page: OpenPage) -> None:
    page = open_page(gpt_report, "search?q=ltorch.embedding(")
    page.locator("#results li", has_text="acquire computation").locator("a").click()
    embedding = page.locator(".pane .row.current")
    expect(embedding).to_contain_text("ltorch.embedding(")
    embedding.locator(".nf", has_text="embedding").click()
    card = page.locator("#card")
    expect(card).to_contain_text("return F.embedding(")
    expect(card.locator(".path")).to_contain_text("sparse.py:")
    expect(card.locator("#line-parts li").first).to_contain_text("reshape")
    expect(card.locator("#became-regions")).to_contain_text("TorchCompile0")
    expect(card.locator("#became-kernels")).to_contain_text("embedding")
    assert card.locator("#became-ops > li").count() >= 2
    card.locator("#became-kernels a").first.click()
    expect(page.locator("#kernel")).to_contain_text("cpp_fused")
    expect(page.locator(".pane .lines")).to_contain_text("extern")


def test_the_region_of_the_whole_model_is_drawn_a_page_at_a_time(gpt_report: Path, open_page: OpenPage) -> None:
    page = open_page(gpt_report, "regions")
    page.locator("#regions tbody a").first.click()
    expect(page.locator("#region")).to_contain_text("TorchCompile0")
    pages = page.locator(".region-detail > .chips .chip")
    assert pages.count() >= 4
    assert 100 < page.locator(".graph .node").count() <= 500
    pages.nth(2).click()
    expect(pages.nth(2)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".graph .node").first).to_be_attached()
    page.locator(".tensors", has_text="inputs").locator("summary").click()
    assert page.locator(".tensors li", has_text=re.compile(r"f32\[")).count() > BLOCKS


def test_search_finds_names_and_texts(gpt_report: Path, open_page: OpenPage) -> None:
    page = open_page(gpt_report)
    page.keyboard.press("/")
    page.keyboard.type("h_23_mlp")
    expect(page.locator("#progress")).to_have_attribute("data-done", "yes", timeout=20_000)
    results = page.locator("#results li")
    assert results.count() >= 3
    expect(results.first.locator("mark").first).to_have_text("h_23_mlp")
    results.filter(has_text="acquire computation").locator("a").click()
    expect(page.locator(".pane .row.current code")).to_contain_text("h_23_mlp")
