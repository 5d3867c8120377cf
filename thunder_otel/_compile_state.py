"""One compile while it runs: which trace is what, what was rendered, which regions wait for their last facts."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from thunder_otel import _introspect, semconv
from thunder_otel._guard import guarded
from thunder_otel._ledger import Ledger
from thunder_otel._model import AttributeValue, CompileInfo, Payload, Stage, StoredPayload
from thunder_otel._rendering import Fingerprint, Renderer, Rendering, fingerprint
from thunder_otel._telemetry import Recorder, add_payload_facts, timed
from thunder_otel.settings import Level

KINDS = ("prologue", "computation", "backward", "epilogue")
TEXT_KEYS = {
    "prologue": semconv.TRACE_PROLOGUE_TEXT,
    "computation": semconv.TRACE_COMPUTATION_TEXT,
    "backward": semconv.TRACE_BACKWARD_TEXT,
    "epilogue": semconv.TRACE_EPILOGUE_TEXT,
}


@dataclass(slots=True)
class Program:
    """The last distinct text of one kind of trace."""

    fingerprint: Fingerprint
    body: str
    stage: Stage
    index: int
    key: str


@dataclass(eq=False)
class RegionCode:
    """Which region a piece of generated code belongs to, for what happens when it first runs."""

    info: CompileInfo
    root: Stage
    name: str = ""
    kind: str = ""


@dataclass(eq=False)
class Frame:
    """A call that is being observed: its stage, and what happened inside it so far."""

    stage: Stage
    compile: CompileState
    name: str
    kind: str = ""
    pending: list[tuple[Any, int]] = field(default_factory=list)  # traces that got their provenance, when
    last_ns: int = 0  # when the previous event inside ended
    region: str = ""
    in_region: bool = False
    codes: list[RegionCode] = field(default_factory=list)  # generated for this region
    ops: dict[str, str] = field(default_factory=dict)  # what the region held when it was fused, by output
    ops_that_run: dict[str, str] = field(default_factory=dict)  # and what is left of it in the trace that runs


@dataclass(eq=False)
class CompileState:
    """State of a compile; gone when it ends, so that nothing of the program is kept alive."""

    info: CompileInfo
    recorder: Recorder
    stats: weakref.ReferenceType[Any]
    frames: list[Frame] = field(default_factory=list)
    acquired: bool = False
    renderer: Renderer = field(default_factory=Renderer)
    kinds: weakref.WeakKeyDictionary[Any, str] = field(default_factory=weakref.WeakKeyDictionary)
    programs: dict[str, Program] = field(default_factory=dict)
    regions: dict[str, list[Frame]] = field(default_factory=dict)
    innermost: list[tuple[int, int, Frame]] = field(default_factory=list)  # regions that run: order of kind, position
    last_good: tuple[str, Any] | None = None  # stage name and trace
    next_index: int = 0
    ledger: Ledger | None = None  # from level 2 on

    @property
    def root(self) -> Frame:
        """The ``thunder.compile`` frame."""
        return self.frames[0]

    @property
    def top(self) -> Frame:
        """The innermost open frame."""
        return self.frames[-1]

    def has(self, level: Level) -> bool:
        """Whether this compile is recorded at ``level`` or above."""
        return self.info.level >= level

    def claims_ops(self) -> bool:
        """Whether ops that compute something are being claimed; those of a region are claimed once more inside it."""
        top = self.frames[-1]
        return top.name == "claim" and not top.in_region and top.kind not in ("prologue", "epilogue")

    def take_index(self) -> int:
        """The next stage's index."""
        index, self.next_index = self.next_index, self.next_index + 1
        return index

    def label(self, trace: Any, kind: str) -> None:
        """Say what a trace is."""
        self.kinds[trace] = kind

    def kind_of(self, trace: Any, default: str = "") -> str:
        """What a trace is: labelled, else what the frame works on."""
        return self.kinds.get(trace) or _introspect.tagged_kind(trace) or default or "other"

    def open_frame(
        self, span: str, name: str, *, kind: str = "", attributes: dict[str, AttributeValue] | None = None
    ) -> Frame | None:
        """Start a stage inside the innermost open one. ``None`` when that failed."""
        outer = self.top
        index = self.take_index()
        values: dict[str, AttributeValue] = {
            semconv.FN: self.info.fn,
            semconv.COMPILE_ID: self.info.id,
            semconv.STAGE: name,
            semconv.STAGE_INDEX: index,
            **({semconv.KIND: kind} if kind else {}),
            **(attributes or {}),
        }
        stage = self.recorder.start(span, parent=outer.stage, compile=self.info, attributes=values)
        if stage is None:
            return None
        frame = Frame(stage, self, name, kind or outer.kind, last_ns=stage.start_ns, in_region=outer.in_region)
        self.frames.append(frame)
        return frame

    def close_frame(self, frame: Frame, *, error: BaseException | None = None) -> None:
        """End a stage, and any that was left open inside it."""
        while frame in self.frames:
            top = self.frames.pop()
            self.recorder.end(top.stage, error=error)
            if self.frames:
                self.frames[-1].last_ns = top.stage.end_ns or self.recorder.now()

    @guarded(None)
    @timed
    def observe(self, frame: Frame, trace: Any, *, key: str = semconv.TRACE_TEXT, final: bool = False) -> None:
        """Put a trace's facts and, if it differs from the last of its kind, its text on a stage."""
        stage, attributes = frame.stage, frame.stage.attributes
        kind = self.kind_of(trace, frame.kind)
        suffix = key.removesuffix(".text")
        if key == semconv.TRACE_TEXT:
            attributes[semconv.KIND] = kind
            attributes[semconv.TRACE_PROVENANCE] = _introspect.provenance_of(trace)
            attributes[semconv.TRACE_SYMBOLS] = _introspect.symbol_count(trace)
        if collectives := _introspect.collectives_in(trace):
            attributes[semconv.TRACE_COLLECTIVES] = collectives
        if not self.recorder.settings.wants_text(frame.name, final=final):
            self.last_good = (frame.name, trace)
            return
        if frame.in_region and not (final and self.has(Level.NVFUSER_REGION)):
            return
        if stage.hidden:  # a hook vetoed it: nobody reads its text
            self.last_good = (frame.name, trace)
            return
        last = self.programs.get(kind)
        if last is not None and last.stage.hidden:
            last = None
        seen = fingerprint(trace)
        if last is not None and last.fingerprint == seen:
            self._same(attributes, last, suffix, key)
            self.last_good = (frame.name, trace)
            return
        rendering = self.renderer.render(trace, seen)
        if rendering.error:
            attributes[suffix + ".error"] = rendering.error
            return
        self.last_good = (frame.name, trace)
        if last is not None and last.body == rendering.body:
            last.fingerprint = seen
            self._same(attributes, last, suffix, key)
            return
        self._changed(frame, kind, last, rendering, suffix, key)
        index = int(str(attributes[semconv.STAGE_INDEX]))
        if not frame.in_region:
            self.programs[kind] = Program(seen, rendering.body, stage, index, key)

    def _same(self, attributes: dict[str, AttributeValue], last: Program, suffix: str, key: str) -> None:
        attributes[suffix + ".changed"] = False
        attributes[suffix + ".same_as"] = last.index
        stored = next((stored for stored in last.stage.stored if stored.key == last.key), None)
        if stored is not None:  # not yet, when the earlier stage is still open
            add_payload_facts(attributes, StoredPayload(**{**vars(stored), "key": key}))

    def _changed(
        self, frame: Frame, kind: str, last: Program | None, rendering: Rendering, suffix: str, key: str
    ) -> None:
        attributes = frame.stage.attributes
        attributes[suffix + ".changed"] = True
        if last is not None and not frame.in_region:
            before, after = Counter(last.body.splitlines()), Counter(rendering.body.splitlines())
            attributes[suffix + ".lines.added"] = (after - before).total()
            attributes[suffix + ".lines.removed"] = (before - after).total()
        label = f"{attributes[semconv.STAGE_INDEX]:02d}-{kind}-{frame.region or frame.name}"
        frame.stage.payloads.append(Payload(key, rendering.text, "traces", label, ".py", kind))

    @guarded(None)
    def keep_last_good(self) -> None:
        """A compile failed: put the last trace that a stage finished on the root."""
        attributes = self.root.stage.attributes
        name, trace = self.last_good or ("none: no stage finished a trace", None)
        attributes[semconv.COMPILE_LAST_STAGE] = name
        if trace is not None:
            rendering = self.renderer.render(trace)
            kind = self.kind_of(trace)
            self.root.stage.payloads.append(
                Payload(semconv.TRACE_LAST_GOOD_TEXT, rendering.text, "traces", f"last_good-{kind}-{name}", ".py", kind)
            )


class _Local(threading.local):
    """The compiles that run on a thread, outermost first.

    A thread-local and not a context variable: an interpreted program could see and bake in the latter.
    """

    def __init__(self) -> None:
        self.states: list[CompileState] = []


local = _Local()


def current() -> CompileState | None:
    """The innermost compile that runs on this thread."""
    return local.states[-1] if local.states else None
