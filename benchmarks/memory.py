"""Peak memory of a process that compiles a GPT, at one level.

    python benchmarks/memory.py --blocks 8 --level 1

Prints JSON: bytes before and at the peak, and the bytes of text that the compile showed.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import warnings
from pathlib import Path

from compile_time import compile_once


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--level", default="0")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as folder:
        compile_once(1, "0", Path(folder))
        before = _peak()
        written = compile_once(arguments.blocks, arguments.level, Path(folder))
    print(json.dumps({"before": before, "peak": _peak(), "text_bytes": written["text_bytes"]}))


if __name__ == "__main__":
    main()
