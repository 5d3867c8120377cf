"""``thunder-otel diff``: what two runs, or two texts of one, differ in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from thunder_otel._compile_tree import human_seconds
from thunder_otel.cli._artefacts import find, read
from thunder_otel.cli._common import DEFAULT_DIR, AsJson, console, fail, runs_of, write_json
from thunder_otel.report._compare import Comparison, compare, text_diff
from thunder_otel.report._reader import Run


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="A run folder, or the id of a text.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The run folder or text to compare it with.")],
    folder: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="The run that the texts are from.")
    ] = DEFAULT_DIR,
    max_regions_lost: Annotated[
        int | None, typer.Option(help="Fail only when more regions than that are gone.")
    ] = None,
    max_kernels_lost: Annotated[
        int | None, typer.Option(help="Fail only when more kernels than that are gone.")
    ] = None,
    max_time_ratio: Annotated[
        float | None, typer.Option(help="Fail only when compiling took more than that times as long.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two runs or two texts; numbers in names count as the same.

    Ends in 0 when nothing differs, in 1 when something does. With budgets (--max-...) it ends in 1 only when one of
    them is exceeded, so that a CI job can use it.
    """
    if not (Path(before).is_dir() and Path(after).is_dir()):
        _texts(before, after, folder)
        return
    found = compare(_only(before), _only(after))
    broken = _broken(found, max_regions_lost, max_kernels_lost, max_time_ratio)
    if as_json:
        write_json({**vars(found), "changes": [vars(change) for change in found.changes], "exceeded": broken})
    else:
        _print(found, broken)
    budgets = (max_regions_lost, max_kernels_lost, max_time_ratio)
    if broken or (found.changes and all(budget is None for budget in budgets)):
        raise typer.Exit(1)


def _texts(before: str, after: str, folder: Path) -> None:
    runs = runs_of(folder)
    first, second = find(runs, before), find(runs, after)
    lines = list(text_diff(read(first), read(second), names=(first.name, second.name)))
    for line in lines:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        console().print(Text(line, style=style), soft_wrap=True)
    if lines:
        raise typer.Exit(1)


def _only(folder: str) -> Run:
    runs = runs_of(Path(folder))
    if len(runs) > 1:
        fail(f"{folder} holds {len(runs)} ranks: name one run folder (`thunder-otel ranks` compares ranks)")
    return runs[0]


def _broken(found: Comparison, regions: int | None, kernels: int | None, ratio: float | None) -> list[str]:
    broken = []
    if regions is not None and found.regions_lost > regions:
        broken.append(f"{found.regions_lost} regions were lost; at most {regions} may be")
    if kernels is not None and found.kernels_lost > kernels:
        broken.append(f"{found.kernels_lost} kernels were lost; at most {kernels} may be")
    if ratio is not None and found.time_ratio > ratio:
        broken.append(f"compiling took {found.time_ratio:.2f} times as long; at most {ratio:g} is allowed")
    return broken


def _print(found: Comparison, broken: list[str]) -> None:
    out = console()
    table = Table("", "before", "after", box=None)
    table.add_row("regions", str(found.regions_before), str(found.regions_after))
    table.add_row("kernels", str(found.kernels_before), str(found.kernels_after))
    table.add_row("time", human_seconds(found.seconds_before), human_seconds(found.seconds_after))
    out.print(table)
    for change in found.changes:
        words = f"{change.what}  {change.where}: {change.before} -> {change.after}"
        out.print(Text(words, style="yellow"), soft_wrap=True)
    if not found.changes:
        out.print("no stage, text, region or kernel differs")
    for line in broken:
        out.print(Text(f"exceeded: {line}", style="bold red"), soft_wrap=True)
