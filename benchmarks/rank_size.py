"""What one rank records and sends: spans, text, bytes on disk and on the wire; docs/scale.md multiplies them.

    python benchmarks/rank_size.py --blocks 24

Compiles a GPT forward and backward in a process of its own, at each level, with files and OTLP over HTTP (gzip) to a
receiver in this process that counts the bodies as they came. Prints a table; the last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "exporters"))
PROGRAM = """
import sys, warnings
warnings.filterwarnings("ignore")
sys.path.insert(0, sys.argv[1])
from _model import gpt, tokens
import thunder
from thunder.executors.torch_compile import torch_compile_ex
jitted = thunder.jit(gpt(int(sys.argv[2])), executors=[torch_compile_ex])
jitted(tokens()).sum().backward()
"""


def measure(level: int, blocks: int) -> dict[str, Any]:
    """One compile, recorded and sent."""
    from receivers import http_receiver

    clean = {key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))}
    with tempfile.TemporaryDirectory() as folder, http_receiver() as receiver:
        environment = {
            **clean,
            "THUNDER_DEBUG": str(level),
            "THUNDER_DEBUG_EXIT_TIMEOUT": "120",
            "OTEL_TRACES_EXPORTER": "thunder_files,otlp",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
        }
        command = [sys.executable, "-c", PROGRAM, str(HERE), str(blocks)]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        (run,) = Path(folder, "thunder_debug").iterdir()
        files = [path for path in run.rglob("*") if path.is_file()]
        return {
            "level": level,
            "spans": len(receiver.span_ids),
            "text": sum(path.stat().st_size for path in files if path.parent != run),
            "disk": sum(path.stat().st_size for path in files),
            "wire": sum(int(headers["Content-Length"]) for headers in receiver.headers),
            "unpacked": sum(receiver.sizes),
            "requests": len(receiver.sizes),
        }


def main() -> None:
    """Measure and print."""
    from rich.console import Console
    from rich.table import Table

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=24)
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()
    rows = [measure(level, arguments.blocks) for level in arguments.levels]
    table = Table(title=f"One rank, a GPT with {arguments.blocks} blocks")
    for name in ("level", "spans", "text MB", "disk MB", "sent, gzip MB", "sent, unpacked MB", "requests"):
        table.add_column(name)
    for row in rows:
        sizes = (f"{row[key] / 1e6:.2f}" for key in ("text", "disk", "wire", "unpacked"))
        table.add_row(str(row["level"]), str(row["spans"]), *sizes, str(row["requests"]))
    Console(width=120).print(table)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
