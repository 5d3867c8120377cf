"""Compares the ranks of one launch: where they first part, and which stages take much longer on some of them.

One rank's recording is read at a time and compared with the first rank's; of each only its difference and a few numbers
a stage are kept, so that a thousand ranks need no more memory than two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thunder_otel import semconv
from thunder_otel._run_files import read_file
from thunder_otel.report._reader import NoRun, Run, Stage, read_run
from thunder_otel.report._reader import _info as info_of
from thunder_otel.report._reader import _same_launch as same_launch

_Rank = tuple[int, Path]  # a rank and its run folder

_FACTS = (  # attributes that must be the same on every rank, and what a difference in them is
    (semconv.TRACE_SYMBOLS, "op"),
    (semconv.TRACE_CHANGED, "op"),
    (semconv.TRACE_COLLECTIVES, "op"),
    (semconv.REGION_OPS, "op"),
    (semconv.UNFUSED_OPS, "op"),
)
_SPREAD = 2.0  # a stage spreads widely when its slowest rank takes this many times its median rank ...
_SPREAD_SECONDS = 0.01  # ... and at least this much longer


@dataclass(frozen=True)
class Difference:
    """Where a rank first parts from the first one.

    Attributes:
        rank: the rank that differs.
        what: ``stage``, ``op``, ``guard`` or ``cache``.
        compile: the compile's id, e.g. ``GPT.forward/0``.
        stage: the stage's name.
        here: what that rank has.
        there: what the first rank has.
    """

    rank: int
    what: str
    compile: str
    stage: str
    here: str
    there: str


@dataclass(frozen=True)
class Spread:
    """A stage whose time differs widely between ranks; seconds, summed over a rank's run."""

    stage: str
    median: float
    slowest: float
    slowest_rank: int
    fastest: float


@dataclass(frozen=True)
class Ranks:
    """What a comparison found. ``differences``: at most one for each rank; ``unreadable``: folders left out."""

    first_rank: int
    count: int
    differences: tuple[Difference, ...]
    spreads: tuple[Spread, ...]
    unreadable: tuple[str, ...] = ()


@dataclass
class _Times:
    by_rank: dict[int, float] = field(default_factory=dict)


def folders_of(folder: Path) -> list[_Rank]:
    """``(rank, run folder)`` of the latest launch below a folder, by rank.

    Raises:
        NoRun: no rank recorded there.
    """
    found = [(path, info_of(path)) for path in sorted(one.parent for one in folder.glob("*/events.jsonl"))]
    ranked = [(path, info) for path, info in found if isinstance(info.get("rank"), int)]
    if not ranked:
        raise NoRun(f"{folder} holds no recording of a rank: give the thunder_debug folder of a torchrun launch")
    latest = max(ranked, key=lambda item: item[1].get("started_ns", 0))[1]
    return sorted({info["rank"]: path for path, info in ranked if same_launch(info, latest)}.items())


def compare(folder: Path, *, track: Callable[[Sequence[_Rank]], Iterable[_Rank]] = iter) -> Ranks:
    """Compare every rank's recording with that of the first.

    Args:
        folder: the folder that holds the ranks' run folders.
        track: iterates over the ranks, to show how far it is.

    Raises:
        NoRun: no rank recorded there.
    """
    (first_rank, first_folder), *others = folders_of(folder)
    first = read_run(first_folder)
    times: dict[str, _Times] = {}
    _add_times(times, first_rank, first)
    differences, unreadable = [], []
    for rank, path in track(others):
        try:
            run = read_run(path)
        except (NoRun, OSError) as error:
            unreadable.append(str(error))
            continue
        _add_times(times, rank, run)
        difference = next(_differences(rank, run, first), None)
        if difference is not None:
            differences.append(difference)
    return Ranks(first_rank, len(others) + 1, tuple(differences), tuple(_spreads(times)), tuple(unreadable))


