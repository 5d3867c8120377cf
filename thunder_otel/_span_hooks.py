"""A program's own hooks on stages: to read, add, redact, veto, or stop the compile on purpose.

Hooks run on a worker thread, one after another, and are waited for no longer than their limit. What they change is a
copy that is taken over only when they finished in time, so a hook that is late can change nothing behind our back.
"""

from __future__ import annotations

import inspect
import os
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeVar, overload

from thunder_otel import _bounded, semconv
from thunder_otel._model import AttributeValue, ErrorInfo, Stage

LIMIT_SECONDS = 1.0

NEEDED = frozenset(
    {semconv.STAGE, semconv.STAGE_INDEX, semconv.KIND, semconv.COMPILE_INDEX, semconv.COMPILE_LEVEL, semconv.EXECUTOR}
)
"""Attributes that no hook can change at a stage's start: recording itself reads them. They hold nothing private."""


class StopCompile(BaseException):
    """Raised in a hook to stop the compile; it reaches whoever called the jitted function.

    It is no ``Exception``, because code between the compiler and the caller (a fallback to eager, a backend of
    ``torch.compile``) catches those.
    """


StopCompile.__module__ = "thunder_otel"  # where programs find it, and what error messages call it


@dataclass(kw_only=True)
class SpanRecord:
    """A stage as a hook sees it. ``attributes``, ``texts`` and ``error`` may be changed; the rest is for reading.

    Attributes:
        name: the span's name, e.g. ``thunder.pass dce``.
        stage: the stage's name, e.g. ``dce``.
        kind: ``prologue``, ``computation``, ``backward``, ``epilogue``, ... or empty.
        fn: the function that is compiled.
        trace_id: 32 hex digits.
        span_id: 16 hex digits.
        parent_id: 16 hex digits, or empty.
        start_ns: nanoseconds since the epoch.
        end_ns: the same, ``None`` at a stage's start.
        attributes: the span's attributes.
        texts: the stage's texts by attribute name (``thunder.trace.text``, ...); empty at a stage's start.
        error: what the stage raised.
    """

    name: str
    stage: str
    kind: str
    fn: str
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int | None
    attributes: dict[str, AttributeValue]
    texts: dict[str, str]
    error: ErrorInfo | None
    vetoed: bool = field(default=False, init=False)

    @property
    def seconds(self) -> float | None:
        """How long the stage took; ``None`` at its start."""
        return None if self.end_ns is None else (self.end_ns - self.start_ns) / 1e9

    def veto(self) -> None:
        """Do not export the stage. At its start: nor anything inside it. At its end: this span alone."""
        self.vetoed = True


Hook = Callable[[SpanRecord], object]
H = TypeVar("H", bound=Hook)


class Handle:
    """Takes back what was added, by :meth:`remove` or at the end of a ``with`` block; doing so twice is fine."""

    def __init__(self, *undo: Callable[[], object]) -> None:
        self._undo = list(undo)

    def remove(self) -> None:
        """Take it back."""
        while self._undo:
            self._undo.pop()()

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


