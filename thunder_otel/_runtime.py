"""What is switched on in this process: the one mutable place that the hooks look at."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from thunder_otel._guard import describe, guarded, say
from thunder_otel._telemetry import Recorder
from thunder_otel.settings import Level

_lock = threading.RLock()
_make_recorder: Callable[[], Recorder | None] | None = None
_recorder: Recorder | None = None
_default_level = Level.OFF
_loans: list[tuple[Callable[[], Recorder], Level]] = []
_chosen: weakref.WeakKeyDictionary[Any, Level] = weakref.WeakKeyDictionary()


def switch_on(make_recorder: Callable[[], Recorder | None], level: Level) -> None:
    """Record compiles at ``level`` from now on; the recorder is made when the first compile starts."""
    global _make_recorder, _default_level
    with _lock:
        _make_recorder, _default_level = make_recorder, level


def switch_off() -> Recorder | None:
    """Record nothing that starts from now on; returns the recorder that was in use, for its owner to close."""
    global _make_recorder, _recorder, _default_level
    with _lock:
        used, _recorder, _make_recorder, _default_level = _recorder, None, None, Level.OFF
        return used


def lend(make_recorder: Callable[[], Recorder], level: Level) -> Callable[[], None]:
    """Record at least at ``level`` until the returned function is called.

    Args:
        make_recorder: gives the recorder to use while nothing else is switched on; always the same one.
        level: what to record.
    """
    loan = (make_recorder, level)
    with _lock:
        _loans.append(loan)

    def give_back() -> None:
        with _lock:
            _loans[:] = [other for other in _loans if other is not loan]

    return give_back


def restart() -> None:
    """Drop the recorder without closing it (a forked child must not touch its parent's); a new one is made lazily."""
    global _recorder, _lock
    _lock = threading.RLock()
    _recorder = None


def is_on() -> bool:
    """Whether hooks do anything."""
    return _make_recorder is not None or bool(_loans)


def is_switched_on() -> bool:
    """Whether recording is on by :func:`switch_on`, and not only lent."""
    return _make_recorder is not None


def recorder() -> Recorder | None:
    """The recorder of this process, or ``None`` when recording is off or could not be set up."""
    global _recorder
    if _recorder is None and _make_recorder is not None:
        with _lock:
            if _recorder is None and _make_recorder is not None:
                try:
                    _recorder = _make_recorder()
                except Exception as error:
                    say(f"recording could not be set up and stays off ({describe(error)}); run `thunder-otel doctor`")
                if _recorder is None:  # failed, or this process is not to be recorded
                    switch_off()
    if _recorder is None and (loans := tuple(_loans)):
        return guarded(None)(loans[0][0])()
    return _recorder


def recorder_in_use() -> Recorder | None:
    """The recorder, if there is one already."""
    return _recorder


def choose_level(compile_data: Any, level: Level) -> None:
    """Remember the level that a JIT option asked for (the compile data is not kept alive)."""
    _chosen[compile_data] = level


def level_of(compile_data: Any) -> Level:
    """The level of one jitted function: its own option's, else the process's, and not below one that is lent."""
    try:
        level = _chosen.get(compile_data, _default_level)
        refused = level is Level.OFF and compile_data in _chosen
    except TypeError:
        level, refused = _default_level, False
    return level if refused else max((level, *(lent for _, lent in tuple(_loans))))


def highest_level() -> Level:
    """The highest level anything in this process is recorded at."""
    return max((_default_level, *list(_chosen.values()), *(lent for _, lent in tuple(_loans))))
