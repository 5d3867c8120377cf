"""Reads run folders as ``thunder_files`` wrote them, also those of a program that crashed or still runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thunder_otel import semconv
from thunder_otel._model import ErrorInfo, StoredPayload

__all__ = ["ErrorInfo", "NoRun", "Run", "Stage", "StoredPayload", "read_run", "read_runs"]

_EVENTS = "events.jsonl"
_RUN = "run.json"
_LAUNCH_NS = 15 * 60 * 10**9


class NoRun(Exception):
    """A folder holds no run; the message says so and what to do."""


@dataclass(frozen=True)
class Stage:
    """A stage as it was recorded. ``end_ns`` is ``None`` when it had not ended; times are ns since the epoch."""

    name: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int | None = None
    trace_id: str = ""
    thread: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    payloads: tuple[StoredPayload, ...] = ()
    error: ErrorInfo | None = None

    @property
    def seconds(self) -> float | None:
        """How long the stage took; ``None`` when it had not ended."""
        return None if self.end_ns is None else (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True)
class Run:
    """One process's recording: its folder, what ``run.json`` says, and its stages in the order of their starts.

    Attributes:
        torn: lines of the events file that could not be read, e.g. the last one of a killed program.
    """

    folder: Path
    info: Mapping[str, Any]
    stages: list[Stage]
    torn: int = 0

    def children(self) -> dict[str, list[Stage]]:
        """The stages inside each stage, by its span id, in the order of their starts."""
        found: dict[str, list[Stage]] = {}
        for stage in self.stages:
            found.setdefault(stage.parent_id, []).append(stage)
        return found

    def roots(self) -> list[Stage]:
        """The stages that are inside no other of this run."""
        known = {stage.span_id for stage in self.stages}
        return [stage for stage in self.stages if stage.parent_id not in known]

    @property
    def rank(self) -> int | None:
        """The process's rank, if it was one of several."""
        rank = self.info.get("rank")
        return rank if isinstance(rank, int) else None


def read_runs(folder: Path) -> list[Run]:
    """The run in a folder, or all ranks of the latest run below it, in the order of their ranks.

    Args:
        folder: a run folder, or one that holds run folders (``thunder_debug``).

    Raises:
        NoRun: nothing was recorded there.
    """
    if (folder / _EVENTS).is_file():
        return [read_run(folder)]
    found = sorted(one.parent for one in folder.glob(f"*/{_EVENTS}"))
    if not found:
        raise NoRun(f"{folder} holds no recorded run: give a run folder or the thunder_debug folder that holds it")
    latest = read_run(found[-1])
    if latest.rank is None:
        return [latest]
    ranks: dict[int, Path] = {}
    for path in found:  # sorted by their start: the latest one of each rank counts
        info = _info(path)
        rank = info.get("rank")
        if isinstance(rank, int) and _same_launch(info, latest.info):
            ranks[rank] = path
    return [latest if ranks[rank] == latest.folder else read_run(ranks[rank]) for rank in sorted(ranks)]


def _same_launch(one: Mapping[str, Any], latest: Mapping[str, Any]) -> bool:
    """Ranks of one launch have the same world size and start within minutes of each other."""
    apart = abs(one.get("started_ns", 0) - latest.get("started_ns", 0))
    return one.get("world_size") == latest.get("world_size") and apart < _LAUNCH_NS


def read_run(folder: Path) -> Run:
    """The run in a run folder.

    Raises:
        NoRun: the folder has no events file.
    """
    events = folder / _EVENTS
    if not events.is_file():
        raise NoRun(f"{folder} holds no recorded run: it has no {_EVENTS}")
    stages: dict[str, Stage] = {}
    torn = 0
    for event in _json_lines(events):
        if event is None:
            torn += 1
        elif event.get("event") in (semconv.EVENT_START, semconv.EVENT_END) and isinstance(event.get("span_id"), str):
            try:
                stages[event["span_id"]] = _stage(event)
            except (AttributeError, TypeError, ValueError):  # a field of another kind than we write
                torn += 1
    return Run(folder, _info(folder), sorted(stages.values(), key=lambda stage: stage.start_ns), torn)


def _json_lines(path: Path) -> Iterator[dict[str, Any] | None]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                value = json.loads(line)
            except ValueError:
                value = None
            yield value if isinstance(value, dict) else None


def _info(folder: Path) -> dict[str, Any]:
    try:
        info = json.loads((folder / _RUN).read_text("utf-8", "replace"))
    except (OSError, ValueError):
        return {}
    return info if isinstance(info, dict) else {}


def _stage(event: dict[str, Any]) -> Stage:
    error = event.get("error") or None
    return Stage(
        name=str(event.get("name", "")),
        span_id=event["span_id"],
        parent_id=str(event.get("parent_id", "")),
        start_ns=int(event.get("start_ns", 0)),
        end_ns=None if event.get("end_ns") is None else int(event["end_ns"]),
        trace_id=str(event.get("trace_id", "")),
        thread=str(event.get("thread", "")),
        attributes=dict(event.get("attributes") or {}),
        payloads=tuple(_payload(payload) for payload in event.get("payloads") or ()),
        error=error and ErrorInfo(*(str(error.get(key, "")) for key in ("type", "message", "stacktrace"))),
    )


def _payload(payload: dict[str, Any]) -> StoredPayload:
    def get(key: str, default: Any) -> Any:
        return payload.get(key, default)

    return StoredPayload(
        get("key", ""), get("kind", ""), get("size", 0), get("sha256", ""), get("lines", 0), get("path", "")
    )
