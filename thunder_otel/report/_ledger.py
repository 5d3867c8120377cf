"""Reads the ledger of verdicts of a run: one entry for each op that ran, as ``thunder_otel._ledger`` wrote it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from thunder_otel import semconv
from thunder_otel._run_files import read_file
from thunder_otel.report._reader import Run, Stage


@dataclass(frozen=True)
class Ledger:
    """The verdicts on one trace that ran."""

    stage: Stage
    entries: list[dict[str, Any]]

    @property
    def title(self) -> str:
        """Function, compile and trace."""
        facts = self.stage.attributes
        return f"{facts.get(semconv.COMPILE_ID, '?')}  {facts.get(semconv.KIND)}"


def read_ledgers(run: Run) -> Iterator[Ledger]:
    """The ledgers of a run, a trace each; one whose file is gone or torn is passed over."""
    for stage in run.stages:
        path = stage.attributes.get(semconv.LEDGER_TEXT + semconv.PAYLOAD_PATH)
        data = read_file(run.folder, str(path)) if path else None
        if data is not None:
            yield Ledger(stage, list(_entries(data.decode(errors="replace"))))


def _entries(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry
