"""Each part of the report, on a real run: training, recompiles, operations left unfused, a compile that fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

OpenPage = Callable[..., Page]


def test_the_summary_tells_it_in_one_screen(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report)
    tiles = {
        tile.locator("span").inner_text(): tile.locator("b").inner_text() for tile in page.locator(".tiles li").all()
    }
    assert tiles["compiles"] == "5" and tiles["recompiles"] == "2" and tiles["errors"] == "1"
    assert int(tiles["regions"]) == 2 and int(tiles["kernels"]) >= 3 and tiles["graph captures"] == "0"
    expect(page.locator(".problem")).to_contain_text("reshape")
    expect(page.locator(".reasons li")).to_have_count(2)
    expect(page.locator(".reasons")).to_contain_text("Expected 4 to be equal to")
    expect(page.locator("#functions tbody tr")).to_have_count(3)
    expect(page.locator(".bars-list li")).to_have_count(8)
    expect(page.locator(".versions")).to_contain_text("lightning-thunder")
    assert page.evaluate("document.querySelector('#content').scrollHeight") < 1100


def test_the_summary_needs_no_script(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, java_script_enabled=False)
    expect(page.locator("#functions")).to_contain_text("GPT.forward")
    expect(page.locator(".noscript")).to_be_visible()


def test_the_timeline_zooms_and_tells(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "timeline")
    bars = page.locator(".bar")
    expect(bars.filter(has_text="acquire").first).to_be_visible()
    axis = page.locator(".axis").inner_text()
    page.get_by_role("button", name="+", exact=True).click()
    assert page.locator(".axis").inner_text() != axis
    page.keyboard.press("0")
    assert page.locator(".axis").inner_text() == axis
    wide = bars.filter(has_text="acquire").first.bounding_box()
    page.locator(".chart").focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    assert bars.filter(has_text="acquire").first.bounding_box() != wide
    page.keyboard.press("0")
    bars.filter(has_text="acquire").first.dblclick()
    inside = page.locator(".bar.role-acquire").first.bounding_box()
    assert inside is not None and wide is not None and inside["width"] > wide["width"]
    expect(page.locator("#card h2")).to_have_text("acquire")
    expect(page.locator("#card")).to_contain_text("thunder.compile.id")
    page.locator("#card a", has_text="Open it").click()
    expect(page.locator(".pane h3")).to_contain_text("acquire")


def test_dragging_and_the_wheel_move_the_timeline(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "timeline")
    axis = page.locator(".axis").inner_text()
    page.mouse.move(700, 300)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    expect(page.locator(".axis")).not_to_have_text(axis)
    zoomed = page.locator(".axis span").first.bounding_box()
    page.mouse.down()
    page.mouse.move(640, 300, steps=4)
    page.mouse.up()
    assert page.locator(".axis span").first.bounding_box() != zoomed


def diffs(page: Page) -> tuple[int, int]:
    found = re.match(r"\+(\d+) \u2212(\d+)", page.locator("#diff-total").inner_text())
    assert found is not None
    return int(found[1]), int(found[2])


def test_a_diff_in_one_column_and_side_by_side(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "passes")
    page.locator(".pass-lines a.pass", has_text=re.compile(r"rematerialize|dce")).first.click()
    added, removed = diffs(page)
    assert added + removed > 0
    one = page.locator(".unified .row")
    expect(page.locator(".unified .row.added, .unified .row.removed").first).to_be_visible()
    assert one.filter(has_text="equal lines").count() >= 1
    page.locator(".unified .fold").first.click()
    page.get_by_role("button", name="Side by side").click()
    expect(page.locator(".side-by-side .lines")).to_have_count(2)
    assert diffs(page) == (added, removed)
    left, right = page.locator(".lines.a"), page.locator(".lines.b")
    left.evaluate("e => { e.scrollTop = 200 }")
    expect(right).to_have_js_property("scrollTop", 200)
    assert left.evaluate("e => e.scrollHeight") == right.evaluate("e => e.scrollHeight")


def test_any_two_stages_can_be_compared(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "passes?m=unified")
    page.locator(".pass-lines a.pass", has_text="del_last_used").first.click()
    small = sum(diffs(page))
    page.locator("#base").select_option(index=0)
    expect(page.locator("#view")).to_have_attribute("data-drawn", re.compile("b=0"))
    expect(page.locator("#base")).to_have_value("0")
    assert sum(diffs(page)) > small


def test_renamed_variables_can_count_as_equal(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "passes?m=unified")
    page.locator(".pass-lines a.pass", has_text="dce").nth(1).click()
    strict = sum(diffs(page))
    page.locator("#any-numbers").check()
    expect(page.locator("#any-numbers")).to_be_checked()
    expect(page.locator("#view")).to_have_attribute("data-drawn", re.compile("n=1"))
    assert 0 < sum(diffs(page)) < strict


def test_a_variable_shows_where_it_is_made_and_used(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "passes?m=text")
    row = page.locator(".pane .row", has_text="ltorch.embedding(").first
    name = row.locator("[data-name]").first.inner_text()
    row.locator("[data-name]").first.click()
    expect(page.locator("#card h2")).to_have_text(name)
    expect(page.locator("#made-by li")).to_contain_text(f"{name} = ltorch.embedding(")
    expect(page.locator("#card .shape")).to_contain_text("f32[2, 16, 16]")
    uses = page.locator("#used-by li")
    assert uses.count() >= 1
    expect(uses.first).to_contain_text(name)
    assert page.locator(".pane .hit").count() >= 2
    uses.first.locator("button").click()
    expect(page.locator(".pane .row.current")).to_contain_text(name)


def test_code_is_coloured(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "passes?m=text")
    keyword = page.locator(".pane .k", has_text="def").first
    plain = page.locator(".pane .n").first
    assert keyword.evaluate("e => getComputedStyle(e).color") != plain.evaluate("e => getComputedStyle(e).color")


def test_regions_are_drawn_and_what_stayed_out_has_its_reason(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "regions")
    expect(page.locator("#regions tbody tr")).to_have_count(2)
    expect(page.locator("#overview .node.region")).to_have_count(2)
    page.locator("#overview .node.region").first.click()
    expect(page.locator("#region")).to_contain_text("TorchCompile0")
    nodes = page.locator(".graph .node")
    expect(nodes.filter(has_text="embedding").first).to_contain_text("f32[2, 16, 16]")
    assert page.locator(".graph .edge").count() >= nodes.filter(has_text="f32").count() // 2
    nodes.filter(has_text="embedding").first.click()
    expect(page.locator("#card")).to_contain_text("embedding(")
    compiles = page.locator("#compile option").all_inner_texts()
    page.locator("#compile").select_option(index=next(i for i, name in enumerate(compiles) if "scaled/0" in name))
    expect(page.locator("#unfused .reason").first).to_contain_text("claimed by torch before fusion")
    expect(page.locator("#unfused li").first).to_contain_text("gelu")


def test_the_ledger_says_why_each_op_runs_where_it_does(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "regions")
    ledger = page.locator("#ledger")
    reasons = ledger.locator("section").first.locator("summary").all_inner_texts()
    assert [words.rpartition(" ")[0] for words in reasons] == ["fused"] and ledger.locator("section").count() == 2
    expect(ledger.locator(".verdicts")).to_have_count(0)  # unpacked when somebody looks
    ledger.locator("summary").first.click()
    expect(ledger.locator(".verdicts li").first).to_contain_text("in TorchCompile0: fused by torchcompile")
    page.get_by_label("Find an op's verdicts").fill("functional.EMBEDDING")
    found = page.locator("#ledger-found section").first
    expect(found).to_contain_text("computation: 1 op")
    expect(found.locator(".path")).to_contain_text("modules/sparse.py:")
    expect(ledger.locator("summary").first).not_to_be_visible()
    compiles = page.locator("#compile option").all_inner_texts()
    page.locator("#compile").select_option(index=next(i for i, name in enumerate(compiles) if "scaled/0" in name))
    page.get_by_label("Find an op's verdicts").fill("gelu")
    expect(page.locator("#ledger-found")).to_contain_text("torch: took it")


def test_kernels_have_source_and_facts(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "kernels")
    expect(page.locator("#kernel")).to_contain_text("cpp_fused")
    expect(page.locator(".pane-head .facts")).to_contain_text("language")
    expect(page.locator(".pane .k", has_text="extern").first).to_be_visible()
    page.locator(".side-list a", has_text="output code").first.click()
    expect(page.locator("#kernel")).to_have_text("output code")
    expect(page.locator(".pane .k", has_text="import").first).to_be_visible()


def test_recompiles_name_the_guard_and_the_time(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "recompiles")
    rows = page.locator("#recompiles tbody tr")
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    first = cells[0]
    assert first[0] == "scaled/1" and first[1] == "0" and "check_" in first[2]
    assert (first[3], first[4]) == ("3", "4")
    assert re.fullmatch(r"[\d.]+ (s|ms)", first[5])
    assert any("(3, 4)" in row[4] for row in cells)


def test_a_failed_compile_leads_to_its_error(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report)
    page.locator(".problem").click()
    expect(page.locator("#card .error")).to_contain_text("reshape")
    expect(page.locator(".bar.failed").first).to_be_visible()


def test_keys(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report)
    for keys, title in (
        ("gp", "Passes"),
        ("gt", "Timeline"),
        ("gr", "Regions"),
        ("gk", "Kernels"),
        ("ge", "Recompiles"),
    ):
        for key in keys:
            page.keyboard.press(key)
        expect(page.locator("#tabs [aria-current=page]")).to_contain_text(title)
    page.keyboard.press("g")
    page.keyboard.press("p")
    current = page.locator(".pass-lines .current")
    expect(current).to_have_count(1)
    first = current.inner_text()
    page.keyboard.press("j")
    expect(current).not_to_have_text(first)
    page.keyboard.press("k")
    expect(current.locator(".name")).to_have_text(first.split("\n")[1])
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("d")
    expect(page.locator(".chip[aria-pressed=true]", has_text="Side by side")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator(".chip[aria-pressed=true]", has_text="Unified")).to_be_visible()
    page.keyboard.press("x")
    expect(page.locator(".chip[aria-pressed=true]", has_text="Text")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#card")).to_contain_text("next, previous pass")
    page.keyboard.press("Escape")
    expect(page.locator("#card")).to_be_hidden()


def test_light_and_dark(small_report: Path, open_page: OpenPage) -> None:
    def background(page: Page) -> str:
        found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found

    light = open_page(small_report, color_scheme="light")
    dark = open_page(small_report, color_scheme="dark")
    assert background(light) == "rgb(251, 251, 250)" and background(dark) == "rgb(19, 20, 23)"
    light.keyboard.press("t")
    assert background(light) == background(dark)
    light.reload()
    assert background(light) == background(dark)
    dark.locator("#theme").click()
    assert background(dark) == "rgb(251, 251, 250)"


@pytest.mark.parametrize("place", ["summary", "timeline", "passes", "regions", "kernels", "recompiles", "search?q=add"])
def test_it_fits_a_phone(small_report: Path, open_page: OpenPage, place: str) -> None:
    page = open_page(small_report, place, width=400, height=850)
    page.wait_for_timeout(300)
    fits = "() => { const e = document.querySelector('#content'); return e.scrollWidth <= e.clientWidth + 1; }"
    page.wait_for_function(fits)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_back_returns(small_report: Path, open_page: OpenPage) -> None:
    page = open_page(small_report, "passes")
    page.locator(".pass-lines a.pass").nth(3).click()
    name = page.locator(".pane h3").inner_text()
    page.locator("#tabs a", has_text="Kernels").click()
    expect(page.locator("#kernel")).to_be_visible()
    page.go_back()
    expect(page.locator(".pane h3")).to_have_text(name, use_inner_text=True)
