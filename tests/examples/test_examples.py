"""The examples as a user runs them: what they print, and the spans that only that path has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thunder_otel import semconv

if TYPE_CHECKING:
    from conftest import Program

EXAMPLES = Path(__file__).parents[2] / "examples"


def ended(program: Program) -> list[dict[str, Any]]:
    (run,) = program.runs
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [event for event in events if event["event"] == semconv.EVENT_END]


def test_a_growing_kv_cache_is_compiled_each_step_and_warned_of(run_program: Callable[..., Program]) -> None:
    env = {"THUNDER_DEBUG": "trace", "THUNDER_DEBUG_RECOMPILE_WARNING": "3"}
    done = run_program(EXAMPLES / "kv_cache.py", env)
    assert done.out == "6 keys, 5 compiles\n", done.err
    reasons = [e["attributes"][semconv.COMPILE_REASON] for e in ended(done) if e["name"] == semconv.SPAN_COMPILE]
    assert reasons[0] == "first call" and len(reasons) == 5
    assert all("expected tensor with" in reason for reason in reasons[1:])
    assert done.err.count("was recompiled 3 times") == 1


def test_autocast_is_a_compile_of_its_own(run_program: Callable[..., Program]) -> None:
    done = run_program(EXAMPLES / "autocast.py", {"THUNDER_DEBUG": "nvfuser_region"})
    assert done.out == "torch.float32 and torch.bfloat16, 2 compiles\n", done.err
    compiles = [event for event in ended(done) if event["name"] == semconv.SPAN_COMPILE]
    assert [event["attributes"][semconv.COMPILE_INDEX] for event in compiles] == [0, 1]


def test_thunderfx_shows_the_split(run_program: Callable[..., Program]) -> None:
    done = run_program(EXAMPLES / "thunderfx_split.py", {"THUNDER_DEBUG": "trace"})
    assert done.out == "16.3548\n", done.err
    splits = [event for event in ended(done) if event["name"] == semconv.SPAN_FX_SPLIT]
    assert [event["attributes"][semconv.SPLIT_OPS] for event in splits] == [[], ["torch.sinc"]]
