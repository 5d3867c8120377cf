"""``thunder-otel tree``: the compiles of a run as trees in the terminal."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from thunder_otel import semconv
from thunder_otel._compile_tree import Node, compile_tree, late_line
from thunder_otel.cli._common import DEFAULT_DIR, AsJson, Directory, console, runs_of, write_json
from thunder_otel.report._reader import Run, Stage


def tree(
    folder: Directory = DEFAULT_DIR,
    everything: Annotated[bool, typer.Option("--all", help="Fold nothing away.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the compiles of a run: stages, what they took and what they changed."""
    runs = runs_of(folder)
    if as_json:
        write_json([{"folder": str(run.folder), "rank": run.rank, "stages": _as_json(run)} for run in runs])
        return
    out = console()
    for run in runs:
        if len(runs) > 1:
            out.print(Text(f"rank {run.rank}: {run.folder}", style="bold"))
        _print_run(out, run, fold=not everything)


def _print_run(out: Any, run: Run, *, fold: bool) -> None:
    inside = run.children()
    for root in run.roots():
        late = [child for child in inside.get(root.span_id, ()) if _is_late(root, child)]
        early = [child for child in inside.get(root.span_id, ()) if not _is_late(root, child)]
        if root.name == semconv.SPAN_COMPILE:
            out.print(compile_tree(_node(root, {**inside, root.span_id: early}), fold=fold), soft_wrap=True)
        else:
            out.print(late_line(_node(root, inside)), soft_wrap=True)
        for child in late:
            out.print(late_line(_node(child, inside)), soft_wrap=True)


def _is_late(root: Stage, child: Stage) -> bool:
    """Whether a stage began after its compile ended: a kernel or a graph, when the function first ran."""
    return root.end_ns is not None and child.start_ns >= root.end_ns


def _node(stage: Stage, inside: dict[str, list[Stage]]) -> Node:
    return Node(
        name=stage.name,
        attributes=dict(stage.attributes),
        seconds=stage.seconds,
        error=f"{stage.error.type}: {stage.error.message}" if stage.error is not None else "",
        texts=tuple(payload.size for payload in stage.payloads),
        children=tuple(_node(child, inside) for child in inside.get(stage.span_id, ())),
    )


def _as_json(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "name": stage.name,
            "span_id": stage.span_id,
            "parent_id": stage.parent_id,
            "start_ns": stage.start_ns,
            "end_ns": stage.end_ns,
            "error": stage.error and vars(stage.error),
            "attributes": dict(stage.attributes),
            "texts": [vars(payload) for payload in stage.payloads],
        }
        for stage in run.stages
    ]
