"""Level 4: all that torch's structured trace holds about one compile of torch's.

torch opens and closes its phases with chromium events and logs artefacts (graphs, guards, output code, metrics) in
between. Here a phase is a span inside the phase around it, an artefact is a span that carries its text, and every
record of the compile, in order, is one text of JSON lines on the compile's own span.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

from thunder_otel import semconv
from thunder_otel._guard import guarded
from thunder_otel._model import AttributeValue, Payload, Stage
from thunder_otel._telemetry import Recorder

CACHE_EVENTS = ("cache_hit", "cache_miss", "cache_bypass")
_ENVELOPE = frozenset(
    {"frame_id", "frame_compile_id", "attempt", "has_payload", "rank", "compiled_autograd_id", "stack"}
)
_TEXTLESS = frozenset({"dynamo_start", "compilation_metrics", "bwd_compilation_metrics"})  # worth a text all the same
# torch repeats what a cached compile once logged, from the files that read its caches.
_CACHE_FILES = frozenset({"codecache.py", "aot_autograd_result.py", "autograd_cache.py"})
_LONGEST_ARG = 2000  # characters; the whole of it is among the records


def record_name(metadata: dict[str, Any]) -> str:
    """What a record is: the artefact's name, or the one key that is not part of the envelope."""
    name = next((key for key in metadata if key not in _ENVELOPE), "record")
    facts = metadata.get(name)
    if name == "artifact" and isinstance(facts, dict):
        return str(facts.get("name", name))
    return name


def compile_id(metadata: dict[str, Any]) -> str:
    """The id as torch prints it (``0/0``, ``!1/0/0`` under compiled autograd), or ``""`` for a record without one."""
    if "frame_id" not in metadata and "compiled_autograd_id" not in metadata:
        return ""
    frame = f"{metadata['frame_id']}/{metadata.get('frame_compile_id', 0)}" if "frame_id" in metadata else ""
    if "compiled_autograd_id" in metadata:
        return f"!{metadata['compiled_autograd_id']}" + (f"/{frame}" if frame else "")
    return frame


def event_of(metadata: dict[str, Any], payload: Any) -> dict[str, Any] | None:
    """The chromium event that a record is, or ``None``."""
    if "chromium_event" not in metadata or not isinstance(payload, str):
        return None
    event = json.loads(payload)
    return event if isinstance(event, dict) else None


def event_ns(event: dict[str, Any]) -> int | None:
    """When an event happened, in nanoseconds since the epoch (torch writes microseconds)."""
    when = event.get("ts")
    return int(float(when) * 1000) if isinstance(when, (int, float)) else None


