"""Takes the pictures of docs/images from the report of a recorded run, in headless Chromium.

    python scripts/screenshots.py                     # trains a GPT of two blocks first, recorded; a minute
    python scripts/screenshots.py --run thunder_debug # of a run that is there

Needs Debian's package chromium and `pip install playwright`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from thunder_otel.report._reader import read_runs
from thunder_otel.report.html import write_report

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
WIDE, NARROW = (1400, 900), (400, 850)


def record(folder: Path) -> Path:
    """Run the example with everything recorded; returns the folder of its runs."""
    command = [sys.executable, str(ROOT / "examples" / "gpt_train.py")]
    subprocess.run(command, cwd=folder, env={**os.environ, "THUNDER_DEBUG": "nvfuser_code"}, check=True)
    return folder / "thunder_debug"


def first_pass_that_changes_much(page: Page) -> None:
    """Open the pass that splits or removes most, side by side."""
    rows = page.locator(".pass-lines a.pass:has(.delta)")
    sizes = [sum(map(int, re.findall(r"\d+", row.locator(".delta").inner_text()))) for row in rows.all()]
    rows.nth(max(range(len(sizes)), key=lambda i: -abs(sizes[i] - 120))).click()
    page.wait_for_timeout(400)


def line_card(page: Page) -> None:
    """Click the first linear layer of the model: its source, its region and its kernels show up."""
    page.locator("#search").fill("ltorch.linear(")
    page.locator("#results li", has_text="acquire computation").locator("a").click()
    page.locator(".pane .row.current .nf", has_text="linear").click()
    page.locator("#became-regions").wait_for()


def first_region(page: Page) -> None:
    """Open the first region's graph."""
    page.locator("#regions tbody a").first.click()
    page.locator(".graph .node").first.wait_for()


def zoom_in(page: Page) -> None:
    """Zoom to the passes of the first compile."""
    page.locator(".bar.role-compile").first.dblclick()
    page.keyboard.press("Escape")
    page.mouse.move(5, 5)


# name -> (place, size, dark, what is clicked before)
SHOTS: dict[str, tuple[str, tuple[int, int], bool, Callable[[Page], None] | None]] = {
    "summary": ("summary", WIDE, False, None),
    "timeline": ("timeline", WIDE, False, zoom_in),
    "passes": ("passes?m=split", WIDE, False, first_pass_that_changes_much),
    "line": ("summary", WIDE, False, line_card),
    "regions": ("regions", WIDE, False, first_region),
    "kernels": ("kernels", WIDE, True, None),
    "phone": ("passes?m=unified", NARROW, False, first_pass_that_changes_much),
}


def take(browser: Browser, report: Path, name: str) -> None:
    """Take one picture."""
    place, (width, height), dark, click = SHOTS[name]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    page.goto(f"{report.as_uri()}#{place}")
    page.wait_for_timeout(1500)  # until the lines of all passes are counted
    if click is not None:
        click(page)
    page.wait_for_timeout(600)
    page.screenshot(path=IMAGES / f"report-{name}.png")
    page.close()


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="a run folder or a thunder_debug folder")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("no chromium: install Debian's package chromium")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        report = write_report(read_runs(arguments.run or record(folder)), folder / "report.html").path
        browser = playwright.chromium.launch(executable_path=chromium)
        for shot in SHOTS:
            take(browser, report, shot)
        browser.close()


if __name__ == "__main__":
    main()
