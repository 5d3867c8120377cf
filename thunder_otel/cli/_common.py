"""What the commands share: finding the run, failing in one line, writing JSON."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.progress import track

from thunder_otel.report._reader import NoRun, Run, read_runs

DEFAULT_DIR = Path("thunder_debug")
_T = TypeVar("_T")
WIDTH = 400  # columns where the output is no terminal: nothing is wrapped or cut

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A run folder, or the folder that holds run folders.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for a script to read.")]


def fail(message: str, *, code: int = 2) -> NoReturn:
    """Say one line on stderr and end with ``code``."""
    typer.echo(f"thunder-otel: {message}", err=True)
    raise typer.Exit(code)


def runs_of(folder: Path) -> list[Run]:
    """The runs in a folder; ends the command in one line where there are none."""
    try:
        return read_runs(folder)
    except (NoRun, OSError) as error:
        fail(str(error))


def console() -> Console:
    """A console on stdout: coloured on a terminal, plain and wide elsewhere."""
    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def tracked(items: Sequence[_T], what: str) -> Iterator[_T]:
    """The items, with a bar on stderr that says how many are done, and goes when all are; none off a terminal."""
    silent = len(items) < 2 or not sys.stderr.isatty()
    yield from track(items, what, console=Console(stderr=True), transient=True, disable=silent)


def write_json(value: Any) -> None:
    """A value on stdout as JSON."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False))


def nearest(word: str, known: Iterable[str]) -> str:
    """``; did you mean X?`` for the nearest known word, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""
