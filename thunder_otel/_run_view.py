"""How a captured run looks: one line in a terminal, tables in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thunder_otel._capture import Run

_STYLE = "text-align:left;vertical-align:top;font-variant-numeric:tabular-nums"


def summary(run: Run) -> str:
    """What was recorded, on one line."""
    compiles = run.compiles
    if not compiles and not run.stages:
        return "<Run: nothing compiled>"
    parts = [
        f"{_count(len(compiles), 'compile')} of {_count(len({compile.fn for compile in compiles}), 'function')}"
        f" in {sum(compile.seconds for compile in compiles):.3f} s",
        _count(len(run.stages), "stage"),
        *(
            _count(len(found), word)
            for found, word in (
                (run.recompiles, "recompile"),
                (run.regions, "region"),
                (run.kernels, "kernel"),
                (run.captures, "graph capture"),
            )
            if found
        ),
        *([f"{failed} failed"] if (failed := sum(compile.error is not None for compile in compiles)) else []),
    ]
    return f"<Run: {', '.join(parts)}>"


def html(run: Run) -> str:
    """The run as tables; traces and kernels open on a click."""
    sections = [
        f"<b>{escape(summary(run)[1:-1])}</b>",
        _table(
            ("compile", "reason", "stages", "seconds", "error"),
            (
                (
                    item.id,
                    item.reason,
                    len(item.stages),
                    f"{item.seconds:.3f}",
                    item.error.message if item.error else "",
                )
                for item in run.compiles
            ),
        ),
        _table(
            ("region", "executor", "kind", "ops", "outputs"),
            ((item.name, item.executor, item.kind, len(item.ops), ", ".join(item.outputs)) for item in run.regions),
        ),
        *(
            _folded(trace.label, trace.text)
            for kind in run.traces
            for trace in run.traces[kind][-1:]  # the one that runs
        ),
        *(_folded(f"{item.name} of {item.region} ({item.language})", item.source) for item in run.kernels),
    ]
    return "".join(section for section in sections if section)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [f"<th style='{_STYLE}'>{escape(name)}</th>" for name in head]
    body = [
        "<tr>" + "".join(f"<td style='{_STYLE}'>{escape(str(value))}</td>" for value in row) + "</tr>" for row in rows
    ]
    return f"<table><tr>{''.join(cells)}</tr>{''.join(body)}</table>" if body else ""


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
