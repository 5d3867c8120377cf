"""``thunder_files``: one folder a process with events, spans, traces, regions and kernels."""

from __future__ import annotations

import json
import os
import platform
import socket
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from thunder_otel import _sinks, logs, semconv
from thunder_otel._guard import say
from thunder_otel._model import Payload, Stage, encode
from thunder_otel.environment_variables import THUNDER_DEBUG_DIR
from thunder_otel.settings import Settings, read_settings
from thunder_otel_exporters._otlp_json import span_line
from thunder_otel_exporters._run_folder import RunFolder, announce

EVENTS, SPANS, RUN = "events.jsonl", "spans.jsonl", "run.json"
NAME = "thunder_files"
FORMAT = 1


class FilesExporter(SpanExporter):
    """Writes what is recorded to disk, line by line, so that a killed process leaves all it had.

    Spans of this project come as stages (:meth:`stage_ended`), whatever provider made them; spans of other scopes
    come through :meth:`export` when the SDK was told to use this exporter.

    Args:
        settings: where and how much; default: read from the environment.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = read_settings() if settings is None else settings
        if settings is None:  # the SDK made it: the recorder is to use this one
            _sinks.offer(NAME, self)
        self._folder: RunFolder | None = None
        self._events = self._spans = -1
        self._remove_writer: Callable[[], None] = lambda: None
        try:
            self._open(self._settings.debug_dir)
        except OSError as error:
            say(
                f"{THUNDER_DEBUG_DIR}={str(self._settings.debug_dir)!r}: no folder can be made there"
                f" ({error.strerror or error}); nothing is written to disk, set it to a folder you may write to"
            )

    @property
    def path(self) -> Path | None:
        """The run folder, or ``None`` when it could not be made."""
        return self._folder.path if self._folder is not None else None

    def stage_started(self, stage: Stage) -> None:
        """The start event is written by the logger; nothing else is known yet."""

    def store(self, stage: Stage, payload: Payload) -> str:
        """Write a text, once by content."""
        return self._folder.store(stage, payload) if self._folder is not None else ""

    def stage_ended(self, stage: Stage) -> None:
        """Append the finished span."""
        if self._folder is not None and isinstance(stage.span, ReadableSpan):
            self._folder.append(self._spans, span_line(stage.span))

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append spans of other scopes (ours came as stages)."""
        foreign = [
            span
            for span in spans
            if span.instrumentation_scope is None or span.instrumentation_scope.name != semconv.SCOPE
        ]
        if foreign and (
            self._folder is None or not self._folder.append(self._spans, b"".join(map(span_line, foreign)))
        ):
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def heartbeat(self) -> None:
        """A stage is open: the time of the events file is the last sign of life that a killed process leaves."""
        if self._folder is not None:
            os.utime(self._events)

    def close(self) -> None:
        """Write nothing more."""
        self._remove_writer()
        _sinks.withdraw(self)
        folder, self._folder = self._folder, None
        if folder is None:
            return
        if folder.lost:
            say(f"{folder.lost} records could not be written to {folder.path}", key=f"lost:{folder.path}")
        for descriptor in (self._events, self._spans):
            os.close(descriptor)
        folder.close()

    def shutdown(self) -> None:
        """The SDK ends: the same as :meth:`close`."""
        self.close()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Every line is written when it happens."""
        return True

    def _open(self, base: Path) -> None:
        folder = RunFolder(base, rank=self._settings.rank, disk_limit=self._settings.disk_limit)
        folder.write_file(RUN, encode(json.dumps(self._run_facts(), indent=1) + "\n"))
        self._events, self._spans = folder.open_log(EVENTS), folder.open_log(SPANS)
        self._folder = folder
        announce(folder.path)
        events = self._events
        self._remove_writer = logs.add_writer(lambda line: folder.append(events, line))
        say(f"artefacts are in {_short(folder.path)}")

    def _run_facts(self) -> dict[str, Any]:
        settings = self._settings
        return {
            "format": FORMAT,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "rank": settings.rank,
            "local_rank": settings.local_rank,
            "world_size": settings.world_size,
            "started_ns": time.time_ns(),
            "level": {"number": int(settings.level), "name": settings.level.name.lower()},
            "level_origin": settings.level_origin,
            "inline_limit": settings.inline_limit,
            "versions": {"python": platform.python_version(), **_versions()},
        }


def _versions() -> dict[str, str]:
    found = {}
    for name in ("thunder-otel", "lightning-thunder", "torch", "opentelemetry-sdk", "structlog"):
        try:
            found[name] = version(name)
        except Exception:  # noqa: S112 - a package that is not installed has no version to tell
            continue
    return found


def _short(path: Path) -> str:
    try:
        return os.path.join(".", path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
