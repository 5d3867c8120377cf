"""Fixtures of real servers. Without Go they skip their tests; where CI is set, that is a failure."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the helpers beside the tests, which are no package

from jaeger_server import Collector, Jaeger, build

ROOM = {"JAEGER_MAX_TRACES": "100000"}  # no test's traces may push out another's


@pytest.fixture(scope="session")
def jaeger_binaries() -> None:
    """For a test that starts servers of its own."""
    if reason := build():
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def jaeger(jaeger_binaries: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    """Jaeger as compose runs it, shared by all tests: look only at traces of your own."""
    with Jaeger(tmp_path_factory.mktemp("jaeger"), env=ROOM) as server:
        yield server


@pytest.fixture(scope="session")
def default_jaeger(jaeger_binaries: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    """Jaeger with the receiver's default limits: gRPC takes 4 MiB."""
    with Jaeger(tmp_path_factory.mktemp("default-jaeger"), "default-limits", env=ROOM) as server:
        yield server


@pytest.fixture
def collector(jaeger: Jaeger, tmp_path: Path) -> Iterator[Collector]:
    """The Collector in front of ``jaeger``."""
    with Collector(tmp_path / "collector", jaeger) as server:
        yield server
