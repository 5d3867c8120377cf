"""Run folders made by hand, for what no CPU run has: hostile names, captures, crashes, many texts."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thunder_otel import semconv

START_NS = 1_700_000_000_000_000_000


@dataclass
class RunFolder:
    """Writes a run folder as ``thunder_files`` does. Times of stages are in milliseconds after the run's start."""

    path: Path
    info: dict[str, Any] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True)
        info = {
            "format": 1,
            "pid": 1,
            "host": "node-a",
            "rank": None,
            "world_size": None,
            "started_ns": START_NS,
            "level": {"number": 3, "name": "nvfuser_code"},
            "versions": {"torch": "2.10.0", "lightning-thunder": "0.2.6"},
        }
        (self.path / "run.json").write_text(json.dumps({**info, **self.info}))
        (self.path / "events.jsonl").touch()

    def stage(
        self,
        name: str,
        attributes: dict[str, Any],
        *,
        parent: str = "",
        at: float = 0.0,
        took: float | None = 1.0,
        texts: dict[str, str] | None = None,
        error: tuple[str, str] | None = None,
    ) -> str:
        """Add a stage; one with ``took=None`` never ended. Returns its span id."""
        self.count += 1
        span_id = f"{self.count:016x}"
        start = START_NS + int(at * 1e6)
        event: dict[str, Any] = {
            "event": semconv.EVENT_START,
            "name": name,
            "span_id": span_id,
            "parent_id": parent,
            "thread": "MainThread",
            "start_ns": start,
            "attributes": attributes,
        }
        self.line(event)
        if took is None:
            return span_id
        end = {**event, "event": semconv.EVENT_END, "end_ns": start + int(took * 1e6), "status": "ok"}
        end["payloads"] = [self.text(key, text) for key, text in (texts or {}).items()]
        if error is not None:
            end |= {"status": "error", "error": {"type": error[0], "message": error[1], "stacktrace": "  File x"}}
        self.line(end)
        return span_id

    def text(self, key: str, text: str) -> dict[str, Any]:
        """Store a text and give its record."""
        data = text.encode("utf-8", "backslashreplace")
        digest = hashlib.sha256(data).hexdigest()
        suffix = (
            ".cpp" if key.startswith(semconv.KERNEL_SOURCE) else ".jsonl" if key == semconv.TORCH_RECORDS else ".py"
        )
        path = f"traces/{digest[:12]}{suffix}"
        (self.path / "traces").mkdir(exist_ok=True)
        (self.path / path).write_bytes(data)
        kind = ""
        return {"key": key, "kind": kind, "size": len(data), "sha256": digest, "lines": text.count("\n"), "path": path}

    def line(self, event: dict[str, Any]) -> None:
        """Append an event."""
        with (self.path / "events.jsonl").open("a") as file:
            file.write(json.dumps(event) + "\n")

    def compile(self, fn: str = "model", index: int = 0, *, at: float = 0.0, took: float = 100.0, **more: Any) -> str:
        """Add a compile."""
        attributes = {
            semconv.FN: fn,
            semconv.COMPILE_ID: f"{fn}/{index}",
            semconv.COMPILE_INDEX: index,
            semconv.COMPILE_REASON: "first call",
            **more.pop("attributes", {}),
        }
        return self.stage(semconv.SPAN_COMPILE, attributes, at=at, took=took, **more)

    def trace(self, name: str, index: int, parent: str, text: str, *, kind: str = "computation", **more: Any) -> str:
        """Add a pass with a trace."""
        attributes = {
            semconv.STAGE: name,
            semconv.STAGE_INDEX: index,
            semconv.KIND: kind,
            semconv.TRACE_CHANGED: True,
            **more.pop("attributes", {}),
        }
        texts = {semconv.TRACE_TEXT: text}
        return self.stage(
            semconv.SPAN_PASS + name, attributes, parent=parent, at=more.pop("at", index), texts=texts, **more
        )
