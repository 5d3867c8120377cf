"""Events of the wrong shape are counted and passed over, like torn ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from thunder_otel_exporters.recover import recover

from thunder_otel.report._reader import read_run


@pytest.mark.parametrize(
    "wrong",
    [
        {"start_ns": None},
        {"start_ns": "x"},
        {"payloads": [3]},
        {"error": "boom"},
        {"attributes": [1]},
        {"end_ns": "z"},
    ],
)
def test_a_wrong_field_is_no_traceback(
    wrong: dict[str, Any], recorder: Any, stages: Any, run_folder: Callable[[], Path]
) -> None:
    stages(recorder(), ["a"])
    events = run_folder() / "events.jsonl"
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    events.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {**lines[-1], "span_id": "0b", **wrong}]))
    assert recover(run_folder(), force=True).torn == 1
    assert read_run(run_folder()).torn == 1
