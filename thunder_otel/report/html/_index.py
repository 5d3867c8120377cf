"""What the page knows before it unpacks any text: runs, stages, and which text belongs where.

Telemetry names stop here: the page's script sees short keys only, and the attributes as they are for the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thunder_otel import semconv
from thunder_otel.report._reader import Run, Stage
from thunder_otel.report.html._guards import expected_and_got
from thunder_otel.report.html._store import TextStore

Json = dict[str, Any]

# (what a span's name starts with, the part it plays in the page); the first that fits counts.
_ROLES = (
    (semconv.SPAN_COMPILE, "compile"),
    (semconv.SPAN_ACQUIRE, "acquire"),
    (semconv.SPAN_PASS, "pass"),
    (semconv.SPAN_CLAIM, "pass"),
    (semconv.SPAN_FUSION_PASS, "fusion"),
    (semconv.SPAN_REGION, "region"),
    (semconv.SPAN_TRANSFORM, "pass"),
    (semconv.SPAN_CODEGEN, "codegen"),
    (semconv.SPAN_KERNEL_COMPILE, "kernel"),
    (semconv.SPAN_GRAPH_CAPTURE, "graph"),
    (semconv.SPAN_GRAPH_STATIC_INPUTS, "graph_step"),
    (semconv.SPAN_GRAPH_WARMUP, "graph_step"),
    (semconv.SPAN_GRAPH_RECORD, "graph_step"),
    (semconv.SPAN_TORCH_COMPILE, "torch"),
    (semconv.SPAN_TORCH_PHASE, "torch"),
    (semconv.SPAN_TORCH_ARTIFACT, "torch"),
    (semconv.SPAN_FX_GRAPH, "fx"),
    (semconv.SPAN_FX_SPLIT, "fx"),
    (semconv.SPAN_FX_SUBGRAPH, "fx"),
    (semconv.SPAN_CALL, "call"),
)
_GRAPH_STEPS = semconv.SPAN_GRAPH_RECORD.rpartition(".")[0] + "."
_TRACE = semconv.TRACE_TEXT.removesuffix("text")
_TORCH_TRACE = semconv.TORCH_RECORDS.removesuffix("records")
_KERNEL = semconv.KERNEL_SOURCE.removesuffix("source")

# Attribute -> key of the stage in the page.
_PLAIN = {
    semconv.STAGE_INDEX: "index",
    semconv.KIND: "kind",
    semconv.FN: "fn",
    semconv.COMPILE_INDEX: "compile_index",
    semconv.COMPILE_REASON: "reason",
}
_REGION = {
    semconv.REGION: "name",
    semconv.EXECUTOR: "executor",
    semconv.EXECUTOR_VERSION: "version",
    semconv.REGION_FINAL: "final",
    semconv.REGION_PARENT: "parent",
    semconv.REGION_OP_COUNT: "op_count",
    semconv.REGION_INPUTS: "inputs",
    semconv.REGION_OUTPUTS: "outputs",
    semconv.REGION_SOURCES: "sources",
}
# Facts of a kernel or a capture, in this order, with the words the page shows.
_KERNEL_FACTS = {
    semconv.KERNEL_LANGUAGE: "language",
    semconv.KERNEL_BINDING: "binding",
    semconv.KERNEL_VARIANT: "variant",
    semconv.KERNEL_INPUTS: "for inputs",
    semconv.KERNEL_COUNT: "kernels",
    semconv.KERNEL_CACHED: "from the cache",
    semconv.KERNEL_BACKEND_SECONDS: "backend (s)",
    semconv.KERNEL_FRAME_SECONDS: "whole frame (s)",
    semconv.KERNEL_GRID: "grid",
    semconv.KERNEL_BLOCK: "block",
    semconv.KERNEL_REGISTERS: "registers",
    semconv.KERNEL_SHARED_MEMORY: "shared memory (bytes)",
    semconv.KERNEL_BYTES: "bytes moved",
    semconv.KERNEL_BANDWIDTH: "bandwidth (GB/s)",
    semconv.KERNEL_DEVICE_SECONDS: "on the device (s)",
    semconv.TORCH_COMPILE_ID: "torch's compile id",
}
_GRAPH_FACTS = {
    semconv.GRAPH_NODES: "nodes",
    semconv.GRAPH_POOL_BYTES: "pool bytes",
    semconv.GRAPH_STATIC_COUNT: "static inputs",
    semconv.GRAPH_STATIC_BYTES: "static bytes",
    semconv.GRAPH_COPIED_COUNT: "copied inputs",
    semconv.GRAPH_COPIED_BYTES: "copied bytes",
    semconv.GRAPH_REASON: "why",
    semconv.GRAPH_KEY: "for inputs",
    semconv.GRAPH_DEVICE_SECONDS: "on the device (s)",
    semconv.GRAPH_FAILED_OP: "failed at",
}


def role_of(name: str) -> str:
    """The part that a span plays in the page, from its name."""
    return next((role for start, role in _ROLES if name.startswith(start)), "other")


def label_of(name: str) -> str:
    """A span's name without what all of its kind begin with."""
    starts = [start for start, _ in _ROLES if start.endswith(" ") and name.startswith(start)]
    short = name[len(starts[0]) :] if starts else name.removeprefix(_GRAPH_STEPS)
    return short.removeprefix(f"{semconv.SPAN_COMPILE.partition('.')[0]}.")


