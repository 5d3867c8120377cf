"""Odd names, full disks, places that cannot be written: one line, and the program goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Program

RunProgram = Callable[..., "Program"]
pytestmark = pytest.mark.slow
SIN = "import torch, thunder\nprint(thunder.jit(torch.sin)(torch.ones(2)).sum().item())"


def test_odd_names_make_safe_files(run_program: RunProgram) -> None:
    done = run_program(
        """
import functools, torch, thunder
def f(x): return x * 2
class Callable_:
    def __call__(self, x): return x * 3
for name in ("../../x", "n" * 300, "\U0001f525 \\u00e9", "a\\nb", "..", "CON", "<script>"):
    f.__name__ = f.__qualname__ = name
    thunder.jit(f)(torch.ones(2))
thunder.jit(lambda x: x + 1)(torch.ones(2))
thunder.jit(functools.partial(torch.mul, torch.ones(2)))(torch.ones(2))
thunder.jit(Callable_())
print("OUT done")
""",
        {"THUNDER_DEBUG": "1"},
    )
    assert done.out == "OUT done\n", done.err
    (run,) = done.runs
    files = [path for path in run.rglob("*") if path.is_file()]
    assert all(path.resolve().is_relative_to(run) for path in files)
    assert all(len(path.name) < 255 and path.name.isascii() and "\n" not in path.name for path in files)
    names = {json.loads(line)["attributes"]["thunder.fn"] for line in (run / "events.jsonl").read_text().splitlines()}
    assert {"../../x", "n" * 300, "\U0001f525 é", "a\nb"} <= names


def test_a_file_in_the_folders_place_is_said_once(run_program: RunProgram, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run_program(SIN, {"THUNDER_DEBUG": "1", "THUNDER_DEBUG_DIR": str(tmp_path / "file")})
    assert done.code == 0 and done.out.startswith("1.68")
    (line,) = [line for line in done.err.splitlines() if line.startswith("thunder_otel")]
    assert "THUNDER_DEBUG_DIR=" in line and "set it to a folder you may write to" in line


def test_the_disk_limit_is_said_once_and_the_program_goes_on(run_program: RunProgram) -> None:
    done = run_program(SIN, {"THUNDER_DEBUG": "1", "THUNDER_DEBUG_DISK_LIMIT": "20000"})
    assert done.out.startswith("1.68")
    assert done.err.count("has reached its limit of 20000 bytes") == 1
    assert "raise THUNDER_DEBUG_DISK_LIMIT" in done.err and "records could not be written" in done.err
    (run,) = done.runs
    assert sum(path.stat().st_size for path in run.rglob("*") if path.is_file()) <= 20000


def test_a_full_disk_is_said_once_and_the_program_goes_on(run_program: RunProgram) -> None:
    """A limit on the size of a file stands for a full disk: writing fails half way, with an error of the system."""
    source = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    source += "resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))\n" + SIN
    done = run_program(source, {"THUNDER_DEBUG": "1"})
    assert done.out.startswith("1.68"), done.err
    assert done.err.count("cannot be written (File too large)") == 1


def test_folders_and_files_are_for_their_owner_only(run_program: RunProgram) -> None:
    done = run_program(SIN, {"THUNDER_DEBUG": "1"})
    (run,) = done.runs
    for path in (run, *run.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


def test_nothing_of_the_environment_or_the_command_line_is_recorded(run_program: RunProgram) -> None:
    secrets = {"MY_TOKEN": "s3cret-token", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=s3cret-header"}
    source = f"import sys\nsys.argv.append('s3cret-argument')\n{SIN}"
    done = run_program(source, {"THUNDER_DEBUG": "3", **secrets})
    (run,) = done.runs
    data = b"".join(path.read_bytes() for path in run.rglob("*") if path.is_file())
    assert data and b"s3cret" not in data and "s3cret" not in done.err


def test_a_broken_exporter_is_named_and_left_out(run_program: RunProgram) -> None:
    done = run_program(SIN, {"THUNDER_DEBUG": "1", "OTEL_TRACES_EXPORTER": "nosuch"})
    assert done.out.startswith("1.68")
    assert "OTEL_TRACES_EXPORTER=nosuch names no installed exporter" in done.err and "thunder_console" in done.err
    assert len(done.runs) == 1


def test_none_writes_nothing(run_program: RunProgram) -> None:
    done = run_program(SIN, {"THUNDER_DEBUG": "1", "OTEL_TRACES_EXPORTER": "none"})
    assert done.out.startswith("1.68") and done.runs == [] and "thunder_otel" not in done.err


def test_the_console_prints_the_tree_on_stderr(run_program: RunProgram) -> None:
    done = run_program(SIN, {"THUNDER_DEBUG": "1", "OTEL_TRACES_EXPORTER": "thunder_console"})
    assert done.out.count("\n") == 1
    assert "_VariableFunctionsClass.sin  compile 0: first call" in done.err and "codegen computation" in done.err


def test_ranks_are_picked(run_program: RunProgram) -> None:
    for rank, runs in (("0", 1), ("1", 0)):
        done = run_program(SIN, {"THUNDER_DEBUG": "1", "THUNDER_DEBUG_RANKS": "0", "RANK": rank, "WORLD_SIZE": "2"})
        assert len(done.runs) == runs, done.err
        assert all(run.name.endswith("-rank0") for run in done.runs)


def test_traceparent_is_the_parent_and_ranks_are_on_the_resource(run_program: RunProgram) -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    variables = {"TRACEPARENT": f"00-{trace}-{parent}-01", "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4"}
    done = run_program(SIN, {"THUNDER_DEBUG": "1", **variables})
    (run,) = done.runs
    for line in (run / "spans.jsonl").read_text().splitlines():
        (resource_spans,) = json.loads(line)["resourceSpans"]
        (span,) = resource_spans["scopeSpans"][0]["spans"]
        assert span["traceId"] == trace
        if span["name"] == "thunder.compile":
            assert span["parentSpanId"] == parent
        found = {pair["key"]: pair["value"] for pair in resource_spans["resource"]["attributes"]}
        assert [found[f"thunder.{name}"]["intValue"] for name in ("rank", "local_rank", "world_size")] == [
            "3",
            "1",
            "4",
        ]
