"""A compile that is killed at a random moment leaves a folder that can be recovered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "kills.py"


@pytest.mark.slow
def test_kills_at_random_moments() -> None:
    command = [sys.executable, "-W", "ignore", str(SCRIPT), "--kills", "8", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines()[-1] == "8 kills, 8 recovered, 0 not", done.stdout + done.stderr
