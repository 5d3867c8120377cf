"""The first screen: what a person should know within ten seconds."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

from thunder_otel.report.html._index import Json

_SLOWEST = 8
_ERRORS = 5
_REASONS = 8
_SLOW_RANK = 1.2  # times the median


def seconds(us: float | None) -> str:
    """A time in microseconds for people: ``850 µs``, ``12.5 ms``, ``3.20 s``."""
    if us is None:
        return "unfinished"
    if us < 1000:
        return f"{us:.0f} µs"
    value, unit = (us / 1e3, "ms") if us < 1e6 else (us / 1e6, "s")
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"


def plural(count: int, word: str) -> str:
    """``1 rank``, ``8 ranks``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def summary(report: Json) -> Json:
    """What the summary template shows of a report's data."""
    runs = report["runs"]
    stages = [stage for run in runs for stage in run["stages"]]
    compiles = _of(stages, "compile")
    kernels = _of(stages, "kernel")
    again = [stage for stage in compiles if stage.get("compile_index")]
    total = sum(stage["took"] or 0 for stage in compiles)
    functions = _functions(runs)
    errors = _errors(runs)
    names = [function["name"] for function in functions]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    who = f"{plural(len(compiles), 'compile')} in {seconds(total)}"
    if len(runs) > 1:
        who = f"{plural(len(compiles), 'compile')} on {len(runs)} ranks, {seconds(total / len(runs))} a rank"
    versions = report["versions"]
    hosts = sorted({run["host"] for run in runs if run["host"]})
    return {
        "headline": shown or "Nothing was compiled",
        "subline": " · ".join(
            [
                who,
                f"level {report['level']}",
                report["when"],
                ("hosts " if len(hosts) > 1 else "host ") + ", ".join(hosts) if hosts else "",
            ]
        ).rstrip(" ·"),
        "errors": errors[:_ERRORS],
        "tiles": _tiles(stages, compiles, again, kernels, total, len(functions), len(runs), errors),
        "slowest": _slowest(runs),
        "functions": functions,
        "reasons": _reasons(again),
        "ranks": _ranks(runs) if len(runs) > 1 else [],
        "summed": f" Summed over {len(runs)} ranks." if len(runs) > 1 else "",
        "versions": sorted(versions.items()),
        "redacted": report["redacted"],
    }


def _of(stages: list[Json], role: str) -> list[Json]:
    return [stage for stage in stages if stage["role"] == role]


def _tiles(
    stages: list[Json],
    compiles: list[Json],
    again: list[Json],
    kernels: list[Json],
    total: float,
    functions: int,
    ranks: int,
    errors: list[Json],
) -> list[Json]:
    lost = sum(stage["took"] or 0 for stage in again)
    failed = sum(error["count"] for error in errors)
    each = f"{seconds(total / ranks)} a rank" if ranks > 1 else seconds(total)
    final = [stage for stage in _of(stages, "region") if stage["region"].get("final")]
    left_out = sum(len(stage["fusion"]["unfused"]) for stage in _of(stages, "fusion"))
    count = sum(len(stage["kernel"]["kernels"]) for stage in kernels)
    captures = _of(stages, "graph")
    open_ = [stage for stage in stages if stage["took"] is None]

    def tile(name: str, value: int | str, href: str, note: str = "", tone: str = "") -> Json:
        return {"name": name, "value": value, "href": href, "note": note, "tone": tone}

    tiles = [
        tile("compiles", len(compiles), "#passes", f"{plural(functions, 'function')}, {each}"),
        tile(
            "recompiles", len(again), "#recompiles", f"{seconds(lost)} lost" if again else "", "warn" if again else ""
        ),
        tile("regions", len(final), "#regions", f"{left_out:,} ops left out" if left_out else ""),
        tile(
            "kernels", count, "#kernels", f"built in {seconds(sum(k['took'] or 0 for k in kernels))}" if kernels else ""
        ),
        tile(
            "graph captures",
            len(captures),
            "#graphs",
            seconds(sum(capture["took"] or 0 for capture in captures)) if captures else "",
        ),
        tile("errors", failed, "#timeline", "", "bad" if failed else ""),
    ]
    if open_:
        tiles.append(tile("unfinished", len(open_), "#timeline", "killed or still running", "bad"))
    return tiles


