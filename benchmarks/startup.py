"""What a Python start and ``import thunder`` take, with ``THUNDER_DEBUG`` unset and set, in turn.

    python benchmarks/startup.py --rounds 20

Prints JSON: seconds of CPU time for each variant and round, and of one run of the ``.pth`` line with nothing set.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import timeit
from importlib.metadata import files

START, IMPORT = "pass", "import warnings; warnings.simplefilter('ignore'); import thunder"
PTH_LINE = "the .pth line, unset"
VARIANTS: dict[str, tuple[str, dict[str, str]]] = {
    "python, unset": (START, {}),
    "python, level 3": (START, {"THUNDER_DEBUG": "3"}),
    "import thunder, unset": (IMPORT, {}),
    "import thunder, level 3": (IMPORT, {"THUNDER_DEBUG": "3"}),
}


def measure(rounds: int, *, imports: int) -> dict[str, list[float]]:
    """All variants in turn; those that import thunder ``imports`` times, the others ``rounds`` times."""
    found: dict[str, list[float]] = {name: [] for name in VARIANTS}
    bare = {key: value for key, value in os.environ.items() if key != "THUNDER_DEBUG"}
    for turn in range(rounds):
        for name, (code, variables) in VARIANTS.items():
            if code is START or turn < imports:
                before = _children()
                subprocess.run([sys.executable, "-c", code], env={**bare, **variables}, check=True)
                found[name].append(_children() - before)
    return {PTH_LINE: _pth_line(rounds), **found}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _pth_line(rounds: int) -> list[float]:
    os.environ.pop("THUNDER_DEBUG", None)
    path = next(file for file in files("thunder-otel") or () if file.name == "thunder_otel.pth")
    line = path.read_text()
    return [timeit.timeit(lambda: exec(line), number=100) / 100 for _ in range(rounds)]


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--imports", type=int, default=5)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.rounds, imports=arguments.imports)))


if __name__ == "__main__":
    main()
