"""The pytest plugin, in a pytest of its own as a project would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PLUGIN = "thunder_otel._pytest_plugin"
FILE = """
import pytest, thunder, torch
from thunder_otel.testing import assert_compiles

def double(x):
    return torch.sin(x) * 2

def test_with_the_fixture(thunder_run):
    thunder.jit(double)(torch.ones(2))
    assert_compiles(thunder_run, 1)
    assert thunder_run.compiles[0].level == 3

@pytest.mark.thunder_level("trace")
def test_with_a_level(thunder_run):
    thunder.jit(double)(torch.ones(2))
    assert thunder_run.compiles[0].level == 1

def test_that_recompiles():
    jitted = thunder.jit(double)
    jitted(torch.ones(2))
    jitted(torch.ones(3))

def test_that_fails():
    with pytest.raises(RuntimeError):
        thunder.jit(lambda x: torch.mm(x, x))(torch.ones(2))

def test_that_compiles_nothing():
    pass
"""
LIGHT = """
import sys
def test_light():
    assert "thunder_otel._pytest_plugin" in sys.modules
    assert not {"thunder", "torch", "structlog", "opentelemetry", "thunder_otel._capture"} & set(sys.modules)
"""


def run_pytest(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """pytest in an empty folder, with the plugin by its entry point, or by name where it is not installed."""
    (folder / "test_it.py").write_text(source)
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *([] if installed else ["-p", PLUGIN]), *options],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_the_fixture_and_the_report(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, FILE, "--thunder-otel", "--strict-markers", "--junitxml=out.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    report = done.stdout.partition("thunder compiles")[2]
    lines = {line.split("  ")[0].rpartition("::")[2]: line for line in report.splitlines() if "::" in line}
    assert set(lines) == {"test_with_the_fixture", "test_with_a_level", "test_that_recompiles", "test_that_fails"}
    assert "2 compiles in " in lines["test_that_recompiles"]
    assert "double again: expected tensor with (2,)" in lines["test_that_recompiles"]
    assert "test_that_fails.<lambda>/0 failed: NotImplementedError" in lines["test_that_fails"]
    assert "4 tests compiled something" in report
    assert '<property name="thunder_otel" value="2 compiles in ' in (tmp_path / "out.xml").read_text()
    assert list(tmp_path.rglob("events.jsonl")) == []


def test_without_the_option_nothing_is_recorded_or_reported(tmp_path: Path) -> None:
    source = """
import thunder, torch
from thunder_otel import _runtime

def test_off():
    assert not _runtime.is_on()
    thunder.jit(torch.sin)(torch.ones(2))
"""
    done = run_pytest(tmp_path, source)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "thunder compiles" not in done.stdout


def test_a_project_that_does_not_use_it_pays_nothing(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, LIGHT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_session_without_compiles_says_so(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "def test_nothing(): pass", "--thunder-otel")
    assert "no test compiled anything" in done.stdout


@pytest.mark.parametrize("word", ["fixture", "option"])
def test_pytest_shows_what_the_plugin_offers(word: str, tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "", *{"fixture": ("--fixtures",), "option": ("--help",)}[word])
    assert {"fixture": "thunder_run", "option": "--thunder-otel"}[word] in done.stdout
