"""How fast ``thunder-otel report`` writes, and how much memory that takes, beside ``tlparse`` on a log of like size.

    python benchmarks/report_speed.py --megabytes 100

A real compile of a GPT is recorded, by us and by ``TORCH_TRACE``; both recordings are then made larger by copies that
differ in their variables' numbers (ours) and in their compiles' ids (torch's). tlparse is left out when it is not
installed (``pip install tlparse``). Prints a table; the last line is JSON. Ends in 1 when the target was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TARGET = 50.0  # MB of artefacts a second
COMPILE = """
import sys, warnings
warnings.filterwarnings("ignore")
sys.path.insert(0, sys.argv[1])
from _model import gpt, tokens
import thunder, torch
from thunder.executors.torch_compile import torch_compile_ex
model = gpt(2)
jitted = thunder.jit(model, executors=[torch_compile_ex]) if sys.argv[2] == "thunder" else torch.compile(model)
jitted(tokens()).sum().backward()
"""


def record(what: str, folder: Path, **variables: str) -> None:
    """Compile the model once in a process of its own, with these variables set."""
    folder.mkdir()
    command = [sys.executable, "-c", COMPILE, str(HERE), what]
    subprocess.run(command, cwd=folder, env={**os.environ, **variables}, check=True, capture_output=True)


def grown_run(run: Path, target: Path, size: int) -> int:
    """Write a run folder of at least ``size`` bytes of text: copies of a run. Returns the bytes of its largest text."""
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    texts = {payload["path"]: (run / payload["path"]).read_bytes() for event in events for payload in _payloads(event)}
    target.mkdir()
    shutil.copy(run / "run.json", target)
    whole = sum(map(len, texts.values()))
    with (target / "events.jsonl").open("w") as lines:
        for copy in range(size // whole + 1):
            for path, data in texts.items():
                file = target / str(copy) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(re.sub(rb"\bt(?=\d)", b"t%d" % (copy + 1), data))
            for event in events:
                lines.write(json.dumps(_as_copy(event, copy)) + "\n")
    return max(map(len, texts.values()))


def _payloads(event: dict[str, Any]) -> list[dict[str, Any]]:
    return event.get("payloads") or []


def _as_copy(event: dict[str, Any], copy: int) -> dict[str, Any]:
    payloads = [
        {**payload, "path": f"{copy}/{payload['path']}", "sha256": f"{copy:08x}{payload['sha256'][8:]}"}
        for payload in _payloads(event)
    ]
    ids = {key: f"{copy:06x}{event[key][6:]}" if event[key] else "" for key in ("span_id", "parent_id")}
    return {**event, **ids, **({"payloads": payloads} if payloads else {})}


def grown_log(log: Path, target: Path, size: int) -> None:
    """Write one of torch's structured logs of at least ``size`` bytes: copies of a log, as compiles of other frames."""
    data = log.read_bytes()
    frames = 1 + max(int(found) for found in re.findall(rb'"frame_id": (\d+)', data))
    with target.open("wb") as file:
        for copy in range(size // len(data) + 1):
            shift = copy * frames
            file.write(re.sub(rb'(?<="frame_id": )\d+', lambda found, by=shift: b"%d" % (int(found[0]) + by), data))


def write_report(run: str, out: str) -> None:
    """Read a run folder and write its report, in this process; prints seconds and bytes of memory as JSON."""
    from thunder_otel.report._reader import read_runs
    from thunder_otel.report.html import write_report as write

    start = time.perf_counter()
    runs = read_runs(Path(run))
    read = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    written = write(runs, Path(out))
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    figures = {"read_s": read - start, "write_s": end - read, "memory": peak - before, "peak": peak}
    print(json.dumps({**figures, "bytes": written.text_bytes, "file": written.size}))


def timed(command: list[str]) -> tuple[float, int]:
    """Seconds that a command takes and bytes of memory at its peak."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{errors.decode()}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def measure_ours(folder: Path, size: int) -> dict[str, Any]:
    """Our report of ``size`` bytes of artefacts."""
    record("thunder", folder / "ours", THUNDER_DEBUG="nvfuser_code")
    (run,) = (folder / "ours" / "thunder_debug").iterdir()
    largest = grown_run(run, folder / "run", size)
    command = [sys.executable, __file__, "--write", str(folder / "run"), str(folder / "report.html")]
    rounds = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(3)]
    best = min(rounds, key=lambda figures: figures["write_s"])
    return {**best, "largest": largest, "speed": best["bytes"] / 1e6 / best["write_s"]}


def measure_tlparse(folder: Path, size: int) -> dict[str, Any] | None:
    """tlparse's report of a log of ``size`` bytes; ``None`` when it is not installed."""
    tlparse = shutil.which("tlparse", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if tlparse is None:
        return None
    record("torch", folder / "theirs", TORCH_TRACE=str(folder / "theirs" / "log"))
    (log,) = (folder / "theirs" / "log").iterdir()
    grown_log(log, folder / "torch.log", size)
    out = folder / "tlparse"
    rounds = [
        timed([tlparse, str(folder / "torch.log"), "-o", str(out), "--overwrite", "--no-browser"]) for _ in range(3)
    ]
    seconds, memory = min(rounds)
    files = [path for path in out.rglob("*") if path.is_file()]
    bytes_ = (folder / "torch.log").stat().st_size
    made = {"files": len(files), "file": sum(path.stat().st_size for path in files)}
    return {"write_s": seconds, "peak": memory, "bytes": bytes_, "speed": bytes_ / 1e6 / seconds, **made}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--write", nargs=2, metavar=("RUN", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        return write_report(*arguments.write)
    with tempfile.TemporaryDirectory() as name:
        ours = measure_ours(Path(name), arguments.megabytes * 1_000_000)
        theirs = measure_tlparse(Path(name), arguments.megabytes * 1_000_000)
    print(
        f"thunder-otel report  {ours['bytes'] / 1e6:6.1f} MB of texts in {ours['write_s']:5.2f} s:"
        f" {ours['speed']:5.0f} MB/s"
        f" (reading the events {ours['read_s']:.2f} s); one file of {ours['file'] / 1e6:.1f} MB;"
        f" peak {ours['peak'] / 1e6:.0f} MB, of it writing {ours['memory'] / 1e6:.1f} MB"
        f" (the largest text is {ours['largest'] / 1e6:.2f} MB)"
    )
    if theirs is not None:
        print(
            f"tlparse              {theirs['bytes'] / 1e6:6.1f} MB of log   in {theirs['write_s']:5.2f} s:"
            f" {theirs['speed']:5.0f} MB/s; {theirs['files']} files of {theirs['file'] / 1e6:.1f} MB;"
            f" peak {theirs['peak'] / 1e6:.0f} MB"
        )
    print(json.dumps({"report": ours, "tlparse": theirs, "target": TARGET, "met": ours["speed"] >= TARGET}))
    sys.exit(ours["speed"] < TARGET)


if __name__ == "__main__":
    main()
