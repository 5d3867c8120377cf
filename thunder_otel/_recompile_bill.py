"""The recompile bill: what each failed guard cost over a run, what varied over which values, and what would help."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from thunder_otel import semconv

_CHECK = re.compile(r"(?P<check>\w+)\((?P<variable>\w+)")
_TENSOR = re.compile(
    r"expected tensor with (?P<shape>\(.*?\)), (?P<device>.+?), (?P<dtype>[\w.]+), requires_grad=(?P<grad>\w+), "
    r"got (?P<got_shape>\(.*?\)), (?P<got_device>.+?), (?P<got_dtype>[\w.]+), (?P<got_grad>\w+)"
)
_NUMBER = re.compile(r"Expected (?P<got>.+) to be equal to and have the type of (?P<value>.+)")
_ADVICE = {
    "shape": 'pad the inputs to a few sizes, or try cache="symbolic values" and compare its results',
    "number": 'pass it as a tensor, keep it constant, or try cache="symbolic values" and compare its results',
    "dtype": "convert the input to one dtype before the call",
    "device": "jit one function for each device",
    "requires_grad": "call it with one grad mode, or jit training and inference apart",
    "other": "keep what the guard checks the same between calls",
}


class _Stage(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...
    @property
    def seconds(self) -> float | None: ...


@dataclass
class Item:
    """One guard's part of the bill.

    Attributes:
        function: whose guard it is.
        variable: what it checks, as the prologue names it.
        varied: ``shape``, ``number``, ``dtype``, ``device``, ``requires_grad`` or ``other``.
        count: recompiles that it caused.
        seconds: what those took.
        values: what it had been compiled for and what came, in the order seen.
        advice: what would help.
    """

    function: str
    variable: str
    varied: str
    count: int = 0
    seconds: float = 0.0
    values: list[str] = field(default_factory=list)

    @property
    def advice(self) -> str:
        """The option that would help."""
        return _ADVICE[self.varied]


def bill(stages: Iterable[_Stage]) -> list[Item]:
    """The bill of a run's stages, the dearest guard first.

    A recompile is put down to the newest cached entry's guard; a compile that no guard caused is not on the bill.
    """
    items: dict[tuple[str, str, str], Item] = {}
    for stage in stages:
        checks = stage.attributes.get(semconv.GUARD_FAILED)
        messages = stage.attributes.get(semconv.GUARD_MESSAGES)
        if stage.name != semconv.SPAN_COMPILE or not checks or not messages:
            continue
        function = str(stage.attributes.get(semconv.FN, ""))
        variable, varied, values = _what_varied(str(checks[0]), str(messages[0]))
        item = items.setdefault((function, variable, varied), Item(function, variable, varied))
        item.count += 1
        item.seconds += stage.seconds or 0.0
        item.values += [value for value in values if value not in item.values]
    return sorted(items.values(), key=lambda item: -item.seconds)


def _what_varied(check: str, message: str) -> tuple[str, str, list[str]]:
    named = _CHECK.match(check)
    variable = named["variable"] if named else check
    tensor = _TENSOR.search(message)
    if tensor is not None:
        for varied, old, new in (
            ("shape", tensor["shape"], tensor["got_shape"]),
            ("device", tensor["device"], tensor["got_device"]),
            ("dtype", tensor["dtype"], tensor["got_dtype"]),
            ("requires_grad", tensor["grad"], tensor["got_grad"]),
        ):
            if old != new:
                dims = _dimensions(old, new) if varied == "shape" else ""
                return variable + dims, varied, [old, new]
    number = _NUMBER.search(message)
    if number is not None:
        return variable, "number", [number["value"], number["got"]]
    return variable, "other", [message]


def _dimensions(old: str, new: str) -> str:
    """``.shape[0]`` for the dimensions in which two shapes differ; empty when their ranks do."""
    try:
        left, right = ast.literal_eval(old), ast.literal_eval(new)
        if len(left) != len(right):
            return ""
        changed = [str(place) for place, (one, other) in enumerate(zip(left, right, strict=True)) if one != other]
    except (ValueError, SyntaxError, TypeError):  # a symbolic size
        return ""
    return f".shape[{', '.join(changed)}]"


class Watch:
    """Warns once for a function that is compiled again and again. One for each jitted function."""

    def __init__(self) -> None:
        self._stages: list[_Ended] = []

    def ended(self, attributes: Mapping[str, Any], seconds: float, *, limit: int) -> str:
        """A compile ended: the warning to give now, or ``""``.

        Args:
            attributes: its span's.
            seconds: what it took.
            limit: warn at this many recompiles of a function; 0 never warns.
        """
        function, known = str(attributes.get(semconv.FN, "")), self._stages
        if not attributes.get(semconv.COMPILE_INDEX) or not limit or len(known) >= limit:
            return ""
        keys = (semconv.FN, semconv.GUARD_FAILED, semconv.GUARD_MESSAGES)
        known.append(_Ended({key: attributes[key] for key in keys if key in attributes}, seconds))
        if len(known) < limit:
            return ""
        lost = sum(stage.seconds for stage in known)
        items = bill(known)
        why = f"{items[0].variable} varied ({', '.join(items[0].values[:6])}): {items[0].advice}" if items else ""
        return f"{function} was recompiled {len(known)} times, {lost:.1f} s; {why or 'see thunder-otel recompiles'}"


@dataclass(frozen=True)
class _Ended:
    attributes: Mapping[str, Any]
    seconds: float
    name: str = semconv.SPAN_COMPILE
