"""Runs Thunder's own test suite, bare and recorded, each file in processes of its own: no test may end otherwise.

    make transparency                          all files that run on a CPU
    python scripts/transparency.py --quick     those that take under a minute each, for CI
    python scripts/transparency.py test_core.py test_jit_general.py

A test that ends otherwise is run again, twice bare and once recorded: one that differs between the bare runs is flaky
by itself, and is listed as such. Needs `pip install -e '.[transparency]'`. Figures go to .cache/transparency.json.
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
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
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
# What differs from run to run in a failure's words: addresses, times, counters, temporary folders, our own line.
_VARIES = re.compile(
    r"0x[0-9a-f]+|\d+(\.\d+)? ?(ms|s|seconds|milliseconds)\b|/tmp/\S+|\b[a-z]+_?\d+\b|^thunder_otel:.*$", re.M
)


@dataclass(frozen=True)
class Outcome:
    """How a test ended: passed, skipped, failed or error, and the type and words of what it raised."""

    word: str
    raised: str = ""


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


def run(file: Path, *, recorded: bool, tests: list[str], timeout: float) -> tuple[dict[str, Outcome], float, str]:
    """Run a file of the suite; outcome by test, seconds, and what went wrong with the run itself."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))
        }
        environment |= {"TORCHINDUCTOR_CACHE_DIR": str(Path(tempfile.gettempdir(), "transparency-inductor"))}
        if recorded:
            environment |= {"THUNDER_DEBUG": "3", "THUNDER_DEBUG_DIR": str(Path(folder, "debug"))}
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:thunder_otel"]
        command += [
            "--no-header",
            "-W",
            "ignore",
            "--benchmark-disable",
            f"--junitxml={report}",
            "-o",
            "junit_family=xunit1",
        ]
        command += [f"{file}::{test}" for test in tests] or [str(file)]
        begun = time.perf_counter()
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout)
            problem = (
                "" if done.returncode in (0, 1, 5) else f"pytest ended with {done.returncode}: {done.stdout[-300:]}"
            )
        except subprocess.TimeoutExpired:
            problem = f"took more than {timeout:.0f} s"
        return _outcomes(report), time.perf_counter() - begun, problem


def _outcomes(report: Path) -> dict[str, Outcome]:
    if not report.is_file():
        return {}
    found: dict[str, Outcome] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        child = next((one for one in case if one.tag in ("failure", "error", "skipped")), None)
        words = "" if child is None or child.tag == "skipped" else _VARIES.sub("#", child.get("message") or "")
        name = f"{case.get('classname', '').rpartition('tests.')[2]}::{case.get('name')}"
        found[name] = Outcome("passed" if child is None else child.tag, words)
    return found


def compare(file: Path, *, timeout: float) -> Verdict:
    """Run a file bare and recorded; a difference is looked at once more before it counts."""
    verdict = Verdict(file.name)
    bare, bare_seconds, problem = run(file, recorded=False, tests=[], timeout=timeout)
    watched, watched_seconds, watched_problem = run(file, recorded=True, tests=[], timeout=timeout)
    verdict.seconds = (bare_seconds, watched_seconds)
    if problem or watched_problem:
        verdict.problem = f"bare: {problem or 'fine'}; recorded: {watched_problem or 'fine'}"
    names = sorted(bare.keys() | watched.keys())
    suspects = [name for name in names if bare.get(name) != watched.get(name)]
    verdict.tests, verdict.same = len(names), len(names) - len(suspects)
    if suspects and not verdict.problem:
        _look_again(verdict, file, suspects, timeout)
    else:
        verdict.different += suspects
    return verdict


def _look_again(verdict: Verdict, file: Path, suspects: list[str], timeout: float) -> None:
    tests = [name.rpartition("::")[2] for name in suspects]
    first, second = (run(file, recorded=False, tests=tests, timeout=timeout)[0] for _ in range(2))
    watched = run(file, recorded=True, tests=tests, timeout=timeout)[0]
    for name in suspects:
        if first.get(name) == second.get(name) == watched.get(name):
            verdict.same += 1
        elif first.get(name) != second.get(name):
            verdict.flaky.append(name)
        else:
            verdict.different.append(f"{name}: bare {first.get(name)}, recorded {watched.get(name)}")


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
        for line in (*verdict.different[:20], *(f"flaky by itself: {name}" for name in verdict.flaky), verdict.problem):
            if line:
                print(f"    {line[:400]}", flush=True)
    _write(verdicts)
    different = sum(len(verdict.different) for verdict in verdicts)
    flaky = sum(len(verdict.flaky) for verdict in verdicts)
    same, tests = sum(verdict.same for verdict in verdicts), sum(verdict.tests for verdict in verdicts)
    print(f"tests run {tests}, same outcome {same}, flaky by themselves {flaky}, different outcome = {different}")
    return 1 if different or any(verdict.problem for verdict in verdicts) else 0


def _write(verdicts: list[Verdict]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    RESULTS.write_text(json.dumps(known | {verdict.file: vars(verdict) for verdict in verdicts}, indent=1))


if __name__ == "__main__":
    sys.exit(main())
