"""Reads thunder's objects. Only this module and :mod:`thunder_otel._rendering` know what they look like inside.

Everything here is read-only, keeps nothing alive and forces no symbolic value to a number (that would add a guard).
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CodeLocation:
    """Where a function is defined; empty and 0 where that is unknown."""

    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class RegionInfo:
    """A fusion region as it stands in a trace.

    ``inputs`` and ``outputs`` read like thunder's own annotations (``t0: cpu f32[4, 4]``); ``ops`` are the symbols
    that were fused, in order; ``source_lines`` are ``file:line`` of the program.
    """

    name: str
    executor: str
    executor_version: str
    ops: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    source_lines: tuple[str, ...]
    parent: str = ""


def is_trace(value: object) -> bool:
    """Whether this is a ``TraceCtx`` (thunder is not imported to find out)."""
    module = sys.modules.get("thunder.core.trace")
    return module is not None and isinstance(value, module.TraceCtx)


def traces_in(values: Iterable[object]) -> list[Any]:
    """The traces among some values, also those one level down in a list or tuple."""
    found = []
    for value in values:
        if is_trace(value):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(item for item in value if is_trace(item))
    return found


def function_name(fn: object) -> str:
    """``GPT.forward`` for a module, the qualified name of a function, what a ``partial`` calls, else the type."""
    if isinstance(fn, functools.partial):
        return f"partial({function_name(fn.func)})"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(fn, torch.nn.Module):
        return f"{type(fn).__name__}.forward"
    name = getattr(fn, "__qualname__", None)
    if isinstance(name, str) and name:
        return name.replace("<locals>.", "")
    return f"{type(fn).__name__}.__call__"


def code_location(fn: object) -> CodeLocation:
    """File and first line of what is compiled."""
    torch = sys.modules.get("torch")
    while isinstance(fn, functools.partial):
        fn = fn.func
    if torch is not None and isinstance(fn, torch.nn.Module):
        fn = type(fn).forward
    elif not inspect.isroutine(fn):
        fn = getattr(type(fn), "__call__", fn)  # noqa: B004 - its function is wanted, not whether it has one
    code = getattr(inspect.unwrap(fn), "__code__", None) if callable(fn) else None
    return CodeLocation(code.co_filename, code.co_firstlineno) if code is not None else CodeLocation()


def current_compile() -> tuple[Any, Any]:
    """thunder's ``CompileData`` and ``CompileStats`` of the compile that runs on this thread, or ``(None, None)``."""
    module = sys.modules.get("thunder.core.compile_data")
    data, stats = module._compile_data.get() if module is not None else (None, None)
    return data, stats


def trace_being_made() -> Any:
    """The trace that thunder is writing to on this thread."""
    return sys.modules["thunder.core.trace"].get_tracectx()


def tagged_kind(trace: Any) -> str:
    """What thunder's own tags say a trace is: ``backward``, ``computation`` (augmented forward), or ``""``."""
    names = {getattr(tag, "name", str(tag)) for tag in getattr(trace, "tags", ())}
    return "backward" if "BACKWARD" in names else "computation" if "AUGMENTED_FORWARD" in names else ""


def provenance_of(trace: Any) -> str:
    """The words that say which pass made a trace, or ``""``."""
    provenance = trace.get_provenance()
    return "" if provenance is None else str(getattr(provenance, "pss", provenance))


def symbol_count(trace: Any) -> int:
    """Bound symbols at the top level of a trace."""
    return len(trace.bound_symbols)


def collectives_in(trace: Any) -> list[str]:
    """Names of communication and wait symbols in order."""
    return [bsym.sym.name for bsym in trace.bound_symbols if _is_collective(bsym.sym.name)]


_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast_prim", "wait", "synchronize", "pack", "bucket")


@functools.lru_cache(maxsize=4096)
def _is_collective(name: str) -> bool:
    return "unpack_" not in name and any(word in name for word in _COLLECTIVES)


def executor_names(executors: Iterable[Any]) -> list[str]:
    """Names of the executors a user would know, without the one thunder makes for each jit."""
    return [str(executor.name) for executor in executors if is_named_by_user(executor)]


def is_named_by_user(executor: Any) -> bool:
    """Whether this is an executor that a user would know, not the one thunder makes for each jit."""
    return not str(executor.name).startswith("__ad_hoc_executor")


def regions_in(trace: Any) -> list[RegionInfo]:
    """Every fusion region of a trace, an outer one before those inside it."""
    found: list[RegionInfo] = []
    for bsym in trace.bound_symbols:
        _collect_regions(bsym, "", found)
    return found


