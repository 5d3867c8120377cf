"""What recording adds to a call of a function that is compiled already, all variants in turn in one process.

    python benchmarks/call_overhead.py [--json] [--rounds 200] [--calls 200]

``bare`` is called with recording off; ``before the import`` was compiled before thunder_otel was imported. Functions
that are the same differ by half a microsecond, for where they lie in memory: so each variant has several, made in turn
with those of the others, and takes them in turn; the order of the variants is drawn for each round. Prints for each
variant the median over the rounds, and the median of its difference to ``bare`` in the same round; with ``--json``,
seconds a call by variant.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

import thunder  # noqa: E402 - thunder's import warns
import torch  # noqa: E402

WARM_UP = 50
FUNCTIONS = 10  # of each variant

Scope = Callable[[], AbstractContextManager[Any]]


def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Small, so that what is measured is the call and not the work."""
    return torch.sin(x) + y


def variants(folder: Path) -> dict[str, tuple[list[Callable[..., Any]], Scope]]:
    """What is called, and the state of recording while it is called."""
    arguments = torch.ones(2), torch.ones(2)

    def compiled() -> Callable[..., Any]:
        jitted = thunder.jit(program)
        jitted(*arguments)
        return lambda: jitted(*arguments)

    before = [compiled() for _ in range(FUNCTIONS)]

    import thunder_otel
    from thunder_otel import _runtime, instrumentor
    from thunder_otel.settings import Level, Settings

    def recording(level: Level, **values: Any) -> Scope:
        @contextmanager
        def scope() -> Any:
            instrumentor.switch_on(Settings(level=level, debug_dir=folder, **values))
            _runtime.recorder()  # made now and not by the first sampled call
            try:
                yield
            finally:
                instrumentor.uninstrument()

        return scope

    scopes: dict[str, Scope] = {
        "bare": nullcontext,
        "level 1": recording(Level.TRACE),
        "level 3": recording(Level.NVFUSER_CODE),
        "level 1, calls sampled at 0.01": recording(Level.TRACE, calls=0.01),
        "bare, compiled in capture()": nullcontext,
    }
    made: dict[str, tuple[list[Callable[..., Any]], Scope]] = {name: ([], scope) for name, scope in scopes.items()}
    for _ in range(FUNCTIONS):
        for name, (functions, scope) in made.items():
            with thunder_otel.capture(1) if "capture" in name else scope():
                functions.append(compiled())
    return {"before the import": (before, nullcontext), **made}


def measure(folder: Path, *, rounds: int, calls: int) -> dict[str, list[float]]:
    """Seconds a call, a value for each round; the order of the variants is drawn for each."""
    made = variants(folder)
    names = list(made)
    found: dict[str, list[float]] = {name: [] for name in names}
    draw = random.Random(0)
    gc.disable()
    for turn in range(rounds):
        for name in draw.sample(names, len(names)):
            functions, scope = made[name]
            call = functions[turn % FUNCTIONS]
            with scope():
                for _ in range(WARM_UP):  # switching recording makes Python look its globals up anew
                    call()
                began = time.perf_counter_ns()
                for _ in range(calls):
                    call()
                found[name].append((time.perf_counter_ns() - began) / calls / 1e9)
        gc.collect()
    return found


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        found = measure(Path(folder), rounds=arguments.rounds, calls=arguments.calls)
    if arguments.json:
        base = statistics.median(found["bare"])
        added = {name: _added(found, name) for name in found}
        print(json.dumps({name: base + seconds for name, seconds in added.items()}))
        return
    for name, values in found.items():
        print(f"{name:32} {statistics.median(values) * 1e6:8.3f} us  {_added(found, name) * 1e6:+7.3f} us")


def _added(found: dict[str, list[float]], name: str) -> float:
    return statistics.median(mine - bare for mine, bare in zip(found[name], found["bare"], strict=True))


if __name__ == "__main__":
    main()