def run_json(run: Run, store: TextStore, *, name: str, origin_ns: int) -> Json:
    """One run for the page, called ``name`` there; times are in microseconds after ``origin_ns``."""
    places = {stage.span_id: place for place, stage in enumerate(run.stages)}
    threads = list(dict.fromkeys(stage.thread for stage in run.stages))
    return {
        "name": name,
        "rank": run.rank,
        "host": str(run.info.get("host", "")),
        "pid": run.info.get("pid"),
        "threads": threads,
        "stages": [
            _stage_json(stage, run, store, origin_ns, places.get(stage.parent_id), threads.index(stage.thread))
            for stage in run.stages
        ],
    }


def _stage_json(stage: Stage, run: Run, store: TextStore, origin_ns: int, parent: int | None, thread: int) -> Json:
    role = role_of(stage.name)
    attributes = stage.attributes
    found: Json = {
        "name": stage.name,
        "label": label_of(stage.name),
        "role": role,
        "parent": parent,
        "thread": thread,
        "start": (stage.start_ns - origin_ns) / 1000,
        "took": None if stage.end_ns is None else (stage.end_ns - stage.start_ns) / 1000,
        "attributes": _shown(attributes, stage),
        **_picked(attributes, _PLAIN),
    }
    if stage.error is not None:
        error = stage.error
        found["error"] = {"type": error.type, "message": error.message, "stacktrace": error.stacktrace}
    texts = {payload.key: store.add(run, payload) for payload in stage.payloads}
    if traces := _traces(stage, texts):
        found["traces"] = traces
    if role == "compile":
        found["guards"] = _guards(attributes)
        line = attributes.get(semconv.CODE_LINE)
        found["place"] = f"{attributes.get(semconv.CODE_FILE, '')}{f':{line}' if line else ''}"
    elif role == "fusion":
        unfused = zip(_list(attributes, semconv.UNFUSED_OPS), _list(attributes, semconv.UNFUSED_REASONS), strict=False)
        found["fusion"] = {"regions": attributes.get(semconv.FUSED_COUNT), "unfused": list(unfused)}
    elif role == "region":
        found["region"] = {**_picked(attributes, _REGION), "text": texts.get(semconv.REGION_TEXT)}
    elif role == "codegen" and semconv.LEDGER_TEXT in texts:
        found["ledger"] = {"text": texts[semconv.LEDGER_TEXT], "summary": _list(attributes, semconv.LEDGER_SUMMARY)}
    elif role == "kernel":
        found["kernel"] = _kernel(stage, texts)
    elif role in ("torch", "fx"):
        found["torch"] = _torch(attributes, texts)
    elif role == "graph":
        name = attributes.get(semconv.GRAPH, label_of(stage.name))
        found["graph"] = {"name": name, "facts": _facts(attributes, _GRAPH_FACTS)}
    return found


