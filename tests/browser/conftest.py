"""Fixtures of the browser's tests: headless Chromium, and reports of real compiles."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from thunder_otel.report._reader import read_runs
from thunder_otel.report.html import write_report

sys.path.insert(0, str(Path(__file__).parent.parent / "report_html"))  # report_runs, which is shared with those tests

PROGRAMS = Path(__file__).parent / "programs"
RANKS = 8


def _run(program: str, folder: Path) -> Path:
    """Run a program as a user would; returns its run folder."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAMS / program)],
        cwd=folder,
        env={**clean, "THUNDER_DEBUG": "nvfuser_code"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (found,) = (folder / "thunder_debug").iterdir()
    return found


def _report(folder: Path) -> Path:
    """The report of the latest run in a folder."""
    return write_report(read_runs(folder / "thunder_debug"), folder / "report.html").path


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, headless."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium: install Debian's package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def gpt_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a GPT with 24 blocks, compiled with fusion and run."""
    folder = tmp_path_factory.mktemp("gpt24")
    _run("gpt24.py", folder)
    return _report(folder)


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a small GPT's training, of recompiles, of operations left out and of a compile that fails."""
    return _run("training.py", tmp_path_factory.mktemp("training"))


@pytest.fixture(scope="session")
def small_report(small_run: Path) -> Path:
    """The report of that run."""
    return _report(small_run.parent.parent)


@pytest.fixture(scope="session")
def ranks_report(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of eight ranks: the same real run eight times, each rank a little later than the one before."""
    folder = tmp_path_factory.mktemp("ranks")
    for rank in range(RANKS):
        _as_rank(small_run, folder / "thunder_debug" / f"{small_run.name}-rank{rank}", rank)
    return _report(folder)


def _as_rank(run: Path, copy: Path, rank: int) -> None:
    shutil.copytree(run, copy)
    info = json.loads((run / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps({**info, "rank": rank, "local_rank": rank % 4, "world_size": RANKS}))
    lines = []
    for line in (run / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        for key in ("start_ns", "end_ns"):
            if key in event:
                event[key] += rank * 20_000_000
        lines.append(json.dumps(event) + "\n")
    (copy / "events.jsonl").write_text("".join(lines))


@contextlib.contextmanager
def _opened(browser: Browser, **options: object) -> Iterator[Page]:
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})  # type: ignore[arg-type]
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url) if not request.url.startswith("file:") else None)
    yield page
    context.close()
    assert problems == []


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[OpenPage]:
    """``open_page(file, place, width=...)``; a test fails when the console says anything or the page asks for more."""
    with contextlib.ExitStack() as stack:

        def open_(
            file: Path, place: str = "summary", *, width: int = 1400, height: int = 900, **options: object
        ) -> Page:
            viewport = {"width": width, "height": height}
            page = stack.enter_context(_opened(chromium, viewport=viewport, **options))
            page.goto(f"{file.as_uri()}#{place}")
            return page

        yield open_
