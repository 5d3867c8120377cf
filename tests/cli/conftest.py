"""Run folders for the commands: small, recorded from real compiles, once for all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thunder_otel.cli._app import app

sys.path.insert(0, str(Path(__file__).parents[1] / "exporters"))  # for `receivers`

PROGRAM = """
import torch, thunder
from thunder.executors.torch_compile import torch_compile_cat_ex, torch_compile_ex

def f(x):
    return torch.sin(x) * {factor} + torch.cos(x)

jitted = thunder.jit(f, executors=[torch_compile_ex])
jitted(torch.ones(8, requires_grad=True)).sum().backward()
jitted(torch.ones(9, requires_grad=True)).sum().backward()
thunder.jit(lambda x: torch.cat([x, x]), executors=[torch_compile_cat_ex])(torch.ones(2))
try:
    thunder.jit(lambda x: x + {{}}["absent"])(torch.ones(2))
except KeyError:
    pass
"""


@dataclass(frozen=True)
class Said:
    """What a command printed."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """``recorded(factor)``: the run folder of a program that multiplies by ``factor``."""
    known: dict[int, Path] = {}

    def get(factor: int = 2) -> Path:
        if factor not in known:
            folder = tmp_path_factory.mktemp("recorded")
            clean = {key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))}
            command = [sys.executable, "-W", "ignore", "-c", PROGRAM.format(factor=factor)]
            environment = {**clean, "THUNDER_DEBUG": "3", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
            subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
            (known[factor],) = (folder / "thunder_debug").iterdir()
        return known[factor]

    return get


@pytest.fixture
def cli() -> Callable[..., Said]:
    """``cli("tree", folder)`` runs a command."""

    def run(*arguments: object) -> Said:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(result.exit_code, result.stdout, result.stderr)

    return run
