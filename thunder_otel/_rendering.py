"""Trace text, rendered by thunder itself but without a trace of the rendering.

Printing a trace draws object names from counters that later traces share, fills the bound symbols' import and object
contexts, and caches the signature: printed half way, it can change the program that follows (lightning-thunder#1776).
So thunder prints a shallow copy here, and what printing leaves on the bound symbols is taken back.

Printing is also the most expensive thing we do, and most passes leave most symbols as they are: the lines of a bound
symbol are rendered once a compile and reused while the symbol stays what it was.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

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


@dataclass(slots=True)
class _Lines:
    """What is remembered of a bound symbol; ``symbol`` keeps it alive, so that its id stays its own."""

    symbol: Any
    shape: tuple[Any, ...]
    lines: list[str]
    contexts: _Contexts


class Renderer:
    """Renders the traces of one compile; forget it when the compile ends."""

    def __init__(self) -> None:
        self._known: dict[int, _Lines] = {}

    def render(self, trace: Any) -> Rendering:
        """The text of a ``TraceCtx``; a trace that cannot be printed gives a Rendering with an error instead."""
        try:
            text = self._print(trace)
        except Exception as error:
            return Rendering("", "", f"{type(error).__name__}: {error}")
        provenance = trace.get_provenance()
        head = str(provenance) if provenance is not None else ""
        if head and text.startswith(head):
            return Rendering(head, text[len(head) :].removeprefix("\n"))
        return Rendering("", text)

    def _print(self, trace: Any) -> str:
        view = copy.copy(trace)
        view.names = set(trace.names)
        view._object_ctx = dict(trace._object_ctx)
        symbols = [_SymbolView(self._known, bsym) for bsym in trace.bound_symbols]
        view._bound_symbols = symbols
        view.scopes = [symbols]
        return str(view.python(print_depth=-1))


class _SymbolView:
    """Stands for a bound symbol while thunder prints a trace; everything but the printing is the symbol's own."""

    __slots__ = ("_bsym", "_fresh", "_known")

    def __init__(self, known: dict[int, _Lines], bsym: Any) -> None:
        self._known = known
        self._bsym = bsym
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
        bsym = self._bsym
        shape = _shape(bsym)
        known = self._fresh or self._known.get(id(bsym))
        if known is not None and known.shape == shape:
            return known
        before = _contexts_of(bsym, [])
        try:
            contexts = tuple(dict(part) for part in bsym.gather_ctxs())
            lines = bsym.python(indent=indent, print_depth=depth)
            named = any(len(now) != len(was) for now, was, names in before if names)
        finally:
            for now, was, _ in before:
                if now or was:
                    now.clear()
                    now.update(was)
        fresh = _Lines(bsym, shape, lines, contexts)  # type: ignore[arg-type]
        if named or contexts[2]:
            self._fresh = fresh  # object names depend on the trace that is printed: good for this trace only
        else:
            self._known[id(bsym)] = fresh
        return fresh


def _shape(bsym: Any) -> tuple[Any, ...]:
    """What a bound symbol's lines depend on, as far as passes change it in place."""
    header = bsym.header
    return (
        id(bsym.sym),
        id(bsym.args),
        id(bsym.kwargs),
        id(bsym.output),
        id(bsym.subsymbols),
        len(bsym.subsymbols),
        header if isinstance(header, str) else tuple(header),
        id(bsym._call_ctx),
    )


def _contexts_of(bsym: Any, found: list[tuple[dict[str, Any], dict[str, Any], bool]]) -> list[Any]:
    """The context dictionaries of a symbol and all under it, each with a copy; True marks those that hold names."""
    found.append((bsym._import_ctx, dict(bsym._import_ctx), False))
    found.append((bsym._object_ctx, dict(bsym._object_ctx), True))
    for sub in bsym.subsymbols:
        _contexts_of(sub, found)
    return found
