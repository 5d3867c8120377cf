"""Why an executor did or did not take an op, as far as thunder's objects tell. Reads them, like ``_introspect``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from thunder_otel._introspect import is_bookkeeping, is_region, op_name


class Reason(NamedTuple):
    """Why not: a kind that can be counted, and the words."""

    kind: str
    words: str


NOT_IN_MAP = "not in the implementation map"
REFUSED = "its checker refused"
INNER = "an op inside it cannot be fused"
CLAIMED = "claimed by another executor before"
LEFT = "fusible, but left alone by the fusion pass"


def key_of(bsym: Any) -> str:
    """What stands for an op in all traces of a compile: the names it makes, or its own and those of its arguments."""
    made = ",".join(out.name for out in bsym.flat_proxy_outs)
    return made or f"{bsym.sym.id}({','.join(arg.name for arg in bsym.flat_proxy_args)})"


def fuses(executor: Any) -> bool:
    """Whether it is a fusion executor."""
    return hasattr(executor, "fusion_pass")


def refusal(executor: Any, bsym: Any) -> Reason:
    """Why ``can_execute`` said no. Asks nothing again: a checker that is in the map is the one that refused."""
    implementation = executor.implmap.get(bsym.sym.id)
    if implementation is None:
        return Reason(NOT_IN_MAP, f"not in {executor.name}'s implementation map")
    if implementation.checker is None:
        return Reason(REFUSED, f"{executor.name} refused {op_name(bsym)}: {_placement(bsym)}")
    checker = getattr(implementation.checker, "__qualname__", repr(implementation.checker))
    return Reason(REFUSED, f"checker {checker} refused {op_name(bsym)}: {_placement(bsym)}")


def inner_refusal(executor: Any, inner: Any) -> Reason:
    """Why ``can_fuse`` said no to an op: it said no to ``inner``, which is under it."""
    return Reason(INNER, f"{INNER} ({op_name(inner)}: {refusal(executor, inner).words})")


def why_left(executor: Any, bsym: Any) -> Reason:
    """Why a fusion pass left an op that its executor could fuse."""
    if getattr(executor, "required_ops", None):
        return Reason(LEFT, f"fusible, but its group holds none of the ops that {executor.name} requires")
    if getattr(executor, "_optimization_fuel", None) == 0:
        return Reason(LEFT, f"fusible, but {executor.name} had no optimization fuel left")
    on_device = getattr(executor, "has_cuda_input_or_output", None)
    if on_device is not None and not on_device(bsym):
        return Reason(LEFT, f"fusible, but no input or output is on a GPU: {_placement(bsym)}")
    if on_device is not None and _only_shapes(bsym):
        return Reason(LEFT, "fusible, but its group only changes shapes (nv_enable_shape_only_fusion is off)")
    return Reason(LEFT, LEFT)


def why_not(executor: Any, bsym: Any) -> Reason:
    """Why a fusion pass left an op about which thunder never asked the executor: asks it now."""
    implementation = executor.implmap.get(bsym.sym.id)
    owner = getattr(bsym.sym, "executor", None)
    if implementation is None and owner is not None and owner != executor:
        return Reason(CLAIMED, f"claimed by {owner.name} before fusion: {_why_not_before(executor, bsym)}")
    if implementation is None and not bsym.subsymbols:
        return refusal(executor, bsym)
    if implementation is not None and not executor.can_execute(bsym):
        return refusal(executor, bsym)
    if not executor.can_fuse(bsym):
        refused = next((sub for sub in _leaves(bsym) if not executor.can_execute(sub)), None)
        return Reason(INNER, INNER) if refused is None else inner_refusal(executor, refused)
    return why_left(executor, bsym)


def separators(trace: Any) -> dict[str, list[str]]:
    """What keeps each region apart from those before it: ops outside regions that need one and feed the other."""
    found: dict[str, list[str]] = {}
    origins: dict[str, bool] = {}  # of each result: whether a region was needed for it
    between: dict[str, str] = {}  # results of ops outside regions
    for bsym in trace.bound_symbols:
        names = [arg.name for arg in bsym.flat_proxy_args]
        after_region = any(origins.get(name, False) for name in names)
        if is_region(bsym):
            links = [f"{between[name]} -> {name}" for name in names if name in between and origins[name]]
            found[bsym.sym.name] = list(dict.fromkeys(links))
        for out in bsym.flat_proxy_outs:
            origins[out.name] = is_region(bsym) or after_region
            if not is_region(bsym) and not is_bookkeeping(bsym):
                between[out.name] = op_name(bsym)
    return found


def _why_not_before(executor: Any, bsym: Any) -> str:
    """Why the executor did not take what a claimed symbol stands for: the ops that it was made from are under it."""
    ops = [sub for sub in _below(bsym) if sub.sym.id in executor.implmap]
    for op in ops:
        if not executor.can_execute(op):
            return refusal(executor, op).words
    return f"{executor.name} claims later" if ops else f"not in {executor.name}'s implementation map"


def _only_shapes(bsym: Any) -> bool:
    tags = getattr(bsym.sym, "tags", None) or ()
    if bsym.subsymbols:
        return all(_only_shapes(sub) for sub in bsym.subsymbols)
    return any(getattr(tag, "name", "") == "SHAPE_OP" for tag in tags)


def _below(bsym: Any) -> Iterator[Any]:
    for sub in bsym.subsymbols:
        yield sub
        yield from _below(sub)


def _leaves(bsym: Any) -> Iterator[Any]:
    if not bsym.subsymbols:
        yield bsym
    for sub in bsym.subsymbols:
        yield from _leaves(sub)


def _placement(bsym: Any) -> str:
    places = []
    for value in bsym.flat_proxy_args:
        device = getattr(value, "device", None)
        if device is not None:
            places.append(f"{value.name} is {_short(getattr(value, 'dtype', '?'))} on {_short(device)}")
    return ", ".join(dict.fromkeys(places)) or "no tensor argument"


def _short(value: Any) -> str:
    """A dtype or device as thunder's annotations write it: ``f32``, ``cuda:0``."""
    for name in ("shortname", "device_str"):
        if hasattr(value, name):
            return str(getattr(value, name)())
    return str(value)
