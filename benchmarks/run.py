"""What recording costs, as ratios to the bare program measured in the same run.

    make bench           everything, some 25 minutes on two cores
    make bench-quick     the compile of a small GPT, a cached call and a Python start, under a minute

Prints tables and the targets that were met or missed, and writes all figures to ``.cache/bench/<UTC time>.json``.
Ends in 1 when a target was missed.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
RESULTS = HERE.parent / ".cache" / "bench"
TARGETS = {"1": 1.03, "3": 1.06}  # of the bare compile, with all text on disk
GOALS = {"1": 1.02, "3": 1.05}
CALL_TARGET = 1e-6  # seconds that a cached call may take longer
MEMORY_TARGET = 1.2  # of the text
SIZES = (2, 8, 16, 32)


@dataclass(frozen=True)
class Verdict:
    """Whether a target was met."""

    what: str
    measured: float
    target: float
    unit: str = ""

    @property
    def met(self) -> bool:
        return self.measured <= self.target


def worker(script: str, *arguments: object) -> Any:
    """Run one of the measuring scripts beside this one; what its last line of output says."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def ratios(found: dict[str, list[Any]], base: str, pick: Any = None) -> dict[str, tuple[float, float, float]]:
    """For each variant: its median, its ratio to ``base`` (median over the turns), and half the ratios' spread."""
    values = {name: [pick(item) if pick else item for item in items] for name, items in found.items()}
    result = {}
    for name, items in values.items():
        each = [item / bare for item, bare in zip(items, values[base], strict=True)]
        result[name] = (statistics.median(items), statistics.median(each), (max(each) - min(each)) / 2)
    return result


def compile_times(console: Console, sizes: tuple[int, ...], quick: bool) -> tuple[dict[str, Any], list[Verdict]]:
    """Compile time by size of the model and level."""
    table = Table(
        "blocks", "level", "CPU s", "ratio", "±", "spans", "text MB", "disk MB", title="Compile, eager executors"
    )
    figures, verdicts = {}, []
    for blocks in sizes:
        levels = ["0", "1", "3"] if quick or blocks > 8 else ["0", "1", "2", "3", "4", "text"]
        rounds = 3 if quick else {2: 9, 8: 5, 16: 3, 32: 2}[blocks]
        found = worker("compile_time.py", "--blocks", blocks, "--rounds", rounds, "--levels", *levels)
        figures[str(blocks)] = found
        for level, (seconds, ratio, spread) in ratios(found, "0", lambda item: item["seconds"]).items():
            last = found[level][-1]
            sizes_of = [f"{last[key] / 1e6:.1f}" for key in ("text_bytes", "disk_bytes")]
            row = [str(blocks), level, f"{seconds:.2f}", f"{ratio:.3f}", f"{spread:.3f}", str(last["spans"]), *sizes_of]
            table.add_row(*row)
            if level in TARGETS:
                verdicts.append(Verdict(f"compile of {blocks} blocks at level {level}", ratio, TARGETS[level]))
    console.print(table)
    if len(sizes) > 1:
        verdicts.append(_linearity(figures))
    return figures, verdicts


def _linearity(figures: dict[str, Any]) -> Verdict:
    """What recording adds for each block, in the biggest model against the smallest that is not tiny."""

    def added(blocks: str) -> float:
        seconds = {level: statistics.median(item["seconds"] for item in figures[blocks][level]) for level in ("0", "3")}
        return (seconds["3"] - seconds["0"]) / int(blocks)

    sizes = sorted(figures, key=int)
    return Verdict(f"cost of a block, {sizes[-1]} blocks to {sizes[1]}", added(sizes[-1]) / added(sizes[1]), 1.5)


def cached_call(console: Console) -> tuple[dict[str, Any], list[Verdict]]:
    """A call of a function that is compiled already."""
    found = worker("call_overhead.py", "--json")
    table = Table("variant", "ns a call", title="A cached call")
    for name, seconds in found.items():
        table.add_row(name, f"{seconds * 1e9:.0f}")
    console.print(table)
    added = found["level 1"] - found["bare"]
    return found, [Verdict("a cached call at level 1, more than bare", added * 1e6, CALL_TARGET * 1e6, "us")]


