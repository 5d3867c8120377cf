"""Ranks compared: what differs is found by kind, and a thousand folders take seconds and little memory."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from thunder_otel import semconv
from thunder_otel.cli._app import app
from thunder_otel.report._ranks import compare
from thunder_otel.report._reader import NoRun

START = 1_700_000_000_000_000_000
BODY = "def computation(x):\n  t0 = torch.sin(x)\n  return t0\n"
Edit = Callable[[list[dict[str, Any]]], None]


def stages(rank: int, count: int) -> list[dict[str, Any]]:
    """A first compile of ``count`` stages, and a recompile."""
    found = []
    for compile_index, reason in ((0, "first call"), (1, "expected (2, 2), got (3, 2)")):
        facts = {semconv.COMPILE_ID: f"f/{compile_index}", semconv.COMPILE_REASON: reason}
        found.append({"name": "thunder.compile", "attributes": facts})
        for index in range(count):
            attributes = {semconv.COMPILE_ID: f"f/{compile_index}", semconv.TRACE_SYMBOLS: 3}
            found.append({"name": f"thunder.pass p{index}", "attributes": attributes, "text": f"{BODY}# {index}\n"})
    return found


def write_rank(folder: Path, rank: int, *, count: int = 3, world: int = 2, edit: Edit | None = None) -> Path:
    run = folder / f"20260101T000000Z-{1000 + rank}-rank{rank}"
    (run / "traces").mkdir(parents=True)
    facts = {"rank": rank, "world_size": world, "started_ns": START + rank}
    (run / "run.json").write_text(json.dumps(facts))
    made = stages(rank, count)
    if edit is not None:
        edit(made)
    lines = []
    for number, stage in enumerate(made):
        payloads = []
        if "text" in stage:
            path = f"traces/{number:04d}.py"
            if rank < 5:  # the others are never read: their texts are equal by hash
                took = f"# Constructed by p (took {rank} milliseconds)\n"
                (run / path).write_text(took + stage["text"])
            sha = f"{rank}-{number}" if rank < 5 else f"0-{number}"
            payloads.append({"key": "thunder.trace.text", "sha256": sha, "path": path})
        lines.append(
            {
                "event": semconv.EVENT_END,
                "name": stage["name"],
                "span_id": f"{number:016x}",
                "start_ns": START + number * 1000,
                "end_ns": START + number * 1000 + stage.get("took_ns", 500),
                "attributes": stage["attributes"],
                "payloads": payloads,
            }
        )
    (run / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run


def only_difference(folder: Path) -> tuple[str, str, str, str, str]:
    (one,) = compare(folder).differences
    return one.what, one.compile, one.stage, one.here, one.there


def test_equal_ranks_do_not_differ_though_their_passes_took_longer(tmp_path: Path) -> None:
    for rank in range(2):
        write_rank(tmp_path, rank)
    found = compare(tmp_path)
    assert (found.count, found.differences, found.spreads) == (2, (), ())


def set_text(made: list[dict[str, Any]]) -> None:
    made[2]["text"] = made[2]["text"].replace("torch.sin", "torch.cos")


def set_guard(made: list[dict[str, Any]]) -> None:
    made[4]["attributes"][semconv.COMPILE_REASON] = "expected (2, 2), got (4, 2)"


def set_stage(made: list[dict[str, Any]]) -> None:
    made[1]["name"] = "thunder.pass other"


def drop_stage(made: list[dict[str, Any]]) -> None:
    del made[3]


def drop_recompile(made: list[dict[str, Any]]) -> None:
    del made[4:]


def set_collectives(made: list[dict[str, Any]]) -> None:
    made[1]["attributes"][semconv.TRACE_COLLECTIVES] = ["all_reduce"]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (set_text, ("op", "f/0", "thunder.pass p1", "t0 = torch.cos(x)", "t0 = torch.sin(x)")),
        (
            set_guard,
            ("guard", "f/1", "thunder.compile", "expected (2, 2), got (4, 2)", "expected (2, 2), got (3, 2)"),
        ),
        (set_stage, ("stage", "f/0", "thunder.pass p0", "thunder.pass other", "thunder.pass p0")),
        (drop_stage, ("stage", "f/0", "thunder.pass p2", "none", "thunder.pass p2")),
        (
            drop_recompile,
            (
                "cache",
                "f/1",
                "thunder.compile",
                "not compiled (a cached entry fitted, or it was not called)",
                "compiled",
            ),
        ),
        (set_collectives, ("op", "f/0", "thunder.pass p0", "['all_reduce']", "None")),
    ],
)
def test_the_first_difference_is_told_by_its_kind(tmp_path: Path, edit: Edit, expected: tuple[str, ...]) -> None:
    write_rank(tmp_path, 0)
    write_rank(tmp_path, 1, edit=edit)
    assert only_difference(tmp_path) == expected


def test_a_stage_that_takes_much_longer_on_one_rank_is_named(tmp_path: Path) -> None:
    def slow(made: list[dict[str, Any]]) -> None:
        made[1]["took_ns"] = 5_000_000_000

    for rank in range(4):
        write_rank(tmp_path, rank, world=4, edit=slow if rank == 2 else None)
    (spread,) = compare(tmp_path).spreads
    assert (spread.stage, spread.slowest_rank) == ("thunder.pass p0", 2)
    said = CliRunner().invoke(app, ["ranks", str(tmp_path)])
    assert "0 differ from rank 0" in said.output and "on rank 2" in said.output


def test_a_folder_without_ranks_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(NoRun, match="no recording of a rank"):
        compare(tmp_path)
    said = CliRunner().invoke(app, ["ranks", str(tmp_path)])
    assert said.exit_code == 2 and "no recording of a rank" in said.output


def test_the_command_prints_the_difference_and_writes_json(tmp_path: Path) -> None:
    write_rank(tmp_path, 0)
    write_rank(tmp_path, 1, edit=set_text)
    said = CliRunner().invoke(app, ["ranks", str(tmp_path)])
    assert said.exit_code == 0 and "torch.cos" in said.output and "2 ranks, 1 differ" in said.output
    read = json.loads(CliRunner().invoke(app, ["ranks", str(tmp_path), "--json"]).output)
    assert read["differences"][0]["what"] == "op"


@pytest.mark.slow
def test_a_thousand_ranks_take_seconds_and_no_memory_to_speak_of(tmp_path: Path) -> None:
    for rank in range(1000):
        write_rank(tmp_path, rank, count=40, world=1000, edit=set_stage if rank == 777 else None)
    start = time.perf_counter()
    found = compare(tmp_path)
    seconds = time.perf_counter() - start
    assert [one.rank for one in found.differences] == [777]
    assert found.count == 1000 and seconds < 30
    tracemalloc.start()
    compare(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000