@dataclass(eq=False)
class TorchTrace:
    """One compile while its records come in.

    Attributes:
        recorder: where its spans go.
        stage: the compile's own span.
        common: attributes that every span inside it carries.
        stack: the open spans, innermost last; other modules may put theirs on it so that records fall inside.
    """

    recorder: Recorder
    stage: Stage
    common: dict[str, AttributeValue]
    stack: list[Stage] = field(default_factory=list)
    phases: list[tuple[str, Stage]] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    cache_events: list[str] = field(default_factory=list)
    breaks: list[tuple[str, str]] = field(default_factory=list)
    helpers: dict[tuple[int, str], Stage] = field(default_factory=dict)  # (thread, phase) -> its span

    @property
    def parent(self) -> Stage:
        """The innermost open span."""
        return self.stack[-1] if self.stack else self.stage

    @guarded(None)
    def take(self, metadata: dict[str, Any], payload: Any, event: dict[str, Any] | None, origin: str = "") -> None:
        """One record: a phase that opens or closes, an artefact, or a fact for the list. ``origin``: torch's file."""
        line = dict(metadata)
        if event is not None:
            line["chromium_event"] = event
        self.records.append(json.dumps(line, default=repr))
        if event is not None:
            self._phase(event)
            return
        name = record_name(metadata)
        if payload is not None or name in _TEXTLESS:
            self._artifact(name, metadata, payload, os.path.basename(origin) in _CACHE_FILES)

    @guarded(None)
    def take_loose(self, metadata: dict[str, Any], payload: Any) -> None:
        """A record that names no compile: a fact, or a phase of a helper thread (a C++ compiler that Inductor started).

        Such a phase lies inside the compile, but not on its stack of phases.
        """
        if "chromium_event" not in metadata:
            self.take(metadata, payload, None)
            return
        event = event_of(metadata, payload)
        self.records.append(json.dumps({**metadata, "chromium_event": event}, default=repr))
        if event is None:
            return
        name, when = str(event.get("name", "?")), event_ns(event)
        key = (threading.get_ident(), name)
        if event.get("ph") == "E":
            ended = self.helpers.pop(key, None)
            if ended is not None:
                ended.attributes.update(_arguments(event))
                self.recorder.end(ended, end_ns=when)
            return
        stage = self._open_phase(name, event, when)
        if stage is not None and event.get("ph") == "B":
            self.helpers[key] = stage
        elif stage is not None:
            self.recorder.end(stage, end_ns=when)

    def _open_phase(self, name: str, event: dict[str, Any], when: int | None) -> Stage | None:
        attributes = {**self.common, semconv.STAGE: "torch_phase", semconv.TORCH_PHASE: name, **_arguments(event)}
        return self.recorder.start(
            semconv.SPAN_TORCH_PHASE + name,
            parent=self.parent,
            compile=self.stage.compile,
            attributes=attributes,
            start_ns=when,
        )

    def _phase(self, event: dict[str, Any]) -> None:
        name, when = str(event.get("name", "?")), event_ns(event)
        if event.get("ph") == "E":
            self._close_phase(name, event, when)
            return
        stage = self._open_phase(name, event, when)
        if stage is None:
            return
        if event.get("ph") == "B":
            self.stack.append(stage)
            self.phases.append((name, stage))
        else:
            self.recorder.end(stage, end_ns=when)

    def _close_phase(self, name: str, event: dict[str, Any], when: int | None) -> None:
        opened = next((stage for known, stage in reversed(self.phases) if known == name), None)
        if opened is None or opened not in self.stack:
            return
        opened.attributes.update(_arguments(event))
        while self.stack:
            top = self.stack.pop()
            self.phases = [(known, stage) for known, stage in self.phases if stage is not top]
            self.recorder.end(top, end_ns=when)
            if top is opened:
                return

    def _artifact(self, name: str, metadata: dict[str, Any], payload: Any, cached: bool) -> None:
        if any(word in name for word in CACHE_EVENTS):
            self.cache_events.append(name)
            cached = False
        if name == "dynamo_graph_break_reason" and isinstance(payload, str):
            self.breaks.append(_graph_break(payload))
        artifact(
            self.recorder,
            metadata,
            payload,
            parent=self.parent,
            common=self.common,
            position=len(self.names),
            cached=cached,
        )
        self.names.append(name)

    @guarded(None)
    def finish(self, debug_dirs: list[str]) -> None:
        """The compile ended: close what is open and put its summary on its span (which its owner ends)."""
        for helper in self.helpers.values():
            self.recorder.end(helper)
        while self.stack:
            self.recorder.end(self.stack.pop())
        attributes = self.stage.attributes
        attributes[semconv.TORCH_ARTIFACTS] = self.names
        attributes[semconv.TORCH_CACHE_EVENTS] = self.cache_events
        attributes[semconv.TORCH_CACHE_HIT] = any("hit" in name for name in self.cache_events)
        if self.breaks:
            attributes[semconv.GRAPH_BREAK_REASONS] = [reason for reason, _ in self.breaks]
            attributes[semconv.GRAPH_BREAK_SOURCES] = [source for _, source in self.breaks]
        if debug_dirs:
            attributes[semconv.TORCH_COMPILE_DEBUG_DIRS] = debug_dirs
        label = f"{_safe_id(str(self.common.get(semconv.TORCH_COMPILE_ID, '')))}-records"
        text = "\n".join(self.records) + "\n"
        self.stage.payloads.append(Payload(semconv.TORCH_RECORDS, text, "torch", label, ".jsonl"))


