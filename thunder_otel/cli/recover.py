"""``thunder-otel recover``: what a process that died was doing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thunder_otel.cli._common import DEFAULT_DIR, AsJson, Directory, fail, runs_of, tracked, write_json


def recover(
    folder: Directory = DEFAULT_DIR,
    force: Annotated[bool, typer.Option("--force", help="Also while the process seems to be alive.")] = False,
    as_json: AsJson = False,
) -> None:
    """Name the stages that were open when a process died, and write finished spans of them for `resend`."""
    from thunder_otel_exporters.recover import Recovered, StillRunning  # noqa: PLC0415 - the SDK is slow to load
    from thunder_otel_exporters.recover import recover as recover_folder  # noqa: PLC0415

    found: list[tuple[Path, Recovered]] = []
    for run in tracked(runs_of(folder), "reading runs"):
        try:
            found.append((run.folder, recover_folder(run.folder, force=force)))
        except (StillRunning, OSError) as error:
            fail(f"{error}{'; --force recovers it all the same' if isinstance(error, StillRunning) else ''}")
    if as_json:
        write_json([_as_json(path, recovered) for path, recovered in found])
        return
    for path, recovered in found:
        _print(path, recovered)


def _as_json(path: Path, recovered: object) -> dict[str, object]:
    values = dict(vars(recovered))
    values["open_stages"] = [vars(stage) for stage in values["open_stages"]]
    return {"folder": str(path), **values, "path": values["path"] and str(values["path"])}


def _print(folder: Path, recovered: object) -> None:
    values = vars(recovered)
    stages = values["open_stages"]
    if not stages:
        typer.echo(f"{folder}: no stage was open")
    for stage in stages:
        typer.echo(
            f"{folder}: {'  ' * stage.depth}{stage.name} of {stage.fn} was open, for at least {stage.seconds:.1f} s"
        )
    if stages and values["last_good"]:
        typer.echo(f"last good trace: {folder / values['last_good']}")
    if values["finished"]:
        typer.echo(f"{values['finished']} finished stages had no span yet; they have one now")
    if values["torn"]:
        typer.echo(f"{values['torn']} events were torn and are left out")
    if values["path"] is not None:
        typer.echo(f"spans: {values['path']} (`thunder-otel resend {folder}` sends them)")
