"""``thunder_console``: each compile as a tree on stderr, when it ends; plain where stderr is no terminal.

On stderr, since stdout belongs to the program: what it prints there may be read by another program.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from rich.console import Console

from thunder_otel import _sinks
from thunder_otel._compile_tree import Node, compile_tree, late_line
from thunder_otel._model import Payload, Stage
from thunder_otel.settings import Settings

NAME = "thunder_console"
WIDTH = 160  # columns where stderr is no terminal


class ConsoleExporter(SpanExporter):
    """Prints compiles as they end, and what is compiled when a region first runs.

    Args:
        settings: not used; every exporter of this project takes them.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        if settings is None:  # the SDK made it: the recorder is to use this one
            _sinks.offer(NAME, self)
        self._lock = threading.Lock()
        self._ended: dict[str, list[Stage]] = {}  # span id of an open compile -> what has ended inside it

    def stage_started(self, stage: Stage) -> None:
        """Only what is finished is printed."""

    def store(self, stage: Stage, payload: Payload) -> str:
        """Texts are not printed, only their sizes."""
        return ""

    def stage_ended(self, stage: Stage) -> None:
        """Keep the stage until its compile ends, then print the compile."""
        root = stage
        while root.parent is not None:
            root = root.parent
        with self._lock:
            if root.end_ns is None:
                if not stage.hidden:
                    self._ended.setdefault(root.span_id, []).append(stage)
                return
            inside = self._ended.pop(stage.span_id, [])
        if stage.hidden:  # a hook vetoed it
            return
        console = Console(file=sys.stderr, width=None if sys.stderr.isatty() else WIDTH)
        if root is stage:
            console.print(compile_tree(_node(root, _by_parent(inside))), soft_wrap=True)
        else:  # a kernel, or a graph: it comes after its compile's end
            console.print(late_line(_node(stage, {})), soft_wrap=True)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Spans of other scopes are not printed (ours came as stages)."""
        return SpanExportResult.SUCCESS

    def close(self) -> None:
        """Forget what never ended."""
        _sinks.withdraw(self)
        self._ended.clear()

    def shutdown(self) -> None:
        """The SDK ends: the same as :meth:`close`."""
        self.close()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Everything is printed when it ends."""
        return True


def _by_parent(stages: list[Stage]) -> dict[str, list[Stage]]:
    found: dict[str, list[Stage]] = {}
    for stage in sorted(stages, key=lambda stage: stage.start_ns):
        found.setdefault(stage.parent_id, []).append(stage)
    return found


def _node(stage: Stage, inside: dict[str, list[Stage]]) -> Node:
    return Node(
        name=stage.name,
        attributes=dict(stage.attributes),
        seconds=None if stage.end_ns is None else (stage.end_ns - stage.start_ns) / 1e9,
        error=f"{stage.error.type}: {stage.error.message}" if stage.error is not None else "",
        texts=tuple(stored.size for stored in stage.stored),
        children=tuple(_node(child, inside) for child in inside.get(stage.span_id, ())),
    )
