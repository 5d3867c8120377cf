"""``thunder-otel fetch``: long texts, put together again from the log records that carried them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from thunder_otel.cli._common import fail


def fetch(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="OTLP JSON lines with log records, or folders of such files."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where to write them.")] = Path("texts"),
    span: Annotated[str, typer.Option(metavar="ID", help="Only the texts of this span.")] = "",
    key: Annotated[str, typer.Option(metavar="NAME", help="Only the texts of this attribute.")] = "",
) -> None:
    """Write the texts that were too long for their spans, byte for byte as they were recorded."""
    from thunder_otel_exporters.fetch import fetch as fetch_texts  # noqa: PLC0415 - only wanted here

    files = [path for source in sources for path in (sorted(source.glob("*.json*")) if source.is_dir() else [source])]
    written = broken = 0
    try:
        output.mkdir(mode=0o700, parents=True, exist_ok=True)
        for text in fetch_texts(files, span_id=span, key=key):
            if text.data is None:
                broken += 1
                typer.echo(f"{text.key} of span {text.span_id}: {text.problem}", err=True)
                continue
            name = re.sub(r"[^\w.-]", "_", f"{text.span_id}-{text.key}")
            (output / f"{name}.txt").write_bytes(text.data)
            written += 1
    except OSError as error:
        fail(f"{error.filename or output}: {error.strerror or error}")
    typer.echo(f"{written} texts written to {output}")
    if broken or not written:
        raise typer.Exit(1)
