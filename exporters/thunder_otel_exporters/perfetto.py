"""A run as a trace file that Perfetto and ``chrome://tracing`` open, beside what ``torch.profiler`` exports.

The format is Chrome's JSON trace events: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
Times are microseconds since the epoch, like those of ``torch.profiler``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from thunder_otel.report._reader import Run, Stage

LONGEST = 2000  # characters of an attribute's value


def write(runs: Iterable[Run], path: Path) -> int:
    """Write the stages of some runs, each run a process of the trace.

    Args:
        runs: what was read from run folders.
        path: the file to write.

    Returns:
        How many stages were written.

    Raises:
        OSError: the file cannot be written.
    """
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
        for position, event in enumerate(_events(runs)):
            file.write((",\n" if position else "") + json.dumps(event, ensure_ascii=False, default=str))
            count += event["ph"] in "XB"
        file.write("\n]}\n")
    return count


def _events(runs: Iterable[Run]) -> Iterator[dict[str, Any]]:
    for number, run in enumerate(runs):
        pid = int(run.info.get("pid") or number)
        name = "thunder" if run.rank is None else f"thunder, rank {run.rank}"
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        threads: dict[str, int] = {}
        for stage in run.stages:
            if stage.thread not in threads:
                tid = threads[stage.thread] = len(threads) + 1
                yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": stage.thread}}
            yield _stage(stage, pid, threads[stage.thread])


def _stage(stage: Stage, pid: int, tid: int) -> dict[str, Any]:
    event: dict[str, Any] = {
        "name": stage.name.strip(),
        "cat": "thunder",
        "pid": pid,
        "tid": tid,
        "ts": stage.start_ns / 1000,
        "args": {key: _short(value) for key, value in stage.attributes.items()},
    }
    if stage.end_ns is None:
        return event | {"ph": "B"}  # never ended: drawn to the end of the trace
    if stage.error is not None:
        event["args"]["error"] = f"{stage.error.type}: {stage.error.message}"
    return event | {"ph": "X", "dur": (stage.end_ns - stage.start_ns) / 1000}


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(text) <= LONGEST:
        return value
    return f"{text[:LONGEST]}... ({len(text)} characters)"
