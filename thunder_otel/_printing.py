"""The lines of ordinary bound symbols, as thunder prints them, at a fraction of its cost.

thunder's printer flattens every argument three times, so that it can name any object there is. Nearly all arguments
are proxies, numbers and words, and for those a line is put together here. Everything else is left to thunder, and so
is the first symbol of each kind in a compile, whose lines must then equal ours: a version of thunder that prints
otherwise costs time, never a wrong line.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

_Imports = dict[str, Any]


class LinePrinter:
    """Prints bound symbols of one compile; forget it when the compile ends."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[int, bool], tuple[Any, _Imports | None]] = {}  # what alike symbols import, if trusted
        self._names: dict[tuple[int, bool], tuple[Any, str]] = {}
        self._comments: dict[int, tuple[Any, str]] = {}  # proxy -> its name and type; both keep their keys alive

    def knows(self, bsym: Any) -> bool:
        """Whether a symbol of this kind was compared with thunder's printing (see :meth:`compare`)."""
        return _kind(bsym) in self._kinds

    def compare(self, bsym: Any, lines: list[str], imports: _Imports, objects: _Imports) -> None:
        """Look at how thunder printed the first symbol of a kind, to trust our printing of the ones to come, or not.

        Args:
            bsym: the symbol.
            lines: its lines at the top level of a trace, and those of all under it.
            imports: what thunder says the lines need to import.
            objects: the objects that it had to name.
        """
        used: set[str] = set()
        ours = self._lines(bsym, 1, "", used)
        if ours is None:
            return  # nothing to compare; the next of its kind may be plainer
        basics = _basics()
        own = {name: module for name, module in imports.items() if name not in basics}
        alike = ours == lines and not objects and imports == own | {name: basics[name] for name in used}
        self._kinds[_kind(bsym)] = (bsym.sym, own if alike else None)

    def print(self, bsym: Any) -> tuple[list[str], _Imports] | None:
        """A symbol's lines at the top level of a trace, and what they import; ``None``: let thunder print it."""
        imports = self._kinds[_kind(bsym)][1]
        if imports is None:
            return None
        used: set[str] = set()
        lines = self._lines(bsym, 1, "", used)
        if lines is None:
            return None
        return lines, imports | {name: module for name, module in _basics().items() if name in used}

    def _lines(self, bsym: Any, indent: int, comment: str, used: set[str] | None) -> list[str] | None:
        own = self._own_lines(bsym, used)
        if own is None:
            return None
        start = "  " * indent + comment
        lines = [start + line for line in own]
        for sub in bsym.subsymbols:
            inner = self._lines(sub, indent + 1, "# ", None)  # the imports of a comment are not wanted
            if inner is None:
                return None
            lines += inner
        return lines

    def _own_lines(self, bsym: Any, used: set[str] | None) -> list[str] | None:
        if bsym.header:
            return None
        values = [_argument(value, used) for value in (*bsym.args, *bsym.kwargs.values())]
        if None in values:
            return None
        if bsym.sym.python_printer is not _default_printer():
            return _special(bsym, used)
        for position, name in enumerate(bsym.kwargs, len(bsym.args)):
            values[position] = f"{name}={values[position]}"
        output, comment = bsym.output, ""
        if output is None or (isinstance(output, (tuple, list)) and not output):
            result = ""
        elif _is_proxy(output):
            result, comment = f"{output.name} = ", self._comment(output)
        else:
            names = _names(output, numbers=False)  # thunder writes an underscore for a number that comes out
            if names is None:
                return None
            result = f"{names} = "
        return [f"{result}{self._name(bsym)}({', '.join(values)}){comment}"]  # type: ignore[arg-type]

    def _name(self, bsym: Any) -> str:
        kind = _kind(bsym)
        known = self._names.get(kind)
        if known is None:
            known = self._names[kind] = (bsym.sym, bsym.name_with_module())
        return known[1]

    def _comment(self, proxy: Any) -> str:
        known = self._comments.get(id(proxy))
        if known is None:
            known = self._comments[id(proxy)] = (proxy, f'  # {proxy.name}: "{proxy.type_string()}"')
        return known[1]


def _kind(bsym: Any) -> tuple[int, bool]:
    return id(bsym.sym), bsym._call_ctx is None


def _special(bsym: Any, used: set[str] | None) -> list[str] | None:
    """The lines of a symbol that prints itself: it takes its values as they are where they need no other name."""
    output = bsym.output
    if not (_is_proxy(output) or _argument(output, used) is not None):
        return None
    printed = bsym.sym.python_printer(bsym, output, bsym.args, bsym.kwargs)
    return [printed] if isinstance(printed, str) else list(printed)


def _argument(value: Any, used: set[str] | None) -> str | None:
    """A value as an argument, or ``None`` where thunder is to print it."""
    kind: type = type(value)
    if kind is str:
        return repr(value)
    if _is_proxy(value):
        name: str = value.name
        return name
    if kind is tuple or kind is list:
        return _names(value)
    plain = _plain(value, kind)
    if plain is not None:
        return plain
    name_of = _basic_name(kind)
    if name_of is None:
        return None
    if used is not None:
        used.add(name_of)
    return str(value).replace("thunder.", "") if name_of == "dtypes" else f'devices.Device("{value.device_str()}")'


def _plain(value: Any, kind: type) -> str | None:
    """A number, or what is printed like one."""
    if kind is int or kind is bool or value is None:
        return str(value)
    if kind is slice and not all(part is None or type(part) is int for part in (value.start, value.stop, value.step)):
        return None
    if kind in _plain_kinds() or (kind is type and value in (int, float, bool, complex)):
        text: str = sys.modules["thunder.core.baseutils"].print_base_printable(value)
        return text
    return None


@functools.cache
def _plain_kinds() -> frozenset[type]:
    torch = sys.modules["torch"]
    return frozenset({float, slice, type(...), torch.dtype, torch.device})


def _names(values: Any, *, numbers: bool = True) -> str | None:
    """A collection of proxies and numbers, which prints like Python's own but for the quotes around names."""
    kind = type(values)
    if kind is not tuple and kind is not list:
        return None
    parts = []
    for value in values:
        if _is_proxy(value):
            parts.append(value.name)
        elif numbers and (plain := _plain(value, type(value))) is not None:
            parts.append(plain)
        elif type(value) in (tuple, list) and (inner := _names(value, numbers=numbers)) is not None:
            parts.append(inner)
        else:
            return None
    if kind is list:
        return f"[{', '.join(parts)}]"
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _is_proxy(value: Any) -> bool:
    return isinstance(value, _proxy_class())


@functools.cache
def _proxy_class() -> type:
    found: type = sys.modules["thunder.core.baseutils"].ProxyInterface
    return found


@functools.cache
def _default_printer() -> Any:
    return sys.modules["thunder.core.symbol"].default_python_printer


@functools.cache
def _basics() -> dict[str, Any]:
    """The modules that values of thunder's own types are printed with, by the name they have there."""
    return {name: sys.modules[f"thunder.core.{name}"] for name in ("dtypes", "devices")}


@functools.cache
def _basic_name(kind: type) -> str | None:
    basics = _basics()
    if issubclass(kind, basics["dtypes"].dtype):
        return "dtypes"
    return "devices" if issubclass(kind, basics["devices"].Device) else None
