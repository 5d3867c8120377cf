"""The commands of ``thunder-otel``; each stands in a module of its own name."""

from __future__ import annotations

import typer

from thunder_otel.cli.diff import diff
from thunder_otel.cli.doctor import doctor
from thunder_otel.cli.export import export
from thunder_otel.cli.fetch import fetch
from thunder_otel.cli.ls import ls
from thunder_otel.cli.ranks import ranks
from thunder_otel.cli.recompiles import recompiles
from thunder_otel.cli.recover import recover
from thunder_otel.cli.report import report
from thunder_otel.cli.resend import resend
from thunder_otel.cli.show import show
from thunder_otel.cli.tree import tree
from thunder_otel.cli.why import why

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Look at what THUNDER_DEBUG recorded. DIR is a run folder, or the thunder_debug folder: then its latest run.",
)
for command in (tree, report, ls, show, diff, why, recompiles, ranks, export, doctor, recover, resend, fetch):
    app.command()(command)


def main() -> None:
    """The console script."""
    app()
