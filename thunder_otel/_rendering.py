"""Trace text, rendered by thunder itself but without a trace of the rendering.

Printing a trace draws object names from counters that later traces share, fills the bound symbols' import and object
contexts, and caches the signature: printed half way, it can change the program that follows (lightning-thunder#1776).
So thunder prints a shallow copy here, and what printing leaves on the bound symbols is taken back.

Printing is also the most expensive thing we do, and most passes leave most symbols as they are: the lines of a bound
symbol are rendered once a compile and reused while the symbol stays what it was.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from thunder_otel._printing import LinePrinter

_Contexts = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Rendering:
    """A trace's text: ``provenance`` is its first line (or empty), ``body`` all that follows it."""

    provenance: str
    body: str
    error: str = ""

    @property
    def text(self) -> str:
        """What ``str(trace)`` gives."""
        return f"{self.provenance}\n{self.body}" if self.provenance and self.body else self.provenance or self.body


_Identity = tuple[Any, ...]
# What is compared by value; everything else (proxies above all) by being the same object.
_BY_VALUE = frozenset({str, int, bool, type(None), tuple, list, dict})


def identity(bsym: Any) -> _Identity:
    """Equal for two bound symbols that print alike (the other way round need not hold), while both are alive.

    Passes copy symbols they do not change (dead code elimination copies every one), so it looks at what a symbol is
    made of.
    """
    header, output, kwargs = bsym.header, bsym.output, bsym.kwargs
    return (
        id(bsym.sym),
        _items(bsym.args),
        _value(kwargs) if kwargs else None,
        _value(output) if type(output) in _BY_VALUE else id(output),
        _inside(bsym) if bsym.subsymbols else None,
        header if isinstance(header, str) else tuple(header),
        id(bsym._call_ctx),
        bsym.source_filename,
        bsym.source_positions,
    )


def _inside(bsym: Any) -> tuple[Any, ...]:
    """All symbols under one; dead code elimination takes no-ops out of these lists in place."""
    return tuple([(id(sub), _inside(sub)) if sub.subsymbols else id(sub) for sub in bsym.subsymbols])


def _items(values: Any) -> tuple[Any, ...]:
    return tuple([_value(value) if type(value) in _BY_VALUE else id(value) for value in values])


def _value(value: Any) -> Any:
    kind = type(value)
    if kind is tuple or kind is list:
        return (kind, _items(value))
    if kind is dict:
        return (kind, tuple(value), _items(value.values()))
    return (kind, value)


@dataclass(slots=True)
class _Lines:
    """What is remembered of a bound symbol; ``symbol`` keeps it alive, so that the ids in its identity stay its own."""

    symbol: Any
    lines: list[str]
    contexts: _Contexts


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Equal for two traces that print alike below the provenance line (the other way round need not hold).

    ``alive`` keeps what the ids in ``symbols`` stand for, so that no later object can be taken for one of them.
    """

    head: tuple[Any, ...]
    symbols: tuple[_Identity, ...]
    alive: tuple[Any, ...] = field(compare=False, repr=False)


def fingerprint(trace: Any) -> Fingerprint:
    """The fingerprint of a ``TraceCtx``: a small part of the cost of printing it."""
    signature = trace._siginfo
    head = (signature,) if signature is not None else (trace.fn, trace.args, trace.kwargs)
    bsyms = tuple(trace.bound_symbols)
    return Fingerprint(tuple(map(id, head)), tuple(map(identity, bsyms)), (head, bsyms))


class Renderer:
    """Renders the traces of one compile; forget it when the compile ends."""

    def __init__(self) -> None:
        self._known: dict[_Identity, _Lines] = {}
        self._printer = LinePrinter()

    def render(self, trace: Any, known: Fingerprint | None = None) -> Rendering:
        """The text of a ``TraceCtx``; a trace that cannot be printed gives a Rendering with an error instead.

        Args:
            trace: what to print.
            known: its fingerprint, where that was taken already.
        """
        try:
            text = self._print(trace, known or fingerprint(trace))
        except Exception as error:
            return Rendering("", "", f"{type(error).__name__}: {error}")
        provenance = trace.get_provenance()
        head = str(provenance) if provenance is not None else ""
        if head and text.startswith(head):
            return Rendering(head, text[len(head) :].removeprefix("\n"))
        return Rendering("", text)

    def _print(self, trace: Any, known: Fingerprint) -> str:
        view = copy.copy(trace)
        view.names = set(trace.names)
        view._object_ctx = dict(trace._object_ctx)
        symbols = [
            _SymbolView(self._known, self._printer, bsym, key)
            for bsym, key in zip(trace.bound_symbols, known.symbols, strict=True)
        ]
        view._bound_symbols = symbols
        view.scopes = [symbols]
        return str(view.python(print_depth=-1))


class _SymbolView:
    """Stands for a bound symbol while thunder prints a trace; everything but the printing is the symbol's own."""

    __slots__ = ("_bsym", "_fresh", "_key", "_known", "_printer")

    def __init__(self, known: dict[_Identity, _Lines], printer: LinePrinter, bsym: Any, key: _Identity) -> None:
        self._known = known
        self._printer = printer
        self._bsym = bsym
        self._key = key
        self._fresh: _Lines | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bsym, name)

    def gather_ctxs(self) -> _Contexts:
        return self._rendered(1, -1).contexts

    def python(self, indent: int, commented: bool = False, print_depth: int = 1) -> list[str]:
        if commented or indent != 1 or print_depth != -1:  # no version of thunder asks this of a top-level symbol
            lines: list[str] = self._bsym.python(indent, commented, print_depth)
            return lines
        return self._rendered(indent, print_depth).lines

    def _rendered(self, indent: int, depth: int) -> _Lines:
        if self._fresh is None:
            self._fresh = self._known.get(self._key) or self._print(indent, depth)
        return self._fresh

    def _print(self, indent: int, depth: int) -> _Lines:
        bsym, printer = self._bsym, self._printer
        compared = printer.knows(bsym)
        printed = printer.print(bsym) if compared else None
        if printed is not None:
            quick = self._known[self._key] = _Lines(bsym, printed[0], (printed[1], bsym._get_call_ctx(), {}))
            return quick
        before = _contexts_of(bsym, [])
        try:
            # not gather_ctxs(), which prints all arguments once more to fill the context that import_ctx() has filled
            contexts = (dict(bsym.import_ctx()), dict(bsym._get_call_ctx()), dict(bsym._object_ctx))
            lines = bsym.python(indent=indent, print_depth=depth)
            named = any(len(now) != len(was) for now, was, names in before if names)
        finally:
            for now, was, _ in before:
                if now or was:
                    now.clear()
                    now.update(was)
        fresh = _Lines(bsym, lines, contexts)
        if not compared:
            printer.compare(bsym, lines, contexts[0], contexts[2])
        if not (named or contexts[2]):  # object names depend on the trace that is printed: good for this trace only
            self._known[self._key] = fresh
        return fresh


def _contexts_of(bsym: Any, found: list[tuple[dict[str, Any], dict[str, Any], bool]]) -> list[Any]:
    """The context dictionaries of a symbol and all under it, each with a copy; True marks those that hold names."""
    found.append((bsym._import_ctx, dict(bsym._import_ctx), False))
    found.append((bsym._object_ctx, dict(bsym._object_ctx), True))
    for sub in bsym.subsymbols:
        _contexts_of(sub, found)
    return found
