"""The assertions for a project's own tests: what they accept, and what they say when they do not."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import thunder
import torch
from thunder.executors.torch_compile import torch_compile_cat_ex, torch_compile_ex

from thunder_otel import testing
from thunder_otel.testing import (
    Run,
    assert_compiles,
    assert_fused,
    assert_not_fused,
    assert_regions,
    capture,
    no_recompile,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


def double(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * 2


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """A training step whose forward is one region."""
    with capture("nvfuser_region") as run:
        jitted = thunder.jit(double, executors=[torch_compile_ex])
        jitted(torch.ones(2, requires_grad=True))
    return run


def test_regions_are_counted(run: Run) -> None:
    assert_regions(run, 2)
    assert_regions(run, 1, kind="backward")
    assert_regions(run, 2, executor="torchcompile")
    assert_regions(run, 0, executor="nvfuser")
    with pytest.raises(
        AssertionError, match=r"expected 3 regions, got 2\n  <RegionRecord TorchCompile0 of torchcompile"
    ):
        assert_regions(run, 3)


def test_ops_are_fused_or_not(run: Run) -> None:
    region = assert_fused(run, "sin")
    assert region.executor == "torchcompile"
    assert_fused(run, region.ops[0], executor="torchcompile")
    assert_not_fused(run, "matmul")
    with pytest.raises(AssertionError, match="matmul is in no fusion region\n  <RegionRecord"):
        assert_fused(run, "matmul")
    with pytest.raises(AssertionError, match="sin is fused\n  <RegionRecord"):
        assert_not_fused(run, "sin")
    with pytest.raises(AssertionError):
        assert_fused(run, "sin", executor="nvfuser")


def test_an_op_that_was_left_out_comes_with_the_reason() -> None:
    def cat(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x])

    with capture(2) as run:
        thunder.jit(cat, executors=[torch_compile_cat_ex])(torch.ones(2))
    with pytest.raises(AssertionError, match=r"cat is in no fusion region\n  left out by torchcompile_cat: .*cat -> "):
        assert_fused(run, "cat")


def test_a_run_below_level_2_says_why_it_has_no_regions() -> None:
    with capture(1) as run:
        thunder.jit(double)(torch.ones(2))
    for check in (lambda: assert_regions(run, 0), lambda: assert_fused(run, "sin"), lambda: assert_not_fused(run, "x")):
        with pytest.raises(
            AssertionError, match="regions are recorded from level 2 on; double/0 was recorded at level 1"
        ):
            check()


def test_compiles_are_counted(run: Run) -> None:
    assert_compiles(run, 1)
    assert_compiles(run, 1, fn="double")
    assert_compiles(run, 0, fn="other")
    with pytest.raises(
        AssertionError, match=r"expected 2 compiles of double, got 1\n  <CompileRecord double/0 \(first call\)"
    ):
        assert_compiles(run, 2, fn="double")


def test_no_recompile_accepts_a_first_compile_and_names_the_guard_of_a_second() -> None:
    jitted = thunder.jit(double)
    with no_recompile() as run:
        jitted(torch.ones(2))
        jitted(torch.ones(2))
    assert len(run.compiles) == 1
    with pytest.raises(AssertionError) as raised, no_recompile():
        jitted(torch.ones(3))
    first, second = str(raised.value).splitlines()
    assert first == "expected no recompile, got 1"
    assert second.startswith("  double, compile 1: check_tensor_metadata(") and "(3,)" in second


def test_an_error_inside_the_block_is_the_one_that_is_seen() -> None:
    jitted = thunder.jit(double)
    jitted(torch.ones(2))
    with pytest.raises(ZeroDivisionError), no_recompile():
        jitted(torch.ones(3))
        raise ZeroDivisionError


def test_other_threads_count_when_asked_for() -> None:
    jitted = thunder.jit(double)
    jitted(torch.ones(2))

    def elsewhere(size: int) -> None:
        thread = threading.Thread(target=lambda: jitted(torch.ones(size)))
        thread.start()
        thread.join()

    with no_recompile():
        elsewhere(3)
    with pytest.raises(AssertionError), no_recompile(all_threads=True):
        elsewhere(4)


def test_the_module_offers_what_it_says() -> None:
    assert all(hasattr(testing, name) for name in testing.__all__)
