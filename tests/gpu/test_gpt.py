"""A GPT on the GPU: the unedited example with its kernels, and what recording costs a training step."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import thunder
import torch

from thunder_otel import instrumentor, semconv
from thunder_otel.settings import Level, Settings

if TYPE_CHECKING:
    from conftest import Program, Recording

Note = Callable[[str, str], None]
EXAMPLE = Path(__file__).parents[2] / "examples" / "gpt_train.py"
STEPS = 50


def test_the_example_unedited_and_its_kernels_compile(
    run_program: Callable[..., Program], note: Note, tmp_path: Path
) -> None:
    pytest.importorskip("litgpt")
    done = run_program(EXAMPLE, {"THUNDER_DEBUG": "nvfuser_code"}, timeout=500)
    assert done.code == 0, done.err
    (run,) = done.runs
    kernels = sorted((run / "kernels").glob("*.cu"))
    (runtime,) = (run / "kernels").glob("*nvfuser_runtime.cuh")
    assert len(kernels) >= 4
    note("kernels of examples/gpt_train.py", f"{len(kernels)} files")
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(nvcc).exists():
        pytest.skip("no nvcc here")
    major, minor = torch.cuda.get_device_capability()
    for kernel in kernels[:3]:
        whole = tmp_path / kernel.name
        whole.write_text(runtime.read_text() + kernel.read_text() + "\n}\n")
        command = [
            nvcc,
            f"-arch=sm_{major}{minor}",
            "-std=c++17",
            "-w",
            "--expt-relaxed-constexpr",
            "--cubin",
            str(whole),
            "-o",
            str(tmp_path / "k.cubin"),
        ]
        compiled = subprocess.run(command, capture_output=True, text=True, check=False)
        assert compiled.returncode == 0, compiled.stderr[-3000:]
    note("of them compiled by nvcc after the runtime file", f"{len(kernels[:3])} of {len(kernels[:3])}")


class Block(torch.nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.second(x))


class GPT(torch.nn.Module):
    def __init__(self, blocks: int = 8, width: int = 1024, words: int = 8192) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(words, width)
        self.blocks = torch.nn.Sequential(*(Block(width, 16) for _ in range(blocks)))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.words(tokens))))


def test_a_training_step_costs_the_same(record: Callable[..., Recording], note: Note) -> None:
    """Level 1 against nothing, the two in turn, in one process."""
    torch.manual_seed(0)
    recording = record(Level.TRACE)
    model = GPT().to("cuda", torch.bfloat16)
    jitted = thunder.jit(model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.randint(0, 8192, (4, 513), device="cuda")

    def step() -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        logits = jitted(tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    for _ in range(5):
        step()
    assert recording.sink.named(semconv.SPAN_COMPILE)
    settings = Settings(level=Level.TRACE)
    watched, bare = [], []
    for _ in range(STEPS):  # the first step after a switch is not timed: it finds the caches cold, either way
        instrumentor.switch_on(settings, lambda: recording.recorder)
        step()
        watched.append(step())
        instrumentor.uninstrument()
        step()
        bare.append(step())
    ratio = statistics.median(watched) / statistics.median(bare)
    note(
        "training step at level 1 / without",
        f"{ratio:.4f} (median of {STEPS} steps in turn, {statistics.median(bare) * 1e3:.2f} ms)",
    )
    assert ratio <= 1.01
