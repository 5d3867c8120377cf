"""``thunder-otel show``: one text, coloured on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.syntax import Syntax

from thunder_otel.cli._artefacts import find, read
from thunder_otel.cli._common import DEFAULT_DIR, runs_of

_LEXERS = {".py": "python", ".cpp": "cpp", ".cu": "cuda", ".json": "json"}


def show(
    artefact: Annotated[str, typer.Argument(metavar="ID", help="An id that `ls` prints, or a file's name.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The run.")] = DEFAULT_DIR,
) -> None:
    """Print one text of a run."""
    found = find(runs_of(folder), artefact)
    text = read(found)
    if sys.stdout.isatty():
        Console().print(Syntax(text, _LEXERS.get(found.path.suffix, "text"), background_color="default"))
    else:
        sys.stdout.write(text)
