"""Why a function is compiled again: asked of its cached entries when it is, at no cost to a call that fits."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import thunder
import torch

from thunder_otel import _guards, semconv
from thunder_otel._capture import capture
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Recording


def power(x: torch.Tensor, n: int) -> torch.Tensor:
    return torch.sin(x) * n


def reasons(recording: Recording) -> list[Any]:
    return [stage.attributes[semconv.COMPILE_REASON] for stage in recording.sink.named("thunder.compile")]


def test_every_entry_says_why_newest_first(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(power)
    for size, n in ((2, 1), (2, 2), (3, 2)):
        jitted(torch.ones(size), n)
    first, second, third = (stage.attributes for stage in recording.sink.named("thunder.compile"))
    assert first[semconv.COMPILE_REASON] == "first call"
    assert (second[semconv.GUARD_ENTRIES], len(second[semconv.GUARD_FAILED])) == ([0], 1)  # type: ignore[arg-type]
    assert second[semconv.GUARD_FAILED][0].startswith("check_number_type_and_value(i0, 1")  # type: ignore[index]
    assert third[semconv.GUARD_ENTRIES] == [1, 0]
    assert [check.split("(")[0] for check in third[semconv.GUARD_FAILED]] == ["check_tensor_metadata"] * 2  # type: ignore[union-attr]
    assert "(2,)" in third[semconv.COMPILE_REASON] and "(3,)" in third[semconv.COMPILE_REASON]  # type: ignore[operator]


def test_entries_from_before_recording_say_why_too() -> None:
    jitted = thunder.jit(power)
    jitted(torch.ones(2), 1)
    with capture(1) as run:
        jitted(torch.ones(2), 2)
    [again] = run.recompiles
    assert [guard.entry for guard in again.guards] == [0]
    assert again.guards[0].check.startswith("check_number_type_and_value(i0, 1")


def test_an_entry_is_known_by_its_compile_also_after_one_that_failed(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)

    def picky(x: torch.Tensor, n: int) -> torch.Tensor:
        return torch.mm(x, x) if n == 0 else torch.sin(x)

    jitted = thunder.jit(picky)
    with pytest.raises(RuntimeError):
        jitted(torch.ones(2), 0)
    jitted(torch.ones(2), 1)
    jitted(torch.ones(2), 2)
    assert reasons(recording)[1] == semconv.REASON_NONE_FINISHED
    assert recording.sink.named("thunder.compile")[2].attributes[semconv.GUARD_ENTRIES] == [1]


@pytest.mark.filterwarnings("ignore:Not caching:UserWarning")
def test_without_a_cache_no_entry_is_asked(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    jitted = thunder.jit(power, cache="no caching")
    jitted(torch.ones(2), 1)
    jitted(torch.ones(2), 1)
    assert reasons(recording) == ["no caching"] * 2


def test_nothing_stands_around_a_prologue_and_thunders_times_stay(record: Callable[..., Recording]) -> None:
    record(Level.TRACE)
    jitted = thunder.jit(power)
    jitted(torch.ones(2), 1)
    stats = jitted._lc_cs
    [entry] = stats.interpreter_cache
    layers = [entry.prologue_fn]
    while inner := [
        cell.cell_contents for cell in layers[-1].__closure__ or () if inspect.isfunction(cell.cell_contents)
    ]:
        layers += inner[:1]
    assert layers[-1].__name__ == "prologue"
    assert "thunder_otel" not in repr([layer.__code__.co_filename for layer in layers])
    before = dict(vars(stats))
    [refusal] = _guards.refusals(stats, (torch.ones(5), 1), {})
    assert refusal.check.startswith("check_tensor_metadata(x")
    assert dict(vars(stats)) == before


def test_an_entry_that_fits_now_or_fails_without_words() -> None:
    class Trace:
        pass

    class Entry:
        prologue_traces = (Trace(),)

        def __init__(self, prologue_fn: Callable[[], object]) -> None:
            self.prologue_fn = prologue_fn

    class Stats:
        cache_misses = 3
        interpreter_cache: tuple[Entry, ...]

    def wordless() -> object:
        raise KeyError

    stats = Stats()
    stats.interpreter_cache = (Entry(wordless),)
    [refusal] = _guards.refusals(stats, (), {})
    assert (refusal.check, refusal.message) == ("KeyError", "KeyError (thunder gave no words)")
    stats.interpreter_cache = (Entry(lambda: None),)
    assert _guards.compile_reason(stats, "constant values") == {
        semconv.COMPILE_REASON: "none of 1 cached entries fit, and none says why"
    }
