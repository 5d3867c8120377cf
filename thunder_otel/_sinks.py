"""Sinks that the recorder does not make itself.

The SDK's configurator makes exporters by name and without arguments: such an exporter offers itself here, and the
recorder takes it instead of making a second one of the same name. Listeners come and go while recording runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from thunder_otel._model import Sink

_lock = threading.Lock()
_offered: dict[str, Sink] = {}
_listeners: tuple[Sink, ...] = ()  # replaced, never changed: a stage may be going through it


def listen(sink: Sink) -> Callable[[], None]:
    """Tell ``sink`` of every stage, whatever the recorder's own sinks are; returns how to stop that."""
    global _listeners
    with _lock:
        _listeners = (*_listeners, sink)

    def stop() -> None:
        global _listeners
        with _lock:
            _listeners = tuple(known for known in _listeners if known is not sink)

    return stop


def listeners() -> tuple[Sink, ...]:
    """Who listens now."""
    return _listeners


def offer(name: str, sink: Sink) -> None:
    """Offer a sink under an exporter's name; a later offer replaces an earlier one."""
    _offered[name] = sink


def offered(name: str) -> Sink | None:
    """The sink that was offered under that name."""
    return _offered.get(name)


def withdraw(sink: Sink) -> None:
    """Take an offer back, when the sink is closed."""
    for name in [name for name, known in _offered.items() if known is sink]:
        del _offered[name]


def forget() -> None:
    """Drop all offers (in a forked child they are the parent's); who listens goes on listening."""
    global _lock
    _lock = threading.Lock()
    _offered.clear()
