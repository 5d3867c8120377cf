"""Compares two runs: stages, trace texts, regions, kernels and times."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from thunder_otel import semconv
from thunder_otel._run_files import read_file
from thunder_otel.report._reader import Run, Stage
from thunder_otel.report._rename import renamed

Key = tuple[str, str, str, int]  # compile id, stage, kind, which of several alike


@dataclass(frozen=True, kw_only=True)
class Change:
    """A difference. ``what`` is ``stage``, ``text``, ``region`` or ``kernel``; ``where`` says in which compile."""

    what: str
    where: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What two runs differ in. Times are seconds of all compiles together, kernels' own included."""

    changes: tuple[Change, ...]
    regions_before: int
    regions_after: int
    kernels_before: int
    kernels_after: int
    seconds_before: float
    seconds_after: float

    @property
    def regions_lost(self) -> int:
        """How many regions fewer there are."""
        return max(0, self.regions_before - self.regions_after)

    @property
    def kernels_lost(self) -> int:
        """How many kernels fewer there are."""
        return max(0, self.kernels_before - self.kernels_after)

    @property
    def time_ratio(self) -> float:
        """Time after to time before; 1 where there is none."""
        return self.seconds_after / self.seconds_before if self.seconds_before else 1.0


def compare(before: Run, after: Run) -> Comparison:
    """Compare two runs of the same program; names that only differ in their number are the same."""
    old, new = _keyed(before), _keyed(after)
    changes = [*_stages(old, new), *_texts(before, after, old, new), *_regions(before, after), *_kernels(before, after)]
    return Comparison(
        changes=tuple(changes),
        regions_before=len(_final_regions(before)),
        regions_after=len(_final_regions(after)),
        kernels_before=_kernel_count(before),
        kernels_after=_kernel_count(after),
        seconds_before=_seconds(before),
        seconds_after=_seconds(after),
    )


def text_diff(before: str, after: str, *, names: tuple[str, str]) -> Iterator[str]:
    """A unified diff of two texts, after renaming; empty when they are the same."""
    return difflib.unified_diff(renamed(before).splitlines(), renamed(after).splitlines(), *names, lineterm="")


def read_text(run: Run, path: str) -> str | None:
    """A text of a run; ``None`` when there is none or it is not inside the run's folder."""
    data = read_file(run.folder, path)
    return None if data is None else data.decode("utf-8", "replace")


def _keyed(run: Run) -> dict[Key, Stage]:
    found: dict[Key, Stage] = {}
    seen: Counter[tuple[str, str, str]] = Counter()
    for stage in run.stages:
        attributes = stage.attributes
        name = stage.name.strip() or "?"
        key = (str(attributes.get(semconv.COMPILE_ID, "")), name, str(attributes.get(semconv.KIND, "")))
        if name.startswith(semconv.SPAN_REGION):
            continue  # regions are compared by what runs
        found[key[0], key[1], key[2], seen[key]] = stage
        seen[key] += 1
    return found


def _words(key: Key) -> str:
    compile_id, name, kind, number = key
    return f"{name}{f' {kind}' if kind else ''}{f' #{number + 1}' if number else ''} of {compile_id}"


def _stages(old: dict[Key, Stage], new: dict[Key, Stage]) -> Iterator[Change]:
    for key in old:
        if key not in new:
            yield Change(what="stage", where=_words(key), before="there", after="gone")
    for key in new:
        if key not in old:
            yield Change(what="stage", where=_words(key), before="not there", after="new")


def _texts(before: Run, after: Run, old: dict[Key, Stage], new: dict[Key, Stage]) -> Iterator[Change]:
    for key, stage in old.items():
        other = new.get(key)
        theirs = {payload.key: payload for payload in other.payloads} if other is not None else {}
        for payload in stage.payloads:
            counterpart = theirs.get(payload.key)
            if counterpart is None or counterpart.sha256 == payload.sha256 or not payload.path.startswith("traces/"):
                continue
            first, second = read_text(before, payload.path), read_text(after, counterpart.path)
            if first is None or second is None:
                continue
            lines = list(text_diff(first, second, names=("before", "after")))
            added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
            removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
            if lines:
                yield Change(what="text", where=_words(key), before=payload.path, after=f"+{added} -{removed} lines")


def _final_regions(run: Run) -> list[Stage]:
    return [stage for stage in run.stages if stage.attributes.get(semconv.REGION_FINAL) is True]


def _regions(before: Run, after: Run) -> Iterator[Change]:
    old, new = _regions_by_trace(before), _regions_by_trace(after)
    for where in sorted(old.keys() | new.keys()):
        first, second = old.get(where, []), new.get(where, [])
        if [ops for _, ops in first] == [ops for _, ops in second]:
            continue
        yield Change(what="region", where=where, before=_region_words(first), after=_region_words(second))


def _regions_by_trace(run: Run) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for stage in _final_regions(run):
        attributes = stage.attributes
        where = f"{attributes.get(semconv.KIND, '')} of {attributes.get(semconv.COMPILE_ID, '')}"
        name, ops = str(attributes.get(semconv.REGION, "")), tuple(attributes.get(semconv.REGION_OPS, ()))
        found.setdefault(where, []).append((name, ops))
    return {where: sorted(regions) for where, regions in found.items()}


def _region_words(regions: list[tuple[str, tuple[str, ...]]]) -> str:
    return ", ".join(f"{name} ({len(ops)} ops)" for name, ops in regions) or "none"


def _kernel_sources(run: Run) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for stage in run.stages:
        for payload in stage.payloads:
            if payload.key.startswith(semconv.KERNEL_SOURCE):
                where = f"{stage.name.removeprefix(semconv.SPAN_KERNEL_COMPILE)} of {stage.attributes.get(semconv.FN)}"
                found.setdefault(where, []).append(payload.sha256)
    return found


def _kernel_count(run: Run) -> int:
    return sum(map(len, _kernel_sources(run).values()))


def _kernels(before: Run, after: Run) -> Iterator[Change]:
    old, new = _kernel_sources(before), _kernel_sources(after)
    for where in sorted(old.keys() | new.keys()):
        first, second = old.get(where, []), new.get(where, [])
        if sorted(first) != sorted(second):
            alike = len(set(first) & set(second))
            words = f"{len(second)}, {alike} of them the same"
            yield Change(what="kernel", where=where, before=str(len(first)), after=words)


def _seconds(run: Run) -> float:
    inside = {stage.span_id for stage in run.stages}
    roots = (stage for stage in run.stages if stage.parent_id not in inside)
    late = (stage for stage in run.stages if stage.name.startswith(semconv.SPAN_KERNEL_COMPILE))
    return sum(stage.seconds or 0.0 for stages in (roots, late) for stage in stages)
