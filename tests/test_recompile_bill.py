"""The recompile bill, from thunder's own guards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import thunder
import torch

from thunder_otel import semconv
from thunder_otel._recompile_bill import bill
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Recording


@dataclass
class Read:
    """A stage as a reader gives it."""

    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = 1.0


def recorded(recording: Recording) -> list[Read]:
    return [Read(stage.name, dict(stage.attributes)) for stage in recording.sink.stages]


def test_each_guard_is_billed_with_what_varied(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(lambda x, n: x * n)
    for size, number in ((2, 1), (3, 1), (4, 1), (4, 2), (4, 3)):
        jitted(torch.ones(size), number)
    jitted(torch.ones(4, dtype=torch.float64), 3)
    jitted(torch.ones(4, dtype=torch.float64, requires_grad=True), 3)
    items = {(item.variable, item.varied): item for item in bill(recorded(recording))}
    shape = items["x.shape[0]", "shape"]
    assert (shape.count, shape.seconds, shape.values) == (2, 2.0, ["(2,)", "(3,)", "(4,)"])
    assert "symbolic values" in shape.advice
    number = next(item for item in items.values() if item.varied == "number")
    assert (number.count, number.values) == (2, ["1", "2", "3"])
    assert items["x", "dtype"].values == ["torch.float32", "torch.float64"]
    assert items["x", "requires_grad"].values == ["False", "True"]
    assert sum(item.count for item in items.values()) == thunder.cache_misses(jitted) - 1


GOT = "got (2,), cpu, torch.float32, False"


@pytest.mark.parametrize(
    ("message", "varied", "variable"),
    [
        (
            f"expected tensor with (2, 3), cpu, torch.float32, requires_grad=False, {GOT}",
            "shape",
            "x",
        ),
        (
            f"expected tensor with (s0,), cpu, torch.float32, requires_grad=False, {GOT}",
            "shape",
            "x",
        ),
        (
            f"expected tensor with (2,), cuda:0, torch.float32, requires_grad=False, {GOT}",
            "device",
            "x",
        ),
        ("some other words", "other", "x"),
    ],
)
def test_the_words_of_a_guard_are_understood(message: str, varied: str, variable: str) -> None:
    stage = Read("thunder.compile", {semconv.GUARD_FAILED: ["check(x, 1)"], semconv.GUARD_MESSAGES: [message]})
    (item,) = bill([stage, Read("thunder.compile"), Read("thunder.pass dce", stage.attributes)])
    assert (item.varied, item.variable, item.count) == (varied, variable, 1)
    assert item.advice


def test_many_recompiles_are_warned_of_once_with_advice(
    record: Callable[..., Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    record(Level.TRACE, recompile_warning=2)
    jitted = thunder.jit(lambda x: x + 1)
    for size in range(2, 7):
        jitted(torch.ones(size))
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "recompiled" in line]
    assert "recompiled 2 times" in line and "x.shape[0]" in line and "symbolic values" in line


def test_zero_never_warns(record: Callable[..., Recording], capsys: pytest.CaptureFixture[str]) -> None:
    record(Level.TRACE, recompile_warning=0)
    jitted = thunder.jit(lambda x: x + 1)
    for size in range(2, 5):
        jitted(torch.ones(size))
    assert "recompiled" not in capsys.readouterr().err
