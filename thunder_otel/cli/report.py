"""``thunder-otel report``: one HTML file that shows a run, or all ranks of one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from thunder_otel.report._reader import NoRun, read_runs
from thunder_otel.report.html import WrittenReport, write_report

_DEFAULT = Path("thunder_debug")


def report(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A run folder, or the thunder_debug folder: its latest run, all ranks."),
    ] = _DEFAULT,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The HTML file.")] = Path(
        "report.html"
    ),
    redact: Annotated[
        bool, typer.Option("--redact", help="Replace names, constants, paths and shapes, each by the same word.")
    ] = False,
) -> None:
    """Write a self-contained HTML report of what was recorded."""
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        runs = read_runs(folder)
        columns = (TextColumn("writing"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Progress(*columns, console=errors, transient=True, disable=not sys.stderr.isatty()) as progress:
            task = progress.add_task("report")
            written = write_report(
                runs,
                output,
                redact=redact,
                progress=lambda done, whole: progress.update(task, completed=done, total=whole),
            )
    except (NoRun, OSError) as error:
        errors.print(f"thunder-otel report: {error}", markup=False)
        raise typer.Exit(2) from None
    torn = sum(run.torn for run in runs)
    if torn:
        errors.print(f"thunder-otel report: {torn} unreadable lines of events were left out", markup=False)
    typer.echo(_said(written, len(runs)))


def _said(written: WrittenReport, ranks: int) -> str:
    ranks_said = f" from {ranks} ranks" if ranks > 1 else ""
    return f"{written.path} ({written.size / 1e6:.1f} MB, {written.texts} texts{ranks_said})"