def artifact(
    recorder: Recorder,
    metadata: dict[str, Any],
    payload: Any,
    *,
    parent: Stage | None,
    common: dict[str, AttributeValue],
    position: int = 0,
    cached: bool = False,
) -> None:
    """Record one artefact as a span of no length that carries its text.

    Args:
        recorder: where it goes.
        metadata: torch's record.
        payload: its text; ``None`` for a record whose facts are its text.
        parent: the span it falls into.
        common: attributes of its compile.
        position: its number in the compile, for the file's name.
        cached: whether it was read back from a cache of torch's.
    """
    name = record_name(metadata)
    text = payload if isinstance(payload, str) else json.dumps(metadata.get(name, payload), default=repr, indent=0)
    attributes: dict[str, AttributeValue] = {
        **common,
        semconv.STAGE: "torch_artifact",
        semconv.TORCH_ARTIFACT: name,
        semconv.TORCH_ARTIFACT_CACHED: cached,
    }
    if "has_payload" in metadata:
        attributes[semconv.TORCH_ARTIFACT_MD5] = str(metadata["has_payload"])
    now = recorder.now()
    stage = recorder.start(
        semconv.SPAN_TORCH_ARTIFACT + name,
        parent=parent,
        compile=parent.compile if parent is not None else None,
        attributes=attributes,
        start_ns=now,
    )
    if stage is None:
        return
    label = f"{_safe_id(str(common.get(semconv.TORCH_COMPILE_ID, '')))}-{position:03d}-{name}"
    stage.payloads.append(Payload(semconv.TORCH_ARTIFACT_TEXT, text, "torch", label, _suffix(name, text)))
    recorder.end(stage, end_ns=now)


class DebugFolders:
    """The folders that ``TORCH_COMPILE_DEBUG=1`` makes, each told of once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    @guarded([])
    def new(self) -> list[str]:
        """Absolute paths of the folders that appeared since the last look."""
        utils = sys.modules.get("torch._dynamo.utils")
        if utils is None or os.environ.get("TORCH_COMPILE_DEBUG") != "1":
            return []
        root = os.path.abspath(os.path.join(utils.get_debug_dir(), "torchinductor"))
        found = [os.path.join(root, name) for name in sorted(os.listdir(root))] if os.path.isdir(root) else []
        fresh = [path for path in found if path not in self._seen and os.path.isdir(path)]
        self._seen.update(fresh)
        return fresh


def _arguments(event: dict[str, Any]) -> dict[str, AttributeValue]:
    """An event's plain arguments as attributes."""
    arguments = event.get("args")
    found: dict[str, AttributeValue] = {}
    for key, value in (arguments if isinstance(arguments, dict) else {}).items():
        if isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= _LONGEST_ARG):
            found[semconv.TORCH_PHASE_ARGS + str(key)] = value
    found.pop(semconv.TORCH_PHASE_ARGS + "compile_id", None)
    return found


def _graph_break(text: str) -> tuple[str, str]:
    """Reason and ``file:line`` from the artefact that Dynamo writes at a graph break."""
    head, _, rest = text.partition("\n")
    source = head.removeprefix("Graph break in user code at ").strip()
    reason = rest.partition("\n")[0].removeprefix("Graph Break Reason:").strip()
    return reason or head, source


def _safe_id(identifier: str) -> str:
    return identifier.replace("/", "_").replace("!", "autograd") or "no_id"


def _suffix(name: str, text: str) -> str:
    if text.lstrip().startswith(("{", "[")):
        return ".json"
    return ".py" if "graph" in name or "code" in name or "runnable" in name else ".txt"
