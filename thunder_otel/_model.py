"""The records that flow from the hooks to whoever keeps them (files, OTLP, console, capture)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

AttributeValue = str | bool | int | float | Sequence[str] | Sequence[int] | Sequence[float] | Sequence[bool]


def encode(text: str) -> bytes:
    """UTF-8 of a text; what UTF-8 cannot hold (lone surrogates, bytes of odd paths) is written as ``\\udcXX``."""
    return text.encode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class Payload:
    """A text of a stage: too long for an attribute, so it is kept once, by content.

    Attributes:
        key: the span attribute it stands for, e.g. ``thunder.trace.text``.
        text: the whole text.
        folder: the kind of artefact: ``traces``, ``regions``, ``kernels`` or ``torch``.
        label: what the file is called after function and compile, e.g. ``09-backward-del_last_used``.
        suffix: the file's ending with its dot, e.g. ``.py``.
        kind: which trace it is part of (``prologue``, ``computation``, ...), empty for none.
    """

    key: str
    text: str
    folder: str
    label: str
    suffix: str = ".py"
    kind: str = ""

    @cached_property
    def data(self) -> bytes:
        """The text's bytes as they are written."""
        return encode(self.text)

    @cached_property
    def sha256(self) -> str:
        """Hex digest of :attr:`data`."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class StoredPayload:
    """Where a payload is and what it holds, without the text. ``path`` is relative to the run folder, or empty."""

    key: str
    kind: str
    size: int
    sha256: str
    lines: int
    path: str = ""


@dataclass(frozen=True)
class ErrorInfo:
    """An exception, as text: records keep no exception alive, since its frames hold the program's tensors."""

    type: str
    message: str
    stacktrace: str


@dataclass(frozen=True)
class CompileInfo:
    """Which compile a stage belongs to.

    Attributes:
        fn: the function's name, e.g. ``GPT.forward``.
        index: 0 for the function's first compile, then 1, ...
        level: what is recorded of it.
        sequence: the compile's number in this process.
    """

    fn: str
    index: int
    level: int
    sequence: int

    @property
    def id(self) -> str:
        """The same for the same compile on every rank."""
        return f"{self.fn}/{self.index}"


@dataclass(eq=False)
class Stage:
    """A stage of a compile while it runs, and its record afterwards. Times are in nanoseconds since the epoch."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    attributes: dict[str, AttributeValue]
    parent: Stage | None = None
    compile: CompileInfo | None = None
    thread_id: int = 0
    thread_name: str = ""
    pid: int = 0
    end_ns: int | None = None
    error: ErrorInfo | None = None
    payloads: list[Payload] = field(default_factory=list)
    stored: list[StoredPayload] = field(default_factory=list)
    span: Any = None  # the OTel span, recording or not
    hidden: bool = False  # a hook vetoed it: sinks are told times and ids at most


@runtime_checkable
class Sink(Protocol):
    """Something that keeps what is recorded. Called on the compiling thread: it must be quick and must not raise."""

    def stage_started(self, stage: Stage) -> None:
        """A stage is about to run."""

    def store(self, stage: Stage, payload: Payload) -> str:
        """Keep a text; returns its path relative to the run folder, or ``""`` when this sink keeps no files."""

    def stage_ended(self, stage: Stage) -> None:
        """The stage ran; its span (``stage.span``) has ended and its payloads are stored."""

    def close(self) -> None:
        """The process ends or recording stops."""
