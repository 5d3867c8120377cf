"""``thunder-otel why``: who was asked to run an op, who took it, and why it was not fused."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from thunder_otel import semconv
from thunder_otel.cli._common import DEFAULT_DIR, AsJson, Directory, console, fail, nearest, runs_of, write_json
from thunder_otel.report._ledger import Ledger, read_ledgers

MAX_SOURCES = 3

Name = Annotated[
    str,
    typer.Argument(
        metavar="[NAME]", help="Part of an op, of its result or of a source line: embedding, t12, net.py:7. '': all."
    ),
]


def why(name: Name = "", folder: Directory = DEFAULT_DIR, as_json: AsJson = False) -> None:
    """Say why ops were not fused: how many for each reason, or with NAME, who was asked and what each said."""
    ledgers = [ledger for run in runs_of(folder) for ledger in read_ledgers(run)]
    if not ledgers:
        fail("the run holds no verdicts: record it with THUNDER_DEBUG=nvfuser_region or above", code=1)
    found = [(ledger, [entry for entry in ledger.entries if _matches(entry, name)]) for ledger in ledgers]
    if as_json:
        write_json([{**_place(ledger), **entry} for ledger, entries in found for entry in entries])
    elif not name:
        for ledger in ledgers:
            _print_summary(ledger)
    elif any(entries for _, entries in found):
        for ledger, entries in found:
            _print_entries(ledger, entries)
    else:
        ops = {entry["op"] for ledger in ledgers for entry in ledger.entries}
        short = {op.rpartition(".")[2] for op in ops}
        fail(f"no op like {name} ran{nearest(name, ops | short)}", code=1)


def _matches(entry: dict[str, Any], name: str) -> bool:
    made = [out.partition(":")[0] for out in entry["out"]]
    texts = (entry["op"], entry["runs_as"], *entry["source"], *(answer["op"] for answer in entry["asked"]))
    return name in made or any(name in text for text in texts)


def _place(ledger: Ledger) -> dict[str, Any]:
    facts = ledger.stage.attributes
    return {"function": facts.get(semconv.FN), "compile": facts.get(semconv.COMPILE_ID), "trace": facts[semconv.KIND]}


def _print_summary(ledger: Ledger) -> None:
    out = console()
    out.print(Text(f"{ledger.title}  {len(ledger.entries)} ops", style="bold"))
    for line in ledger.stage.attributes.get(semconv.LEDGER_SUMMARY, ()):
        count, _, kind = line.partition(" ")
        out.print(Text(f"  {int(count):6,} {kind}"))


def _print_entries(ledger: Ledger, entries: list[dict[str, Any]]) -> None:
    """Ops of which the same was said are one paragraph."""
    if not entries:
        return
    out = console()
    out.print(Text(ledger.title, style="bold"))
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for entry in entries:
        asked = tuple((item["executor"], item["op"], item["took"]) for item in entry["asked"])
        groups.setdefault((entry["op"], entry["executor"], entry["region"], entry["kind"], asked), []).append(entry)
    for same in groups.values():
        first = same[0]
        times = f"  ({len(same)} times, the first:)" if len(same) > 1 else ""
        out.print(Text.assemble("  ", (first["op"], "bold"), f" -> {', '.join(first['out']) or 'nothing'}{times}"))
        ran = f"{first['runs_as']} by {first['executor'] or 'Python'}"
        out.print(Text(f"    runs as {ran} in {first['region']}" if first["region"] else f"    runs as {ran}"))
        out.print(Text(f"    {first['why']}"))
        for item in first["asked"]:
            of = f" (of {item['op']})" if item["op"] != first["op"] else ""
            out.print(Text(f"      {item['executor']}{of}: {'took it' if item['took'] else item['why']}", style="dim"))
        sources = list(dict.fromkeys(line for entry in same for line in entry["source"]))
        more = f" and {len(sources) - MAX_SOURCES} more lines" if len(sources) > MAX_SOURCES else ""
        if sources:
            out.print(Text(f"    from {', '.join(sources[:MAX_SOURCES])}{more}"))
