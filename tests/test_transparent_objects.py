"""What Python says of ``thunder.jit`` and of what it makes is the same while recording: names, copies, lifetimes."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import re
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import thunder
import torch

from thunder_otel import instrumentor

Record = Callable[..., Any]
PUBLIC = ("jit", "compile", "last_traces", "last_backward_traces", "compile_data", "cache_misses")


def described(name: str) -> tuple[Any, ...]:
    """What Python knows of one of thunder's functions."""
    function = functools.reduce(getattr, name.split("."), thunder)
    return (
        inspect.signature(function),
        function.__name__,
        function.__qualname__,
        function.__module__,
        function.__doc__,
        callable(function),
        inspect.isfunction(function),
        isinstance(function, type(described)),
    )


@pytest.mark.parametrize("name", PUBLIC)
def test_functions_describe_themselves_as_bare(name: str, record: Record) -> None:
    bare = described(name)
    record()
    assert described(name) == bare


def add(x: torch.Tensor, *, factor: float = 2.0) -> torch.Tensor:
    """Add a multiple."""
    return x + x * factor


def test_a_jitted_function_keeps_its_name_its_signature_and_its_attributes(record: Record) -> None:
    bare = thunder.jit(add)
    record()
    jitted = thunder.jit(add)
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__", "__wrapped__"):
        assert getattr(jitted, attribute) == getattr(bare, attribute)
    assert inspect.signature(jitted) == inspect.signature(bare)
    assert type(jitted) is type(bare)
    assert sorted(vars(jitted)) == sorted(vars(bare))


def test_a_thunder_module_is_copied_and_is_what_it_was(record: Record) -> None:
    record()
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    jitted = thunder.jit(net)
    x = torch.ones(2, 4)
    out = jitted(x)
    assert isinstance(jitted, thunder.ThunderModule) and isinstance(jitted, torch.nn.Module)
    assert torch.equal(thunder.jit(copy.deepcopy(net))(x), out)
    state = pickle.loads(pickle.dumps(jitted.state_dict()))
    assert state.keys() == net.state_dict().keys()
    assert torch.equal(pickle.loads(pickle.dumps(out.detach())), out)


def outcome(action: Callable[[], object]) -> str:
    try:
        return type(action()).__name__
    except Exception as error:
        return re.sub("0x[0-9a-f]+", "#", f"{type(error).__name__}: {error}")


@pytest.mark.parametrize("action", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copying_and_pickling_end_as_bare(action: Callable[[Any], object], record: Record) -> None:
    def made() -> tuple[Any, Any]:
        module, function = thunder.jit(torch.nn.Linear(2, 2)), thunder.jit(add)
        module(torch.ones(1, 2)), function(torch.ones(2))
        return module, function

    bare = [outcome(lambda one=one: action(one)) for one in made()]  # type: ignore[misc]
    record()
    assert [outcome(lambda one=one: action(one)) for one in made()] == bare  # type: ignore[misc]


def test_modules_and_tensors_die_when_their_last_name_does(record: Record) -> None:
    recording = record()
    net = torch.nn.Linear(4, 4)
    jitted = thunder.jit(net)
    x = torch.ones(2, 4, requires_grad=True)
    out = jitted(x)
    out.sum().backward()
    gone = [weakref.ref(one) for one in (net, jitted, x, out, net.weight)]
    del net, jitted, x, out
    gc.collect()
    assert [ref() for ref in gone] == [None] * len(gone)
    assert recording.sink.stages


def test_another_tool_may_wrap_the_same_function_before_and_after_us(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def wrapped(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            calls.append(name)
            return function(*args, **kwargs)

        return inner

    from thunder.core import transform_common

    monkeypatch.setattr(transform_common, "dce", wrapped(transform_common.dce, "before"))
    record()
    monkeypatch.setattr(transform_common, "dce", wrapped(transform_common.dce, "after"))
    transform_common.dce(thunder.trace()(lambda x: x + 1, torch.ones(2)))
    assert calls == ["after", "before"]
    instrumentor.uninstrument()
    transform_common.dce(thunder.trace()(lambda x: x + 1, torch.ones(2)))
    assert calls == ["after", "before"] * 2
