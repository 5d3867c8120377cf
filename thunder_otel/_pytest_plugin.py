"""The pytest plugin: fixture ``thunder_run``, and ``--thunder-otel`` for a report of the compiles of every test.

pytest loads it in every project of an environment that has thunder_otel, so it imports nothing heavy by itself.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from thunder_otel._capture import Run

OPTION = "--thunder-otel"
PROPERTY = "thunder_otel"  # also in the JUnit file
_RUN = pytest.StashKey["Run"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the option."""
    parser.getgroup("thunder_otel").addoption(
        OPTION,
        action="store_const",
        const=True,
        default=False,
        help="record every test and report what thunder compiled in it",
    )


@pytest.fixture
def thunder_run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """What thunder compiles in this test from here on, at the level of the marker ``thunder_level`` (default: 3)."""
    from thunder_otel._capture import capture  # noqa: PLC0415 - imports torch's world only for tests that ask for it

    marker = request.node.get_closest_marker("thunder_level")
    with capture(marker.args[0] if marker is not None else 3) as run:
        yield run


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker."""
    config.addinivalue_line("markers", "thunder_level(level): the level at which the fixture thunder_run records")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record a test with its fixtures."""
    if not item.config.getoption(OPTION):
        return (yield)
    from thunder_otel._capture import capture  # noqa: PLC0415 - see above

    with ExitStack() as stack:
        item.stash[_RUN] = stack.enter_context(capture(1, all_threads=True))
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Attach the figures to the test's last report, which also reaches the main process under xdist."""
    report = yield
    run = item.stash.get(_RUN, None)
    if run is not None and report.when == "teardown" and (line := _line(run)):
        report.user_properties.append((PROPERTY, line))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report the compiles of every test that had any."""
    if not config.getoption(OPTION):
        return
    lines = [
        f"{report.nodeid}  {value}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "teardown"
        for name, value in report.user_properties
        if name == PROPERTY
    ]
    terminalreporter.section("thunder compiles")
    for line in sorted(lines):
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"{len(lines)} tests compiled something" if lines else "no test compiled anything")


def _line(run: Run) -> str:
    compiles = run.compiles
    if not compiles:
        return ""
    seconds = sum(compile.seconds for compile in compiles)
    parts = [f"{len(compiles)} compile{'s' if len(compiles) > 1 else ''} in {seconds:.2f} s"]
    parts += [f"{again.fn} again: {again.reason}" for again in run.recompiles]
    parts += [f"{compile.id} failed: {compile.error.type}" for compile in compiles if compile.error is not None]
    return "; ".join(" ".join(part.split()) for part in parts)
