"""Sinks that somebody else built: the SDK's configurator makes exporters itself, by name and without arguments.

Such an exporter offers itself here, and the recorder takes it instead of making a second one of the same name.
"""

from __future__ import annotations

from thunder_otel._model import Sink

_offered: dict[str, Sink] = {}


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
    """Drop all offers (in a forked child they are the parent's)."""
    _offered.clear()
