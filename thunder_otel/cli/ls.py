"""``thunder-otel ls``: the texts of a run."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from thunder_otel import semconv
from thunder_otel._compile_tree import human_bytes
from thunder_otel.cli._artefacts import artefacts
from thunder_otel.cli._common import DEFAULT_DIR, AsJson, Directory, console, fail, nearest, runs_of, write_json

FOLDERS = ("traces", "regions", "kernels", "torch")


def ls(
    folder: Directory = DEFAULT_DIR,
    kind: Annotated[str, typer.Option(metavar="KIND", help=f"Only one of: {', '.join(FOLDERS)}.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the texts of a run: trace texts, regions, kernels, torch's own artefacts."""
    if kind and kind not in FOLDERS:
        fail(f"--kind={kind} is not one of {', '.join(FOLDERS)}{nearest(kind, FOLDERS)}")
    found = [one for one in artefacts(runs_of(folder)) if not kind or one.folder == kind]
    if as_json:
        keys = ("id", "sha256", "folder", "size", "lines")
        write_json(
            [
                {key: getattr(one, key) for key in keys} | {"path": str(one.path), "stage": one.stage.name}
                for one in found
            ]
        )
        return
    table = Table("id", "kind", "size", "lines", "stage", "file", box=None, pad_edge=False)
    for one in found:
        trace = str(one.stage.attributes.get(semconv.KIND, ""))
        table.add_row(
            one.id, one.folder, human_bytes(one.size), str(one.lines), Text(f"{one.stage.name} {trace}"), Text(one.name)
        )
    console().print(table)