def _traces(stage: Stage, texts: Mapping[str, str]) -> list[Json]:
    """The traces a stage saw: one for each trace attribute, with or without a text of its own."""
    suffixes = (".changed", ".error", ".text")
    stems = {
        key.removesuffix(suffix)
        for key in [*stage.attributes, *texts]
        if key.startswith(_TRACE)
        for suffix in suffixes
        if key.endswith(suffix)
    }
    order = ("prologue", "computation", "backward", "epilogue", "last_good")
    found = []
    for stem in sorted(stems, key=lambda stem: next((i for i, name in enumerate(order) if stem.endswith(name)), 9)):
        get = stage.attributes.get
        kind = stem.removeprefix(_TRACE).removeprefix(_TRACE[:-1])
        trace = {
            "kind": kind or get(semconv.KIND),
            "text": texts.get(f"{stem}.text"),
            "changed": get(f"{stem}.changed", True if f"{stem}.text" in texts else None),
            "same_as": get(f"{stem}.same_as"),
            "added": get(f"{stem}.lines.added"),
            "removed": get(f"{stem}.lines.removed"),
            "error": get(f"{stem}.error"),
        }
        found.append({key: value for key, value in trace.items() if value is not None})
    return found


def _guards(attributes: Mapping[str, Any]) -> list[Json]:
    entries, checks, messages = (
        _list(attributes, key) for key in (semconv.GUARD_ENTRIES, semconv.GUARD_FAILED, semconv.GUARD_MESSAGES)
    )
    found = []
    for entry, check, message in zip(entries, checks, messages, strict=False):
        expected, got = expected_and_got(message)
        found.append({"entry": entry, "check": check, "message": message, "expected": expected, "got": got})
    return found


def _kernel(stage: Stage, texts: Mapping[str, str]) -> Json:
    names = _list(stage.attributes, semconv.KERNEL_NAMES)
    sources = [text for key, text in texts.items() if key.startswith(semconv.KERNEL_SOURCE)]
    others = {key: text for key, text in texts.items() if not key.startswith(semconv.KERNEL_SOURCE)}
    named = [(str(names[i]) if i < len(names) else "", text) for i, text in enumerate(sources)]
    return {
        "region": stage.attributes.get(semconv.REGION, label_of(stage.name)),
        "kernels": [{"name": name, "text": text} for name, text in named],
        "output": others.get(semconv.KERNEL_OUTPUT_CODE),
        "others": [{"title": _title(key), "text": text} for key, text in others.items()],
        "facts": _facts(stage.attributes, _KERNEL_FACTS),
    }


def _torch(attributes: Mapping[str, Any], texts: Mapping[str, str]) -> Json:
    """Texts of torch's own, where Dynamo broke the graph, and the operations that thunder did not take."""

    def together(*keys: str) -> list[Any]:
        return list(zip(*(_list(attributes, key) for key in keys), strict=False))

    return {
        "texts": [{"title": _title(key), "text": text} for key, text in texts.items()],
        "breaks": together(semconv.GRAPH_BREAK_REASONS, semconv.GRAPH_BREAK_SOURCES),
        "left": together(semconv.SPLIT_OPS, semconv.SPLIT_REASONS, semconv.SPLIT_SOURCES),
    }


def _title(key: str) -> str:
    for start in (_KERNEL, f"{semconv.TORCH_ARTIFACT}.", _TORCH_TRACE):
        key = key.removeprefix(start)
    return key.replace("_", " ")


def _shown(attributes: Mapping[str, Any], stage: Stage) -> Json:
    """The attributes for the reader, without those that only say where a text is."""
    places = tuple(payload.key for payload in stage.payloads)
    ends = (semconv.PAYLOAD_SIZE, semconv.PAYLOAD_SHA256, semconv.PAYLOAD_PATH, semconv.PAYLOAD_TRUNCATED)
    return {
        key: value
        for key, value in attributes.items()
        if not (key.endswith(ends) and (key.startswith(places) or key.startswith(_TRACE))) and key != semconv.REGION_OPS
    }


def _picked(attributes: Mapping[str, Any], names: Mapping[str, str]) -> Json:
    return {short: attributes[key] for key, short in names.items() if key in attributes}


def _facts(attributes: Mapping[str, Any], names: Mapping[str, str]) -> list[list[Any]]:
    return [[words, attributes[key]] for key, words in names.items() if attributes.get(key) not in (None, "", [])]


def _list(attributes: Mapping[str, Any], key: str) -> list[Any]:
    value = attributes.get(key)
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else []
