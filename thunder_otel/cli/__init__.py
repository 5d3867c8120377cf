"""``thunder-otel``: look at what was recorded."""

from __future__ import annotations

import typer

from thunder_otel.cli.report import report

app = typer.Typer(no_args_is_help=True, add_completion=True, help="Look at what THUNDER_DEBUG recorded.")


@app.callback()
def _commands() -> None:
    """Makes typer keep the commands' names even while there is only one."""


app.command()(report)


def main() -> None:
    """The console script."""
    app()
