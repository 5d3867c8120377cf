"""Runs each program of ``tests/programs`` once bare and once recorded, and keeps both for all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from thunder_otel import semconv
from thunder_otel.report._reader import Run, Stage, read_run

PROGRAMS = Path(__file__).parents[1] / "programs"


@dataclass(frozen=True)
class Ended:
    """A program that ended: exit code, what it printed, and the folder it ran in."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def out_lines(self) -> list[str]:
        """The lines that say what the program computed."""
        return [line for line in self.out.splitlines() if line.startswith(("OUT", "rc", "--"))]

    @property
    def runs(self) -> list[Run]:
        """What it recorded, each process a run."""
        return [read_run(path.parent) for path in sorted(self.folder.glob("thunder_debug/*/events.jsonl"))]

    @property
    def run(self) -> Run:
        """The only process's run."""
        (run,) = self.runs
        return run

    def stages(self, name: str) -> list[Stage]:
        """The stages of that name, of all processes."""
        return [stage for run in self.runs for stage in run.stages if stage.name == name]

    def text(self, stage: Stage, key: str) -> str:
        """The text that a stage carries."""
        (file,) = self.folder.glob(f"thunder_debug/*/{stage.attributes[key + semconv.PAYLOAD_PATH]}")
        return file.read_text()

    def text_in(self, run: Run, stage: Stage, key: str) -> str:
        """The same where several processes recorded."""
        return (run.folder / stage.attributes[key + semconv.PAYLOAD_PATH]).read_text()


def run_in(folder: Path, program: Path, variables: dict[str, str], *, timeout: float = 300) -> Ended:
    """Run a program in an empty folder, with no variable of ours but these; coverage would double its time."""
    ours = ("THUNDER_DEBUG", "OTEL_", "COV_", "COVERAGE_")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    command = ["sh", str(program)] if program.suffix == ".sh" else [sys.executable, "-W", "ignore", str(program)]
    environment = {**clean, "PY": sys.executable, "TORCHINDUCTOR_COMPILE_THREADS": "1", **variables}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr, folder)


@pytest.fixture(scope="session")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Ended]:
    """``ended(program, THUNDER_DEBUG="3")`` runs a program, once for each set of variables."""
    known: dict[tuple[str, ...], Ended] = {}

    def get(program: str, **variables: str) -> Ended:
        key = (program, *(f"{name}={value}" for name, value in sorted(variables.items())))
        if key not in known:
            folder = tmp_path_factory.mktemp("program")
            values = {name: value.replace("FOLDER", str(folder)) for name, value in variables.items()}
            known[key] = run_in(folder, PROGRAMS / program, values)
        return known[key]

    return get
