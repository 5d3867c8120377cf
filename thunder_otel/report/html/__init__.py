"""The report: one HTML file that holds everything and needs nothing beside it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO

from thunder_otel.report._reader import Run
from thunder_otel.report.html import _index, _page, _redact, _summary
from thunder_otel.report.html._store import TextStore

__all__ = ["WrittenReport", "write_report"]


@dataclass(frozen=True)
class WrittenReport:
    """What was written: the file and its size, and how many texts of how many bytes it holds."""

    path: Path
    size: int
    texts: int
    text_bytes: int


def write_report(
    runs: Sequence[Run],
    path: Path,
    *,
    redact: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> WrittenReport:
    """Write the report of one run, or of the ranks of one, to a single file.

    Texts are packed one after the other straight into the file, so memory does not grow with the number of texts. The
    file appears under its name when it is whole.

    Args:
        runs: what :func:`thunder_otel.report.read_runs` gives.
        path: the HTML file; its folder must exist.
        redact: replace names, constants, paths and shapes, the same one by the same word.
        progress: called with (bytes of text done, bytes of text in all) after each text.

    Raises:
        OSError: a file cannot be read or written.
    """
    version = importlib.metadata.version("thunder-otel")
    redactor = _redact.redactor_for(_files(runs)) if redact else None
    store = TextStore(redactor.text if redactor else None)
    report = report_json(runs, store, redactor)
    head = _page.head(report, _summary.summary(report), version=version)
    done = 0

    def text_done(size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(done, store.size)

    with _whole_or_nothing(path) as file:
        file.write(head.encode("utf-8", "replace"))
        for piece in store.blocks(text_done):
            file.write(piece)
        file.write(b"</body>\n</html>\n")
    return WrittenReport(path, path.stat().st_size, len(store.texts), store.size)


def report_json(runs: Sequence[Run], store: TextStore, redactor: _redact.Redactor | None = None) -> dict[str, Any]:
    """What the page's script reads; the texts that it names are added to ``store``."""
    origin_ns = min((stage.start_ns for run in runs for stage in run.stages), default=0)
    versions = {name: version for run in reversed(runs) for name, version in run.info.get("versions", {}).items()}
    levels = dict.fromkeys(str(run.info.get("level", {}).get("name", "")) for run in runs)
    found = []
    for number, run in enumerate(runs):
        shown = redactor.run(run, number) if redactor else run
        name = f"run{number}" if redactor else run.folder.name
        found.append(_index.run_json(shown, store, name=name, origin_ns=origin_ns))
    started = datetime.fromtimestamp(origin_ns / 1e9, timezone.utc)
    return {
        "title": f"thunder_otel: {_title(found)}",
        "when": f"{started:%Y-%m-%d %H:%M:%S} UTC" if origin_ns else "",
        "level": ", ".join(level for level in levels if level) or "unknown",
        "redacted": redactor is not None,
        "versions": versions,
        "runs": found,
        "texts": store.table(),
    }


def _title(runs: list[dict[str, Any]]) -> str:
    names = dict.fromkeys(str(stage.get("fn")) for run in runs for stage in run["stages"] if stage["role"] == "compile")
    return ", ".join(list(names)[:3]) or "report"


def _files(runs: Sequence[Run]) -> list[Path]:
    found = (run.folder / payload.path for run in runs for stage in run.stages for payload in stage.payloads)
    return list(dict.fromkeys(found))


@contextlib.contextmanager
def _whole_or_nothing(path: Path) -> Iterator[BinaryIO]:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
