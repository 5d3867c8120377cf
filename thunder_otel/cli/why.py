"""``thunder-otel why``: why an op was not fused."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from thunder_otel import semconv
from thunder_otel.cli._common import DEFAULT_DIR, AsJson, Directory, console, fail, nearest, runs_of, write_json
from thunder_otel.report._reader import Run


def why(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Part of an op or of its result, e.g. embedding or t12.")],
    folder: Directory = DEFAULT_DIR,
    as_json: AsJson = False,
) -> None:
    """Say why ops were left out of the fusion regions (recorded at level nvfuser_region and above)."""
    runs = runs_of(folder)
    rows = [row for run in runs for row in _rows(run)]
    found = [row for row in rows if name in row["op"]]
    if as_json:
        write_json(found)
        return
    if not rows and any(semconv.FUSED_COUNT in stage.attributes for run in runs for stage in run.stages):
        fail("no op was left out of the fusion regions", code=1)
    if not rows:
        fail("the run holds no verdicts: record it with THUNDER_DEBUG=nvfuser_region or above", code=1)
    if not found:
        fail(
            f"no op like {name} was left out of a region{nearest(name, {row['op'].split()[0] for row in rows})}", code=1
        )
    table = Table("function", "trace", "op", "executor", "why", box=None)
    for row in found:
        table.add_row(*(Text(str(row[key])) for key in ("function", "kind", "op", "executor", "reason")))
    console().print(table)


def _rows(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "function": stage.attributes.get(semconv.FN, ""),
            "kind": stage.attributes.get(semconv.KIND, ""),
            "executor": stage.attributes.get(semconv.EXECUTOR, ""),
            "op": op,
            "reason": reason,
        }
        for stage in run.stages
        for op, reason in zip(
            stage.attributes.get(semconv.UNFUSED_OPS, ()),
            stage.attributes.get(semconv.UNFUSED_REASONS, ()),
            strict=False,
        )
    ]
