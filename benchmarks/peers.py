"""What the peers cost on the same model: torch.compile of a GPT, bare and watched by one of them, in turn.

    python benchmarks/peers.py --blocks 2 --rounds 2

Every compile is a process of its own with Inductor's caches off; the time is that of its first forward and backward.
Prints JSON: seconds for each peer and round. A peer that is not installed is left out (``pip install depyf``).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

BARE, TORCH_TRACE, TORCH_LOGS, DEPYF = "torch.compile", "TORCH_TRACE", "TORCH_LOGS", "depyf"
ALL_LOGS = "dynamo,aot,inductor,output_code,graph_code,aot_graphs,post_grad_graphs,recompiles,guards"


def compile_once(blocks: int, peer: str, folder: str) -> float:
    """Seconds of CPU time, children included, that the first forward and backward take in this process."""
    import torch
    from _model import gpt, tokens

    model = torch.compile(gpt(blocks), backend="inductor")
    watched = contextlib.nullcontext()
    if peer == DEPYF:
        import depyf

        watched = depyf.prepare_debug(folder)
    with watched:
        start = _cpu_time()
        model(tokens()).sum().backward()
    return _cpu_time() - start


def _cpu_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def peers() -> list[str]:
    """The peers that can be measured here; the bare compile first."""
    return [BARE, TORCH_TRACE, TORCH_LOGS, *([DEPYF] if importlib.util.find_spec("depyf") else [])]


def measure(blocks: int, rounds: int) -> dict[str, list[float]]:
    """All peers, ``rounds`` times in turn."""
    found: dict[str, list[float]] = {peer: [] for peer in peers()}
    for _ in range(rounds):
        for peer in found:
            with tempfile.TemporaryDirectory() as folder:
                environment = {**os.environ, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TMPDIR": folder}
                environment |= {
                    TORCH_TRACE: {"TORCH_TRACE": str(Path(folder, "trace"))},
                    TORCH_LOGS: {"TORCH_LOGS": ALL_LOGS, "TORCH_LOGS_OUT": str(Path(folder, "logs"))},
                }.get(peer, {})
                command = [sys.executable, __file__, "--blocks", str(blocks), "--one", peer, "--folder", folder]
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                found[peer].append(float(done.stdout.split()[-1]))
    return found


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if arguments.one:
        started = time.time()
        print(compile_once(arguments.blocks, arguments.one, arguments.folder), file=sys.stdout)
        print(f"{time.time() - started:.1f} s", file=sys.stderr)
    else:
        print(json.dumps(measure(arguments.blocks, arguments.rounds)))


if __name__ == "__main__":
    main()
