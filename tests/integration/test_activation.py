"""How recording is turned on: by a variable, a launcher, an option; in subprocesses and workers; and what off costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Program

RunProgram = Callable[..., "Program"]
pytestmark = pytest.mark.slow

SCRIPT = """\
import torch
import thunder
from thunder.executors.torch_compile import torch_compile_ex

def f(x, w):
    return torch.nn.functional.gelu(x @ w).sum() * 2

torch.manual_seed(0)
x, w = torch.randn(4, 8), torch.randn(8, 3, requires_grad=True)
out = thunder.jit(f, executors=[torch_compile_ex])(x, w)
out.backward()
print("OUT", out.item().hex(), [value.hex() for value in w.grad.flatten().tolist()])
"""
PLAIN = "import torch, thunder; print(thunder.jit(torch.sin)(torch.ones(2)).sum().item())"


def folders(run: Path) -> set[str]:
    return {path.name for path in run.iterdir() if path.is_dir()}


def keys(run: Path) -> set[str]:
    lines = (run / "events.jsonl").read_text().splitlines()
    return {key for line in lines for key in json.loads(line)["attributes"]}


@pytest.fixture(scope="module")
def outputs() -> dict[str, str]:
    return {}


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (None, None),
        ("", None),
        ("0", None),
        ("1", {"traces"}),
        ("trace", {"traces"}),
        ("TRACE", {"traces"}),
        ("2", {"traces", "regions"}),
        ("3", {"traces", "regions", "kernels"}),
        ("nvfuser_code", {"traces", "regions", "kernels"}),
    ],
)
def test_the_same_script_at_every_level(
    value: str | None, made: set[str] | None, run_program: RunProgram, outputs: dict[str, str]
) -> None:
    done = run_program(SCRIPT, {} if value is None else {"THUNDER_DEBUG": value})
    assert done.code == 0, done.err
    outputs[str(value)] = done.out
    assert set(outputs.values()) == {done.out}, "outputs and gradients are the same bit for bit"
    if made is None:
        assert done.runs == [] and "thunder_otel" not in done.err
        return
    (run,) = done.runs
    assert folders(run) == made
    assert ("thunder.region.ops" in keys(run)) is ("regions" in made)
    assert ("thunder.kernel.source.sha256" in keys(run)) is ("kernels" in made)
    assert [line for line in done.err.splitlines() if "thunder_otel" in line] == [
        f"thunder_otel: artefacts are in ./thunder_debug/{run.name}"
    ]


def test_a_wrong_word_stops_with_one_line(run_program: RunProgram) -> None:
    done = run_program(SCRIPT, {"THUNDER_DEBUG": "nvfuser_cod"})
    assert done.code == 1 and done.out == "" and done.runs == []
    (line,) = [line for line in done.err.splitlines() if line.strip()]
    assert line.startswith("thunder_otel: THUNDER_DEBUG='nvfuser_cod' is not a level. Did you mean nvfuser_code?")


def test_off_patches_nothing_and_imports_nothing(run_program: RunProgram) -> None:
    done = run_program(
        "import sys, thunder\n"
        "assert not [name for name in sys.modules if name.startswith('thunder_otel')]\n"
        "assert type(thunder.jit).__module__ == 'builtins' and thunder.jit.__module__ == 'thunder'\n"
        "assert 'structlog' not in sys.modules and 'opentelemetry.sdk' not in sys.modules\n"
        "print('ok')"
    )
    assert done.out == "ok\n", done.err


def test_on_leaves_thunder_jit_itself_alone(run_program: RunProgram) -> None:
    done = run_program(
        "import inspect, pickle, copy, thunder\n"
        "assert inspect.isfunction(thunder.jit) and thunder.jit.__module__ == 'thunder'\n"
        "assert pickle.loads(pickle.dumps(thunder.jit)) is thunder.jit and copy.deepcopy(thunder.jit) is thunder.jit\n"
        "print('ok')",
        {"THUNDER_DEBUG": "1"},
    )
    assert done.out == "ok\n", done.err


@pytest.mark.parametrize("order", ["import thunder, thunder_otel", "import thunder_otel, thunder"])
@pytest.mark.parametrize(
    "call",
    [
        "thunder.jit(torch.sin, thunder_debug='trace')",
        "thunder.jit(torch.sin, debug_options=thunder.DebugOptions(thunder_debug='trace'))",
    ],
)
def test_a_jit_option_records_that_function_only(order: str, call: str, run_program: RunProgram) -> None:
    done = run_program(f"import torch\n{order}\n{call}(torch.ones(2))\nthunder.jit(torch.cos)(torch.ones(2))")
    assert done.code == 0, done.err
    (run,) = done.runs
    assert {
        json.loads(line)["attributes"]["thunder.fn"] for line in (run / "events.jsonl").read_text().splitlines()
    } == {"_VariableFunctionsClass.sin"}


def test_a_wrong_option_is_an_error_that_names_it(run_program: RunProgram) -> None:
    done = run_program("import torch, thunder_otel, thunder\nthunder.jit(torch.sin, thunder_debug='trase')")
    assert done.code == 1 and "thunder.jit(thunder_debug=...)='trase' is not a level" in done.err


def test_instrument_and_uninstrument(run_program: RunProgram) -> None:
    done = run_program(
        "import torch, thunder_otel\n"
        "thunder_otel.instrument(level='trace')\n"
        "import thunder\n"
        "thunder.jit(torch.sin)(torch.ones(2))\n"
        "thunder_otel.uninstrument()\n"
        "thunder.jit(torch.cos)(torch.ones(2))\n"
    )
    (run,) = done.runs
    assert "cos" not in (run / "events.jsonl").read_text()


def test_python_m_subprocesses_and_spawned_workers(run_program: RunProgram, tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(
        "import multiprocessing, subprocess, sys, torch, thunder\n"
        "def work(n): thunder.jit(torch.sin)(torch.ones(n))\n"
        "if __name__ == '__main__':\n"
        "    work(1)\n"
        f"    subprocess.run([sys.executable, '-W', 'ignore', '-c', {PLAIN!r}], check=True)\n"
        "    process = multiprocessing.get_context('spawn').Process(target=work, args=(2,))\n"
        "    process.start(); process.join(); assert process.exitcode == 0\n"
    )
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))}
    command = [sys.executable, "-W", "ignore", "-m", "prog"]
    subprocess.run(command, cwd=tmp_path, env={**clean, "THUNDER_DEBUG": "1"}, check=True, capture_output=True)
    assert len(list((tmp_path / "thunder_debug").glob("*/events.jsonl"))) == 3


@pytest.mark.parametrize("exporter", ["thunder_files", "console", "thunder_files,console"])
def test_opentelemetry_instrument(exporter: str, tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(PLAIN)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))}
    launcher = Path(sys.executable).with_name("opentelemetry-instrument")
    environment = {
        **clean,
        "OTEL_TRACES_EXPORTER": exporter,
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
    }
    command = [launcher, sys.executable, "-W", "ignore", "prog.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert len(list((tmp_path / "thunder_debug").glob("*/events.jsonl"))) == 1
    if "console" in exporter:
        assert '"name": "thunder.compile"' in done.stdout


def test_trainer_fit(run_program: RunProgram) -> None:
    """The code only calls ``trainer.fit()``."""
    done = run_program(
        """
import lightning, thunder, torch

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = thunder.jit(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)))

    def training_step(self, batch, _):
        return self.net(batch[0]).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 8)), batch_size=4)
quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", **quiet)
trainer.fit(Model(), data)
print("OUT done")
""",
        {"THUNDER_DEBUG": "trace"},
    )
    assert "OUT done" in done.out, done.err
    (run,) = done.runs
    names = [path.name for path in (run / "traces").iterdir()]
    assert [name for name in names if "-computation-" in name] and [name for name in names if "-backward-" in name]
