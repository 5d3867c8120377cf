"""What recording adds to a compile: thunder's own first call of a GPT, at each level, in turn, in one process.

    python benchmarks/compile_time.py --blocks 2 --levels 0 1 3 --rounds 3

Prints JSON: seconds of CPU time for each level and round, spans and bytes on disk. Level 0 is the bare program; the
level ``text`` is thunder alone, with every trace of ``last_traces`` printed to a file by hand.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import thunder
from _model import gpt, tokens

from thunder_otel import instrumentor
from thunder_otel.settings import read_settings

BY_HAND = "text"


def compile_once(blocks: int, level: str, folder: Path) -> dict[str, Any]:
    """Compile a fresh model, forward and backward; seconds of CPU time of this process, and what was written."""
    os.environ["THUNDER_DEBUG_DIR"] = str(folder)
    recorded = level not in ("0", BY_HAND)
    if recorded:
        instrumentor.switch_on(read_settings(level=level))
    try:
        jitted, inputs = thunder.jit(gpt(blocks)), tokens()
        gc.collect()
        start = time.process_time()
        jitted(inputs)
        if level == BY_HAND:
            _print_by_hand(jitted, folder)
        seconds = time.process_time() - start
    finally:
        instrumentor.uninstrument()
    return {"seconds": seconds, **_written(folder)}


def _print_by_hand(jitted: Any, folder: Path) -> None:
    traces = [
        *thunder.last_prologue_traces(jitted),
        *thunder.last_traces(jitted),
        *thunder.last_backward_traces(jitted),
    ]
    for position, trace in enumerate(traces):
        (folder / f"{position:03d}.py").write_text(str(trace))


def _written(folder: Path) -> dict[str, int]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    events = [path for path in files if path.name == "events.jsonl"]
    raw = 0  # every text that a stage showed, also those that are kept once for several stages
    for path in events:
        for line in path.read_text().splitlines():
            raw += sum(payload["size"] for payload in json.loads(line).get("payloads", ()))
    spans = sum(len(path.read_text().splitlines()) for path in files if path.name == "spans.jsonl")
    return {"disk_bytes": sum(path.stat().st_size for path in files), "text_bytes": raw, "spans": spans}


def measure(blocks: int, levels: list[str], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """All levels, ``rounds`` times in turn, after one compile that warms everything up."""
    found: dict[str, list[dict[str, Any]]] = {level: [] for level in levels}
    with tempfile.TemporaryDirectory() as base:
        _new(base, "warm-up")
        compile_once(1, "0", Path(base, "warm-up"))
        for turn in range(rounds):
            for level in levels:
                found[level].append(compile_once(blocks, level, _new(base, f"{turn}-{level}")))
    return found


def _new(base: str, name: str) -> Path:
    folder = Path(base, name)
    folder.mkdir()
    return folder


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--levels", nargs="+", default=["0", "1", "3"])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(json.dumps(measure(arguments.blocks, arguments.levels, arguments.rounds)))


if __name__ == "__main__":
    main()
