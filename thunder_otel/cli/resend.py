"""``thunder-otel resend``: send what no collector has taken yet."""

from __future__ import annotations

from typing import Annotated

import typer

from thunder_otel.cli._common import DEFAULT_DIR, AsJson, Directory, fail, runs_of, tracked, write_json


def resend(
    folder: Directory = DEFAULT_DIR,
    timeout: Annotated[float, typer.Option(help="Seconds to go on while the collector takes nothing.")] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Send each span and long text that was not delivered yet, once, to where OTEL_EXPORTER_OTLP_* say."""
    from thunder_otel_exporters._delivered import FolderInUse  # noqa: PLC0415 - gRPC and the SDK are slow to load
    from thunder_otel_exporters.resend import resend as resend_folder  # noqa: PLC0415

    rows = []
    for run in tracked(runs_of(folder), "sending runs"):
        try:
            rows.append((run.folder, resend_folder(run.folder, timeout=timeout)))
        except (FolderInUse, OSError, ValueError) as error:
            fail(str(error))
    if as_json:
        write_json([{"folder": str(path), **vars(sent)} for path, sent in rows])
    else:
        for path, sent in rows:
            before = f", {sent.before} had been delivered before" if sent.before else ""
            typer.echo(f"{path}: {sent.sent} spans and {sent.texts} long texts sent to {sent.target}{before}")
            if sent.left:
                typer.echo(f"{path}: {sent.left} spans are still not delivered ({sent.reason})", err=True)
    if any(sent.left for _, sent in rows):
        raise typer.Exit(1)
