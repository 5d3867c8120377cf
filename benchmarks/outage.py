"""What a collector that is gone, deaf or restarted costs a program, and what `thunder-otel resend` delivers after it.

    python benchmarks/outage.py
    python benchmarks/outage.py --rounds 5 --compiles 6

A program compiles models for some seconds at level 1, with files and OTLP over gRPC. In turn: no OTLP exporter, a
collector that is there, one that refuses connections, one that takes them and says nothing (black-holed), one that
stops in mid-run and comes back. For each: the median time of the program's body and of its exit, the first as a ratio
to no exporter. Then `resend` delivers what is left: nothing may be missing and nothing doubled. Prints a table, the
last line is JSON; ends in 1 when a target was missed. The receiver runs in this process, beside the program.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "exporters"))

RATIO, EXIT = 1.02, 5.0  # the targets: the body's time against no exporter; seconds more at exit
VARIANTS = ("no exporter", "there", "absent", "black-holed", "restarted")
PROGRAM = """
import sys, time, warnings
warnings.filterwarnings("ignore")
sys.path.insert(0, sys.argv[1])
from _model import gpt, tokens
import thunder
thunder.jit(gpt(1))(tokens())
wall, cpu = time.perf_counter(), time.process_time()
for number in range(int(sys.argv[2])):
    thunder.jit(gpt(2))(tokens()).sum().backward()
    print(number, flush=True)
print("BODY", time.perf_counter() - wall, time.process_time() - cpu, time.time(), flush=True)
"""


@dataclass(frozen=True)
class Measured:
    """Seconds of one run, and its spans: on disk, arrived during the run and after `resend`, doubled and missing."""

    body: float
    cpu: float
    exit: float
    spans: int = 0
    arrived: int = 0
    missing: int = 0
    doubled: int = 0


@contextmanager
def _collector(variant: str) -> Iterator[tuple[int, list[Any], threading.Event]]:
    """The port, the receivers that were open there, and the event that stops the first one for two seconds."""
    from receivers import grpc_receiver

    received: list[Any] = []
    stop, done = threading.Event(), threading.Event()
    with ExitStack() as stack:
        if variant in ("absent", "no exporter"):
            yield _free_port(), received, stop
            return
        if variant == "black-holed":
            deaf = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100))
            yield deaf.getsockname()[1], received, stop
            return
        first = ExitStack()
        received.append(first.enter_context(grpc_receiver(port=(port := _free_port()))))

        def restart() -> None:
            stop.wait()
            first.close()
            if not done.is_set():
                time.sleep(2)
                received.append(stack.enter_context(grpc_receiver(port=port)))

        thread = threading.Thread(target=restart)
        thread.start()
        yield port, received, stop
        done.set()
        stop.set()
        thread.join()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def measure(variant: str, compiles: int) -> Measured:
    """Run the program once."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))}
    with tempfile.TemporaryDirectory() as folder, _collector(variant) as (port, received, stop):
        environment = {**clean, "THUNDER_DEBUG": "trace", "OMP_NUM_THREADS": "1"}
        if variant != "no exporter":
            environment |= _otlp(port)
        command = [sys.executable, "-c", PROGRAM, str(HERE), str(compiles)]
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            words: list[str] = []
            for line in process.stdout or ():
                words = line.split()
                if variant == "restarted" and words == [str(compiles // 2 - 1)]:
                    stop.set()
        ended = time.time()
        if process.returncode:
            sys.exit(f"outage: the program ended with {process.returncode}")
        body, cpu, said = map(float, words[1:])
        measured = Measured(body, cpu, ended - said)
        if variant == "no exporter":
            return measured
        return _delivered(measured, Path(folder), received)


def _otlp(port: int) -> dict[str, str]:
    return {
        "OTEL_TRACES_EXPORTER": "thunder_files,otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
    }


def _delivered(measured: Measured, folder: Path, received: list[Any]) -> Measured:
    """Resend to a receiver that works, and count."""
    from receivers import grpc_receiver

    (run,) = (folder / "thunder_debug").iterdir()
    sent = [
        span["spanId"]
        for line in (run / "spans.jsonl").read_text().splitlines()
        for entry in json.loads(line)["resourceSpans"]
        for span in entry["scopeSpans"][0]["spans"]
    ]
    arrived = [span for one in received for span in one.span_ids]
    with grpc_receiver() as after:
        variables = {**os.environ, **_otlp(int(after.endpoint.rpartition(":")[2]))}
        command = [sys.executable, "-c", "from thunder_otel.cli import main; main()", "resend", str(run)]
        subprocess.run(command, env=variables, check=True, capture_output=True)
        found = Counter(arrived + after.span_ids)
    return Measured(
        measured.body,
        measured.cpu,
        measured.exit,
        spans=len(sent),
        arrived=len(arrived),
        missing=len(set(sent) - set(found)),
        doubled=sum(count - 1 for count in found.values()),
    )


def main() -> int:
    """Measure and print; 1 when a target was missed."""
    from rich.console import Console
    from rich.table import Table

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compiles", type=int, default=4, help="of a GPT with two blocks, in each run")
    arguments = parser.parse_args()
    runs: dict[str, list[Measured]] = {variant: [] for variant in VARIANTS}
    for _ in range(arguments.rounds):
        for variant in VARIANTS:
            runs[variant].append(measure(variant, arguments.compiles))
    bare = runs["no exporter"]
    columns = ("collector", "body s", "ratio", "CPU ratio", "exit s", "spans", "arrived", "missing", "doubled")
    table = Table(*columns, title="What a collector's outage costs")
    rows, good = {}, True
    for variant, all_runs in runs.items():
        ratio, cpu = (
            statistics.median(
                getattr(one, name) / getattr(base, name) for one, base in zip(all_runs, bare, strict=True)
            )
            for name in ("body", "cpu")
        )
        body = statistics.median(one.body for one in all_runs)
        leave = statistics.median(one.exit for one in all_runs)
        counts = [sum(getattr(one, name) for one in all_runs) for name in ("spans", "arrived", "missing", "doubled")]
        table.add_row(variant, f"{body:.2f}", f"{ratio:.3f}", f"{cpu:.3f}", f"{leave:.2f}", *map(str, counts))
        rows[variant] = {"body": body, "ratio": ratio, "cpu_ratio": cpu, "exit": leave, "counts": counts}
        more = leave - statistics.median(one.exit for one in bare)
        good = good and ratio <= RATIO and more <= EXIT and counts[2] == counts[3] == 0
    Console(width=120).print(table)
    print(json.dumps(rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