@dataclass(eq=False)
class Registered:
    """A hook and where it is called; ``late`` are its calls that did not finish in time."""

    function: Hook
    at_end: bool
    stages: tuple[str, ...]
    redacts: bool
    timeout: float
    last: bool = False  # after all that are not
    late: list[_bounded.Job] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What messages call it."""
        function = inspect.unwrap(self.function)
        module = getattr(function, "__module__", None) or "?"
        return f"{module}.{getattr(function, '__qualname__', None) or repr(function)}"

    def wants(self, stage: Stage) -> bool:
        """Whether it was registered for this stage."""
        if not self.stages:
            return True
        names = (stage.name, stage.name.split(" ")[0], str(stage.attributes.get(semconv.STAGE, "")))
        return any(fnmatchcase(name, pattern) for pattern in self.stages for name in names)


_hooks: tuple[Registered, ...] = ()  # replaced, never changed: a compile on another thread may be going through it
_lock = threading.Lock()


@overload
def on_span_start(
    function: None = None, *, stages: str | Iterable[str] = (), redacts: bool = False, timeout: float = LIMIT_SECONDS
) -> Callable[[H], H]: ...
@overload
def on_span_start(
    function: Hook, *, stages: str | Iterable[str] = (), redacts: bool = False, timeout: float = LIMIT_SECONDS
) -> Handle: ...
def on_span_start(
    function: Hook | None = None,
    *,
    stages: str | Iterable[str] = (),
    redacts: bool = False,
    timeout: float = LIMIT_SECONDS,
) -> Handle | Callable[[H], H]:
    """Call a function when a stage starts, before anything of the stage is written or sent.

    ``on_span_start(function)`` returns a :class:`Handle`; ``@on_span_start()`` returns the function itself, for
    :func:`remove_hook`.

    Args:
        function: takes a :class:`SpanRecord`; may be ``async``. It runs on a worker thread.
        stages: names of stages (``"dce"``), of spans (``"thunder.claim"``) or of their first word
            (``"thunder.pass"``), with ``*`` for any text; empty is all.
        redacts: the function takes private text out. When it raises or is late, the stage's texts and string
            attributes are left out instead of shown.
        timeout: how long a call may hold up the compile, in seconds. A function that was late three times is
            called no more.
    """
    return _add(function, False, stages, redacts, timeout)


@overload
def on_span_end(
    function: None = None, *, stages: str | Iterable[str] = (), redacts: bool = False, timeout: float = LIMIT_SECONDS
) -> Callable[[H], H]: ...
@overload
def on_span_end(
    function: Hook, *, stages: str | Iterable[str] = (), redacts: bool = False, timeout: float = LIMIT_SECONDS
) -> Handle: ...
def on_span_end(
    function: Hook | None = None,
    *,
    stages: str | Iterable[str] = (),
    redacts: bool = False,
    timeout: float = LIMIT_SECONDS,
) -> Handle | Callable[[H], H]:
    """Call a function when a stage has ended, before its span and texts are written or sent.

    Arguments and result are those of :func:`on_span_start`.
    """
    return _add(function, True, stages, redacts, timeout)


def redact(
    what: str | re.Pattern[str] | Callable[[str], str],
    replacement: str = "[redacted]",
    *,
    stages: str | Iterable[str] = (),
    timeout: float = LIMIT_SECONDS,
) -> Handle:
    """Take private text out of everything that is recorded: attributes, texts and error messages.

    It runs after every hook that is no redaction, whenever that was added.

    Args:
        what: a regular expression, or a function that gives the clean text for a text.
        replacement: what stands in place of a match of the expression.
        stages: where, as in :func:`on_span_start`.
        timeout: how long a stage may be held up, in seconds; texts that could not be cleaned in time are left out.
    """
    if callable(what):
        clean = what
    else:
        pattern = re.compile(what)

        def clean(text: str) -> str:
            return pattern.sub(replacement, text)

    def redact_record(record: SpanRecord) -> None:
        for key, value in record.attributes.items():
            if key in NEEDED:
                continue
            if isinstance(value, str):
                record.attributes[key] = clean(value)
            elif isinstance(value, list):
                record.attributes[key] = [clean(item) if isinstance(item, str) else item for item in value]
        for key, text in record.texts.items():
            record.texts[key] = clean(text)
        if record.error is not None:
            error = record.error
            record.error = ErrorInfo(error.type, clean(error.message), clean(error.stacktrace))

    handles = [_add(redact_record, at_end, stages, True, timeout, last=True) for at_end in (False, True)]
    return Handle(*(handle.remove for handle in handles if isinstance(handle, Handle)))


def remove_hook(function: Hook) -> None:
    """Call a function no more, wherever it was added as a hook."""
    _remove(lambda hook: hook.function is function)


def _add(
    function: Hook | None,
    at_end: bool,
    stages: str | Iterable[str],
    redacts: bool,
    timeout: float,
    *,
    last: bool = False,
) -> Handle | Callable[[H], H]:
    names = (stages,) if isinstance(stages, str) else tuple(stages)
    if not timeout > 0:
        raise ValueError(f"timeout={timeout!r} is not a number of seconds above 0")
    if function is not None and not callable(function):
        raise TypeError(f"a hook is a function that takes a SpanRecord, not {type(function).__name__}")

    def register(added: Hook) -> Registered:
        global _hooks
        hook = Registered(added, at_end, names, redacts, timeout, last)
        with _lock:
            _hooks = tuple(sorted((*_hooks, hook), key=lambda known: known.last))
        return hook

    def decorate(added: H) -> H:
        register(added)
        return added

    if function is None:
        return decorate
    hook = register(function)
    return Handle(lambda: _remove(lambda known: known is hook))


def _remove(which: Callable[[Registered], bool]) -> None:
    global _hooks
    with _lock:
        _hooks = tuple(hook for hook in _hooks if not which(hook))
        if not _hooks:
            _bounded.stop_idle()


def any_hooks() -> bool:
    """Whether anything is to be called."""
    return bool(_hooks)


def registered() -> tuple[Registered, ...]:
    """The hooks, in the order they were added."""
    return _hooks


def _in_child() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_in_child)