def _add_times(times: dict[str, _Times], rank: int, run: Run) -> None:
    for stage in run.stages:
        if stage.seconds is not None:
            by_rank = times.setdefault(stage.name, _Times()).by_rank
            by_rank[rank] = by_rank.get(rank, 0.0) + stage.seconds


def _spreads(times: dict[str, _Times]) -> Iterator[Spread]:
    found = []
    for name, known in times.items():
        if len(known.by_rank) < 2:
            continue
        ordered = sorted(known.by_rank.items(), key=lambda item: item[1])
        median = ordered[(len(ordered) - 1) // 2][1]
        rank, slowest = ordered[-1]
        if slowest - median >= _SPREAD_SECONDS and slowest >= _SPREAD * median:
            found.append(Spread(name, median, slowest, rank, ordered[0][1]))
    yield from sorted(found, key=lambda spread: spread.median - spread.slowest)


def _differences(rank: int, run: Run, first: Run) -> Iterator[Difference]:
    here, there = _compiles(run), _compiles(first)
    for key in dict.fromkeys([*there, *here]):
        if key not in here or key not in there:
            words = ("compiled", "not compiled (a cached entry fitted, or it was not called)")
            yield Difference(rank, "cache", key, semconv.SPAN_COMPILE, words[key not in here], words[key not in there])
            continue
        yield from _in_compile(rank, key, (run, here[key]), (first, there[key]))


def _compiles(run: Run) -> dict[str, list[Stage]]:
    """The stages of each compile: the compile itself, then the others in order."""
    found: dict[str, list[Stage]] = {}
    for stage in run.stages:
        key = stage.attributes.get(semconv.COMPILE_ID)
        if key:
            found.setdefault(str(key), []).append(stage)
    return found


def _in_compile(
    rank: int, key: str, here: tuple[Run, list[Stage]], there: tuple[Run, list[Stage]]
) -> Iterator[Difference]:
    (run, stages), (first, known) = here, there
    for mine, its in zip(stages, known, strict=False):
        if mine.name != its.name:
            yield Difference(rank, "stage", key, its.name, mine.name, its.name)
            return
        for name, what in ((semconv.GUARD_FAILED, "guard"), (semconv.COMPILE_REASON, "guard"), *_FACTS):
            left, right = mine.attributes.get(name), its.attributes.get(name)
            if left != right:
                yield Difference(rank, what, key, mine.name, *_first_unequal(left, right))
        yield from _in_texts(rank, key, (run, mine), (first, its))
    if len(stages) != len(known):
        longer = (stages if len(stages) > len(known) else known)[min(len(stages), len(known))].name
        words = ("none", longer) if len(stages) < len(known) else (longer, "none")
        yield Difference(rank, "stage", key, longer, *words)


def _in_texts(rank: int, key: str, here: tuple[Run, Stage], there: tuple[Run, Stage]) -> Iterator[Difference]:
    (run, mine), (first, its) = here, there
    known = {payload.key: payload for payload in its.payloads}
    for payload in mine.payloads:
        other = known.get(payload.key)
        if other is None or payload.sha256 == other.sha256 or not (payload.path and other.path):
            continue
        if payload.key.startswith("thunder.trace."):
            left, right = _lines(run.folder, payload.path), _lines(first.folder, other.path)
            if left != right:
                yield Difference(rank, "op", key, mine.name, *_first_unequal(left, right))


def _lines(folder: Path, path: str) -> list[str]:
    """A trace's lines without the one that says how long the pass took."""
    text = (read_file(folder, path) or b"").decode(errors="replace")
    return [line.strip() for line in text.splitlines() if not line.startswith("# Constructed by")]


def _first_unequal(left: Any, right: Any) -> tuple[str, str]:
    if not (isinstance(left, list) and isinstance(right, list)):
        return str(left), str(right)
    for one, other in zip(left, right, strict=False):
        if one != other:
            return str(one), str(other)
    short = min(len(left), len(right))
    return (
        str(left[short]) if len(left) > short else "nothing",
        str(right[short]) if len(right) > short else "nothing",
    )