def region_of(bsym: Any, parent: str = "") -> RegionInfo:
    """The facts of one fusion symbol."""
    executor = bsym.sym.executor
    name = getattr(executor, "name", None)
    return RegionInfo(
        name=bsym.sym.name,
        executor=str(name) if name is not None else type(executor).__name__,
        executor_version=str(getattr(executor, "version", "") or ""),
        ops=tuple(op_name(sub) for sub in bsym.subsymbols if not is_bookkeeping(sub)),
        inputs=tuple(describe_value(value) for value in bsym.flat_proxy_args),
        outputs=tuple(describe_value(value) for value in bsym.flat_proxy_outs),
        source_lines=tuple(dict.fromkeys(line for sub in bsym.subsymbols for line in source_lines(sub))),
        parent=parent,
    )


def region_text(bsym: Any) -> str:
    """The region as thunder prints it, with all symbols under it."""
    return "\n".join(bsym.python(indent=0, print_depth=-1))


def runnables(bsym: Any) -> Iterator[Any]:
    """What runs a region, as objects that can be referred to weakly: by them its first run is known.

    An nvFuser wrapper itself cannot be (it has slots), so its cache of definitions stands for it.
    """
    for value in (getattr(bsym, "_call_ctx", None) or {}).values():
        get_fd = getattr(value, "get_fd", None)
        if callable(get_fd):
            yield get_fd
    runner = getattr(getattr(bsym.sym, "executor", None), "cuda_graph_runner", None)
    known = getattr(runner, "python_callables", {}).get(bsym.sym.name)
    if known is not None:
        yield known[0]


def ops_by_output(bsym: Any) -> dict[str, str]:
    """``mul -> t3`` for each op of a region, by the names of what it computes."""
    found = {}
    for sub in bsym.subsymbols:
        if not is_bookkeeping(sub):
            names = ", ".join(out.name for out in sub.flat_proxy_outs)
            found[names] = f"{op_name(sub)} -> {names}"
    return found


def describe_value(value: Any) -> str:
    """``t0: cpu f32[4, 4]``; a symbolic number is written by name and example, never turned into a number."""
    name = getattr(value, "name", None)
    try:
        kind = value.type_string()
    except Exception:
        kind = type(value).__name__
    return f"{name}: {kind}" if name else str(kind)


def is_region(bsym: Any) -> bool:
    """Whether a bound symbol is a fusion region."""
    return bool(getattr(bsym.sym, "is_fusion", False))


def _collect_regions(bsym: Any, parent: str, found: list[RegionInfo]) -> None:
    if is_region(bsym):
        found.append(region_of(bsym, parent))
        parent = bsym.sym.name
    for sub in bsym.subsymbols:
        _collect_regions(sub, parent, found)


def find_region(trace: Any, name: str) -> Any:
    """The fusion symbol of that name in a trace, or ``None``."""
    stack = list(trace.bound_symbols)
    while stack:
        bsym = stack.pop()
        if is_region(bsym) and bsym.sym.name == name:
            return bsym
        stack.extend(bsym.subsymbols)
    return None


def op_name(bsym: Any) -> str:
    """``torch.nn.functional.gelu`` for an operation of thunder's torch language, the symbol's name for others."""
    identifier = bsym.sym.id
    return identifier if isinstance(identifier, str) else str(bsym.sym.name)


_BOOKKEEPING = frozenset({"python_return", "return", "python_del", "del", "unpack_trivial", "comment", "get_grad"})


def is_bookkeeping(bsym: Any) -> bool:
    """Whether a bound symbol computes nothing: it unpacks, checks, deletes or returns."""
    name = bsym.sym.name
    return name in _BOOKKEEPING or name.startswith(("unpack_", "check_", "clear_mutable_collection"))


def source_lines(bsym: Any) -> Iterator[str]:
    """``file:line`` of the program, for a symbol and what is under it."""
    positions = getattr(bsym, "source_positions", None)
    line = getattr(positions, "lineno", None)
    if bsym.source_filename is not None and line is not None:
        yield f"{bsym.source_filename}:{line}"
    for sub in bsym.subsymbols:
        yield from source_lines(sub)


def distributed_rank() -> tuple[int, int] | None:
    """Rank and world size of the initialised default process group, or ``None``."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return int(distributed.get_rank()), int(distributed.get_world_size())


def cache_option(compile_data: Any) -> str:
    """A function's cache option in the words that ``thunder.jit(cache=...)`` takes."""
    option = getattr(compile_data, "cache_option", None)
    name: str = getattr(option, "name", "") or "constant values"
    return name.lower().replace("_", " ")
