"""Runs Thunder's own test suite, bare and recorded, each file in processes of its own: no test may end otherwise.

    make transparency                          all files that run on a CPU
    python scripts/transparency.py --quick     those that take under a minute each, for CI
    python scripts/transparency.py test_core.py test_jit_general.py

A test that ends otherwise is run again, twice bare and once recorded: one that differs between the bare runs is flaky
by itself, and is listed with what it did. Needs `pip install -e '.[transparency]'`. Figures go to
.cache/transparency.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Some of thunder's files cannot be collected by pytest 9; `make transparency` puts the newest that can here.
PYTEST_8 = Path(sys.prefix) / "pytest8"
RESULTS = ROOT / ".cache" / "transparency.json"
# Each is said to need what a CPU machine lacks; everything else in the suite is run.
NEEDS_MORE = {
    "test_apex_cross_entropy_executor.py": "CUDA and apex",
    "test_apex_fused_norms.py": "CUDA and apex",
    "test_cudnn_executor.py": "CUDA and cuDNN's frontend",
    "test_examine_memory.py": "CUDA",
    "test_fa3_executor.py": "CUDA and flash-attention 3",
    "test_nvfuser.py": "CUDA and nvFuser",
    "test_nvfuser_remat.py": "CUDA and nvFuser",
    "test_recipes.py": "transformers, which has no place in this environment",
    "test_transformer_engine_executor.py": "CUDA and Transformer Engine",
    "test_transformer_engine_v1_executor.py": "CUDA and Transformer Engine",
    "test_triton_ce.py": "CUDA and Triton",
}
QUICK = (
    "test_check_trace.py",
    "test_extend.py",
    "test_examine.py",
    "test_inplace_copy.py",
    "test_patterns.py",
    "test_torch_compile_executor.py",
    "test_transforms.py",
    "test_update_aliases.py",
)
# What differs between two bare runs of a failing test: addresses, times, temporary folders; and our own lines.
_VARIES = re.compile(
    r"0x[0-9a-f]+|\d+(\.\d+)?(e-\d+)? ?(ms|s|seconds|milliseconds)\b|/tmp/\S+|^thunder_otel:.*\n?", re.M
)


@dataclass(frozen=True)
class Outcome:
    """How a test ended: passed, skipped, failed or missing, and the phase, type and message of what it raised."""

    word: str
    raised: str = ""

    def __str__(self) -> str:
        return f"{self.word} {self.raised}"[:200].strip().replace("\n", " ")


MISSING = Outcome("missing")
Outcomes = dict[str, Outcome]


@dataclass(frozen=True)
class Run:
    """One run of a file: how each test ended, seconds, and what went wrong with the run itself."""

    outcomes: Outcomes
    seconds: float
    problem: str = ""

    def of(self, test: str) -> Outcome:
        return self.outcomes.get(test, MISSING)


@dataclass
class Verdict:
    """What came of one file."""

    file: str
    tests: int = 0
    same: int = 0
    different: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)
    seconds: tuple[float, float] = (0.0, 0.0)
    problem: str = ""


def suite() -> Path:
    """The folder of thunder's tests, inside its wheel."""
    spec = importlib.util.find_spec("thunder")
    if spec is None or spec.origin is None:
        sys.exit("transparency: thunder is not installed")
    return Path(spec.origin).parent / "tests"


