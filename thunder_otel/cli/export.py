"""``thunder-otel export``: a run for other tools' viewers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thunder_otel.cli._common import DEFAULT_DIR, Directory, fail, runs_of, tracked


def export(
    folder: Directory = DEFAULT_DIR,
    perfetto: Annotated[bool, typer.Option("--perfetto", help="A trace that ui.perfetto.dev opens.")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file.")] = Path("thunder.json"),
) -> None:
    """Write the stages as a Perfetto trace, to be opened beside torch.profiler's."""
    from thunder_otel_exporters.perfetto import write  # noqa: PLC0415 - only wanted here

    if not perfetto:
        fail("name a format: --perfetto")
    runs = runs_of(folder)
    try:
        count = write(tracked(runs, "writing runs"), output)
    except OSError as error:
        fail(f"{output} cannot be written ({error.strerror or error})")
    typer.echo(
        f"{output}: {count} stages of {len(runs)} run{'' if len(runs) == 1 else 's'}; open it at ui.perfetto.dev"
    )
