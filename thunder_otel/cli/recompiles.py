"""``thunder-otel recompiles``: why functions were compiled more than once, and what it cost."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from thunder_otel import semconv
from thunder_otel._compile_tree import human_seconds
from thunder_otel._recompile_bill import bill
from thunder_otel.cli._common import DEFAULT_DIR, AsJson, Directory, console, runs_of, write_json
from thunder_otel.report._reader import Run


def recompiles(folder: Directory = DEFAULT_DIR, as_json: AsJson = False) -> None:
    """List every compile after a function's first: the cached entries, the guard that failed in each, the seconds."""
    runs = runs_of(folder)
    found = [row for run in runs for row in _rows(run)]
    if as_json:
        write_json(found)
        return
    if not found:
        console().print("no function was compiled more than once")
        return
    table = Table("function", "compile", "entry", "guard that failed", "thunder's words", "seconds", box=None)
    for row in found:
        head = [row["function"], str(row["compile"])]
        for position, guard in enumerate(row["guards"] or [{"entry": "", "check": "", "message": row["reason"]}]):
            seconds = human_seconds(row["seconds"]) if position == 0 else ""
            words = [str(guard["entry"]), guard["check"], guard["message"]]
            table.add_row(*map(Text, [*(head if position == 0 else ["", ""]), *words, seconds]))
    console().print(table)
    lost = human_seconds(sum(row["seconds"] or 0 for row in found))
    console().print(f"{len(found)} recompile{'' if len(found) == 1 else 's'}, {lost} in all")
    for item in bill(stage for run in runs for stage in run.stages):
        times = "once" if item.count == 1 else f"{item.count} times"
        varied = f"{item.function}: {item.variable} varied over {', '.join(item.values)}: {times}"
        console().print(f"{varied}, {human_seconds(item.seconds)}; {item.advice}", markup=False)


def _rows(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "rank": run.rank,
            "function": stage.attributes.get(semconv.FN, ""),
            "compile": stage.attributes.get(semconv.COMPILE_INDEX),
            "reason": stage.attributes.get(semconv.COMPILE_REASON, ""),
            "seconds": stage.seconds,
            "guards": [
                {"entry": entry, "check": check, "message": message}
                for entry, check, message in zip(
                    stage.attributes.get(semconv.GUARD_ENTRIES, ()),
                    stage.attributes.get(semconv.GUARD_FAILED, ()),
                    stage.attributes.get(semconv.GUARD_MESSAGES, ()),
                    strict=False,
                )
            ],
        }
        for stage in run.stages
        if stage.name == semconv.SPAN_COMPILE and stage.attributes.get(semconv.COMPILE_INDEX)
    ]
