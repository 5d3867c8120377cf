"""``thunder-otel ranks``: where the ranks of a launch part, and which stages take much longer on some of them."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from thunder_otel._compile_tree import human_seconds
from thunder_otel.cli._common import DEFAULT_DIR, AsJson, Directory, console, fail, tracked, write_json
from thunder_otel.report._ranks import Ranks, compare
from thunder_otel.report._reader import NoRun


def ranks(folder: Directory = DEFAULT_DIR, as_json: AsJson = False) -> None:
    """Compare the ranks of the latest launch: the first stage, op, guard or cache decision in which each differs."""
    try:
        found = compare(folder, track=lambda ranks: tracked(ranks, "comparing ranks"))
    except (NoRun, OSError) as error:
        fail(str(error))
    if as_json:
        write_json(asdict(found))
        return
    _print(found)


def _print(found: Ranks) -> None:
    out = console()
    if found.differences:
        table = Table("rank", "differs in", "compile", "stage", "there", f"on rank {found.first_rank}", box=None)
        for one in found.differences:
            table.add_row(*map(Text, (str(one.rank), one.what, one.compile, one.stage, one.here, one.there)))
        out.print(table)
    out.print(f"{found.count} ranks, {len(found.differences)} differ from rank {found.first_rank}")
    for spread in found.spreads:
        out.print(
            f"{spread.stage}: {human_seconds(spread.slowest)} on rank {spread.slowest_rank}, "
            f"median {human_seconds(spread.median)}",
            markup=False,
        )
    for line in found.unreadable:
        out.print(f"left out: {line}", markup=False)
