"""``thunder-otel doctor``: will it record here, where will it go, and what is in the way."""

from __future__ import annotations

import os
from collections.abc import Iterable

import typer
from rich.table import Table
from rich.text import Text

from thunder_otel.cli import _checks
from thunder_otel.cli._checks import Finding
from thunder_otel.cli._common import AsJson, console, write_json

_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}


def doctor(as_json: AsJson = False) -> None:
    """Look at versions, level, thunder's seams, exporters and endpoints; ends in 1 when something is in the way."""
    findings = list(_all())
    problems = [finding for finding in findings if finding.state == "problem"]
    verdict = _verdict(findings, problems)
    if as_json:
        write_json({"findings": [vars(finding) for finding in findings], "verdict": verdict, "ok": not problems})
    else:
        _print(findings, verdict)
    if problems:
        raise typer.Exit(1)


def _all() -> Iterable[Finding]:
    yield from _checks.versions()
    yield from _checks.level(os.environ)
    yield from _checks.activation()
    yield from _checks.seams()
    yield from _checks.compiler()
    yield from _checks.folder(os.environ)
    yield from _checks.exporters(os.environ)


def _verdict(findings: list[Finding], problems: list[Finding]) -> str:
    if problems:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return f"{first.what}{more}. Do this first: {first.remedy}"
    off = next((finding for finding in findings if finding.topic == "level" and finding.state == "note"), None)
    return f"ready, but {off.what}: {off.remedy}" if off is not None else "ready: the next compile will be recorded"


def _print(findings: list[Finding], verdict: str) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    topic = ""
    for finding in findings:
        words = Text(finding.what, style=_STYLES[finding.state] if finding.state != "ok" else "")
        if finding.remedy:
            words.append(f"\n-> {finding.remedy}", style="italic")
        mark = Text({"ok": "ok", "note": "-", "problem": "!!"}[finding.state], style=_STYLES[finding.state])
        table.add_row(finding.topic if finding.topic != topic else "", mark, words)
        topic = finding.topic
    console().print(table)
    console().print(Text(f"\nVerdict: {verdict}", style="bold"), soft_wrap=True)