def _errors(runs: list[Json]) -> list[Json]:
    """Each error where it began, the same one of several ranks once; the link leads to the first."""
    found: dict[tuple[str, str, str], Json] = {}
    for r, run in enumerate(runs):
        passed_on = {stage["parent"] for stage in run["stages"] if "error" in stage}
        for s, stage in enumerate(run["stages"]):
            if "error" in stage and s not in passed_on:
                error = stage["error"]
                key = (error["type"], stage["label"], error["message"])
                first = {"message": error["message"][:500], "href": f"#timeline?s={r}.{s}", "ranks": [], "count": 0}
                entry = found.setdefault(key, first)
                entry["count"] += 1
                if run["rank"] is not None and run["rank"] not in entry["ranks"]:
                    entry["ranks"].append(run["rank"])
    for (kind, label, _), entry in found.items():
        ranks = entry["ranks"]
        where = f" on rank {ranks[0]}" if len(ranks) == 1 else f" on {len(ranks)} ranks" if ranks else ""
        entry["title"] = f"{kind} in {label}{where}"
    return list(found.values())


def _slowest(runs: list[Json]) -> list[Json]:
    """Own times, by name; the link leads to the longest of that name."""
    own: Counter[tuple[str, str]] = Counter()
    longest: dict[tuple[str, str], tuple[float, str, str]] = {}
    for r, run in enumerate(runs):
        inside: Counter[int] = Counter()
        for stage in run["stages"]:
            parent = stage["parent"]
            if parent is not None and stage["took"] is not None:
                above = run["stages"][parent]
                if above["took"] is not None and stage["start"] < above["start"] + above["took"]:
                    inside[parent] += stage["took"]
        for s, stage in enumerate(run["stages"]):
            if stage["took"] is None:
                continue
            key = (stage["role"], stage["label"])
            mine = max(0.0, stage["took"] - inside[s])
            own[key] += mine
            if mine >= longest.get(key, (-1.0, "", ""))[0]:
                longest[key] = (mine, f"#timeline?s={r}.{s}", stage.get("kind", ""))
    whole = max(own.values(), default=1) or 1
    words = {
        "kernel": "kernels of ",
        "codegen": "codegen ",
        "region": "fuse ",
        "graph": "capture ",
        "fusion": "fusion ",
    }
    return [
        {
            "name": words.get(role, "") + ("the rest of the compile" if role == "compile" else label),
            "time": seconds(time),
            "share": f"{time / whole:.4f}",
            "href": longest[role, label][1],
            "kind_class": longest[role, label][2] or "other",
        }
        for (role, label), time in own.most_common(_SLOWEST)
    ]


def _functions(runs: list[Json]) -> list[Json]:
    found: dict[str, dict[str, Any]] = {}
    number = 0
    for run in runs:
        owner: dict[int, str] = {}
        for s, stage in enumerate(run["stages"]):
            if stage["role"] == "compile":
                name = str(stage.get("fn", stage["label"]))
                owner[s] = name
                entry = found.setdefault(
                    name,
                    {"name": name, "place": stage["place"], "compiles": 0, "us": 0.0, "regions": 0, "kernels": 0}
                    | {"href": f"#passes?c={number}"},
                )
                entry["compiles"] += 1
                entry["us"] += stage["took"] or 0
                number += 1
            elif stage["parent"] is not None and stage["parent"] in owner:
                owner[s] = owner[stage["parent"]]
                entry = found[owner[s]]
                entry["regions"] += bool(stage.get("region", {}).get("final"))
                entry["kernels"] += len(stage.get("kernel", {}).get("kernels", ()))
    functions = sorted(found.values(), key=lambda entry: -entry["us"])
    for entry in functions:
        entry["time"] = seconds(entry["us"])
    return functions


def _reasons(again: list[Json]) -> list[Json]:
    counted = Counter((str(stage.get("fn", "")), str(stage.get("reason", ""))) for stage in again)
    return [{"name": fn, "text": reason, "count": count} for (fn, reason), count in counted.most_common(_REASONS)]


def _ranks(runs: list[Json]) -> list[Json]:
    times = [sum(stage["took"] or 0 for stage in _of(run["stages"], "compile")) for run in runs]
    median = statistics.median(times) or 1
    return [
        {
            "name": run["rank"] if run["rank"] is not None else run["name"],
            "host": run["host"],
            "compiles": len(_of(run["stages"], "compile")),
            "time": seconds(time),
            "kernel_time": seconds(sum(stage["took"] or 0 for stage in _of(run["stages"], "kernel"))),
            "ratio": f"{time / median:.2f}x",
            "slow": time > _SLOW_RANK * median,
        }
        for run, time in zip(runs, times, strict=True)
    ]
