"""A pytest plugin that writes how each test ended: one JSON line with the test's id, word, exception type and message.

pytest -p outcomes --outcomes FILE
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest

FILE = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--outcomes FILE`."""
    parser.addoption("--outcomes", type=Path, help="where the outcomes go, a JSON line each")


def pytest_configure(config: pytest.Config) -> None:
    """Start with an empty file: no line of an earlier run is taken for this one's."""
    file = config.getoption("outcomes")
    if file:
        file.write_text("")
        config.stash[FILE] = file


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write what the call phase did, and any other phase that did not pass."""
    report = yield
    file = item.config.stash.get(FILE, None)
    if file is not None and (report.when == "call" or not report.passed):
        line = {"test": item.nodeid.partition("::")[2], "phase": report.when, "word": report.outcome}
        if call.excinfo is not None:
            line |= {"type": call.excinfo.type.__qualname__, "message": str(call.excinfo.value)}
        elif report.failed:  # nothing was raised: a test passed that is strictly expected to fail
            line |= {"type": "", "message": str(report.longrepr)}
        with file.open("a") as lines:  # opened each time: what a crash leaves is whole
            lines.write(json.dumps(line) + "\n")
    return report