def run(file: Path, *, recorded: bool, tests: Sequence[str] = (), timeout: float) -> Run:
    """Run a file of the suite, or only the named tests of it, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))
        }
        variant = "recorded" if recorded else "bare"
        environment |= {
            "PYTHONPATH": os.pathsep.join((str(Path(__file__).parent), str(PYTEST_8))),
            "TORCHINDUCTOR_CACHE_DIR": str(Path(tempfile.gettempdir(), f"transparency-inductor-{variant}")),
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
        }
        if recorded:
            environment |= {"THUNDER_DEBUG": "3", "THUNDER_DEBUG_DIR": str(Path(folder, "debug"))}
        written = Path(folder, "outcomes.jsonl")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:thunder_otel"]
        command += ["-c", os.devnull, "--rootdir", str(file.parent)]  # none of this project's settings
        command += ["-p", "outcomes", "--outcomes", str(written), "--no-header", "-W", "ignore", "--benchmark-disable"]
        command += [f"{file}::{test}" for test in tests] or [str(file)]
        begun = time.perf_counter()
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout)
            words = (done.stdout + done.stderr)[-300:]
            problem = "" if done.returncode in (0, 1, 5) else f"pytest ended with {done.returncode}: {words}"
        except subprocess.TimeoutExpired:
            problem = f"took more than {timeout:.0f} s"
        return Run(_outcomes(written), time.perf_counter() - begun, problem)


def _outcomes(written: Path) -> Outcomes:
    found: Outcomes = {}
    for line in written.read_text().splitlines() if written.is_file() else ():
        one = json.loads(line)
        raised = f"in {one['phase']}: {one['type']}: {one['message']}" if one["word"] == "failed" else ""
        outcome = Outcome(one["word"], _VARIES.sub("#", raised))
        known = found.get(one["test"])
        if known is None or known.word == "passed":  # a teardown that fails counts, too
            found[one["test"]] = outcome
    return found


def _both(file: Path, *, tests: Sequence[str] = (), timeout: float) -> tuple[Run, Run]:
    """Bare and recorded, side by side: on two cores that takes half the time."""
    with ThreadPoolExecutor(2) as pool:
        bare, recorded = pool.map(
            lambda recorded: run(file, recorded=recorded, tests=tests, timeout=timeout), (False, True)
        )
    return bare, recorded


def compare(file: Path, *, timeout: float) -> Verdict:
    """Run a file bare and recorded; a difference is looked at once more before it counts."""
    bare, recorded = _both(file, timeout=timeout)
    verdict = Verdict(file.name, seconds=(bare.seconds, recorded.seconds))
    if bare.problem or recorded.problem:
        verdict.problem = f"bare: {bare.problem or 'fine'}; recorded: {recorded.problem or 'fine'}"
    names = list(dict.fromkeys([*bare.outcomes, *recorded.outcomes]))
    suspects = [name for name in names if bare.of(name) != recorded.of(name)]
    verdict.tests, verdict.same = len(names), len(names) - len(suspects)
    if verdict.problem or not suspects:
        verdict.different += suspects
    else:
        _look_again(verdict, file, suspects, (bare, recorded), timeout)
    return verdict


def _look_again(verdict: Verdict, file: Path, suspects: list[str], before: tuple[Run, Run], timeout: float) -> None:
    """A test that ends in two ways among three bare runs is flaky by itself; any other difference is ours."""
    bares = [before[0], *(run(file, recorded=False, tests=suspects, timeout=timeout) for _ in range(2))]
    again = run(file, recorded=True, tests=suspects, timeout=timeout)
    for name in suspects:
        bare = list(dict.fromkeys(one.of(name) for one in bares))
        if len(bare) > 1:
            verdict.flaky.append(f"{name}: bare, it ended as {' or as '.join(map(str, bare))}")
        elif MISSING not in bare and again.of(name) == bare[0]:
            verdict.flaky.append(f"{name}: recorded, it ended once as {before[1].of(name)}, then as bare: {bare[0]}")
        else:
            verdict.different.append(f"{name}: bare {bare[0]}; recorded {again.of(name)}")


def main() -> int:
    """Run what the arguments name; 1 when a test ended otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="files of the suite (default: all that run on a CPU)")
    parser.add_argument("--quick", action="store_true", help="only the quick ones")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for one run of a file")
    arguments = parser.parse_args()
    folder = suite()
    every = sorted(path.name for path in folder.glob("test_*.py") if path.name not in NEEDS_MORE)
    chosen = arguments.files or (list(QUICK) if arguments.quick else every)
    verdicts = []
    print(f"{'file':42}{'tests':>7}{'same':>7}{'flaky':>7}{'other':>7}{'bare s':>9}{'recorded s':>12}")
    for name in chosen:
        verdict = compare(folder / name, timeout=arguments.timeout)
        verdicts.append(verdict)
        counts = f"{verdict.tests:7}{verdict.same:7}{len(verdict.flaky):7}{len(verdict.different):7}"
        print(f"{name:42}{counts}{verdict.seconds[0]:9.0f}{verdict.seconds[1]:12.0f}", flush=True)
        for line in (*verdict.different[:20], *(f"flaky: {one}" for one in verdict.flaky), verdict.problem):
            if line:
                print(f"    {line[:400]}", flush=True)
    _write(verdicts)
    different = sum(len(verdict.different) for verdict in verdicts)
    flaky = sum(len(verdict.flaky) for verdict in verdicts)
    same, tests = sum(verdict.same for verdict in verdicts), sum(verdict.tests for verdict in verdicts)
    print(f"tests run {tests}, same outcome {same}, flaky {flaky}, different outcome = {different}")
    return 1 if different or any(verdict.problem for verdict in verdicts) else 0


def _write(verdicts: list[Verdict]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    RESULTS.write_text(json.dumps(known | {verdict.file: vars(verdict) for verdict in verdicts}, indent=1))


if __name__ == "__main__":
    sys.exit(main())
