"""Kills a compiling process at random moments; `recover` must always name what was open and lose nothing finished.

    python scripts/kills.py --kills 200

Each victim is forked from a process that has imported everything, compiles small models in a loop, and gets SIGKILL
after a random time. Prints what was found, and ends in 1 when a folder could not be recovered.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

LONGEST = 2.0  # seconds until the kill, after recording began


def victim(folder: Path) -> None:
    """Compile for ever."""
    import thunder
    import torch

    import thunder_otel

    os.environ["THUNDER_DEBUG_DIR"] = str(folder)
    thunder_otel.instrument(level="trace")
    number = 0
    while True:
        number += 1
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.Linear(4, number % 7 + 1))
        thunder.jit(model)(torch.ones(2, 4)).sum().backward()


def kill_one(folder: Path, seconds: float) -> Path | None:
    """Fork a victim, kill it ``seconds`` after its run folder appeared; the run folder."""
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        victim(folder)
    deadline = time.monotonic() + 60
    while not list(folder.glob("*/events.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return next((path.parent for path in folder.glob("*/events.jsonl")), None)


def check(folder: Path) -> tuple[str, str]:
    """What is wrong with a killed run after ``recover`` (empty: nothing), and the stage that it names."""
    from thunder_otel_exporters._otlp_json_reader import read_spans
    from thunder_otel_exporters._otlp_logs import span_id
    from thunder_otel_exporters.recover import recover

    from thunder_otel import semconv

    found = recover(folder)
    started, ended = set(), set()
    for line in (folder / "events.jsonl").read_bytes().splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        (ended if event["event"] == semconv.EVENT_END else started).add(event["span_id"])
    spans: Counter[str] = Counter()
    for name in ("spans.jsonl", "recovered.jsonl"):
        path = folder / name
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                spans.update(map(span_id, read_spans(line)))
            except ValueError:
                continue  # the line that the kill cut
    if len(found.open_stages) != len(started - ended):
        return f"{len(started - ended)} stages were open, {len(found.open_stages)} were named", ""
    if spans.keys() != started | ended or max(spans.values(), default=1) > 1:
        return f"{len((started | ended) - spans.keys())} stages have no span, {max(spans.values())} is the most", ""
    return "", found.open_stages[-1].name if found.open_stages else "between two compiles"


def main() -> int:
    """Kill and check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    import thunder  # noqa: F401 - imported here once, for all victims

    numbers = random.Random(arguments.seed)
    named: Counter[str] = Counter()
    wrong = []
    for number in range(arguments.kills):
        with tempfile.TemporaryDirectory() as base:
            folder = kill_one(Path(base), numbers.uniform(0, LONGEST))
            problem, stage = ("no run folder", "") if folder is None else check(folder)
        named[stage] += not problem
        wrong += [f"kill {number}: {problem}"] if problem else []
    for line in wrong:
        print(line)
    for stage, count in named.most_common():
        print(f"{count:5}  {stage}")
    print(f"{arguments.kills} kills, {arguments.kills - len(wrong)} recovered, {len(wrong)} not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
