"""Fixtures of the report's tests that need neither thunder nor a browser."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the helpers beside the tests, which are no package

from report_runs import RunFolder


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., RunFolder]:
    """``make_run(name, **run_json)`` makes an empty run folder to add stages to."""

    def make(name: str = "20260101T000000Z-1", **info: Any) -> RunFolder:
        return RunFolder(tmp_path / "thunder_debug" / name, info)

    return make
