"""Reading run folders, whole or broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from report_runs import START_NS, RunFolder

from thunder_otel.report._reader import NoRun, read_run, read_runs


def test_a_stage_that_ended_counts_once(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    compile_id = run.compile("f", error=("ValueError", "no"))
    run.trace("dce", 1, compile_id, "a = 1\n")
    first, second = read_run(run.path).stages
    assert (first.end_ns or 0) - first.start_ns == 100_000_000
    assert first.error is not None and first.error.message == "no"
    assert second.parent_id == first.span_id
    assert (run.path / second.payloads[0].path).read_text() == "a = 1\n"


def test_a_killed_program_leaves_open_stages_and_a_torn_line(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    run.stage("thunder.compile", {}, took=None)
    with (run.path / "events.jsonl").open("ab") as file:
        file.write(b'{"event":"thunder.stage.end","name":"\xff')
    (run.path / "run.json").write_text('{"rank": 3')
    found = read_run(run.path)
    assert [stage.end_ns for stage in found.stages] == [None]
    assert (found.torn, found.rank, found.info) == (1, None, {})


def test_other_events_and_other_json_are_no_stages(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    run.line({"event": "thunder.run.start"})
    with (run.path / "events.jsonl").open("a") as file:
        file.write("[1]\n")
    found = read_run(run.path)
    assert (found.stages, found.torn) == ([], 1)


def test_the_latest_run_of_a_folder(make_run: Callable[..., RunFolder]) -> None:
    make_run("20260101T000000Z-1")
    latest = make_run("20260101T000100Z-2")
    assert [run.folder for run in read_runs(latest.path.parent)] == [latest.path]


def test_all_ranks_of_the_latest_launch(make_run: Callable[..., RunFolder]) -> None:
    def rank(time: str, number: int, world: int, started: int) -> RunFolder:
        name = f"{time}-{number}-rank{number}"
        return make_run(name, rank=number, world_size=world, started_ns=START_NS + started * 10**9)

    rank("20260101T000000Z", 2, 3, 0)
    ranks = [rank("20260101T100000Z", number, 3, 36_000 + number) for number in (2, 0, 1)]
    rank("20260101T095900Z", 3, 8, 35_990)
    make_run("20260101T095800Z-9", started_ns=START_NS + 35_900 * 10**9)
    found = read_runs(ranks[0].path.parent)
    assert [run.rank for run in found] == [0, 1, 2]
    assert {run.folder for run in found} == {folder.path for folder in ranks}


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(NoRun, match="holds no recorded run: give a run folder"):
        read_runs(tmp_path)
    with pytest.raises(NoRun, match=r"it has no events\.jsonl"):
        read_run(tmp_path)