def startup(console: Console, quick: bool) -> dict[str, Any]:
    """A Python start and ``import thunder``."""
    found = worker("startup.py", *(("--rounds", 8, "--imports", 1) if quick else ()))
    table = Table("start", "CPU ms", title="Start-up")
    for name, seconds in found.items():
        table.add_row(name, f"{statistics.median(seconds) * 1e3:.2f}")
    console.print(table)
    return found


def memory(console: Console) -> tuple[dict[str, Any], list[Verdict]]:
    """Peak memory of the process, for a model of 8 blocks."""
    found = {level: worker("memory.py", "--blocks", 8, "--level", level) for level in ("0", "1", "3")}
    table = Table("level", "peak MB", "more than bare MB", "text MB", title="Peak memory, 8 blocks")
    for level, item in found.items():
        more = (item["peak"] - found["0"]["peak"]) / 1e6
        table.add_row(level, f"{item['peak'] / 1e6:.0f}", f"{more:.1f}", f"{item['text_bytes'] / 1e6:.1f}")
    console.print(table)
    ratio = (found["3"]["peak"] - found["0"]["peak"]) / found["3"]["text_bytes"]
    return found, [Verdict("memory at level 3, times the text", ratio, MEMORY_TARGET)]


def exporters(console: Console) -> dict[str, Any]:
    """Spans and megabytes a second for each exporter."""
    found = worker("exporters.py")
    table = Table(
        "exporter", "spans/s", "MB/s", "MB/s delivered", title="Exporters: 50 kB a span, as the compile sees them"
    )
    for name, item in found.items():
        spans, megabytes = item["spans"] / item["seconds"], item["megabytes"] / item["seconds"]
        table.add_row(name, f"{spans:,.0f}", f"{megabytes:.0f}", f"{item['megabytes'] / item['delivered']:.0f}")
    console.print(table)
    return found


def peers(console: Console) -> dict[str, Any]:
    """What other tools cost on the same model under torch.compile."""
    found = worker("peers.py", "--blocks", 2, "--rounds", 2)
    table = Table("peer", "CPU s", "ratio to torch.compile", "±", title="Peers on the same model, 2 blocks, caches off")
    for name, (seconds, ratio, spread) in ratios(found, "torch.compile").items():
        table.add_row(name, f"{seconds:.1f}", f"{ratio:.3f}", f"{spread:.3f}")
    console.print(table)
    return found


def main() -> int:
    """Measure, print, write; 1 when a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only what takes under a minute")
    quick = parser.parse_args().quick
    console = Console()
    figures: dict[str, Any] = {"machine": _machine()}
    figures["compile"], verdicts = compile_times(console, (1,) if quick else SIZES, quick)
    figures["call"], more = cached_call(console)
    verdicts += more
    figures["startup"] = startup(console, quick)
    if not quick:
        figures["memory"], more = memory(console)
        verdicts += more
        figures["exporters"], figures["peers"] = exporters(console), peers(console)
    table = Table("target", "measured", "at most", "", title="Targets")
    for verdict in verdicts:
        word = "met" if verdict.met else "MISSED"
        table.add_row(
            verdict.what, f"{verdict.measured:.3f} {verdict.unit}", f"{verdict.target:g} {verdict.unit}", word
        )
    console.print(table)
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.json"
    path.write_text(json.dumps(figures, indent=1))
    console.print(f"all figures: {path.relative_to(HERE.parent)}")
    return 0 if all(verdict.met for verdict in verdicts) else 1


def _machine() -> dict[str, str]:
    packages = ("thunder-otel", "lightning-thunder", "torch", "opentelemetry-sdk")
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


if __name__ == "__main__":
    sys.exit(main())
