"""The examples as a user runs them: what they print, and the spans that only that path has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thunder_otel import semconv

if TYPE_CHECKING:
    from conftest import Program

EXAMPLES = Path(__file__).parents[2] / "examples"


def ended(program: Program) -> list[dict[str, Any]]:
    (run,) = program.runs
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [event for event in events if event["event"] == semconv.EVENT_END]


def test_a_growing_kv_cache_is_compiled_each_step_and_warned_of(run_program: Callable[..., Program]) -> None:
    env = {"THUNDER_DEBUG": "trace", "THUNDER_DEBUG_RECOMPILE_WARNING": "3"}
    done = run_program(EXAMPLES / "kv_cache.py", env)
    assert done.out == "6 keys, 5 compiles\n", done.err
    reasons = [e["attributes"][semconv.COMPILE_REASON] for e in ended(done) if e["name"] == semconv.SPAN_COMPILE]
    assert reasons[0] == "first call" and len(reasons) == 5
    assert all("expected tensor with" in reason for reason in reasons[1:])
    assert done.err.count("was recompiled 3 times") == 1


def test_autocast_is_a_compile_of_its_own(run_program: Callable[..., Program]) -> None:
    done = run_program(EXAMPLES / "autocast.py", {"THUNDER_DEBUG": "nvfuser_region"})
    assert done.out == "torch.float32 and torch.bfloat16, 2 compiles\n", done.err
    compiles = [event for event in ended(done) if event["name"] == semconv.SPAN_COMPILE]
    assert [event["attributes"][semconv.COMPILE_INDEX] for event in compiles] == [0, 1]


def test_thunderfx_shows_the_split(run_program: Callable[..., Program]) -> None:
    done = run_program(EXAMPLES / "thunderfx_split.py", {"THUNDER_DEBUG": "trace"})
    assert done.out == "16.3548\n", done.err
    splits = [event for event in ended(done) if event["name"] == semconv.SPAN_FX_SPLIT]
    assert [event["attributes"][semconv.SPLIT_OPS] for event in splits] == [[], ["torch.sinc"]]


def texts(program: Program, part: str) -> list[str]:
    """The traces whose file name holds ``part``, in order."""
    (run,) = program.runs
    return [path.read_text() for path in sorted((run / "traces").glob(f"*{part}*"))]


def test_a_trainer_that_nobody_edited_leaves_both_directions_and_kernels(run_program: Callable[..., Program]) -> None:
    bare = run_program(EXAMPLES / "lightning_trainer.py")
    done = run_program(EXAMPLES / "lightning_trainer.py", {"THUNDER_DEBUG": "nvfuser_code"})
    assert done.out == bare.out == "16 steps, the loss fell: True\n", done.err
    assert texts(done, "-computation-") and texts(done, "-backward-")
    kernels = [event["name"] for event in ended(done) if event["name"].startswith(semconv.SPAN_KERNEL_COMPILE)]
    assert len(kernels) == 2 and {name.split()[-1] for name in kernels} == {"TorchCompile0", "TorchCompile1"}


def test_checkpointing_computes_again_in_the_backward(run_program: Callable[..., Program]) -> None:
    done = run_program(EXAMPLES / "checkpointing.py", {"THUNDER_DEBUG": "trace"})
    assert done.out == "gradients as without thunder: True\n", done.err
    forward, backward = texts(done, "-computation-del_last_used")[-1], texts(done, "-backward-del_last_used")[-1]
    # The block's result is kept (tanh's derivative needs it); what led to it is computed again.
    again = "= torch.nn.functional.linear(x, t_first_weight, t_first_bias)", "= torch.sin("
    assert all(op in forward and op in backward for op in again)
    assert "= torch.tanh(" in forward and "= torch.tanh(" not in backward


def test_lora_is_a_transform_that_adds_parameters(run_program: Callable[..., Program]) -> None:
    done = run_program(EXAMPLES / "lora.py", {"THUNDER_DEBUG": "trace"})
    assert done.out == "4 parameters of LoRA's own, output as before: True\n", done.err
    (transform,) = (event for event in ended(done) if event["name"] == semconv.SPAN_TRANSFORM + "LORATransform")
    assert transform["attributes"][semconv.TRANSFORM] == "thunder.transforms.qlora.LORATransform"
    assert transform["attributes"]["thunder.trace.prologue.lines.added"] > 0
    assert "lora_a" in texts(done, "-prologue-transform-LORATransform")[0]
